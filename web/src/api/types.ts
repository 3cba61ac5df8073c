// Generated from the tables of crates/octroi-api by `cargo xtask codegen`; do not edit.

/** Every operation that people have. */
export interface Operations {
  servers_list: { request: NoArguments; response: ServerList };
  servers_get: { request: ServerRequest; response: ServerDetail };
  servers_add: { request: AddServerRequest; response: ServerDetail };
  servers_update: { request: UpdateServerRequest; response: ServerDetail };
  servers_delete: { request: DeleteServerRequest; response: DeletedServer };
  servers_history: { request: ServerRequest; response: ServerHistory };
  servers_rollback: { request: RollbackServerRequest; response: ServerDetail };
  servers_toggle: { request: ToggleRequest; response: ServerStatus };
  servers_switch_many: { request: SwitchManyRequest; response: SwitchedServers };
  servers_restart: { request: ServerRequest; response: ServerStatus };
  servers_test: { request: ServerRequest; response: ServerStatus };
  servers_refresh: { request: RefreshRequest; response: Refreshed };
  servers_logs: { request: LogsRequest; response: LogLines };
  templates_list: { request: ListTemplatesRequest; response: TemplateList };
  templates_get: { request: TemplateRequest; response: Template };
  health_check_all: { request: NoArguments; response: HealthReport };
  gateway_status: { request: NoArguments; response: GatewayStatus };
  quotas_list: { request: NoArguments; response: QuotaList };
  config_reload: { request: ReloadRequest; response: ConfigChanges };
  config_show: { request: NoArguments; response: ShownConfig };
  tools_list_catalog: { request: CatalogRequest; response: ToolCatalog };
  tools_get: { request: ToolRequest; response: ToolDetail };
  tools_call: { request: CallRequest; response: CallResponse };
  attention_list: { request: NoArguments; response: Attention };
  calls_list: { request: ListCallsRequest; response: CallPage };
  calls_get: { request: CallRequest2; response: CallDetail };
  clients_list: { request: NoArguments; response: ClientList };
  agents_decide_request: { request: DecideRequest; response: Decided };
  agents_approve_request: { request: ApproveRequest; response: Decided };
  agents_deny_request: { request: DenyRequest; response: Decided };
  approvals_list: { request: ListApprovalsRequest; response: ApprovalList };
  approvals_get: { request: ApprovalRequest; response: Approval };
  approvals_reveal: { request: RevealRequest; response: RevealedArgument };
  approvals_context: { request: ApprovalRequest; response: ApprovalContext };
  approvals_check_arguments: { request: CheckArgumentsRequest; response: CheckedArguments };
  approvals_decide_many: { request: DecideManyRequest; response: DecidedMany };
  approvals_forget_rule: { request: ApprovalRequest; response: PolicyVersion };
  pins_list: { request: ListPinsRequest; response: HeldPins };
  pins_accept: { request: AcceptPinRequest; response: PinDecision };
  pins_reject: { request: RejectPinRequest; response: PinDecision };
  pins_forget: { request: ForgetPinsRequest; response: ForgottenPins };
  pins_lock: { request: NoArguments; response: LockText };
  pins_history: { request: PinHistoryRequest; response: PinHistory };
  agents_list: { request: NoArguments; response: AgentList };
  agents_get: { request: AgentRequest; response: Agent };
  agents_create: { request: CreateAgentRequest; response: Agent };
  agents_update: { request: UpdateAgentRequest; response: Agent };
  specs_freeze: { request: FreezeSpecRequest; response: Agent };
  agents_stop: { request: AgentReasonRequest; response: Agent };
  agents_boot: { request: AgentRequest; response: Agent };
  agents_abort: { request: AgentReasonRequest; response: AbortedWork };
  agents_delete: { request: AgentRequest; response: Agent };
  agents_get_mcp_config: { request: AgentRequest; response: AgentMounts };
  agents_attach_server: { request: AttachServerRequest; response: AgentMounts };
  agents_detach_server: { request: DetachServerRequest; response: AgentMounts };
  agents_update_mcp_config: { request: AgentMcpConfigRequest; response: AgentMounts };
  sessions_list: { request: ListSessionsRequest; response: SessionList };
  sessions_get: { request: SessionRequest; response: Session };
  sessions_create: { request: CreateSessionRequest; response: Session };
  sessions_close: { request: SessionRequest; response: Session };
  sessions_get_mcp_config: { request: SessionRequest; response: SessionMcpConfig };
  sessions_set_mcp_config: { request: SetMcpConfigRequest; response: SessionMcpConfig };
  presets_list: { request: NoArguments; response: PresetList };
  users_list: { request: NoArguments; response: UserList };
  users_add: { request: AddUserRequest; response: User };
  users_invite: { request: InviteUserRequest; response: Invitation };
  users_update: { request: UpdateUserRequest; response: User };
  users_remove: { request: UserRequest; response: User };
  tokens_list: { request: ListTokensRequest; response: TokenList };
  tokens_create: { request: CreateTokenRequest; response: CreatedToken };
  tokens_rotate: { request: RotateTokenRequest; response: CreatedToken };
  tokens_revoke: { request: TokenRequest; response: Token };
  tokens_sign_in_code: { request: NoArguments; response: SignInCode };
  secrets_list: { request: ListSecretsRequest; response: SecretList };
  secrets_set: { request: SetSecretRequest; response: ChangedSecret };
  secrets_remove: { request: RemoveSecretRequest; response: ChangedSecret };
  agents_set_policy: { request: SetAgentPolicyRequest; response: PolicyVersion };
  policy_set_global: { request: SetPolicyRequest; response: PolicyVersion };
  policy_set_floor: { request: SetPolicyRequest; response: PolicyVersion };
  policy_show: { request: LevelRequest; response: ActivePolicy };
  policy_history: { request: LevelRequest; response: PolicyVersions };
  policy_rollback: { request: RollbackRequest; response: PolicyVersion };
  policy_check: { request: CheckPolicyRequest; response: PolicyCheck };
  policy_test: { request: TestPolicyRequest; response: TestedPolicy };
  policy_why: { request: WhyRequest; response: Explanation };
  policy_explain: { request: ExplainPolicyRequest; response: PolicySentences };
  policy_replay: { request: ReplayRequest; response: Replay };
  policy_schema: { request: NoArguments; response: SchemaText };
  policy_proposals: { request: ListProposalsRequest; response: ProposalList };
  policy_proposal: { request: ProposalRequest; response: PolicyVersion };
  agents_approve_proposal: { request: ProposalRequest; response: PolicyVersion };
  agents_reject_proposal: { request: RejectProposalRequest; response: PolicyVersion };
  audit_query: { request: AuditQueryRequest; response: AuditPage };
  audit_show: { request: AuditShowRequest; response: AuditRecords };
  audit_verify: { request: NoArguments; response: AuditVerification };
  audit_purge: { request: AuditPurgeRequest; response: AuditPurged };
  audit_report: { request: AuditReportRequest; response: AuditCounts };
  audit_prove: { request: ProveRequest; response: AuditProof };
  audit_export: { request: ExportRequest; response: AuditExported };
  calls_stats: { request: CallsStatsRequest; response: CallStatistics };
}

/** What is read from each kind of resource. */
export interface ResourceContents {
  servers: ServersResource;
  server: ServerStatus;
  sessions: SessionList;
  sessionMcpConfig: SessionMcpConfig;
  health: Record<string, ServerHealth>;
  templates: TemplateList;
  tools: ToolCatalog;
  pendingApprovals: Approval[];
  agentPendingApprovals: Approval[];
  agentPastApprovals: PastApprovals;
  agentApproval: Approval;
  heldPins: HeldPins;
  agents: Agent[];
  agentInfo: Agent;
  agentState: AgentStatus;
  agentSnapshot: AgentSnapshot;
  agentSession: AgentSession;
  agentMounts: AgentMounts;
  presets: PresetList;
  users: UserList;
  tokens: TokenList;
  activePolicy: string;
  activePolicyAlias: string;
  agentPolicyState: PolicyState;
  agentPolicySource: string;
  agentProposals: ProposalList;
  proposal: PolicyVersion;
  recentAudit: AuditRecords;
  recentCalls: CallPage;
  attention: Attention;
  clients: ClientList;
  serverLogs: LogLines;
  gateway: GatewayStatus;
}

/** The variables in the URI of each kind of resource. */
export interface ResourceVariables {
  servers: Record<string, never>;
  server: { id: string };
  sessions: Record<string, never>;
  sessionMcpConfig: { id: string };
  health: Record<string, never>;
  templates: Record<string, never>;
  tools: Record<string, never>;
  pendingApprovals: Record<string, never>;
  agentPendingApprovals: { agent_id: string };
  agentPastApprovals: { agent_id: string };
  agentApproval: { agent_id: string; id: string };
  heldPins: Record<string, never>;
  agents: Record<string, never>;
  agentInfo: { agent_id: string };
  agentState: { agent_id: string };
  agentSnapshot: { agent_id: string };
  agentSession: { agent_id: string };
  agentMounts: { agent_id: string };
  presets: Record<string, never>;
  users: Record<string, never>;
  tokens: Record<string, never>;
  activePolicy: Record<string, never>;
  activePolicyAlias: Record<string, never>;
  agentPolicyState: { agent_id: string };
  agentPolicySource: { agent_id: string };
  agentProposals: { agent_id: string };
  proposal: { id: string };
  recentAudit: Record<string, never>;
  recentCalls: Record<string, never>;
  attention: Record<string, never>;
  clients: Record<string, never>;
  serverLogs: { id: string };
  gateway: Record<string, never>;
}

/** What was aborted. */
export interface AbortedWork {
  /** The agent */
  agent_id: string;
  /** The number of calls that were being made */
  calls: number;
  /** The number of calls that waited for approval, or were approved and not made yet */
  approvals: number;
  /** The number of calls that had become tasks */
  tasks: number;
}

/** The definition to accept. */
export interface AcceptPinRequest {
  /** Its server */
  server: string;
  /** Its kind [default: tool] */
  kind?: "server" | "tool" | "prompt" | "resource" | "template";
  /** The server's name for it; omitted for a server's own instructions */
  name?: string;
  /** The hash of the reviewed definition, from `pins_list` */
  hash: string;
}

/** The active policy of a level, if any. */
export type ActivePolicy = { rules: string[]; file: string | null; gates: GateStatus[]; } & (PolicyVersion | ({ level: "floor" | "global" | "agent"; agent: string | null; version: number; source: string; }));

/** A server to add. */
export interface AddServerRequest {
  /** Its name: up to 32 of a-z, 0-9, `_` and `-` */
  name: string;
  /** What is configured of it, with the keys of an entry of the configuration file, such as `url` and `headers` */
  entry: Record<string, unknown>;
  /** system: everybody shares it, which only administrators may decide [default: user] */
  scope?: "system" | "user";
}

/** A user to add. */
export interface AddUserRequest {
  /** The name: up to 32 of a-z, 0-9, `.`, `_` and `-` */
  name: string;
  /** What the user may do; a member if omitted */
  role?: "admin" | "member";
}

