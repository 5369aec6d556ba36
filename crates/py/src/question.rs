//! Parses the requests that Python passes as JSON, and returns their answers as JSON.

use crate::experiment::set_up;
use crate::interruptible::interruptible;
use isthmus_experiment::{Experiment, Options, Progress};
use isthmus_kinds::KINDS;
use isthmus_scenario::Scenario;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::de::{DeserializeOwned, Deserializer, Error, Unexpected, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;
use std::sync::Arc;

/// The reason why a request from Python cannot be answered: one line with the field and the
/// correction.
#[derive(Debug)]
pub(crate) struct Refusal(String);

impl Refusal {
    /// Use the text of an error as the reason for which a request is refused. The text must already
    /// name the invalid field of the request.
    pub(crate) fn of(error: impl fmt::Display) -> Self {
        Self(error.to_string())
    }

    /// Return the message of the error.
    pub(crate) fn words(self) -> String {
        self.0
    }

    /// Return an error with the `problem` of a field of the request.
    pub(crate) fn at(field: impl fmt::Display, problem: impl fmt::Display) -> Self {
        Self(format!("{field}: {problem}"))
    }
}

impl From<Refusal> for PyErr {
    /// Convert to a `ValueError`.
    fn from(refusal: Refusal) -> Self {
        PyValueError::new_err(refusal.0)
    }
}

/// Parse the request in `text` and answer it with `solve`, without holding the Python interpreter.
/// Ctrl-C ends the wait; the work ends when it next checks `progress`. A panic becomes an error.
pub(crate) fn answer<Q, A>(
    py: Python<'_>,
    text: &str,
    work: impl FnOnce(Q, Arc<Progress>) -> Result<A, Refusal> + Send + 'static,
) -> PyResult<String>
where
    Q: DeserializeOwned,
    A: Serialize,
{
    let text = text.to_owned();
    let answer = interruptible(py, Arc::default(), move |progress| {
        let answer = work(read(&text)?, progress)?;
        serde_json::to_string(&answer).map_err(|error| Refusal(error.to_string()))
    })?;
    Ok(answer?)
}

/// Parse a request from JSON. Errors name the invalid field.
pub(crate) fn read<Q: DeserializeOwned>(text: &str) -> Result<Q, Refusal> {
    let value: serde_json::Value = serde_json::from_str(text)
        .map_err(|error| Refusal(format!("the question is not JSON: {error}")))?;
    if !value.is_object() {
        return Err(Refusal(
            "the question is not a JSON object, {...}".to_owned(),
        ));
    }
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        match path.as_str() {
            "." => Refusal(error.into_inner().to_string()),
            _ => Refusal::at(path, error.into_inner()),
        }
    })
}

/// The part of a request from Python that contains the text of a scenario.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScenarioText {
    scenario: String,
    /// Name of the scenario file, for messages.
    pub file: String,
    #[serde(default)]
    overrides: Vec<String>,
}

impl ScenarioText {
    /// Parse the scenario of the request.
    pub(crate) fn read(&self) -> Result<Scenario, Refusal> {
        let read = KINDS.parse(&self.scenario, &self.file, &self.overrides);
        read.map_err(Refusal::of)
    }

    /// Parse the scenario of the request and build its machines.
    pub(crate) fn build(&self, progress: Arc<Progress>) -> Result<Experiment, Refusal> {
        let (text, options) = (&self.scenario, Options::default());
        let built = set_up(text, &self.file, &self.overrides, options, progress);
        built.map_err(|failure| Refusal::at("scenario", failure.0))
    }
}

/// A whole number in a request from Python: a count of parts of a machine, or the
/// number of one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Whole(pub u32);

impl<'de> Deserialize<'de> for Whole {
    /// Parse a whole number from JSON.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Visitor through which serde parses a whole number.
        struct Read;
        impl Visitor<'_> for Read {
            /// Type of the parsed value.
            type Value = Whole;

            /// Describe the expected value for error messages.
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number from 0 to {}", u32::MAX)
            }

            /// Parse a whole number.
            fn visit_u64<E: Error>(self, value: u64) -> Result<Whole, E> {
                u32::try_from(value)
                    .map(Whole)
                    .map_err(|_| E::invalid_value(Unexpected::Unsigned(value), &self))
            }

            /// Parse a signed number, which must not be negative.
            fn visit_i64<E: Error>(self, value: i64) -> Result<Whole, E> {
                u32::try_from(value)
                    .map(Whole)
                    .map_err(|_| E::invalid_value(Unexpected::Signed(value), &self))
            }
        }
        deserializer.deserialize_u32(Read)
    }
}

/// A link in a request from Python, by the numbers of the nodes at its two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link(pub u32, pub u32);

impl<'de> Deserialize<'de> for Link {
    /// Parse a link from JSON.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ends: Vec<Whole> = Deserialize::deserialize(deserializer)?;
        match ends[..] {
            [from, to] => Ok(Self(from.0, to.0)),
            _ => Err(D::Error::invalid_length(
                ends.len(),
                &"the numbers of the two ends of a link, such as [0, 1]",
            )),
        }
    }
}

/// A node in a request from Python: its number or, in an imported graph, its
/// name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NodeRef {
    Number(u32),
    Name(String),
}

impl<'de> Deserialize<'de> for NodeRef {
    /// Parse a node from JSON.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Visitor through which serde parses a node.
        struct Read;
        impl Visitor<'_> for Read {
            /// Type of the parsed value.
            type Value = NodeRef;

            /// Describe the expected value for error messages.
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the number of a node, 0 or more, or its name as text")
            }

            /// Parse the number of a node.
            fn visit_u64<E: Error>(self, value: u64) -> Result<NodeRef, E> {
                u32::try_from(value)
                    .map(NodeRef::Number)
                    .map_err(|_| E::invalid_value(Unexpected::Unsigned(value), &self))
            }

            /// Refuse a negative number.
            fn visit_i64<E: Error>(self, value: i64) -> Result<NodeRef, E> {
                Err(E::invalid_value(Unexpected::Signed(value), &self))
            }

            /// Parse the name of a node.
            fn visit_str<E: Error>(self, value: &str) -> Result<NodeRef, E> {
                Ok(NodeRef::Name(value.to_owned()))
            }
        }
        deserializer.deserialize_any(Read)
    }
}

/// A quantity in a request from Python, which is text with a unit there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quantity<T>(pub T);

impl<'de, T> Deserialize<'de> for Quantity<T>
where
    T: FromStr<Err: fmt::Display>,
{
    /// Parse a quantity from JSON.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Visitor through which serde parses a quantity.
        struct Read<T>(PhantomData<T>);
        impl<T> Visitor<'_> for Read<T>
        where
            T: FromStr<Err: fmt::Display>,
        {
            /// Type of the parsed value.
            type Value = Quantity<T>;

            /// Describe the expected value for error messages.
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text of a number and its unit, such as \"8 MB\" or \"5 MB/s\"")
            }

            /// Parse a number with its unit.
            fn visit_str<E: Error>(self, value: &str) -> Result<Quantity<T>, E> {
                value.parse().map(Quantity).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Read(PhantomData))
    }
}
