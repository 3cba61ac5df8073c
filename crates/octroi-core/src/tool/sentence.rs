//! Finds the verbs by which a description says what its tool does.
//!
//! The first verb says most, but not all: "Find stale files and remove them" removes. So the whole first sentence is
//! read, and of later ones the beginning. What a description says of things, limits and other tools is left out.

use super::phrases::{phrase, takes_object};
use super::verbs::{KnownWord, Meaning, look_up_participle, look_up_verb, names_what_is_read};

/// Words before the verb of a description: "This tool lets you delete a file".
const LEAD_IN: &str = "\
    a ability allow allowing allows an and api attempt attempts be can capability command endpoint function \
    functionality helper i it lets method operation perform performs please powerful provide provides simple that \
    the then this to tool tries try use used useful user users using utility via when which will you your";
/// Words at the start of a later sentence after which the verb still speaks of the tool: "It then deletes the file".
const ABOUT_THE_TOOL: &str = "also and can could it may might optionally that then this tool will would";
/// Verbs that later sentences say of arguments and answers: "Accepts a list", "Generates one line for each file".
const SAID_OF_THINGS: &str = "\
    accept apply correct enable ensure exclude extend follow generate join make normalize optimize raise reduce select \
    skip split strip trim";
/// What sentences say is done to things: "The message is then deleted."
const DONE: &str = "\
    acknowledge archive cancel charge clear close consume create delete dequeue erase expire mark move overwrite purge \
    remove reset revoke send stop";
/// Verbs after "also" that say what an answer holds.
const ALSO_SAID: &str =
    "accepts allows contains covers gives handles helps includes offers provides supports works";
/// What is performed by reading.
const PERFORMED: &str = "comparison lookup retrieval search searches validation";
/// Words that stand after a comma or `and`, and are no verbs.
const NO_VERBS: &str = "\
    about across after as at before between both by each either every excluding for from how if in including into its \
    like more not of on only optional other over per so such than that the their these those to using via what \
    when where whether which while who with within without your a an all any";
/// Verbs that arrange what another one reads: "Retrieves and formats orders". Alone they are unsure: "Format a disk".
const ONLY_ARRANGES: &str = "\
    aggregate categorize classify deduplicate filter format group organize paginate rank render rerank sort visualize";
/// Words in the sentence of a reading verb that say that something is changed: "Sort the lines of a file in place".
const MARKS: [(&str, &str); 8] = [
    ("in", "place"),
    ("to", "disk"),
    ("to", "clipboard"),
    ("for", "sale"),
    ("for", "rent"),
    ("for", "auction"),
    ("as", "read"),
    ("as", "done"),
];
/// Words after a thing that is read: "Details about an order".
const AFTER_THING: &str = "about for from in of on";
/// So many words are looked at for the first verb, and so many for verbs joined to it.
const LEAD_IN_MAX: usize = 12;
const SENTENCE_MAX: usize = 80;
/// So many sentences are looked at, and so many for what is done to things.
const SENTENCES_MAX: usize = 40;
const PASSIVE_MAX: usize = 3;
/// A label has fewer words.
const LABEL_MAX: usize = 5;
/// So many words after a verb can change its meaning.
const PHRASE_MAX: usize = 5;

/// Verbs in descriptions in Chinese, which has no spaces between words.
const CHINESE: [(&str, &str); 54] = [
    ("获取", "get"),
    ("查询", "lookup"),
    ("查看", "view"),
    ("查找", "find"),
    ("搜索", "search"),
    ("列出", "list"),
    ("读取", "read"),
    ("检索", "retrieve"),
    ("返回", "return"),
    ("显示", "show"),
    ("计算", "calculate"),
    ("创建", "create"),
    ("新建", "create"),
    ("新增", "add"),
    ("删除", "delete"),
    ("移除", "remove"),
    ("清除", "clear"),
    ("清空", "clear"),
    ("清理", "clear"),
    ("更新", "update"),
    ("修改", "modify"),
    ("编辑", "edit"),
    ("写入", "write"),
    ("添加", "add"),
    ("插入", "insert"),
    ("发送", "send"),
    ("发布", "publish"),
    ("执行", "execute"),
    ("运行", "run"),
    ("上传", "upload"),
    ("支付", "pay"),
    ("转账", "transfer"),
    ("取消", "cancel"),
    ("关闭", "close"),
    ("启动", "start"),
    ("停止", "stop"),
    ("重启", "restart"),
    ("重置", "reset"),
    ("保存", "save"),
    ("替换", "replace"),
    ("覆盖", "overwrite"),
    ("合并", "merge"),
    ("提交", "submit"),
    ("归档", "archive"),
    ("移动", "move"),
    ("重命名", "rename"),
    ("设置", "set"),
    ("标记", "mark"),
    ("修复", "repair"),
    ("部署", "deploy"),
    ("安装", "install"),
    ("撤销", "revoke"),
    ("恢复", "restore"),
    ("生成", "generate"),
];

