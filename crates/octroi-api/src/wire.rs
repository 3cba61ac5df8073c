//! Domain values as words on the wire.

use std::borrow::Cow;
use std::fmt;

use octroi_core::agent::{Mode, Profile, RunPhase, RunState};
use octroi_core::approval::ApprovalState;
use octroi_core::audit::{Kind, Ruling};
use octroi_core::decision::Outcome;
use octroi_core::pin::{ChangeClass, PinKind, PinPolicy, Severity};
use octroi_core::policy::Level;
use octroi_core::principal::TokenKind;
use octroi_core::tool::{Risk, Source};
use octroi_core::trust::Trust;
use octroi_core::{Health, Lifecycle, UserRole};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A value with a closed set of words.
pub trait WireWord: Copy + 'static {
    /// The name of the value, for messages.
    const WHAT: &'static str;
    /// All values, in the order of schemas.
    const ALL: &'static [Self];

    /// The word of a value.
    fn word(self) -> &'static str;

    /// Parses a word.
    fn read(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.word() == word)
    }
}

/// A domain value that is serialized as its word. The domain does not know its wire format; this type does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wire<T>(pub T);

impl<T> From<T> for Wire<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T: WireWord> Wire<T> {
    /// The word of the value.
    pub fn as_str(self) -> &'static str {
        self.0.word()
    }
}

impl<T: WireWord> fmt::Display for Wire<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl<T: WireWord> Serialize for Wire<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de, T: WireWord> Deserialize<'de> for Wire<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = Cow::<'de, str>::deserialize(deserializer)?;
        T::read(&word).map(Self).ok_or_else(|| {
            let words: Vec<&str> = T::ALL.iter().map(|value| value.word()).collect();
            D::Error::custom(format_args!("{} must be one of {}, not `{word}`", T::WHAT, words.join(", ")))
        })
    }
}

impl<T: WireWord> JsonSchema for Wire<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::WHAT.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<&str> = T::ALL.iter().map(|value| value.word()).collect();
        json_schema!({"type": "string", "enum": words})
    }
}

/// Lists the variants of a domain enum. The `match` makes a new variant break the build here, which a list
/// alone would not.
macro_rules! words {
    ($($what:literal $type:ty: $($variant:ident)+;)+) => {$(
        impl WireWord for $type {
            const WHAT: &'static str = $what;
            const ALL: &'static [Self] = &[$(Self::$variant),+];

            fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => self.as_str(),)+
                }
            }
        }
    )+};
}

words! {
    "the source" Source: Mcp Extension Builtin;
    "the trust" Trust: Low Medium High;
    "the state" Lifecycle: Disabled Stopped Starting Running Stopping Failed NeedsAuth;
    "the health" Health: Unknown Healthy Degraded Unhealthy;
    "the profile" Profile: Strict Guarded Open;
    "the mode" Mode: Planning Execution;
    "the state" RunState: Idle Running Suspended;
    "the phase" RunPhase: Idle WaitingTool WaitingApproval;
    "the outcome" Outcome: Pass Ask Deny;
    "the kind" PinKind: Server Tool Prompt Resource Template;
    "the pin policy" PinPolicy: Ask TrustFirst Strict;
    "the class" ChangeClass: Text SchemaWidened SchemaNarrowed SchemaChanged Annotation Other;
    "the severity" Severity: Note Warning Danger;
    "the state" ApprovalState:
        Pending Approved DeniedContinue DeniedAbort Expired Cancelled Orphaned Claimed Done;
    "the level" Level: Floor Global Agent;
    "the role" UserRole: Admin Member;
    "the kind of token" TokenKind: Human Agent Session Service;
    "the decision" Ruling: Allow Ask DenyContinue DenyAbort;
    "the kind" Kind:
        ToolInvocationStart ToolInvocationEnd PolicyDecision PolicyViolation ApprovalRequested ApprovalResolved
        PolicyChanged ProposalCreated ProposalResolved ServerChanged ConfigReloaded TokenChanged AuthFailed
        ToolDefinitionChanged QuotaWarning QuotaExceeded AuditPurged AuditOpened AdministrativeChange
        RequestStart RequestEnd ArgumentRevealed StateSnapshot AgentChanged UserChanged PinChanged
        QuestionAnswered SecretChanged;
}

impl WireWord for Risk {
    const WHAT: &'static str = "the risk";
    const ALL: &'static [Self] = &Risk::ALL;

    fn word(self) -> &'static str {
        self.as_str()
    }

    /// Also accepts `HIGH` and `MED`, which other tools write.
    fn read(word: &str) -> Option<Self> {
        Self::parse(word)
    }
}
