//! A whole gateway with servers of several owners. None of them is ever started: what they offer is put into the
//! catalogue.

use std::collections::BTreeMap;
use std::time::Duration;

use octroi_core::principal::TokenName;
use octroi_core::server::{Remote, ServerSpec, Start, Transport};
use octroi_core::{Attachment, SessionChoice, UserRole};
use octroi_mcp::capability::ClientCapabilities;
use octroi_mcp::params::Params;
use octroi_mcp::{Envelope, Era, Id, Method, envelope};
use serde_json::{Value, json};

use super::*;
use crate::catalogue::tests::lists;
use crate::registry::Fetched;
use crate::{
    Answer, Caller, Filter, Gateway, GatewayOptions, Listener, NoClient, Notice, Processes, Subscriber, View,
};

fn key(text: &str) -> ServerKey {
    ServerKey::parse(text).unwrap()
}

fn agent(owner: &str) -> Principal {
    Principal::agent(&format!("{owner}s"), owner, TokenName::labelled("t"))
}

fn session(id: &str, owner: &str) -> Principal {
    Principal::session(id, &format!("{owner}s"), owner, TokenName::labelled("t"))
}

fn member(name: &str) -> Principal {
    Principal::person(name, UserRole::Member, TokenName::labelled("t"))
}

fn spec(server: &str) -> ServerSpec {
    let remote = Remote { url: "http://127.0.0.1:9/mcp".to_owned(), headers: BTreeMap::new() };
    ServerSpec { start: Start::Manual, ..ServerSpec::new(key(server), Transport::Http(remote)) }
}

struct Running {
    gateway: Arc<Gateway>,
    tools: BTreeMap<&'static str, Vec<&'static str>>,
}

impl Running {
    async fn new(tools: &[(&'static str, &[&'static str])]) -> Self {
        let clock = octroi_upstream::system_clock();
        let owner = format!("test:{:?}", std::thread::current().id());
        let processes = Processes { owner, reaper: None, is_alone: false };
        let options =
            GatewayOptions { servers: Vec::new(), processes, persistence: None, builtin: None, clock };
        let gateway = Gateway::start(options).await.unwrap();
        let mut running = Self { gateway, tools: BTreeMap::new() };
        running.set(tools);
        running
    }

    /// Other servers, with what they offer.
    fn set(&mut self, tools: &[(&'static str, &[&'static str])]) {
        let before = std::mem::take(&mut self.tools);
        self.tools = tools.iter().map(|(server, tools)| (*server, tools.to_vec())).collect();
        let specs: Vec<ServerSpec> = self.tools.keys().map(|server| spec(server)).collect();
        let agreed = specs.iter().map(|spec| spec.key.clone()).collect();
        self.gateway.servers().apply(specs, true, &agreed);
        for (server, tools) in &self.tools {
            if before.get(server) != Some(tools) {
                self.offer(server, tools);
            }
        }
    }

    /// What a server offers from now on.
    fn offer(&self, server: &str, tools: &[&str]) {
        let lists = lists(tools, &[], &[]);
        let fetched = Fetched {
            identity: lists.identity.clone(),
            lists: vec![(Method::ToolsList, lists.tools.clone())],
        };
        for method in self.gateway.registry().update(&spec(server), fetched, || true) {
            self.gateway.pools().subscriptions.list_changed(&key(server), &method);
        }
    }

    fn names(&self, principal: &Principal) -> Vec<String> {
        let pool = self.gateway.pools().of(principal);
        let mut names: Vec<String> = pool.tools().map(|(name, _)| name.to_owned()).collect();
        names.sort();
        names
    }

    fn choose(&self, change: impl FnOnce(&mut octroi_core::PoolChoices)) {
        self.gateway.membership().change(change);
    }

    async fn call(&self, view: &View, principal: &Principal, tool: &str) -> Value {
        self.ask(view, principal, &Method::ToolsCall, &json!({"name": tool, "arguments": {}})).await
    }

    async fn ask(&self, view: &View, principal: &Principal, method: &Method, params: &Value) -> Value {
        let caller = Caller {
            owner: Arc::clone(principal.id()),
            principal: principal.clone(),
            on_behalf_of: None,
            era: Era::Legacy,
            capabilities: ClientCapabilities::default(),
            info: None,
            log_level: None,
            has_admin_token: false,
            base: None,
            session: None,
            client: Arc::new(NoClient),
        };
        let request = envelope::request(&Id::number(1), method, params.to_string().as_bytes());
        let request = Envelope::parse(request).unwrap();
        let params = Params::read(request.params()).unwrap();
        match self.gateway.request(view, &caller, &request, &params).await {
            Answer::Result(result) => serde_json::from_slice(&result).unwrap(),
            Answer::Error(error) => serde_json::from_slice(&error.to_json()).unwrap(),
            Answer::ErrorJson { json, .. } => serde_json::from_slice(&json).unwrap(),
        }
    }

    fn listen(&self, view: View, principal: &Principal) -> Told {
        let told = Arc::new(Mutex::new(Vec::new()));
        let deliver = Arc::clone(&told);
        let subscriber = Subscriber {
            view,
            capabilities: ClientCapabilities::default(),
            era: Era::Legacy,
            principal: principal.clone(),
            session: "s".into(),
        };
        let listener =
            self.gateway.listen(subscriber, Filter::ALL, move |notice| deliver.lock().push(notice));
        Told { told, _listener: listener }
    }
}

