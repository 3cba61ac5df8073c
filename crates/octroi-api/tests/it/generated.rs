//! Generated files match the tables. `UPDATE_EXPECT=1` accepts a change.

use expect_test::expect_file;
use octroi_api::reference;

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
