//! Why an operator's request was refused.

use std::path::PathBuf;

use octroi_core::Principal;
use octroi_core::approval::{ApprovalState, Refusal};
use octroi_core::time::show_time;
use octroi_store::StoreError;

use crate::audit::AuditError;
use crate::policy_error::PolicyError;

/// Who uses a server by name, so that it is not simply deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerUses {
    /// Open sessions that list it.
    pub sessions: Vec<String>,
    /// Agents that it is attached to.
    pub agents: Vec<String>,
}

impl ServerUses {
    /// Whether nobody does.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.agents.is_empty()
    }
}

/// Why an operator's request was refused. Nothing has changed then.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// The requester is an agent.
    #[error("only people decide this")]
    NotAPerson,
    /// A rule says who may decide, and the requester is not among them.
    #[error("only {who} may decide about {id}")]
    NotAnApprover {
        /// The approval's id.
        id: String,
        /// Who may.
        who: String,
    },
    /// There is no such approval.
    #[error("there is no approval `{0}`")]
    UnknownApproval(String),
    /// The approval is decided or expired.
    #[error("approval {id} cannot be decided: {}", explained(.refusal))]
    Refused {
        /// The approval's id.
        id: String,
        /// Why it was refused.
        refusal: Refusal,
    },
    /// The edited arguments are invalid.
    #[error("the call cannot be made with these arguments: {0}")]
    Arguments(String),
    /// The arguments were removed some time after the approval was over.
    #[error("the arguments of {id} were removed when it was over")]
    ArgumentsRemoved {
        /// The approval's id.
        id: String,
    },
    /// The arguments are encrypted with another key.
    #[error("the arguments of {id} cannot be read: they are encrypted with another key")]
    ArgumentsUnreadable {
        /// The approval's id.
        id: String,
    },
    /// Nothing is masked at this place.
    #[error("nothing is masked at `{path}`")]
    NotMasked {
        /// The path that was given.
        path: String,
    },
    /// No rule can be made from the decision.
    #[error("this cannot be remembered: {0}")]
    Unrememberable(String),
    /// The rule belongs to a policy that is managed in a file.
    #[error("the policy that the rule belongs to is in {}", .file.display())]
    PolicyInFile {
        /// The path of the file.
        file: PathBuf,
        /// The rule that would be added.
        rule: String,
    },
    /// No rule was remembered with the approval, or it is not in the policy any more.
    #[error("there is no rule that was remembered with {id}")]
    NoRule {
        /// The approval's id.
        id: String,
    },
    /// The rule could not be stored.
    #[error("the rule cannot be remembered: {problem}")]
    Policy {
        /// Why it failed.
        problem: PolicyError,
        /// The rule that would be added.
        rule: String,
    },
    /// No definition of this name is quarantined.
    #[error("no {kind} `{name}` of server `{server}` is quarantined")]
    NotHeld {
        /// The server's name.
        server: String,
        /// The kind of definition.
        kind: &'static str,
        /// The name of the definition.
        name: String,
    },
    /// No definition of this name was accepted.
    #[error("nothing of `{0}` was accepted, so there is nothing to forget")]
    NothingAccepted(String),
    /// Several accepted definitions have this name.
    #[error("`{0}` is the name of several accepted definitions")]
    SeveralAccepted(String),
    /// The server has changed the definition again.
    #[error("the server has changed {kind} `{name}` again since you looked; it is {hash} now")]
    ChangedAgain {
        /// The kind of definition.
        kind: &'static str,
        /// The name of the definition.
        name: String,
        /// The current hash.
        hash: String,
    },
    /// There is no such agent.
    #[error("there is no agent `{0}`")]
    UnknownAgent(String),
    /// The settings of an agent are invalid.
    #[error("{0}")]
    Agent(String),
    /// A browser presented neither a token nor a valid code.
    #[error("this is not a valid token or code")]
    UnknownCredential,
    /// A user's name or change is invalid.
    #[error("{0}")]
    User(String),
    /// There is no such user.
    #[error("there is no user `{0}`")]
    UnknownUser(String),
    /// The user exists already.
    #[error("there is a user `{0}` already")]
    UserExists(String),
    /// The configuration names the user.
    #[error("the configuration names the user `{0}`")]
    UserInFile(String),
    /// A token's settings are invalid.
    #[error("{0}")]
    Token(String),
    /// There is no such invitation, or it cannot be used any more.
    #[error("this invitation was used, has expired, or never was one")]
    UnknownInvite,
    /// There is no such token.
    #[error("there is no token `{0}`")]
    UnknownToken(String),
    /// The token has ended already.
    #[error("token `{id}` has ended: {how}")]
    TokenEnded {
        /// The token's id.
        id: String,
        /// Who ended it, and when.
        how: String,
    },
    /// The configuration has the token.
    #[error("token `{id}` is in the configuration")]
    TokenInFile {
        /// The token's id.
        id: String,
    },
    /// Another user has an agent with this id.
    #[error("the agent id `{0}` is taken")]
    AgentTaken(String),
    /// There is an agent with this id already.
    #[error("there is an agent `{0}` already")]
    AgentExists(String),
    /// The configuration has the agent, or sets this of it.
    #[error("the configuration {}", in_file(.agent, *.key))]
    AgentInFile {
        /// The agent's id.
        agent: String,
        /// The key that its entry writes; `None` for the whole agent.
        key: Option<&'static str>,
        /// Where it is written.
        place: String,
    },
    /// A secret's name or value is invalid. Neither is repeated.
    #[error("{0}")]
    Secret(String),
    /// There is no such secret.
    #[error("there is no secret `{0}`")]
    UnknownSecret(String),
    /// Something refers to the secret.
    #[error("the secret `{name}` is used by {}", users(.servers, *.is_elsewhere))]
    SecretInUse {
        /// Its name.
        name: String,
        /// The servers that refer to it.
        servers: Vec<String>,
        /// Whether anything else in the configuration does.
        is_elsewhere: bool,
    },
    /// The entry of a server cannot be used.
    #[error("{message}")]
    ServerEntry {
        /// What is wrong with it.
        message: String,
        /// What would be right.
        hint: Option<String>,
    },
    /// The name is taken by another server of the owner, or by one that everybody shares.
    #[error("there is a server `{0}` already")]
    ServerNameExists(String),
    /// Sessions or agents use the server by name.
    #[error("the server `{name}` is in use by {}", server_users(.uses))]
    ServerInUse {
        /// The server.
        name: String,
        /// Who uses it.
        uses: ServerUses,
    },
    /// The configuration has the server.
    #[error("the configuration file has the server `{0}`, so it is changed there")]
    ServerInFile(String),
    /// There is no such server.
    #[error("there is no server `{0}`")]
    UnknownServer(String),
    /// There is no such state of the server to go back to.
    #[error("there is no revision {0} to go back to")]
    UnknownRevision(i64),
    /// Somebody else changed the server meanwhile.
    #[error("the server `{0}` was changed meanwhile")]
    ServerChanged(String),
    /// The entry of the server is encrypted with another key.
    #[error("the entry of the server `{0}` is encrypted with another master key")]
    EntryUnreadable(String),
    /// The change leaves everything as it is.
    #[error("there is nothing to change about the server `{0}`")]
    NothingChanges(String),
    /// There would be more than there may be.
    #[error("{0}")]
    TooMany(String),
    /// A session's settings are invalid.
    #[error("{0}")]
    Session(String),
    /// There is no such session.
    #[error("there is no session `{0}`")]
    UnknownSession(String),
    /// The session is closed.
    #[error("the session `{0}` is closed")]
    SessionClosed(String),
    /// The server is pinned to the agent.
    #[error("the server `{server}` is pinned to the agent `{agent}`")]
    Pinned {
        /// The agent.
        agent: String,
        /// The server.
        server: String,
    },
    /// The server is not attached to the agent.
    #[error("the server `{server}` is not attached to the agent `{agent}`")]
    NotAttached {
        /// The agent.
        agent: String,
        /// The server.
        server: String,
    },
    /// There are no random numbers.
    #[error("the operating system gives no random numbers")]
    NoRandom,
    /// The change cannot be recorded in the audit log.
    #[error("this cannot be recorded, so it is not done: {0}")]
    Unrecorded(#[from] AuditError),
    /// There is no persistent storage.
    #[error("this gateway has no persistent storage, so nothing can be decided")]
    NoStore,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OperatorError {
    /// What the operator can do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::NotAPerson => "ask a person".to_owned(),
            Self::NotAnApprover { who, .. } => format!("ask {who}"),
            Self::UnknownCredential => "run `octroi open` for another code".to_owned(),
            Self::UnknownInvite => "ask an administrator for another: `octroi user invite NAME`".to_owned(),
            Self::UnknownApproval(_) => "`octroi approvals` lists pending approvals".to_owned(),
            Self::Refused { id, refusal } => match refusal {
                Refusal::Expired { .. } | Refusal::Cancelled | Refusal::Orphaned => {
                    "the agent can make the call again to ask anew".to_owned()
                }
                _ => format!("`octroi approvals show {id}` shows its outcome"),
            },
            Self::Arguments(_) => "give a JSON object that fits the tool's input schema".to_owned(),
            Self::ArgumentsRemoved { .. } => {
                "the audit log has them with secrets redacted; `keep_arguments` of [approvals] says how long they are kept"
                    .to_owned()
            }
            Self::ArgumentsUnreadable { .. } => {
                "restore master.key of the data directory and restart, or deny the call: the agent can ask anew".to_owned()
            }
            Self::NotMasked { .. } => "`octroi approvals show ID` lists what is masked".to_owned(),
            Self::Unrememberable(_) => {
                "decide without remembering, or write a rule of your own into the policy".to_owned()
            }
            Self::PolicyInFile { rule, .. } | Self::Policy { rule, .. } => {
                format!("decide without remembering, and put the rule into the policy yourself:\n{rule}")
            }
            Self::NoRule { .. } => "`octroi policy show` shows the rules in effect".to_owned(),
            Self::NotHeld { .. } => "`octroi pins` lists what is quarantined".to_owned(),
            Self::NothingAccepted(_) => "`octroi pins lock --file -` lists what is accepted".to_owned(),
            Self::SeveralAccepted(_) => "name the kind: tool, prompt, template or server".to_owned(),
            Self::ChangedAgain { .. } => "look at it again with `octroi pins`".to_owned(),
            Self::Agent(_) => "`octroi agents` shows what is set".to_owned(),
            Self::User(_) | Self::UnknownUser(_) => "`octroi user list` shows all users".to_owned(),
            Self::UserExists(user) => format!("`octroi user invite {user}` makes a link to a token for them"),
            Self::UserInFile(_) => "change its [[tokens]] in the configuration file".to_owned(),
            Self::Token(_) => "`octroi token create --help` explains its options".to_owned(),
            Self::UnknownToken(_) | Self::TokenEnded { .. } => "`octroi token list` shows all tokens".to_owned(),
            Self::TokenInFile { .. } => {
                "remove its entry of [[tokens]] from the configuration file: it takes effect within a second"
                    .to_owned()
            }
            Self::UnknownAgent(agent) => {
                format!("`octroi agents` lists agents; `octroi token create --agent {agent}` makes this one, and a token for it")
            }
            Self::AgentTaken(_) => "choose another id".to_owned(),
            Self::AgentExists(agent) => format!("`octroi agents set {agent}` changes it"),
            Self::AgentInFile { key: Some(key), place, .. } => {
                format!("change `{key}` in {place}: it takes effect within a second")
            }
            Self::AgentInFile { key: None, place, .. } => {
                format!("take it out of {place}: it takes effect within a second")
            }
            Self::Secret(_) => "`octroi secret set --help` explains it".to_owned(),
            Self::UnknownSecret(_) => "`octroi secret list` shows all secrets".to_owned(),
            Self::SecretInUse { is_elsewhere: true, .. } => {
                "take `${secret:…}` out of the configuration and reload it first".to_owned()
            }
            Self::SecretInUse { name, .. } => {
                format!("take it out of their entries first; `octroi secret remove {name} --force` stops them")
            }
            Self::ServerEntry { hint, .. } => {
                hint.clone().unwrap_or_else(|| "docs/configuration.md lists the keys of an entry".to_owned())
            }
            Self::ServerNameExists(_) => "choose another name; `octroi list` shows all servers".to_owned(),
            Self::ServerInUse { name, .. } => {
                format!("`octroi remove {name} --force` takes it from them")
            }
            Self::ServerInFile(_) => "change its entry there: it takes effect within a second".to_owned(),
            Self::UnknownServer(_) => "`octroi list` shows all servers".to_owned(),
            Self::UnknownRevision(_) => "`octroi servers history NAME` lists them".to_owned(),
            Self::ServerChanged(name) => format!("look at it with `octroi get {name}`, then try again"),
            Self::EntryUnreadable(name) => {
                format!("restore master.key of the data directory and restart, or `octroi remove {name}` and add it again")
            }
            Self::NothingChanges(name) => format!("`octroi get {name}` shows it"),
            Self::TooMany(_) => "remove one that is not needed".to_owned(),
            Self::Session(_) | Self::UnknownSession(_) => "`octroi sessions list` shows all sessions".to_owned(),
            Self::SessionClosed(_) => "`octroi sessions create` begins another one".to_owned(),
            Self::Pinned { agent, server } => {
                format!("`octroi agents attach {agent} {server}` attaches it without pinning it")
            }
            Self::NotAttached { agent, .. } => format!("`octroi agents show {agent}` lists its servers"),
            Self::NoRandom => "try again".to_owned(),
            Self::Unrecorded(error) => error.hint(),
            Self::NoStore => "run `octroi up`".to_owned(),
            Self::Store(error) => error.hint(),
        }
    }
}

