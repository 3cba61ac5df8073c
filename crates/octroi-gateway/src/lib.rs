//! The data plane: one catalogue of everything all servers offer, and the way of a call through it.
//!
//! [`Gateway`] holds the servers and an immutable snapshot of their lists. A door (HTTP, stdio) hands
//! it a [`Caller`] and a request and gets an [`Answer`]; what happens in between reads top to bottom
//! in `pipeline.rs`.

mod answer;
pub mod audit;
mod caller;
mod catalogue;
mod contents;
mod denial;
mod desk;
mod fleet;
mod gateway;
mod govern;
mod hub;
mod lists;
mod marks;
mod memory;
mod meters;
mod park;
mod pins;
mod pipeline;
mod refresh;
mod registry;
mod rounds;
mod seal;
mod time;
mod trail;
mod view;

pub use answer::Answer;
pub use caller::{Asked, Caller, Client, NoClient};
pub use catalogue::{Catalogue, Rendered};
pub use desk::{Desk, Offered, Owned, Served};
pub use fleet::{Changes, ServerStatus};
pub use gateway::{Gateway, Processes};
pub use govern::{
    AgentChange, AgentState, Candidate, CannotTell, Choice, Explanation, Flip, Forgotten, GateStatus,
    Governance, HeldPin, InForce, PeopleProblem, PinName, PolicyFile, PolicyProblem, Remember, RememberScope,
    Replay, ReplayError, Said, SpecChange, Until, approval_uri, check_result, imagine, level_of,
};
pub use hub::{Filter, Listener, Notice, Wisher};
pub use memory::{Memory, MemoryError};
pub use meters::{BOUNDS_MS, Ending, Reading};
pub use octroi_store::{
    ApprovalFilter, ApprovalPart, AuditCount, AuditCursor, AuditFilter, AuditRow, PolicyLevel, PolicyRecord,
    PolicyRefusal, PolicyStatus, StoreError,
};
pub use octroi_upstream::{LogLine, UpstreamError, take_over};
pub use pins::PinSettings;
pub use registry::{Refreshed, RegisteredTool, TOOLS_URI, ToolFilter};
pub use trail::{AuditFound, AuditSearch, TrailError};
pub use view::View;