/** An agent, its settings and what it is doing. */
export interface Agent {
  /** Its id */
  id: string;
  /** Its title, or else its id */
  name: string;
  /** Its title for people */
  title: string | null;
  /** The user it belongs to */
  owner: string;
  /** How strict the gates are with it */
  profile: "strict" | "guarded" | "open";
  /** Whether it may act or only read */
  mode: "planning" | "execution";
  /** The project it works on */
  project: string | null;
  /** The directory of the project */
  project_root: string | null;
  /** The hash of its specification */
  spec_hash: string | null;
  /** Whether the specification is frozen */
  spec_frozen: boolean;
  /** Side effects that it must not have */
  blacklist: string[];
  /** Where its loop runs: `bridge` is elsewhere, in its own program */
  agent_mode: string;
  /** Whether a client of it listens or has a call under way */
  live: boolean;
  /** running: a call is under way; suspended: it waits for a person or is paused */
  state: "idle" | "running" | "suspended";
  /** What it waits for */
  run_phase: "idle" | "waiting_tool" | "waiting_approval";
  /** What it does now, if it does something */
  active_run_id: string | null;
  /** The number of its calls that wait for approval */
  pending_approvals: number;
  /** What Octroi can do with it */
  capabilities: AgentCapabilities;
  /** The preset that it was created from */
  preset: string | null;
  /** What its model is told first */
  system_prompt: string | null;
  /** Whether it is in the configuration */
  configured: boolean;
  /** When it was created, if somebody created it */
  created_at: string | null;
  /** Who created it */
  created_by: string | null;
  /** Who paused it, if it is paused */
  paused: AgentPause | null;
  /** When its settings were last changed, apart from the configuration */
  set_at: string | null;
  /** Who changed them */
  set_by: string | null;
}

/** What Octroi can do with an agent. One whose loop runs elsewhere has neither. */
export interface AgentCapabilities {
  /** Whether people can write to it here */
  chat: boolean;
  /** Whether its loop runs here */
  agent_loop: boolean;
}

/** All agents. */
export interface AgentList {
  /** The agents, by id */
  agents: Agent[];
  /** The number of agents */
  count: number;
}

/** The servers that an agent has from now on. */
export interface AgentMcpConfigRequest {
  /** The agent */
  agent_id: string;
  /** The servers, by name or id; none: all that its owner has */
  servers?: string[];
}

/** The servers of an agent. */
export interface AgentMounts {
  /** The agent */
  agent_id: string;
  /** Whether it has only what is attached to it; otherwise it has all servers of its owner */
  is_list: boolean;
  /** Its servers */
  mounts: MountRecord[];
}

/** Why an agent is paused. */
export interface AgentPause {
  /** Since when */
  at: string;
  /** Who paused it */
  by: string;
  /** Why */
  reason: string | null;
}

/** An agent, and why something is done to it. */
export interface AgentReasonRequest {
  /** The agent */
  agent_id: string;
  /** Why, for the agent and for the records */
  reason?: string;
}

/** One agent, by id. */
export interface AgentRequest {
  /** The agent */
  agent_id: string;
}

/** A time in which an agent has calls under way. */
export interface AgentRunning {
  /** Its id */
  run_id: string;
  /** running, or else it is not shown */
  status: string;
  /** When it began */
  started_at: string | null;
}

/** A server of an agent. */
export interface AgentServer {
  /** Its name, which its tools begin with */
  name: string;
  /** Its state */
  state: "disabled" | "stopped" | "starting" | "running" | "stopping" | "failed" | "needs_auth";
  /** Its health */
  health: "unknown" | "healthy" | "degraded" | "unhealthy";
}

/** The session of an agent. One whose loop runs elsewhere has one, which begins with Octroi. */
export interface AgentSession {
  /** Its id: the agent's */
  session_id: string;
  /** The version of this format */
  version: number;
  /** connected: a client of it listens or has a call under way */
  status: string;
  /** The number of its clients that listen */
  clients: number;
  /** What it does now, if it does something */
  active_run_id: string | null;
  /** How often it began to do something since Octroi started */
  run_counter: number;
  /** What it does now, if it does something */
  run: AgentRunning | null;
}

/** Everything about an agent at one moment. */
export interface AgentSnapshot {
  /** The agent */
  agent: Agent;
  /** Its state */
  state: AgentStatus;
  /** Its session and what it does now */
  session: AgentSession;
  /** Its calls that wait for approval */
  pending_approvals: Approval[];
  /** Its servers, by name */
  mcp: AgentServer[];
}

/** The state of an agent. */
export interface AgentStatus {
  /** The agent */
  agent_id: string;
  /** running: a call is under way; suspended: it waits for a person or is paused */
  state: "idle" | "running" | "suspended";
  /** What it waits for */
  phase: "idle" | "waiting_tool" | "waiting_approval";
  /** Since when; nothing if it has done nothing since Octroi started */
  timestamp: string | null;
  /** Who paused it, if it is paused */
  paused: AgentPause | null;
}

/** A call that needs or needed approval. Secrets in what it sends are masked. */
export interface Approval {
  /** Its id, ap_… */
  id: string;
  /** The same id, for clients that expect it under this name */
  call_id: string;
  /** The id of the call in the audit log */
  invocation_id: string;
  /** The agent that called; null for a person */
  agent_id: string | null;
  /** The principal that called */
  principal: string;
  /** The canonical id of the tool */
  tool: string;
  /** The arguments with secrets masked; a short version where `arguments` is null */
  args: unknown;
  /** The whole arguments as JSON text, with secrets masked and numbers as they were sent; null for long ones in lists */
  arguments: string | null;
  /** What is masked; `approvals_reveal` shows it */
  masked: MaskedArgument[];
  /** Whether the arguments and other params are still there */
  arguments_kept: "whole" | "removed" | "unreadable";
  /** What else the call sends, as `params` and `_meta`, with secrets masked; JSON text if a value would round its numbers, and a short version where `arguments` is null; null if nothing */
  other_params: unknown;
  /** The risk level of the tool */
  risk: string;
  /** The side effects of the tool */
  side_effects: string[];
  /** Why approval is needed */
  reasons: string[];
  /** Who may decide, where a rule says it; otherwise the owner of the agent and administrators may */
  approvers?: string;
  /** The address of the page where a person can decide about it */
  page?: string;
  /** When it was requested */
  requested_at: string;
  /** When it can no longer be decided or used */
  expires_at: string;
  /** Its current state */
  state: "pending" | "approved" | "denied_continue" | "denied_abort" | "expired" | "cancelled" | "orphaned" | "claimed" | "done";
  /** When it was decided, expired or cancelled */
  decided_at: string | null;
  /** Who decided */
  decided_by: string | null;
  /** The reason they gave */
  reason: string | null;
  /** Whether the approver changed the arguments */
  edited: boolean;
  /** The rule that was saved with the decision */
  remembered_rule: string | null;
  /** When the approval was used */
  claimed_at: string | null;
  /** When the call ended */
  finished_at: string | null;
  /** The outcome of the call, as one word */
  outcome: string | null;
}

/** What helps to decide about a call. */
export interface ApprovalContext {
  /** The approval */
  approval: Approval;
  /** The facts from its arguments; null if the arguments are no longer kept, or the tool is gone */
  facts: CallFacts | null;
  /** The last call of the same tool by the same agent that was made; null if there is none */
  last_call: LastCall | null;
  /** The newest decisions about calls of the same tool by the same agent, newest first: at most five */
  similar: PastDecision[];
  /** The rules that `remember` would save with an approval, for eight hours; none where that is not possible */
  rules: PossibleRule[];
}

/** Approvals, newest first. */
export interface ApprovalList {
  /** The approvals, newest first */
  approvals: Approval[];
  /** The number of these approvals */
  count: number;
}

/** One approval, by id. */
export interface ApprovalRequest {
  /** The approval, ap_… */
  id: string;
}

/** The call to approve. */
export interface ApproveRequest {
  /** The agent; must be the one that called */
  agent_id?: string;
  /** The approval, ap_… */
  call_id: string;
  /** The reason, for the agent and the history */
  reason?: string;
  /** Other arguments for the call; all gates are evaluated again */
  arguments?: Record<string, unknown>;
  /** The same as JSON text, in which numbers stay as they are written */
  arguments_json?: string;
  /** Save a rule: `exact` for exactly these arguments, `tool` for any */
  remember?: "exact" | "tool";
  /** How long the rule is valid: a time like `8h`, or `forever` [default: 8h] */
  until?: string;
  /** Only show the rule that `remember` would save; nothing is decided */
  preview?: boolean;
}

/** A server to attach. */
export interface AttachServerRequest {
  /** The agent */
  agent_id: string;
  /** The server, by name or id */
  server: string;
  /** Whether it cannot be detached [default: false] */
  pinned?: boolean;
}

/** What needs a person. */
export interface Attention {
  /** The items, what is most urgent first: at most a hundred of each kind */
  items: AttentionItem[];
  /** The number of items of each kind that has any */
  counts: AttentionCount[];
  /** The steps after the first start, in their order */
  first_steps: FirstStep[];
}

/** The number of items of a kind. */
export interface AttentionCount {
  /** The kind */
  kind: "approval" | "pin" | "proposal" | "configuration" | "server" | "token" | "problem";
  /** How many there are, listed or not */
  n: number;
}

/** Something that needs a person. */
export interface AttentionItem {
  /** What it is about */
  kind: "approval" | "pin" | "proposal" | "configuration" | "server" | "token" | "problem";
  /** The id of what it is about; null if there is none */
  id: string | null;
  /** What it is, in a few words */
  title: string;
  /** Why it needs a person */
  reason: string | null;
  /** The agent it concerns */
  agent: string | null;
  /** Since when, in milliseconds since 1970, where that is known */
  since_ms: number | null;
  /** Until when something can be done, in milliseconds since 1970 */
  until_ms: number | null;
}

/** The principal behind a record. */
export interface AuditActor {
  /** The kind of principal, as `user` or `agent` */
  kind: string;
  /** Its id */
  id: string;
}

/** A count of similar records. */
export interface AuditCount {
  /** The kind of record */
  kind: string;
  /** The agent */
  agent: string | null;
  /** The canonical id of the tool */
  tool: string | null;
  /** The decision about the call */
  decision: string | null;
  /** The number of records */
  n: number;
}

/** Counts of records. */
export interface AuditCounts {
  /** The start of the period, in milliseconds since 1970 */
  since_ms: number;
  /** The counts */
  counts: AuditCount[];
}

/** A page of exported records. The pages one after the other are the file. */
export interface AuditExported {
  /** The records in the format */
  text: string;
  /** The number of records on this page */
  records: number;
  /** The number of the last examined record; give it as `after` to continue */
  last: number;
  /** Whether there are records after it */
  more: boolean;
}

/** A page of following records. */
export interface AuditFollowed {
  /** The records, oldest first */
  records: AuditRecord[];
  /** The number of the last examined record; give it as `after` to continue */
  last: number;
}

/** A page of search results. */
export interface AuditFound {
  /** The records, newest first; a page may be short even if there are more */
  records: AuditRecord[];
  /** The value of `before` for the next page; null at the end */
  next: number | null;
  /** The number of the last record in the log */
  position: number;
  /** How many of the newest records are not indexed yet */
  behind: number;
}

/** A page of records: newest first, or with `after` oldest first. */
export type AuditPage = AuditFound | AuditFollowed;

/** A record, a signed checkpoint that covers it, and the hashes in between. It can be checked without the log. */
export interface AuditProof {
  /** The number of the record */
  seq: number;
  /** The exact text of the record */
  record: string;
  /** The hashes beside the path from the record to the root, in base64 */
  path: string[];
  /** The signed checkpoint */
  checkpoint: string;
  /** The public key that the checkpoint is signed with; whoever checks the proof should have it from elsewhere */
  key: string;
  /** How to check it */
  how: string;
}

/** The records to remove. */
export interface AuditPurgeRequest {
  /** Records older than this moment, in milliseconds since 1970 */
  before_ms: number;
}

/** The records that were removed. */
export interface AuditPurged {
  /** The number of segments */
  segments: number;
  /** The number of records in them */
  records: number;
}

