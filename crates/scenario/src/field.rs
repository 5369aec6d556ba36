//! One row of the table that the parser, the checks and the reference all read.

use crate::document::is_in;
use crate::value::Kind;
use std::sync::Arc;

/// What holds if the field is not given.
#[derive(Debug, Clone, PartialEq)]
pub enum Default {
    /// It must be given.
    Required,
    /// This TOML value.
    Value(&'static str),
    /// A word that follows from which other fields are given, else from the word of another.
    Following(Following),
    /// A value that depends on others, described in words.
    Derived(&'static str),
    /// Nothing, described in words.
    Absent(&'static str),
    /// Each kind of machine says so in a way of its own, see [`Own`].
    OfKind,
}

impl Default {
    /// A word that follows from `given`, else from the word of `selector`.
    pub fn following(
        given: &[(&str, &'static str)],
        selector: &str,
        words: &'static [(&'static str, &'static str)],
    ) -> Self {
        let owned = |&(key, word): &(&str, &'static str)| (key.to_owned(), word);
        Self::Following(Following {
            given: given.iter().map(owned).collect(),
            selector: selector.to_owned(),
            words,
        })
    }
}

/// What a word follows from.
#[derive(Debug, Clone, PartialEq)]
pub struct Following {
    /// Fields, and the word that each brings if it is given; the first counts.
    pub given: Vec<(String, &'static str)>,
    /// The field whose word decides if none of them is.
    pub selector: String,
    pub words: &'static [(&'static str, &'static str)],
}

/// The field that decides whether another field means anything.
#[derive(Debug, Clone, PartialEq)]
pub struct Only {
    pub selector: String,
    pub choices: Vec<&'static str>,
}

/// What a kind of machine says in a way of its own of a field that all kinds have.
#[derive(Debug)]
pub struct Own {
    /// The field.
    pub key: &'static str,
    /// What holds if it is not given.
    pub default: Default,
    /// What it may hold, if not what others say.
    pub kind: Option<Kind>,
    /// What it is, if not what others say.
    pub meaning: Option<&'static str>,
    /// A value as it would be written.
    pub example: Option<&'static str>,
}

impl Own {
    /// The default of a field.
    pub const fn default(key: &'static str, default: Default) -> Self {
        Self {
            key,
            default,
            kind: None,
            meaning: None,
            example: None,
        }
    }

    /// What it may hold besides.
    pub const fn holds(mut self, kind: Kind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// What it is.
    pub const fn meaning(mut self, meaning: &'static str) -> Self {
        self.meaning = Some(meaning);
        self
    }

    /// A value as it would be written.
    pub const fn such_as(mut self, example: &'static str) -> Self {
        self.example = Some(example);
        self
    }

    /// The row of the field, of which all kinds say `row`.
    pub fn row(&self, row: Field) -> Field {
        Field {
            default: self.default.clone(),
            kind: self.kind.unwrap_or(row.kind),
            meaning: self.meaning.unwrap_or(row.meaning),
            example: self.example.or(row.example),
            ..row
        }
    }
}

/// One field of the scenario file.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The dotted key.
    pub key: Arc<str>,
    /// What it may hold.
    pub kind: Kind,
    /// What holds if it is not given.
    pub default: Default,
    /// A few words for an axis or a table head.
    pub label: String,
    /// What it is, without a full stop.
    pub meaning: &'static str,
    /// The condition under which it means anything, if there is one.
    pub only: Option<Only>,
    /// Optional table: what it requires is required only if it is there.
    pub within: Option<String>,
    /// Fields that say the same in another way; a value for one replaces the others.
    pub alternatives: Vec<String>,
    /// Fields that this one is short for.
    pub sets: Vec<String>,
    /// A value as it would be written, where that of the kind would mislead.
    pub example: Option<&'static str>,
}

impl Field {
    /// A field that means something in any file.
    pub fn new(
        key: &str,
        kind: Kind,
        default: Default,
        label: &str,
        meaning: &'static str,
    ) -> Self {
        Self {
            key: key.into(),
            kind,
            default,
            label: label.to_owned(),
            meaning,
            only: None,
            within: None,
            alternatives: Vec::new(),
            sets: Vec::new(),
            example: None,
        }
    }

    /// It means something only beside these words of `selector`.
    pub fn only(mut self, selector: &str, choices: &[&'static str]) -> Self {
        self.only = Some(Only {
            selector: selector.to_owned(),
            choices: choices.to_vec(),
        });
        self
    }

    /// It says the same as these in another way.
    pub fn instead_of(mut self, alternatives: &[&str]) -> Self {
        self.alternatives = alternatives.iter().map(|&key| key.to_owned()).collect();
        self
    }

    /// It stands for these.
    pub fn short_for(mut self, sets: &[&str]) -> Self {
        self.sets = sets.iter().map(|&key| key.to_owned()).collect();
        self
    }

    /// A value as it would be written.
    pub fn such_as(mut self, example: &'static str) -> Self {
        self.example = Some(example);
        self
    }

    /// A value as it would be written in the file.
    pub fn example(&self) -> String {
        match (self.example, self.kind) {
            (Some(example), _) => example.to_owned(),
            (None, Kind::Choice([first, ..])) => format!("\"{first}\""),
            (None, kind) => kind.example(),
        }
    }

    /// Whether it is of the machine or its work.
    pub(crate) fn is_of_machine(&self) -> bool {
        ["machine", "workload"]
            .iter()
            .any(|table| is_in(table, &self.key))
    }

    /// Whether an axis of the sweep may give it.
    pub(crate) fn sweepable(&self) -> bool {
        self.is_of_machine() && &*self.key != "machine.kind"
    }

    /// The keys that a value for this field decides: itself or what it is short for, and what it
    /// takes the place of.
    pub fn decides(&self) -> impl Iterator<Item = &str> {
        let own = self.sets.is_empty().then_some(&*self.key);
        let others = self.sets.iter().chain(&self.alternatives);
        own.into_iter().chain(others.map(String::as_str))
    }
}
