-- The decision about a call is in the record of its beginning, of its refusal, or of the question. Here it is a row
-- of its own as well, of the type `policy_decision`, without what was decided about.
DROP VIEW task_audits;

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

-- Old results of health checks are removed.
CREATE INDEX health_samples_by_time ON health_samples (at_ms);