struct Told {
    told: Arc<Mutex<Vec<Notice>>>,
    _listener: Arc<Listener>,
}

/// What each client was told since the last time, once nothing more can come.
async fn told<const N: usize>(clients: [&Told; N]) -> [usize; N] {
    tokio::time::sleep(Duration::from_millis(150)).await;
    clients.map(|client| std::mem::take(&mut *client.told.lock()).len())
}

const OF_ALL: [(&str, &[&str]); 4] =
    [("files", &["read"]), ("git", &["log"]), ("ana/notes", &["add"]), ("bob/notes", &["add", "burn"])];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_sees_what_is_shared_and_the_own() {
    let running = Running::new(&OF_ALL).await;
    assert_eq!(running.names(&agent("ana")), ["files_read", "git_log", "notes_add"]);
    assert_eq!(running.names(&agent("bob")), ["files_read", "git_log", "notes_add", "notes_burn"]);
    assert_eq!(running.names(&agent("eve")), ["files_read", "git_log"]);
    let ids = |reader: &Principal| -> Vec<String> {
        let tools = running.gateway.pools().tools(reader, &ToolFilter::default());
        tools.iter().map(|tool| format!("{} {}", tool.descriptor.id, tool.wire_name)).collect()
    };
    assert_eq!(
        ids(&member("ana")),
        ["mcp:ana/notes:add notes_add", "mcp:files:read files_read", "mcp:git:log git_log"]
    );
    let admin = Principal::person("root", UserRole::Admin, TokenName::labelled("t"));
    assert_eq!(ids(&admin).len(), 5);
    let pools = running.gateway.pools();
    assert!(pools.tool(&admin, "bob/notes.burn").is_ok());
    assert_eq!(
        pools.tool(&member("ana"), "bob/notes.burn").unwrap_err().replace("burn", "X"),
        pools.tool(&member("ana"), "bob/notes.turn").unwrap_err().replace("turn", "X")
    );
    for (name, expected) in [("notes", Some("ana/notes")), ("files", Some("files")), ("bob/notes", None)] {
        let found = pools.key_for(&member("ana"), name).map(|key| key.to_string());
        assert_eq!(found.as_deref(), expected, "{name}");
    }
    assert_eq!(pools.key_for(&admin, "bob/notes"), Some(key("bob/notes")));
    assert_eq!(running.gateway.servers().names_for(&member("ana")), ["files", "git", "ana/notes"]);
    running.gateway.stop(Duration::from_secs(5)).await;
}

