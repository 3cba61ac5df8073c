//! Calls under way that a person aborts: their server is told to stop, and their client learns who did it.

use std::pin::Pin;

use super::Request;
use crate::answer::{self, Answer};
use crate::governance::CallUnderWay;
use crate::outcome::RecordedOutcome;
use crate::servers::Target;

/// Resolves once a person aborts the call, from the moment this is called; never for one that is not an agent's.
pub(super) fn until_aborted(run: Option<&CallUnderWay<'_>>) -> impl Future<Output = ()> {
    let aborted = run.map(CallUnderWay::aborted);
    async move {
        match aborted {
            Some(aborted) => aborted.await,
            None => std::future::pending().await,
        }
    }
}

/// Makes the call, unless it is aborted. The caller drops what made it, which cancels the call at the server.
pub(super) async fn unless_aborted(
    request: Request<'_>,
    target: &Target,
    run: Option<&CallUnderWay<'_>>,
    making: Pin<&mut impl Future<Output = (Answer, RecordedOutcome)>>,
    aborted: impl Future<Output = ()>,
) -> (Answer, RecordedOutcome) {
    tokio::select! {
        // An answer that is there already is no longer aborted.
        biased;
        made = making => made,
        () = aborted => {
            let why = run.map(CallUnderWay::why).unwrap_or_default();
            let answer = answer::aborted(target.provider.key(), request.envelope.method(), &why);
            (request.in_era(answer), RecordedOutcome::Failure("aborted"))
        }
    }
}
