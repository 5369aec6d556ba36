//! Traits by which Rust types define tables of the scenario file. `#[derive(Describe)]` implements them.

use crate::fields::field::{Field, Only};
use crate::file::settings::Settings;
use crate::file::tree::join;
use crate::value::AnyType;

pub use isthmus_describe::Describe;

/// A Rust type that defines a table of the scenario file: the descriptions of its fields, and the conversion
/// of their values. Implement this trait with `#[derive(Describe)]`.
pub trait Describe: Sized {
    /// Add the descriptions of the fields of the table `path` to `rows`.
    fn rows(path: &str, rows: &mut Rows);
    /// Return the values of the fields of the table `path`. The settings must be complete.
    fn read(settings: &Settings, path: &str) -> Self;
}

/// A choice in the scenario file, as an enum: the field names a variant, whose own fields then apply.
/// Implement this trait with `#[derive(Describe)]`.
pub trait Selector: Sized {
    /// The names of the variants in a scenario file, in the order of the reference manual.
    const WORDS: &'static [&'static str];
    /// Add to `rows` the descriptions of the fields of all variants. Each applies only if the field `selector` names
    /// its variant.
    fn rows(path: &str, selector: &str, rows: &mut Rows);
    /// Read the variant that the value of the field `selector` names, with its fields in the table `path`.
    fn read(settings: &Settings, path: &str, selector: &str) -> Self;
}

/// Builder of the list of field descriptions of a table and its subtables.
#[derive(Debug, Default)]
pub struct Rows(Vec<Field>);

impl Rows {
    /// Return the field descriptions of the table at `path`, grouped by subtable.
    pub fn of<T: Describe>(path: &str) -> Vec<Field> {
        let mut rows = Self::default();
        T::rows(path, &mut rows);
        let table = |row: &Field| -> String {
            let key = row.sets.first().map_or(&*row.key, String::as_str);
            key.rsplit_once('.')
                .map_or("", |(table, _)| table)
                .to_owned()
        };
        let mut tables: Vec<String> = Vec::new();
        for row in &rows.0 {
            if !tables.contains(&table(row)) {
                tables.push(table(row));
            }
        }
        let mut rows = rows.0;
        rows.sort_by_cached_key(|row| tables.iter().position(|other| *other == table(row)));
        rows
    }

    /// Add the description of a field.
    pub fn push(&mut self, row: Field) {
        self.0.push(row);
    }

    /// Add the field descriptions of a subtable. If it is `optional`, its required fields are required only
    /// if the subtable is present.
    pub fn table<T: Describe>(&mut self, path: &str, optional: bool) {
        let start = self.0.len();
        T::rows(path, self);
        if optional {
            for row in &mut self.0[start..] {
                row.within = Some(path.to_owned());
            }
        }
    }

    /// Sort the fields of the table `path` into the order of `names`.
    pub fn order(&mut self, path: &str, names: &[&str]) {
        let position = |row: &Field| {
            let name = row.key.strip_prefix(path)?.strip_prefix('.')?;
            names.iter().position(|other| *other == name)
        };
        self.0
            .sort_by_cached_key(|row| position(row).unwrap_or(names.len()));
    }

    /// Add the descriptions of the fields of all variants of `T`, among which the field `selector` chooses.
    pub fn choice<T: Selector>(&mut self, path: &str, selector: &str) {
        T::rows(path, selector, self);
    }

    /// Add the field descriptions that `add` adds, with the condition that the value of the field `selector`
    /// is `word`. A field that several words share is added once, with all these words.
    pub fn only_with(&mut self, selector: &str, word: &'static str, add: impl Fn(&mut Self)) {
        let mut rows = Self::default();
        add(&mut rows);
        for mut row in rows.0 {
            let known = self.0.iter_mut().find(|known| known.key == row.key);
            match (known, &mut row.only) {
                (Some(known), _) => {
                    let only = known.only.as_mut();
                    let only = only.filter(|only| only.selector == selector);
                    if let Some(only) = only.filter(|only| !only.choices.contains(&word)) {
                        only.choices.push(word);
                    }
                }
                (None, only) => {
                    only.get_or_insert_with(|| Only {
                        selector: selector.to_owned(),
                        choices: vec![word],
                    });
                    self.0.push(row);
                }
            }
        }
    }
}