/** The records to search for. */
export interface AuditQueryRequest {
  /** At or after this moment, in milliseconds since 1970 */
  since_ms?: number;
  /** Before this moment, in milliseconds since 1970 */
  until_ms?: number;
  /** Only these kinds of records; `policy_decision` stands for the decisions that other records contain */
  kinds?: ("tool_invocation_start" | "tool_invocation_end" | "policy_decision" | "policy_violation" | "approval_requested" | "approval_resolved" | "policy_changed" | "proposal_created" | "proposal_resolved" | "server_changed" | "config_reloaded" | "token_changed" | "auth_failed" | "tool_definition_changed" | "quota_warning" | "quota_exceeded" | "audit_purged" | "audit_opened" | "administrative_change" | "request_start" | "request_end" | "argument_revealed" | "state_snapshot" | "agent_changed" | "user_changed" | "pin_changed" | "question_answered" | "secret_changed")[];
  /** The agent */
  agent?: string;
  /** The server */
  server?: string;
  /** The session, as records name it */
  session?: string;
  /** The canonical id of the tool; `*` matches any characters */
  tool?: string;
  /** The decision; not with `after` */
  decision?: "allow" | "ask" | "deny_continue" | "deny_abort";
  /** The call; not with `after` */
  call?: string;
  /** A text that occurs in the record */
  text?: string;
  /** The maximum number [default: 50] */
  limit?: number;
  /** `next` of the previous page, to continue; not with `after` */
  before?: number;
  /** The number of the last known record; continues after it, oldest first */
  after?: number;
}

/** A record of the audit log. An unreadable one has only its number and `unreadable`. */
export interface AuditRecord {
  /** Its number in the log */
  seq: number;
  /** When it happened, in milliseconds since 1970 */
  at_ms?: number;
  /** The kind of event, as `tool_invocation_start` */
  kind?: string;
  /** Its severity: info, warn or error */
  level?: string;
  /** The principal that did it */
  actor?: AuditActor | null;
  /** The agent on whose behalf it happened */
  agent?: string;
  /** The session it happened in */
  session?: string;
  /** The server concerned */
  server?: string;
  /** The canonical id of the tool concerned */
  tool?: string;
  /** The kind of source that provides the tool */
  source_type?: string;
  /** The project it happened in */
  project?: string;
  /** The call it belongs to */
  call?: string;
  /** The decision about the call */
  decision?: string;
  /** Further details, depending on the kind */
  context?: unknown;
  /** Whether the record cannot be read */
  unreadable?: boolean;
}

/** Complete records. */
export interface AuditRecords {
  /** The records */
  records: AuditRecord[];
}

/** The period to count. */
export interface AuditReportRequest {
  /** At or after this moment, in milliseconds since 1970 [default: 0] */
  since_ms?: number;
}

/** A record or a call. */
export interface AuditShowRequest {
  /** The number of the record; all records of its call are returned */
  seq?: number;
  /** Instead of a record: the call */
  call?: string;
}

/** The result of verifying the log. */
export interface AuditVerification {
  /** Whether there are no problems */
  intact: boolean;
  /** The node that wrote the log */
  node: string;
  /** The public key that verifies its checkpoints */
  key: string;
  /** The records up to this one were purged, as a signed record says; 0 if none were */
  purged_until: number;
  /** The first record */
  first_seq: number;
  /** The last record */
  last_seq: number;
  /** The number of records that were read */
  records: number;
  /** The number of segments */
  segments: number;
  /** The number of verified checkpoints */
  checkpoints: number;
  /** The last record that a signature covers */
  signed_until: number;
  /** The chain value at the end */
  chain: string;
  /** The root of the Merkle tree over all records */
  root: string;
  /** All problems that were found */
  problems: string[];
}

/** A server that a session can use. */
export interface AvailableServer {
  /** Its id */
  id: string;
  /** Its name */
  name: string;
  /** Whether everybody shares it: system or user */
  scope: string;
  /** Whether it is used in the session */
  enabled: boolean;
}

/** A call of a tool, put together from its audit records. A call that was asked about is one, from the question to its end. */
export interface Call {
  /** Its id */
  id: string;
  /** The number of its first audit record */
  seq: number;
  /** When it was received, in milliseconds since 1970 */
  at_ms: number;
  /** Who called, and for which agent */
  caller: Caller;
  /** The server */
  server: string | null;
  /** The canonical id of the tool */
  tool: string;
  /** What was decided, and why */
  decided: CallDecision;
  /** `running`, `waiting` for a person, `approved` and not made yet, `denied`, or how it ended, as `completed` */
  outcome: string;
  /** How long the server took, in milliseconds */
  duration_ms: number | null;
  /** The approval that was asked for, ap_… */
  approval: string | null;
}

/** What a call was answered. */
export interface CallAnswer {
  /** The outcome in one word */
  outcome: string;
  /** The length of the result in bytes */
  bytes: number | null;
  /** The beginning of its first text, if that is recorded */
  summary: string | null;
}

/** What was decided about a call, and why. */
export interface CallDecision {
  /** The decision */
  decision: "allow" | "ask" | "deny_continue" | "deny_abort" | null;
  /** The gate that decided */
  gate: string | null;
  /** The rule, clause or program that decided */
  rule: string | null;
  /** The reason */
  reason: string | null;
}

/** Everything that is known of a call. */
export interface CallDetail {
  /** Its id */
  id: string;
  /** The number of its first audit record */
  seq: number;
  /** When it was received, in milliseconds since 1970 */
  at_ms: number;
  /** Who called, and for which agent */
  caller: Caller;
  /** The server */
  server: string | null;
  /** The canonical id of the tool */
  tool: string;
  /** What was decided, and why */
  decided: CallDecision;
  /** `running`, `waiting` for a person, `approved` and not made yet, `denied`, or how it ended, as `completed` */
  outcome: string;
  /** How long the server took, in milliseconds */
  duration_ms: number | null;
  /** The approval that was asked for, ap_… */
  approval: string | null;
  /** What was sent, as recorded */
  request: CallSent;
  /** What was answered, as recorded; null if nothing was yet */
  answer: CallAnswer | null;
  /** The verdicts of all gates, in their order */
  gates: CallGate[];
  /** What happened, oldest first */
  events: CallEvent[];
  /** The approval as it is now; null if nobody was asked, or it is no longer kept */
  approval_record: Approval | null;
}

/** Something that happened to a call. */
export interface CallEvent {
  /** The number of its audit record */
  seq: number;
  /** When, in milliseconds since 1970 */
  at_ms: number;
  /** The kind of record, as `tool_invocation_start` */
  kind: string;
  /** The principal that did it */
  by: string;
  /** What came of it, in one word */
  what: string;
  /** The reason that was given */
  reason: string | null;
}

/** Facts from the arguments of a call and the history of its agent. */
export interface CallFacts {
  /** Paths in the arguments */
  paths: string[];
  /** Paths outside the agent's project */
  paths_outside_project: string[];
  /** Hosts in the arguments */
  hosts: string[];
  /** Verbs of SQL in the arguments */
  sql_verbs: string[];
  /** Programs that shell commands in the arguments run */
  shell_heads: string[];
  /** Kinds of secrets in the arguments */
  secrets: string[];
  /** The size of the arguments, in bytes */
  payload_bytes: number;
  /** Whether this is the agent's first call of the tool */
  is_first_use: boolean;
  /** The number of the agent's calls within the last minute */
  calls_last_minute: number;
}

/** The verdict of a gate on a call. */
export interface CallGate {
  /** The gate */
  gate: string;
  /** Its outcome */
  outcome: "pass" | "ask" | "deny";
  /** Its reason */
  reason: string | null;
  /** The rule, clause or program that decided */
  by: string | null;
  /** The rule or profile that answered in the place of a person */
  answered_by: string | null;
}

/** How some calls went. */
export interface CallNumbers {
  /** Calls that were made */
  calls: number;
  /** Those of them in which the tool or the server failed */
  errors: number;
  /** Calls that were denied */
  denials: number;
  /** Half of the calls took at most so long, in milliseconds; null without calls */
  p50_ms: number | null;
  /** 95 percent of the calls took at most so long, in milliseconds; null without calls */
  p95_ms: number | null;
  /** 99 percent of the calls took at most so long, in milliseconds; null without calls */
  p99_ms: number | null;
}

/** A page of calls. */
export interface CallPage {
  /** The calls, newest first; with `after`, those that began or changed since then, oldest first */
  calls: Call[];
  /** The value of `before` for the next page; null at the end */
  next: number | null;
  /** The value of `after` that continues with what comes later */
  position: number;
  /** Whether there is more after `position` already */
  more: boolean;
}

/** The tool to call, and the agent to call it as. */
export interface CallRequest {
  /** The agent whose gates apply to the call */
  agent: string;
  /** The tool: its canonical id, `server.tool`, or the name that clients call it by */
  tool: string;
  /** The arguments of the call [default: none] */
  arguments?: Record<string, unknown>;
}

/** A call, by id. */
export interface CallRequest2 {
  /** The id of the call, or of its approval, ap_… */
  id: string;
}

/** The result of a call. Its members depend on the outcome. */
export interface CallResponse {
  /** The outcome of the call */
  outcome: "completed" | "tool_error" | "waiting" | "denied" | "expired" | "failed";
  /** Whether the tool answered and did what it was asked to */
  success: boolean;
  /** The structured content of the answer, or its text; null if the tool did not answer */
  payload: unknown;
  /** The answer as text: text parts as they are, each image, audio, blob and resource in one line with type and size */
  text: string;
  /** The id of the call in the audit log */
  invocation_id?: string;
  /** The canonical id of the tool, as `mcp:server:tool` */
  tool_id?: string;
  /** The side effects of the tool, as `fs.write` */
  declared_side_effects?: string[];
  /** When the call arrived, in milliseconds since 1970 */
  started_at_ms: number;
  /** When it was answered, in milliseconds since 1970 */
  completed_at_ms: number;
  /** How long it took, with all gates, in milliseconds */
  duration_ms: number;
  /** The pending approval, ap_… */
  approval?: string;
  /** Why approval is needed */
  reasons?: string[];
  /** When the approval expires */
  expires?: string;
  /** How to go on, if nothing was done yet */
  hint?: string;
  /** Why there is no result */
  message?: string;
  /** The error, with its `code` and `hint`; the server's own if it answered with one */
  error?: Record<string, unknown>;
  /** The tool's answer as it is: a result of MCP's `tools/call`, with `content` */
  result?: Record<string, unknown>;
  /** The agent as which it was called */
  agent: string;
  /** The tool, as the request names it */
  tool: string;
}

/** What a call sent, with secrets redacted. */
export interface CallSent {
  /** The arguments; text if they were shortened */
  arguments: unknown;
  /** What else it sent, as `params` and `_meta`; null if nothing */
  other_params: unknown;
  /** Whether `arguments` are all that was sent, so that the call can be repeated */
  is_whole: boolean;
  /** The risk level of the tool at that time */
  risk: string | null;
  /** The side effects of the tool at that time */
  side_effects: string[];
  /** The hash of the tool's definition at that time */
  definition: string | null;
  /** The mode of the agent */
  mode: string | null;
  /** The revision of the policies that decided */
  revision: number | null;
}

/** How the calls of a period went. */
export interface CallStatistics {
  /** The beginning of the period, in milliseconds since 1970: that of a step */
  since_ms: number;
  /** The end of the period, in milliseconds since 1970 */
  until_ms: number;
  /** The length of a step of the series, in milliseconds */
  step_ms: number;
  /** All calls of the period */
  total: CallNumbers;
  /** The calls by what was asked for, the most frequent first */
  rows: CallsOf[];
  /** How many more rows there are */
  more: number;
  /** The calls by time, every step of the period */
  series: CallsAt[];
}