fn users(servers: &[String], is_elsewhere: bool) -> String {
    let servers = servers.iter().map(|server| format!("server `{server}`"));
    let elsewhere = is_elsewhere.then(|| "other parts of the configuration".to_owned());
    servers.chain(elsewhere).collect::<Vec<_>>().join(", ")
}

fn server_users(uses: &ServerUses) -> String {
    let sessions = uses.sessions.iter().map(|id| format!("session `{id}`"));
    let agents = uses.agents.iter().map(|agent| format!("agent `{agent}`"));
    sessions.chain(agents).collect::<Vec<_>>().join(", ")
}

fn in_file(agent: &str, key: Option<&str>) -> String {
    match key {
        Some(key) => format!("sets `{key}` of agent `{agent}`"),
        None => format!("has agent `{agent}`"),
    }
}

/// Names who decided and when, so that the operator need not look it up.
fn explained(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Decided { state, by, at_ms } => {
            let decision = match state {
                ApprovalState::DeniedContinue | ApprovalState::DeniedAbort => "denied it",
                _ => "approved it",
            };
            format!("{by} {decision} at {} already", show_time(*at_ms))
        }
        other => other.to_string(),
    }
}

pub(crate) fn must_be_person(principal: &Principal) -> Result<(), OperatorError> {
    if principal.is_person() { Ok(()) } else { Err(OperatorError::NotAPerson) }
}
