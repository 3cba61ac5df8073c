-- The definition of each tool, prompt and template that is accepted; those that differ from it and wait
-- for a person; and those that were accepted before. They outlive their server: a name that comes back
-- with another definition shall not pass for the old one.
CREATE TABLE pins (
    scope          TEXT    NOT NULL,
    server         TEXT    NOT NULL,
    kind           TEXT    NOT NULL,
    name           TEXT    NOT NULL,
    hash           BLOB    NOT NULL,
    definition     TEXT    NOT NULL,
    accepted_at_ms INTEGER NOT NULL,
    accepted_by    TEXT    NOT NULL,
    PRIMARY KEY (scope, server, kind, name)
) STRICT;

CREATE TABLE held_definitions (
    scope      TEXT    NOT NULL,
    server     TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    hash       BLOB    NOT NULL,
    definition TEXT    NOT NULL,
    seen_at_ms INTEGER NOT NULL,
    reason     TEXT    NOT NULL,
    PRIMARY KEY (scope, server, kind, name)
) STRICT;

CREATE TABLE past_pins (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    scope          TEXT    NOT NULL,
    server         TEXT    NOT NULL,
    kind           TEXT    NOT NULL,
    name           TEXT    NOT NULL,
    hash           BLOB    NOT NULL,
    definition     TEXT    NOT NULL,
    accepted_at_ms INTEGER NOT NULL,
    accepted_by    TEXT    NOT NULL,
    ended_at_ms    INTEGER NOT NULL
) STRICT;

CREATE INDEX past_pins_of_one ON past_pins (scope, server, kind, name, id);