/// Return the dotted key of the field `name` of the table `path`.
pub fn at(path: &str, name: &str) -> String {
    join(path, name)
}

/// Return the type of the values of the field `name` in the scenario table that `T` defines.
pub fn type_of<T: Describe>(name: &str) -> &'static dyn AnyType {
    let rows = Rows::of::<T>("");
    let row = rows.iter().find(|row| &*row.key == name);
    row.unwrap_or_else(|| unreachable!("the table has a field {name}"))
        .holds
}

/// Return the values of an optional table; `None` if the file does not have the table.
pub fn read_if_any<T: Describe>(settings: &Settings, path: &str) -> Option<T> {
    settings.has_table(path).then(|| T::read(settings, path))
}

/// Panic because `word` names no variant of the choice that the field `selector` makes. An earlier check of
/// the field excludes this.
pub fn panic_unknown_word<T>(selector: &str, word: &str) -> T {
    unreachable!("{word} is none of the words of {selector}")
}

#[cfg(test)]
mod tests {
    #![expect(dead_code, reason = "only the rows of these tables are looked at")]

    use super::*;
    use crate::fields::field::Default;
    use isthmus_units::Time;

    /// Example of a scenario table, for the tests: with a choice of variants and an optional subtable.
    #[derive(Describe)]
    struct Table {
        /// How it goes.
        #[describe(choice, fields_after = "last", default = "slow")]
        way: Way,
        /// The last.
        #[describe(default = 1)]
        last: u32,
        #[describe(table)]
        below: Option<Below>,
    }

    /// Example, for the tests, of a choice in a scenario file whose variants have fields of their own.
    #[derive(Describe)]
    enum Way {
        Slow(Pace),
        #[describe(word = "fast-as-can-be")]
        Fast(Pace),
        Still {
            /// For how long.
            #[describe(label = "rest", absent = "for ever")]
            time: Option<Time>,
        },
    }

    /// Example, for the tests, of fields that two variants of a choice share.
    #[derive(Describe)]
    struct Pace {
        /// Steps in a row.
        steps: u32,
        #[describe(table)]
        below: Deep,
    }

    /// Example of a scenario table that only one variant of an enum has, for the tests.
    #[derive(Describe)]
    struct Deep {
        /// How deep.
        #[describe(instead_of("other.key"))]
        deep: bool,
    }

    /// Example of an optional subtable of a scenario table, for the tests.
    #[derive(Describe)]
    struct Below {
        /// A share.
        share: f64,
    }

    /// Checks the order of the fields of a table and of its subtables, and that each field occurs once.
    #[test]
    fn fields_are_grouped_by_table_and_listed_once() {
        let rows = Rows::of::<Table>("t");
        let keys: Vec<&str> = rows.iter().map(|row| &*row.key).collect();
        assert_eq!(
            keys,
            [
                "t.way",
                "t.last",
                "t.steps",
                "t.time",
                "t.below.deep",
                "t.below.share"
            ]
        );
        assert_eq!(
            rows[0].holds.info().words,
            &["slow", "fast-as-can-be", "still"]
        );
        assert_eq!(rows[0].default, Default::Value("\"slow\""));
        let only = |row: &Field| row.only.clone().map(|only| (only.selector, only.choices));
        let moving = Some(("t.way".to_owned(), vec!["slow", "fast-as-can-be"]));
        assert_eq!((only(&rows[2]), only(&rows[4])), (moving.clone(), moving));
        assert_eq!(only(&rows[3]), Some(("t.way".to_owned(), vec!["still"])));
        assert_eq!((&*rows[3].label, rows[3].meaning), ("rest", "For how long"));
        assert_eq!(rows[4].alternatives, ["other.key"]);
        assert_eq!(rows[5].within.as_deref(), Some("t.below"));
    }
}