/// The first verb of a description, as it is written there, and the others that say what the tool does: "Read or update a
/// file" has two, "Read a file. Also marks it as read." too. There are none if the description only names a thing.
pub fn leading_verbs(description: &str) -> Vec<String> {
    let trimmed = description.trim_start();
    if CHINESE.iter().any(|(start, _)| trimmed.starts_with(start)) {
        return chinese_verbs(trimmed);
    }
    let tokens = tokens(description);
    let mut sentences = tokens.split_inclusive(|token| token.ends).take(SENTENCES_MAX);
    // "This is the API of a shop. Retrieves an order."
    let mut verbs =
        sentences.by_ref().find(|sentence| !is_about_things(sentence)).map_or(Vec::new(), first_sentence);
    verbs.extend(sentences.filter_map(verb_of_later_sentence));
    verbs.extend(tokens.split_inclusive(|token| token.ends).take(PASSIVE_MAX).filter_map(passive));
    verbs
}

/// What a sentence says will be done: "The message is then deleted."
fn passive(sentence: &[Token<'_>]) -> Option<String> {
    let has = |words: &str| sentence.iter().any(|token| contains(words, &token.lower));
    if has("if not unless") || !has("afterwards automatically then will") {
        return None;
    }
    let at = sentence.iter().position(|token| contains("are be gets is", &token.lower))?;
    let done = sentence[at + 1..]
        .iter()
        .find(|token| !is_adverb(&token.lower) && !contains("also then", &token.lower))?;
    look_up_participle(&done.lower)
        .filter(|known| contains(DONE, known.stem))
        .map(|known| known.stem.to_owned())
}

/// A word, and what stands beside it.
struct Token<'a> {
    text: &'a str,
    lower: String,
    /// Punctuation stands before it.
    is_set_off: bool,
    /// A comma or slash stands before it: `Search/replace`.
    is_listed: bool,
    /// A semicolon stands before it.
    is_after_semicolon: bool,
    /// `&` or `+` stands before it.
    is_after_ampersand: bool,
    /// It stands before the sentence: `Usage: …`, `[beta] …`.
    is_label: bool,
    /// The sentence ends after it.
    ends: bool,
}

fn tokens(description: &str) -> Vec<Token<'_>> {
    let mut tokens: Vec<Token<'_>> = Vec::new();
    for paragraph in description.split("\n\n") {
        let begin = tokens.len();
        let mut before = "";
        for word in paragraph.split_whitespace() {
            let is_bracketed =
                word.starts_with('[') && word.ends_with(']') || word.starts_with('<') && word.ends_with('>');
            let is_after_label = word == "|" || word.trim_end_matches(['*', '_']).ends_with(':');
            let is_short = tokens.len() < begin + LABEL_MAX;
            // "List all files: …" is no label.
            let begins_with_verb =
                tokens.get(begin).is_some_and(|first| look_up_verb(&first.lower).is_some());
            if is_after_label && is_short && !begins_with_verb {
                tokens[begin..].iter_mut().for_each(|token| token.is_label = true);
            }
            for (index, part) in word
                .split(|letter: char| !letter.is_alphanumeric() && letter != '\'' && letter != '_')
                .enumerate()
            {
                let part = part.trim_matches(['\'', '_']);
                if part.is_empty() {
                    continue;
                }
                let is_listed = before.ends_with([',', ';']) || index > 0 && word.contains('/');
                let is_set_off = is_listed
                    || index > 0 && word.contains('-')
                    || before
                        .trim_end_matches(['*', '_', '"', '`'])
                        .ends_with([',', ';', ':', ')', '-', '–', '—', '&', '+'])
                    || word.starts_with(['(', '-', '–', '—', '&', '+', '•', '*']);
                tokens.push(Token {
                    text: part,
                    lower: part.to_lowercase(),
                    is_set_off,
                    is_listed,
                    is_after_semicolon: before.ends_with(';'),
                    is_after_ampersand: before.ends_with(['&', '+']) || index > 0 && word.contains('&'),
                    is_label: is_bracketed || is_after_label && !begins_with_verb,
                    ends: false,
                });
            }
            let is_abbreviation = matches!(word.trim_start_matches('('), "e.g." | "i.e." | "etc." | "vs.");
            let bare = word.trim_end_matches(['*', '_', '"', ')', '`', '\'']);
            if let Some(last) = tokens[begin..].last_mut() {
                last.ends |= bare.ends_with(['.', '!', '?', '。']) && !is_abbreviation;
            }
            before = word;
        }
        if let Some(last) = tokens[begin..].last_mut() {
            last.ends = true;
        }
    }
    tokens
}

