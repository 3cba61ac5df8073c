//! The reference page of resources.

use std::fmt::Write as _;

use super::shapes::{Shapes, kind_of};
use super::{NOTICE, cell};
use crate::resource::{Content, RESOURCES, Topic};

/// `docs/reference-resources.md`.
pub fn resources() -> String {
    let mut page = String::from("# Resources\n\n");
    page.push_str(NOTICE);
    page.push_str(
        "\nOctroi's own resources, read with `resources/read` at `/mcp`. Everyone who may read one may also \
         subscribe to it: `notifications/resources/updated` reports a change. Resources of another agent are not \
         found.\n\n\
         To people, lists and resources carry a checksum of their content: `_meta[\"octroi/checksum\"]` of the result. A \
         client that sends the one it knows, under the same name in `_meta` of its request, is answered without content \
         and with `_meta[\"octroi/unchanged\"]: true` if nothing has changed. What changes all the time is reported at \
         most four times a second: `resource://audit/recent`, `resource://calls/recent`, `resource://attention/list`, \
         `resource://clients/list` and `resource://servers/{id}/logs`.\n\n\
         | URI | Description | Content | Access | Changes when |\n|---|---|---|---|---|\n",
    );
    let mut shapes = Shapes::new();
    for resource in &RESOURCES {
        let content = match resource.content {
            Content::Json(shape) => kind_of(shape(shapes.generator()).as_value()),
            Content::JsonItems(shape) => {
                format!(
                    "one block for each, under its own URI: {}",
                    kind_of(shape(shapes.generator()).as_value())
                )
            }
            Content::Toml => "a policy, as TOML".to_owned(),
        };
        // The shapes are on the other page; most of them are answers of operations too.
        let content = content.replace("](#", "](reference-operations.md#");
        let topics: Vec<&str> = resource.changed_by.iter().copied().map(Topic::about).collect();
        let _ = writeln!(
            page,
            "| `{}` | {} | {content} | {} | {} |",
            resource.uri,
            cell(resource.description),
            resource.access.sentence(),
            topics.join("; "),
        );
    }
    page
}
