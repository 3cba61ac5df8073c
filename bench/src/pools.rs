//! What users with servers of their own cost: memory, lists, changes of a list, and calls with one pool and with a thousand.
//!
//! The gateway runs in this process, without front end and audit log, so that what is measured is not lost in them. The
//! servers are in another one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use octroi_core::Principal;
use octroi_core::principal::TokenName;
use octroi_core::server::{EraChoice, Remote, ServerSpec, Start, Transport};
use octroi_core::{ServerKey, clock::Clock};
use octroi_gateway::{
    Answer, Caller, Gateway, GatewayOptions, GovernanceSettings, NoClient, PoolLimits, Processes, View,
};
use octroi_mcp::capability::ClientCapabilities;
use octroi_mcp::params::Params;
use octroi_mcp::{Envelope, Era, Id, Method, envelope};
use serde_json::json;

use crate::process::BenchPeer;
use crate::report::{self, grouped};
use crate::{BenchResult, cpu};

const USERS: usize = 1_000;
const SERVERS_EACH: usize = 5;
const TOOLS_EACH: usize = 10;
const SHARED: usize = 50;
const TOOLS_SHARED: usize = 20;
/// Calls of one round.
const CALLS: usize = 4_000;
const ROUNDS: usize = 7;
/// How often the list of a server is changed.
const TIMES: u32 = 10;

/// Prints the tables.
pub(crate) async fn many_users() -> BenchResult<()> {
    // The gateway has threads of its own, as in the program.
    octroi_gateway::raise_open_files();
    // The gateway has threads of its own, as in the program.
    let measuring = std::thread::spawn(|| -> BenchResult<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let measured = runtime.block_on(measure());
        runtime.shutdown_background();
        measured
    });
    let measured = tokio::task::spawn_blocking(move || measuring.join()).await?;
    measured.map_err(|_| "the measurement panicked")?
}

async fn measure() -> BenchResult<()> {
    let servers = BenchPeer::tool_servers().await?;
    let gateway = start().await?;
    let shared: Vec<ServerSpec> = (0..SHARED).map(|number| spec(&servers.url, None, number)).collect();
    let own = (0..USERS).flat_map(|user| (0..SERVERS_EACH).map(move |number| (user, number)));
    let own: Vec<ServerSpec> = own.map(|(user, number)| spec(&servers.url, Some(user), number)).collect();
    let agents: Vec<Principal> = (0..USERS).map(agent).collect();

    apply(&gateway, shared.clone());
    gateway.servers().refresh_servers().await;
    let before = memory().await;
    apply(&gateway, shared.into_iter().chain(own).collect());
    let refreshed = gateway.servers().refresh_servers().await;
    if refreshed.n_servers != SHARED + USERS * SERVERS_EACH {
        return Err(format!(
            "{} servers answered: {:?}",
            refreshed.n_servers,
            refreshed.failed.iter().next()
        )
        .into());
    }
    let with_servers = memory().await;
    for agent in &agents {
        let n_bytes = list(&gateway, agent).await?;
        if n_bytes < (SHARED * TOOLS_SHARED + SERVERS_EACH * TOOLS_EACH) * 300 {
            return Err(format!("a list of {n_bytes} bytes is too short").into());
        }
    }
    let in_use = memory().await;
    lists(&gateway, &agents).await?;
    changes(&gateway, &servers.url, &agents).await?;
    calls(&gateway, &agents).await?;

    // Sweeps come every 30 seconds.
    tokio::time::sleep(Duration::from_secs(95)).await;
    let idle = memory().await;
    let each = |from: u64, to: u64| (to as f64 - from as f64) / USERS as f64;
    report::table("Memory of users with servers of their own", &["each user", "KiB"]);
    let what = format!("{SERVERS_EACH} servers of {TOOLS_EACH} tools: definitions and connections");
    println!("| {what} | {:.1} |", each(before, with_servers));
    println!("| more, when an agent has just listed all tools | {:.1} |", each(with_servers, in_use));
    println!("| more, {} s later | {:.1} |", IDLE.as_secs(), each(with_servers, idle));
    gateway.stop(Duration::from_secs(5)).await;
    Ok(())
}

/// How long pools are kept here.
const IDLE: Duration = Duration::from_secs(30);

async fn start() -> BenchResult<Arc<Gateway>> {
    let processes = Processes { owner: "bench-pools".to_owned(), reaper: None, is_alone: false };
    let clock: Clock = octroi_gateway::system_clock();
    let options = GatewayOptions { servers: Vec::new(), processes, persistence: None, builtin: None, clock };
    let gateway = Gateway::start(options).await?;
    let settings = GovernanceSettings {
        pools: PoolLimits { idle: IDLE, max: 2 * USERS },
        ..GovernanceSettings::default()
    };
    gateway.govern(settings, octroi_core::config::AuditSection::default(), &[]).await?;
    Ok(gateway)
}

fn spec(url: &str, user: Option<usize>, number: usize) -> ServerSpec {
    let (key, path) = match user {
        None => (format!("shared{number:02}"), format!("shared{number}/{TOOLS_SHARED}")),
        Some(user) => (format!("{}/own{number}", user_name(user)), format!("u{user}-{number}/{TOOLS_EACH}")),
    };
    let remote = Remote { url: format!("{url}/{path}"), headers: BTreeMap::new() };
    let key = ServerKey::parse(&key).unwrap_or_else(ServerKey::octroi);
    ServerSpec {
        start: Start::Manual,
        era: EraChoice::Modern,
        health_interval: None,
        ..ServerSpec::new(key, Transport::Http(remote))
    }
}

