//! One row of the table that the parser, the checks and the reference all read.

use crate::file::tree::is_in;
use crate::value::AnyType;
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
    /// Each kind of machine says so in a way of its own, see [`Tables::own`](crate::format::Tables::own).
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

/// One field of the scenario file.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The dotted key.
    pub key: Arc<str>,
    /// What it may hold.
    pub holds: &'static dyn AnyType,
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
    /// A value as it would be written, where that of its type would mislead.
    pub example: Option<&'static str>,
}

impl Field {
    /// A field that means something in any file.
    pub fn new(
        key: &str,
        holds: &'static dyn AnyType,
        default: Default,
        label: &str,
        meaning: &'static str,
    ) -> Self {
        Self {
            key: key.into(),
            holds,
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

    /// The same with another default.
    pub fn by_default(self, default: Default) -> Self {
        Self { default, ..self }
    }

    /// The same with values of another type.
    pub fn holding(self, holds: &'static dyn AnyType) -> Self {
        Self { holds, ..self }
    }

    /// The same with another meaning.
    pub fn meaning(self, meaning: &'static str) -> Self {
        Self { meaning, ..self }
    }

    /// A value as it would be written.
    pub fn such_as(mut self, example: &'static str) -> Self {
        self.example = Some(example);
        self
    }

    /// A value as it would be written in the file.
    pub fn example(&self) -> String {
        if let Some(example) = self.example {
            return example.to_owned();
        }
        let holds = self.holds.info();
        match holds.words.first() {
            Some(first) => format!("\"{first}\""),
            None => holds.example,
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

    /// Whether a value for this field decides the field `key`.
    pub(crate) fn decides_on(&self, key: &str) -> bool {
        self.decides().any(|decided| decided == key)
    }

    /// The keys that a value for this field decides: itself or what it is short for, and what it
    /// takes the place of.
    pub fn decides(&self) -> impl Iterator<Item = &str> {
        let own = self.sets.is_empty().then_some(&*self.key);
        let others = self.sets.iter().chain(&self.alternatives);
        own.into_iter().chain(others.map(String::as_str))
    }
}
