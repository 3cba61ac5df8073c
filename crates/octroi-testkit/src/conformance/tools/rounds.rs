//! Tools for multi-round-trip requests: which input is required, in how many rounds, and which state is kept
//! in between.
//!
//! The suite expects the keys `user_name`, `step1` and so on in some scenarios and reads them from the
//! question in others; here they are always the same.

use rmcp::ErrorData;
use rmcp::model::{InputRequest, InputRequests};
use serde_json::{Value, json};

use super::super::asking::{Round, Step, ask_one, one_field_form, roots, sample};
use super::AskingTool;
use super::forms::sampled_text;

pub(super) const TOOLS: &[AskingTool] = &[
    AskingTool {
        name: "test_streaming_elicitation",
        description: "Asks the user for a value",
        argument: None,
        step: ask_for_value,
    },
    AskingTool {
        name: "test_input_required_result_elicitation",
        description: "Asks the user for a name",
        argument: None,
        step: greet_user,
    },
    AskingTool {
        name: "test_input_required_result_sampling",
        description: "Asks the client's model a question",
        argument: None,
        step: ask_model,
    },
    AskingTool {
        name: "test_input_required_result_list_roots",
        description: "Asks for the client's roots",
        argument: None,
        step: count_roots,
    },
    AskingTool {
        name: "test_input_required_result_request_state",
        description: "Asks for confirmation and needs its state back",
        argument: None,
        step: confirm,
    },
    AskingTool {
        name: "test_input_required_result_tampered_state",
        description: "Asks for confirmation and refuses state that was changed",
        argument: None,
        step: confirm,
    },
    AskingTool {
        name: "test_input_required_result_multiple_inputs",
        description: "Asks for three kinds of input at once",
        argument: None,
        step: gather,
    },
    AskingTool {
        name: "test_input_required_result_multi_round",
        description: "Asks in two rounds",
        argument: None,
        step: two_rounds,
    },
    AskingTool {
        name: "test_input_required_result_capabilities",
        description: "Asks only for what the client can give",
        argument: None,
        step: only_declared,
    },
];

fn ask_for_value(round: &Round) -> Result<Step<String>, ErrorData> {
    if round.answer("form").is_none() {
        return Ok(ask_one("form", one_field_form("Please give a value", "value", "string")?));
    }
    Ok(Step::Done(format!("The value is {}", round.text_field("form", "value").unwrap_or("not given"))))
}

fn greet_user(round: &Round) -> Result<Step<String>, ErrorData> {
    if round.answer("user_name").is_none() {
        return Ok(ask_one("user_name", name_form("What is your name?")?));
    }
    let name = round.text_field("user_name", "name").unwrap_or("whoever you are");
    Ok(Step::Done(format!("Hello, {name}!")))
}

fn ask_model(round: &Round) -> Result<Step<String>, ErrorData> {
    match round.answer("capital") {
        Some(answer) => Ok(Step::Done(format!("The model says: {}", sampled_text(answer)))),
        None => Ok(ask_one("capital", sample("What is the capital of France?"))),
    }
}

fn count_roots(round: &Round) -> Result<Step<String>, ErrorData> {
    match round.answer("client_roots") {
        Some(answer) => {
            let n_roots = answer.get("roots").and_then(Value::as_array).map_or(0, Vec::len);
            Ok(Step::Done(format!("The client has {n_roots} roots")))
        }
        None => Ok(ask_one("client_roots", roots())),
    }
}

fn confirm(round: &Round) -> Result<Step<String>, ErrorData> {
    if round.state.is_some() && round.answer("confirm").is_some() {
        return Ok(Step::Done("state-ok: confirmed with the state given out".to_owned()));
    }
    Ok(ask_with_state(
        [("confirm", one_field_form("Please confirm", "ok", "boolean")?)],
        json!({ "stage": "confirm" }),
    ))
}

fn gather(round: &Round) -> Result<Step<String>, ErrorData> {
    let keys = ["user_name", "greeting", "client_roots"];
    if round.state.is_some() && keys.iter().all(|key| round.answer(key).is_some()) {
        return Ok(Step::Done("All three inputs are here".to_owned()));
    }
    Ok(ask_with_state(
        [
            ("user_name", name_form("What is your name?")?),
            ("greeting", sample("Write a greeting")),
            ("client_roots", roots()),
        ],
        json!({ "stage": "gather" }),
    ))
}

fn two_rounds(round: &Round) -> Result<Step<String>, ErrorData> {
    let done = round.state.as_ref().and_then(|state| state.get("round")?.as_u64());
    match done {
        Some(1) if round.answer("step1").is_some() => {
            let name = round.text_field("step1", "name").unwrap_or("somebody");
            let form = one_field_form("Step 2: what is your favourite colour?", "color", "string")?;
            Ok(ask_with_state([("step2", form)], json!({ "round": 2, "name": name })))
        }
        Some(2) if round.answer("step2").is_some() => {
            let state = round.state.as_ref();
            let name = state.and_then(|state| state.get("name")?.as_str()).unwrap_or("somebody");
            let color = round.text_field("step2", "color").unwrap_or("no colour");
            Ok(Step::Done(format!("{name} likes {color}")))
        }
        // The first call, or one with unexpected answers: start again.
        _ => {
            let form = name_form("Step 1: what is your name?")?;
            Ok(ask_with_state([("step1", form)], json!({ "round": 1 })))
        }
    }
}

fn only_declared(round: &Round) -> Result<Step<String>, ErrorData> {
    if round.has_answers() {
        return Ok(Step::Done("The client gave what it can".to_owned()));
    }
    let declared = round.capabilities;
    let mut requests = InputRequests::new();
    if declared.elicitation.is_some() {
        requests.insert("user_name".to_owned(), name_form("What is your name?")?);
    }
    if declared.sampling.is_some() {
        requests.insert("greeting".to_owned(), sample("Write a greeting"));
    }
    if declared.roots.is_some() {
        requests.insert("client_roots".to_owned(), roots());
    }
    if requests.is_empty() {
        return Ok(Step::Done("The client can give nothing".to_owned()));
    }
    Ok(Step::Ask { requests, state: None })
}

fn name_form(message: &str) -> Result<InputRequest, ErrorData> {
    one_field_form(message, "name", "string")
}

fn ask_with_state<const N: usize>(requests: [(&str, InputRequest); N], state: Value) -> Step<String> {
    let requests = requests.into_iter().map(|(key, request)| (key.to_owned(), request)).collect();
    Step::Ask { requests, state: Some(state) }
}
