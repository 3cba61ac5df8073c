use octroi_core::Secret;
use octroi_core::approval::{ApprovalState, Approvers, ArgumentsState, Binding};
use octroi_core::principal::TokenName;
use serde_json::{Value, json};

use super::*;

const NOW: i64 = 1_000_000;

fn approval(id: &str) -> Approval {
    let binding = Binding {
        principal: "agent".to_owned(),
        agent: None,
        tool: "mcp:files:write".to_owned(),
        definition_hash: [0; 32],
        arguments_hash: [0; 32],
        policy_revision: 0,
    };
    Approval {
        id: id.to_owned(),
        call_id: String::new(),
        binding,
        state: ApprovalState::Pending,
        arguments_preview: String::new(),
        other_params_preview: None,
        other_params: None,
        arguments: Secret::new(String::new()),
        arguments_state: ArgumentsState::Whole,
        edited_arguments: None,
        risk: String::new(),
        side_effects: Vec::new(),
        reasons: Vec::new(),
        approvers: Approvers::default(),
        requested_at_ms: NOW,
        expires_at_ms: NOW + 60_000,
        decided_at_ms: None,
        decided_by: None,
        decision_reason: None,
        claimed_at_ms: None,
        finished_at_ms: None,
        outcome: None,
        remembered_rule: None,
        node: None,
    }
}

fn principal(id: &str) -> Principal {
    Principal::agent(id, "admin", TokenName::labelled("token"))
}

fn begin(tasks: &Tasks, id: &str, who: &str) -> bool {
    let begun = tasks.begin(&approval(id), &principal(who), "octroi approve".to_owned(), 1, NOW);
    matches!(begun, TaskBegun::New(_))
}

fn task_json(tasks: &Tasks, id: &str) -> Value {
    tasks
        .show(id, &TaskRequest::Asked, NOW)
        .map(|json| serde_json::from_slice(&json).unwrap())
        .unwrap_or_default()
}

fn question(key: &str) -> Question {
    Question { key: key.to_owned(), method: Method::ElicitationCreate, params: Bytes::from_static(b"{}") }
}

fn completed(length: usize) -> TaskState {
    TaskState::Over(TaskEnd::Completed(Bytes::from(format!("\"{}\"", "x".repeat(length)))))
}

#[test]
fn only_names_of_our_own_are_ours() {
    for (method, id, own) in [
        (Method::TasksGet, "octroi.ap_x", Some("ap_x")),
        (Method::TasksUpdate, "octroi.ap_x", Some("ap_x")),
        (Method::TasksCancel, "octroi.ap_x", Some("ap_x")),
        (Method::ToolsCall, "octroi.ap_x", None),
        (Method::TasksGet, "octroi:ap_x", None),
        (Method::TasksGet, "files:octroi.ap_x", None),
        (Method::TasksGet, "octroi.x", None),
        (Method::TasksGet, "ap_x", None),
    ] {
        let params = Params::read(Bytes::from(json!({ "taskId": id }).to_string())).unwrap();
        assert_eq!(own_id(&method, &params).as_deref(), own, "{method} {id}");
    }
    // A server's task id has its server's name in front of a colon.
    assert!(!PREFIX.contains(':'));
}

#[test]
fn a_task_is_its_principals_and_lasts_beyond_the_approval() {
    let tasks = Tasks::default();
    assert!(begin(&tasks, "ap_1", "agent"));
    assert!(!begin(&tasks, "ap_1", "agent"), "an identical call gets the same task");
    assert!(tasks.location("ap_1", &principal("agent"), NOW).is_some());
    assert!(tasks.location("ap_1", &principal("other"), NOW).is_none());
    let created: Value =
        serde_json::from_slice(&tasks.show("ap_1", &TaskRequest::Created, NOW).unwrap()).unwrap();
    assert_eq!((&created["resultType"], &created["status"]), (&json!("task"), &json!("working")));
    assert_eq!(created["taskId"], "octroi.ap_1");
    assert_eq!(created["statusMessage"], "octroi approve");
    assert_eq!(created["ttlMs"], 60_000 + 600_000);
}

#[test]
fn what_is_over_stays_so() {
    let tasks = Tasks::default();
    assert!(begin(&tasks, "ap_1", "agent"));
    tasks.set("ap_1", TaskState::Running, NOW);
    assert_eq!(task_json(&tasks, "ap_1")["status"], "working");
    tasks.cancel("ap_1", NOW);
    for state in [TaskState::Running, completed(1)] {
        tasks.set("ap_1", state, NOW);
        assert_eq!(task_json(&tasks, "ap_1")["status"], "cancelled");
    }
    assert!(begin(&tasks, "ap_2", "agent"));
    tasks.set("ap_2", completed(1), NOW);
    tasks.cancel("ap_2", NOW);
    assert_eq!(task_json(&tasks, "ap_2")["result"], "x");
}

