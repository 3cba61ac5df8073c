//! The reference pages in `docs/`, generated from the tables. A test keeps them current.

mod errors;
mod operations;
mod resources;
mod rest;
mod shapes;

pub use errors::errors;
pub use operations::operations;
pub use resources::resources;
pub use rest::rest;

/// The notice at the top of every generated page.
const NOTICE: &str = "<!-- Generated from the tables of crates/octroi-api; do not edit. \
     Regenerate with UPDATE_EXPECT=1 cargo test -p octroi-api. -->\n";

/// Escapes a text for a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
