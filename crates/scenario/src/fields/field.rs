//! Description of one field of the scenario file; the parser, the checks and the reference use it.

use crate::file::tree::is_in;
use crate::value::AnyType;
use std::sync::Arc;

/// Default of a field: the value that it has if the file leaves it out, or the effect of leaving it out.
#[derive(Debug, Clone, PartialEq)]
pub enum Default {
    /// No default: the field must be set.
    Required,
    /// A fixed default value, as TOML text.
    Value(&'static str),
    /// A word that depends on which other fields are set, or else on the value of one field.
    Following(Following),
    /// A value that depends on other fields, described in words.
    Derived(&'static str),
    /// No value; the text describes the effect of leaving the field out.
    Absent(&'static str),
    /// A default that depends on the kind of machine, see [`Tables::own`](crate::format::Tables::own).
    OfKind,
}

impl Default {
    /// Return a default that depends on other fields: the word paired with the first field of `given` that is
    /// set, or else the word that `words` pairs with the value of the field `selector`.
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

/// Rule that determines a default word from other fields.
#[derive(Debug, Clone, PartialEq)]
pub struct Following {
    /// Keys of fields, each with the default word that applies if the file sets this field. The first of them that is
    /// set decides.
    pub given: Vec<(String, &'static str)>,
    /// Key of the field whose value determines the default if no field of `given` is set.
    pub selector: String,
    /// Pairs of a value of the field `selector` and the default word for this value.
    pub words: &'static [(&'static str, &'static str)],
}

/// Condition under which a field has an effect: the value of the field `selector` is one of the words
/// `choices`.
#[derive(Debug, Clone, PartialEq)]
pub struct Only {
    /// Key of the field whose value decides whether the dependent field has an effect.
    pub selector: String,
    /// Values of the field `selector` with which the dependent field has an effect.
    pub choices: Vec<&'static str>,
}

/// Description of one field of the scenario file.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The dotted key, such as `machine.lanes.pe`.
    pub key: Arc<str>,
    /// Type of the field's values: parser, range and description.
    pub holds: &'static dyn AnyType,
    /// Value or effect if the file leaves the field out.
    pub default: Default,
    /// Short label for an axis or a table head.
    pub label: String,
    /// Description of the field for the reference, without a full stop.
    pub meaning: &'static str,
    /// Condition under which the field has an effect, if any.
    pub only: Option<Only>,
    /// Key of the optional table that contains the field; `None` if there is none. A required field is required only if
    /// this table is present.
    pub within: Option<String>,
    /// Keys of alternative fields for the same quantity. A value for one of them replaces values for the others.
    pub alternatives: Vec<String>,
    /// Keys of the fields that this field sets, if it is a shorthand for several fields.
    pub sets: Vec<String>,
    /// Example of a value in the notation of the scenario file; `None` if the example of the value's type is good
    /// enough.
    pub example: Option<&'static str>,
}

impl Field {
    /// Describe a field, which has an effect in every scenario unless the caller adds a condition.
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

    /// Add the condition that the field has an effect only if the value of the field `selector` is one of the
    /// words `choices`.
    pub fn only(mut self, selector: &str, choices: &[&'static str]) -> Self {
        self.only = Some(Only {
            selector: selector.to_owned(),
            choices: choices.to_vec(),
        });
        self
    }

    /// Declare that the fields with the keys `alternatives` set the same quantity as this field, so that a file sets
    /// only one of them.
    pub fn instead_of(mut self, alternatives: &[&str]) -> Self {
        self.alternatives = alternatives.iter().map(|&key| key.to_owned()).collect();
        self
    }

    /// Declare the field as a shorthand that sets the fields `sets`.
    pub fn short_for(mut self, sets: &[&str]) -> Self {
        self.sets = sets.iter().map(|&key| key.to_owned()).collect();
        self
    }

    /// Return the field description with another default.
    pub fn by_default(self, default: Default) -> Self {
        Self { default, ..self }
    }

    /// Return the field description with another type of values.
    pub fn holding(self, holds: &'static dyn AnyType) -> Self {
        Self { holds, ..self }
    }

    /// Return the field description with another text for the reference.
    pub fn meaning(self, meaning: &'static str) -> Self {
        Self { meaning, ..self }
    }

    /// Set the example of a value, in the notation of the scenario file, and return the field description.
    pub fn such_as(mut self, example: &'static str) -> Self {
        self.example = Some(example);
        self
    }

    /// Return an example of a value of the field in the notation of the scenario file.
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

    /// Return whether the field belongs to the tables `[machine]` or `[workload]`, which describe a machine and its
    /// work.
    pub(crate) fn is_of_machine(&self) -> bool {
        ["machine", "workload"]
            .iter()
            .any(|table| is_in(table, &self.key))
    }

    /// Return whether the sweep may have an axis over this field.
    pub(crate) fn sweepable(&self) -> bool {
        self.is_of_machine() && &*self.key != "machine.kind"
    }

    /// Return whether the field `key` must not be set as well if this field is set: this field also sets it or replaces
    /// it.
    pub(crate) fn decides_on(&self, key: &str) -> bool {
        self.decides().any(|decided| decided == key)
    }

    /// Return the keys of all fields whose values are fixed or overridden when this field is set: its own key (for a
    /// shorthand, the keys that it sets) and the keys of its alternatives.
    pub fn decides(&self) -> impl Iterator<Item = &str> {
        let own = self.sets.is_empty().then_some(&*self.key);
        let others = self.sets.iter().chain(&self.alternatives);
        own.into_iter().chain(others.map(String::as_str))
    }
}
