-- Who switched a server last, and whether an admin has said yes to it. Servers that ran before count as agreed to.
ALTER TABLE servers ADD COLUMN switched_by TEXT;
ALTER TABLE servers ADD COLUMN is_agreed INTEGER NOT NULL DEFAULT 0;
UPDATE servers SET is_agreed = 1;
