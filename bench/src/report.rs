//! The output: the tables of `docs/performance.md`, as they stand there.

use tokio::process::Command;

use crate::BenchResult;

/// Prints which build is measured, and on what. Every table of the page says so.
pub(crate) async fn build() -> BenchResult<()> {
    let described = Command::new("git").args(["describe", "--always", "--dirty"]).output().await?;
    let commit = String::from_utf8_lossy(&described.stdout).trim().to_owned();
    let n_cores = std::thread::available_parallelism()?;
    println!("Build {commit}, {n_cores} cores.");
    Ok(())
}

/// Prints the heading of a table, and its first lines.
pub(crate) fn table(heading: &str, columns: &[&str]) {
    println!("\n## {heading}\n\n| {} |\n|{}", columns.join(" | "), "---|".repeat(columns.len()));
}

/// A number as the page writes it: 10,000.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The same of a count.
pub(crate) fn grouped_size(number: usize) -> String {
    grouped(u64::try_from(number).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn numbers_have_their_thousands_apart() {
        for (number, expected) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (90_644, "90,644"), (10_000_000, "10,000,000")]
        {
            assert_eq!(grouped(number), expected);
        }
    }
}
