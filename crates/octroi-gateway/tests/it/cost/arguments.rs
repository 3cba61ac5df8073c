//! The arguments of a call and the schema of its tool.

use octroi_core::arguments::{self, ArgumentSchema, Strictness};
use serde_json::Value;

use super::choices::Choices;
use super::{Meter, generate, template};

/// A text `schema === arguments`, or choices from which both are generated.
pub(crate) fn run(input: &[u8], meter: &mut Meter<'_>) {
    let (schema, text) = if input.starts_with(b"T\n") {
        let parts = template::parts(input);
        let [schema, text, ..] = parts.as_slice() else { return };
        let Ok(schema) = serde_json::from_slice::<Value>(schema) else { return };
        (schema, text.clone())
    } else {
        let middle = input.len() / 2;
        let schema = generate::schema(&mut Choices::new(&input[..middle], 6_000));
        let value = generate::object(&mut Choices::new(&input[middle..], 40_000));
        (schema, value.to_string().into_bytes())
    };
    let n_schema = schema.to_string().len();
    let n_all = n_schema + text.len();
    let mut compiled = None;
    meter("compile a schema", n_schema, &mut || compiled = ArgumentSchema::new(&schema).ok());
    let mut read = None;
    meter("read arguments", text.len(), &mut || read = arguments::read_exactly(&text).ok());
    meter("canonical arguments", text.len(), &mut || drop(arguments::canonical(&text)));
    let (Some(compiled), Some((value, _))) = (compiled, read) else { return };
    for strictness in [Strictness::Schema, Strictness::Strict] {
        meter("check arguments", n_all, &mut || {
            drop(compiled.complaint(&value, text.len() as u64, strictness));
        });
    }
}
