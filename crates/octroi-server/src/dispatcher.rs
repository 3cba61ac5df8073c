//! Performs operations and reads resources, for every principal and every transport.
//!
//! The transport has authenticated the principal. The dispatcher reads the request, checks the table's access
//! rule, and runs the handler. A change is recorded before it takes effect: if recording fails, it is not
//! applied, and a change that fails afterwards is recorded as failed. No handler can skip that, because
//! handlers only plan changes.

use std::sync::Arc;

use octroi_api::operations::approvals::ApprovalsGet;
use octroi_api::operations::config::ConfigReload;
use octroi_api::operations::tokens::TokensSignInCode;
use octroi_api::operations::users::UsersInvite;
use octroi_api::{Access, AccessVerdict, ApiError, ErrorCode, Face, ObjectRef, Operation as _, ResourceUri};
use octroi_core::Principal;
use octroi_core::audit::Kind;
use octroi_core::principal::TokenHash;
use octroi_gateway::{
    BackgroundTasks, BrowserSession, BrowserSignIn, ChangeAuthor, CreatedToken, Gateway, PlannedChange,
};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::control::{Agreed, Control, ReloadTrigger};
use crate::error::OperationError;
use crate::operations::{self, Handler, OperationContext, Requester, Work};
use crate::resources;

mod owners;

/// Performs operations and reads resources.
pub struct Operations {
    gateway: Arc<Gateway>,
    control: Arc<dyn Control>,
    /// Changes that are being applied.
    changes: BackgroundTasks,
}

impl Operations {
    /// Operations on a gateway and on the program that hosts it.
    pub fn new(gateway: Arc<Gateway>, control: Arc<dyn Control>) -> Arc<Self> {
        Arc::new(Self { gateway, control, changes: BackgroundTasks::new(Handle::current()) })
    }

