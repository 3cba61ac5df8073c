-- Users, their tokens, and the owners of agents. Of a token only its hash is stored.
CREATE TABLE users (
    name          TEXT    NOT NULL PRIMARY KEY,
    role          TEXT    NOT NULL CHECK (role IN ('admin', 'member')),
    is_disabled   INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    created_by    TEXT    NOT NULL
) STRICT;

CREATE TABLE tokens (
    id              TEXT    NOT NULL PRIMARY KEY,
    hash            BLOB    NOT NULL UNIQUE,
    kind            TEXT    NOT NULL CHECK (kind IN ('human', 'agent', 'session', 'service')),
    user            TEXT    NOT NULL,
    agent           TEXT    CHECK ((agent IS NOT NULL) = (kind IN ('agent', 'session'))),
    session         TEXT    CHECK ((session IS NOT NULL) = (kind = 'session')),
    label           TEXT    NOT NULL,
    created_at_ms   INTEGER NOT NULL,
    created_by      TEXT    NOT NULL,
    expires_at_ms   INTEGER,
    last_used_at_ms INTEGER,
    revoked_at_ms   INTEGER,
    revoked_by      TEXT,
    replaced_by     TEXT
) STRICT;

-- An agent without an owner belongs to the built-in administrator.
ALTER TABLE agents ADD COLUMN title TEXT;
ALTER TABLE agents ADD COLUMN owner TEXT;
ALTER TABLE agents ADD COLUMN created_at_ms INTEGER;
ALTER TABLE agents ADD COLUMN created_by TEXT;
ALTER TABLE agents ADD COLUMN paused_at_ms INTEGER;
ALTER TABLE agents ADD COLUMN paused_by TEXT;
ALTER TABLE agents ADD COLUMN pause_reason TEXT;

-- People were named by the position of their token in the configuration. They are the built-in administrator now,
-- who alone could decide then. Who tried a call as an agent has that behind the name, which stays.
UPDATE approvals SET principal = 'admin' || ltrim(substr(principal, 7), '0123456789')
    WHERE principal GLOB 'human-[0-9]*'
        AND (ltrim(substr(principal, 7), '0123456789') = '' OR ltrim(substr(principal, 7), '0123456789') GLOB ' as agent:*');
UPDATE approvals SET decided_by = 'admin' || ltrim(substr(decided_by, 7), '0123456789')
    WHERE decided_by GLOB 'human-[0-9]*'
        AND (ltrim(substr(decided_by, 7), '0123456789') = '' OR ltrim(substr(decided_by, 7), '0123456789') GLOB ' as agent:*');
UPDATE policies SET author = 'admin' || ltrim(substr(author, 7), '0123456789')
    WHERE author GLOB 'human-[0-9]*'
        AND (ltrim(substr(author, 7), '0123456789') = '' OR ltrim(substr(author, 7), '0123456789') GLOB ' as agent:*');
UPDATE policies SET decided_by = 'admin' || ltrim(substr(decided_by, 7), '0123456789')
    WHERE decided_by GLOB 'human-[0-9]*'
        AND (ltrim(substr(decided_by, 7), '0123456789') = '' OR ltrim(substr(decided_by, 7), '0123456789') GLOB ' as agent:*');
UPDATE pins SET accepted_by = 'admin' || ltrim(substr(accepted_by, 7), '0123456789')
    WHERE accepted_by GLOB 'human-[0-9]*'
        AND (ltrim(substr(accepted_by, 7), '0123456789') = '' OR ltrim(substr(accepted_by, 7), '0123456789') GLOB ' as agent:*');
UPDATE past_pins SET accepted_by = 'admin' || ltrim(substr(accepted_by, 7), '0123456789')
    WHERE accepted_by GLOB 'human-[0-9]*'
        AND (ltrim(substr(accepted_by, 7), '0123456789') = '' OR ltrim(substr(accepted_by, 7), '0123456789') GLOB ' as agent:*');
UPDATE kept_out SET decided_by = 'admin' || ltrim(substr(decided_by, 7), '0123456789')
    WHERE decided_by GLOB 'human-[0-9]*'
        AND (ltrim(substr(decided_by, 7), '0123456789') = '' OR ltrim(substr(decided_by, 7), '0123456789') GLOB ' as agent:*');
UPDATE agents SET updated_by = 'admin' || ltrim(substr(updated_by, 7), '0123456789')
    WHERE updated_by GLOB 'human-[0-9]*'
        AND (ltrim(substr(updated_by, 7), '0123456789') = '' OR ltrim(substr(updated_by, 7), '0123456789') GLOB ' as agent:*');
