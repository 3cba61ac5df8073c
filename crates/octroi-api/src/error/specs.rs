//! The specification of every error code, but those of requests that are refused before anybody reads what they
//! ask for.

use super::{ErrorSpec, Exit, Fault, Retry};

/// A denied call.
const DENIED: ErrorSpec = ErrorSpec {
    word: "",
    rpc: -32_951,
    in_result: false,
    http: 403,
    exit: Exit::Denied,
    fault: Fault::Client,
    retry: Retry::No,
    about: "",
    hint: "",
    agent_hint: None,
};

/// A request for something that does not exist.
pub(super) const REJECTED: ErrorSpec = ErrorSpec {
    word: "",
    rpc: -32_602,
    in_result: false,
    http: 404,
    exit: Exit::Failed,
    fault: Fault::Client,
    retry: Retry::No,
    about: "",
    hint: "",
    agent_hint: None,
};

/// An operation that is not possible in the current state.
const REFUSED: ErrorSpec = ErrorSpec {
    word: "",
    rpc: -32_602,
    in_result: true,
    http: 409,
    exit: Exit::Failed,
    fault: Fault::Client,
    retry: Retry::No,
    about: "",
    hint: "",
    agent_hint: None,
};

/// A server failed.
const UPSTREAM: ErrorSpec = ErrorSpec {
    word: "",
    rpc: -32_603,
    in_result: true,
    http: 502,
    exit: Exit::Failed,
    fault: Fault::Upstream,
    retry: Retry::No,
    about: "",
    hint: "",
    agent_hint: None,
};

/// The gateway failed.
const GATEWAY: ErrorSpec = ErrorSpec {
    word: "",
    rpc: -32_603,
    in_result: true,
    http: 503,
    exit: Exit::Failed,
    fault: Fault::Gateway,
    retry: Retry::After,
    about: "",
    hint: "",
    agent_hint: None,
};

