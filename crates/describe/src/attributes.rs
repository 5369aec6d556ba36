//! Parser of the attribute `#[describe(...)]` and of the doc comment of a field or a variant.

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::token::Bracket;
use syn::{
    Attribute, Expr, ExprLit, Ident, Lit, LitStr, Meta, Result, Token, bracketed, parenthesized,
};

/// Reference in an attribute to another field of the scenario file.
pub(crate) enum FieldReference {
    /// Name of a field of the same table.
    Sibling(String),
    /// Full key of a field of any table.
    Whole(String),
}

impl FieldReference {
    /// Return a Rust expression whose value is the full key of the field. It uses the variable
    /// `path`, the key of the table that has the attribute.
    pub(crate) fn key(&self) -> TokenStream {
        match self {
            Self::Sibling(name) => quote!(&::isthmus_scenario::format::at(path, #name)),
            Self::Whole(key) => quote!(#key),
        }
    }
}

impl Parse for FieldReference {
    /// Parse an identifier as a field of the same table, or a string as the full key of any field.
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.peek(LitStr) {
            return Ok(Self::Whole(input.parse::<LitStr>()?.value()));
        }
        Ok(Self::Sibling(input.parse::<Ident>()?.to_string()))
    }
}

/// Value or effect of a field that the file leaves out.
#[derive(Default)]
pub(crate) enum Missing {
    /// The file must not leave the field out.
    #[default]
    Required,
    /// The field has this default, as TOML.
    Value(String),
    /// The value follows from other fields, as this text describes.
    Derived(String),
    /// The field has no value; this text describes the effect.
    Absent(String),
    /// The default is a word that follows from other fields.
    Follows {
        /// Field whose word decides if no field in `given` is set.
        selector: FieldReference,
        /// Fields, each with the default word that follows if this field is set.
        given: Vec<(FieldReference, String)>,
        /// Pairs of a word of the selector and the default word that follows from it.
        words: Vec<(String, String)>,
    },
    /// Each machine type (such as hypercube or fat tree) defines the default.
    OfKind,
}

/// Role of a field of a Rust struct in a table of the scenario file.
#[derive(Default, PartialEq)]
pub(crate) enum Role {
    /// The field is a single value.
    #[default]
    Value,
    /// The field is a table within this table.
    Table,
    /// The field is a struct whose fields belong to the same table.
    Flatten,
    /// The field is a word that selects which other fields exist.
    Choice,
    /// The field is a word that names a variant of an enum without fields.
    Words,
}

/// Parsed content of the attribute `#[describe(...)]` and of the doc comment of a field or a
/// variant.
#[derive(Default)]
pub(crate) struct FieldAttributes {
    pub(crate) role: Role,
    /// The doc comment in one line.
    pub(crate) meaning: String,
    /// Short label for an axis.
    pub(crate) label: Option<String>,
    /// Name in the file, if it differs from the Rust name.
    pub(crate) key: Option<String>,
    /// Word of a variant, if it differs from the variant's name.
    pub(crate) word: Option<String>,
    /// Rust expression for the type of the values, from `holds = TYPE`.
    pub(crate) holds: Option<TokenStream>,
    /// Value or effect if the file leaves the field out.
    pub(crate) missing: Missing,
    /// Example value, as TOML.
    pub(crate) example: Option<String>,
    /// Condition under which the field has an effect: another field and its words.
    pub(crate) only: Option<(FieldReference, Vec<String>)>,
    /// Alternative fields for the same quantity.
    pub(crate) instead_of: Vec<FieldReference>,
    /// Names of the fields that a single value for this table sets.
    pub(crate) short_for: Vec<String>,
    /// Names of the fields of a struct, in the order of the reference manual.
    pub(crate) order: Vec<String>,
    /// Name of the field after which the reference lists the fields of variants.
    pub(crate) fields_after: Option<String>,
}

impl FieldAttributes {
    /// Read the attributes of a field or a variant.
    pub(crate) fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut said = Self {
            meaning: meaning(attributes),
            ..Self::default()
        };
        for attribute in attributes.iter().filter(|a| a.path().is_ident("describe")) {
            attribute.parse_nested_meta(|meta| said.parse_item(&meta))?;
        }
        Ok(said)
    }

    /// Parse one item of `#[describe(...)]`, such as `label = "time"`.
    fn parse_item(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let name = meta.path.require_ident()?.to_string();
        match name.as_str() {
            "table" => self.role = Role::Table,
            "flatten" => self.role = Role::Flatten,
            "choice" => self.role = Role::Choice,
            "words" => self.role = Role::Words,
            "of_kind" => self.missing = Missing::OfKind,
            "label" => self.label = Some(text(meta)?),
            "key" => self.key = Some(text(meta)?),
            "word" => self.word = Some(text(meta)?),
            "example" => self.example = Some(text(meta)?),
            "fields_after" => self.fields_after = Some(text(meta)?),
            "derived" => self.missing = Missing::Derived(text(meta)?),
            "absent" => self.missing = Missing::Absent(text(meta)?),
            "holds" => self.holds = Some(tokens(meta.value()?)?),
            "default" => self.missing = Missing::Value(toml(meta.value()?)?),
            "follows" => self.missing = follows(meta)?,
            "only" => {
                let content;
                parenthesized!(content in meta.input);
                let selector = content.parse()?;
                content.parse::<Token![=]>()?;
                let words = Punctuated::<LitStr, Token![,]>::parse_terminated(&content)?;
                self.only = Some((selector, words.iter().map(LitStr::value).collect()));
            }
            "instead_of" => {
                let content;
                parenthesized!(content in meta.input);
                let others = Punctuated::<FieldReference, Token![,]>::parse_terminated(&content)?;
                self.instead_of = others.into_iter().collect();
            }
            "short_for" => self.short_for = names(meta)?,
            "order" => self.order = names(meta)?,
            _ => return Err(meta.error("a field cannot be described so")),
        }
        Ok(())
    }
}

/// Parse `= "text"` and return the text.
fn text(meta: &ParseNestedMeta<'_>) -> Result<String> {
    Ok(meta.value()?.parse::<LitStr>()?.value())
}

/// Parse a list of field names of the same table: `(first, second, ...)`.
fn names(meta: &ParseNestedMeta<'_>) -> Result<Vec<String>> {
    let content;
    parenthesized!(content in meta.input);
    let names = Punctuated::<Ident, Token![,]>::parse_terminated(&content)?;
    Ok(names.iter().map(Ident::to_string).collect())
}

/// Parse the arguments of `follows(selector, given(field = "word"), "word" => "word", ...)`, a
/// default that depends on other fields.
fn follows(meta: &ParseNestedMeta<'_>) -> Result<Missing> {
    let content;
    parenthesized!(content in meta.input);
    let selector = content.parse()?;
    let (mut given, mut words) = (Vec::new(), Vec::new());
    while content.parse::<Option<Token![,]>>()?.is_some() && !content.is_empty() {
        if content.peek(LitStr) {
            let leader = content.parse::<LitStr>()?.value();
            content.parse::<Token![=>]>()?;
            words.push((leader, content.parse::<LitStr>()?.value()));
        } else {
            let word: Ident = content.parse()?;
            if word != "given" {
                return Err(syn::Error::new(
                    word.span(),
                    "`given(field = \"word\")` or a word",
                ));
            }
            let pair;
            parenthesized!(pair in content);
            let leader = pair.parse()?;
            pair.parse::<Token![=]>()?;
            given.push((leader, pair.parse::<LitStr>()?.value()));
        }
    }
    Ok(Missing::Follows {
        selector,
        given,
        words,
    })
}

/// Return the tokens of the input up to the next comma.
fn tokens(input: ParseStream<'_>) -> Result<TokenStream> {
    let mut tokens = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        tokens.extend([input.parse::<TokenTree>()?]);
    }
    Ok(tokens)
}

