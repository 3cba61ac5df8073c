// Operations and resources that are in the table of operations but not in the generated types yet. Each goes when
// `cargo xtask codegen` writes it.

import type {
  Approval,
  CallFacts,
  DecidedApproval,
  DefinitionChange,
  GateVerdict,
  NoArguments,
  PolicyVersion,
} from "./types";
import "./types";

declare module "./types" {
  interface ApprovalContext {
    approval: Approval;
    facts: CallFacts | null;
    last_call: LastCall | null;
    similar: PastDecision[];
    rules: PossibleRule[];
  }
  interface LastCall {
    id: string;
    at_ms: number;
    arguments: unknown;
  }
  interface PastDecision {
    id: string;
    state: Approval["state"];
    by: string | null;
    at: string | null;
    reason: string | null;
    same_arguments: boolean;
  }
  interface PossibleRule {
    remember: string;
    rule: string;
  }
  interface CheckedArguments {
    ok: boolean;
    complaint: string | null;
    decision: "allow" | "ask" | "deny_continue" | "deny_abort" | null;
    reason: string | null;
    gates: GateVerdict[];
    facts: CallFacts | null;
  }
  interface ManyError {
    code: string;
    message: string;
    hint: string;
  }
  interface DecidedMany {
    results: { id: string; decided: DecidedApproval | null; error: ManyError | null }[];
    decided: number;
    failed: number;
  }
  interface Call {
    id: string;
    seq: number;
    at_ms: number;
    caller: { agent: string | null; owner: string | null; person: string | null; session: string | null };
    server: string | null;
    tool: string;
    decided: {
      decision: "allow" | "ask" | "deny_continue" | "deny_abort" | null;
      gate: string | null;
      rule: string | null;
      reason: string | null;
    };
    outcome: string;
    duration_ms: number | null;
    approval: string | null;
  }
  interface CallPage {
    calls: Call[];
    next: number | null;
    position: number;
    more?: boolean;
  }
  interface ListCallsRequest {
    since_ms?: number;
    until_ms?: number;
    agent?: string;
    server?: string;
    tool?: string;
    session?: string;
    decision?: "allow" | "ask" | "deny_continue" | "deny_abort";
    outcome?: string;
    limit?: number;
    before?: number;
    after?: number;
  }
  interface CallDetail extends Call {
    request: {
      arguments: unknown;
      other_params?: unknown;
      is_whole: boolean;
      risk: string | null;
      side_effects: string[];
      definition: string | null;
      mode: string | null;
      revision: number | null;
    };
    answer: { outcome: string; bytes: number | null; summary: string | null } | null;
    gates: {
      gate: string;
      outcome: string;
      reason: string | null;
      by: string | null;
      answered_by: string | null;
    }[];
    events: { seq: number; at_ms: number; kind: string; by: string; what: string; reason: string | null }[];
    approval_record: Approval | null;
  }
  interface AttentionItem {
    kind: "approval" | "pin" | "proposal" | "configuration" | "server" | "token" | "problem";
    id: string | null;
    title: string;
    reason: string | null;
    agent: string | null;
    since_ms: number | null;
    until_ms: number | null;
  }
  interface Attention {
    items: AttentionItem[];
    counts: { kind: AttentionItem["kind"]; n: number }[];
    first_steps: { step: string; done: boolean; hint: string }[];
  }
  interface CallNumbers {
    calls: number;
    errors: number;
    denials: number;
    p50_ms: number | null;
    p95_ms: number | null;
    p99_ms: number | null;
  }
  interface CallStatistics {
    since_ms: number;
    until_ms: number;
    step_ms: number;
    total: CallNumbers;
    rows: (CallNumbers & { name: string })[];
    more: number;
    series: (CallNumbers & { at_ms: number })[];
  }
  interface CallsStatsRequest {
    since_ms?: number;
    until_ms?: number;
    by?: "tool" | "server" | "agent";
    agent?: string;
    server?: string;
    tool?: string;
    step?: "minute" | "ten_minutes" | "hour" | "day";
    limit?: number;
  }
  interface TemplateField {
    name: string;
    label: string;
    placeholder: string | null;
    help: string | null;
    required: boolean;
    secret: boolean;
    default: string | null;
    kind: string;
    choices: string[];
    binding: string;
    binds_to: string | null;
  }
  interface Template {
    id: string;
    name: string;
    display_name: string;
    description: string;
    category: string;
    icon: string | null;
    version: string;
    source: string;
    verified: boolean;
    note: string | null;
    deprecated: { reason: string; instead: string | null } | null;
    needs_command: boolean;
    usable: boolean;
    default_config: Record<string, unknown>;
    fields: TemplateField[];
  }
  interface TemplateList {
    templates: Template[];
    count: number;
    problems: string[];
  }
  interface ServerRevision {
    revision: number;
    change: string;
    name: string;
    entry: Record<string, unknown> | null;
    changed: string[];
    at: string;
    by: string;
  }
  interface ServerHistory {
    id: string;
    revisions: ServerRevision[];
  }
  interface ServerStatus {
    id?: string;
    scope?: string;
    owner?: string;
    managed_by?: string;
    revision?: number;
    enabled?: boolean;
    enabled_for_me?: boolean;
    shadowed?: boolean;
    status?: string;
  }
  interface ServerDetail {
    id?: string;
    scope?: string;
    owner?: string;
    managed_by?: string;
    revision?: number;
    enabled?: boolean;
    enabled_for_me?: boolean;
    shadowed?: boolean;
    status?: string;
    entry?: Record<string, unknown>;
  }

  interface PinVersion {
    hash: string;
    state: string;
    accepted_at: string | null;
    by: string | null;
    ended_at: string | null;
    changes: DefinitionChange[];
    diff: string;
    definition: unknown;
  }
  interface PinHistory {
    versions: PinVersion[];
  }

  interface Operations {
    pins_history: {
      request: {
        server: string;
        kind?: "server" | "tool" | "prompt" | "resource" | "template";
        name?: string;
      };
      response: PinHistory;
    };
    approvals_context: { request: { id: string }; response: ApprovalContext };
    approvals_check_arguments: {
      request: { id: string; arguments?: Record<string, unknown>; arguments_json?: string };
      response: CheckedArguments;
    };
    approvals_decide_many: {
      request: { ids: string[]; decision: "approve" | "deny_continue" | "deny_abort"; reason?: string };
      response: DecidedMany;
    };
    approvals_forget_rule: { request: { id: string }; response: PolicyVersion };
    calls_list: { request: ListCallsRequest; response: CallPage };
    calls_get: { request: { id: string }; response: CallDetail };
    calls_stats: { request: CallsStatsRequest; response: CallStatistics };
    attention_list: { request: NoArguments; response: Attention };
    templates_list: { request: { category?: string }; response: TemplateList };
    servers_add: {
      request: { name: string; entry: Record<string, unknown>; scope?: "system" | "user" };
      response: ServerStatus;
    };
    servers_update: {
      request: { name: string; entry: Record<string, unknown>; new_name?: string };
      response: ServerStatus;
    };
    servers_delete: {
      request: { name: string; force?: boolean };
      response: { id: string; name: string; owner: string | null; last_revision: number };
    };
    servers_history: { request: { name: string }; response: ServerHistory };
    servers_rollback: { request: { name: string; revision: number }; response: ServerStatus };
  }
}
