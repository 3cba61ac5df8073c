//! Options of commands about users and their tokens.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use octroi_core::UserRole;

use super::Target;
use super::words::word;

/// What to do with users.
#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// List users, their tokens and agents.
    #[command(visible_alias = "ls")]
    List(Target),
    /// Add a user; undo with `octroi user remove`.
    Add(AddUser),
    /// Invite a user: print a link where the user gets a token, once. Adds the user if there is none.
    Invite(InviteUser),
    /// Change the role of a user.
    Set(SetUser),
    /// Lock a user out, with all tokens and agents; undo with `octroi user enable`.
    Disable(OneUser),
    /// Let a user in again.
    Enable(OneUser),
    /// Remove a user, with all tokens and agents. The audit log keeps the name.
    #[command(visible_alias = "rm")]
    Remove(OneUser),
}

/// A user.
#[derive(Debug, Args)]
pub(crate) struct OneUser {
    /// The user.
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi user add`.
#[derive(Debug, Args)]
pub(crate) struct AddUser {
    /// The name: up to 32 of a-z, 0-9, `.`, `_` and `-`.
    pub(crate) name: String,

    /// Make the user an administrator.
    #[arg(long)]
    pub(crate) admin: bool,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi user invite`.
#[derive(Debug, Args)]
pub(crate) struct InviteUser {
    /// The name: up to 32 of a-z, 0-9, `.`, `_` and `-`.
    pub(crate) name: String,

    /// What a new user may do [default: member].
    #[arg(long, value_parser = word::<UserRole>())]
    pub(crate) role: Option<UserRole>,

    /// How long the link is valid [default: 1d].
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) expires: Option<Duration>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi user set`.
#[derive(Debug, Args)]
pub(crate) struct SetUser {
    /// The user.
    pub(crate) name: String,

    /// What the user may do.
    #[arg(long, value_parser = word::<UserRole>())]
    pub(crate) role: UserRole,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// What to do with tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// List tokens, without their secrets.
    #[command(visible_alias = "ls")]
    List(ListTokens),
    /// Create a token, and print it: it is shown once.
    Create(CreateToken),
    /// Replace a token by a new one, and print that: it is shown once.
    Rotate(RotateToken),
    /// Revoke a token immediately, and end everything that uses it.
    Revoke(OneToken),
    /// Replace a lost admin token, while no gateway runs: all tokens of the user `admin` end.
    ResetAdmin(ResetAdmin),
}

/// Options of `octroi token list`.
#[derive(Debug, Args)]
pub(crate) struct ListTokens {
    /// Only those of this agent.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,

    /// Only those of this user and the user's agents.
    #[arg(long, value_name = "NAME", conflicts_with = "agent")]
    pub(crate) user: Option<String>,

    /// Also those that have ended.
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi token create`.
#[derive(Debug, Args)]
#[group(id = "subject", required = true, multiple = false, args = ["agent", "user", "service"])]
pub(crate) struct CreateToken {
    /// For an agent; one that does not exist yet is created, and is yours.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,

    /// For one session of the agent.
    #[arg(long, value_name = "ID", requires = "agent")]
    pub(crate) session: Option<String>,

    /// For a user.
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,

    /// For a service, which may read metrics only.
    #[arg(long)]
    pub(crate) service: bool,

    /// Its name in quotas, limits and lists.
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,

    /// How long it is valid, like `90d` or `12h` [default: for ever].
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) expires: Option<Duration>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi token rotate`.
#[derive(Debug, Args)]
pub(crate) struct RotateToken {
    /// The token, by its id.
    pub(crate) id: String,

    /// How long the old one stays valid beside the new one [default: 1d].
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) overlap: Option<Duration>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// A token.
#[derive(Debug, Args)]
pub(crate) struct OneToken {
    /// The token, by its id.
    pub(crate) id: String,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi token reset-admin`.
#[derive(Debug, Args)]
pub(crate) struct ResetAdmin {
    /// The gateway's data directory [default: the user's data directory].
    #[arg(long, value_name = "DIR", env = "OCTROI_DATA")]
    pub(crate) data: Option<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || "write a number and a unit, like `30m`, `12h` or `90d`".to_owned();
    let (number, unit) = text.split_at(text.find(|letter: char| !letter.is_ascii_digit()).ok_or_else(wrong)?);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 24 * 3_600,
        _ => return Err(wrong()),
    };
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        for (text, seconds) in
            [("0s", Some(0)), ("30m", Some(1_800)), ("12h", Some(43_200)), ("90d", Some(7_776_000))]
        {
            assert_eq!(parse_duration(text).ok().map(|time| time.as_secs()), seconds, "{text}");
        }
        for wrong in ["", "5", "d", "1w", "-1d", "1 d", "99999999999999999999d", "18446744073709551615d"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }
}
