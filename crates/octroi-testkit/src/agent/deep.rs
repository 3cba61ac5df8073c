//! Nested messages, and arguments and policies that are expensive to check.

use serde_json::json;

use super::attack::Attack;

/// The deepest message that the gateway accepts, and one more.
const DEPTHS: [usize; 5] = [50, 60, 64, 65, 100_000];

pub(crate) async fn run(attack: &Attack) {
    let nested: Vec<Vec<u8>> = DEPTHS
        .iter()
        .flat_map(|depth| {
            let arrays = format!("{{\"text\":{}{}}}", "[".repeat(*depth), "]".repeat(*depth));
            let objects = format!("{{\"text\":{}1{}}}", "{\"a\":".repeat(*depth), "}".repeat(*depth));
            [attack.call("good_echo", &arrays), attack.call("good_echo", &objects)]
        })
        .collect();
    let chain = format!("{}{{}}{}", "{\"child\":".repeat(50), "}".repeat(50));
    let tree =
        |n_nodes: usize| format!("{{\"children\":[{}{{}}]}}", "{\"child\":{\"child\":{}}},".repeat(n_nodes));
    let text = |length: usize| format!("{{\"text\":\"{}!\"}}", "a".repeat(length));
    let checked = [
        attack.call("liar_recursive", &chain),
        attack.call("liar_recursive", &tree(2_000)),
        attack.call("liar_recursive", &tree(100_000)),
        attack.call("liar_pattern", &text(50_000)),
        attack.call("liar_pattern", &text(2_000_000)),
        attack.call("liar_choices", &tree(2_000)),
        attack.call("liar_choices", &tree(100_000)),
        attack.call("liar_unique", &format!("{{\"items\":[{}0]}}", "1,2,".repeat(15_000))),
    ];
    let answers = [
        attack.call("liar_deep", "{}"),
        attack.call("liar_nested", "{}"),
        attack.call("liar_garbage", "{}"),
        attack.call("liar_wrong_id", "{}"),
        attack.call("liar_change", "{}"),
    ];
    let policy = |source: String| attack.call("policy_check", &json!({ "source": source }).to_string());
    let propose = |source: String| {
        attack.call("policy_propose", &json!({ "source": source, "rationale": "because" }).to_string())
    };
    let rules = "[[deny]]\ntool = \"a.*b*c*d*e\"\n".repeat(10_000);
    let policies = [
        policy(format!("x = {}{}", "[".repeat(100_000), "]".repeat(100_000))),
        policy(format!("x = {}1{}", "{a=".repeat(5_000), "}".repeat(5_000))),
        policy(format!("{}x = 1", "a.".repeat(100_000))),
        policy(rules.clone()),
        propose(rules),
        propose("[[deny]]\ntool = \"good.*\"\n".to_owned()),
    ];
    tokio::join!(
        attack.send_all("nested body", 4, &nested),
        attack.send_all("costly arguments", 6, &checked),
        attack.send_all("nested answer", 2, &answers),
        attack.send_all("costly policy", 2, &policies),
    );
}
