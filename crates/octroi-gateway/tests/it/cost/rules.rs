//! Policies of rules and the arguments of a call: parsing, deciding, finding facts, redacting.

use std::time::Duration;

use octroi_core::agent::AgentContext;
use octroi_core::call::Call;
use octroi_core::facts::Facts;
use octroi_core::policy::{CheckContext, Document, Level, Policy};
use octroi_core::redact::Redactor;
use octroi_core::tool::{Risk, SideEffects, Source, ToolDescriptor};
use octroi_core::trust::Trust;
use octroi_core::{CanonicalId, arguments, pin};

use super::choices::Choices;
use super::{Meter, generate, template};

/// A text `policy === arguments`, or choices from which both are generated.
pub(crate) fn run(input: &[u8], meter: &mut Meter<'_>) {
    let (text, body) = if input.starts_with(b"T\n") {
        let parts = template::parts(input);
        let [text, body, ..] = parts.as_slice() else { return };
        let Ok(text) = String::from_utf8(text.clone()) else { return };
        (text, body.clone())
    } else {
        let middle = input.len() / 2;
        let text = generate::policy(&mut Choices::new(&input[..middle], 4_000));
        let value = generate::object(&mut Choices::new(&input[middle..], 40_000));
        (text, value.to_string().into_bytes())
    };
    redact(&body, meter);
    let mut read = None;
    meter("read arguments", body.len(), &mut || read = arguments::read_exactly(&body).ok());
    let Some((value, exactness)) = read else { return };
    let n_body = body.len() as u64;
    let project = Some("/project/of mine");
    meter("find facts", body.len(), &mut || drop(Facts::of(&value, n_body, project)));
    let mut document = None;
    meter("read a policy", text.len(), &mut || document = Document::parse(&text).ok());
    let Some(document) = document else { return };
    let policy = Policy { document, ..Policy::default() };
    let (tool, context) = (imagine("files", "read_file"), AgentContext::default());
    let facts = || Facts::of(&value, n_body, project);
    let n_all = text.len() + body.len();
    meter("decide by rules", n_all, &mut || {
        let mut call = Call::imagined(Some("a"), &context, &tool, &value, &facts, 0);
        call.exactness = exactness;
        drop(policy.judge(&call));
    });
    let servers = ["files".to_owned(), "shell".to_owned()];
    let facts = |arguments: &serde_json::Value| Facts::of(arguments, 2, project);
    let known = CheckContext {
        tools: std::slice::from_ref(&tool),
        servers: &servers,
        facts: &facts,
        imagine: &imagine,
        now_ms: 0,
    };
    meter("check a policy", text.len(), &mut || drop(policy.check(Level::Global, &known)));
}

fn redact(body: &[u8], meter: &mut Meter<'_>) {
    let redactor = Redactor::new(["a-secret-in-use", "abababababab"].into_iter());
    meter("preview arguments", body.len(), &mut || drop(redactor.preview(body, 16_384)));
    meter("view arguments", body.len(), &mut || drop(redactor.view(body, &[])));
    if let Ok(text) = std::str::from_utf8(body) {
        meter("redact a text", text.len(), &mut || drop(redactor.redact(text)));
        meter("escape hidden characters", text.len(), &mut || drop(pin::escape_hidden(text)));
    }
}

fn imagine(server: &str, name: &str) -> ToolDescriptor {
    ToolDescriptor {
        id: CanonicalId::builtin(name),
        source: Source::Mcp,
        source_id: server.into(),
        name: name.into(),
        risk: Risk::Low,
        side_effects: SideEffects::default(),
        requires_admin: false,
        enabled: true,
        off_because: None,
        trust: Trust::Medium,
        timeout: Duration::from_secs(30),
        version: None,
        definition_hash: [0; 32],
    }
}
