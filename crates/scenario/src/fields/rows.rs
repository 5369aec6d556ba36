//! Tables of the file as Rust types: the traits that `#[derive(Describe)]` implements.

use crate::fields::field::{Field, Only};
use crate::file::settings::Settings;
use crate::file::tree::join;
use crate::value::AnyType;

pub use isthmus_describe::Describe;

/// A table of the file: its rows and the reader of its values. Implement this trait with
/// `#[derive(Describe)]`.
pub trait Describe: Sized {
    /// Add the rows of the table `path`.
    fn rows(path: &str, rows: &mut Rows);
    /// Return the values of the fields of the table `path`. The settings must be complete.
    fn read(settings: &Settings, path: &str) -> Self;
}

/// An enum whose word selects further fields of the file. Implement this trait with `#[derive(Describe)]`.
pub trait Selector: Sized {
    /// The words of the variants, in the order of the reference.
    const WORDS: &'static [&'static str];
    /// Add the rows of the fields that apply only to some words of the field `selector`.
    fn rows(path: &str, selector: &str, rows: &mut Rows);
    /// Return the variant that the field `selector` names, with the values of its fields.
    fn read(settings: &Settings, path: &str, selector: &str) -> Self;
}

/// Builder of the rows of a table.
#[derive(Debug, Default)]
pub struct Rows(Vec<Field>);

impl Rows {
    /// Return the rows of the table at `path`, grouped by table.
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

    /// Add a row.
    pub fn push(&mut self, row: Field) {
        self.0.push(row);
    }

    /// Add the rows of a subtable. If it is `optional`, its required fields are required only if the subtable
    /// is present.
    pub fn table<T: Describe>(&mut self, path: &str, optional: bool) {
        let start = self.0.len();
        T::rows(path, self);
        if optional {
            for row in &mut self.0[start..] {
                row.within = Some(path.to_owned());
            }
        }
    }

    /// Sort the rows of the table `path` into the order of `names`.
    pub fn order(&mut self, path: &str, names: &[&str]) {
        let position = |row: &Field| {
            let name = row.key.strip_prefix(path)?.strip_prefix('.')?;
            names.iter().position(|other| *other == name)
        };
        self.0
            .sort_by_cached_key(|row| position(row).unwrap_or(names.len()));
    }

    /// Add the rows of the fields that the words of the field `selector` select.
    pub fn choice<T: Selector>(&mut self, path: &str, selector: &str) {
        T::rows(path, selector, self);
    }

    /// Add the rows that `add` adds, and that apply only if `selector` holds `word`. A row that several words
    /// share is added once.
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

/// Return the key of a field of the table `path`.
pub fn at(path: &str, name: &str) -> String {
    join(path, name)
}

/// Return the type of the field `name` of a table.
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

/// Panic because `word` is not the word of any variant, which the check of the field rules out.
pub fn no_word<T>(selector: &str, word: &str) -> T {
    unreachable!("{word} is none of the words of {selector}")
}

#[cfg(test)]
mod tests {
    #![expect(dead_code, reason = "only the rows of these tables are looked at")]

    use super::*;
    use crate::fields::field::Default;
    use isthmus_units::Time;

    /// A table.
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

    #[derive(Describe)]
    struct Pace {
        /// Steps in a row.
        steps: u32,
        #[describe(table)]
        below: Deep,
    }

    #[derive(Describe)]
    struct Deep {
        /// How deep.
        #[describe(instead_of("other.key"))]
        deep: bool,
    }

    #[derive(Describe)]
    struct Below {
        /// A share.
        share: f64,
    }

    #[test]
    fn rows_stand_table_by_table_and_once_each() {
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