/// Nobody can call, list, read, complete or watch at another user's server, nor tell it from one that there is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_strangers_server_answers_like_none() {
    let running = Running::new(&OF_ALL).await;
    let ana = agent("ana");
    let requests = [
        (Method::ToolsCall, json!({"name": "mcp:bob/NAME:burn"})),
        (Method::ToolsCall, json!({"name": "bob/NAME.burn"})),
        (Method::ResourcesRead, json!({"uri": "octroi-uri://bob/NAME/x"})),
        (Method::TasksGet, json!({"taskId": "bob/NAME:1"})),
        (Method::TasksCancel, json!({"taskId": "bob/NAME:1"})),
    ];
    for (method, params) in requests {
        let mut answers = Vec::new();
        for name in ["notes", "nates"] {
            let params: Value = serde_json::from_str(&params.to_string().replace("NAME", name)).unwrap();
            let answer = running.ask(&View::Merged, &ana, &method, &params).await.to_string();
            answers.push(answer.replace(name, "NAME"));
        }
        assert_eq!(answers[0], answers[1], "{method}");
    }
    // Nor alone, by whatever way a client comes to such a view.
    for method in [Method::ToolsList, Method::ResourcesList, Method::ToolsCall] {
        let mut answers = Vec::new();
        for name in ["notes", "nates"] {
            let view = View::Server(key(&format!("bob/{name}")));
            let answer = running.ask(&view, &ana, &method, &json!({"name": "burn"})).await.to_string();
            answers.push(answer.replace(name, "NAME"));
        }
        assert!(answers[0] == answers[1] && answers[0].contains("unknown server"), "{answers:?}");
    }
    let servers = running.gateway.servers();
    assert_eq!(servers.named_in_path(&ana, "notes"), Some(key("ana/notes")));
    assert_eq!(servers.named_in_path(&ana, "bob/notes"), None);
    assert_eq!(servers.named_in_path(&agent("eve"), "notes"), None);
    running.gateway.stop(Duration::from_secs(5)).await;
}

/// A session that was given the id of a stranger's server does not get it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_has_what_was_chosen_of_its_users() {
    let running = Running::new(&OF_ALL).await;
    let enabled =
        |keys: &[&str]| SessionChoice { enabled: Some(keys.iter().map(|text| key(text)).collect()) };
    running.choose(|choices| choices.choose("s1", enabled(&["git", "bob/notes"])));
    assert_eq!(running.names(&session("s1", "ana")), ["git_log"]);
    assert_eq!(running.names(&agent("ana")), ["files_read", "git_log", "notes_add"], "the agent has all");
    running.choose(|choices| choices.attach("anas", &key("ana/notes"), Attachment::default()));
    assert_eq!(running.names(&agent("ana")), ["notes_add"]);
    assert_eq!(running.names(&session("s1", "ana")), Vec::<String>::new());
    running.choose(|choices| choices.choose("s1", enabled(&["git", "ana/notes"])));
    assert_eq!(running.names(&session("s1", "ana")), ["notes_add"]);
    running.gateway.stop(Duration::from_secs(5)).await;
}

/// A name that others use is free for everybody; one that all share takes precedence, and gives it back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_are_taken_by_what_is_shared_alone() {
    let mut running = Running::new(&OF_ALL).await;
    let ana = running.listen(View::Merged, &agent("ana"));
    let eve = running.listen(View::Merged, &agent("eve"));
    let alone = running.listen(View::Server(key("ana/notes")), &agent("ana"));
    told([&ana, &eve, &alone]).await;
    let with_shared = [OF_ALL[0], OF_ALL[1], OF_ALL[2], OF_ALL[3], ("notes", &["show"])];
    running.set(&with_shared);
    assert_eq!(running.names(&agent("ana")), ["files_read", "git_log", "notes_show"]);
    assert_eq!(running.names(&agent("bob")), ["files_read", "git_log", "notes_show"]);
    let sight = |server| running.gateway.pools().sight(&agent("ana"), &key(server));
    assert_eq!((sight("ana/notes"), sight("bob/notes")), (Sight::Shadowed, Sight::Foreign));
    let shown = running.gateway.pools().tool(&member("ana"), "ana/notes.add").unwrap();
    assert!(shown.hidden.is_some_and(|reason| reason.contains("everybody shares a server `notes`")));
    assert_eq!(told([&ana, &eve, &alone]).await, [1, 1, 1]);
    running.set(&OF_ALL);
    assert_eq!(running.names(&agent("ana")), ["files_read", "git_log", "notes_add"]);
    assert_eq!(told([&ana, &eve, &alone]).await, [1, 1, 1]);
    running.gateway.stop(Duration::from_secs(5)).await;
}