fn apply(gateway: &Arc<Gateway>, specs: Vec<ServerSpec>) {
    let agreed = specs.iter().map(|spec| spec.key.clone()).collect();
    gateway.servers().apply(specs, true, &agreed);
}

fn user_name(user: usize) -> String {
    format!("user{user:04}")
}

fn agent(user: usize) -> Principal {
    Principal::agent(&format!("agent{user:04}"), &user_name(user), TokenName::labelled("bench"))
}

async fn memory() -> u64 {
    tokio::time::sleep(Duration::from_secs(2)).await;
    cpu::memory_of(std::process::id())
}

fn used() -> Duration {
    cpu::time_of(std::process::id())
}

/// Lists all tools of an agent; returns the length of the answer.
async fn list(gateway: &Arc<Gateway>, agent: &Principal) -> BenchResult<usize> {
    Ok(ask(gateway, agent, &Method::ToolsList, "{}").await?.len())
}

async fn ask(
    gateway: &Arc<Gateway>,
    agent: &Principal,
    method: &Method,
    params: &str,
) -> BenchResult<bytes::Bytes> {
    let caller = Caller {
        owner: Arc::clone(agent.id()),
        principal: agent.clone(),
        on_behalf_of: None,
        era: Era::Modern,
        capabilities: ClientCapabilities::default(),
        info: None,
        log_level: None,
        has_admin_token: false,
        base: None,
        session: None,
        client: Arc::new(NoClient),
    };
    let request = envelope::request(&Id::number(1), method, params.as_bytes());
    let request = Envelope::parse(request).map_err(|_| "not a request")?;
    let params = Params::read(request.params()).map_err(|_| "no parameters")?;
    match gateway.request(&View::Merged, &caller, &request, &params).await {
        Answer::Result(result) => Ok(result),
        Answer::Error(error) => Err(error.message.into()),
        Answer::ErrorJson { json, .. } => Err(String::from_utf8_lossy(&json).into_owned().into()),
    }
}

async fn lists(gateway: &Arc<Gateway>, agents: &[Principal]) -> BenchResult<()> {
    let one = async |agents: &[Principal]| -> BenchResult<f64> {
        let before = used();
        for round in 0..2 * USERS {
            list(gateway, &agents[round % agents.len()]).await?;
        }
        Ok((used() - before).as_secs_f64() * 1e6 / (2 * USERS) as f64)
    };
    report::table("Lists of 1,050 tools", &["pools", "µs of CPU for each list"]);
    let of_one = one(&agents[..1]).await?;
    println!("| 1 | {of_one:.0} |");
    println!("| {} | {:.0} |", grouped(USERS as u64), one(agents).await?);
    Ok(())
}

/// One server's list changes, and everybody lists again.
async fn changes(gateway: &Arc<Gateway>, url: &str, agents: &[Principal]) -> BenchResult<()> {
    report::table(
        "A changed list of one server",
        &["server", "ms of CPU to take it over", "µs of CPU for each user's next list"],
    );
    for (name, path) in [
        (format!("{}/own0", user_name(7)), format!("u7-0/{TOOLS_EACH}")),
        ("shared07".to_owned(), format!("shared7/{TOOLS_SHARED}")),
    ] {
        let key = ServerKey::parse(&name).ok_or("no key")?;
        let upstream = gateway.servers().upstream(&key).ok_or("no server")?;
        let mut taking = Duration::ZERO;
        let mut listing = Duration::ZERO;
        for _ in 0..TIMES {
            crate::http_load::post(&format!("{url}/change/{path}")).await?;
            let before = used();
            gateway.servers().refresh_running(&upstream).await;
            taking += used() - before;
            let before = used();
            for agent in agents {
                list(gateway, agent).await?;
            }
            listing += used() - before;
        }
        let (taking, listing) = (taking / TIMES, listing / TIMES);
        let each = listing.as_secs_f64() * 1e6 / agents.len() as f64;
        println!("| {name} | {:.2} | {each:.0} |", taking.as_secs_f64() * 1e3);
    }
    Ok(())
}

/// The same tool of a shared server, by one agent and by a thousand with pools of their own, in turns.
async fn calls(gateway: &Arc<Gateway>, agents: &[Principal]) -> BenchResult<()> {
    let params =
        json!({"name": "shared07_read_record_3", "arguments": {"key": "k", "fields": []}}).to_string();
    let round = async |agents: &[Principal]| -> BenchResult<f64> {
        let before = used();
        for number in 0..CALLS {
            ask(gateway, &agents[number % agents.len()], &Method::ToolsCall, &params).await?;
        }
        Ok((used() - before).as_secs_f64() * 1e6 / CALLS as f64)
    };
    let (mut of_one, mut of_many) = (f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        of_one = of_one.min(round(&agents[..1]).await?);
        of_many = of_many.min(round(agents).await?);
    }
    report::table("Calls", &["pools", "µs of CPU for each call"]);
    println!("| 1 | {of_one:.1} |");
    println!("| {} | {of_many:.1} ({:+.1} %) |", grouped(USERS as u64), (of_many / of_one - 1.0) * 100.0);
    Ok(())
}
