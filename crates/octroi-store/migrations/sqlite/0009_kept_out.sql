-- Definitions that a person has looked at and does not want. Each stays out when it comes back; another one under
-- the same name is asked about. Like pins they outlive their server.
CREATE TABLE kept_out (
    scope         TEXT    NOT NULL,
    server        TEXT    NOT NULL,
    kind          TEXT    NOT NULL,
    name          TEXT    NOT NULL,
    hash          BLOB    NOT NULL,
    decided_at_ms INTEGER NOT NULL,
    decided_by    TEXT    NOT NULL,
    PRIMARY KEY (scope, server, kind, name, hash)
) STRICT;
