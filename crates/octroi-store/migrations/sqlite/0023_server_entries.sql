-- Servers that were added at run time. `scope` is `system` or `user:ID`. What is configured of each is in its revisions,
-- encrypted, because people write tokens into their entries.
CREATE TABLE server_entries (
    id            TEXT    NOT NULL PRIMARY KEY,
    scope         TEXT    NOT NULL,
    name          TEXT    NOT NULL,
    title         TEXT,
    revision      INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    created_by    TEXT    NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    updated_by    TEXT    NOT NULL,
    UNIQUE (scope, name)
) STRICT;

-- Every change of an entry. They outlive it. `entry` is missing where it was deleted.
CREATE TABLE server_revisions (
    server   TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    scope    TEXT    NOT NULL,
    name     TEXT    NOT NULL,
    change   TEXT    NOT NULL,
    entry    TEXT,
    at_ms    INTEGER NOT NULL,
    by       TEXT    NOT NULL,
    PRIMARY KEY (server, revision)
) STRICT;
CREATE INDEX server_revisions_by_name ON server_revisions (scope, name, at_ms);

-- Which servers people switched on or off for themselves. `server` is an id, also of one in the configuration.
CREATE TABLE server_preferences (
    user       TEXT    NOT NULL,
    server     TEXT    NOT NULL,
    is_enabled INTEGER NOT NULL,
    at_ms      INTEGER NOT NULL,
    PRIMARY KEY (user, server)
) STRICT, WITHOUT ROWID;

-- Sessions. With a list, only its servers are used in it.
CREATE TABLE sessions (
    id            TEXT    NOT NULL PRIMARY KEY,
    user          TEXT    NOT NULL,
    agent         TEXT,
    title         TEXT,
    has_list      INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    created_by    TEXT    NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    closed_at_ms  INTEGER,
    closed_by     TEXT
) STRICT;
CREATE INDEX sessions_by_user ON sessions (user, created_at_ms);

CREATE TABLE session_servers (
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    server  TEXT NOT NULL,
    PRIMARY KEY (session, server)
) STRICT, WITHOUT ROWID;

-- Agents that have some servers only, and these servers. Others have all that their owner has.
CREATE TABLE agent_lists (
    agent TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE TABLE agent_servers (
    agent     TEXT    NOT NULL REFERENCES agent_lists (agent) ON DELETE CASCADE,
    server    TEXT    NOT NULL,
    is_pinned INTEGER NOT NULL,
    at_ms     INTEGER NOT NULL,
    by        TEXT    NOT NULL,
    PRIMARY KEY (agent, server)
) STRICT, WITHOUT ROWID;

-- Sessions were only names in tokens.
INSERT INTO sessions (id, user, agent, has_list, created_at_ms, created_by, updated_at_ms)
    SELECT session, user, agent, 0, min(created_at_ms), created_by, min(created_at_ms)
    FROM tokens WHERE session IS NOT NULL AND revoked_at_ms IS NULL GROUP BY session;
