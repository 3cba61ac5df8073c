use octroi_core::ServerKey;

use super::*;
use crate::held_questions::Audience;

struct Channel {
    mux: Arc<Mux>,
    sent: mpsc::Receiver<Bytes>,
    events: mpsc::Receiver<(ServerKey, crate::event::ServerEvent)>,
}

fn channel() -> Channel {
    let (writer, sent) = mpsc::channel(16);
    let (sender, events) = mpsc::channel(16);
    let sink = EventSink::new(ServerKey::parse("s").unwrap(), sender);
    let tasks = BackgroundTasks::new(tokio::runtime::Handle::current());
    Channel { mux: Mux::new(writer, sink, 1024, tasks), sent, events }
}

impl Channel {
    async fn receive(&self, json: &str) {
        self.mux.receive(Bytes::copy_from_slice(json.as_bytes())).await;
    }

    fn next_sent(&mut self) -> Option<String> {
        self.sent.try_recv().ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn text(answered: ChannelAnswer) -> String {
    match answered {
        ChannelAnswer::Message(message) => String::from_utf8_lossy(message.json()).into_owned(),
        ChannelAnswer::TooLarge { limit } => format!("too large: {limit}"),
        ChannelAnswer::NotTaken(reason) => format!("not taken: {reason}"),
    }
}

#[tokio::test]
async fn answers_find_their_calls_in_any_order() {
    let channel = channel();
    let first = channel.mux.register(Some("a".into()), true);
    let second = channel.mux.register(Some("b".into()), true);
    channel.receive(r#"{"jsonrpc":"2.0","id":2,"result":"second"}"#).await;
    channel.receive(r#"{"jsonrpc":"2.0","id":1,"result":"first"}"#).await;
    assert!(text(first.answer.await.unwrap()).contains("first"));
    assert!(text(second.answer.await.unwrap()).contains("second"));
}

#[tokio::test]
async fn noise_double_and_unknown_answers_disturb_nobody() {
    let channel = channel();
    let call = channel.mux.register(Some("a".into()), true);
    for noise in [
        "hello",
        "",
        "{}",
        "[]",
        r#"{"jsonrpc":"2.0","id":99,"result":1}"#,
        r#"{"jsonrpc":"2.0","id":"x","result":1}"#,
    ] {
        channel.receive(noise).await;
    }
    channel.receive(r#"{"jsonrpc":"2.0","id":1,"result":"true one"}"#).await;
    channel.receive(r#"{"jsonrpc":"2.0","id":1,"result":"again"}"#).await;
    assert!(text(call.answer.await.unwrap()).contains("true one"));
}

#[tokio::test]
async fn a_message_too_long_costs_its_own_call_only() {
    let channel = channel();
    let mut other = channel.mux.register(Some("a".into()), true);
    let call = channel.mux.register(Some("b".into()), true);
    channel.mux.receive_too_long(br#"{"jsonrpc":"2.0","id":2,"result":"#, b"");
    assert_eq!(text(call.answer.await.unwrap()), "too large: 1024");
    assert!(other.answer.try_recv().is_err());
}

#[tokio::test]
async fn a_closed_channel_ends_every_call() {
    let channel = channel();
    let call = channel.mux.register(Some("a".into()), true);
    channel.mux.close("it died");
    assert!(call.answer.await.is_err());
    assert_eq!(channel.mux.reason(), "it died");
}

#[tokio::test]
async fn only_the_call_whose_message_was_refused_was_certainly_not_executed() {
    let channel = channel();
    let refused = channel.mux.register(Some("a".into()), true);
    let other = channel.mux.register(Some("b".into()), true);
    let message = Bytes::from_static(br#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#);
    channel.mux.close_untaken(message, "unknown session".to_owned());
    assert_eq!(text(refused.answer.await.unwrap()), "not taken: unknown session");
    assert!(other.answer.await.is_err());
    assert_eq!(channel.mux.reason(), "unknown session");
}

#[tokio::test]
async fn a_cancellation_is_sent_to_the_server_once() {
    let mut channel = channel();
    let call = channel.mux.register(Some("a".into()), true);
    for reason in [CancelReason::Timeout, CancelReason::Client] {
        channel.mux.cancel(call.id, reason);
    }
    let sent = channel.next_sent().unwrap();
    assert!(sent.contains(r#"{"requestId":1,"reason":"the request timed out"}"#), "{sent}");
    assert_eq!(channel.next_sent(), None);
}

#[tokio::test]
async fn a_question_goes_to_the_one_it_can_be_meant_for() {
    let mut channel = channel();
    let call = channel.mux.register(Some("a".into()), true);
    channel
        .receive(r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?"}}"#)
        .await;
    let Some(CallEvent::Question(question)) = call.events.take() else {
        panic!("a question was expected");
    };
    question.answer(br#"{"action":"accept"}"#);
    assert_eq!(channel.next_sent().unwrap(), r#"{"jsonrpc":"2.0","id":"q","result":{"action":"accept"}}"#);
}

#[tokio::test]
async fn a_question_that_could_be_for_two_clients_goes_to_neither() {
    let mut channel = channel();
    let first = channel.mux.register(Some("a".into()), true);
    let second = channel.mux.register(Some("b".into()), true);
    channel.receive(r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create"}"#).await;
    assert!(first.events.take().is_none() && second.events.take().is_none());
    assert!(channel.next_sent().unwrap().contains("several clients"));
    let (_, event) = channel.events.try_recv().unwrap();
    assert!(matches!(event, crate::event::ServerEvent::AsksClients));
    assert!(channel.mux.events.asks_clients());
}

#[tokio::test]
async fn the_first_question_ends_the_sharing_and_its_client_keeps_the_channel() {
    for (audience, is_ended) in [(Audience::CallersOnly, true), (Audience::Nobody, false)] {
        let mut channel = channel();
        assert!(channel.mux.held.decide(audience).is_empty());
        let call = channel.mux.register(Some("a".into()), true);
        channel.receive(r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create"}"#).await;
        assert!(matches!(call.events.take(), Some(CallEvent::Question(_))), "it is asked all the same");
        assert_eq!(channel.events.try_recv().is_ok(), is_ended, "{audience:?}");
        assert_eq!(channel.mux.events.asks_clients(), is_ended, "{audience:?}");
        assert_eq!((channel.mux.held.is_of("a"), channel.mux.held.is_of("b")), (is_ended, false));
    }
}

#[tokio::test]
async fn a_question_nobody_answers_is_refused() {
    let mut channel = channel();
    let call = channel.mux.register(Some("a".into()), true);
    channel.receive(r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage"}"#).await;
    drop(call.events.take());
    assert!(channel.next_sent().unwrap().contains("no longer connected"));
}

#[tokio::test]
async fn pings_and_idle_questions_are_answered_here() {
    let mut channel = channel();
    assert!(channel.mux.held.decide(Audience::Nobody).is_empty());
    channel.receive(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await;
    assert_eq!(channel.next_sent().unwrap(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    channel.receive(r#"{"jsonrpc":"2.0","id":2,"method":"roots/list"}"#).await;
    assert_eq!(channel.next_sent().unwrap(), r#"{"jsonrpc":"2.0","id":2,"result":{"roots":[]}}"#);
    channel.receive(r#"{"jsonrpc":"2.0","id":3,"method":"elicitation/create"}"#).await;
    assert!(channel.next_sent().unwrap().contains("no client call is in progress"));
}

#[tokio::test]
async fn changes_are_reported_as_events() {
    let mut channel = channel();
    channel
        .receive(r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://b"}}"#)
        .await;
    let (_, event) = channel.events.try_recv().unwrap();
    assert!(matches!(event, crate::event::ServerEvent::ResourceUpdated(uri) if uri == "a://b"));
}

#[tokio::test]
async fn the_next_call_of_its_client_is_asked_what_came_while_there_was_none() {
    let mut channel = channel();
    channel.receive(r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#).await;
    assert!(channel.mux.held.decide(Audience::OneClient).is_empty());
    assert_eq!(channel.next_sent(), None);
    let list = channel.mux.register(None, false);
    assert!(list.opening.is_none(), "a list waits for nothing");
    let call = channel.mux.register(Some("a".into()), true);
    let Some(CallEvent::Question(question)) = call.events.take() else {
        panic!("a question was expected");
    };
    let mut live = crate::live::LiveCall::shared(Arc::clone(&channel.mux), call, Bytes::from_static(b"call"));
    let waiting = tokio::time::timeout(std::time::Duration::from_millis(300), live.next()).await;
    assert!(waiting.is_err() && channel.next_sent().is_none(), "it is not sent before the answer");
    question.answer(br#"{"roots":[]}"#);
    let waiting = tokio::time::timeout(std::time::Duration::from_millis(300), live.next()).await;
    assert!(waiting.is_err());
    assert!(channel.next_sent().unwrap().contains(r#""result":{"roots":[]}"#));
    assert_eq!(channel.next_sent().as_deref(), Some("call"));
}
