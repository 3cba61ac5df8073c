//! Options with a closed set of values, which `octroi-api` declares.

use std::ffi::OsStr;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, Error};
use octroi_api::WireWord;

/// Reads a whole number, with an error that a person understands.
pub(super) fn number<T: FromStr>(typed: &str) -> Result<T, String> {
    typed.parse().map_err(|_| "it must be a whole number, such as 20".to_owned())
}

/// Reads an address to listen at.
pub(super) fn listen(typed: &str) -> Result<SocketAddr, String> {
    typed
        .parse()
        .map_err(|_| "it must be an IP address with a port, such as 127.0.0.1:7878 or [::1]:7878".to_owned())
}

/// Reads one of the words for `T`.
pub(super) fn word<T>() -> WordParser<T> {
    WordParser(PhantomData)
}

/// Accepts what the gateway accepts, and lists the words in the help.
#[derive(Clone)]
pub(super) struct WordParser<T>(PhantomData<T>);

impl<T: WireWord + Send + Sync> TypedValueParser for WordParser<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, typed: &OsStr) -> Result<T, Error> {
        if let Some(value) = typed.to_str().and_then(T::read) {
            return Ok(value);
        }
        // The word is not one of them, so this fails with clap's usual message.
        let words = PossibleValuesParser::new(T::ALL.iter().map(|value| value.word()));
        let word = words.parse_ref(command, argument, typed)?;
        T::read(&word).ok_or_else(|| Error::new(ErrorKind::InvalidValue).with_cmd(command))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(T::ALL.iter().map(|value| PossibleValue::new(value.word()))))
    }
}

#[cfg(test)]
mod tests {
    use octroi_core::audit::Ruling;
    use octroi_core::tool::Risk;

    use super::*;

    fn read<T: WireWord + Send + Sync>(typed: &str) -> Option<&'static str> {
        let read = word::<T>().parse_ref(&Command::new("test"), None, OsStr::new(typed));
        read.ok().map(WireWord::word)
    }

    #[test]
    fn numbers_and_addresses_say_what_they_must_be() {
        assert_eq!(number::<u64>("20"), Ok(20));
        for wrong in ["", "x", "-1", "1.5"] {
            assert!(number::<u64>(wrong).unwrap_err().contains("whole number"), "{wrong}");
        }
        assert_eq!(listen("127.0.0.1:0").unwrap().port(), 0);
        for wrong in ["", "7878", ":7878", "localhost:7878", "127.0.0.1"] {
            assert!(listen(wrong).unwrap_err().contains("127.0.0.1:7878"), "{wrong}");
        }
    }

    #[test]
    fn words_are_those_of_the_table() {
        for (typed, expected) in [
            ("high", Some("high")),
            ("HIGH", Some("high")),
            ("MED", Some("medium")),
            ("", None),
            ("huge", None),
        ] {
            assert_eq!(read::<Risk>(typed), expected, "{typed}");
        }
        assert_eq!(read::<Ruling>("deny_abort"), Some("deny_abort"));
        assert_eq!(read::<Ruling>("deny"), None);
    }
}
