-- Whether a server was seen to ask while calls of several clients were in progress.
ALTER TABLE servers ADD COLUMN asks_clients INTEGER NOT NULL DEFAULT 0;
