//! The REST interface of the real binary.

mod calls;
mod described;

use hyper::Method;
use octroi_testkit::client::raw::{RawResponse, fetch};
use octroi_testkit::gateway::{AGENT_TOKEN, TestGateway};
use serde_json::{Value, json};

use crate::harness::{octroi, stdio_entry};
use crate::policy::OTHER_TOKEN;

const ANA: &str = "ana-s-token-of-this-rest-test";
const BOB: &str = "bob-s-token-of-this-rest-test";

/// A server that cannot be started.
const BROKEN: &str = "[[mcp.servers]]\nname = \"broken\"\nreconnect = false\ncommand = [\"false\"]\n";

/// Ana owns the agent `tester`, bob the agent `other`; calls of `add` need approval.
pub(crate) fn config() -> String {
    format!(
        "[server]\nmax_wrong_tokens_per_address = 10000\nmax_wrong_tokens_per_token = 10000\n\
         allowed_origins = [\"https://app.example\"]\n[mcp]\nauto_reload = false\n\
         {}risk_overrides = {{ add = \"high\", fail = \"low\", image = \"low\", protocol_error = \"low\" }}\n\
         {BROKEN}\
         [[tokens]]\ntoken = \"{OTHER_TOKEN}\"\nrole = \"agent\"\nagent_id = \"other\"\n\
         [[tokens]]\ntoken = \"{ANA}\"\nrole = \"human\"\nuser = \"ana\"\n\
         [[tokens]]\ntoken = \"{BOB}\"\nrole = \"human\"\nuser = \"bob\"\n\
         [[agents]]\nid = \"tester\"\nowner = \"ana\"\n[[agents]]\nid = \"other\"\nowner = \"bob\"\n\
         [policy]\nprofile = \"guarded\"\n[approvals]\nwait = false\n",
        stdio_entry("peer", &[])
    )
}

/// A client of the REST interface.
pub(crate) struct RestClient<'a> {
    gateway: &'a TestGateway,
    token: Option<String>,
}

impl<'a> RestClient<'a> {
    pub(crate) fn new(gateway: &'a TestGateway, token: &str) -> Self {
        Self { gateway, token: Some(token.to_owned()) }
    }

    fn admin(gateway: &'a TestGateway) -> Self {
        Self::new(gateway, &gateway.kept_token("admin.token"))
    }

    async fn send(&self, method: Method, path: &str, headers: &[(&str, &str)], body: &str) -> RawResponse {
        let bearer = self.token.as_ref().map(|token| format!("Bearer {token}"));
        let mut headers = headers.to_vec();
        headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
        let url = format!("{}{path}", self.gateway.base);
        fetch(method, &url, &headers, body.to_owned()).await.expect("an answer")
    }

    pub(crate) async fn get(&self, path: &str) -> RawResponse {
        self.send(Method::GET, path, &[], "").await
    }

    pub(crate) async fn with_body(&self, method: Method, path: &str, body: &Value) -> RawResponse {
        self.send(method, path, &[("content-type", "application/json")], &body.to_string()).await
    }

    /// Makes a call; returns the status and the answer.
    async fn call(&self, body: &Value) -> (u16, Value) {
        let answer = self.with_body(Method::POST, "/api/mcp/call", body).await;
        (answer.status, answer.json())
    }
}

fn header<'a>(answer: &'a RawResponse, name: &str) -> &'a str {
    answer.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// The status and the code of a problem, whose form is checked.
