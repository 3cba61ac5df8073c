//! The vocabulary of audit records: each enum with its table of words.

/// The kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the words below say it")]
pub enum Kind {
    ToolInvocationStart,
    ToolInvocationEnd,
    PolicyDecision,
    PolicyViolation,
    ApprovalRequested,
    ApprovalResolved,
    PolicyChanged,
    ProposalCreated,
    ProposalResolved,
    ServerChanged,
    ConfigReloaded,
    TokenChanged,
    AuthFailed,
    ToolDefinitionChanged,
    QuotaWarning,
    QuotaExceeded,
    AuditPurged,
    AuditOpened,
    AdministrativeChange,
    RequestStart,
    RequestEnd,
    ArgumentRevealed,
    StateSnapshot,
    AgentChanged,
    UserChanged,
    PinChanged,
    QuestionAnswered,
    SecretChanged,
}

impl Kind {
    /// All kinds in the order of the enum, with the word used in records.
    pub const WORDS: [(&'static str, Self); 28] = [
        ("tool_invocation_start", Self::ToolInvocationStart),
        ("tool_invocation_end", Self::ToolInvocationEnd),
        ("policy_decision", Self::PolicyDecision),
        ("policy_violation", Self::PolicyViolation),
        ("approval_requested", Self::ApprovalRequested),
        ("approval_resolved", Self::ApprovalResolved),
        ("policy_changed", Self::PolicyChanged),
        ("proposal_created", Self::ProposalCreated),
        ("proposal_resolved", Self::ProposalResolved),
        ("server_changed", Self::ServerChanged),
        ("config_reloaded", Self::ConfigReloaded),
        ("token_changed", Self::TokenChanged),
        ("auth_failed", Self::AuthFailed),
        ("tool_definition_changed", Self::ToolDefinitionChanged),
        ("quota_warning", Self::QuotaWarning),
        ("quota_exceeded", Self::QuotaExceeded),
        ("audit_purged", Self::AuditPurged),
        ("audit_opened", Self::AuditOpened),
        ("administrative_change", Self::AdministrativeChange),
        ("request_start", Self::RequestStart),
        ("request_end", Self::RequestEnd),
        ("argument_revealed", Self::ArgumentRevealed),
        ("state_snapshot", Self::StateSnapshot),
        ("agent_changed", Self::AgentChanged),
        ("user_changed", Self::UserChanged),
        ("pin_changed", Self::PinChanged),
        ("question_answered", Self::QuestionAnswered),
        ("secret_changed", Self::SecretChanged),
    ];

    /// The word used in records.
    pub const fn as_str(self) -> &'static str {
        Self::WORDS[self as usize].0
    }

    /// Parses the word used in records.
    pub fn parse(word: &str) -> Option<Self> {
        find(&Self::WORDS, word)
    }
}

/// The severity of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Normal operation.
    Info,
    /// Worth attention.
    Warn,
    /// Something failed.
    Error,
}

impl Level {
    /// All levels in the order of the enum, with the word used in records.
    pub const WORDS: [(&'static str, Self); 3] =
        [("info", Self::Info), ("warn", Self::Warn), ("error", Self::Error)];

    /// The word used in records.
    pub const fn as_str(self) -> &'static str {
        Self::WORDS[self as usize].0
    }

    /// Parses the word used in records.
    pub fn parse(word: &str) -> Option<Self> {
        find(&Self::WORDS, word)
    }
}

/// The kind of principal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActorKind {
    /// A person.
    User,
    /// A program with its own token.
    Agent,
    /// One session of an agent.
    Session,
    /// A machine, such as one that scrapes metrics.
    Service,
    /// Octroi itself.
    System,
    /// A caller that was not authenticated.
    Anonymous,
}

impl ActorKind {
    /// All kinds in the order of the enum, with the word used in records.
    pub const WORDS: [(&'static str, Self); 6] = [
        ("user", Self::User),
        ("agent", Self::Agent),
        ("session", Self::Session),
        ("service", Self::Service),
        ("system", Self::System),
        ("anonymous", Self::Anonymous),
    ];

    /// The word used in records.
    pub const fn as_str(self) -> &'static str {
        Self::WORDS[self as usize].0
    }

    /// Parses the word used in records.
    pub fn parse(word: &str) -> Option<Self> {
        find(&Self::WORDS, word)
    }
}

/// The kind of source that provides a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceType {
    /// An MCP server.
    Mcp,
    /// An extension.
    Extension,
    /// Octroi itself.
    Builtin,
}

impl SourceType {
    /// All sources in the order of the enum, with the word used in records.
    pub const WORDS: [(&'static str, Self); 3] =
        [("mcp", Self::Mcp), ("extension", Self::Extension), ("builtin", Self::Builtin)];

    /// The word used in records.
    pub const fn as_str(self) -> &'static str {
        Self::WORDS[self as usize].0
    }

    /// Parses the word used in records.
    pub fn parse(word: &str) -> Option<Self> {
        find(&Self::WORDS, word)
    }
}

/// The decision about a call. Its reasons are in the context of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ruling {
    /// The call was made.
    Allow,
    /// Approval was required.
    Ask,
    /// It was refused; the agent may go on.
    DenyContinue,
    /// It was refused; the agent should stop.
    DenyAbort,
}

impl Ruling {
    /// All rulings in the order of the enum, with the word used in records.
    pub const WORDS: [(&'static str, Self); 4] = [
        ("allow", Self::Allow),
        ("ask", Self::Ask),
        ("deny_continue", Self::DenyContinue),
        ("deny_abort", Self::DenyAbort),
    ];

    /// The word used in records.
    pub const fn as_str(self) -> &'static str {
        Self::WORDS[self as usize].0
    }

    /// Parses the word used in records.
    pub fn parse(word: &str) -> Option<Self> {
        find(&Self::WORDS, word)
    }
}

fn find<T: Copy>(words: &[(&str, T)], word: &str) -> Option<T> {
    words.iter().find(|(known, _)| *known == word).map(|&(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_back_as_what_it_stands_for() {
        assert!(
            Kind::WORDS.iter().all(|&(word, kind)| kind.as_str() == word && Kind::parse(word) == Some(kind))
        );
        assert!(Level::WORDS.iter().all(|&(word, level)| level.as_str() == word));
        assert!(ActorKind::WORDS.iter().all(|&(word, kind)| kind.as_str() == word));
        assert!(SourceType::WORDS.iter().all(|&(word, source)| source.as_str() == word));
        assert!(Ruling::WORDS.iter().all(|&(word, ruling)| ruling.as_str() == word));
        assert_eq!(Kind::parse("tool_invocation"), None);
    }
}
