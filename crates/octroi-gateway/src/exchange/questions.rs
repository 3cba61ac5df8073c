//! Questions of servers to legacy clients during a call.

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use octroi_mcp::ask::{self, InputRequired};
use octroi_mcp::translate::Round;
use octroi_mcp::{Method, RpcError};
use octroi_upstream::ServerQuestion;

use super::Exchange;
use crate::reserved_metadata;

impl Exchange<'_> {
    /// Forwards a legacy server's question to a legacy client.
    pub(super) async fn ask_one(&self, question: ServerQuestion) {
        let withdrawn = question.withdrawn.clone();
        let params = reserved_metadata::out_of_object(question.params.clone());
        tokio::select! {
            biased;
            () = withdrawn.cancelled() => {}
            answer = self.ask_client(&question.method, params) => match answer {
                Ok(result) => question.answer(&result),
                Err(error) => question.refuse(&error),
            },
        }
    }

    /// Asks the client and records what it answers, before anybody gets it.
    async fn ask_client(&self, method: &Method, params: Bytes) -> Result<Bytes, RpcError> {
        let answer = self.caller.client.ask(method, params).await;
        self.continuing.record.answered(method, answer.as_deref()).await?;
        answer
    }

    /// Forwards a modern server's questions to a legacy client, all at once.
    pub(super) async fn ask_all(&self, asked: InputRequired) -> Result<Round, RpcError> {
        let questions = asked.questions.iter().map(|question| async move {
            self.caller.capabilities.allow(&question.method, &question.params)?;
            let params = reserved_metadata::out_of_object(ask::to_legacy(question, &question.key));
            let answer = match self.ask_client(&question.method, params).await {
                Ok(answer) => answer,
                // A client that fails to ask has not declined; in the modern era that is `cancel`.
                Err(_) if question.method == Method::ElicitationCreate => {
                    Bytes::from_static(br#"{"action":"cancel"}"#)
                }
                Err(error) => return Err(error),
            };
            Ok((question.key.clone(), answer))
        });
        let answers: Result<Vec<_>, RpcError> = futures_util::future::try_join_all(questions).await;
        let answers = answers?;
        let answers = (!answers.is_empty()).then(|| ask::write_answers(&answers));
        Ok(Round { answers, state: asked.state })
    }
}

/// Waits for one of several futures. Ready immediately if there are none, since most calls ask nothing.
pub(super) async fn next_of(futures: &mut Option<FuturesUnordered<impl Future<Output = ()>>>) -> Option<()> {
    match futures {
        Some(futures) => futures.next().await,
        None => None,
    }
}
