//! Generates the code that describes and reads the fields of a struct or of a variant of an enum.

use crate::attributes::{FieldAttributes, FieldReference, Missing, Role};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Field, Fields, GenericArgument, Ident, PathArguments, Result, Type};

/// Generate the implementation of `Describe` for a struct.
pub(crate) fn of_struct(
    name: &Ident,
    said: &FieldAttributes,
    fields: &Fields,
) -> Result<TokenStream> {
    let Fields::Named(named) = fields else {
        return Err(syn::Error::new_spanned(name, "fields need names"));
    };
    let Parts { rows, reads } = parts(named.named.iter())?;
    let names = &said.order;
    let order = (!names.is_empty()).then(|| quote!(rows.order(path, &[#(#names),*]);));
    Ok(quote! {
        impl ::isthmus_scenario::format::Describe for #name {
            // Adds the descriptions of the fields to the reference of scenario files.
            fn rows(path: &str, rows: &mut ::isthmus_scenario::format::Rows) {
                #rows
                #order
            }

            // Reads the values of the fields from the table at `path`.
            fn read(settings: &::isthmus_scenario::format::Settings, path: &str) -> Self {
                Self { #reads }
            }
        }
    })
}

/// Generated code for some fields of a table: statements that add their descriptions to the reference, and
/// initialisers that read their values.
pub(crate) struct Parts {
    /// Statements that add the descriptions of the fields to the reference of scenario fields.
    pub(crate) rows: TokenStream,
    /// Initialisers that read the values of the fields from the settings.
    pub(crate) reads: TokenStream,
}

/// Return the generated code for the fields of a struct or a variant, for a table at `path`.
pub(crate) fn parts<'f>(fields: impl Iterator<Item = &'f Field>) -> Result<Parts> {
    let mut rows = Vec::new();
    let mut reads = Vec::new();
    let mut later: Vec<(String, TokenStream)> = Vec::new();
    for field in fields {
        let said = FieldAttributes::read(&field.attrs)?;
        let Some(ident) = &field.ident else {
            return Err(syn::Error::new_spanned(field, "fields need names"));
        };
        let key = said.key.clone().unwrap_or_else(|| ident.to_string());
        let type_ = &field.ty;
        let read = reader(&said, &key, type_);
        reads.push(quote!(#ident: #read,));
        match said.role {
            Role::Value => rows.push(row(&said, &key, type_, None)),
            Role::Words => {
                let value_type = optional(type_).unwrap_or(type_);
                let words =
                    quote!(<#value_type as ::isthmus_scenario::format::VariantNames>::VARIANTS);
                rows.push(row(&said, &key, type_, Some(&words)));
            }
            Role::Flatten => rows.push(quote! {
                <#type_ as ::isthmus_scenario::format::Describe>::rows(path, rows);
            }),
            Role::Table => {
                let inner = optional(type_);
                let optional = inner.is_some();
                let type_ = inner.unwrap_or(type_);
                let short = (!said.short_for.is_empty()).then(|| short(&said, &key, type_));
                rows.push(quote! {
                    #short
                    rows.table::<#type_>(&::isthmus_scenario::format::at(path, #key), #optional);
                });
            }
            Role::Choice => {
                let words = quote!(<#type_ as ::isthmus_scenario::format::Selector>::WORDS);
                rows.push(row(&said, &key, type_, Some(&words)));
                let fields = quote! {
                    rows.choice::<#type_>(path, &::isthmus_scenario::format::at(path, #key));
                };
                match &said.fields_after {
                    Some(after) => later.push((after.clone(), fields)),
                    None => rows.push(fields),
                }
            }
        }
        for (_, fields) in later.extract_if(.., |(after, _)| *ident == *after) {
            rows.push(fields);
        }
    }
    if let Some((after, _)) = later.first() {
        let problem = format!("there is no field `{after}` below");
        return Err(syn::Error::new(proc_macro2::Span::call_site(), problem));
    }
    Ok(Parts {
        rows: quote!(#(#rows)*),
        reads: quote!(#(#reads)*),
    })
}

/// Return the generated statement that adds the description of a field to the reference. `words` are the
/// allowed words of a choice.
fn row(
    said: &FieldAttributes,
    key: &str,
    type_: &Type,
    words: Option<&TokenStream>,
) -> TokenStream {
    let value_type = optional(type_).unwrap_or(type_);
    let holds = match (&said.holds, words) {
        (Some(holds), _) => {
            quote!(::isthmus_scenario::format::typed::<#value_type, _>(const { &#holds }))
        }
        (None, Some(words)) => {
            quote!(const { &::isthmus_scenario::format::Choice(#words) })
        }
        (None, None) => quote!(<#value_type as ::isthmus_scenario::format::Held>::TYPE),
    };
    let row = field(said, key, key, &holds);
    quote!(rows.push(#row);)
}

/// Return generated code that describes the key `table` with a single value, a short form that sets several fields of
/// that table.
fn short(said: &FieldAttributes, table: &str, type_: &Type) -> TokenStream {
    let names = &said.short_for;
    let Some(first) = names.first() else {
        return TokenStream::new();
    };
    let holds = quote!(::isthmus_scenario::format::type_of::<#type_>(#first));
    let row = field(said, table, table, &holds);
    quote! {
        rows.push(#row.short_for(&[#(&::isthmus_scenario::format::at(path, &[#table, #names].join("."))),*]));
    }
}

/// Return the generated expression that constructs the description of a field.
fn field(said: &FieldAttributes, name: &str, key: &str, holds: &TokenStream) -> TokenStream {
    let default = default(&said.missing);
    let label = said.label.clone().unwrap_or_else(|| name.replace('_', " "));
    let meaning = &said.meaning;
    let only = said.only.as_ref().map(|(selector, words)| {
        let selector = selector.key();
        quote!(.only(#selector, &[#(#words),*]))
    });
    let others: Vec<TokenStream> = said.instead_of.iter().map(FieldReference::key).collect();
    let instead = (!others.is_empty()).then(|| quote!(.instead_of(&[#(#others),*])));
    let example = said
        .example
        .as_ref()
        .map(|example| quote!(.such_as(#example)));
    quote! {
        ::isthmus_scenario::format::Field::new(
            &::isthmus_scenario::format::at(path, #key), #holds, #default, #label, #meaning,
        ) #only #instead #example
    }
}

/// Return the generated expression for the default of a field.
fn default(missing: &Missing) -> TokenStream {
    let default = quote!(::isthmus_scenario::format::Default);
    match missing {
        Missing::Required => quote!(#default::Required),
        Missing::Value(value) => quote!(#default::Value(#value)),
        Missing::Derived(words) => quote!(#default::Derived(#words)),
        Missing::Absent(words) => quote!(#default::Absent(#words)),
        Missing::OfKind => quote!(#default::OfKind),
        Missing::Follows {
            selector,
            given,
            words,
        } => {
            let selector = selector.key();
            let given = given.iter().map(|(leader, word)| {
                let leader = leader.key();
                quote!((#leader, #word))
            });
            let words = words.iter().map(|(leader, word)| quote!((#leader, #word)));
            quote!(#default::following(&[#(#given),*], #selector, &[#(#words),*]))
        }
    }
}

/// Return the generated expression that reads the value of a field.
fn reader(said: &FieldAttributes, key: &str, type_: &Type) -> TokenStream {
    let key_path = quote!(&::isthmus_scenario::format::at(path, #key));
    let is_optional = optional(type_).is_some();
    match (&said.role, is_optional) {
        (Role::Value, false) => quote!(settings.held(#key_path)),
        (Role::Value, true) => quote!(settings.held_if_any(#key_path)),
        (Role::Words, false) => quote!(settings.variant(#key_path)),
        (Role::Words, true) => quote!(settings.variant_if_any(#key_path)),
        (Role::Flatten, _) => quote!(::isthmus_scenario::format::Describe::read(settings, path)),
        (Role::Table, false) => {
            quote!(::isthmus_scenario::format::Describe::read(settings, #key_path))
        }
        (Role::Table, true) => quote!(::isthmus_scenario::format::read_if_any(settings, #key_path)),
        (Role::Choice, _) => {
            quote!(::isthmus_scenario::format::Selector::read(settings, path, #key_path))
        }
    }
}

/// Return the type `T` of an `Option<T>`, or `None` for any other type.
fn optional(type_: &Type) -> Option<&Type> {
    let Type::Path(path) = type_ else { return None };
    let last = path.path.segments.last()?;
    match &last.arguments {
        PathArguments::AngleBracketed(arguments) if last.ident == "Option" => {
            match arguments.args.first()? {
                GenericArgument::Type(inner) => Some(inner),
                _ => None,
            }
        }
        _ => None,
    }
}
