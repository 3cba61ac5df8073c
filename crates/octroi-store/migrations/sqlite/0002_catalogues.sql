-- What each server last offered: one row for the server, one for each entry of its lists.
CREATE TABLE catalogues (
    scope        TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    identity     TEXT    NOT NULL,
    content_hash TEXT    NOT NULL,
    saved_at_ms  INTEGER NOT NULL,
    PRIMARY KEY (scope, name),
    FOREIGN KEY (scope, name) REFERENCES servers (scope, name) ON DELETE CASCADE
) STRICT;

CREATE TABLE catalogue_items (
    scope    TEXT    NOT NULL,
    name     TEXT    NOT NULL,
    list     TEXT    NOT NULL,
    position INTEGER NOT NULL,
    item     TEXT    NOT NULL,
    PRIMARY KEY (scope, name, list, position),
    FOREIGN KEY (scope, name) REFERENCES catalogues (scope, name) ON DELETE CASCADE
) STRICT;