/** Who called. */
export interface Caller {
  /** The agent */
  agent: string | null;
  /** The owner of the agent */
  owner: string | null;
  /** The person who tried the call as the agent, if one did */
  person: string | null;
  /** The session of the client, as records name it */
  session: string | null;
}

/** The calls of one step. */
export interface CallsAt {
  /** The beginning of the step, in milliseconds since 1970 */
  at_ms: number;
  /** Calls that were made */
  calls: number;
  /** Those of them in which the tool or the server failed */
  errors: number;
  /** Calls that were denied */
  denials: number;
  /** Half of the calls took at most so long, in milliseconds; null without calls */
  p50_ms: number | null;
  /** 95 percent of the calls took at most so long, in milliseconds; null without calls */
  p95_ms: number | null;
  /** 99 percent of the calls took at most so long, in milliseconds; null without calls */
  p99_ms: number | null;
}

/** The calls of one tool, server or agent. */
export interface CallsOf {
  /** The canonical id of the tool, or the name of the server or agent; empty for what has none */
  name: string;
  /** Calls that were made */
  calls: number;
  /** Those of them in which the tool or the server failed */
  errors: number;
  /** Calls that were denied */
  denials: number;
  /** Half of the calls took at most so long, in milliseconds; null without calls */
  p50_ms: number | null;
  /** 95 percent of the calls took at most so long, in milliseconds; null without calls */
  p95_ms: number | null;
  /** 99 percent of the calls took at most so long, in milliseconds; null without calls */
  p99_ms: number | null;
}

/** The calls to count. */
export interface CallsStatsRequest {
  /** At or after this moment, in milliseconds since 1970 [default: a day ago, with `step` minute an hour ago] */
  since_ms?: number;
  /** Before this moment, in milliseconds since 1970 [default: now] */
  until_ms?: number;
  /** What the rows are [default: tool] */
  by?: "tool" | "server" | "agent";
  /** Only calls of this agent */
  agent?: string;
  /** Only calls of tools of this server */
  server?: string;
  /** Only calls of the tool with this canonical id */
  tool?: string;
  /** The length of a step of the series; minutes are known of the last hour only, since the gateway started [default: as the period needs] */
  step?: "minute" | "ten_minutes" | "hour" | "day";
  /** The maximum number of rows [default: 50] */
  limit?: number;
}

/** Filters for tools. Empty filters match everything. */
export interface CatalogRequest {
  /** Only tools of these servers */
  servers?: string[];
  /** Only tools of these sources */
  source_types?: ("mcp" | "extension" | "builtin")[];
  /** Only tools of these risks */
  risk_levels?: ("low" | "medium" | "high" | "critical")[];
  /** Only tools of this risk or a lower one */
  risk_level_max?: "low" | "medium" | "high" | "critical";
  /** Only tools with one of these side effects, as `fs.write` */
  side_effect_tags?: string[];
}

/** A changed secret, and what changed with it. */
export interface ChangedSecret {
  /** The secret */
  secret: Secret;
  /** Servers that were added, because all they need is set now */
  added: string[];
  /** Servers that were started again with the new value */
  changed: string[];
  /** Servers that are left out, because something they need is not set */
  removed: string[];
  /** Problems of the configuration */
  problems: string[];
  /** Changes of the configuration that wait for a person */
  waiting: ConfigDifference[];
}

/** The arguments to check. */
export interface CheckArgumentsRequest {
  /** The approval, ap_… */
  id: string;
  /** The arguments */
  arguments?: Record<string, unknown>;
  /** The same as JSON text, in which numbers stay as they are written */
  arguments_json?: string;
}

/** A policy to check, or a call to explain. */
export interface CheckOwnRequest {
  /** A policy, as TOML */
  source?: string;
  /** Instead of a policy: the tool of a call, as server.tool */
  tool?: string;
  /** The arguments of the call [default: none] */
  arguments?: Record<string, unknown>;
}

/** A policy to check. */
export interface CheckPolicyRequest {
  /** The policy, as TOML */
  source: string;
  /** The level at which it would be active [default: global] */
  level?: "floor" | "global" | "agent";
}

/** Whether a call could be made with other arguments. */
export interface CheckedArguments {
  /** Whether they fit the tool's schema */
  ok: boolean;
  /** What is wrong with them */
  complaint: string | null;
  /** What the gates would decide about the call with them; null if they do not fit */
  decision: "allow" | "ask" | "deny_continue" | "deny_abort" | null;
  /** Why it would not simply be allowed */
  reason: string | null;
  /** The verdicts of all gates, in their order */
  gates: GateVerdict[];
  /** The facts from them */
  facts: CallFacts | null;
}

/** The check of the policy, or the decision about the call. */
export type CheckedOwn = PolicyCheck | Explanation;

/** A client that is connected. One that speaks the modern era counts as connected until five minutes after its last request. */
export interface Client {
  /** Its id while the gateway runs */
  id: number;
  /** The program, as it says itself */
  program: ClientProgram;
  /** The kind of its token */
  kind: "human" | "agent" | "session" | "service";
  /** The user: of an agent, its owner */
  user: string;
  /** The agent; null for a person */
  agent: string | null;
  /** The protocol era: legacy or modern */
  era: string;
  /** How it reaches the gateway: http or stdio */
  transport: string;
  /** Its session, as records name it; null in the modern era */
  session: string | null;
  /** When it was first seen, in milliseconds since 1970 */
  since_ms: number;
  /** When its last request came, in milliseconds since 1970 */
  last_request_ms: number;
  /** The number of its requests */
  requests: number;
  /** The number of its requests under way */
  in_flight: number;
  /** The number of its streams for notifications */
  streams: number;
  /** The number of resources that it watches */
  subscriptions: number;
}

/** Clients, those that came first before others. */
export interface ClientList {
  /** The clients */
  clients: Client[];
  /** The number of these clients */
  count: number;
}

/** A program, as it says itself. */
export interface ClientProgram {
  /** Its name */
  name: string | null;
  /** Its title for people */
  title: string | null;
  /** Its version */
  version: string | null;
}

/** A problem of a policy. */
export interface Complaint {
  /** The line; 0 for the whole policy */
  line: number;
  /** The message */
  message: string;
}

/** The changes of a reload. */
export interface ConfigChanges {
  /** New servers */
  added: string[];
  /** Changed servers */
  changed: string[];
  /** Removed servers */
  removed: string[];
  /** The number of unchanged servers */
  unchanged: number;
  /** Problems of the configuration */
  problems: string[];
  /** Changes that wait for a person */
  waiting?: ConfigDifference[];
  /** The digest of the files, to accept what waits */
  waiting_digest?: string;
}

/** A difference between the configuration on disk and the accepted one. */
export interface ConfigDifference {
  /** What differs */
  setting: string;
  /** The accepted value, without secrets */
  before?: string;
  /** The value on disk, without secrets */
  after?: string;
}

/** The new agent. What is omitted has the default. */
export interface CreateAgentRequest {
  /** Its id: letters, digits, `.`, `_` and `-` */
  agent_id: string;
  /** Its title for people */
  title?: string;
  /** The user it belongs to, if not the caller; only administrators name another */
  owner?: string;
  /** How strict the gates are */
  profile?: "strict" | "guarded" | "open";
  /** planning: it may only read; execution: it may act */
  mode?: "planning" | "execution";
  /** The project it works on */
  project?: string;
  /** The directory of the project */
  project_root?: string;
  /** Side effects that it must not have */
  blacklist?: string[];
  /** The preset to create it from; what is given here comes before it */
  preset?: string;
}

/** A session to create. It is the owner's of its agent, or the caller's. */
export interface CreateSessionRequest {
  /** The agent that works in it [default: any] */
  agent_id?: string;
  /** Its title */
  title?: string;
  /** The servers that are used in it, by name or id [default: all that the agent has] */
  enabled_servers?: string[];
}

/** A token to create: for an agent, for a session of an agent, for a user, or for a service. */
export interface CreateTokenRequest {
  /** The agent it is for; one that does not exist yet is created, and belongs to the caller */
  agent_id?: string;
  /** The session of this agent it is for */
  session_id?: string;
  /** The user it is for */
  user?: string;
  /** Whether it is for a service, which may read metrics only */
  service?: boolean;
  /** Its name in quotas, limits and lists */
  label?: string;
  /** How many seconds it is valid; for ever if omitted */
  expires_in_seconds?: number;
}

/** A new token. The secret is shown once. */
export interface CreatedToken {
  /** The token itself */
  token: string;
  /** What is kept of it */
  details: Token;
}

/** Calls to decide about. */
export interface DecideManyRequest {
  /** The approvals, ap_…: at most 500 */
  ids: string[];
  /** The decision about each */
  decision: "approve" | "deny_continue" | "deny_abort";
  /** The reason, for the agents and the history */
  reason?: string;
}

/** A decision about a pending call. */
export interface DecideRequest {
  /** The agent; must be the one that called */
  agent_id?: string;
  /** The approval, ap_… */
  call_id: string;
  /** The decision */
  decision: "approve" | "deny_continue" | "deny_abort";
  /** The reason, for the agent and the history */
  reason?: string;
  /** Other arguments for the call; all gates are evaluated again */
  arguments?: Record<string, unknown>;
  /** The same as JSON text, in which numbers stay as they are written */
  arguments_json?: string;
  /** Save a rule: `exact` for exactly these arguments, `tool` for any */
  remember?: "exact" | "tool";
  /** How long the rule is valid: a time like `8h`, or `forever` [default: 8h] */
  until?: string;
  /** Only show the rule that `remember` would save; nothing is decided */
  preview?: boolean;
}

/** The result of a decision, or the rule of a preview. */
export type Decided = DecidedApproval | RulePreview;

/** An approval that was just decided. */
export interface DecidedApproval {
  /** Its id, ap_… */
  id: string;
  /** The same id, for clients that expect it under this name */
  call_id: string;
  /** The id of the call in the audit log */
  invocation_id: string;
  /** The agent that called; null for a person */
  agent_id: string | null;
  /** The principal that called */
  principal: string;
  /** The canonical id of the tool */
  tool: string;
  /** The arguments with secrets masked; a short version where `arguments` is null */
  args: unknown;
  /** The whole arguments as JSON text, with secrets masked and numbers as they were sent; null for long ones in lists */
  arguments: string | null;
  /** What is masked; `approvals_reveal` shows it */
  masked: MaskedArgument[];
  /** Whether the arguments and other params are still there */
  arguments_kept: "whole" | "removed" | "unreadable";
  /** What else the call sends, as `params` and `_meta`, with secrets masked; JSON text if a value would round its numbers, and a short version where `arguments` is null; null if nothing */
  other_params: unknown;
  /** The risk level of the tool */
  risk: string;
  /** The side effects of the tool */
  side_effects: string[];
  /** Why approval is needed */
  reasons: string[];
  /** Who may decide, where a rule says it; otherwise the owner of the agent and administrators may */
  approvers?: string;
  /** The address of the page where a person can decide about it */
  page?: string;
  /** When it was requested */
  requested_at: string;
  /** When it can no longer be decided or used */
  expires_at: string;
  /** Its current state */
  state: "pending" | "approved" | "denied_continue" | "denied_abort" | "expired" | "cancelled" | "orphaned" | "claimed" | "done";
  /** When it was decided, expired or cancelled */
  decided_at: string | null;
  /** Who decided */
  decided_by: string | null;
  /** The reason they gave */
  reason: string | null;
  /** Whether the approver changed the arguments */
  edited: boolean;
  /** The rule that was saved with the decision */
  remembered_rule: string | null;
  /** When the approval was used */
  claimed_at: string | null;
  /** When the call ended */
  finished_at: string | null;
  /** The outcome of the call, as one word */
  outcome: string | null;
  /** Why the call may still not be made */
  warning?: string;
}

