-- How each server was, the newest last. Ids only grow: they give the order where a clock went back.
CREATE TABLE health_samples (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    scope      TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    at_ms      INTEGER NOT NULL,
    health     TEXT    NOT NULL,
    latency_ms INTEGER,
    error      TEXT,
    FOREIGN KEY (scope, name) REFERENCES servers (scope, name) ON DELETE CASCADE
) STRICT;

CREATE INDEX health_samples_of_server ON health_samples (scope, name, id);