fn problem(answer: &RawResponse) -> (u16, String) {
    let json = answer.json();
    assert_eq!(header(answer, "content-type"), "application/problem+json", "{json}");
    assert_eq!(json["status"], answer.status, "{json}");
    assert_eq!(json["type"], format!("urn:octroi:error:{}", json["code"].as_str().unwrap_or_default()));
    for member in ["title", "detail", "message", "hint"] {
        assert!(json[member].as_str().is_some_and(|text| !text.is_empty()), "{member}: {json}");
    }
    assert_eq!(json["request_id"], header(answer, "x-request-id"), "{json}");
    (answer.status, json["code"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operations_are_requested_over_rest() {
    let gateway = TestGateway::start(&octroi(), &config()).await;
    let (admin, ana) = (RestClient::admin(&gateway), RestClient::new(&gateway, ANA));
    let servers = admin.get("/api/mcp/servers").await;
    assert_eq!((servers.status, header(&servers, "cache-control")), (200, "no-store"));
    let names: Vec<Value> =
        servers.json()["servers"].as_array().expect("a list").iter().map(|one| one["name"].clone()).collect();
    assert_eq!(names, ["broken", "peer"]);
    assert!(header(&servers, "x-request-id").starts_with("req_"));
    assert_eq!(ana.get("/api/mcp/health").await.json()["servers"]["peer"]["health"], "healthy");

    let tools = ana.get("/api/mcp/tools?server_id=peer&risk_level_max=low").await.json();
    let risks = tools["tools"].as_array().expect("tools").iter().map(|tool| &tool["risk_level"]);
    assert!(tools["count"].as_u64() > Some(0) && risks.clone().all(|risk| risk == "low"), "{tools}");
    let all = ana.get("/api/mcp/tools?server_id=peer").await.json();
    assert!(all["count"].as_u64() > tools["count"].as_u64(), "{all}");
    // What an agent sees of it.
    let own = RestClient::new(&gateway, AGENT_TOKEN).get("/api/mcp/tools").await;
    assert_eq!(own.status, 200);
    let own = own.json();
    let ids: Vec<&str> =
        own["tools"].as_array().expect("tools").iter().filter_map(|tool| tool["tool_id"].as_str()).collect();
    assert!(ids.contains(&"mcp:peer:echo") && !ids.contains(&"builtin:servers_list"), "{ids:?}");

    // A body that may be empty may be missing, too.
    let tested = admin.send(Method::POST, "/api/mcp/servers/peer/test", &[], "").await;
    assert_eq!(tested.status, 200, "{}", tested.json());
    let refreshed = admin.with_body(Method::POST, "/api/mcp/servers/refresh", &json!({"name": "peer"})).await;
    assert_eq!((refreshed.status, &refreshed.json()["name"]), (200, &json!("peer")));
    for is_on in [false, true] {
        let body = json!({"enabled": is_on});
        let toggled = admin.with_body(Method::PATCH, "/api/mcp/servers/peer/toggle", &body).await;
        assert_eq!((toggled.status, toggled.json()["state"] != "disabled"), (200, is_on));
    }
    // Changes are recorded like those over any other interface.
    let found = admin.get("/api/audit?kinds=server_changed&limit=10").await.json();
    let operations: Vec<&Value> = found["records"]
        .as_array()
        .expect("records")
        .iter()
        .map(|record| &record["context"]["operation"])
        .collect();
    assert_eq!(operations, ["servers_toggle", "servers_toggle", "servers_test"], "{found}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_is_refused_as_a_problem() {
    let gateway = TestGateway::start(&octroi(), &config()).await;
    let (admin, ana) = (RestClient::admin(&gateway), RestClient::new(&gateway, ANA));
    let nobody = RestClient { gateway: &gateway, token: None };
    let wrong = RestClient::new(&gateway, "wrong");
    let agent = RestClient::new(&gateway, AGENT_TOKEN);
    let json_type = ("content-type", "application/json");
    let toggle = "/api/mcp/servers/peer/toggle";
    let own = |status: u16, code: &str| (status, code.to_owned());
    for (client, method, path, headers, body, expected) in [
        (&nobody, Method::GET, "/api/mcp/servers", &[][..], "", own(401, "unauthenticated")),
        (&wrong, Method::GET, "/api/mcp/servers", &[], "", own(401, "unauthenticated")),
        (&agent, Method::GET, "/api/mcp/servers", &[], "", own(403, "people_only")),
        (&agent, Method::GET, "/api/audit", &[], "", own(403, "people_only")),
        (&ana, Method::POST, "/api/mcp/servers/peer/test", &[json_type], "{}", own(403, "admins_only")),
        (&ana, Method::GET, "/api/audit?agent=other", &[], "", own(404, "not_found")),
        (&admin, Method::GET, "/api", &[], "", own(404, "path_not_found")),
        (&admin, Method::GET, "/api/mcp/nothing", &[], "", own(404, "path_not_found")),
        (&admin, Method::POST, "/api/mcp/servers/nobody/test", &[json_type], "{}", own(404, "not_found")),
        (&admin, Method::DELETE, "/api/mcp/health", &[], "", own(405, "method_not_allowed")),
        (&admin, Method::TRACE, "/api/mcp/health", &[], "", own(405, "method_not_allowed")),
        (
            &admin,
            Method::PATCH,
            toggle,
            &[("content-type", "text/plain")],
            "{}",
            own(415, "unsupported_media_type"),
        ),
        (&admin, Method::PATCH, toggle, &[], "{}", own(415, "unsupported_media_type")),
        (&admin, Method::PATCH, toggle, &[json_type], "{", own(400, "parse_error")),
        (&admin, Method::PATCH, toggle, &[json_type], "\u{7f}", own(400, "parse_error")),
        (&admin, Method::PATCH, toggle, &[json_type], "[]", own(422, "invalid_params")),
        (&admin, Method::PATCH, toggle, &[json_type], "", own(422, "invalid_params")),
        (
            &admin,
            Method::PATCH,
            toggle,
            &[json_type],
            "{\"enabled\":true,\"enabled\":false}",
            own(422, "invalid_params"),
        ),
        (
            &admin,
            Method::PATCH,
            toggle,
            &[json_type],
            "{\"enabled\":true,\"colour\":1}",
            own(422, "invalid_params"),
        ),
        (
            &admin,
            Method::PATCH,
            toggle,
            &[json_type],
            "{\"enabled\":true,\"name\":\"x\"}",
            own(422, "invalid_params"),
        ),
        (&admin, Method::GET, "/api/mcp/tools?colour=red", &[], "", own(422, "invalid_params")),
        (&admin, Method::GET, "/api/mcp/tools?risk_level_max=no", &[], "", own(422, "invalid_arguments")),
        (&admin, Method::GET, "/api/audit?limit=1&limit=2", &[], "", own(422, "invalid_params")),
        (&admin, Method::GET, "/api/audit?text=%ff", &[], "", own(400, "invalid_request")),
        (&admin, Method::GET, "/api/mcp/servers", &[("host", "evil.example")], "", own(403, "forbidden")),
        (
            &admin,
            Method::GET,
            "/api/mcp/servers",
            &[("origin", "https://evil.example")],
            "",
            own(403, "forbidden"),
        ),
    ] {
        let answer = client.send(method.clone(), path, headers, body).await;
        assert_eq!(problem(&answer), expected, "{method} {path} {body}: {}", answer.json());
        if answer.status == 405 {
            assert_eq!(header(&answer, "allow"), "GET, HEAD");
        }
        if answer.status == 401 {
            assert!(header(&answer, "www-authenticate").starts_with("Bearer"));
        }
    }
    let long = "x".repeat((4 << 20) + 1);
    let answer = admin.send(Method::PATCH, toggle, &[json_type], &long).await;
    assert_eq!(problem(&answer), own(413, "request_too_large"));
    for (method, path, instead) in [
        (Method::GET, "/api/agents", "resource://agents/list"),
        (Method::POST, "/api/agents", "agents_create"),
        (Method::GET, "/ws/approvals", "resource://approvals/pending"),
    ] {
        let answer = admin.send(method, path, &[], "").await;
        assert_eq!(problem(&answer), own(404, "path_not_found"));
        let hint = answer.json()["hint"].as_str().unwrap_or_default().to_owned();
        assert!(hint.contains(&format!("`{instead}`")) && hint.contains("/mcp"), "{hint}");
    }
    // Pages that the configuration names may call.
    let origin = [("origin", "https://app.example"), ("access-control-request-method", "PATCH")];
    let preflight = nobody.send(Method::OPTIONS, toggle, &origin, "").await;
    assert!(header(&preflight, "access-control-allow-methods").contains("PATCH"), "{preflight:?}");
    let answer = admin.send(Method::GET, "/api/mcp/health", &origin[..1], "").await;
    assert_eq!(header(&answer, "access-control-allow-origin"), "https://app.example");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn problems_are_told_in_the_language_of_the_client() {
    let gateway = TestGateway::start(&octroi(), &config()).await;
    let (admin, ana) = (RestClient::admin(&gateway), RestClient::new(&gateway, ANA));
    let body = json!({"agent": "tester", "tool": "broken.x"});
    for (language, tag, missing, forbidden) in [
        ("", "en", "The server does not exist.", "You have no permission for this server."),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh-CN", "服务器不存在", "无权限操作此服务器"),
    ] {
        let headers = [("accept-language", language), ("content-type", "application/json")];
        let answer = admin.send(Method::POST, "/api/mcp/servers/nobody/test", &headers, "{}").await;
        assert_eq!(
            (header(&answer, "content-language"), answer.json()["message"].as_str()),
            (tag, Some(missing))
        );
        let detail = answer.json()["detail"].as_str().unwrap_or_default().to_owned();
        assert!(detail.contains("`nobody`"), "{detail}");
        let answer = ana.send(Method::POST, "/api/mcp/servers/peer/test", &headers, "{}").await;
        assert_eq!(answer.json()["message"], forbidden);
        let answer = admin.send(Method::POST, "/api/mcp/servers/broken/test", &headers, "{}").await;
        let json = answer.json();
        let begins = if tag == "en" { "The connection failed: " } else { "连接失败：" };
        let expected = format!("{begins}{}", json["detail"].as_str().unwrap_or_default());
        assert_eq!((problem(&answer).0, &json["message"]), (502, &json!(expected)));
        let answer = admin.send(Method::POST, "/api/mcp/call", &headers, &body.to_string()).await;
        assert!(answer.status == 404 || answer.status == 502, "{}", answer.json());
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rest_can_be_switched_off_and_on() {
    let with = |is_on: bool| format!("[rest]\nenabled = {is_on}\n{}", config());
    let gateway = TestGateway::start(&octroi(), &with(false)).await;
    let admin = RestClient::admin(&gateway);
    for path in ["/api/mcp/servers", "/api/openapi.json", "/api/nothing"] {
        let answer = admin.get(path).await;
        assert_eq!(problem(&answer), (404, "path_not_found".to_owned()));
        assert!(
            answer.json()["hint"].as_str().is_some_and(|hint| hint.contains("[rest]")),
            "{}",
            answer.json()
        );
    }
    gateway.rewrite_config(&with(true));
    crate::manage::command(&gateway, 0, &["reload", "--yes"]).await;
    assert_eq!(admin.get("/api/mcp/servers").await.status, 200);
    gateway.rewrite_config(&with(false));
    crate::manage::command(&gateway, 0, &["reload", "--yes"]).await;
    assert_eq!(admin.get("/api/mcp/servers").await.status, 404);
    gateway.stop().await;
}