/// In the order of the enum, which a test checks. Each row lists only the differences from its base.
pub(super) static TABLE: [ErrorSpec; 46] = [
    ErrorSpec {
        word: "policy_denied",
        rpc: -32_950,
        about: "A gate, a policy or a person refused the call; the agent should stop.",
        hint: "see why with `octroi policy why`",
        agent_hint: Some("stop here; a person sees why with `octroi policy why`"),
        ..DENIED
    },
    ErrorSpec {
        word: "policy_denied_continue",
        about: "A gate, a policy or a person refused the call; the agent may go on with something else.",
        hint: "see why with `octroi policy why`",
        agent_hint: Some("go on with something else; a person sees why with `octroi policy why`"),
        ..DENIED
    },
    ErrorSpec {
        word: "policy_backend_reserved_misuse",
        rpc: -32_952,
        in_result: false,
        about: "A server answered with an error code that only Octroi may use. It is not a decision of Octroi.",
        hint: "look at the server's log with `octroi logs NAME`",
        agent_hint: Some("a person finds the server's log with `octroi logs NAME`"),
        ..UPSTREAM
    },
    ErrorSpec {
        word: "policy_evaluator_error",
        rpc: -32_953,
        in_result: false,
        about: "A policy or a gate could not be evaluated, so the call was not made.",
        hint: "`octroi status` shows problems and custom gates; the gateway's log says more",
        agent_hint: Some("a person finds out what failed with `octroi status`"),
        ..GATEWAY
    },
    ErrorSpec {
        word: "busy",
        rpc: -32_954,
        http: 429,
        fault: Fault::Upstream,
        retry: Retry::After,
        about: "Too many calls to this server are in flight.",
        hint: "try again in a moment, or raise `max_concurrency` of the server's entry",
        agent_hint: Some("try again in a moment"),
        ..REJECTED
    },
    ErrorSpec {
        word: "quota_exceeded",
        rpc: -32_954,
        http: 429,
        retry: Retry::After,
        about: "A quota is used up.",
        hint: "try again in a moment; quotas are configured under [[quotas]]",
        agent_hint: Some("try again in a moment"),
        ..DENIED
    },
    ErrorSpec {
        word: "limit_exceeded",
        rpc: -32_954,
        http: 429,
        retry: Retry::After,
        about: "The caller uses more of Octroi than it may: connections, sessions, subscriptions, approvals.",
        hint: "try again later, or raise the limit; docs/limits.md lists them",
        agent_hint: Some("try again later, and keep fewer of them open"),
        ..REJECTED
    },
    ErrorSpec {
        word: "approval_pending",
        rpc: -32_951,
        exit: Exit::Approval,
        retry: Retry::After,
        about: "The call is pending approval. Nothing has been done yet.",
        hint: "approve it with `octroi approve ID`, then make the identical call again",
        agent_hint: Some("a person has to run `octroi approve ID`; then make the identical call again"),
        ..REFUSED
    },
    ErrorSpec {
        word: "approval_expired",
        rpc: -32_955,
        http: 409,
        exit: Exit::Approval,
        retry: Retry::Yes,
        about: "Nobody decided in time, so the call was not made.",
        hint: "make the call again to request a new approval",
        ..DENIED
    },
    ErrorSpec {
        word: "approval_unusable",
        http: 409,
        exit: Exit::Approval,
        retry: Retry::Yes,
        about: "The approval is no longer valid for the call: it was used, or the tool or the policy has changed.",
        hint: "make the call again to request a new approval",
        ..REJECTED
    },
    ErrorSpec {
        word: "tool_not_found",
        about: "There is no such tool.",
        hint: "`octroi tools` lists all",
        agent_hint: Some("list the tools with `tools/list`"),
        ..REJECTED
    },
    ErrorSpec {
        word: "tool_ambiguous",
        http: 409,
        about: "The name matches several tools.",
        hint: "write it as `server.tool`",
        agent_hint: Some("use one of the names that the message lists"),
        ..REJECTED
    },
    ErrorSpec {
        word: "tool_disabled",
        about: "The tool or its server is switched off.",
        hint: "switch the server on with `octroi enable NAME`, or see `tools_override` of its entry",
        agent_hint: Some("use another tool; a person can switch the server on with `octroi enable NAME`"),
        ..DENIED
    },
    ErrorSpec {
        word: "tool_changed_needs_review",
        fault: Fault::Upstream,
        retry: Retry::After,
        about: "The tool's definition has changed and is quarantined until a person has reviewed it.",
        hint: "review the difference with `octroi pins`",
        agent_hint: Some("use another tool; a person has to review the change with `octroi pins`"),
        ..DENIED
    },
    ErrorSpec {
        word: "tool_execution_error",
        http: 200,
        exit: Exit::ToolError,
        about: "The tool ran and reported an error.",
        hint: "read the tool's error message",
        ..UPSTREAM
    },
    ErrorSpec {
        word: "prompt_not_found",
        about: "There is no such prompt.",
        hint: "list the prompts",
        ..REJECTED
    },
    ErrorSpec {
        word: "resource_not_found",
        about: "There is no such resource, or it belongs to another agent.",
        hint: "list the resources and templates",
        ..REJECTED
    },
    ErrorSpec {
        word: "server_unavailable",
        retry: Retry::After,
        about: "The server cannot be reached, so the call was not made.",
        hint: "look at `octroi status` and `octroi logs NAME`; other servers are not affected",
        agent_hint: Some("use other tools; a person sees more with `octroi status`"),
        ..UPSTREAM
    },
    ErrorSpec {
        word: "needs_auth",
        exit: Exit::SignIn,
        about: "The server requires other credentials.",
        hint: "check the `headers` of the server's entry",
        agent_hint: Some("use other tools; a person has to correct the credentials in the server's entry"),
        ..UPSTREAM
    },
    ErrorSpec {
        word: "call_timeout",
        http: 504,
        about: "The server did not answer in time. The call may still take effect.",
        hint: "raise `timeout` of the server's entry if it needs longer, `max_call_timeout` if it reports progress",
        agent_hint: Some("check whether it took effect before calling again"),
        ..UPSTREAM
    },
    ErrorSpec {
        word: "outcome_unknown",
        about: "The connection was lost during the call, which may or may not have taken effect.",
        hint: "check before calling again",
        ..UPSTREAM
    },
    ErrorSpec {
        word: "result_too_large",
        about: "The server's answer is larger than allowed.",
        hint: "ask for less, or raise `max_message_bytes` of the server's entry",
        agent_hint: Some("ask for less"),
        ..UPSTREAM
    },
    ErrorSpec {
        word: "invalid_arguments",
        http: 422,
        about: "The arguments have the right types but invalid values, or do not match the tool's schema.",
        hint: "look at the tool's input schema",
        ..REFUSED
    },
    ErrorSpec {
        word: "invalid_params",
        http: 422,
        about: "An argument is missing, unknown or of the wrong type.",
        hint: "correct what the message names",
        ..REJECTED
    },
    ErrorSpec {
        word: "unauthenticated",
        rpc: -32_600,
        http: 401,
        exit: Exit::SignIn,
        about: "The token is missing or unknown.",
        hint: "send a valid token as `Authorization: Bearer TOKEN`; the command line takes it from OCTROI_TOKEN or --token",
        ..DENIED
    },
    ErrorSpec {
        word: "forbidden",
        rpc: -32_600,
        about: "The Host or the Origin of the request is not allowed.",
        hint: "see `allowed_hosts` and `allowed_origins` under [server] in the configuration",
        agent_hint: Some("a person can allow it with `allowed_hosts` and `allowed_origins` under [server]"),
        ..DENIED
    },
    ErrorSpec {
        word: "people_only",
        exit: Exit::SignIn,
        about: "Only people may do this, and the token is an agent's.",
        hint: "use a person's token",
        agent_hint: Some("a person has to do it"),
        ..DENIED
    },
    ErrorSpec {
        word: "admins_only",
        about: "Only administrators may do this, and the token is a member's.",
        hint: "ask an administrator",
        ..DENIED
    },
    ErrorSpec {
        word: "not_an_approver",
        about: "A rule says who may decide about this call, and the caller is not among them.",
        hint: "ask one of those it names",
        ..DENIED
    },
    ErrorSpec {
        word: "not_found",
        in_result: true,
        about: "There is no such object, or it belongs to another agent.",
        hint: "list the existing objects",
        ..REJECTED
    },
    ErrorSpec {
        word: "conflict",
        retry: Retry::After,
        about: "Conflict: the object was changed or decided since it was read.",
        hint: "look at it again",
        ..REFUSED
    },
    ErrorSpec {
        word: "limit_reached",
        retry: Retry::After,
        about: "The maximum number is reached.",
        hint: "remove one first",
        ..REFUSED
    },
    ErrorSpec {
        word: "managed_by_file",
        about: "This is set in a configuration file, so it cannot be changed here.",
        hint: "change the file; a running gateway reloads it automatically",
        agent_hint: Some("a person can change the file"),
        ..REFUSED
    },
    ErrorSpec {
        word: "server_name_exists",
        about: "There is a server of this name already: the owner's, or one that everybody shares.",
        hint: "choose another name; `octroi list` shows all servers",
        agent_hint: Some("a person can choose another name"),
        ..REFUSED
    },
    ErrorSpec {
        word: "server_in_use",
        about: "Sessions or agents use the server by name, so it is not deleted.",
        hint: "`octroi remove NAME --force` takes it from them",
        agent_hint: Some("a person can take it from them with `octroi remove NAME --force`"),
        ..REFUSED
    },
    ErrorSpec {
        word: "protected_field",
        http: 422,
        about: "The request sets something that cannot be set: an id, an owner or a scope.",
        hint: "leave it out",
        ..REFUSED
    },
    ErrorSpec {
        word: "invalid_policy",
        http: 422,
        about: "The policy is invalid.",
        hint: "`octroi policy check FILE` lists what is wrong",
        agent_hint: Some("correct what the message names"),
        ..REFUSED
    },
    ErrorSpec {
        word: "invalid_config",
        rpc: -32_603,
        http: 422,
        about: "The configuration is invalid; the old one stays in effect.",
        hint: "`octroi config check` lists what is wrong",
        agent_hint: Some("a person finds what is wrong with `octroi config check`"),
        ..REFUSED
    },
    ErrorSpec {
        word: "audit_unavailable",
        about: "The audit record cannot be written, so nothing was done.",
        hint: "look at the disk of the data directory and at the gateway's log",
        agent_hint: Some("try again later; a person finds the cause in the gateway's log"),
        ..GATEWAY
    },
    ErrorSpec {
        word: "storage_unavailable",
        about: "The store cannot be used, or this gateway has none.",
        hint: "look at the data directory and at the gateway's log; `octroi up` keeps a store",
        agent_hint: Some("try again later; a person finds the cause in the gateway's log"),
        ..GATEWAY
    },
    ErrorSpec {
        word: "task_lost",
        rpc: -32_603,
        fault: Fault::Gateway,
        about: "The task's call did not survive a restart.",
        hint: "check its outcome in the audit log, then call again",
        agent_hint: Some("check whether it took effect before calling again"),
        ..REJECTED
    },
    ErrorSpec {
        word: "gateway_gone",
        in_result: false,
        http: 502,
        exit: Exit::Unreachable,
        about: "The gateway behind `octroi stdio` has stopped.",
        hint: "start it again with `octroi up`",
        agent_hint: Some("a person can start it again with `octroi up`"),
        ..GATEWAY
    },
    ErrorSpec {
        word: "subscribe_unsupported",
        rpc: -32_960,
        http: 501,
        fault: Fault::Upstream,
        about: "The server does not report changes of this resource.",
        hint: "read it again instead",
        ..REJECTED
    },
    ErrorSpec {
        word: "unsubscribe_unsupported",
        rpc: -32_961,
        http: 501,
        fault: Fault::Upstream,
        about: "The server does not report changes of this resource, so there is no subscription to end.",
        hint: "nothing has to be done",
        ..REJECTED
    },
    ErrorSpec {
        word: "unsupported_protocol_version",
        rpc: -32_022,
        http: 400,
        about: "The protocol version is not supported.",
        hint: "use one of the versions that the error lists",
        ..REJECTED
    },
    ErrorSpec {
        word: "internal_error",
        rpc: -32_603,
        http: 500,
        fault: Fault::Gateway,
        about: "Unexpected internal error.",
        hint: "look at the gateway's log",
        agent_hint: Some("try again later; a person finds the cause in the gateway's log"),
        ..REJECTED
    },
];
