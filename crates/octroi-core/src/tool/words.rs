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
}
