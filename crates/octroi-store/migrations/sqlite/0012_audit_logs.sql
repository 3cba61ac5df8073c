-- What the database knows of each gateway's audit log besides its records: the key that signs, how many records a
-- checkpoint covered, and the number of the newest snapshot of this database in it. A log or a database that was
-- replaced by an older one is found by them.
CREATE TABLE audit_logs (
    node         TEXT    PRIMARY KEY,
    key          TEXT    NOT NULL,
    signed_until INTEGER NOT NULL,
    snapshot     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
