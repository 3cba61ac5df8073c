-- What a call sends beside its tool and its arguments, as people see it.
ALTER TABLE approvals ADD COLUMN other_params TEXT;