/// Parse a literal, or a list of literals, and return it as TOML.
fn toml(input: ParseStream<'_>) -> Result<String> {
    if input.peek(Bracket) {
        let content;
        bracketed!(content in input);
        let items = Punctuated::<Lit, Token![,]>::parse_terminated(&content)?;
        let items: Vec<String> = items.iter().map(literal).collect();
        return Ok(format!("[{}]", items.join(", ")));
    }
    input.parse().map(|value: Lit| literal(&value))
}

/// Return the TOML text of a Rust literal.
fn literal(value: &Lit) -> String {
    match value {
        Lit::Str(text) => format!("\"{}\"", text.value()),
        other => quote!(#other).to_string(),
    }
}

/// Return the doc comment in one line, without the full stop at its end.
fn meaning(attributes: &[Attribute]) -> String {
    let mut words = Vec::new();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("doc")) {
        if let Meta::NameValue(pair) = &attribute.meta
            && let Expr::Lit(ExprLit {
                lit: Lit::Str(line),
                ..
            }) = &pair.value
        {
            let line = line.value();
            words.extend(line.split_whitespace().map(str::to_owned));
        }
    }
    let text = words.join(" ");
    text.strip_suffix('.').unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::{Field, parse_quote};

    /// Return the parsed attribute and doc comment of a field.
    fn said(field: &Field) -> FieldAttributes {
        FieldAttributes::read(&field.attrs).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Checks that a doc comment of several lines becomes one line without the full stop at its
    /// end.
    #[test]
    fn the_doc_comment_is_the_meaning_in_one_line() {
        let field = parse_quote! {
            /// How long
            /// it takes (section 3.2).
            #[describe(label = "time", default = "5 ms")]
            time: Time
        };
        let said = said(&field);
        assert_eq!(said.meaning, "How long it takes (section 3.2)");
        assert_eq!(said.label.as_deref(), Some("time"));
        assert!(matches!(said.missing, Missing::Value(value) if value == "\"5 ms\""));
    }

    /// Checks that default values in Rust syntax are converted to TOML text.
    #[test]
    fn defaults_are_converted_to_toml() {
        let value = |field: Field| match said(&field).missing {
            Missing::Value(value) => value,
            _ => panic!("it has a default"),
        };
        let list = value(parse_quote!(#[describe(default = [50, 90.5, "x"])] list: X));
        assert_eq!(list, "[50, 90.5, \"x\"]");
        assert_eq!(
            value(parse_quote!(#[describe(default = 1.0)] share: X)),
            "1.0"
        );
        assert_eq!(
            value(parse_quote!(#[describe(default = true)] flag: X)),
            "true"
        );
    }

    /// Checks that `only` and `instead_of` accept identifiers and full keys of fields.
    #[test]
    fn conditions_name_a_field_of_the_same_table_or_a_full_key() {
        let field = parse_quote! {
            #[describe(only("machine.tree" = "ports", "k-ary"), instead_of(rate))]
            load: X
        };
        let said = said(&field);
        let Some((FieldReference::Whole(selector), words)) = said.only else {
            panic!("it has a condition on a whole key")
        };
        assert_eq!((selector.as_str(), words.len()), ("machine.tree", 2));
        assert!(matches!(&said.instead_of[..], [FieldReference::Sibling(name)] if name == "rate"));
    }

    /// Checks that an unknown item of `#[describe(...)]` gives an error.
    #[test]
    fn an_unknown_item_of_the_attribute_is_an_error() {
        let field: Field = parse_quote!(#[describe(defualt = 1)] x: X);
        let error = FieldAttributes::read(&field.attrs)
            .err()
            .map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some("a field cannot be described so"));
    }
}
