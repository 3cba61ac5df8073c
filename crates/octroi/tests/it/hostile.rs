//! Four hostile agents and a server that lies, while a fifth agent works: it does not notice.
//!
//! Agents are processes of their own. The hostile ones and the lying server get a core only when no other
//! program wants it: the test is about what the gateway does for them, and not about what they do themselves. In a
//! second variant they compete for the cores like any program.

mod crowd;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use octroi_testkit::agent::report::{AttackReport, HonestReport};
use octroi_testkit::gateway::{AGENT_TOKEN, TestGateway};
use octroi_testkit::peer::process::PeerProcess;
use octroi_testkit::{agent_binary, liar_binary, peer_binary};
use serde_json::json;

use crate::harness::{octroi, remote_entry};
use crate::processes::{descendants, left_of};
use crate::soak;
use crowd::{Agent, LAST, Resources};

/// Set by `cargo xtask soak`: a directory with optimised programs, to measure those.
const PROGRAMS: &str = "OCTROI_SOAK_PROGRAMS";

/// The hostile agents: their names and what they do.
const HOSTILE: [(&str, &[&str]); 4] = [
    ("slow", &["--behaviour", "slow"]),
    ("huge", &["--behaviour", "huge"]),
    ("deep", &["--behaviour", "deep", "--behaviour", "lying"]),
    ("many", &["--behaviour", "many"]),
];

const MEMORY_MAX: u64 = 300_000_000;
/// The same for a build without optimisation, whose futures and parse trees are larger.
const DEBUG_MEMORY_MAX: u64 = 600_000_000;
/// What may be left of the memory, besides a fifth of it: the allocator returns it in its own time.
const MEMORY_LEFT: u64 = 20_000_000;
/// What a stop may take: the grace of calls, the grace of servers, and the last resort.
const STOP_MAX: Duration = Duration::from_secs(26);

/// A p99 below this counts as this. A request passes four threads of three processes; with two cores, one
/// of them may have to wait until the kernel's slice of another thread of the gateway is over (3 ms).
const P99_MIN_US: u64 = 2_000;

/// How long each part takes.
struct Plan {
    before: Duration,
    during: Duration,
    /// From the end of the attacks to the last measurement.
    recovery: Duration,
    after: Duration,
    /// Whether the programs are optimised, so that their memory is what it will be.
    is_measured: bool,
    /// Whether times are asserted, which needs optimised programs and time.
    is_timed: bool,
}

impl Plan {
    fn of(minutes: Option<Duration>, priority: Priority) -> Self {
        let seconds = Duration::from_secs;
        match minutes {
            Some(during) => Self {
                before: seconds(60),
                during,
                recovery: seconds(60),
                after: seconds(30),
                is_measured: true,
                is_timed: priority == Priority::Last,
            },
            None => Self {
                before: seconds(5),
                during: seconds(25),
                recovery: seconds(15),
                after: seconds(3),
                is_measured: false,
                is_timed: false,
            },
        }
    }
}

/// When the hostile agents and the lying server get a core.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Priority {
    /// After all other programs.
    Last,
    /// Like any program. What they do themselves then delays everybody, so times are printed and not asserted.
    Usual,
}

/// The programs that take part.
struct Programs {
    octroi: PathBuf,
    peer: PathBuf,
    agent: PathBuf,
    liar: PathBuf,
}

impl Programs {
    fn find() -> Self {
        match std::env::var_os(PROGRAMS).map(PathBuf::from) {
            Some(directory) => Self {
                octroi: directory.join("octroi"),
                peer: directory.join("octroi-peer"),
                agent: directory.join("octroi-agent"),
                liar: directory.join("octroi-liar"),
            },
            None => {
                Self { octroi: octroi(), peer: peer_binary(), agent: agent_binary(), liar: liar_binary() }
            }
        }
    }

    fn stdio(&self, name: &str, flags: &[&str]) -> String {
        let program = self.peer.display().to_string();
        let command: Vec<&str> = std::iter::once(program.as_str()).chain(flags.iter().copied()).collect();
        format!("[[mcp.servers]]\nname = \"{name}\"\ncommand = {}\n", json!(command))
    }

