-- What the audit log says, for queries; it can be made again from the log. `position` is the order in
-- which the rows came here and the only order they are read in. Every call adds two rows, and what SQLite
-- writes costs by the column: the short values stand together in `head`, a JSON array.
CREATE TABLE audit_rows (
    position INTEGER PRIMARY KEY,
    node     TEXT    NOT NULL,
    seq      INTEGER NOT NULL,
    at_ms    INTEGER NOT NULL,
    call_id  TEXT,
    head     TEXT    NOT NULL,
    context  TEXT    NOT NULL,
    UNIQUE (node, seq)
) STRICT;

-- The same for those who read. (Generated columns would be worked out for every row that is written.)
CREATE VIEW audit_events AS
SELECT
    position, node, seq, at_ms, call_id, context,
    head ->> 0 AS event_type,
    head ->> 1 AS level,
    head ->> 2 AS actor_kind,
    head ->> 3 AS actor_id,
    head ->> 4 AS agent,
    head ->> 5 AS session,
    head ->> 6 AS server,
    head ->> 7 AS tool,
    head ->> 8 AS source_type,
    head ->> 9 AS project,
    head ->> 10 AS decision
FROM audit_rows;

-- Call ids begin with their time, so that new ones come to stand beside each other.
CREATE INDEX audit_rows_of_call ON audit_rows (call_id) WHERE call_id IS NOT NULL;

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