/// Whether a sentence tells what something is or needs, not what the tool does.
fn is_about_things(sentence: &[Token<'_>]) -> bool {
    let mut words = sentence.iter().filter(|token| !is_before_verb(token));
    words.next().is_none_or(|token| contains("is are must represents requires", &token.lower))
}

/// The verbs of the sentence that tells what the tool does.
fn first_sentence(sentence: &[Token<'_>]) -> Vec<String> {
    let Some(start) = sentence.iter().take(LEAD_IN_MAX).position(|token| !is_before_verb(token)) else {
        return Vec::new();
    };
    // "Performs a web search"
    let performs =
        sentence[..start].iter().any(|token| matches!(token.lower.as_str(), "perform" | "performs"));
    let searched =
        sentence.iter().skip(start).take(PHRASE_MAX).position(|token| contains(PERFORMED, &token.lower));
    let start = start + searched.filter(|_| performs).unwrap_or_default();
    let first = &sentence[start];
    // "The set of users" sets nothing.
    let has_article = start > 0 && contains("a an the", &sentence[start - 1].lower);
    let is_thing = has_article
        && look_up_verb(&first.lower).is_some_and(|known| known.is_noun && !known.meaning.is_reading());
    let mut verbs = Vec::new();
    let has_object = sentence.get(start + 1).is_some_and(|next| takes_object(&next.lower));
    let is_joined_on = sentence.get(start + 1).is_some_and(|next| next.is_listed || is_joiner(&next.lower));
    let next = sentence.get(start + 1).filter(|_| !first.ends);
    // "Status of an order" reads it, "Status update of an order" does not.
    let is_what_is_read = next
        .is_none_or(|next| next.is_set_off || is_joiner(&next.lower) || contains(AFTER_THING, &next.lower));
    let is_thing = is_thing || names_what_is_read(&first.lower) && !is_what_is_read;
    let is_first_a_verb = look_up_verb(&first.lower).is_some() && !is_thing || has_object || is_joined_on;
    let puts_into = contains("convert extract gather", first.lower.trim_end_matches('s'))
        && sentence.windows(2).any(|pair| pair[0].lower == "into" && takes_object(&pair[1].lower));
    if is_marked(sentence) || puts_into {
        verbs.push("change".to_owned());
    }
    // Whether only verbs stood until here: "Create, update or delete an issue".
    let mut is_list_of_verbs = true;
    let mut joint = Joint::None;
    for (index, token) in sentence.iter().enumerate().skip(start + 1).take(SENTENCE_MAX) {
        let is_well_as = token.lower == "as" && sentence[index - 1].lower == "well";
        if is_joiner(&token.lower) || is_well_as {
            joint = Joint::Word;
            continue;
        }
        if token.lower == "which" && token.is_listed {
            joint = Joint::Other;
            continue;
        }
        if token.is_listed || token.is_set_off {
            let is_and = token.is_after_ampersand;
            let found = if is_and {
                Joint::Word
            } else if token.is_listed {
                Joint::Comma
            } else {
                Joint::Other
            };
            joint = joint.max(found);
        }
        if is_adverb(&token.lower) || contains("also optionally", &token.lower) {
            // "and permanently deletes it"
            continue;
        }
        let is_listed = is_list_of_verbs && joint >= Joint::Comma && !contains(NO_VERBS, &token.lower);
        is_list_of_verbs &= is_listed;
        let joins = if is_listed {
            !contains(ONLY_ARRANGES, token.lower.trim_end_matches('s'))
        } else {
            is_verb(first, &sentence[index - 1].lower, token, sentence.get(index + 1), joint)
        };
        if joins {
            verbs.push(verb_with(token, &sentence[index + 1..]));
        }
        joint = Joint::None;
    }
    // Without a verb after it, an unknown word is a thing: "Weather forecast for a city".
    if is_first_a_verb || !verbs.is_empty() {
        verbs.insert(0, verb_with(first, &sentence[start + 1..]));
    }
    verbs
}

/// What stands between a word and the one before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Joint {
    None,
    Other,
    Comma,
    Word,
}

/// Whether a word inside the first sentence says what the tool does besides.
fn is_verb(
    first: &Token<'_>,
    before: &str,
    token: &Token<'_>,
    next: Option<&Token<'_>>,
    joint: Joint,
) -> bool {
    let has_object = next.is_some_and(|next| takes_object(&next.lower) && !next.is_set_off);
    let known = look_up_verb(&token.lower);
    let is_gerund = token.lower.ends_with("ing") && !contains("bring ping ring sing string", &token.lower);
    if is_gerund && before == "by" && known.is_some_and(changes_something) {
        // "Validate a card by charging it"
        return true;
    }
    if is_gerund && has_object && known.is_none_or(changes_something) {
        // "Get the next message, removing it"
        let is_done_to_it = next.is_some_and(|next| matches!(next.lower.as_str(), "it" | "them"));
        return is_done_to_it || joint > Joint::None && known.is_some();
    }
    // "Lists files and deletes them" has two verbs, "List files and deletes" has one.
    let agrees = is_third_person(&first.lower) == is_third_person(&token.lower)
        || (joint == Joint::Other && known.is_some() || token.is_after_semicolon)
            && is_third_person(&token.lower);
    if joint == Joint::None || !agrees || is_gerund || contains(NO_VERBS, &token.lower) {
        return false;
    }
    let Some(known) = known else {
        return has_object
            && joint >= Joint::Comma
            && !contains(ONLY_ARRANGES, token.lower.trim_end_matches('s'));
    };
    if known.is_noun || !changes_something(known) {
        // "use the other tool" speaks to the caller.
        return has_object && known.stem != "use";
    }
    let is_enumerated = next.is_none_or(|next| next.is_set_off || is_joiner(&next.lower));
    joint == Joint::Word && !next.is_some_and(|next| next.is_listed) || !is_enumerated
}

/// The verb of a sentence after the first, if it speaks of the tool and says that it changes something: "Deletes the file
/// afterwards." "Create an index first." speaks to the caller.
fn verb_of_later_sentence(sentence: &[Token<'_>]) -> Option<String> {
    let n_before = sentence
        .iter()
        .take_while(|token| contains(ABOUT_THE_TOOL, &token.lower) || is_adverb(&token.lower))
        .count();
    let (before, rest) = sentence.split_at(n_before);
    let token = rest.first().filter(|token| !token.is_label)?;
    let has = |words: &str| before.iter().any(|token| contains(words, &token.lower));
    let known = look_up_verb(&token.lower);
    let has_object = rest.get(1).is_some_and(|next| takes_object(&next.lower));
    let changes = known.is_some_and(|known| {
        changes_something(known)
            && (!known.is_noun && known.stem != "payment" || has_object)
            && !contains(SAID_OF_THINGS, known.stem)
    });
    let speaks_of_tool = is_third_person(&token.lower) || has("can could may might will would");
    (speaks_of_tool && (changes || has("also") && known.is_none() && !contains(ALSO_SAID, &token.lower)))
        .then(|| token.lower.clone())
}

fn changes_something(known: KnownWord) -> bool {
    matches!(known.meaning, Meaning::Destroys | Meaning::Writes)
}

/// Whether a sentence holds words that only a change needs.
fn is_marked(sentence: &[Token<'_>]) -> bool {
    sentence
        .windows(2)
        .any(|pair| MARKS.iter().any(|(first, second)| pair[0].lower == *first && pair[1].lower == *second))
}

fn is_third_person(word: &str) -> bool {
    word.ends_with('s') && !word.ends_with("ss")
}

fn is_joiner(word: &str) -> bool {
    matches!(word, "and" | "or" | "then" | "but" | "plus")
}

fn is_before_verb(token: &Token<'_>) -> bool {
    let is_number = token.text.chars().all(char::is_numeric);
    is_number
        || token.is_label
        || contains(LEAD_IN, &token.lower)
        || is_adverb(&token.lower)
        || is_heading(token.text)
}

/// The verb that a word is together with those after it: "Get rid of a file" removes it.
fn verb_with(token: &Token<'_>, after: &[Token<'_>]) -> String {
    let after: Vec<&str> = after.iter().take(PHRASE_MAX).map(|token| token.lower.as_str()).collect();
    phrase(&token.lower, &after).map_or_else(|| token.lower.clone(), str::to_owned)
}

fn is_adverb(word: &str) -> bool {
    word.len() > 4 && word.ends_with("ly") && !contains("apply comply multiply reply supply", word)
}

/// Whether a word is a label before the sentence: `[DEPRECATED] Deletes…`.
fn is_heading(word: &str) -> bool {
    if look_up_verb(&word.to_lowercase()).is_some_and(changes_something) {
        return false;
    }
    word.chars().count() > 3 && word.chars().all(|letter| letter.is_uppercase() || letter.is_numeric())
}

fn chinese_verbs(text: &str) -> Vec<String> {
    let sentence = text.split(['。', '\n']).next().unwrap_or_default();
    let mut verbs = Vec::new();
    for (at, _) in sentence.char_indices() {
        let Some((_, verb)) = CHINESE.iter().find(|(start, _)| sentence[at..].starts_with(start)) else {
            continue;
        };
        // `已删除的文件` is a deleted file.
        let is_participle = sentence[..at].ends_with(['已', '被', '所', '可']);
        let is_first = verbs.is_empty();
        if is_first || !is_participle && look_up_verb(verb).is_some_and(changes_something) {
            verbs.push((*verb).to_owned());
        }
    }
    verbs
}

fn contains(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verbs_of_a_description_are_found() {
        for (text, verbs) in [
            ("Delete a file. Reads nothing.", "delete"),
            ("This tool lets you delete a file", "delete"),
            ("[DEPRECATED] Deletes a file", "deletes"),
            ("DELETE a file", "delete"),
            ("Use this tool to permanently remove things", "remove"),
            ("Read or update a file", "read update"),
            ("Create, update, or delete an issue", "create update delete"),
            ("Search/replace text", "search replace"),
            ("Search & destroy sessions", "search destroy"),
            ("Read-write access", "read write"),
            ("Read-only access", "read"),
            ("A list of files", "list"),
            ("The set of users", ""),
            ("Get the log, then write it", "get write"),
            ("Find old files (e.g. logs) and delete them", "find delete"),
            ("Get users and groups, including the roles of each", "get"),
            ("Lists files and directories that exist", "lists"),
            ("Show nodes and cordon them", "show cordon"),
            ("Show nodes and frobnicate them", "show frobnicate"),
            ("Get a user, creating it if there is none", "get creating"),
            ("Validate a card by charging it", "validate charging"),
            ("Get the next job, which removes it", "get removes"),
            ("Get a session (creates it if missing)", "get creates"),
            ("Check the build; reruns it when red", "check reruns"),
            ("Inspect a cart as well as empty it", "inspect empty"),
            ("Get rid of a file", "remove"),
            ("Check out a branch", "checkout"),
            ("List an item", "publish"),
            ("List a form's answers", "list"),
            ("Make a GET request", "get"),
            ("Sort lines in place", "sort change"),
            ("Status of an order", "status"),
            ("Status update of an order", ""),
            ("Weather forecast for a city", ""),
            ("Yank a version", "yank"),
            ("Performs a web search", "search"),
            ("Shop - API: This is the API of a shop. Retrieves an order.", "retrieves"),
            ("Retrieves and formats orders", "retrieves"),
            ("**Purpose:** Retrieve a text. Also connects the agent.", "retrieve connects"),
            ("Get a list (also deletes it). It Also deletes", "get deletes deletes"),
            ("Read mails. Marks them as read.", "read marks"),
            ("Read mails. Mark them yourself.", "read"),
            ("Read a range. Accepts a list of cells.", "read"),
            ("Read a secret. The secret is then deleted.", "read delete"),
            ("删除一个文件", "delete"),
            ("查找重复文件并删除它们", "find delete"),
            ("获取已删除的文件", "get"),
            ("", ""),
            ("...", ""),
        ] {
            assert_eq!(leading_verbs(text).join(" "), verbs, "{text}");
        }
    }
}