/// A server that goes takes nothing of one whose name begins like its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_goes_takes_only_its_own_tools() {
    let mut running = Running::new(&[("git", &["log", "hub_x"]), ("git_hub", &["x", "issues"])]).await;
    let names = running.names(&agent("ana"));
    assert!(names.contains(&"git_hub_issues".to_owned()) && names.len() == 4, "{names:?}");
    running.set(&[("git_hub", &["x", "issues"])]);
    assert_eq!(running.names(&agent("ana")), ["git_hub_issues", "git_hub_x"]);
    running.gateway.stop(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_reaches_exactly_the_clients_whose_list_changed() {
    let running = Running::new(&OF_ALL).await;
    let ana = running.listen(View::Merged, &agent("ana"));
    let of_session = running.listen(View::Merged, &session("s1", "ana"));
    let bob = running.listen(View::Merged, &agent("bob"));
    let files = running.listen(View::Server(key("files")), &agent("ana"));
    let all = [&ana, &of_session, &bob, &files];
    told(all).await;
    let enabled =
        |keys: &[&str]| SessionChoice { enabled: Some(keys.iter().map(|text| key(text)).collect()) };
    running.choose(|choices| choices.choose("s1", enabled(&["files"])));
    assert_eq!(told(all).await, [0, 1, 0, 0], "a session's choice");
    running.choose(|choices| choices.choose("s1", enabled(&["files", "bob/notes"])));
    assert_eq!(told(all).await, [0, 0, 0, 0], "another's server is none");
    running.choose(|choices| choices.prefer("ana", &key("git"), Some(false)));
    assert_eq!(told(all).await, [1, 0, 0, 0], "a preference; the session did not have it");
    running.choose(|choices| choices.prefer("ana", &key("files"), Some(false)));
    assert_eq!(told(all).await, [1, 1, 0, 1], "a preference about what all have");
    running.offer("files", &["read", "write"]);
    assert_eq!(told(all).await, [0, 0, 1, 0], "a list of a server that only Bob has on");
    running.choose(|choices| choices.prefer("ana", &key("files"), None));
    assert_eq!(told(all).await, [1, 1, 0, 1]);
    running.offer("bob/notes", &["add"]);
    assert_eq!(told(all).await, [0, 0, 1, 0], "a list of Bob's own server");
    running.choose(|choices| choices.attach("bobs", &key("bob/notes"), Attachment::default()));
    assert_eq!(told(all).await, [0, 0, 1, 0], "what an agent's list leaves out");
    running.offer("files", &["read"]);
    assert_eq!(told(all).await, [1, 1, 0, 1]);
    running.gateway.stop(Duration::from_secs(5)).await;
}

/// The first switch that says no is the one that is named: those of the server, then the owner's, the agent's, the
/// session's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_names_the_first_switch_that_says_no() {
    let running = Running::new(&OF_ALL).await;
    let principal = session("s1", "ana");
    let switch = async |view: View, tool: &str| {
        let answer = running.call(&view, &principal, tool).await;
        answer["data"]["switch"].as_str().map_or_else(|| answer.to_string(), str::to_owned)
    };
    running.choose(|choices| choices.choose("s1", SessionChoice { enabled: Some([key("git")].into()) }));
    assert_eq!(switch(View::Merged, "files_read").await, "session");
    assert_eq!(switch(View::Merged, "notes_add").await, "session");
    assert_eq!(switch(View::Merged, "mcp:ana/notes:add").await, "session");
    running.choose(|choices| choices.attach("anas", &key("git"), Attachment::default()));
    assert_eq!(switch(View::Merged, "files_read").await, "attachment");
    running.choose(|choices| choices.prefer("ana", &key("files"), Some(false)));
    assert_eq!(switch(View::Merged, "files_read").await, "preference");
    // Another's switched-off server is not one of Ana's.
    assert!(switch(View::Merged, "mcp:bob/notes:add").await.contains("unknown tool"));
    let refused = running.ask(&View::Server(key("files")), &principal, &Method::ToolsList, &json!({})).await;
    assert_eq!(refused["data"]["switch"], "preference", "{refused}");
    // At the server alone the call is decided, so its trace has it.
    let refused = running.call(&View::Server(key("files")), &principal, "read").await;
    assert!(refused.to_string().contains("ana does not want to use it"), "{refused}");
    let why = |server: &'static str| {
        let running = &running;
        async move {
            let inspector = running.gateway.inspector();
            let tool = format!("{server}.read");
            inspector.why(&member("ana"), Some("anas"), &tool, &json!({}), None).await
        }
    };
    // The agent is nobody's that is known here, so it is the administrator's; what everybody shares it has.
    let explained = why("files").await.unwrap();
    assert_eq!(
        explained.trace.iter().find(|verdict| verdict.outcome == "deny").map(|verdict| verdict.gate),
        Some("scope")
    );
    assert!(why("bob/files").await.is_err());
    let upstream = running.gateway.servers().upstream(&key("files")).unwrap();
    let by = running.gateway.servers().switched_off_for(&principal, &upstream.spec().key);
    assert_eq!(by.map(|switch| switch.as_str()), Some("preference"));
    running.gateway.servers().apply(vec![spec("files")], false, &[key("files")].into());
    assert_eq!(switch(View::Merged, "files_read").await, "global");
    running.gateway.stop(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn equal_sets_share_a_pool_and_a_change_leaves_others_alone() {
    let running = Running::new(&OF_ALL).await;
    let pools = running.gateway.pools();
    let all = [agent("ana"), session("s1", "ana"), agent("bob"), agent("eve"), agent("dan")];
    let now = || all.each_ref().map(|principal| pools.of(principal));
    let same = |one: &[Arc<Pool>; 5], other: &[Arc<Pool>; 5]| {
        [0, 1, 2, 3, 4].map(|index| Arc::ptr_eq(&one[index], &other[index]))
    };
    let before = now();
    assert!(Arc::ptr_eq(&before[0], &before[1]) && Arc::ptr_eq(&before[3], &before[4]));
    assert!(!Arc::ptr_eq(&before[0], &before[2]));
    assert_eq!(pools.count(), (3, 5));
    running.offer("ana/notes", &["add", "find"]);
    let after = now();
    assert_eq!(same(&before, &after), [false, false, true, true, true]);
    running.choose(|choices| choices.choose("s1", SessionChoice { enabled: None }));
    assert_eq!(same(&after, &now()), [true; 5], "a choice that changes nothing");
    running.choose(|choices| choices.prefer("bob", &key("git"), Some(false)));
    assert_eq!(same(&after, &now()), [true, true, false, true, true]);
    let before = now();
    running.offer("git", &["log", "blame"]);
    assert_eq!(same(&before, &now()), [false, false, true, false, false], "Bob's is without it");
    assert_eq!(running.names(&agent("bob")), ["files_read", "notes_add", "notes_burn"]);
    running.gateway.stop(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unused_pools_are_dropped_and_come_back() {
    let running = Running::new(&OF_ALL).await;
    let pools = running.gateway.pools();
    pools.set_limits(PoolLimits { idle: Duration::from_mins(1), max: 2 });
    let sweep = || pools.sweep(Duration::from_secs(30));
    let names = running.names(&agent("ana"));
    running.names(&agent("bob"));
    sweep();
    assert_eq!(pools.count(), (2, 2));
    running.names(&agent("ana"));
    sweep();
    assert_eq!(pools.count(), (2, 2), "unused for 30 s");
    running.names(&agent("ana"));
    sweep();
    assert_eq!(pools.count(), (1, 1), "unused for a minute");
    running.names(&agent("bob"));
    running.names(&agent("eve"));
    sweep();
    assert_eq!(pools.count(), (2, 2), "more than there may be");
    assert_eq!(running.names(&agent("ana")), names, "made anew");
    for _ in 0..3 {
        sweep();
    }
    assert_eq!(pools.count(), (0, 0));
    running.gateway.stop(Duration::from_secs(5)).await;
}
