//! Routes of REST belong to operations, and their errors have texts in every language.

use std::collections::BTreeSet;

use octroi_api::messages::{self, Texts};
use octroi_api::rest::{self, Found, FoundRoute, Given, Method, Place, REMOVED, Subject};
use octroi_api::{ApiError, ErrorCode, Face, Language, Problem, RESOURCES, operations};
use serde_json::{Value, json};

/// A lost or changed route would break scripts.
#[test]
fn all_routes() {
    let routes: Vec<String> = rest::routes()
        .map(|(operation, route)| {
            let face = if operation.has_face(Face::Management) { "" } else { " (agents)" };
            let fixed = route.fixed.map(|(member, text)| format!(" {member}={text}")).unwrap_or_default();
            let id = route.id.map(|member| format!(" id={member}")).unwrap_or_default();
            format!(
                "{} {} {}{face}{id}{fixed} {}",
                route.method.as_str(),
                route.path,
                operation.name,
                route.status
            )
        })
        .collect();
    expect_test::expect![[r#"
        GET /api/mcp/servers servers_list 200
        POST /api/mcp/servers servers_add 201
        POST /api/mcp/admin/servers servers_add scope=system 201
        PUT /api/mcp/servers/{id} servers_update id=name 200
        DELETE /api/mcp/servers/{id} servers_delete id=name 200
        PATCH /api/mcp/servers/{id}/toggle servers_toggle id=name 200
        POST /api/mcp/servers/{id}/test servers_test id=name 200
        POST /api/mcp/servers/refresh servers_refresh 200
        GET /api/mcp/templates templates_list 200
        GET /api/mcp/health health_check_all 200
        GET /api/mcp/tools tools_list_catalog 200
        POST /api/mcp/call tools_call 200
        GET /api/mcp/tools tools_list_catalog (agents) 200
        POST /api/mcp/call tools_call (agents) 200
        GET /api/sessions/{id}/mcp-config sessions_get_mcp_config id=session_id 200
        PUT /api/sessions/{id}/mcp-config sessions_set_mcp_config id=session_id 200
        GET /api/audit audit_query 200
    "#]]
    .assert_eq(&format!("{}\n", routes.join("\n")));
}

#[test]
fn every_route_fits_its_operation() {
    let mut seen = BTreeSet::new();
    for (operation, route) in rest::routes() {
        let place = format!("{} {}", route.method.as_str(), route.path);
        assert!(route.path.starts_with("/api/"), "{place}");
        assert!(seen.insert((place.clone(), operation.has_face(Face::Management))), "{place} twice");
        assert_eq!(route.path.contains("{id}"), route.id.is_some(), "{place}");
        let schema = operation.input_schema();
        let renamed = match route.place {
            Place::Query(names) => names,
            Place::Body => &[],
        };
        let members = route.id.into_iter().chain(route.fixed.map(|(member, _)| member));
        for member in members.chain(renamed.iter().map(|(_, member)| *member)) {
            assert!(schema["properties"][member].is_object(), "{place}: `{member}` is no argument");
        }
        // What changes something is no GET, which caches and crawlers send.
        assert!(route.method != Method::Get || operation.is_read_only(), "{place}");
        assert!(!operation.is_read_only() || route.method == Method::Get, "{place}");
    }
    for operation in operations::all().filter(|operation| !operation.is_tool()) {
        assert!(!operation.rest.is_empty(), "{} is nowhere", operation.name);
    }
}

fn found(method: Method, path: &str) -> Vec<FoundRoute<'_>> {
    match rest::find(Some(method), path) {
        Found::Routes(found) => found,
        other => panic!("{path}: {other:?}"),
    }
}

#[test]
fn paths_are_found_with_their_methods() {
    let name = |method, path| found(method, path)[0].operation.name;
    assert_eq!(name(Method::Get, "/api/mcp/servers"), "servers_list");
    assert_eq!(name(Method::Post, "/api/mcp/servers/refresh"), "servers_refresh");
    let toggle = found(Method::Patch, "/api/mcp/servers/a%20b/toggle");
    assert_eq!((toggle[0].operation.name, toggle[0].id), ("servers_toggle", "a%20b"));
    let call = found(Method::Post, "/api/mcp/call");
    assert_eq!(call.len(), 2, "one for people, one for agents");
    for face in Face::ALL {
        assert!(FoundRoute::at(&call, face).is_some_and(|one| one.operation.has_face(face)));
    }
    assert!(FoundRoute::at(&toggle, Face::Agent).is_none());
    for path in [
        "/api",
        "/api/",
        "/api/mcp",
        "/api/mcp/servers/",
        "/api/mcp/servers//toggle",
        "/api/mcp/servers/a/b/toggle",
    ] {
        assert!(matches!(rest::find(Some(Method::Patch), path), Found::Nothing), "{path}");
    }
    let Found::OtherMethods(methods) = rest::find(None, "/api/mcp/servers/a/toggle") else {
        panic!("it has a method");
    };
    assert_eq!(methods, [Method::Patch]);
    assert_eq!((Method::parse("HEAD"), Method::parse("TRACE")), (Some(Method::Get), None));
}

fn arguments(method: Method, path: &str, given: Given) -> Result<Value, String> {
    let found = found(method, path);
    let route = FoundRoute::at(&found, Face::Management).expect("a route for people");
    route.arguments(given).map_err(|error| format!("{}: {}", error.code, error.message))
}

fn query(pairs: &[(&str, &str)]) -> Given {
    let query = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Given { query: query.collect(), ..Given::default() }
}

#[test]
fn queries_become_arguments_of_their_types() {
    let tools = |pairs: &[(&str, &str)]| arguments(Method::Get, "/api/mcp/tools", query(pairs));
    assert_eq!(tools(&[]), Ok(json!({})));
    assert_eq!(
        tools(&[("server_id", "a"), ("server_id", "b"), ("risk_level_max", "MED")]),
        Ok(json!({"servers": ["a", "b"], "risk_level_max": "MED"}))
    );
    let unknown = |name: &str| Err(format!("invalid_params: there is no parameter `{name}` in this query"));
    assert_eq!(tools(&[("servers", "a")]), unknown("servers"), "it has another name there");
    assert_eq!(tools(&[("colour", "red")]), unknown("colour"));
    let audit = |pairs: &[(&str, &str)]| arguments(Method::Get, "/api/audit", query(pairs));
    assert_eq!(
        audit(&[("since_ms", "5"), ("limit", "+7"), ("kinds", "server_changed"), ("text", "1")]),
        // What is no number stays text, and the operation refuses it.
        Ok(json!({"since_ms": 5, "limit": "+7", "kinds": ["server_changed"], "text": "1"}))
    );
    assert_eq!(
        audit(&[("limit", "1"), ("limit", "2")]),
        Err("invalid_params: the parameter `limit` is given more than once".to_owned())
    );
    let toggle = |given: Given| arguments(Method::Patch, "/api/mcp/servers/x/toggle", given);
    let body = |body: Value| Given { id: "ana/x".to_owned(), body: Some(body), ..Given::default() };
    assert_eq!(toggle(body(json!({"enabled": true}))), Ok(json!({"enabled": true, "name": "ana/x"})));
    for refused in
        [body(json!({"enabled": true, "name": "y"})), body(json!([])), query(&[("enabled", "true")])]
    {
        assert!(toggle(refused).is_err_and(|error| error.starts_with("invalid_params: ")));
    }
}

#[test]
fn what_other_programs_have_is_pointed_to() {
    for removed in &REMOVED {
        let is_resource = RESOURCES.iter().any(|resource| resource.uri == removed.instead);
        let is_tool = octroi_api::find(Face::Management, removed.instead).is_some();
        assert!(is_resource || is_tool, "{} does not exist", removed.instead);
        let path = removed.path.replace("{id}", "x");
        assert!(matches!(rest::find(None, &path), Found::Nothing), "{path} is served");
        assert_eq!(rest::replacement(removed.method.unwrap_or("GET"), &path), Some(removed.instead));
    }
    assert_eq!(
        rest::replacement("DELETE", "/api/agents/"),
        Some("resource://agents/list"),
        "of another method"
    );
    assert_eq!(rest::replacement("GET", "/api/mcp/nothing"), None);
}

/// The error of this code in all languages.
#[test]
fn every_error_speaks_every_language() {
    for code in ErrorCode::ALL {
        assert!(messages::is_translated(code), "{code}");
        for subject in [Subject::Anything, Subject::Server] {
            let [english, chinese] = Language::ALL.map(|language| Texts::of(code, subject, language));
            for (one, other) in [
                (english.title, chinese.title),
                (english.message, chinese.message),
                (english.hint, chinese.hint),
            ] {
                assert!(!one.is_empty() && one.is_ascii(), "{code}: {one}");
                assert!(
                    other.chars().any(|letter| ('\u{4e00}'..='\u{9fff}').contains(&letter)),
                    "{code}: {other}"
                );
                assert_eq!(one.contains("{details}"), other.contains("{details}"), "{code}");
            }
            // Commands and settings are called the same in every language.
            let named = |text: &'static str| text.split('`').skip(1).step_by(2).collect::<Vec<_>>();
            for name in named(chinese.hint) {
                assert!(english.hint.contains(name) || code.spec().about.contains(name), "{code}: {name}");
            }
        }
    }
}

#[test]
fn friendly_messages() {
    for (code, subject, english, chinese) in [
        (
            ErrorCode::CallTimeout,
            Subject::Anything,
            "The connection timed out; check the address of the server.",
            "连接超时，请检查服务器地址",
        ),
        (
            ErrorCode::ServerUnavailable,
            Subject::Anything,
            "The connection failed: no route",
            "连接失败：no route",
        ),
        (
            ErrorCode::AdminsOnly,
            Subject::Server,
            "You have no permission for this server.",
            "无权限操作此服务器",
        ),
        (ErrorCode::NotFound, Subject::Server, "The server does not exist.", "服务器不存在"),
    ] {
        let error = ApiError::new(code, "no route").with_detail("server", "files").with_detail("status", 1);
        for (language, message) in [(Language::English, english), (Language::Chinese, chinese)] {
            let problem = Problem::of(&error, subject, language, "req_1");
            assert_eq!((problem.message.as_str(), problem.detail.as_str()), (message, "no route"));
            assert_eq!(
                (problem.code, problem.status),
                (code, code.spec().http),
                "a detail does not replace it"
            );
            let json = serde_json::to_value(&problem).expect("JSON");
            assert_eq!(
                (&json["type"], &json["server"]),
                (&json!(format!("urn:octroi:error:{code}")), &json!("files"))
            );
        }
    }
}

#[test]
fn the_preferred_language_is_spoken() {
    for (accepted, language) in [
        ("", Language::English),
        ("zh-CN,zh;q=0.9,en;q=0.8", Language::Chinese),
        ("zh-Hant", Language::Chinese),
        ("ZH", Language::Chinese),
        ("en-GB,zh", Language::English),
        ("en;q=0.5, zh;q=0.7", Language::Chinese),
        ("de,fr;q=0.9,zh;q=0.1", Language::Chinese),
        ("de, *;q=0.5, zh;q=0.4", Language::English),
        ("zh;q=0", Language::English),
        ("zh;q=2", Language::English),
        ("zh;level=1", Language::English),
        ("zhx", Language::English),
        (",;q=;;zh", Language::English),
    ] {
        assert_eq!(Language::preferred(accepted), language, "{accepted}");
    }
}

#[test]
fn the_description_says_what_every_path_answers() {
    let description = rest::openapi();
    assert_eq!(description["openapi"], "3.1.0");
    let mut ids = BTreeSet::new();
    for (path, methods) in description["paths"].as_object().expect("paths") {
        for (method, described) in methods.as_object().expect("methods") {
            let place = format!("{method} {path}");
            let id = described["operationId"].as_str().expect("an id");
            assert!(ids.insert(id.to_owned()), "{place}: two have the id {id}");
            let responses = described["responses"].as_object().expect("responses");
            for (status, response) in responses {
                assert!(!response["description"].as_str().unwrap_or_default().is_empty(), "{place} {status}");
                let is_failure = status.as_str() >= "400";
                let kind = if is_failure { "application/problem+json" } else { "application/json" };
                let schema = &response["content"][kind]["schema"];
                jsonschema::draft202012::meta::validate(schema).expect(&place);
            }
            for parameter in described["parameters"].as_array().into_iter().flatten() {
                assert!(parameter["description"].is_string() && parameter["schema"].is_object(), "{place}");
            }
        }
    }
    let call = &description["paths"]["/api/mcp/call"]["post"];
    assert_eq!(call["requestBody"]["content"]["application/json"]["schema"]["required"], json!(["tool"]));
    for status in ["200", "202", "400", "401", "403", "404", "409", "415", "422", "429", "502", "503", "504"]
    {
        assert!(call["responses"][status].is_object(), "{status}");
    }
    // A problem of the gateway is one of the description.
    let error = ApiError::new(ErrorCode::ToolDisabled, "off").with_reason("r").with_detail("server", "x");
    let problem = json!(Problem::of(&error, Subject::Anything, Language::Chinese, "req_1"));
    let schema = description["components"]["schemas"]["Problem"].clone();
    jsonschema::draft202012::new(&schema).expect("a schema").validate(&problem).expect("a problem");
}
