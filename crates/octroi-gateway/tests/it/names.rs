//! One rule for names, wherever they stand: what a lenient reader takes for the same among members of a message is
//! also the same among arguments.

use octroi_core::arguments::ArgumentSchema;
use octroi_core::arguments::Strictness;
use octroi_mcp::json::Span;
use serde_json::json;

#[test]
fn names_of_members_and_of_arguments_are_compared_by_one_rule() {
    for (other, is_same) in [
        ("NAME", true),
        ("name\0", true),
        ("name\0x", true),
        (" name", true),
        ("na\u{200b}me", true),
        ("\u{ff4e}\u{ff41}\u{ff4d}\u{ff45}", true),
        ("\u{ff2e}\u{ff21}\u{ff2d}\u{ff25}", true),
        ("\u{1d427}ame", true),
        ("na\u{3164}me", true),
        ("\u{24dd}ame", true),
        ("na\u{ad}me", true),
        ("names", false),
        ("nom", false),
        ("n\u{e4}me", false),
    ] {
        let object = json!({ "name": "a", other: "b" }).to_string();
        let whole = Span { start: 0, end: object.len() };
        let in_message = octroi_mcp::check_names(object.as_bytes(), whole, &["name"]).is_err();
        let schema = ArgumentSchema::new(&json!({ "properties": { "name": {} } })).unwrap();
        // Two names in full are refused when they are read, one beside a name of the schema when it is checked.
        let in_arguments = octroi_core::arguments::read(object.as_bytes()).map_or(true, |arguments| {
            schema.complaint(&arguments, object.len() as u64, Strictness::Schema).is_some()
        });
        assert_eq!((in_message, in_arguments), (is_same, is_same), "{other:?}");
    }
}
