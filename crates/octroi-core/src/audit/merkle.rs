//! The Merkle tree of RFC 6962 over the leaves of a log, stored as its right edge only.
//!
//! A tree of any size is a sequence of complete subtrees, one for each bit of its size. Their roots are
//! enough to append leaves, to compute the root, and to prove that a later record is included.

use sha2::{Digest as _, Sha256};

use crate::audit::chain::Hash;

/// An append-only tree. Stores one hash for each bit of its size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    size: u64,
    /// The roots of the complete subtrees, the largest first.
    peaks: Vec<Hash>,
}

impl Tree {
    /// A tree restored from its right edge; `None` if the number of hashes does not fit the size.
    pub fn from_peaks(size: u64, peaks: Vec<Hash>) -> Option<Self> {
        (peaks.len() == size.count_ones() as usize).then_some(Self { size, peaks })
    }

    /// The number of leaves.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The roots of the complete subtrees, the largest first.
    pub fn peaks(&self) -> &[Hash] {
        &self.peaks
    }

    /// Appends a leaf.
    pub fn push(&mut self, leaf: Hash) {
        let mut hash = leaf;
        // Each carried bit joins two subtrees of the same size.
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.peaks.pop() {
                hash = parent(left, hash);
            }
        }
        self.peaks.push(hash);
        self.size += 1;
    }

    /// The root hash of the tree.
    pub fn root(&self) -> Hash {
        let mut peaks = self.peaks.iter().rev();
        match peaks.next() {
            None => Hash(Sha256::digest(b"").into()),
            Some(&last) => peaks.fold(last, |right, &left| parent(left, right)),
        }
    }
}

/// Collects the inclusion proof of one leaf while all leaves are passed in.
#[derive(Debug)]
pub struct Prover {
    index: u64,
    at: u64,
    /// The sibling subtrees of the path from the leaf to the root, from the left.
    beside: Vec<Beside>,
}

#[derive(Debug)]
struct Beside {
    from: u64,
    until: u64,
    /// Its distance from the leaf: its position in the proof.
    height: usize,
    tree: Tree,
}

impl Prover {
    /// Proves leaf `index` in the tree of the first `size` leaves. The leaves that `before` covers are not
    /// passed in again. `None` if the leaf is not among the remaining ones.
    pub fn new(index: u64, size: u64, before: &Tree) -> Option<Self> {
        if index >= size || index < before.size || size < before.size {
            return None;
        }
        let mut beside = Vec::new();
        ranges(index, 0, size, &mut beside);
        beside.sort_unstable_by_key(|one: &Beside| one.from);
        // An earlier leaf never splits a sibling subtree of a later leaf: what came before consists of whole
        // peaks of that subtree.
        let mut from = 0;
        for (bit, &peak) in (0..64).rev().filter(|bit| before.size >> bit & 1 == 1).zip(&before.peaks) {
            let one = beside.iter_mut().find(|one| one.from <= from && from < one.until)?;
            one.tree.size += 1 << bit;
            one.tree.peaks.push(peak);
            from += 1 << bit;
        }
        Some(Self { index, at: before.size, beside })
    }

    /// Passes in the next leaf.
    pub fn push(&mut self, leaf: Hash) {
        let at = self.at;
        self.at += 1;
        if at == self.index {
            return;
        }
        let place = self.beside.partition_point(|one| one.until <= at);
        if let Some(one) = self.beside.get_mut(place) {
            one.tree.push(leaf);
        }
    }

    /// The proof, from the leaf to the root; `None` if leaves are missing.
    pub fn finish(mut self) -> Option<Vec<Hash>> {
        let is_whole = self.beside.iter().all(|one| one.tree.size == one.until - one.from);
        self.beside.sort_unstable_by_key(|one| one.height);
        is_whole.then(|| self.beside.iter().map(|one| one.tree.root()).collect())
    }
}

/// The ranges of leaves whose roots prove a leaf; the nearest one gets height 0. Returns the height of the
/// range itself.
fn ranges(index: u64, from: u64, until: u64, beside: &mut Vec<Beside>) -> usize {
    if until - from <= 1 {
        return 0;
    }
    let middle = from + split(until - from);
    let is_left = index < middle;
    let (inner, outer) =
        if is_left { ((from, middle), (middle, until)) } else { ((middle, until), (from, middle)) };
    let height = ranges(index, inner.0, inner.1, beside);
    beside.push(Beside { from: outer.0, until: outer.1, height, tree: Tree::default() });
    height + 1
}

/// The largest power of two below `size`, which is at least two.
fn split(size: u64) -> u64 {
    1 << (size - 1).ilog2()
}

