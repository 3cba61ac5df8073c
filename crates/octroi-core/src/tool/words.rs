//! Splits names into words: `thread` does not contain `read`, and `created_at` does not mean `create`.

/// The words of a tool's name in lower case: `snake_case`, `kebab-case`, `camelCase` and `dotted.names` are
/// split; digits belong to the word before them.
pub fn of_name(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let letters: Vec<char> = name.chars().collect();
    for (index, letter) in letters.iter().enumerate() {
        if !letter.is_alphanumeric() {
            flush(&mut word, &mut words);
            continue;
        }
        let previous = index.checked_sub(1).map(|before| letters[before]);
        let next = letters.get(index + 1);
        // `readFile` starts a word at F; `HTTPGet` at G, because a lower-case letter follows.
        let begins = letter.is_uppercase()
            && (previous.is_some_and(|before| before.is_lowercase() || before.is_numeric())
                || (previous.is_some_and(char::is_uppercase)
                    && next.is_some_and(|after| after.is_lowercase())));
        if begins {
            flush(&mut word, &mut words);
        }
        word.extend(letter.to_lowercase());
    }
    flush(&mut word, &mut words);
    words
}

/// The words of a description, unchanged and without the `s` of the third person: "Deletes a file".
pub fn of_text(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for word in text.split(|letter: char| !letter.is_alphanumeric() && letter != '_') {
        if word.is_empty() || word.contains('_') {
            // An identifier, like `created_at`.
            continue;
        }
        let lower = word.to_lowercase();
        if let Some(stem) = lower.strip_suffix('s')
            && stem.len() > 2
        {
            words.push(stem.to_owned());
        }
        words.push(lower);
    }
    words
}

/// Words before the verb of a description: "This tool lets you delete a file".
const LEAD_IN: &str = "\
    a ability allow allowing allows an and api be can capability command endpoint function functionality \
    helper i it lets method operation perform performs please powerful provides simple that the then this \
    to tool use used useful user users using utility via when which will you your";
/// So many words are looked at for a verb.
const LEAD_IN_MAX: usize = 12;

/// So many sentences that begin with "Also" are looked at.
const ALSO_MAX: usize = 8;

/// Verbs at the start of descriptions in Chinese, which has no spaces between words.
const CHINESE: [(&str, &str); 24] = [
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
    ("删除", "delete"),
    ("移除", "remove"),
    ("更新", "update"),
    ("修改", "modify"),
    ("写入", "write"),
    ("添加", "add"),
    ("发送", "send"),
    ("执行", "execute"),
    ("运行", "run"),
    ("上传", "upload"),
    ("支付", "pay"),
];

/// The first verb of a description, as it is written there, and those joined to it: "Read or update a file" has two,
/// "Read a file. Also marks it as read." too. What follows is ignored otherwise: it tells of things, limits and other
/// tools.
pub fn leading_verbs(description: &str) -> Vec<String> {
    let mut verbs = verbs_of_sentence(description);
    for (at, also) in description.match_indices("Also ").take(ALSO_MAX) {
        let (before, after) = (&description[..at], &description[at + also.len()..]);
        let begins = before.trim_end_matches(' ').ends_with(['.', ';', '!', ')', '\n']);
        let verb = after.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
        if begins && verb.ends_with('s') {
            verbs.push(verb.to_lowercase());
        }
    }
    verbs
}

fn verbs_of_sentence(description: &str) -> Vec<String> {
    let trimmed = description.trim_start();
    if let Some((_, verb)) = CHINESE.iter().find(|(start, _)| trimmed.starts_with(start)) {
        return vec![(*verb).to_owned()];
    }
    let mut verbs: Vec<String> = Vec::new();
    let mut is_joined = true;
    let words = description.split_whitespace().take(LEAD_IN_MAX);
    for word in words {
        // `Usage: …` is a label, not the sentence.
        if verbs.is_empty() && word.trim_end_matches(['*', '_']).ends_with(':') {
            continue;
        }
        let ends = word.ends_with(['.', ':', ';', '!', '?']);
        let is_list = word.ends_with(',');
        let is_pair = word.contains('/');
        for part in word
            .split(|letter: char| !letter.is_alphanumeric() && letter != '\'')
            .filter(|part| !part.is_empty())
        {
            let lower = part.to_lowercase();
            let is_adverb = lower.len() > 4 && lower.ends_with("ly");
            if verbs.is_empty()
                && (LEAD_IN.split_whitespace().any(|word| word == lower) || is_adverb || is_heading(part))
            {
                continue;
            }
            if matches!(lower.as_str(), "and" | "or" | "then") {
                is_joined = true;
            } else if is_joined || is_pair {
                verbs.push(lower);
                is_joined = false;
            } else {
                return verbs;
            }
        }
        if ends && !verbs.is_empty() {
            return verbs;
        }
        is_joined |= is_list && !verbs.is_empty();
    }
    verbs
}

/// Whether a word is a label before the sentence: `[DEPRECATED] Deletes…`.
fn is_heading(word: &str) -> bool {
    word.chars().count() > 3 && word.chars().all(|letter| letter.is_uppercase() || letter.is_numeric())
}

fn flush(word: &mut String, words: &mut Vec<String>) {
    if !word.is_empty() {
        words.push(std::mem::take(word));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        for (name, words) in [
            ("read_file", vec!["read", "file"]),
            ("read-file", vec!["read", "file"]),
            ("readFile", vec!["read", "file"]),
            ("ReadFile2", vec!["read", "file2"]),
            ("HTTPGet", vec!["http", "get"]),
            ("getHTTP", vec!["get", "http"]),
            ("fs.read.text", vec!["fs", "read", "text"]),
            ("thread_list", vec!["thread", "list"]),
            ("created_at", vec!["created", "at"]),
            ("__", vec![]),
            ("", vec![]),
            ("löscheDatei", vec!["lösche", "datei"]),
        ] {
            assert_eq!(of_name(name), words, "{name}");
        }
    }

    #[test]
    fn descriptions_give_their_verbs() {
        assert!(of_text("Deletes a file.").contains(&"delete".to_owned()));
        assert!(!of_text("Sorts by created_at.").contains(&"created".to_owned()));
        assert!(!of_text("The capital's budget").contains(&"api".to_owned()));
    }

    #[test]
    fn the_first_verb_of_a_description_is_found() {
        for (text, verbs) in [
            ("Delete a file. Reads nothing.", "delete"),
            ("This tool lets you delete a file", "delete"),
            ("[DEPRECATED] Deletes a file", "deletes"),
            ("Use this tool to permanently remove things", "remove"),
            ("Read or update a file", "read update"),
            ("Create, update, or delete an issue", "create update delete"),
            ("Search/replace text", "search replace"),
            ("A list of files", "list"),
            ("Get the log, then write it", "get"),
            ("**Purpose:** Retrieve a text. Also connects the agent.", "retrieve connects"),
            ("Get a list (also deletes it). It Also deletes", "get"),
            ("删除一个文件", "delete"),
            ("", ""),
            ("...", ""),
        ] {
            assert_eq!(leading_verbs(text).join(" "), verbs, "{text}");
        }
    }
}
