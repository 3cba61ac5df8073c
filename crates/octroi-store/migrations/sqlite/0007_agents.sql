-- What is said about each agent on this side of its calls, and which tools it has used. `blacklist` is a
-- JSON array.
CREATE TABLE agents (
    id                TEXT    NOT NULL PRIMARY KEY,
    profile           TEXT,
    mode              TEXT,
    project           TEXT,
    project_root      TEXT,
    spec_hash         TEXT,
    spec_frozen_at_ms INTEGER,
    blacklist         TEXT,
    updated_at_ms     INTEGER NOT NULL,
    updated_by        TEXT    NOT NULL
) STRICT;

CREATE TABLE tool_uses (
    agent       TEXT    NOT NULL,
    tool        TEXT    NOT NULL,
    first_at_ms INTEGER NOT NULL,
    last_at_ms  INTEGER NOT NULL,
    n_uses      INTEGER NOT NULL,
    PRIMARY KEY (agent, tool)
) STRICT, WITHOUT ROWID;
