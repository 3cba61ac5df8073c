//! Real clients of both eras with real servers, through Octroi.
//!
//! The steps of a client are a plan in `tests/peers`; here are only the combinations and their results. All
//! servers are mounted at once, so every client sees the merged lists.

mod cast;
pub(crate) mod installed;
mod templates;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use octroi_testkit::client::options::Transport;
use octroi_testkit::gateway::{TestGateway, stdio_transport};
use serde_json::json;

use self::cast::{PlanOutcome, RealClient};
use self::installed::{Everything, Installed};
use crate::harness::{keep, octroi, remote_entry, stdio_entry};
use crate::processes::{descendants, left_of};

/// Name in the gateway, plan, and transport of the server.
const SERVERS: [(&str, &str, &str); 6] = [
    ("everything", "everything", "server-everything, stdio"),
    ("everything-http", "everything", "server-everything, Streamable HTTP"),
    ("everything-sse", "everything", "server-everything, HTTP+SSE"),
    ("fs", "filesystem", "server-filesystem, npx"),
    ("time", "time", "mcp-server-time, python -m"),
    ("merged", "merged", "all at once"),
];

/// The columns for clients that start Octroi themselves, and with it all servers anew for every cell.
const OVER_STDIO: [&str; 3] = ["everything", "fs", "merged"];

/// The clients of the transport of 2024-11-05.
const OVER_SSE: [RealClient; 2] = [cast::NODE_V1, cast::PYTHON_V1];

/// A variable that marks the servers of one gateway, so that they are known when their parent is gone.
const MARK: &str = "OCTROI_TEST_GATEWAY";

/// They take turns: with a shared server, the recipient of a question is clear only while one client uses it.
const CLIENTS: [RealClient; 4] = [cast::NODE_V1, cast::NODE_V2, cast::PYTHON_V1, cast::PYTHON_V2];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn real_clients_use_real_servers() {
    let installed = Installed::find();
    let http = Everything::start(&installed, "streamableHttp", "mcp").await;
    let sse = Everything::start(&installed, "sse", "sse").await;
    // The two gateways share only the remote servers, which keep sessions apart.
    let (over_http, over_stdio) =
        tokio::join!(through_up(&installed, [&http, &sse]), through_stdio(&installed, [&http, &sse]));
    let rows: Vec<Row> = over_http.into_iter().chain(over_stdio).collect();
    let table = render(&rows);
    println!("{table}");
    keep("peers.md", &table);
    let failures: Vec<String> = rows
        .iter()
        .flat_map(|(client, cells)| {
            cells.iter().flat_map(move |(server, outcome)| {
                outcome.failed.iter().map(move |line| format!("{client}, {server}: {line}"))
            })
        })
        .collect();
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

/// Clients that do not begin again when their session is unknown, and need not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn real_legacy_clients_go_on_after_a_restart() {
    let installed = Installed::find();
    let config = stdio_entry("peer", &[]);
    for client in [cast::NODE_V1, cast::PYTHON_V1] {
        let gateway = TestGateway::start(&octroi(), &config).await;
        let (way, files) = (gateway.transport(), tempfile::tempdir().expect("a temporary directory"));
        let restarted = async {
            while gateway.health().await["sessions"] == 0 {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            // By now it waits for news.
            tokio::time::sleep(Duration::from_secs(2)).await;
            let address = gateway.address();
            TestGateway::launch_at(&address, gateway.kill().await, &octroi(), &config, &[]).await
        };
        let (outcome, gateway) =
            tokio::join!(client.run(&installed, &way, "peer", "restart", files.path()), restarted);
        assert!(outcome.failed.is_empty(), "{}: {:#?}", client.label, outcome.failed);
        gateway.stop().await;
    }
}

/// A client and its outcome with each server.
type Row = (String, BTreeMap<&'static str, PlanOutcome>);

async fn through_up(installed: &Installed, remote: [&Everything; 2]) -> Vec<Row> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let gateway = TestGateway::start(&octroi(), &configuration(installed, remote, directory.path())).await;
    let way = gateway.transport();
    let mut rows = Vec::new();
    for client in &CLIENTS {
        let cells = meet_all(installed, client, &way, SERVERS, directory.path()).await;
        rows.push((format!("{} over HTTP", client.label), cells));
    }
    for client in &OVER_SSE {
        let cells = meet_all(installed, client, &gateway.sse_transport(), SERVERS, directory.path()).await;
        rows.push((format!("{} over HTTP+SSE", client.label), cells));
    }
    let started = descendants(gateway.child.id().expect("the gateway runs"));
    gateway.stop().await;
    assert_eq!(left_of(&started).await, [0; 0], "processes outlive the gateway");
    rows
}

async fn through_stdio(installed: &Installed, remote: [&Everything; 2]) -> Vec<Row> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let files = directory.path().join("files");
    std::fs::create_dir(&files).expect("the directory can be made");
    let config = configuration(installed, remote, &files);
    let way = stdio_transport(&octroi(), directory.path(), &config);
    let servers = SERVERS.into_iter().filter(|(server, _, _)| OVER_STDIO.contains(server));
    let mut rows = Vec::new();
    for client in &CLIENTS {
        let cells = meet_all(installed, client, &way, servers.clone(), &files).await;
        rows.push((format!("{} over stdio", client.label), cells));
    }
    // A client gives Octroi little time to end, and a busy server does not end by itself.
    assert_eq!(left_of(&started_for(&files)).await, [0; 0], "processes outlive the gateway");
    rows
}

