//! Generation of the code for enums: each variant is a word of the scenario file, and its fields apply to
//! that word only.

use crate::attributes::FieldAttributes;
use crate::fields::{Parts, parts};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataEnum, Fields, Ident, Result};

/// Generate the implementation of `Selector` for an enum.
pub(crate) fn of_enum(name: &Ident, data: &DataEnum) -> Result<TokenStream> {
    let mut words = Vec::new();
    let mut rows = Vec::new();
    let mut reads = Vec::new();
    for variant in &data.variants {
        let said = FieldAttributes::read(&variant.attrs)?;
        let ident = &variant.ident;
        let word = said.word.unwrap_or_else(|| kebab(&ident.to_string()));
        let (variant_rows, read) = match &variant.fields {
            Fields::Unit => (TokenStream::new(), quote!(Self::#ident)),
            Fields::Named(named) => {
                let Parts { rows, reads } = parts(named.named.iter())?;
                (rows, quote!(Self::#ident { #reads }))
            }
            Fields::Unnamed(unnamed) => {
                let [field] = &*unnamed.unnamed.iter().collect::<Vec<_>>() else {
                    let problem = "one struct, or fields with names";
                    return Err(syn::Error::new_spanned(unnamed, problem));
                };
                let type_ = &field.ty;
                (
                    quote!(<#type_ as ::isthmus_scenario::format::Describe>::rows(path, rows);),
                    quote!(Self::#ident(::isthmus_scenario::format::Describe::read(settings, path))),
                )
            }
        };
        rows.push(quote!(rows.only_with(selector, #word, |rows| { #variant_rows });));
        reads.push(quote!(#word => #read,));
        words.push(word);
    }
    Ok(quote! {
        impl ::isthmus_scenario::format::Selector for #name {
            const WORDS: &'static [&'static str] = &[#(#words),*];

            // Adds the descriptions of the fields of all variants to the reference of scenario
            // files.
            fn rows(path: &str, selector: &str, rows: &mut ::isthmus_scenario::format::Rows) {
                #(#rows)*
            }

            // Reads the field `selector` of a scenario, whose word names the variant, and then the fields of
            // that variant.
            fn read(settings: &::isthmus_scenario::format::Settings, path: &str, selector: &str) -> Self {
                match settings.text(selector).as_str() {
                    #(#reads)*
                    word => ::isthmus_scenario::format::panic_unknown_word(selector, word),
                }
            }
        }
    })
}

/// Convert a name such as `CounterRotating` to `counter-rotating`.
fn kebab(name: &str) -> String {
    let mut word = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !word.is_empty() {
            word.push('-');
        }
        word.extend(letter.to_lowercase());
    }
    word
}

#[cfg(test)]
mod tests {
    use super::kebab;

    /// Checks that names of variants are converted to words in lower case with hyphens.
    #[test]
    fn words_are_names_of_variants_in_lower_case_with_hyphens() {
        let words = ["Ring", "CounterRotating", "Mser5"].map(kebab);
        assert_eq!(words, ["ring", "counter-rotating", "mser5"]);
    }
}