    /// Healthy servers of both eras and transports, one whose calls need approval, one that hangs, one that
    /// lies.
    fn config(&self, remote: &PeerProcess, hanging: &PeerProcess, priority: Priority) -> String {
        let tokens = HOSTILE.iter().map(|(name, _)| {
            format!("[[tokens]]\ntoken = \"oct_agt_{name}\"\nrole = \"agent\"\nagent_id = \"{name}\"\n")
        });
        let tokens = tokens.collect::<Vec<_>>().concat();
        let program = self.liar.display().to_string();
        let liar = match priority {
            Priority::Last => json!([&LAST[..], &[program.as_str()]].concat()),
            Priority::Usual => json!([program]),
        };
        [
            "[policy]\nprofile = \"guarded\"\nproposals = true\n[approvals]\nwait = \"200ms\"\n".to_owned(),
            tokens,
            self.stdio("good", &[]),
            self.stdio("fresh", &["--era", "modern"]),
            remote_entry("remote", "http", &remote.url),
            self.stdio("bulk", &[]),
            self.stdio("asks", &[]),
            "risk_overrides = { echo = \"high\" }\n".to_owned(),
            remote_entry("hang", "http", &hanging.url),
            "timeout = \"2s\"\n".to_owned(),
            format!("[[mcp.servers]]\nname = \"liar\"\ncommand = {liar}\ntimeout = \"2s\"\n"),
        ]
        .concat()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_agents_harm_nobody() {
    harm_nobody(Priority::Last).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_agents_that_compete_for_the_cores_harm_nobody() {
    harm_nobody(Priority::Usual).await;
}

#[expect(clippy::print_stdout, reason = "the soak shows what was measured")]
async fn harm_nobody(priority: Priority) {
    let plan = Plan::of(soak::minutes(), priority);
    let programs = Programs::find();
    let start = async |flags: &[&str]| {
        PeerProcess::start_program(&programs.peer, flags).await.expect("the peer starts")
    };
    let remote = start(&["--transport", "http"]).await;
    let hanging = start(&["--transport", "http", "--era", "modern", "--fault", "http-hang"]).await;
    let gateway = TestGateway::start(&programs.octroi, &programs.config(&remote, &hanging, priority)).await;
    let id = gateway.child.id().expect("it runs");

    let honest = ["--gateway", &gateway.base, "--token", AGENT_TOKEN, "--behaviour", "honest"];
    let mut honest = Agent::start(&programs.agent, &honest);
    // The first requests warm up what the others use.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let session = honest.report::<HonestReport>().session;
    tokio::time::sleep(plan.before).await;
    let before: HonestReport = honest.report();
    let (rest, n_processes) = (Resources::of(id), descendants(id).len());

    let mut hostile: Vec<Agent> = HOSTILE
        .iter()
        .map(|(name, behaviour)| {
            let token = format!("oct_agt_{name}");
            // In one word: the id of a session may begin with a dash.
            let session = format!("--foreign-session={session}");
            let common = ["--gateway", &gateway.base, "--token", &token, &session];
            let flags = [&common[..], behaviour].concat();
            match priority {
                Priority::Last => Agent::start_last(&programs.agent, &flags),
                Priority::Usual => Agent::start(&programs.agent, &flags),
            }
        })
        .collect();
    let peak = Resources::peak_during(id, plan.during).await;
    let during: HonestReport = honest.report();
    for ((name, _), agent) in HOSTILE.iter().zip(&mut hostile) {
        let answered: AttackReport = agent.report();
        println!("{name}: {answered:?}");
        assert!(!answered.is_empty(), "{name} was hostile");
    }
    drop(hostile);
    let ended = Instant::now();
    tokio::time::sleep(plan.recovery.saturating_sub(plan.after)).await;
    let _: HonestReport = honest.report();
    tokio::time::sleep(plan.after).await;
    let after: HonestReport = honest.report();
    println!("{}", crowd::table([("before", &before), ("during", &during), ("after", &after)]));
    let left = Resources::settled(id, &rest, ended + plan.recovery + Duration::from_secs(5)).await;
    println!("gateway before {rest}; at most {peak}; afterwards {left}");

    for (phase, report) in [("before", &before), ("during", &during), ("after", &after)] {
        assert_eq!(report.failures, Vec::<String>::new(), "{phase}");
        assert!(report.latencies["all"].n > 100, "{phase}: it worked");
    }
    let memory_max = if plan.is_measured { MEMORY_MAX } else { DEBUG_MEMORY_MAX };
    assert!(peak.memory < memory_max, "{peak}");
    let may_be_left = if plan.is_measured { (rest.memory / 5).max(MEMORY_LEFT) } else { rest.memory };
    assert!(left.memory <= rest.memory + may_be_left, "{rest} before, {left} afterwards");
    assert!(left.descriptors <= rest.descriptors + 8, "{rest} before, {left} afterwards");
    assert!(descendants(id).len() <= n_processes, "processes are left");
    if plan.is_timed {
        let (calm, busy) = (before.latencies["all"], during.latencies["all"]);
        let limit = 3 * calm.p99_us.max(P99_MIN_US);
        assert!(busy.p99_us <= limit, "p99 {} µs, then {} µs", calm.p99_us, busy.p99_us);
    }
    stops_in_time(gateway, honest).await;
}

/// Ends the gateway while its agent works.
async fn stops_in_time(gateway: TestGateway, honest: Agent) {
    let processes = descendants(gateway.child.id().expect("it runs"));
    let begun = Instant::now();
    gateway.stop().await;
    let took = begun.elapsed();
    assert!(took < STOP_MAX, "{took:?}");
    assert_eq!(left_of(&processes).await, Vec::<u32>::new());
    drop(honest);
}