/** What became of each call. Each decision stands for itself: one that fails changes nothing about the others. */
export interface DecidedMany {
  /** One for each id, in the order of the request */
  results: ManyResult[];
  /** How many were decided */
  decided: number;
  /** How many were not */
  failed: number;
}

/** A tool as the gates see it. */
export interface DecidedTool {
  /** Its canonical id */
  id: string;
  /** Its server */
  server: string;
  /** The server's name for it */
  name: string;
  /** Its risk level */
  risk: "low" | "medium" | "high" | "critical";
  /** Its side effects */
  side_effects: string[];
  /** The trust in its server */
  trust: "low" | "medium" | "high";
  /** Whether calls need the admin token */
  requires_admin: boolean;
  /** Whether it is enabled */
  enabled: boolean;
  /** The hash of its definition */
  hash: string;
}

/** A difference between two definitions. */
export interface DefinitionChange {
  /** Its path, as `inputSchema.properties.path.type`; empty for the whole definition */
  path: string;
  /** The old value */
  old: string | null;
  /** The new value */
  new: string | null;
  /** The class of the change */
  class: "text" | "schema widened" | "schema narrowed" | "schema changed" | "annotation" | "other";
}

/** A suspicious detail of a definition. */
export interface DefinitionFinding {
  /** Its kind, as `hidden_text` or `instruction` */
  kind: string;
  /** Its severity */
  severity: "note" | "warning" | "danger";
  /** Its path; empty for the whole definition */
  path: string;
  /** The surrounding text, with hidden characters escaped */
  excerpt: string;
}

/** The server to delete. */
export interface DeleteServerRequest {
  /** The server, by name or id */
  name: string;
  /** Take it from the sessions and agents that use it [default: false] */
  force?: boolean;
}

/** A server that was deleted. */
export interface DeletedServer {
  /** Its id, by which its history is found */
  id: string;
  /** Its name */
  name: string;
  /** The user it belonged to; none if everybody shared it */
  owner: string | null;
  /** The number of its last revision, which `servers_rollback` puts back */
  last_revision: number;
}

/** The call to deny. */
export interface DenyRequest {
  /** The agent; must be the one that called */
  agent_id?: string;
  /** The approval, ap_… */
  call_id: string;
  /** continue: the agent may go on; abort: it should stop [default: continue] */
  mode?: "continue" | "abort";
  /** The reason, for the agent and the history */
  reason?: string;
  /** Save a rule: `exact` for exactly these arguments, `tool` for any */
  remember?: "exact" | "tool";
  /** How long the rule is valid: a time like `8h`, or `forever` [default: 8h] */
  until?: string;
  /** Only show the rule that `remember` would save; nothing is decided */
  preview?: boolean;
}

/** A server to detach. */
export interface DetachServerRequest {
  /** The agent */
  agent_id: string;
  /** The server, by name or id */
  server: string;
}

/** An agent or a person. */
export interface ExplainPolicyRequest {
  /** The agent [default: a person] */
  agent_id?: string;
}

/** The decision about a hypothetical call. */
export interface Explanation {
  /** The decision */
  decision: "allow" | "ask" | "deny_continue" | "deny_abort";
  /** The reason, unless it is allowed */
  reason: string | null;
  /** The agent that would call; null for a person */
  agent: string | null;
  /** How strict the gates are with them */
  profile: "strict" | "guarded" | "open";
  /** Whether it may act or only read */
  mode: "planning" | "execution";
  /** The verdicts of all gates, in their order of evaluation */
  trace: GateVerdict[];
  /** The tool as the gates see it */
  tool: DecidedTool;
  /** The policies in effect, strictest first */
  policies: PolicyInEffect[];
  /** The facts from the arguments and the history */
  facts: CallFacts;
}

/** The records to export. */
export interface ExportRequest {
  /** The format [default: jsonl] */
  format?: "jsonl" | "csv";
  /** At or after this moment, in milliseconds since 1970 */
  since_ms?: number;
  /** Before this moment, in milliseconds since 1970 */
  until_ms?: number;
  /** Only these kinds of records */
  kinds?: ("tool_invocation_start" | "tool_invocation_end" | "policy_decision" | "policy_violation" | "approval_requested" | "approval_resolved" | "policy_changed" | "proposal_created" | "proposal_resolved" | "server_changed" | "config_reloaded" | "token_changed" | "auth_failed" | "tool_definition_changed" | "quota_warning" | "quota_exceeded" | "audit_purged" | "audit_opened" | "administrative_change" | "request_start" | "request_end" | "argument_revealed" | "state_snapshot" | "agent_changed" | "user_changed" | "pin_changed" | "question_answered" | "secret_changed")[];
  /** The agent */
  agent?: string;
  /** The server */
  server?: string;
  /** The canonical id of the tool; `*` matches any characters */
  tool?: string;
  /** A text that occurs in the record */
  text?: string;
  /** `last` of the previous page, to continue [default: from the beginning] */
  after?: number;
}

/** A step after the first start. */
export interface FirstStep {
  /** `server_added`, `client_connected`, `call_seen` or `decision_made` */
  step: string;
  /** Whether it was done */
  done: boolean;
  /** How to do it */
  hint: string;
}

/** A call that would be decided differently. */
export interface Flip {
  /** The number of its record */
  seq: number;
  /** When it was made, in milliseconds since 1970 */
  at_ms: number;
  /** The agent that called; null for a person */
  agent: string | null;
  /** The canonical id of the tool */
  tool: string;
  /** The decision now */
  from: "allow" | "ask" | "deny_continue" | "deny_abort";
  /** The decision with the other policy */
  to: "allow" | "ask" | "deny_continue" | "deny_abort";
  /** The rule or clause that makes the difference */
  rule: string | null;
  /** Its reason */
  reason: string | null;
}

/** The definitions to forget. */
export interface ForgetPinsRequest {
  /** Their server */
  server: string;
  /** Their kind, if the name is ambiguous */
  kind?: "server" | "tool" | "prompt" | "resource" | "template";
  /** The server's name; omitted for all of the server's definitions */
  name?: string;
}

/** The forgotten definitions, and the consequences. */
export interface ForgottenPins {
  /** Their server */
  server: string;
  /** The name; null for all of the server's definitions */
  name: string | null;
  /** The number of forgotten definitions */
  forgotten: number;
  /** How definitions are treated when they are first seen */
  mode: "ask" | "trust_first" | "strict";
  /** How many of them are in the lock file, which still applies */
  locked: number;
  /** How many are pending review now */
  waiting: number;
  /** The consequences, in a sentence */
  next: string;
}

/** The agent, and the hash of its specification. */
export interface FreezeSpecRequest {
  /** The agent */
  agent_id: string;
  /** The hash of the specification */
  spec_hash: string;
}

/** The status of a custom gate. */
export interface GateStatus {
  /** Its name */
  name: string;
  /** `failing` if its last evaluation gave no verdict, so that calls are denied */
  state: "idle" | "working" | "failing";
  /** Whether its program is running */
  is_running: boolean;
  /** How often it was evaluated */
  asked: number;
  /** How often it gave no verdict */
  failed: number;
  /** The last error */
  last_error?: string;
  /** When it last failed, in milliseconds since 1970 */
  last_failed_at_ms?: number;
}

/** The verdict of one gate. */
export interface GateVerdict {
  /** The gate, as `mode` or `quota` */
  gate: string;
  /** Its outcome */
  outcome: "pass" | "ask" | "deny";
  /** The rule, clause or program that decided */
  by: string | null;
  /** Its reason */
  reason: string | null;
  /** The rule or the profile that allows what this gate would ask a person about */
  answered_by: string | null;
}

/** What a gateway keeps on its disk. */
export interface GatewayData {
  /** The data directory */
  directory: string;
  /** The size of the database, in bytes */
  database_bytes: number;
  /** The name of this gateway in the audit log */
  node: string;
  /** The size of the audit log, in bytes */
  audit_bytes: number;
  /** The number of its segments */
  audit_segments: number;
  /** The number of the last record */
  audit_position: number;
  /** Why the audit log cannot be written, if so */
  audit_error: string | null;
}

/** How the gateway itself is. */
export interface GatewayStatus {
  /** The version of Octroi */
  version: string;
  /** When it was started, in milliseconds since 1970 */
  started_at_ms: number;
  /** How long it has been running, in seconds */
  uptime_seconds: number;
  /** Where people reach it, once it listens */
  address: string | null;
  /** What is on its disk; null if nothing is kept */
  data: GatewayData | null;
  /** The clients that are connected */
  clients: number;
  /** The servers that are configured */
  servers: number;
  /** Those of them that are running */
  servers_running: number;
  /** Everything that is known to be wrong */
  problems: string[];
}

/** The health of all servers. */
export interface HealthReport {
  /** All servers, by name */
  servers: Record<string, ServerHealth>;
}

/** A quarantined definition. */
export interface HeldPin {
  /** Its server */
  server: string;
  /** Its kind */
  kind: "server" | "tool" | "prompt" | "resource" | "template";
  /** The server's name for it; empty for the server's own instructions */
  name: string;
  /** The hash of the definition */
  hash: string;
  /** Why it is quarantined */
  reason: string;
  /** Who reviewed and rejected it; it is no longer pending then */
  kept_out_by: string | null;
  /** When the previous definition was accepted */
  accepted_at: string | null;
  /** Who accepted it */
  accepted_by: string | null;
  /** The differences from the previous definition */
  changes: DefinitionChange[];
  /** Suspicious details */
  findings: DefinitionFinding[];
  /** Tools of other servers with a similar name, as `server.tool` */
  look_alikes: string[];
  /** The definition itself; a string if it is not JSON */
  definition: unknown;
}

/** The quarantined definitions. */
export interface HeldPins {
  /** The definitions, by server, kind and name */
  held: HeldPin[];
  /** The number of definitions */
  count: number;
}

/** An invitation. The link is shown once. */
export interface Invitation {
  /** The page where the user gets a token, once; for the user only */
  link: string;
  /** The id of the invitation in the audit log */
  id: string;
  /** When the link ends by itself */
  expires_at: string;
  /** The user */
  user: User;
}

/** A user to invite, who is added if there is none of this name. */
export interface InviteUserRequest {
  /** The name: up to 32 of a-z, 0-9, `.`, `_` and `-` */
  name: string;
  /** What a new user may do; a member if omitted */
  role?: "admin" | "member";
  /** How many seconds the link is valid; one day if omitted */
  expires_in_seconds?: number;
}

/** A call that was made earlier. */
export interface LastCall {
  /** Its id */
  id: string;
  /** When it was made, in milliseconds since 1970 */
  at_ms: number;
  /** Its arguments as recorded, with secrets redacted; text if they were shortened */
  arguments: unknown;
}

/** A level, and for the level `agent` the agent. */
export interface LevelRequest {
  /** The level */
  level: "floor" | "global" | "agent";
  /** The agent, for the level `agent` */
  agent_id?: string;
}

/** The rules of one level. */
export interface LevelRules {
  /** The level */
  level: "floor" | "global" | "agent";
  /** The version of its policy; null if there is none */
  version: number | null;
  /** Its rules, each as a sentence */
  rules: string[];
}

/** The approvals to list. */
export interface ListApprovalsRequest {
  /** Only calls of this agent */
  agent_id?: string;
  /** Pending ones, past ones, or all [default: pending] */
  part?: "pending" | "history" | "all";
  /** The maximum number [default: 100] */
  limit?: number;
}