#[test]
fn answers_are_taken_once_all_are_there() {
    let tasks = Tasks::default();
    let begun = tasks.begin(&approval("ap_1"), &principal("agent"), String::new(), 1, NOW);
    let TaskBegun::New(signals) = begun else { panic!("there is room") };
    tasks.answer("ap_1", vec![("1.a".into(), Bytes::from_static(b"0"))]);
    let asked = TaskQuestions { questions: vec![question("1.a"), question("1.b")], answers: Vec::new() };
    tasks.set("ap_1", TaskState::Asking(asked), NOW);
    let keys = || {
        task_json(&tasks, "ap_1")["inputRequests"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(keys(), ["1.a", "1.b"]);
    tasks.answer("ap_1", vec![("2.c".into(), Bytes::new()), ("1.b".into(), Bytes::from_static(b"1"))]);
    tasks.answer("ap_1", vec![("1.b".into(), Bytes::from_static(b"2"))]);
    assert_eq!(keys(), ["1.a"], "the first answer counts, and nobody asked the other");
    assert!(tasks.take_answers("ap_1", NOW).is_none());
    tasks.answer("ap_1", vec![("1.a".into(), Bytes::from_static(b"3"))]);
    let expected =
        vec![("1.b".to_owned(), Bytes::from_static(b"1")), ("1.a".to_owned(), Bytes::from_static(b"3"))];
    assert_eq!(tasks.take_answers("ap_1", NOW), Some(expected));
    assert_eq!(task_json(&tasks, "ap_1")["status"], "working");
    assert!(tasks.take_answers("ap_1", NOW).is_none());
    assert!(!signals.cancelled.is_cancelled());
}

#[test]
fn memory_is_bounded() {
    let tasks = Tasks::default();
    let each = TASKS_MAX_EACH;
    for number in 0..each {
        assert!(begin(&tasks, &format!("ap_{number}"), "agent"));
    }
    assert!(!begin(&tasks, "ap_more", "agent"), "one principal takes not all the room");
    assert!(begin(&tasks, "ap_other", "other"));
    // Results are dropped when there are too many bytes, the oldest first; running tasks are not.
    for number in 0..each {
        let at = NOW + i64::try_from(number).unwrap();
        tasks.set(&format!("ap_{number}"), completed(RESULT_BYTES_MAX / 10), at);
    }
    assert!(tasks.location("ap_0", &principal("agent"), NOW).is_none());
    assert!(tasks.location(&format!("ap_{}", each - 1), &principal("agent"), NOW).is_some());
    assert!(tasks.location("ap_other", &principal("other"), NOW).is_some());
    let n_bytes: usize = tasks
        .kept
        .lock()
        .values()
        .map(|kept| match &kept.state {
            TaskState::Over(end) => end.n_bytes(),
            _ => 0,
        })
        .sum();
    assert!(n_bytes <= RESULT_BYTES_MAX);

    tasks.sweep(NOW + milliseconds(KEPT) * 2);
    assert_eq!(tasks.kept.lock().len(), 1, "only what runs is left");
}

#[test]
fn calls_that_wait_are_bounded_by_their_length_too() {
    let tasks = Tasks::default();
    let begin = |id: &str, n_bytes| {
        let begun = tasks.begin(&approval(id), &principal("agent"), String::new(), n_bytes, NOW);
        matches!(begun, TaskBegun::New(_))
    };
    assert!(begin("ap_1", REQUEST_BYTES_MAX - 1));
    assert!(!begin("ap_2", 2));
    assert!(begin("ap_2", 1));
    assert!(!begin("ap_3", 1));
    tasks.set("ap_1", TaskState::Over(TaskEnd::Cancelled), NOW);
    assert!(begin("ap_3", 2), "what is over holds its call no more");
}

#[test]
fn a_task_at_its_server_lasts_while_somebody_asks_for_it() {
    let tasks = Tasks::default();
    assert!(begin(&tasks, "ap_1", "agent"));
    tasks.set("ap_1", TaskState::Passed { view: View::Merged, id: "jobs:7".to_owned() }, NOW);
    tasks.set("ap_1", completed(1), NOW);
    let day_ms = milliseconds(PASSED_KEPT);
    for days in 1..4 {
        let now_ms = NOW + days * (day_ms - 1);
        tasks.sweep(now_ms);
        let place = tasks.location("ap_1", &principal("agent"), now_ms);
        assert!(matches!(place, Some(TaskLocation::Server(View::Merged, id)) if id == "jobs:7"));
    }
    tasks.sweep(NOW + 5 * day_ms);
    assert!(tasks.location("ap_1", &principal("agent"), NOW).is_none());
}

#[test]
fn there_is_room_for_so_many_and_what_is_over_makes_room() {
    let tasks = Tasks::default();
    for number in 0..TASKS_MAX {
        assert!(begin(&tasks, &format!("ap_{number}"), &format!("agent {}", number / 50)));
    }
    assert!(!begin(&tasks, "ap_more", "late"));
    tasks.set("ap_7", completed(1), NOW);
    assert!(begin(&tasks, "ap_more", "late"));
    assert!(tasks.show("ap_7", &TaskRequest::Asked, NOW).is_none());
}
