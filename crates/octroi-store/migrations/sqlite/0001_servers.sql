-- What is known of each server's definition. `scope` is `system` or `user:ID`.
CREATE TABLE servers (
    scope            TEXT    NOT NULL,
    name             TEXT    NOT NULL,
    managed_by       TEXT    NOT NULL,
    definition       TEXT    NOT NULL,
    content_hash     TEXT    NOT NULL,
    revision         INTEGER NOT NULL,
    enabled_override INTEGER,
    first_seen_ms    INTEGER NOT NULL,
    last_seen_ms     INTEGER NOT NULL,
    PRIMARY KEY (scope, name)
) STRICT;
