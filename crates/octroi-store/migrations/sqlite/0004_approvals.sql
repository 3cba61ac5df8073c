-- Requests for a person's leave to make one exact call, and what became of them. Numbers only grow:
-- they give the order where a clock went back. `arguments` is what the caller sent, secrets included.
CREATE TABLE approvals (
    number            INTEGER PRIMARY KEY AUTOINCREMENT,
    id                TEXT    NOT NULL UNIQUE,
    call_id           TEXT    NOT NULL,
    principal         TEXT    NOT NULL,
    agent             TEXT,
    tool              TEXT    NOT NULL,
    definition_hash   BLOB    NOT NULL,
    arguments_hash    BLOB    NOT NULL,
    policy_revision   INTEGER NOT NULL,
    state             TEXT    NOT NULL,
    arguments_preview TEXT    NOT NULL,
    arguments         TEXT    NOT NULL,
    edited_arguments  TEXT,
    risk              TEXT    NOT NULL,
    side_effects      TEXT    NOT NULL,
    reasons           TEXT    NOT NULL,
    requested_at_ms   INTEGER NOT NULL,
    expires_at_ms     INTEGER NOT NULL,
    decided_at_ms     INTEGER,
    decided_by        TEXT,
    decision_reason   TEXT,
    claimed_at_ms     INTEGER,
    finished_at_ms    INTEGER,
    outcome           TEXT,
    remembered_rule   TEXT,
    node              TEXT
) STRICT;

-- What waits is little beside what is over.
CREATE INDEX approvals_by_state ON approvals (state, number);
CREATE INDEX approvals_of_agent ON approvals (agent, number);
CREATE INDEX approvals_open ON approvals (principal, tool, arguments_hash)
    WHERE state IN ('pending', 'approved');