/** The calls to list. */
export interface ListCallsRequest {
  /** At or after this moment, in milliseconds since 1970 */
  since_ms?: number;
  /** Before this moment, in milliseconds since 1970 */
  until_ms?: number;
  /** The agent */
  agent?: string;
  /** The server */
  server?: string;
  /** The canonical id of the tool; `*` matches any characters */
  tool?: string;
  /** The session, as records name it */
  session?: string;
  /** The decision */
  decision?: "allow" | "ask" | "deny_continue" | "deny_abort";
  /** The outcome, as calls have it; `failure` for all but `completed`, `running`, `waiting` and `approved` */
  outcome?: string;
  /** The maximum number, up to 500 [default: 50] */
  limit?: number;
  /** `next` of the previous page, to continue; not with `after` */
  before?: number;
  /** `position` of an earlier page: what began or changed since then */
  after?: number;
}

/** The definitions to list. */
export interface ListPinsRequest {
  /** Include definitions that were reviewed and rejected */
  all?: boolean;
}

/** The proposals to list. */
export interface ListProposalsRequest {
  /** Only proposals of this agent */
  agent_id?: string;
  /** Only proposals with this status */
  status?: "proposed" | "active" | "superseded" | "rejected" | "withdrawn";
}

/** Which secrets to list. */
export interface ListSecretsRequest {
  /** Only those of this user */
  user?: string;
}

/** Which sessions to list. */
export interface ListSessionsRequest {
  /** Only those of this agent */
  agent_id?: string;
  /** Also closed ones [default: false] */
  closed?: boolean;
}

/** Which templates to list. */
export interface ListTemplatesRequest {
  /** Only those of this category */
  category?: string;
}

/** Which tokens to list. */
export interface ListTokensRequest {
  /** Only those of this agent */
  agent_id?: string;
  /** Only those of this user, with those of the user's agents */
  user?: string;
  /** Also those that have ended */
  ended?: boolean;
}

/** The text of a lock file. */
export interface LockText {
  /** The text, as TOML */
  text: string;
}

/** One line of a server's log. */
export interface LogLine {
  /** Increasing and unique while the gateway runs */
  number: number;
  /** When it was read, in milliseconds since 1970 */
  at: number;
  /** The line, with secrets redacted */
  text: string;
}

/** Lines of a log. */
export interface LogLines {
  /** The lines, oldest first */
  lines: LogLine[];
}

/** The log lines to show. */
export interface LogsRequest {
  /** The server */
  name: string;
  /** The maximum number of lines [default: 100] */
  lines?: number;
  /** The number of the first line to return [default: 0] */
  from?: number;
}

/** Why one of several decisions failed. */
export interface ManyError {
  /** The code of the error */
  code: string;
  /** The error for people */
  message: string;
  /** How to go on */
  hint: string;
}

/** What became of one of several calls. */
export interface ManyResult {
  /** The approval, ap_… */
  id: string;
  /** The approval after the decision; null if it failed */
  decided: DecidedApproval | null;
  /** Why it failed */
  error: ManyError | null;
}

/** A value of the arguments or other params that is not shown until somebody asks for it. */
export interface MaskedArgument {
  /** Where it is: a JSON pointer, after `other_params` for those; `#3` is the fourth member, if its name cannot be shown */
  path: string;
  /** The kind of secret that it seems to hold */
  kind: string;
  /** Its length in bytes */
  length: number;
}

/** A server as an agent has it. */
export interface MountRecord {
  /** The server */
  server: string;
  /** What the names of its tools begin with */
  prefix: string;
  /** Whether it cannot be detached */
  pinned: boolean;
  /** initializing, running or failed */
  state: string;
  /** Why it failed */
  error?: string;
  /** The switch that keeps it off for the agent */
  switched_off?: string;
  /** The protocol era, once known: legacy or modern */
  era?: string;
  /** The number of its tools */
  tools: number;
}

/** The request of an operation that takes no arguments. */
export type NoArguments = Record<string, never>;

/** The tool to call. */
export interface OwnCallRequest {
  /** The agent; no other than the one whose token it is [default: that one] */
  agent?: string;
  /** The tool: its canonical id, `server.tool`, or the name that clients call it by */
  tool: string;
  /** The arguments of the call [default: none] */
  arguments?: Record<string, unknown>;
}

/** The past approvals of an agent. */
export interface PastApprovals {
  /** The agent */
  agent_id: string;
  /** Those that are decided or over, newest first */
  timeline: Approval[];
  /** Those that wait for a decision, newest first */
  pending: Approval[];
  /** The number of those that are decided or over */
  count: number;
}

/** A decision about an earlier call. */
export interface PastDecision {
  /** The approval, ap_… */
  id: string;
  /** Its state */
  state: "pending" | "approved" | "denied_continue" | "denied_abort" | "expired" | "cancelled" | "orphaned" | "claimed" | "done";
  /** Who decided */
  by: string | null;
  /** When */
  at: string | null;
  /** The reason they gave */
  reason: string | null;
  /** Whether its arguments were exactly the same */
  same_arguments: boolean;
}

/** The decision about a definition. */
export interface PinDecision {
  /** Its server */
  server: string;
  /** Its kind */
  kind: "server" | "tool" | "prompt" | "resource" | "template";
  /** The server's name for it */
  name: string;
  /** The hash of the definition */
  hash: string;
  /** Whether it was accepted */
  accepted: boolean;
  /** Whether it can be used now; a lock file can still forbid it */
  in_use: boolean;
}

/** How a definition changed over time. */
export interface PinHistory {
  /** The versions, newest first: the quarantined one, the accepted one, and those that were accepted before */
  versions: PinVersion[];
}

/** A definition, by name. */
export interface PinHistoryRequest {
  /** Its server */
  server: string;
  /** Its kind [default: tool] */
  kind?: "server" | "tool" | "prompt" | "resource" | "template";
  /** The server's name for it; omitted for a server's own instructions */
  name?: string;
}

/** A definition at one time. */
export interface PinVersion {
  /** The hash of the definition */
  hash: string;
  /** `quarantined`, `rejected`, `accepted` or `replaced` */
  state: string;
  /** When it was accepted; null for one that was not */
  accepted_at: string | null;
  /** Who accepted it, or rejected it */
  by: string | null;
  /** When another one took its place */
  ended_at: string | null;
  /** The differences from the version before it */
  changes: DefinitionChange[];
  /** The same as a unified diff of their texts; empty for the first version */
  diff: string;
  /** The definition itself; a string if it is not JSON */
  definition: unknown;
}

/** The result of checking a policy. */
export interface PolicyCheck {
  /** Whether there are no problems */
  ok: boolean;
  /** The problems */
  complaints: Complaint[];
}

/** A policy in effect. */
export interface PolicyInEffect {
  /** Its level */
  level: "floor" | "global" | "agent";
  /** Its version; null if it is in a file */
  version: number | null;
}

/** The policies in effect for an agent, in sentences. */
export interface PolicySentences {
  /** The agent; null for a person */
  agent: string | null;
  /** How strict the gates are */
  profile: "strict" | "guarded" | "open";
  /** Whether it may act or only read */
  mode: "planning" | "execution";
  /** The effects of the gates, each as a sentence */
  gates: string[];
  /** The rules of the policies, strictest level first */
  levels: LevelRules[];
  /** The defaults for calls that no rule matches */
  otherwise: string[];
}

/** An agent's policy and its proposals, as a resource. */
export interface PolicyState {
  /** The agent */
  agent_id: string;
  /** Always `agent` */
  level: "floor" | "global" | "agent";
  /** The version of the active policy; 0 if there is none */
  version: number;
  /** The active policy, as TOML; empty if there is none */
  content: string;
  /** The agent's proposals */
  proposals: ProposalState[];
  /** The resource with the active policy as text */
  active_policy_uri: string;
}

/** A policy, active or not. */
export interface PolicyVersion {
  /** Its id */
  id: number;
  /** Its level */
  level: "floor" | "global" | "agent";
  /** The agent, for the level `agent` */
  agent: string | null;
  /** Its number among the active policies of the level; null if it never was active */
  version: number | null;
  /** Its status */
  status: "proposed" | "active" | "superseded" | "rejected" | "withdrawn";
  /** The policy, as TOML */
  source: string;
  /** Its author */
  author: string;
  /** The rationale, if it was proposed */
  rationale: string | null;
  /** The problems that were found, if it was proposed */
  check: PolicyCheck | null;
  /** When it was created, in milliseconds since 1970 */
  created_at_ms: number;
  /** When it was decided, in milliseconds since 1970 */
  decided_at_ms: number | null;
  /** Who decided */
  decided_by: string | null;
  /** The reason they gave */
  reason: string | null;
}

/** The current and past policies of a level. */
export interface PolicyVersions {
  /** The policies, newest first */
  versions: PolicyVersion[];
  /** For each of them, its difference from the one before it as a unified diff */
  diffs: string[];
}

/** A rule that a decision could save. */
export interface PossibleRule {
  /** `exact` for exactly these arguments, `tool` for any */
  remember: string;
  /** The rule, as it would be in the policy */
  rule: string;
}

/** An agent that is described once. */
export interface Preset {
  /** Its name */
  name: string;
  /** What the agent is for */
  description: string | null;
  /** What the agent's model is told first */
  system_prompt: string | null;
  /** The servers that the agent has; its owner's whole pool, if none is named */
  servers: string[];
  /** The policy of the agent's level, as text */
  policy: string | null;
  /** The project it works on */
  project: string | null;
  /** planning: it may only read; execution: it may act */
  mode: "planning" | "execution" | null;
  /** How strict the gates are */
  profile: "strict" | "guarded" | "open" | null;
  /** The file; only administrators see it */
  file: string | null;
  /** When the file was last changed */
  modified_at: string | null;
}

/** Presets. */
export interface PresetList {
  /** The presets, by name */
  presets: Preset[];
  /** The number of presets */
  count: number;
  /** Files that cannot be used, and why; only administrators see them */
  problems: string[];
}

/** Proposals of agents. */
export interface ProposalList {
  /** The proposals, newest first */
  proposals: PolicyVersion[];
}

/** One proposal, by id. */
export interface ProposalRequest {
  /** The proposal */
  id: number;
}

/** The status of a proposal. */
export interface ProposalState {
  /** Its id */
  id: number;
  /** Its status */
  status: "proposed" | "active" | "superseded" | "rejected" | "withdrawn";
}

/** A policy that an agent proposes for itself. */
export interface ProposeRequest {
  /** The whole policy, as TOML; it replaces your active one */
  source: string;
  /** The reason, for the person who decides */
  rationale: string;
}

/** The record to prove. */
export interface ProveRequest {
  /** The number of the record */
  seq: number;
}

/** A quota and its use. */
export interface Quota {
  /** Its name */
  name: string;
  /** The calls it is about: patterns of `token`, `agent`, `server` and `tool`, as `agent = "coder"` */
  of: string[];
  /** The limit of calls within a minute */
  calls_per_minute: number | null;
  /** The limit of calls at the same time */
  max_in_flight: number | null;
  /** The limit of one call's duration, in milliseconds */
  max_runtime_ms: number | null;
  /** Whether each token, agent, server or tool is counted separately */
  each: boolean;
  /** Its counters that are in use, the fullest first: at most a hundred */
  counters: QuotaCounter[];
}

/** How much of a quota is used. */
export interface QuotaCounter {
  /** What is counted, as agent and tool; empty if everything is counted together */
  of: string[];
  /** The calls within the last minute */
  calls_last_minute: number;
  /** The calls under way */
  in_flight: number;
}

/** All quotas. */
export interface QuotaList {
  /** The quotas, in the order of the configuration */
  quotas: Quota[];
}

/** The servers to refresh. */
export interface RefreshRequest {
  /** The server [default: all] */
  name?: string;
  /** Start servers that are enabled and do not run; only administrators may do so [default: false] */
  start?: boolean;
}

