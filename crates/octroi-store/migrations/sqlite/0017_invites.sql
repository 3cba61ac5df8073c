-- One-time invitations of people. Of an invitation's code only its hash is stored.
CREATE TABLE invites (
    id            TEXT    NOT NULL PRIMARY KEY,
    hash          BLOB    NOT NULL UNIQUE,
    user          TEXT    NOT NULL,
    created_at_ms INTEGER NOT NULL,
    created_by    TEXT    NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    used_at_ms    INTEGER
) STRICT;

-- Who may decide about a call, where the rules that ask say it: all of them have to be met.
ALTER TABLE approvals ADD COLUMN approvers TEXT NOT NULL DEFAULT '[]';
