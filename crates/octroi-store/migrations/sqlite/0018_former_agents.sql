-- Agents that were removed. Their ids stay reserved: what is recorded of them is theirs.
CREATE TABLE former_agents (
    id            TEXT    NOT NULL PRIMARY KEY,
    owner         TEXT,
    removed_at_ms INTEGER NOT NULL,
    removed_by    TEXT    NOT NULL
) STRICT;
