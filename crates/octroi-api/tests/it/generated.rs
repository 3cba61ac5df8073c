//! Generated files match the tables. `UPDATE_EXPECT=1` accepts a change.

use expect_test::expect_file;
use octroi_api::{reference, typescript};

#[test]
fn the_reference_of_operations_is_fresh() {
    expect_file!["../../../../docs/reference-operations.md"].assert_eq(&reference::operations());
}

#[test]
fn the_reference_of_resources_is_fresh() {
    expect_file!["../../../../docs/reference-resources.md"].assert_eq(&reference::resources());
}

#[test]
fn the_reference_of_errors_is_fresh() {
    expect_file!["../../../../docs/errors.md"].assert_eq(&reference::errors());
}

#[test]
fn the_types_of_the_web_interface_are_fresh() {
    expect_file!["../../../../web/src/api/types.ts"].assert_eq(&typescript::types());
    expect_file!["../../../../web/src/api/tables.ts"].assert_eq(&typescript::tables());
}

#[test]
fn the_reference_of_rest_is_fresh() {
    expect_file!["../../../../docs/reference-rest.md"].assert_eq(&reference::rest());
}

#[test]
fn the_description_of_rest_is_fresh() {
    let description = serde_json::to_string_pretty(&octroi_api::rest::openapi()).expect("JSON");
    expect_file!["../../../../docs/octroi.openapi.json"].assert_eq(&format!("{description}\n"));
}

#[test]
fn the_catalogue_of_messages_is_fresh() {
    let catalogue = serde_json::to_string_pretty(&octroi_api::messages::catalogue()).expect("JSON");
    expect_file!["../../../../docs/octroi.messages.json"].assert_eq(&format!("{catalogue}\n"));
}
