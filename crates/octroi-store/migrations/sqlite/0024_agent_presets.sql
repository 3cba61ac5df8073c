-- The preset that an agent was created from, and what its model is told first.
ALTER TABLE agents ADD COLUMN preset TEXT;
ALTER TABLE agents ADD COLUMN system_prompt TEXT;
