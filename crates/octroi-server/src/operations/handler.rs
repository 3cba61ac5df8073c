//! Handlers: the code of one operation, with and without its types.
//!
//! How a handler is registered says what it may do, and the compiler checks that against the table: one that
//! reads cannot be registered for an operation that changes something, and one that changes something returns
//! a plan, which only the dispatcher records and applies.

use std::pin::Pin;

use octroi_api::{Access, Effect, ObjectRef, Operation, read_request};
use octroi_core::audit::Kind;
use octroi_gateway::PlannedChange;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::context::OperationContext;
use crate::error::OperationError;

/// The future of a type-erased handler.
pub(crate) type Handling<'a, T = Work> = Pin<Box<dyn Future<Output = Result<T, OperationError>> + Send + 'a>>;

/// What a handler that changes something returns.
pub(crate) type Plan<T> = Result<PlannedChange<T, OperationError>, OperationError>;

/// Several changes of the same kind, each with its name and its own record.
pub(crate) type Plans<K, T> = Vec<(K, Plan<T>)>;
/// What became of each of them.
pub(crate) type Outcomes<K, T> = Vec<(K, Result<T, OperationError>)>;

/// Makes the answer of what became of several changes.
type Answering = Box<dyn FnOnce(Vec<Result<Value, OperationError>>) -> Result<Value, OperationError> + Send>;

/// What the dispatcher has to do after a handler has run.
pub(crate) enum Work {
    /// Nothing more: this is the answer.
    Answer(Value),
    /// Record the change, and then apply it.
    Change {
        /// The kind of the record.
        kind: Kind,
        change: Box<PlannedChange<Value, OperationError>>,
    },
    /// Record and apply each of several changes, whatever becomes of the others.
    Changes {
        /// The kind of each record.
        kind: Kind,
        changes: Vec<Plan<Value>>,
        answering: Answering,
    },
    /// Apply a change that the audit log records by itself, because it is a change of the log.
    RecordedByLog(Handling<'static, Value>),
}

/// A change of the audit log, which it records by itself.
pub(crate) struct RecordedByLog<T>(pub(crate) Handling<'static, T>);

/// A request that was read, together with its handler.
pub(crate) trait Prepared: Send {
    /// The object that the access rule is checked against.
    fn object(&self) -> ObjectRef<'_>;
    /// Runs the handler.
    fn run(self: Box<Self>, context: &OperationContext) -> Handling<'_>;
}

type Prepare = Box<dyn Fn(Value) -> Result<Box<dyn Prepared>, OperationError> + Send + Sync>;

/// The handler of one operation, without its types.
pub(crate) struct Handler {
    pub(crate) name: &'static str,
    pub(crate) access: Access,
    prepare: Prepare,
}

impl Handler {
    fn of<O: Operation>(
        run: impl for<'a> Fn(&'a OperationContext, O::Request) -> Handling<'a> + Copy + Send + Sync + 'static,
    ) -> Self {
        let prepare = move |arguments| {
            let request = read_request::<O>(arguments).map_err(OperationError::Malformed)?;
            Ok(Box::new(ReadRequest::<O, _> { request, run }) as Box<dyn Prepared>)
        };
        Self { name: O::NAME, access: O::ACCESS, prepare: Box::new(prepare) }
    }

    /// Reads the arguments of a request.
    pub(crate) fn prepare(&self, arguments: Value) -> Result<Box<dyn Prepared>, OperationError> {
        (self.prepare)(arguments)
    }
}

struct ReadRequest<O: Operation, R> {
    request: O::Request,
    run: R,
}

impl<O: Operation, R> Prepared for ReadRequest<O, R>
where
    R: for<'a> Fn(&'a OperationContext, O::Request) -> Handling<'a> + Send,
{
    fn object(&self) -> ObjectRef<'_> {
        O::object(&self.request)
    }

    fn run(self: Box<Self>, context: &OperationContext) -> Handling<'_> {
        (self.run)(context, self.request)
    }
}

