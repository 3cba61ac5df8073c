//! Method names: the ones a gateway treats specially, and all others verbatim.

use std::fmt;

macro_rules! methods {
    ($($(#[$doc:meta])* $variant:ident = $text:literal,)*) => {
        /// A JSON-RPC method.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum Method {
            $($(#[$doc])* $variant,)*
            /// A method that Octroi does not know.
            Other(Box<str>),
        }

        impl Method {
            /// Parses a method name.
            pub fn parse(text: &str) -> Self {
                match text {
                    $($text => Self::$variant,)*
                    other => Self::Other(other.into()),
                }
            }

            /// The method's name on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Other(text) => text,
                }
            }
        }
    };
}

methods! {
    /// Opens a legacy session.
    Initialize = "initialize",
    /// Completes the handshake.
    Initialized = "notifications/initialized",
    /// Legacy liveness check, in both directions.
    Ping = "ping",
    /// Modern: versions, capabilities, identity.
    Discover = "server/discover",
    /// Modern: a stream of change notifications.
    Listen = "subscriptions/listen",
    /// Modern: first message on a listen stream.
    Acknowledged = "notifications/subscriptions/acknowledged",
    /// Lists the tools of a server.
    ToolsList = "tools/list",
    /// Calls a tool.
    ToolsCall = "tools/call",
    /// Lists the prompts of a server.
    PromptsList = "prompts/list",
    /// Gets one prompt, filled in.
    PromptsGet = "prompts/get",
    /// Lists the resources of a server.
    ResourcesList = "resources/list",
    /// Lists the resource templates of a server.
    TemplatesList = "resources/templates/list",
    /// Reads the content of a resource.
    ResourcesRead = "resources/read",
    /// Legacy: subscribes to changes of a resource.
    ResourcesSubscribe = "resources/subscribe",
    /// Legacy: unsubscribes.
    ResourcesUnsubscribe = "resources/unsubscribe",
    /// Completes an argument.
    Complete = "completion/complete",
    /// Legacy: sets the minimum log level.
    SetLevel = "logging/setLevel",
    /// Gets the state of a task.
    TasksGet = "tasks/get",
    /// Sends input to a task (modern extension).
    TasksUpdate = "tasks/update",
    /// Cancels a task.
    TasksCancel = "tasks/cancel",
    /// Gets the result of a task (legacy).
    TasksResult = "tasks/result",
    /// Lists the tasks of a session (legacy).
    TasksList = "tasks/list",
    /// Change of a task's state (modern extension).
    TaskChanged = "notifications/tasks",
    /// Change of a task's state (legacy).
    TaskStatus = "notifications/tasks/status",
    /// A server asks a person.
    ElicitationCreate = "elicitation/create",
    /// An out-of-band elicitation completed (2025-11-25).
    ElicitationComplete = "notifications/elicitation/complete",
    /// A server asks the client's model.
    SamplingCreate = "sampling/createMessage",
    /// A server asks for the client's directories.
    RootsList = "roots/list",
    /// The client's directories changed (legacy).
    RootsChanged = "notifications/roots/list_changed",
    /// Progress of a request.
    Progress = "notifications/progress",
    /// A log message.
    LogMessage = "notifications/message",
    /// Cancels a request.
    Cancelled = "notifications/cancelled",
    /// The list of tools changed.
    ToolsChanged = "notifications/tools/list_changed",
    /// The list of prompts changed.
    PromptsChanged = "notifications/prompts/list_changed",
    /// The list of resources changed.
    ResourcesChanged = "notifications/resources/list_changed",
    /// A resource changed.
    ResourceUpdated = "notifications/resources/updated",
}

impl fmt::Display for Method {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Method {
    /// Whether a server may answer this method with `input_required`.
    pub fn may_ask(&self) -> bool {
        matches!(self, Self::ToolsCall | Self::PromptsGet | Self::ResourcesRead)
    }

    /// Whether the method only reads, so that a retry is harmless.
    pub fn is_read(&self) -> bool {
        matches!(self, Self::PromptsGet | Self::ResourcesRead | Self::Complete)
    }

    /// Whether the method was removed from the modern era, so that a modern client gets "method not found".
    pub fn is_legacy_only(&self) -> bool {
        matches!(
            self,
            Self::Initialize
                | Self::Initialized
                | Self::Ping
                | Self::SetLevel
                | Self::ResourcesSubscribe
                | Self::ResourcesUnsubscribe
                | Self::TasksResult
                | Self::TasksList
                | Self::RootsChanged
        )
    }
}
