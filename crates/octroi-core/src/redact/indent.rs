//! JSON for people, in lines.

/// Indented JSON. Only the white space between its parts changes, so that people decide about what was sent.
pub fn indented(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth = 0_usize;
    let mut is_text = false;
    let mut is_escaped = false;
    let mut rest = json.chars().peekable();
    while let Some(character) = rest.next() {
        if is_text {
            out.push(character);
            is_text = is_escaped || character != '"';
            is_escaped = !is_escaped && character == '\\';
            continue;
        }
        match character {
            ' ' | '\n' | '\r' | '\t' => {}
            '"' => {
                is_text = true;
                out.push(character);
            }
            '{' | '[' => {
                out.push(character);
                while rest.next_if(|next| matches!(next, ' ' | '\n' | '\r' | '\t')).is_some() {}
                match rest.next_if(|next| matches!(next, '}' | ']')) {
                    Some(end) => out.push(end),
                    None => {
                        depth += 1;
                        new_line(&mut out, depth);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(character);
            }
            ',' => {
                out.push(',');
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            other => out.push(other),
        }
    }
    out
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}
