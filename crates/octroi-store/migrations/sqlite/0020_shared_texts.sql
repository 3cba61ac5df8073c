-- The records of a call share most of their text with those of other calls. So a chunk has what they share once, as
-- templates, and for each event only what differs. The table is made again from the audit log at the next start.
DROP VIEW task_audits;
DROP VIEW audit_decisions;
DROP VIEW audit_events;
DROP TABLE audit_chunks;

CREATE TABLE audit_chunks (
    chunk     INTEGER PRIMARY KEY,
    node      TEXT    NOT NULL,
    first_seq INTEGER NOT NULL,
    -- How many events were purged from its start.
    n_gone    INTEGER NOT NULL,
    n_events  INTEGER NOT NULL,
    base_ms   INTEGER NOT NULL,
    -- A JSON array of records without what differs, with the time 0; or whole records of unusual forms.
    templates TEXT    NOT NULL,
    -- A JSON array, the oldest event first, of
    --   [seq - first_seq, index of the template, at_ms - base_ms, call, members of the context]
    -- The time is null if it is that of the template. The call is an id or the index of the first event in the chunk
    -- with the same one. The members are an object or null; they come before those of the template's context.
    events    TEXT    NOT NULL
) STRICT;

-- `last_seq` remains: it tells that the log has lost its end. This is how far the log is in the table.
ALTER TABLE audit_nodes ADD COLUMN indexed_seq INTEGER;

-- What is older than the events that the table had cannot be counted again.
DELETE FROM audit_counts WHERE span >= (SELECT min(first_at_ms) FROM audit_blocks) / 600000;
DELETE FROM audit_blocks;
DELETE FROM audit_marks;
DELETE FROM audit_late;

-- The events one by one, for those who ask in SQL.
CREATE VIEW audit_events AS
SELECT
    chunk,
    chunk * 256 + n_gone + each.key AS position,
    node,
    first_seq + (each.value ->> 0) AS seq,
    coalesce(
        base_ms + (each.value ->> 2), templates ->> ('$[' || (each.value ->> 1) || '].at_ms')
    ) AS at_ms,
    templates ->> ('$[' || (each.value ->> 1) || '].kind') AS event_type,
    templates ->> ('$[' || (each.value ->> 1) || '].level') AS level,
    templates ->> ('$[' || (each.value ->> 1) || '].actor.kind') AS actor_kind,
    templates ->> ('$[' || (each.value ->> 1) || '].actor.id') AS actor_id,
    templates ->> ('$[' || (each.value ->> 1) || '].agent') AS agent,
    templates ->> ('$[' || (each.value ->> 1) || '].session') AS session,
    templates ->> ('$[' || (each.value ->> 1) || '].server') AS server,
    templates ->> ('$[' || (each.value ->> 1) || '].tool') AS tool,
    templates ->> ('$[' || (each.value ->> 1) || '].source_type') AS source_type,
    templates ->> ('$[' || (each.value ->> 1) || '].project') AS project,
    CASE typeof(each.value ->> 3)
        WHEN 'integer' THEN events ->> ('$[' || (each.value ->> 3) || '][3]')
        ELSE each.value ->> 3
    END AS call_id,
    templates ->> ('$[' || (each.value ->> 1) || '].decision') AS decision,
    -- Joined as texts: as JSON, members that are null or occur twice would be lost.
    CASE
        WHEN each.value ->> 4 IS NULL
            THEN coalesce(templates -> ('$[' || (each.value ->> 1) || '].context'), '{}')
        WHEN templates ->> ('$[' || (each.value ->> 1) || '].context') IS NULL
            THEN each.value ->> 4
        ELSE substr(each.value ->> 4, 1, length(each.value ->> 4) - 1) || ','
            || substr(templates ->> ('$[' || (each.value ->> 1) || '].context'), 2)
    END AS context
FROM audit_chunks, json_each(audit_chunks.events) AS each;

-- The decision about a call is in the record of its beginning, of its refusal, or of the question. Here it is a row
-- of its own as well, of the type `policy_decision`, without what was decided about.
CREATE VIEW audit_decisions AS
SELECT
    chunk,
    position,
    node,
    seq,
    at_ms,
    'policy_decision' AS event_type,
    level,
    actor_kind,
    actor_id,
    agent,
    session,
    server,
    tool,
    source_type,
    project,
    call_id,
    decision,
    -- Patching an empty object leaves out what is unset.
    json_patch('{}', json_object(
        'method', context -> '$.method', 'uri', context -> '$.uri', 'name', context -> '$.name',
        'risk', context -> '$.risk', 'side_effects', context -> '$.side_effects',
        'definition', context -> '$.definition', 'mode', context -> '$.mode',
        'approval', context -> '$.approval', 'gate', context -> '$.gate', 'reason', context -> '$.reason',
        'reasons', context -> '$.reasons', 'left_out', context -> '$.left_out',
        'revision', context -> '$.revision', 'trace', context -> '$.trace'
    )) AS context
FROM audit_events
WHERE decision IS NOT NULL
    AND event_type IN ('tool_invocation_start', 'policy_violation', 'approval_requested', 'request_start');

-- The events in the form of tasks. What has a column wins over what the context says.
CREATE VIEW task_audits AS
SELECT
    audit_id,
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
FROM (
    SELECT node || ':' || seq AS audit_id, * FROM audit_events
    UNION ALL
    SELECT node || ':' || seq || ':decision' AS audit_id, * FROM audit_decisions
);
