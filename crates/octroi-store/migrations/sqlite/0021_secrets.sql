-- Stored secrets. `scope` is `system` or `user:ID`. Each value is encrypted with a key of its own, `data_key`, and that with
-- the master key that `key_id` identifies.
CREATE TABLE secrets (
    scope         TEXT    NOT NULL,
    name          TEXT    NOT NULL,
    revision      INTEGER NOT NULL,
    value         TEXT    NOT NULL,
    data_key      TEXT    NOT NULL,
    key_id        TEXT    NOT NULL,
    created_at_ms INTEGER NOT NULL,
    created_by    TEXT    NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    updated_by    TEXT    NOT NULL,
    PRIMARY KEY (scope, name)
) STRICT;

-- The master key in use, by its id, so that another one is noticed.
CREATE TABLE master_key (
    one    INTEGER PRIMARY KEY CHECK (one = 1),
    key_id TEXT    NOT NULL
) STRICT;
