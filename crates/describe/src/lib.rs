//! `#[derive(Describe)]`: generates the field descriptions and the parser of a table of the scenario file
//! from the Rust type of that table.
//!
//! A field of the struct is a field of the file. Its doc comment, without the full stop at the end, is the
//! meaning in the reference. Its type decides which values are valid. `#[describe(...)]` sets the rest:
//!
//! | attribute | meaning |
//! |---|---|
//! | `label = "..."` | a short label for an axis; the default is the name |
//! | `holds = TYPE` | the type of the values, if the Rust type does not determine it |
//! | `default = VALUE` | the value if the file leaves the field out |
//! | `derived = "..."`, `absent = "..."` | the effect of leaving the field out, in words; the field is an `Option` |
//! | `follows(selector, given(field = "word"), "word" => "word", ...)` | a default word that depends on other fields |
//! | `of_kind` | each machine type (such as hypercube or fat tree) sets the type and the default of the field |
//! | `example = "..."` | an example value, if the example of the type would mislead |
//! | `only(selector = "word", ...)` | the field applies only if another field holds one of these words |
//! | `instead_of(field, ...)` | alternative fields: the file gives only one of them |
//! | `key = "..."` | the name in the file, if it differs from the Rust name |
//!
//! A field without `default`, `derived`, `absent` and `follows` is required. An attribute names a field of the
//! same table by its identifier, and any other field by its full key as a string.
//!
//! Some fields are not single values:
//!
//! | attribute | the field is |
//! |---|---|
//! | `table` | a table; an `Option` if it is optional |
//! | `table, short_for(field, ...)` | a table that may be written as one value, which sets these fields |
//! | `flatten` | fields of the same table, in a separate struct |
//! | `choice` | a word that selects which other fields exist: an enum |
//!
//! Each variant of such an enum is a word: its name in lower case with hyphens, or the text of
//! `#[describe(word = "...")]`. The fields of a variant apply to that word only. A struct that several
//! variants hold describes their common fields once. In the reference, the fields of the variants come after
//! the word, or after the field that `fields_after = "..."` names. `order(field, ...)` of a struct overrides
//! the order of its fields.

mod attributes;
mod fields;
mod variants;

use attributes::FieldAttributes;
use proc_macro::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, parse_macro_input};

/// Implement `Describe` for a table of the scenario file: the descriptions of its fields, and the conversion
/// of their values. See the documentation of the crate.
#[proc_macro_derive(Describe, attributes(describe))]
pub fn describe(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let generated = match &input.data {
        Data::Struct(data) => FieldAttributes::read(&input.attrs)
            .and_then(|said| fields::of_struct(&input.ident, &said, &data.fields)),
        Data::Enum(data) => variants::of_enum(&input.ident, data),
        Data::Union(_) => Err(syn::Error::new_spanned(
            &input.ident,
            "a union says nothing",
        )),
    };
    generated
        .unwrap_or_else(|error| {
            let error = error.to_compile_error();
            quote!(#error)
        })
        .into()
}
