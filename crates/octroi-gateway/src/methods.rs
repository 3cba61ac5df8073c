//! The one list of methods: what an agent may send where, and who answers it.
//!
//! Nothing reaches a server that is not on this list. Everything else is answered with `method_not_found` and recorded
//! as a violation.

use octroi_mcp::{Era, Method};

/// Who answers a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// The session of a legacy client, or the stream of a modern one; it does not get further.
    Session,
    /// Octroi, from what it knows.
    Octroi,
    /// A server, after a decision that is recorded.
    Server(Recorded),
    /// Nobody.
    Refused,
}

/// Which records a request to a server leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recorded {
    /// Begin and end.
    Twice,
    /// One begin and one end for all of an argument within a minute: completions come with every character that a user
    /// types.
    Gathered,
    /// None of its own, unless it is denied: requests for the state of a task belong to the call that began it, which
    /// has its records.
    IfDenied,
}

/// Who answers this method for a client of this era. The answer is the same for all servers together and for one
/// alone: another path is not another gate.
#[expect(clippy::match_same_arms, reason = "each group is refused for a reason of its own")]
pub(crate) fn route(method: &Method, era: Era) -> Route {
    match (method, era) {
        (
            Method::Initialize
            | Method::Ping
            | Method::SetLevel
            | Method::ResourcesSubscribe
            | Method::ResourcesUnsubscribe,
            Era::Legacy,
        )
        | (Method::Listen, Era::Modern) => Route::Session,
        (Method::Discover, Era::Modern)
        | (Method::ToolsList | Method::PromptsList | Method::ResourcesList | Method::TemplatesList, _) => {
            Route::Octroi
        }
        (
            Method::ToolsCall
            | Method::PromptsGet
            | Method::ResourcesRead
            | Method::TasksUpdate
            | Method::TasksCancel,
            _,
        ) => Route::Server(Recorded::Twice),
        (Method::Complete, _) => Route::Server(Recorded::Gathered),
        (Method::TasksGet, _) | (Method::TasksResult, Era::Legacy) => Route::Server(Recorded::IfDenied),
        // A server's list of tasks would show those of all principals.
        (Method::TasksList, _) => Route::Refused,
        // Of the other era.
        (
            Method::Initialize
            | Method::Ping
            | Method::SetLevel
            | Method::ResourcesSubscribe
            | Method::ResourcesUnsubscribe
            | Method::TasksResult,
            Era::Modern,
        )
        | (Method::Discover | Method::Listen, Era::Legacy) => Route::Refused,
        // Notifications, which are no requests.
        (
            Method::Initialized
            | Method::Acknowledged
            | Method::TaskChanged
            | Method::TaskStatus
            | Method::ElicitationComplete
            | Method::RootsChanged
            | Method::Progress
            | Method::LogMessage
            | Method::Cancelled
            | Method::ToolsChanged
            | Method::PromptsChanged
            | Method::ResourcesChanged
            | Method::ResourceUpdated,
            _,
        ) => Route::Refused,
        // What servers ask of clients.
        (Method::ElicitationCreate | Method::SamplingCreate | Method::RootsList, _) => Route::Refused,
        (Method::Other(_), _) => Route::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_these_methods_reach_a_server() {
        const ALL: [&str; 42] = [
            "initialize",
            "notifications/initialized",
            "ping",
            "server/discover",
            "subscriptions/listen",
            "notifications/subscriptions/acknowledged",
            "tools/list",
            "tools/call",
            "prompts/list",
            "prompts/get",
            "resources/list",
            "resources/templates/list",
            "resources/read",
            "resources/subscribe",
            "resources/unsubscribe",
            "completion/complete",
            "logging/setLevel",
            "tasks/get",
            "tasks/update",
            "tasks/cancel",
            "tasks/result",
            "tasks/list",
            "notifications/tasks",
            "notifications/tasks/status",
            "elicitation/create",
            "notifications/elicitation/complete",
            "sampling/createMessage",
            "roots/list",
            "notifications/roots/list_changed",
            "notifications/progress",
            "notifications/message",
            "notifications/cancelled",
            "notifications/tools/list_changed",
            "notifications/prompts/list_changed",
            "notifications/resources/list_changed",
            "notifications/resources/updated",
            "admin/drop",
            "tools/Call",
            "TOOLS/CALL",
            "tools/call ",
            "tools//call",
            "",
        ];
        const BOTH: [&str; 7] = [
            "tools/call",
            "prompts/get",
            "resources/read",
            "completion/complete",
            "tasks/get",
            "tasks/update",
            "tasks/cancel",
        ];
        for name in ALL {
            let reaches = |era| matches!(route(&Method::parse(name), era), Route::Server(_));
            let expected = BOTH.contains(&name);
            assert_eq!(reaches(Era::Legacy), expected || name == "tasks/result", "{name}");
            assert_eq!(reaches(Era::Modern), expected, "{name}");
        }
    }

    #[test]
    fn what_belongs_to_one_era_is_refused_in_the_other() {
        for (name, legacy, modern) in [
            ("ping", Route::Session, Route::Refused),
            ("logging/setLevel", Route::Session, Route::Refused),
            ("server/discover", Route::Refused, Route::Octroi),
            ("subscriptions/listen", Route::Refused, Route::Session),
            ("tasks/list", Route::Refused, Route::Refused),
            ("sampling/createMessage", Route::Refused, Route::Refused),
        ] {
            let method = Method::parse(name);
            assert_eq!(route(&method, Era::Legacy), legacy, "{name}");
            assert_eq!(route(&method, Era::Modern), modern, "{name}");
        }
    }
}
