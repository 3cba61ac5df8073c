//! The data plane: one catalogue of everything that all servers offer, and the pipeline of a call.
//!
//! [`Gateway`] combines the parts: each owns its own state and knows only those below it. A transport
//! (HTTP, stdio) passes a [`Caller`] and a request, and gets an [`Answer`]; `pipeline.rs` shows the steps in order.

mod alerts;
mod answer;
mod api_error;
mod approvals;
pub mod audit;
mod audit_index;
mod audit_recorder;
mod caller;
mod carried;
mod catalogue;
mod change;
mod choices;
mod clients;
mod contents;
mod denial;
mod earlier_state;
mod exchange;
mod gateway;
mod governance;
mod identity;
mod inspector;
mod lost_state;
mod membership;
mod methods;
mod metrics;
mod notifier;
mod offers;
mod operator_error;
mod outcome;
mod persistence;
mod pin_settings;
mod pipeline;
mod policy_error;
mod pool;
mod pool_limits;
mod pools;
mod provider;
mod rebuild;
mod redaction;
mod registry;
mod rekey;
mod request_state;
mod reserved_metadata;
mod reset_admin;
mod secrets;
mod server_error;
mod server_tasks;
mod servers;
mod state_snapshot;
mod stored_servers;
mod subscriptions;
mod tasks;
mod view;

pub use alerts::{Alert, QuarantinedDefinition, WaitingCall};
pub use answer::Answer;
pub use api_error::{error_message, rpc_error};
pub use approvals::{
    Approvals, Choice, ForgetRuleError, PageBase, Remember, RememberScope, ShownArguments, Until,
};
pub use audit_index::{AuditFound, AuditIndex, AuditIndexError, AuditSearch, CallsOfPeriod, DataSize};
pub use caller::{Asked, Caller, Client, NoClient};
pub use catalogue::{Catalogue, OfferedByOctroi};
pub use change::{ChangeAuthor, ChangeRecord, FiledUnder, PlannedChange, RecordedChange};
pub use choices::{ChoiceRecords, Choices, NewSession};
pub use clients::{ClientName, Clients, ConnectedClient, OpenStream, RequestUnderWay};
pub use earlier_state::has_earlier_state;
pub use gateway::{AgentWork, Gateway, GatewayOptions, Processes, WaitingChanges};
pub use governance::{
    AgentChange, AgentRun, AgentState, ConfiguredAgent, Governance, GovernanceSettings, NewAgent, PolicyFile,
    QuotaUse, SpecChange, check_length, check_result, imagine, level_of,
};
pub use identity::{
    BrowserAccess, BrowserProof, BrowserSession, BrowserSignIn, CreatedToken, Identity, Invitation,
    KeyThumbprint, KnownUser, ListedToken, ProofRefusal, SignInCode, TokenRefusal, TokenRequest,
    TokenSubject, UserChange, UserOrigin,
};
pub use inspector::{
    Candidate, CannotTell, Explanation, Flip, GateVerdict, InForce, Inspector, Replay, ReplayError,
};
pub use lost_state::{Loss, OnLoss};
pub use membership::{Members, Membership, Sight};
pub use metrics::{BOUNDS_MS, Ending, ToolReading};
pub use octroi_store::{
    AgentPreset, ApprovalFilter, ApprovalPart, AuditCount, AuditCursor, AuditFilter, AuditRow, CALL_SPAN_MS,
    CallFilter, CallsOfTool, Cipher, EntryChange, EntryRevision, MasterKey, Pause, PolicyLevel, PolicyRecord,
    PolicyRefusal, PolicyStatus, Rekeyed, SecretRecord, ServerEntry, SessionRecord, StoreError,
};
pub use octroi_upstream::{
    BackgroundTasks, Heartbeat, Heartbeats, HeavyThreads, LARGE_REQUEST_BYTES, LogLine, Movable, Upstream,
    UpstreamError, leave_worker, open_in_browser, raise_open_files, start_watchdog, system_clock, take_over,
};
pub use offers::Offers;
pub use operator_error::{OperatorError, ServerUses};
pub use persistence::key::KeyOrigin;
pub use persistence::{Persistence, PersistenceError, SystemSecrets};
pub use pin_settings::PinSettings;
pub use policy_error::PolicyError;
pub use pool_limits::PoolLimits;
pub use pools::{Pools, RegisteredTool, ToolFilter};
pub use provider::{BuiltinProvider, MayWatch, Served};
pub use rebuild::{RebuildError, rebuild_database};
pub use registry::{Forgotten, HeldPin, PastDefinition, PinName, Registry};
pub use rekey::{RekeyError, rekey};
pub use reset_admin::{ResetAdminError, reset_admin};
pub use secrets::{ListedSecret, Secrets};
pub use servers::{Changes, ErrorDetail, Refreshed, Servers, SilentServer};
pub use state_snapshot::Rebuilt;
pub use stored_servers::{Entries, EntrySettings, ServerChange, StoredEntry, StoredServers};
pub use subscriptions::{Filter, Listener, Notice, Subscriber};
pub use view::View;
