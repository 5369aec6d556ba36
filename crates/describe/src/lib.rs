//! `#[derive(Describe)]`: the rows and the reader of a table of the scenario file, from the type
//! that holds what the table says.
//!
//! A field of a struct is a field of the file. Its doc comment is the meaning in the reference (without
//! the point at the end), its type decides what it may hold, and `#[describe(...)]` says the rest:
//!
//! | attribute | says |
//! |---|---|
//! | `label = "..."` | a few words for an axis; else the name |
//! | `holds = TYPE` | the type of its values, where its type in Rust alone does not say |
//! | `default = VALUE` | the value if it is not given |
//! | `derived = "..."`, `absent = "..."` | in words, what holds then; the field is an `Option` |
//! | `follows(selector, given(field = "word"), "word" => "word", ...)` | a word that follows from others |
//! | `of_kind` | each kind of machine says in a way of its own what it holds and what its default is |
//! | `example = "..."` | a value as it would be written, where that of the kind would mislead |
//! | `only(selector = "word", ...)` | it means something only if another field holds one of these words |
//! | `instead_of(field, ...)` | other ways to say the same |
//! | `key = "..."` | its name in the file, where that differs from the name here |
//!
//! Without `default`, `derived`, `absent` and `follows` it must be given. Other fields are named by
//! themselves if they are of the same table, and by their whole key, as text, if not.
//!
//! Some fields are not values:
//!
//! | attribute | the field is |
//! |---|---|
//! | `table` | a table; an `Option` if it may be left out |
//! | `table, short_for(field, ...)` | a table that one value may stand for |
//! | `flatten` | fields of the same table, in a struct of their own |
//! | `choice` | a word that decides which other fields there are: an enum |
//!
//! A variant of such an enum is a word, its name in lower case with hyphens or that of
//! `#[describe(word = "...")]`, and its fields mean something beside that word only. Variants may have
//! fields in common: these are described once, in a struct that each of them holds. The fields of the
//! variants follow the word, or the field that `fields_after = "..."` names; `order(field, ...)` of a
//! struct gives the order of all, where that of the types is another.

mod attributes;
mod fields;
mod variants;

use attributes::Said;
use proc_macro::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, parse_macro_input};

/// Makes the rows and the reader of a table; see the documentation of the crate.
#[proc_macro_derive(Describe, attributes(describe))]
pub fn describe(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let made = match &input.data {
        Data::Struct(data) => Said::read(&input.attrs)
            .and_then(|said| fields::of_struct(&input.ident, &said, &data.fields)),
        Data::Enum(data) => variants::of_enum(&input.ident, data),
        Data::Union(_) => Err(syn::Error::new_spanned(
            &input.ident,
            "a union says nothing",
        )),
    };
    made.unwrap_or_else(|error| {
        let error = error.to_compile_error();
        quote!(#error)
    })
    .into()
}
