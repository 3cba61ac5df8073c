-- Arguments are encrypted, and removed some time after an approval is over. Few rows have any, and none has
-- plain ones unless an older version wrote it.
CREATE INDEX approvals_with_arguments ON approvals (state, number) WHERE arguments <> '';
CREATE INDEX approvals_plain ON approvals (number)
    WHERE arguments <> '' AND arguments NOT LIKE 'sealed1:%';
