-- What the audit log says, for queries; it can be made again from the log. Every call adds two records, and
-- SQLite takes its time for each row and each entry of an index. So up to 64 records stand in one row, as they are:
-- a JSON array of pairs, each a number and a record, the oldest first. The number of a chunk times 64 is the
-- position of its first record; positions are the order in which records came here and the only order they
-- are read in.
CREATE TABLE audit_chunks (
    chunk     INTEGER PRIMARY KEY,
    node      TEXT    NOT NULL,
    first_seq INTEGER NOT NULL,
    -- Forgotten since, from its beginning.
    n_gone    INTEGER NOT NULL,
    n_events  INTEGER NOT NULL,
    events    TEXT    NOT NULL
) STRICT;

-- How far the log of each gateway was read.
CREATE TABLE audit_nodes (
    node     TEXT    PRIMARY KEY,
    last_seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Call ids begin with their time, and most events of a call come within seconds of it: there they are looked
-- for. These are the others.
CREATE TABLE audit_late (
    call_id  TEXT    NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (call_id, position)
) STRICT, WITHOUT ROWID;

-- The events one by one, for those who ask in SQL.
CREATE VIEW audit_events AS
SELECT
    chunk,
    chunk * 64 + n_gone + each.key AS position,
    node,
    each.value ->> '$[0]' AS seq,
    each.value ->> '$[1].at_ms' AS at_ms,
    each.value ->> '$[1].kind' AS event_type,
    each.value ->> '$[1].level' AS level,
    each.value ->> '$[1].actor.kind' AS actor_kind,
    each.value ->> '$[1].actor.id' AS actor_id,
    each.value ->> '$[1].agent' AS agent,
    each.value ->> '$[1].session' AS session,
    each.value ->> '$[1].server' AS server,
    each.value ->> '$[1].tool' AS tool,
    each.value ->> '$[1].source_type' AS source_type,
    each.value ->> '$[1].project' AS project,
    each.value ->> '$[1].call' AS call_id,
    each.value ->> '$[1].decision' AS decision,
    coalesce(each.value -> '$[1].context', '{}') AS context
FROM audit_chunks, json_each(audit_chunks.events) AS each;

-- For each block of 4,096 positions it is kept which times and which values it holds. Who looks for a value
-- passes over the other blocks.
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

-- How many events of each sort each span of ten minutes had; what is unset is empty.
CREATE TABLE audit_counts (
    span       INTEGER NOT NULL,
    event_type TEXT    NOT NULL,
    agent      TEXT    NOT NULL,
    tool       TEXT    NOT NULL,
    decision   TEXT    NOT NULL,
    n          INTEGER NOT NULL,
    PRIMARY KEY (span, event_type, agent, tool, decision)
) STRICT, WITHOUT ROWID;

-- The events in the form of tasks. What has a column wins over what the context says.
CREATE VIEW task_audits AS
SELECT
    node || ':' || seq AS audit_id,
    coalesce(session, 'ORPHAN') AS task_id,
    level,
    event_type,
    json_patch(
        context,
        json_object(
            'source_type', source_type, 'tool', tool, 'server', server, 'agent', agent, 'session', session,
            'project', project, 'call_id', call_id, 'decision', decision,
            'actor', json_object('kind', actor_kind, 'id', actor_id)
        )
    ) AS context,
    context AS payload,
    strftime('%Y-%m-%dT%H:%M:%fZ', at_ms / 1000.0, 'unixepoch') AS created_at
FROM audit_events;
