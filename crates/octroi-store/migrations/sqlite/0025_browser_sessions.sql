-- Sessions of browsers: tokens of people without a secret. The browser signs with a key instead, of which this is the
-- thumbprint, and the session ends with the token that the person signed in with.
ALTER TABLE tokens ADD COLUMN browser_key BLOB CHECK (browser_key IS NULL OR kind = 'human');
ALTER TABLE tokens ADD COLUMN signed_in_with TEXT CHECK ((signed_in_with IS NULL) = (browser_key IS NULL));
