//! The signed statement that old records were deleted on purpose, and where the log starts since then.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::audit::chain::Hash;
use crate::audit::key::{PublicKey, SigningKey};
use crate::audit::merkle::Tree;

/// Which records were deleted, and what is needed to continue the log without them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purge {
    /// The node that wrote the log.
    pub node: String,
    /// The first deleted record.
    pub first_seq: u64,
    /// The last deleted record. The log starts with the next one.
    pub last_seq: u64,
    /// The chain value after the last deleted record.
    pub chain: Hash,
    /// The tree over everything up to the last deleted record.
    pub tree: Tree,
}

#[derive(Serialize, Deserialize)]
struct Context {
    first_seq: u64,
    last_seq: u64,
    count: u64,
    chain: String,
    peaks: Vec<String>,
    signature: String,
    /// For people; not signed. Records of earlier versions lack it.
    #[serde(default)]
    because: String,
}

impl Purge {
    /// The signed context of the `audit_purged` record, with the reason.
    pub fn to_context(&self, key: &SigningKey, because: &str) -> String {
        let context = Context {
            first_seq: self.first_seq,
            last_seq: self.last_seq,
            count: (self.last_seq + 1).saturating_sub(self.first_seq),
            chain: self.chain.to_base64(),
            peaks: self.tree.peaks().iter().map(|peak| peak.to_base64()).collect(),
            signature: STANDARD.encode(key.sign(self.statement().as_bytes())),
            because: because.to_owned(),
        };
        serde_json::to_string(&context).unwrap_or_default()
    }

    /// Parses the context of an `audit_purged` record of this node; `None` unless this key signed it.
    pub fn open(context: &str, node: &str, key: &PublicKey) -> Option<Self> {
        let context: Context = serde_json::from_str(context).ok()?;
        let peaks = context.peaks.iter().map(|peak| Hash::from_base64(peak)).collect::<Option<_>>()?;
        let purge = Self {
            node: node.to_owned(),
            first_seq: context.first_seq,
            last_seq: context.last_seq,
            chain: Hash::from_base64(&context.chain)?,
            tree: Tree::from_peaks(context.last_seq, peaks)?,
        };
        let signature = STANDARD.decode(context.signature).ok()?.try_into().ok()?;
        key.verify(purge.statement().as_bytes(), &signature).then_some(purge)
    }

    fn statement(&self) -> String {
        let mut text = format!(
            "octroi audit purge v1\n{}\n{}\n{}\n{}\n",
            self.node,
            self.first_seq,
            self.last_seq,
            self.chain.to_base64()
        );
        for peak in self.tree.peaks() {
            text.push_str(&peak.to_base64());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::chain;

    #[test]
    fn a_purge_is_believed_only_as_it_was_signed() {
        let key = SigningKey::from_seed(&[1; 32]);
        let mut tree = Tree::default();
        (1..=5).for_each(|seq| tree.push(chain::leaf(seq, b"{}")));
        let purge = Purge { node: "n".to_owned(), first_seq: 1, last_seq: 5, chain: chain::start("n"), tree };
        let context = purge.to_context(&key, "age");
        assert_eq!(Purge::open(&context, "n", &key.public()).as_ref(), Some(&purge));
        assert_eq!(Purge::open(&context, "m", &key.public()), None);
        assert_eq!(Purge::open(&context, "n", &SigningKey::from_seed(&[2; 32]).public()), None);
        let earlier = context.replace(",\"because\":\"age\"", "");
        assert_ne!(earlier, context);
        assert_eq!(Purge::open(&earlier, "n", &key.public()).as_ref(), Some(&purge));
        let other = context.replace("\"first_seq\":1", "\"first_seq\":2");
        assert_eq!(Purge::open(&other, "n", &key.public()), None);
        assert_eq!(Purge::open("{}", "n", &key.public()), None);
    }
}
