//! Counts in messages for people.

/// A count with its noun: `1 rule`, `2 rules`.
pub fn count(n: impl TryInto<u64>, noun: &str) -> String {
    match n.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {noun}"),
        n => format!("{n} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_many() {
        assert_eq!([0_u64, 1, 2].map(|n| count(n, "rule")), ["0 rules", "1 rule", "2 rules"]);
        assert_eq!(count(1_usize, "rule"), "1 rule");
    }
}
