//! The one way to an operation or a resource, whoever asks and by whichever door.
//!
//! Who asks was found out at the door. Here the request is read, the table's rule is asked whether they may, and the
//! handler runs. A change is recorded ahead of taking effect: if that fails it is not made, and one that fails
//! after that is recorded as failed. No handler can leave that out, because handlers only plan changes.

use std::sync::Arc;

use octroi_api::operations::config::ConfigReload;
use octroi_api::{Access, ApiError, ErrorCode, Face, ObjectRef, Operation as _, Owner, ResourceUri, Verdict};
use octroi_core::Principal;
use octroi_core::audit::Kind;
use octroi_gateway::{
    BackgroundTasks, ChangeAuthor, Gateway, OperatorError, PlannedChange, PolicyError, PolicyRefusal,
};
use serde_json::Value;
use tokio::runtime::Handle;

use crate::control::{Control, ReloadTrigger};
use crate::error::OperationError;
use crate::operations::{self, Handler, OperationContext, Requester, Work};
use crate::resources;

/// Does operations and reads resources.
pub struct Operations {
    gateway: Arc<Gateway>,
    control: Arc<dyn Control>,
    /// Changes that are being made.
    changes: BackgroundTasks,
}

impl Operations {
    /// Operations of a gateway, with the program around it.
    pub fn new(gateway: Arc<Gateway>, control: Arc<dyn Control>) -> Arc<Self> {
        Arc::new(Self { gateway, control, changes: BackgroundTasks::new(Handle::current()) })
    }

    /// The gateway that they are about.
    pub fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
    }

    /// Waits until all changes are made that were begun.
    pub(crate) async fn finished(&self) {
        self.changes.wait().await;
    }

    /// Does an operation. Dropping the future cancels what only reads; a change that was begun is finished.
    pub(crate) async fn perform(
        &self,
        requester: Requester,
        operation: &str,
        arguments: Value,
    ) -> Result<Value, OperationError> {
        let handler = find(&requester.principal, operation)?;
        self.run(handler, requester, arguments).await
    }

    async fn run(
        &self,
        handler: &Handler,
        requester: Requester,
        arguments: Value,
    ) -> Result<Value, OperationError> {
        let context = self.context(requester);
        let request = handler.prepare(arguments)?;
        let object = request.object();
        self.authorise(context.principal(), handler.access, object).await?;
        match request.run(&context).await? {
            Work::Answer(answer) => Ok(answer),
            Work::Change { kind, change } => {
                self.make(ChangeAuthor::Principal(context.principal().clone()), kind, handler.name, *change)
                    .await
            }
            Work::RecordedByLog(making) => self.to_the_end(making).await,
        }
    }

    /// Reads the configuration again without anybody asking for it, recorded like the operation. Nobody waits for
    /// an answer: the status and the log say what is wrong.
    pub async fn reload(&self, trigger: ReloadTrigger) {
        let control = Arc::clone(&self.control);
        // Files that cannot be used are reported by who reads them.
        let Ok(mut change) = control.reload(Arc::clone(&self.gateway)).await else {
            return;
        };
        change.subject["trigger"] = trigger.as_str().into();
        let change = change.map(|changes| Ok(changes.map(|_| Value::Null)?));
        let made = self.make(ChangeAuthor::Octroi, Kind::ConfigReloaded, ConfigReload::NAME, change).await;
        if let Err(error @ OperationError::NotRecorded(_)) = made {
            let message = ApiError::from(&error).message;
            tracing::warn!(error = message, "configuration not read again, the old one stays");
            self.gateway
                .set_problems(vec![format!("not read again, the old configuration stays: {message}")]);
        }
    }

    /// Reads a resource; the result of `resources/read`.
    pub(crate) async fn read(&self, requester: Requester, uri: &str) -> Result<Value, OperationError> {
        let unknown = || OperationError::UnknownResource(uri.to_owned());
        let parsed = ResourceUri::parse(uri).ok_or_else(unknown)?;
        let context = self.context(requester);
        let read = async {
            self.may_read(context.principal(), &parsed).await?;
            resources::read(&context, &parsed).await
        };
        read.await.map_err(|error| match ApiError::from(&error).code {
            // To whoever may not read it, it is not there.
            ErrorCode::NotFound | ErrorCode::PeopleOnly => unknown(),
            _ => error,
        })
    }

    /// Whether somebody may read and watch a resource.
    pub(crate) async fn may_read(
        &self,
        principal: &Principal,
        uri: &ResourceUri,
    ) -> Result<(), OperationError> {
        self.authorise(principal, uri.entry().access, uri.object()).await
    }

    fn context(&self, requester: Requester) -> OperationContext {
        OperationContext { gateway: Arc::clone(&self.gateway), control: Arc::clone(&self.control), requester }
    }

    /// Fails unless the rule permits it. What is another's looks as if it did not exist.
    async fn authorise(
        &self,
        principal: &Principal,
        access: Access,
        object: ObjectRef<'_>,
    ) -> Result<(), OperationError> {
        let found;
        let owner = match object.owner(principal) {
            Some(owner) => owner,
            None => {
                found = self.owner_of(object).await?;
                found.as_owner()
            }
        };
        match access.permits(Some(principal), owner) {
            Verdict::Permitted => Ok(()),
            Verdict::Unauthenticated => Err(OperationError::Unauthenticated),
            Verdict::Forbidden => Err(OperationError::PeopleOnly),
            Verdict::NotFound => Err(not_found(object)),
        }
    }

    /// Whose an object is of which the request does not say it.
    async fn owner_of(&self, object: ObjectRef<'_>) -> Result<FoundOwner, OperationError> {
        Ok(match object {
            ObjectRef::Approval(id) => match self.gateway.approvals().get(id).await {
                Ok(approval) => FoundOwner::of(approval.binding.agent),
                Err(OperatorError::UnknownApproval(_)) => FoundOwner::Nobody,
                Err(error) => return Err(error.into()),
            },
            ObjectRef::Proposal(id) => match self.gateway.governance().proposal(id, None).await? {
                Some(record) => FoundOwner::of(record.draft.level.agent().map(str::to_owned)),
                None => FoundOwner::Nobody,
            },
            ObjectRef::Gateway
            | ObjectRef::Caller
            | ObjectRef::Server(_)
            | ObjectRef::Tool(_)
            | ObjectRef::Agent(_) => FoundOwner::Gateway,
        })
    }

    /// Records a change, and then makes it.
    async fn make(
        &self,
        by: ChangeAuthor,
        kind: Kind,
        operation: &'static str,
        change: PlannedChange<Value, OperationError>,
    ) -> Result<Value, OperationError> {
        let gateway = Arc::clone(&self.gateway);
        self.to_the_end(async move {
            let recorded = gateway.record_change(&by, kind, operation, &change).await;
            recorded.map_err(|error| OperationError::NotRecorded(Box::new(error)))?;
            let (subject, filed_under) = (change.subject.clone(), change.filed_under.clone());
            let error = match change.apply().await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let reason = ApiError::from(&error).message;
            let failed = gateway.record_failed_change(&by, kind, operation, &subject, &filed_under, &reason);
            if let Err(unrecorded) = failed.await {
                tracing::error!(
                    operation,
                    error = %unrecorded,
                    hint = unrecorded.hint(),
                    "a change failed, and that is not recorded"
                );
            }
            Err(error)
        })
        .await
    }

    /// Does something that must not stop halfway when the client goes away: what is recorded has to happen, or to
    /// be recorded as failed.
    async fn to_the_end(
        &self,
        making: impl Future<Output = Result<Value, OperationError>> + Send + 'static,
    ) -> Result<Value, OperationError> {
        let made = self.changes.spawn("change", making).await;
        made.unwrap_or_else(|_| Err(OperationError::Internal("the change was cut off".to_owned())))
    }
}

