//! The reference page of the REST interface.

use std::fmt::Write as _;

use super::{NOTICE, cell};
use crate::rest::{REMOVED, openapi, routes};

/// `docs/reference-rest.md`.
pub fn rest() -> String {
    let mut page = String::from("# Paths of the REST interface\n\n");
    page.push_str(NOTICE);
    page.push_str(
        "\nEach path is an operation of [the table](reference-operations.md), which describes its arguments, its answer \
         and its errors. `{id}` is the argument in the third column. [REST](rest.md) explains how to use it; \
         [octroi.openapi.json](octroi.openapi.json) is the same in OpenAPI 3.1, which a gateway serves at \
         `/api/openapi.json`.\n\n\
         | Method | Path | `{id}` | Operation | Description | Statuses |\n|---|---|---|---|---|---|\n",
    );
    let description = openapi();
    let mut last = None;
    for (operation, route) in routes() {
        if last == Some((route.method, route.path)) {
            continue;
        }
        let method = route.method.as_str();
        let described = &description["paths"][route.path][method.to_lowercase()];
        if described["summary"] != operation.title {
            continue;
        }
        last = Some((route.method, route.path));
        let statuses = described["responses"].as_object().into_iter().flatten();
        let statuses: Vec<&str> = statuses.map(|(status, _)| status.as_str()).collect();
        let setting = route.fixed.map(|(member, text)| format!(" with `{member}` = `{text}`"));
        let _ = writeln!(
            page,
            "| {method} | `{}` | {} | [{}](reference-operations.md#{}){} | {} | {} |",
            route.path,
            route.id.map(|member| format!("`{member}`")).unwrap_or_default(),
            operation.name,
            operation.name,
            setting.unwrap_or_default(),
            cell(operation.title),
            statuses.join(", "),
        );
    }
    page.push_str(
        "\n## Paths that are not served\n\nOther programs have these. They answer 404, and the hint says what to use \
         instead at `/mcp`.\n\n| Method | Path | Instead |\n|---|---|---|\n",
    );
    for removed in &REMOVED {
        let _ = writeln!(
            page,
            "| {} | `{}` | `{}` |",
            removed.method.unwrap_or("any"),
            removed.path,
            removed.instead
        );
    }
    page
}