    /// The gateway that the operations act on.
    pub fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
    }

    /// Waits until all changes that were begun are finished.
    pub(crate) async fn finished(&self) {
        self.changes.wait().await;
    }

    /// Performs an operation. Dropping the future cancels a read; a change that was begun is still finished.
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
                self.record_and_apply(
                    ChangeAuthor::Principal(context.principal().clone()),
                    kind,
                    handler.name,
                    *change,
                )
                .await
            }
            Work::Changes { kind, changes, answering } => {
                let mut results = Vec::with_capacity(changes.len());
                for change in changes {
                    let by = ChangeAuthor::Principal(context.principal().clone());
                    results.push(match change {
                        Ok(change) => self.record_and_apply(by, kind, handler.name, change).await,
                        Err(refused) => Err(refused),
                    });
                }
                answering(results)
            }
            Work::RecordedByLog(change) => self.run_to_completion(change).await,
        }
    }

    /// Reloads the configuration because of a trigger, and records it like the operation. No caller waits for
    /// the answer: the status and the log report what is wrong.
    pub async fn reload(&self, trigger: ReloadTrigger) {
        let control = Arc::clone(&self.control);
        // The reload itself reports files that cannot be used.
        let Ok(mut change) = control.reload(Arc::clone(&self.gateway), Agreed::ToNothing).await else {
            return;
        };
        change.subject["trigger"] = trigger.as_str().into();
        let change = change.map(|changes| Ok(changes.map(|_| Value::Null)?));
        let applied = self
            .record_and_apply(ChangeAuthor::Octroi, Kind::ConfigReloaded, ConfigReload::NAME, change)
            .await;
        if let Err(error @ OperationError::NotRecorded(_)) = applied {
            let message = ApiError::from(&error).message;
            tracing::warn!(error = message, "configuration not reloaded, the old one stays in effect");
            self.gateway.set_problems(vec![format!(
                "not reloaded, the old configuration stays in effect: {message}"
            )]);
        }
    }

    /// Exchanges the code of an invitation for a token, which is recorded under the name of the user.
    pub(crate) async fn accept_invitation(&self, code: &TokenHash) -> Result<CreatedToken, OperationError> {
        let (by, change) = self.gateway.identity().accept_invite(code).await?;
        let (shown, created) = oneshot::channel();
        let change = change.map(|created| {
            // Only a caller that has gone away does not receive it.
            let _ = shown.send(created?);
            Ok(Value::Null)
        });
        let by = ChangeAuthor::Principal(by);
        self.record_and_apply(by, Kind::TokenChanged, UsersInvite::NAME, change).await?;
        created.await.map_err(|_| OperationError::Internal("the token was lost".to_owned()))
    }

    /// Signs a browser in, which is recorded under the name of the user; returns the session, and who signed in.
    pub(crate) async fn sign_in_browser(
        &self,
        credential: &str,
        browser: BrowserSignIn,
    ) -> Result<(BrowserSession, Principal), OperationError> {
        let (person, change) = self.gateway.identity().sign_in_browser(credential, browser).await?;
        let (shown, signed_in) = oneshot::channel();
        let change = change.map(|session| {
            // Only a browser that has gone away does not receive it.
            let _ = shown.send(session?);
            Ok(Value::Null)
        });
        let by = ChangeAuthor::Principal(person.clone());
        self.record_and_apply(by, Kind::TokenChanged, TokensSignInCode::NAME, change).await?;
        let session =
            signed_in.await.map_err(|_| OperationError::Internal("the session was lost".to_owned()))?;
        Ok((session, person))
    }

    /// Reads a resource; the result of `resources/read`.
    pub(crate) async fn read(&self, requester: Requester, uri: &str) -> Result<Value, OperationError> {
        let context = self.context(requester);
        let parsed = self.readable(context.principal(), uri).await?;
        let read = resources::read(&context, &parsed).await;
        read.map_err(|error| hide_resource(error, uri))
    }

    /// The resource of a URI, if a principal may read it and subscribe to it.
    pub(crate) async fn readable(
        &self,
        principal: &Principal,
        uri: &str,
    ) -> Result<ResourceUri, OperationError> {
        let parsed = ResourceUri::parse(uri);
        let parsed = parsed.ok_or_else(|| OperationError::UnknownResource(uri.to_owned()))?;
        let permitted = self.authorise(principal, parsed.entry().access, parsed.object()).await;
        permitted.map_err(|error| hide_resource(error, uri))?;
        Ok(parsed)
    }

    fn context(&self, requester: Requester) -> OperationContext {
        OperationContext { gateway: Arc::clone(&self.gateway), control: Arc::clone(&self.control), requester }
    }

    /// Fails unless a person may see an approval: who may get it as an operation may open its page.
    pub(crate) async fn may_see_approval(&self, person: &Principal, id: &str) -> Result<(), OperationError> {
        self.authorise(person, ApprovalsGet::ACCESS, ObjectRef::Approval(id)).await
    }

    /// Fails unless the access rule permits it. An object of somebody else looks as if it did not exist.
    async fn authorise(
        &self,
        principal: &Principal,
        access: Access,
        object: ObjectRef<'_>,
    ) -> Result<(), OperationError> {
        let found;
        let owner = match object.owner() {
            Some(owner) => owner,
            None => {
                found = owners::find(&self.gateway, principal, object).await?;
                found.as_owner(principal)
            }
        };
        match access.permits(Some(principal), owner) {
            AccessVerdict::Permitted => Ok(()),
            AccessVerdict::Unauthenticated => Err(OperationError::Unauthenticated),
            AccessVerdict::Forbidden => Err(OperationError::PeopleOnly),
            AccessVerdict::AdminsOnly => Err(OperationError::AdminsOnly),
            AccessVerdict::NotFound => Err(owners::not_found(&self.gateway, principal, object)),
        }
    }

    /// Records a change, and then applies it.
    async fn record_and_apply(
        &self,
        by: ChangeAuthor,
        kind: Kind,
        operation: &'static str,
        change: PlannedChange<Value, OperationError>,
    ) -> Result<Value, OperationError> {
        let gateway = Arc::clone(&self.gateway);
        self.run_to_completion(async move {
            let recorded = gateway.record_change(by, kind, operation, change).await;
            let recorded = recorded.map_err(|error| OperationError::NotRecorded(Box::new(error)))?;
            let (error, record) = match recorded.apply().await {
                Ok(answer) => {
                    gateway.state_changed();
                    return Ok(answer);
                }
                Err(failed) => failed,
            };
            let reason = ApiError::from(&error).message;
            let failed = gateway.record_failed_change(&record, &reason);
            if let Err(unrecorded) = failed.await {
                tracing::error!(
                    operation,
                    error = %unrecorded,
                    hint = unrecorded.hint(),
                    "a change failed, and the failure is not recorded"
                );
            }
            Err(error)
        })
        .await
    }

    /// Runs a change as a task, so that it does not stop halfway when the client disconnects: a recorded
    /// change must happen, or be recorded as failed.
    async fn run_to_completion(
        &self,
        change: impl Future<Output = Result<Value, OperationError>> + Send + 'static,
    ) -> Result<Value, OperationError> {
        let applied = self.changes.spawn("change", change).await;
        applied.unwrap_or_else(|_| Err(OperationError::Internal("the change was interrupted".to_owned())))
    }
}

/// The error about a resource: a caller that may not read it must not learn that it exists.
fn hide_resource(error: OperationError, uri: &str) -> OperationError {
    match ApiError::from(&error).code {
        ErrorCode::NotFound | ErrorCode::PeopleOnly | ErrorCode::AdminsOnly => {
            OperationError::UnknownResource(uri.to_owned())
        }
        _ => error,
    }
}

/// The handler of an operation for this principal.
fn find(principal: &Principal, operation: &str) -> Result<&'static Handler, OperationError> {
    let face = Face::of(principal.kind()).ok_or(OperationError::PeopleOnly)?;
    operations::find(face, operation).ok_or_else(|| match face {
        Face::Agent if operations::find(Face::Management, operation).is_some() => OperationError::PeopleOnly,
        Face::Agent | Face::Management => OperationError::UnknownOperation(operation.to_owned()),
    })
}

#[cfg(test)]
mod tests;
