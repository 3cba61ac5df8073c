//! Limits on the size of functions and structs. Tests are tables and snapshots, which may be longer; clippy
//! limits them.

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use super::source::{Module, Target};
use super::{Finding, Rule};

/// From the line of `fn` to that of the last brace.
const FUNCTION_LINES_MAX: usize = 80;
const STRUCT_FIELDS_MAX: usize = 15;

/// One finding for each function and struct over the limit.
pub(crate) fn check(target: &Target) -> Vec<Finding> {
    let mut findings = Vec::new();
    for module in &target.modules {
        let mut ruler = Ruler { module, owner: module.place(target), findings: Vec::new() };
        for item in &module.items {
            ruler.visit_item(item);
        }
        findings.extend(ruler.findings);
    }
    findings
}

struct Ruler<'a> {
    module: &'a Module,
    /// The module, and the type whose functions are being checked.
    owner: String,
    findings: Vec<Finding>,
}

impl Ruler<'_> {
    fn function(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let first = signature.span().start().line;
        let n_lines = body.span().end().line + 1 - first;
        if n_lines > FUNCTION_LINES_MAX {
            let place = format!("{}::{}", self.owner, signature.ident);
            let message = format!(
                "{}:{first}: function `{}` has {n_lines} lines, more than {FUNCTION_LINES_MAX}",
                self.module.file, signature.ident
            );
            self.findings.push(Finding { rule: Rule::FunctionLines, place, message });
        }
    }

    /// Visits the inside of a type or a trait.
    fn within(&mut self, name: &str, look: impl FnOnce(&mut Self)) {
        let outer = self.owner.clone();
        self.owner = format!("{outer}::{name}");
        look(self);
        self.owner = outer;
    }
}

impl<'a> Visit<'a> for Ruler<'_> {
    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'a syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.function(&item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, block: &'a syn::ItemImpl) {
        let name = match &*block.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
            _ => None,
        };
        self.within(&name.unwrap_or_default(), |ruler| visit::visit_item_impl(ruler, block));
    }

    fn visit_item_trait(&mut self, item: &'a syn::ItemTrait) {
        self.within(&item.ident.to_string(), |ruler| visit::visit_item_trait(ruler, item));
    }

    fn visit_item_struct(&mut self, item: &'a syn::ItemStruct) {
        let n_fields = item.fields.len();
        if n_fields > STRUCT_FIELDS_MAX {
            let place = format!("{}::{}", self.owner, item.ident);
            let message = format!(
                "{}:{}: struct `{}` has {n_fields} fields, more than {STRUCT_FIELDS_MAX}",
                self.module.file,
                item.ident.span().start().line,
                item.ident
            );
            self.findings.push(Finding { rule: Rule::StructFields, place, message });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::made_up;
    use super::*;

    fn messages(source: &str) -> Vec<String> {
        let found = check(&made_up(&[("lib.rs", source)]));
        found.into_iter().map(|finding| format!("{} | {}", finding.place, finding.message)).collect()
    }

    fn too_long(place: &str, line: usize, name: &str) -> Vec<String> {
        let message = format!("function `{name}` has 81 lines, more than 80");
        vec![format!("{place} | crates/made-up/src/lib.rs:{line}: {message}")]
    }

    #[test]
    fn functions_have_eighty_lines_at_most_wherever_they_are() {
        let body = |n_lines: usize| format!("{{{}}}", "\n".repeat(n_lines - 1));
        let table = [
            (format!("fn f() {}", body(80)), vec![]),
            (format!("fn f() {}", body(81)), too_long("made-up::f", 1, "f")),
            // Attributes and comments of a function do not count.
            (format!("/// A\n/// doc.\n#[inline]\nfn f() {}", body(80)), vec![]),
            // A signature of four lines does.
            (format!("fn f(\n  a: u8,\n  b: u8\n) {}", body(77)), vec![]),
            (format!("fn f(\n  a: u8,\n  b: u8\n) {}", body(78)), too_long("made-up::f", 1, "f")),
            (format!("impl S {{ fn f() {} }}", body(81)), too_long("made-up::S::f", 1, "f")),
            (format!("impl T for a::S<u8> {{\nfn f() {} }}", body(81)), too_long("made-up::S::f", 2, "f")),
            (format!("trait T {{ fn f() {} fn g(); }}", body(81)), too_long("made-up::T::f", 1, "f")),
            (format!("mod m {{ fn f() {} }}", body(81)), too_long("made-up::m::f", 1, "f")),
            (format!("#[test] fn f() {}", body(81)), vec![]),
            (format!("#[cfg(test)] mod tests {{ fn f() {} }}", body(81)), vec![]),
        ];
        for (source, expected) in table {
            assert_eq!(messages(&source), expected, "{source}");
        }
    }

    #[test]
    fn structs_have_fifteen_fields_at_most() {
        let fields = |n: usize| (0..n).map(|number| format!("f{number}: u8, ")).collect::<String>();
        let message = "struct `S` has 16 fields, more than 15";
        let expected = vec![format!("made-up::S | crates/made-up/src/lib.rs:1: {message}")];
        for (source, expected) in [
            (format!("struct S {{ {} }}", fields(15)), vec![]),
            (format!("struct S {{ {} }}", fields(16)), expected.clone()),
            (format!("struct S({});", "u8,".repeat(16)), expected),
            ("struct S;".to_owned(), vec![]),
            (format!("#[cfg(test)] struct S {{ {} }}", fields(16)), vec![]),
        ] {
            assert_eq!(messages(&source), expected, "{source}");
        }
    }
}
