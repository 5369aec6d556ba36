//! Check of the field descriptions of each kind of machine for inconsistencies, for the tests of that kind.

use crate::fields::field::{Default, Field};
use crate::fields::registry::Formats;
use crate::fields::schema::Schema;

impl Formats {
    /// Return the inconsistencies in the field descriptions of all kinds of machine, one line each:
    /// references to fields or words that do not exist, and tables whose fields are not contiguous. The
    /// author of a kind of machine should test that the result is empty.
    pub fn flaws(&'static self) -> Vec<String> {
        let mut flaws = Vec::new();
        for schema in self.schemas() {
            let named = schema.with_names(vec!["b".to_owned(), "a".to_owned()]);
            check_contiguous(&named, &mut flaws);
            for field in named.fields() {
                let wrong = field_flaws(&named, field).into_iter();
                flaws.extend(
                    wrong.map(|what| format!("{}: {}: {what}", schema.form.name, field.key)),
                );
            }
        }
        flaws
    }
}

/// Check that the descriptions of the fields of each table are contiguous, since the canonical form opens
/// each table once. Add inconsistencies to `flaws`.
fn check_contiguous(schema: &Schema, flaws: &mut Vec<String>) {
    let mut tables: Vec<&str> = Vec::new();
    // Skip shorthand fields: the canonical form of a file contains the fields that they set instead.
    let written = schema.fields().iter().filter(|field| field.sets.is_empty());
    for field in written {
        let table = field.key.rsplit_once('.').map_or("", |(table, _)| table);
        if tables.last() != Some(&table) {
            if tables.contains(&table) {
                let kind = schema.form.kind;
                flaws.push(format!(
                    "{kind}: {}: its table stands in two pieces",
                    field.key
                ));
            }
            tables.push(table);
        }
    }
}

/// Return the inconsistencies in the description of one field.
fn field_flaws(schema: &Schema, field: &Field) -> Vec<String> {
    let mut flaws = Vec::new();
    let words = |key: &str| match schema.field(key) {
        Some(field) => field.holds.info().words,
        None => &[],
    };
    let mut check = |right: bool, what: &str| {
        if !right {
            flaws.push(what.to_owned());
        }
    };
    if let Some(only) = &field.only {
        let known = words(&only.selector);
        check(
            only.choices.iter().all(|word| known.contains(word)),
            "a word of its condition is none",
        );
    }
    if let Default::Following(following) = &field.default {
        let (leaders, own) = (words(&following.selector), words(&field.key));
        let pairs = following.words.iter();
        check(
            pairs
                .clone()
                .all(|(leader, word)| leaders.contains(leader) && own.contains(word)),
            "a word that it follows, or follows to, is none",
        );
        let given = following.given.iter();
        check(
            given
                .clone()
                .all(|(key, word)| schema.field(key).is_some() && own.contains(word)),
            "a field that it follows does not exist",
        );
    }
    let mut others = field.alternatives.iter().chain(&field.sets);
    check(
        others.all(|key| schema.field(key).is_some()),
        "another field that it names does not exist",
    );
    flaws
}