/// The handler of an operation, for whoever asks.
fn find(principal: &Principal, operation: &str) -> Result<&'static Handler, OperationError> {
    let face = Face::of(principal.role);
    operations::find(face, operation).ok_or_else(|| match face {
        Face::Agent if operations::find(Face::Management, operation).is_some() => OperationError::PeopleOnly,
        Face::Agent | Face::Management => OperationError::UnknownOperation(operation.to_owned()),
    })
}

/// Whose an object is that was looked up.
enum FoundOwner {
    Nobody,
    Gateway,
    Agent(String),
}

impl FoundOwner {
    fn of(agent: Option<String>) -> Self {
        agent.map_or(Self::Gateway, Self::Agent)
    }

    fn as_owner(&self) -> Owner<'_> {
        match self {
            Self::Nobody => Owner::Nobody,
            Self::Gateway => Owner::Gateway,
            Self::Agent(agent) => Owner::Agent(agent),
        }
    }
}

/// That there is no such object, as whoever looks for one is told.
fn not_found(object: ObjectRef<'_>) -> OperationError {
    match object {
        ObjectRef::Approval(id) => OperatorError::UnknownApproval(id.to_owned()).into(),
        ObjectRef::Proposal(_) => PolicyError::Refused(PolicyRefusal::Unknown).into(),
        ObjectRef::Server(name) => OperationError::not_found(format!("there is no server `{name}`")),
        ObjectRef::Tool(name) => OperationError::not_found(format!("there is no tool `{name}`")),
        ObjectRef::Agent(id) => OperationError::not_found(format!("there is no agent `{id}`")),
        ObjectRef::Gateway | ObjectRef::Caller => OperationError::PeopleOnly,
    }
}

#[cfg(test)]
mod tests;
