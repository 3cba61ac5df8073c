//! The reference pages in `docs/`, made from the tables. A test keeps them fresh.

mod errors;
mod operations;
mod resources;
mod shapes;

pub use errors::errors;
pub use operations::operations;
pub use resources::resources;

/// What every generated page begins with.
const NOTICE: &str = "<!-- Made from the tables of crates/octroi-api; do not edit. \
     UPDATE_EXPECT=1 cargo test -p octroi-api writes it anew. -->\n";

/// A text that cannot break out of a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
