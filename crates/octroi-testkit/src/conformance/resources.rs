//! The resources that the suite reads by URI.

use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};
use serde_json::json;

/// How long clients may cache the cacheable answers of the fixture.
pub(super) const CACHE_TTL_MS: u64 = 60_000;

/// The resource whose changes can be subscribed to.
pub(super) const WATCHED: &str = "test://watched-resource";

/// An image of one blue pixel.
pub(super) const PNG_BASE64: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mOQz38NAAIqAXpGbxguAAAAAElFTkSuQmCC";

const STATIC_TEXT: &str = "test://static-text";
const STATIC_BINARY: &str = "test://static-binary";
const TEMPLATE: &str = "test://template/{id}/data";

pub(super) fn list() -> ListResourcesResult {
    let resources = vec![
        Resource::new(STATIC_TEXT, "static text")
            .with_description("A text that never changes")
            .with_mime_type("text/plain"),
        Resource::new(STATIC_BINARY, "static binary")
            .with_description("A picture that never changes")
            .with_mime_type("image/png"),
        Resource::new(WATCHED, "watched")
            .with_description("A text whose changes can be subscribed to")
            .with_mime_type("text/plain"),
    ];
    ListResourcesResult::with_all_items(resources)
        .with_ttl_ms(CACHE_TTL_MS)
        .with_cache_scope(CacheScope::Public)
}

pub(super) fn list_templates() -> ListResourceTemplatesResult {
    let template = ResourceTemplate::new(TEMPLATE, "record by id")
        .with_description("One record of a table that has every id")
        .with_mime_type("application/json");
    ListResourceTemplatesResult::with_all_items(vec![template])
        .with_ttl_ms(CACHE_TTL_MS)
        .with_cache_scope(CacheScope::Public)
}

pub(super) fn read(uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let contents = match uri {
        STATIC_TEXT => ResourceContents::text("This text never changes.", uri),
        STATIC_BINARY => ResourceContents::blob(PNG_BASE64, uri).with_mime_type("image/png"),
        WATCHED => ResourceContents::text("This text may change.", uri),
        _ => read_record(uri)?,
    };
    Ok(ReadResourceResult::new(vec![contents])
        .with_ttl_ms(CACHE_TTL_MS)
        .with_cache_scope(CacheScope::Private))
}

fn read_record(uri: &str) -> Result<ResourceContents, ErrorData> {
    let id = uri
        .strip_prefix("test://template/")
        .and_then(|rest| rest.strip_suffix("/data"))
        .filter(|id| !id.is_empty() && !id.contains('/'));
    let Some(id) = id else {
        return Err(ErrorData::resource_not_found(
            format!("no resource has the URI {uri}"),
            Some(json!({ "uri": uri })),
        ));
    };
    let record = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
    Ok(ResourceContents::text(record.to_string(), uri).with_mime_type("application/json"))
}