/** The result of a refresh: the status of one server, or a summary of all. */
export type Refreshed = ServerStatus | RefreshedServers;

/** The result of refreshing all servers. */
export interface RefreshedServers {
  /** How many answered */
  refreshed: number;
  /** The others by name, with the error */
  failed: Record<string, string>;
}

/** The definition to reject. */
export interface RejectPinRequest {
  /** Its server */
  server: string;
  /** Its kind [default: tool] */
  kind?: "server" | "tool" | "prompt" | "resource" | "template";
  /** The server's name for it; omitted for a server's own instructions */
  name?: string;
  /** The hash of the reviewed definition [default: the current one] */
  hash?: string;
}

/** The proposal to reject, and the reason. */
export interface RejectProposalRequest {
  /** The proposal */
  id: number;
  /** The reason, for the agent */
  reason: string;
}

/** What to accept. */
export interface ReloadRequest {
  /** Accept everything that waits, if the files still have this digest [default: accept nothing] */
  digest?: string;
}

/** The secret to remove. */
export interface RemoveSecretRequest {
  /** Its name */
  name: string;
  /** The user it belongs to; the gateway if omitted */
  user?: string;
  /** Also while servers refer to it, which are left out then */
  force?: boolean;
}

/** The decisions that another policy would change. */
export interface Replay {
  /** The number of replayed calls */
  n_calls: number;
  /** How many of them would be decided differently */
  n_flipped: number;
  /** The number of each kind of change, as in `allow → deny_continue` */
  kinds: Record<string, number>;
  /** The first thousand of them */
  flips: Flip[];
  /** Calls that could not be replayed */
  cannot_tell: ReplayGaps;
  /** The number of records that were read */
  n_read: number;
}

/** Why some calls could not be replayed. */
export interface ReplayGaps {
  /** Their arguments were cut or redacted */
  arguments_not_kept: number;
  /** Their tool no longer exists */
  tool_gone: number;
  /** Their record is unreadable */
  unreadable: number;
}

/** A policy to replay recorded calls with. */
export interface ReplayRequest {
  /** The policy, as TOML */
  source: string;
  /** The level at which it replaces the active one */
  level: "floor" | "global" | "agent";
  /** Only calls of this agent; for the level `agent`, the agent of the policy */
  agent_id?: string;
  /** Only calls since this moment, in milliseconds since 1970 [default: all] */
  since_ms?: number;
}

/** The value to show. */
export interface RevealRequest {
  /** The approval, ap_… */
  id: string;
  /** The path of the value, as `masked` of the approval has it */
  path: string;
}

/** A value that was masked. */
export interface RevealedArgument {
  /** Its path */
  path: string;
  /** The name of the member, if it is one of an object */
  name: string | null;
  /** The whole value as JSON text */
  value: string;
}

/** An earlier version of a level. */
export interface RollbackRequest {
  /** The level */
  level: "floor" | "global" | "agent";
  /** The agent, for the level `agent` */
  agent_id?: string;
  /** The version to activate again */
  version: number;
  /** The version to be replaced [default: the active one] */
  expected_version?: number;
}

/** The state to put back. */
export interface RollbackServerRequest {
  /** The server, by name or id; also one that was deleted */
  name: string;
  /** The number of the state */
  revision: number;
}

/** The token to replace. */
export interface RotateTokenRequest {
  /** The token */
  id: string;
  /** How many seconds the old one stays valid beside the new one; one day if omitted */
  overlap_seconds?: number;
}

/** The rule that a decision would save. */
export interface RulePreview {
  /** The rule, as it would be in the policy */
  rule: string;
}

/** The schema for Cedar policies. */
export interface SchemaText {
  /** The schema, in Cedar's own notation */
  schema: string;
}

/** A stored secret, without its value. */
export interface Secret {
  /** Its name */
  name: string;
  /** The user it belongs to; none for one of the gateway */
  user: string | null;
  /** How often it was set */
  revision: number;
  /** When it was set first */
  created_at: string;
  /** Who set it first */
  created_by: string;
  /** When it was set last */
  updated_at: string;
  /** Who set it last */
  updated_by: string;
  /** Whether it can be decrypted; otherwise it must be set again */
  readable: boolean;
  /** The servers that refer to it */
  servers: string[];
  /** Whether anything else in the configuration refers to it */
  used_elsewhere: boolean;
}

/** Secrets, without their values. */
export interface SecretList {
  /** The secrets: those of the gateway first, then by user and name */
  secrets: Secret[];
  /** The number of secrets */
  count: number;
}

/** One check of a server. */
export interface ServerCheck {
  /** When it was made, in milliseconds since 1970 */
  at: number;
  /** The resulting health */
  health: "unknown" | "healthy" | "degraded" | "unhealthy";
  /** Its latency, in milliseconds */
  latency_ms: number | null;
  /** Why it failed, if so */
  error: string | null;
}

/** A server and its recent checks. */
export interface ServerDetail {
  /** Its name */
  name: string;
  /** Its id, which stays when it is renamed */
  id: string;
  /** Whether everybody shares it: system or user */
  scope: string;
  /** The user it belongs to; none if everybody shares it */
  owner?: string;
  /** Where it is configured: in a file, or at run time: file or db */
  managed_by: string;
  /** The number of its newest revision, if it was added at run time */
  revision?: number;
  /** Whether it is switched on for everybody who has it */
  enabled: boolean;
  /** Whether it is switched on for the reader */
  enabled_for_me: boolean;
  /** Whether it is left out because everybody shares a server of the same name */
  shadowed?: boolean;
  /** All in one word: disabled, connected, failed or unknown */
  status: string;
  /** Its display name */
  title?: string;
  /** What it is for */
  description?: string;
  /** Its transport: stdio, http or sse */
  transport: string;
  /** Its lifecycle state */
  state: "disabled" | "stopped" | "starting" | "running" | "stopping" | "failed" | "needs_auth";
  /** Its health */
  health: "unknown" | "healthy" | "degraded" | "unhealthy";
  /** The protocol era, once known: legacy or modern */
  era: string | null;
  /** The negotiated protocol version, once known */
  version: string | null;
  /** The number of its tools */
  tools: number;
  /** The number of its definitions that are quarantined; `pins_list` has them */
  quarantined: number;
  /** The latency of its last check, in milliseconds */
  latency_ms?: number;
  /** How many checks failed in a row */
  consecutive_failures: number;
  /** How often it was reconnected */
  restarts: number;
  /** Calls in flight */
  in_flight: number;
  /** Calls that are queued because of the concurrency limit */
  waiting: number;
  /** Why it cannot be reached, or why lists of it are missing */
  error?: string;
  /** Settings of its entry for tools that it does not have */
  warnings?: string[];
  /** Its recent checks, newest first */
  checks: ServerCheck[];
  /** What is configured of it, with its secrets masked, if it was added at run time */
  entry?: Record<string, unknown>;
}

/** The health of one server. */
export interface ServerHealth {
  /** Its health */
  health: "unknown" | "healthy" | "degraded" | "unhealthy";
  /** Its lifecycle state */
  state: "disabled" | "stopped" | "starting" | "running" | "stopping" | "failed" | "needs_auth";
  /** The latency of its last check, in milliseconds */
  response_time_ms: number | null;
  /** How many checks failed in a row */
  consecutive_failures: number;
  /** Why it cannot be reached, or why lists of it are missing */
  error: string | null;
}

/** The states of a server. */
export interface ServerHistory {
  /** The id of the server */
  id: string;
  /** Its states, the newest first */
  revisions: ServerRevision[];
}

/** All servers and custom gates. */
export interface ServerList {
  /** All servers, by name */
  servers: ServerStatus[];
  /** Problems of the configuration */
  problems: string[];
  /** Changes of the configuration that wait for a person; `config_reload` accepts them */
  waiting?: ConfigDifference[];
  /** The digest of the files whose changes wait; `config_reload` takes it */
  waiting_digest?: string;
  /** All custom gates, in their order of evaluation */
  gates: GateStatus[];
}

/** One server, by name. */
export interface ServerRequest {
  /** The server */
  name: string;
}

/** One state of a server. */
export interface ServerRevision {
  /** Its number */
  revision: number;
  /** What was done: added, updated, `rolled_back`, imported or deleted */
  change: string;
  /** The name at that time */
  name: string;
  /** The entry at that time, with its secrets masked; none if the server was deleted */
  entry: Record<string, unknown> | null;
  /** The keys that differ from the state before */
  changed: string[];
  /** When it was changed */
  at: string;
  /** Who changed it */
  by: string;
}

/** The status of a server. */
export interface ServerStatus {
  /** Its name */
  name: string;
  /** Its id, which stays when it is renamed */
  id: string;
  /** Whether everybody shares it: system or user */
  scope: string;
  /** The user it belongs to; none if everybody shares it */
  owner?: string;
  /** Where it is configured: in a file, or at run time: file or db */
  managed_by: string;
  /** The number of its newest revision, if it was added at run time */
  revision?: number;
  /** Whether it is switched on for everybody who has it */
  enabled: boolean;
  /** Whether it is switched on for the reader */
  enabled_for_me: boolean;
  /** Whether it is left out because everybody shares a server of the same name */
  shadowed?: boolean;
  /** All in one word: disabled, connected, failed or unknown */
  status: string;
  /** Its display name */
  title?: string;
  /** What it is for */
  description?: string;
  /** Its transport: stdio, http or sse */
  transport: string;
  /** Its lifecycle state */
  state: "disabled" | "stopped" | "starting" | "running" | "stopping" | "failed" | "needs_auth";
  /** Its health */
  health: "unknown" | "healthy" | "degraded" | "unhealthy";
  /** The protocol era, once known: legacy or modern */
  era: string | null;
  /** The negotiated protocol version, once known */
  version: string | null;
  /** The number of its tools */
  tools: number;
  /** The number of its definitions that are quarantined; `pins_list` has them */
  quarantined: number;
  /** The latency of its last check, in milliseconds */
  latency_ms?: number;
  /** How many checks failed in a row */
  consecutive_failures: number;
  /** How often it was reconnected */
  restarts: number;
  /** Calls in flight */
  in_flight: number;
  /** Calls that are queued because of the concurrency limit */
  waiting: number;
  /** Why it cannot be reached, or why lists of it are missing */
  error?: string;
  /** Settings of its entry for tools that it does not have */
  warnings?: string[];
}

/** The list of servers as a resource. */
export interface ServersResource {
  /** All servers, by name */
  servers: ServerStatus[];
  /** Problems of the configuration */
  problems: string[];
}

/** A session. */
export interface Session {
  /** Its id */
  id: string;
  /** Whose it is */
  user: string;
  /** The agent that works in it; any of the user's, if there is none */
  agent_id: string | null;
  /** Its title */
  title: string | null;
  /** open or closed */
  state: string;
  /** The names of the servers that are used in it; none: all that its agent has */
  enabled_servers: string[] | null;
  /** When it was created */
  created_at: string;
  /** Who created it */
  created_by: string;
  /** When it was closed */
  closed_at: string | null;
  /** Who closed it */
  closed_by: string | null;
}

/** Sessions. */
export interface SessionList {
  /** The sessions, by the time they were created */
  sessions: Session[];
  /** The number of sessions */
  count: number;
}

/** The servers of a session. */
export interface SessionMcpConfig {
  /** The session */
  session_id: string;
  /** The names of the chosen servers; none: all that its agent has */
  enabled_servers: string[] | null;
  /** Their ids, in the same order */
  enabled_server_ids: string[] | null;
  /** The servers that can be chosen */
  available: AvailableServer[];
}

/** One session, by id. */
export interface SessionRequest {
  /** The session */
  session_id: string;
}