async fn meet_all(
    installed: &Installed,
    client: &RealClient,
    way: &Transport,
    servers: impl IntoIterator<Item = (&'static str, &'static str, &'static str)>,
    files: &Path,
) -> BTreeMap<&'static str, PlanOutcome> {
    let mut cells = BTreeMap::new();
    for (server, plan, _) in servers {
        clear(files);
        cells.insert(server, client.run(installed, way, server, plan, files).await);
    }
    cells
}

/// The plan for files begins with an empty directory.
fn clear(files: &Path) {
    for entry in std::fs::read_dir(files).expect("the directory can be listed").flatten() {
        std::fs::remove_dir_all(entry.path()).expect("what the last client made can be removed");
    }
}

/// The processes with this directory in their environment.
fn started_for(files: &Path) -> Vec<u32> {
    let mark = format!("{MARK}={}", files.display());
    std::fs::read_dir("/proc")
        .expect("the processes can be listed")
        .flatten()
        .filter_map(|entry| entry.file_name().to_string_lossy().parse().ok())
        .filter(|id: &u32| {
            let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
        })
        .collect()
}

fn configuration(installed: &Installed, [http, sse]: [&Everything; 2], files: &Path) -> String {
    let everything = json!(["node", installed.everything(), "stdio"]);
    let npx = json!(["npx", "--offline", "--no-install", "mcp-server-filesystem", files]);
    let time = json!([installed.python("v2"), "-m", "mcp_server_time", "--local-timezone", "UTC"]);
    let env = format!("env = {{ {MARK} = {} }}", json!(files));
    [
        format!("[[mcp.servers]]\nname = \"everything\"\ncommand = {everything}\n{env}\n"),
        remote_entry("everything-http", "http", &http.url),
        remote_entry("everything-sse", "sse", &sse.url),
        format!(
            "[[mcp.servers]]\nname = \"fs\"\ncommand = {npx}\ncwd = {}\n{env}\n",
            json!(installed.node())
        ),
        format!("[[mcp.servers]]\nname = \"time\"\ncommand = {time}\n{env}\n"),
    ]
    .concat()
}

fn render(rows: &[Row]) -> String {
    let mut out = String::from("| client |");
    for (_, _, title) in SERVERS {
        let _ = write!(out, " {title} |");
    }
    out.push_str("\n|---|");
    out.push_str(&"---|".repeat(SERVERS.len()));
    for (client, cells) in rows {
        let _ = write!(out, "\n| {client} |");
        for (server, _, _) in SERVERS {
            let _ = match cells.get(server) {
                Some(PlanOutcome { passed, failed }) => {
                    write!(out, " {passed} of {} |", passed + failed.len())
                }
                None => write!(out, " not run |"),
            };
        }
    }
    out.push_str(
        "\n\nIn every cell: how many checks of the server's plan in `tests/peers/plans` passed, with connecting \
         and closing. Clients over stdio start a gateway of their own for every cell.\n",
    );
    out
}
