-- What a call sends beside its tool and its arguments, whole and encrypted. The column `other_params` keeps a
-- short version of it.
ALTER TABLE approvals ADD COLUMN other_params_sent TEXT;