/** A policy for an agent. */
export interface SetAgentPolicyRequest {
  /** The agent */
  agent_id: string;
  /** The policy, as TOML */
  source: string;
  /** The version to be replaced; 0 if there is none [default: the active one] */
  expected_version?: number;
}

/** The servers that a session uses from now on. */
export interface SetMcpConfigRequest {
  /** The session */
  session_id: string;
  /** The servers, by name or id; none: all that its agent has */
  enabled_servers?: string[];
}

/** A policy. */
export interface SetPolicyRequest {
  /** The policy, as TOML */
  source: string;
  /** The version to be replaced; 0 if there is none [default: the active one] */
  expected_version?: number;
}

/** A secret to set. */
export interface SetSecretRequest {
  /** Its name: up to 64 letters, digits, `.`, `_` and `-` */
  name: string;
  /** Its value, from 8 characters to 64 KiB, or 4 KiB for a user's; nothing shows it again */
  value: string;
  /** The user it belongs to; the gateway if omitted */
  user?: string;
}

/** The configuration in effect. */
export interface ShownConfig {
  /** Every section, with each setting's value and where it comes from; secrets are masked */
  configuration: unknown;
}

/** A one-time code. It is shown once. */
export interface SignInCode {
  /** The code; it signs in one browser, once */
  code: string;
  /** Where the interface takes it, below the address of the gateway */
  path: string;
  /** When it ends */
  expires_at: string;
}

/** The servers to switch. */
export interface SwitchManyRequest {
  /** The servers, by name or id */
  names?: string[];
  /** All servers whose names begin with this */
  prefix?: string;
  /** Whether they may be used */
  enabled: boolean;
  /** Only for yourself, also as an administrator [default: false] */
  for_me?: boolean;
}

/** What became of several servers. */
export interface SwitchedServers {
  /** Those that were switched */
  switched: string[];
  /** The others, and why */
  failed: Record<string, string>;
}

/** A server that is known. */
export interface Template {
  /** Its id */
  id: string;
  /** The name of a server made from it, unless another is given */
  name: string;
  /** Its name for people */
  display_name: string;
  /** What the server is for */
  description: string;
  /** What it belongs to, such as development, database, communication or search */
  category: string;
  /** The name of an icon */
  icon: string | null;
  /** The version of the template */
  version: string;
  /** builtin, or file for one of your own */
  source: string;
  /** Whether this package, in this version, was installed, and its tools were listed through Octroi */
  verified: boolean;
  /** What to know before choosing it */
  note: string | null;
  /** Why it should not be used any more */
  deprecated: TemplateDeprecation | null;
  /** Whether a server made from it runs a command on this machine */
  needs_command: boolean;
  /** Whether you may add a server from it */
  usable: boolean;
  /** Its entry before any field is filled in */
  default_config: Record<string, unknown>;
  /** The names of fields that must be filled in */
  required_fields: string[];
  /** The names of all other fields */
  optional_fields: string[];
  /** The label of each field */
  field_labels: Record<string, string>;
  /** The placeholder of fields that have one */
  field_placeholders: Record<string, string>;
  /** The help of fields that have some */
  field_help_texts: Record<string, string>;
  /** All of each field, in the order of filling in */
  fields: TemplateField[];
}

/** Why a template should not be used any more. */
export interface TemplateDeprecation {
  /** The reason */
  reason: string;
  /** The template to use instead */
  instead: string | null;
}

/** What a person fills in. */
export interface TemplateField {
  /** Its name */
  name: string;
  /** Its name for people */
  label: string;
  /** An example of a value */
  placeholder: string | null;
  /** What it is and where to get it */
  help: string | null;
  /** Whether it must be filled in */
  required: boolean;
  /** Whether its value is stored as a secret */
  secret: boolean;
  /** What is used if it is not filled in */
  default: string | null;
  /** text, paths or choice */
  kind: string;
  /** The possible values of a choice */
  choices: string[];
  /** Where the value goes: env, argument, header or url */
  binding: string;
  /** The variable, option or header */
  binds_to: string | null;
}

/** Templates. */
export interface TemplateList {
  /** The templates, by category and id */
  templates: Template[];
  /** The number of templates */
  count: number;
  /** Files that cannot be used, and why; only administrators see them */
  problems: string[];
}

/** One template, by id. */
export interface TemplateRequest {
  /** The template */
  id: string;
}

/** The result of one test. */
export interface TestOutcome {
  /** Its name */
  name: string;
  /** The line of the test */
  line: number;
  /** The expected verdict: allow, ask, deny, abort or silent */
  expected: string;
  /** The actual verdict, or the error */
  got: string;
  /** Whether both are equal */
  passed: boolean;
}

/** A policy whose tests are run. */
export interface TestPolicyRequest {
  /** The policy, as TOML [default: the active one of the level] */
  source?: string;
  /** The level at which it is or would be active [default: global] */
  level?: "floor" | "global" | "agent";
  /** The agent, for the level `agent` */
  agent_id?: string;
}

/** The check and the test results of a policy. */
export interface TestedPolicy {
  /** Whether there are no problems */
  ok: boolean;
  /** The problems */
  complaints: Complaint[];
  /** Its tests, in their order */
  tests: TestOutcome[];
}

/** The server, and whether it may be used. */
export interface ToggleRequest {
  /** The server */
  name: string;
  /** Whether it may be used */
  enabled: boolean;
  /** Only for yourself, also as an administrator or the owner [default: false] */
  for_me?: boolean;
}

/** A token, without its secret. */
export interface Token {
  /** Its id, which is part of the token and not secret */
  id: string;
  /** What it stands for */
  kind: "human" | "agent" | "session" | "service";
  /** The user it belongs to */
  user: string;
  /** The agent, for tokens of agents and sessions */
  agent_id: string | null;
  /** The session, for tokens of sessions */
  session_id: string | null;
  /** Its name in quotas, limits and lists */
  label: string;
  /** valid, expiring (in less than a week), expired, revoked, or `locked_out` with its user */
  state: string;
  /** Where it comes from: configuration or created */
  source: string;
  /** When it was created */
  created_at: string | null;
  /** Who created it */
  created_by: string | null;
  /** When it ends by itself */
  expires_at: string | null;
  /** When it was last used, to the minute */
  last_used_at: string | null;
  /** When it was revoked */
  revoked_at: string | null;
  /** Who revoked it */
  revoked_by: string | null;
  /** The id of the token that replaces it */
  replaced_by: string | null;
}

/** Tokens, without their secrets. */
export interface TokenList {
  /** The tokens: those of the configuration first, then the others by age */
  tokens: Token[];
  /** The number of tokens */
  count: number;
}

/** One token, by id. */
export interface TokenRequest {
  /** The token */
  id: string;
}

/** The matching tools. */
export interface ToolCatalog {
  /** The number of tools */
  count: number;
  /** The tools, by id */
  tools: ToolSummary[];
}

/** A tool with its schemas. */
export interface ToolDetail {
  /** Its canonical id, as `mcp:server:tool` */
  tool_id: string;
  /** The server's name for it */
  name: string;
  /** The name that clients call it by */
  wire_name: string;
  /** The description that its server gives */
  description: string | null;
  /** The kind of its source */
  source_type: "mcp" | "extension" | "builtin";
  /** The id of its source, such as its server */
  source_id: string;
  /** The version of its source, if known */
  source_version: string | null;
  /** Its risk level */
  risk_level: "low" | "medium" | "high" | "critical";
  /** Its side effects, as `fs.write` */
  side_effect_tags: string[];
  /** Whether calls need the admin token */
  requires_admin_token: boolean;
  /** The trust in its server */
  trust: "low" | "medium" | "high";
  /** The timeout of a call, in milliseconds */
  timeout_ms: number;
  /** Whether it is enabled */
  enabled: boolean;
  /** Whether clients see it */
  visible: boolean;
  /** Why they do not, if so */
  hidden_because: string | null;
  /** The hash of its definition, which pins compare */
  definition_hash: string;
  /** The JSON Schema of its arguments; null if it has none */
  input_schema: unknown;
  /** The JSON Schema of its result; null if it has none */
  output_schema: unknown;
  /** The annotations of its server; null if there are none */
  annotations: unknown;
}

/** The tool to show. */
export interface ToolRequest {
  /** Its id, `server.tool`, or the name that clients call it by */
  tool_id: string;
}

/** A tool as the gates see it. */
export interface ToolSummary {
  /** Its canonical id, as `mcp:server:tool` */
  tool_id: string;
  /** The server's name for it */
  name: string;
  /** The name that clients call it by */
  wire_name: string;
  /** The description that its server gives */
  description: string | null;
  /** The kind of its source */
  source_type: "mcp" | "extension" | "builtin";
  /** The id of its source, such as its server */
  source_id: string;
  /** The version of its source, if known */
  source_version: string | null;
  /** Its risk level */
  risk_level: "low" | "medium" | "high" | "critical";
  /** Its side effects, as `fs.write` */
  side_effect_tags: string[];
  /** Whether calls need the admin token */
  requires_admin_token: boolean;
  /** The trust in its server */
  trust: "low" | "medium" | "high";
  /** The timeout of a call, in milliseconds */
  timeout_ms: number;
  /** Whether it is enabled */
  enabled: boolean;
  /** Whether clients see it */
  visible: boolean;
  /** Why they do not, if so */
  hidden_because: string | null;
}

/** Settings of an agent to change. Omitted ones stay unchanged. */
export interface UpdateAgentRequest {
  /** The agent */
  agent_id: string;
  /** Its title for people; empty removes it */
  title?: string;
  /** The user it belongs to from now on; only administrators hand agents over */
  owner?: string;
  /** How strict the gates are */
  profile?: "strict" | "guarded" | "open";
  /** planning: it may only read; execution: it may act */
  mode?: "planning" | "execution";
  /** The project it works on; empty restores the configured one */
  project?: string;
  /** The directory of the project; empty restores the configured one */
  project_root?: string;
  /** Freeze its specification with this hash */
  spec_hash?: string;
  /** Unfreeze its specification */
  unfreeze?: boolean;
  /** Side effects that it must not have */
  blacklist?: string[];
}

/** What to change of a server. */
export interface UpdateServerRequest {
  /** The server, by name or id */
  name: string;
  /** Keys of its entry to change: variables of `env` are merged, other keys are replaced, `null` takes one out, and what is given masked stays as it is */
  entry?: Record<string, unknown>;
  /** Its new name */
  new_name?: string;
}

/** A change of a user. What is omitted stays as it is. */
export interface UpdateUserRequest {
  /** The user */
  name: string;
  /** What the user may do */
  role?: "admin" | "member";
  /** true locks the user out, with all tokens and agents; false lets the user in again */
  disabled?: boolean;
}

/** A user. */
export interface User {
  /** The name */
  name: string;
  /** What the user may do */
  role: "admin" | "member";
  /** Whether the user, and everything the user owns, is locked out */
  disabled: boolean;
  /** Where the user comes from: built-in, configuration or added */
  source: string;
  /** When the user was added */
  created_at: string | null;
  /** Who added the user */
  created_by: string | null;
  /** How many valid tokens the user has, apart from those of agents */
  tokens: number;
  /** The agents that belong to the user */
  agents: string[];
}

/** Users, by name. */
export interface UserList {
  /** The users */
  users: User[];
  /** The number of users */
  count: number;
}

/** One user, by name. */
export interface UserRequest {
  /** The user */
  name: string;
}

/** A call to explain. */
export interface WhyRequest {
  /** The tool, as server.tool */
  tool: string;
  /** The arguments of the call [default: none] */
  arguments?: Record<string, unknown>;
  /** The agent that would call [default: a person] */
  agent_id?: string;
  /** The mode of the agent [default: its current mode] */
  mode?: "planning" | "execution";
}
