-- Policies of all levels, with their past and what was proposed. `agent` is empty but for the level of
-- one agent. A policy gets its version when it becomes active.
CREATE TABLE policies (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    level           TEXT    NOT NULL CHECK (level IN ('floor', 'global', 'agent')),
    agent           TEXT    NOT NULL CHECK ((level = 'agent') = (agent <> '')),
    language        TEXT    NOT NULL,
    source          TEXT    NOT NULL,
    version         INTEGER,
    status          TEXT    NOT NULL,
    was_proposed    INTEGER NOT NULL,
    author          TEXT    NOT NULL,
    rationale       TEXT,
    check_result    TEXT,
    created_at_ms   INTEGER NOT NULL,
    decided_at_ms   INTEGER,
    decided_by      TEXT,
    decision_reason TEXT
) STRICT;

CREATE UNIQUE INDEX policies_active ON policies (level, agent) WHERE status = 'active';
CREATE UNIQUE INDEX policies_versions ON policies (level, agent, version) WHERE version IS NOT NULL;
CREATE INDEX policies_proposed ON policies (status, id) WHERE was_proposed = 1;

-- Grows with every change of what is active. One row.
CREATE TABLE policy_revision (
    only     INTEGER PRIMARY KEY CHECK (only = 1),
    revision INTEGER NOT NULL
) STRICT;

INSERT INTO policy_revision VALUES (1, 0);
