//! What errors are called in English and Chinese: one catalogue for every interface that speaks to people.
//!
//! The exact text of an error, with names in it, is English; here are the texts of its code.

mod texts;

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::error::{ApiError, ErrorCode};
use crate::route::Subject;
use texts::{OF_SERVERS, TEXTS};

/// What a text has in place of the exact text of an error.
const DETAILS: &str = "{details}";

/// A language of people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// Chinese in simplified characters.
    Chinese,
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 2] = [Self::English, Self::Chinese];

    /// Its tag, as in `Content-Language`.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh-CN",
        }
    }

    /// The preferred language of an `Accept-Language` header; English if it names none that is known.
    pub fn preferred(accepted: &str) -> Self {
        let mut best = (Self::English, 0_u32);
        for range in accepted.split(',') {
            let (tag, parameters) = range.split_once(';').unwrap_or((range, ""));
            let primary = tag.trim().split('-').next().unwrap_or_default();
            let language = match primary {
                _ if primary.eq_ignore_ascii_case("zh") => Self::Chinese,
                _ if primary.eq_ignore_ascii_case("en") || primary == "*" => Self::English,
                _ => continue,
            };
            let weight = weight(parameters);
            // The first of two that are equally welcome.
            if weight > best.1 {
                best = (language, weight);
            }
        }
        best.0
    }
}

/// `q=0.8` in thousandths; 1,000 if it is not given, none if it cannot be read.
fn weight(parameters: &str) -> u32 {
    let Some(written) = parameters.trim().strip_prefix("q=") else {
        return if parameters.trim().is_empty() { 1_000 } else { 0 };
    };
    let (whole, fraction) = written.trim().split_once('.').unwrap_or((written.trim(), ""));
    let is_fine = fraction.len() <= 3 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    match (whole, is_fine) {
        ("1", true) => 1_000,
        ("0", true) => format!("{fraction:0<3}").parse().unwrap_or(0),
        _ => 0,
    }
}

/// The texts of an error code in one language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texts {
    /// A few words.
    pub title: &'static str,
    /// A sentence.
    pub message: &'static str,
    /// How to go on.
    pub hint: &'static str,
}

impl Texts {
    /// The texts of a code; English if the catalogue lacks them, which a test forbids.
    pub fn of(code: ErrorCode, subject: Subject, language: Language) -> Self {
        let spec = code.spec();
        let special = || OF_SERVERS.iter().find(|(one, _)| *one == code && subject == Subject::Server);
        let general = TEXTS.iter().find(|row| row.code == code);
        let english = Self { title: spec.word, message: spec.about, hint: spec.hint };
        let Some(row) = general else { return english };
        let texts = match language {
            Language::English => {
                Self { title: row.title[0], message: row.english.unwrap_or(spec.about), hint: spec.hint }
            }
            Language::Chinese => Self { title: row.title[1], message: row.chinese[0], hint: row.chinese[1] },
        };
        match special() {
            Some((_, message)) => Self { message: message[language as usize], ..texts },
            None => texts,
        }
    }

    /// The message of an error, with its exact text where the catalogue has a place for it.
    pub fn message_of(self, error: &ApiError) -> Cow<'static, str> {
        if self.message.contains(DETAILS) {
            Cow::Owned(self.message.replace(DETAILS, &error.message))
        } else {
            Cow::Borrowed(self.message)
        }
    }
}

/// The catalogue as JSON, for interfaces that are not written in Rust: texts by language, subject and code.
pub fn catalogue() -> Value {
    let of_language = |language: Language| {
        let of = |codes: &mut dyn Iterator<Item = ErrorCode>, subject| {
            let texts = codes.map(|code| {
                let Texts { title, message, hint } = Texts::of(code, subject, language);
                (code.to_string(), json!({"title": title, "message": message, "hint": hint}))
            });
            Value::Object(texts.collect::<Map<_, _>>())
        };
        json!({
            "anything": of(&mut ErrorCode::ALL.into_iter(), Subject::Anything),
            "server": of(&mut OF_SERVERS.iter().map(|(code, _)| *code), Subject::Server),
        })
    };
    Language::ALL
        .into_iter()
        .map(|language| (language.tag().to_owned(), of_language(language)))
        .collect::<Map<_, _>>()
        .into()
}

/// Whether the catalogue has its own texts for a code in both languages.
pub fn is_translated(code: ErrorCode) -> bool {
    TEXTS.iter().any(|row| row.code == code)
}