/// Whether a proof leads from leaf `index` to the root of the tree of `size` leaves.
pub fn check(leaf: Hash, index: u64, size: u64, proof: &[Hash], root: Hash) -> bool {
    if index >= size {
        return false;
    }
    let (mut place, mut last) = (index, size - 1);
    let mut hash = leaf;
    for &other in proof {
        if last == 0 {
            return false;
        }
        if place & 1 == 1 || place == last {
            hash = parent(other, hash);
            // At the right edge, levels without a sibling are skipped.
            while place & 1 == 0 && place != 0 {
                place >>= 1;
                last >>= 1;
            }
        } else {
            hash = parent(hash, other);
        }
        place >>= 1;
        last >>= 1;
    }
    last == 0 && hash == root
}

fn parent(left: Hash, right: Hash) -> Hash {
    Hash(Sha256::new_with_prefix([1]).chain_update(left.0).chain_update(right.0).finalize().into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::audit::chain;

    fn leaves(n: u64) -> Vec<Hash> {
        (1..=n).map(|seq| chain::leaf(seq, b"{}")).collect()
    }

    fn tree(leaves: &[Hash]) -> Tree {
        let mut tree = Tree::default();
        for &leaf in leaves {
            tree.push(leaf);
        }
        tree
    }

    /// The definition in RFC 6962, literally.
    fn definition(leaves: &[Hash]) -> Hash {
        match leaves {
            [] => Hash(Sha256::digest(b"").into()),
            [leaf] => *leaf,
            leaves => {
                let (left, right) = leaves.split_at(usize::try_from(split(leaves.len() as u64)).unwrap());
                parent(definition(left), definition(right))
            }
        }
    }

    /// Computed by an independent program.
    #[test]
    fn a_known_root() {
        assert_eq!(tree(&leaves(7)).root().to_base64(), "M6Lvcwjhfcj02Kba1QwRp5CuCz9Sa3nw296thcluhoA=");
    }

    #[test]
    fn the_root_is_that_of_the_definition() {
        let leaves = leaves(130);
        for n in 0..leaves.len() {
            let tree = tree(&leaves[..n]);
            assert_eq!(tree.root(), definition(&leaves[..n]), "{n}");
            assert_eq!(Tree::from_peaks(tree.size(), tree.peaks().to_vec()), Some(tree));
        }
        assert_eq!(Tree::from_peaks(3, vec![leaves[0]]), None);
    }

    #[test]
    fn every_leaf_can_be_proved_also_without_those_before() {
        let leaves = leaves(40);
        for size in 1..=40 {
            let root = definition(&leaves[..size]);
            for index in 0..size {
                for gone in 0..=index {
                    let mut prover = Prover::new(index as u64, size as u64, &tree(&leaves[..gone])).unwrap();
                    leaves[gone..size].iter().for_each(|&leaf| prover.push(leaf));
                    let proof = prover.finish().unwrap();
                    let (place, n) = (index as u64, size as u64);
                    assert!(check(leaves[index], place, n, &proof, root), "{index} of {size}, {gone} gone");
                }
            }
        }
    }

    #[test]
    fn no_proof_for_what_is_not_there() {
        let leaves = leaves(9);
        assert!(Prover::new(9, 9, &Tree::default()).is_none());
        assert!(Prover::new(2, 9, &tree(&leaves[..3])).is_none());
        let mut prover = Prover::new(2, 9, &Tree::default()).unwrap();
        leaves[..8].iter().for_each(|&leaf| prover.push(leaf));
        assert_eq!(prover.finish(), None);
    }

    proptest! {
        #[test]
        fn a_changed_proof_proves_nothing(size in 1_usize..200, index: u64, change in 0_usize..8, bit in 0_u32..8) {
            let leaves = leaves(size as u64);
            let index = index % size as u64;
            let mut prover = Prover::new(index, size as u64, &Tree::default()).unwrap();
            for &leaf in &leaves {
                prover.push(leaf);
            }
            let proof = prover.finish().unwrap();
            let (n, root) = (size as u64, tree(&leaves).root());
            let leaf = leaves[usize::try_from(index).unwrap()];
            prop_assert!(check(leaf, index, n, &proof, root));
            for other in 0..n {
                prop_assert_eq!(check(leaf, other, n, &proof, root), other == index);
            }
            let mut changed = proof.clone();
            match changed.get_mut(change) {
                Some(hash) => hash.0[7] ^= 1 << bit,
                None => changed.push(leaf),
            }
            prop_assert!(!check(leaf, index, n, &changed, root));
            if !proof.is_empty() {
                prop_assert!(!check(leaf, index, n, &proof[1..], root));
            }
        }
    }
}
