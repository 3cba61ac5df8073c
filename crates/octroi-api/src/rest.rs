//! The REST interface as data: which operation answers which method and path, and how a request becomes its
//! arguments.
//!
//! A route belongs to its operation, in the table of operations. Nothing here or in the server knows an operation by
//! name.

mod arguments;
mod openapi;
mod removed;

use crate::access::Face;
use crate::operation::OperationEntry;
use crate::operations;

pub use crate::route::{DESCRIPTION_PATH, Method, PREFIX, Place, Route, Subject};

pub use arguments::Given;
pub use openapi::openapi;
pub use removed::{REMOVED, Removed, replacement};

/// A route, and the operation that answers it.
#[derive(Clone, Copy, Debug)]
pub struct FoundRoute<'p> {
    /// The operation.
    pub operation: &'static OperationEntry,
    /// Its route.
    pub route: &'static Route,
    /// The text of `{id}` in the path, as it was sent.
    pub id: &'p str,
}

/// What is at a path.
#[derive(Clone, Debug)]
pub enum Found<'p> {
    /// A route: the operations that answer it, at most one for each face.
    Routes(Vec<FoundRoute<'p>>),
    /// Other methods only.
    OtherMethods(Vec<Method>),
    /// Nothing.
    Nothing,
}

/// All routes with their operations, in the order of the table.
pub fn routes() -> impl Iterator<Item = (&'static OperationEntry, &'static Route)> {
    operations::all().flat_map(|operation| operation.rest.iter().map(move |route| (operation, route)))
}

/// Looks for a method and a path. A path without `{id}` hides one that it also fits, as in `OpenAPI`.
pub fn find(method: Option<Method>, path: &str) -> Found<'_> {
    let mut found: Vec<FoundRoute<'_>> = routes()
        .filter_map(|(operation, route)| route.matches(path).map(|id| FoundRoute { operation, route, id }))
        .collect();
    if found.is_empty() {
        return Found::Nothing;
    }
    if let Some(exact) = found.iter().find(|one| !one.route.has_id()).map(|one| one.route.path) {
        found.retain(|one| one.route.path == exact);
    }
    let mut methods: Vec<Method> = found.iter().map(|one| one.route.method).collect();
    found.retain(|one| Some(one.route.method) == method);
    if found.is_empty() {
        methods.sort_unstable();
        methods.dedup();
        return Found::OtherMethods(methods);
    }
    Found::Routes(found)
}

impl FoundRoute<'_> {
    /// That of the operations which a face has.
    pub fn at(found: &[Self], face: Face) -> Option<&Self> {
        found.iter().find(|one| one.operation.has_face(face))
    }
}
