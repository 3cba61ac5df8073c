-- What the audit log says, for queries; it can be made again from the log. `position` is the order in
-- which the rows came here and the only order they are read in. Every call adds two rows, and what SQLite
-- writes costs by the column: the short values stand together in `head`, a JSON array, and are columns
-- only to those who read.
CREATE TABLE audit_events (
    position    INTEGER PRIMARY KEY,
    node        TEXT    NOT NULL,
    seq         INTEGER NOT NULL,
    at_ms       INTEGER NOT NULL,
    call_id     TEXT,
    head        TEXT    NOT NULL,
    context     TEXT    NOT NULL,
    event_type  TEXT AS (head ->> 0),
    level       TEXT AS (head ->> 1),
    actor_kind  TEXT AS (head ->> 2),
    actor_id    TEXT AS (head ->> 3),
    agent       TEXT AS (head ->> 4),
    session     TEXT AS (head ->> 5),
    server      TEXT AS (head ->> 6),
    tool        TEXT AS (head ->> 7),
    source_type TEXT AS (head ->> 8),
    project     TEXT AS (head ->> 9),
    decision    TEXT AS (head ->> 10),
    UNIQUE (node, seq)
) STRICT;

-- Call ids begin with their time, so that new ones come to stand beside each other.
CREATE INDEX audit_events_of_call ON audit_events (call_id) WHERE call_id IS NOT NULL;

-- An index for each thing that rows are looked for by would cost more than the rows: every batch would
-- touch a page for each tool. Instead rows are taken in blocks of 4,096 by position, and for each block it
-- is kept which times and which values it holds. Who looks for a value passes over the other blocks.
CREATE TABLE audit_blocks (
    block       INTEGER PRIMARY KEY,
    first_at_ms INTEGER NOT NULL,
    last_at_ms  INTEGER NOT NULL
) STRICT;

CREATE TABLE audit_marks (
    block INTEGER NOT NULL,
    kind  TEXT    NOT NULL,
    value TEXT    NOT NULL,
    PRIMARY KEY (block, kind, value)
) STRICT, WITHOUT ROWID;

-- How many rows of each sort each span of ten minutes had; what is unset is empty.
CREATE TABLE audit_counts (
    span       INTEGER NOT NULL,
    event_type TEXT    NOT NULL,
    agent      TEXT    NOT NULL,
    tool       TEXT    NOT NULL,
    decision   TEXT    NOT NULL,
    n          INTEGER NOT NULL,
    PRIMARY KEY (span, event_type, agent, tool, decision)
) STRICT, WITHOUT ROWID;

-- For those who ask in SQL. What has a column wins over what the context says.
CREATE VIEW task_audits AS
SELECT
    node || ':' || seq AS audit_id,
    coalesce(session, 'ORPHAN') AS task_id,
    level,
    event_type,
    json_patch(
        CASE WHEN json_valid(context) AND json_type(context) = 'object' THEN context ELSE '{}' END,
        json_object(
            'source_type', source_type, 'tool', tool, 'server', server, 'agent', agent, 'session', session,
            'project', project, 'call_id', call_id, 'decision', decision,
            'actor', json_object('kind', actor_kind, 'id', actor_id)
        )
    ) AS context,
    context AS payload,
    strftime('%Y-%m-%dT%H:%M:%fZ', at_ms / 1000.0, 'unixepoch') AS created_at
FROM audit_events;
