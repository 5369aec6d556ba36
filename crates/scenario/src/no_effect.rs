//! Detection of fields that a file sets and that have no effect because of the values of other fields.
//!
//! A field may have an effect at one point of a sweep and none at another. Therefore it is an error only if
//! the field has no effect at any point at which it is set.

use crate::file::error::{Origin, Problem};
use crate::file::setting::Layer;
use crate::file::settings::Settings;
use std::collections::BTreeMap;

/// Check of one point of a sweep for fields that the file sets and that have no effect there.
pub struct Watch<'s> {
    /// The values of all fields at the point.
    settings: &'s Settings,
    /// Results of the check, one for each checked field that is set.
    found: Vec<Finding>,
}

/// Result of the check whether one field that is set has an effect at a point of the sweep.
#[derive(Debug, Clone)]
struct Finding {
    /// Key of the field.
    key: String,
    /// Error that describes the missing effect, if the field has no effect.
    no_effect: Option<Problem>,
    /// Whether the missing effect is permitted: an override causes it, or the value comes from a preset.
    overruled: bool,
}

/// Reason why a field that is set has no effect, for an error message.
pub struct Reason<'r> {
    /// Description of the problem.
    pub problem: String,
    /// Hint for a correct value.
    pub hint: String,
    /// Keys of the fields whose values prevent an effect.
    pub causes: &'r [&'r str],
}

impl<'s> Watch<'s> {
    /// Start the check of the point at which the fields have the values `settings`.
    fn new(settings: &'s Settings) -> Self {
        Self {
            settings,
            found: Vec::new(),
        }
    }

    /// Return the values of all fields at the point.
    pub fn settings(&self) -> &'s Settings {
        self.settings
    }

    /// Record whether the field `key` has an effect, if it is set. `reason` is the reason why the field has
    /// no effect, or `None` if it has an effect.
    pub fn field(&mut self, key: &str, reason: Option<Reason<'_>>) {
        let Some(given) = self.settings.given(key) else {
            return;
        };
        // Do not report a value that equals the default, if the field applies.
        let default = self.settings.schema().default(key);
        let holds = default.is_some_and(|default| default.value == given.value)
            && self.settings.applies(&given.field);
        let reason = reason.filter(|_| !holds);
        let by_override = |key: &&str| {
            let cause = self.settings.given(key);
            cause.is_some_and(|cause| matches!(cause.origin, Origin::Override(_)))
        };
        // Accept a missing effect of a preset value: a preset may describe features that the workload does
        // not use.
        let overruled = given.layer == Layer::Preset
            || !matches!(given.origin, Origin::Override(_))
                && reason
                    .as_ref()
                    .is_some_and(|reason| reason.causes.iter().any(by_override));
        self.found.push(Finding {
            key: key.to_owned(),
            no_effect: reason.map(|reason| self.settings.problem(key, reason.problem, reason.hint)),
            overruled,
        });
    }
}

/// Results of the checks at all points so far, by key of the field. A field has an effect if it has one at
/// some point.
#[derive(Debug, Default)]
pub struct Effects(BTreeMap<String, Finding>);

impl Effects {
    /// Check one more point of the sweep. `look` records each field that may have no effect, and whether it
    /// has one.
    pub fn note(&mut self, settings: &Settings, look: impl FnOnce(&mut Watch<'_>)) {
        let mut watch = Watch::new(settings);
        look(&mut watch);
        for finding in watch.found {
            let known = self.0.entry(finding.key.clone());
            let known = known.or_insert_with(|| finding.clone());
            if finding.no_effect.is_none() {
                known.no_effect = None;
            }
            known.overruled &= finding.overruled;
        }
    }

    /// Return the fields whose missing effect is not an error: an override causes it, or the field comes from
    /// a preset.
    ///
    /// # Errors
    /// If any other field has no effect; the error is about the first such field.
    pub fn overruled(self) -> Result<Vec<String>, Problem> {
        let mut overruled = Vec::new();
        for finding in self.0.into_values() {
            match finding.no_effect {
                None => {}
                Some(_) if finding.overruled => overruled.push(finding.key),
                Some(problem) => return Err(problem),
            }
        }
        Ok(overruled)
    }
}