/// An async function of a context and a request. The trait exists to state that its future is `Send`.
pub(crate) trait Handle<'a, Request, Output>: Copy + Send + Sync + 'static {
    /// What the function returns.
    type Future: Future<Output = Output> + Send + 'a;
    /// Calls the function.
    fn handle(self, context: &'a OperationContext, request: Request) -> Self::Future;
}

impl<'a, Function, Returned, Request, Output> Handle<'a, Request, Output> for Function
where
    Function: Fn(&'a OperationContext, Request) -> Returned + Copy + Send + Sync + 'static,
    Returned: Future<Output = Output> + Send + 'a,
{
    type Future = Returned;

    fn handle(self, context: &'a OperationContext, request: Request) -> Returned {
        self(context, request)
    }
}

/// A handler that only reads.
pub(crate) fn read<O: Operation>(
    handler: impl for<'a> Handle<'a, O::Request, Result<O::Response, OperationError>>,
) -> Handler {
    const { assert!(matches!(O::EFFECT, Effect::Reads), "the table says that this operation does more") };
    Handler::of::<O>(move |context, request| {
        Box::pin(async move { Ok(Work::Answer(to_json(handler.handle(context, request).await?)?)) })
    })
}

/// A handler that has the gateway make a call, which is recorded as that call.
pub(crate) fn call<O: Operation>(
    handler: impl for<'a> Handle<'a, O::Request, Result<O::Response, OperationError>>,
) -> Handler {
    const { assert!(matches!(O::EFFECT, Effect::Calls), "the table says that this operation calls no tool") };
    Handler::of::<O>(move |context, request| {
        Box::pin(async move { Ok(Work::Answer(to_json(handler.handle(context, request).await?)?)) })
    })
}

/// A handler that plans a change.
pub(crate) fn change<O: Operation>(plan: impl for<'a> Handle<'a, O::Request, Plan<O::Response>>) -> Handler {
    const { assert!(matches!(O::EFFECT, Effect::Changes { .. }), "the table says that this changes nothing") };
    Handler::of::<O>(move |context, request| {
        Box::pin(async move { Ok(planned::<O>(plan.handle(context, request).await?)) })
    })
}

/// A handler that plans a change, and one for requests that only preview it.
pub(crate) fn change_or_preview<O: Operation>(
    plan: impl for<'a> Handle<'a, O::Request, Plan<O::Response>>,
    preview: impl for<'a> Handle<'a, O::Request, Result<O::Response, OperationError>>,
) -> Handler {
    const { assert!(matches!(O::EFFECT, Effect::Changes { .. }), "the table says that this changes nothing") };
    Handler::of::<O>(move |context, request| {
        Box::pin(async move {
            match O::effect(&request) {
                Effect::Reads => Ok(Work::Answer(to_json(preview.handle(context, request).await?)?)),
                Effect::Changes { .. } | Effect::Calls => {
                    Ok(planned::<O>(plan.handle(context, request).await?))
                }
            }
        })
    })
}

/// A handler that changes the audit log, which records that by itself.
pub(crate) fn recorded_by_log<O: Operation>(
    handler: impl for<'a> Handle<'a, O::Request, Result<RecordedByLog<O::Response>, OperationError>>,
) -> Handler {
    const { assert!(matches!(O::EFFECT, Effect::Changes { .. }), "the table says that this changes nothing") };
    Handler::of::<O>(move |context, request| {
        Box::pin(async move {
            let RecordedByLog(change) = handler.handle(context, request).await?;
            Ok(Work::RecordedByLog(Box::pin(async move { to_json(change.await?) })))
        })
    })
}

/// A handler that plans several changes, and what makes the answer of their results.
pub(crate) fn changes<O: Operation, K: Send + 'static, T>(
    plan: impl for<'a> Handle<'a, O::Request, Result<Plans<K, T>, OperationError>>,
    answer: fn(Outcomes<K, T>) -> O::Response,
) -> Handler
where
    T: Serialize + DeserializeOwned + Send + 'static,
{
    const { assert!(matches!(O::EFFECT, Effect::Changes { .. }), "the table says that this changes nothing") };
    Handler::of::<O>(move |context, request| {
        Box::pin(async move {
            let Effect::Changes { audit: kind } = O::EFFECT else {
                unreachable!("registration has checked the effect")
            };
            let plans = plan.handle(context, request).await?;
            let (names, plans): (Vec<K>, Vec<Plan<T>>) = plans.into_iter().unzip();
            let changes = plans.into_iter().map(|plan| Ok(plan?.map(|made| to_json(made?)))).collect();
            let answering = move |results: Vec<Result<Value, OperationError>>| {
                let results = results.into_iter().map(|result| from_json(result?));
                to_json(answer(names.into_iter().zip(results).collect()))
            };
            Ok(Work::Changes { kind, changes, answering: Box::new(answering) })
        })
    })
}

fn from_json<T: DeserializeOwned>(value: Value) -> Result<T, OperationError> {
    serde_json::from_value(value)
        .map_err(|error| OperationError::Internal(format!("the response cannot be read: {error}")))
}

fn planned<O: Operation>(change: PlannedChange<O::Response, OperationError>) -> Work {
    let Effect::Changes { audit: kind } = O::EFFECT else {
        unreachable!("registration has checked the effect")
    };
    Work::Change { kind, change: Box::new(change.map(|made| to_json(made?))) }
}

fn to_json(response: impl Serialize) -> Result<Value, OperationError> {
    serde_json::to_value(response)
        .map_err(|error| OperationError::Internal(format!("the response cannot be serialized: {error}")))
}
