//! Detection of given fields that have no effect because of the values of other fields.
//!
//! A field may have an effect at one point of a sweep and none at another. So it is refused only if it has no
//! effect at any point at which it is given.

use crate::file::error::{Origin, Problem};
use crate::file::setting::Layer;
use crate::file::settings::Settings;
use std::collections::BTreeMap;

/// Collector of the fields that may have no effect at one point.
pub struct Watch<'s> {
    settings: &'s Settings,
    found: Vec<Finding>,
}

/// A field that is given at a point.
#[derive(Debug, Clone)]
struct Finding {
    key: String,
    /// The problem, if the field has no effect.
    no_effect: Option<Problem>,
    /// Whether an override causes this, or the field is from a preset. Then it is no error.
    overruled: bool,
}

/// Reason why a field has no effect.
pub struct Reason<'r> {
    /// Description of the problem.
    pub problem: String,
    /// Hint for a correct value.
    pub hint: String,
    /// The fields whose values are the cause.
    pub causes: &'r [&'r str],
}

impl<'s> Watch<'s> {
    fn new(settings: &'s Settings) -> Self {
        Self {
            settings,
            found: Vec::new(),
        }
    }

    /// Return the settings of the point.
    pub fn settings(&self) -> &'s Settings {
        self.settings
    }

    /// Record a field if it is given. `reason` is the reason why it has no effect, or `None` if it has one.
    pub fn field(&mut self, key: &str, reason: Option<Reason<'_>>) {
        let Some(given) = self.settings.given(key) else {
            return;
        };
        // A given value that equals the default is accepted if the field applies.
        let default = self.settings.schema().default(key);
        let holds = default.is_some_and(|default| default.value == given.value)
            && self.settings.applies(&given.field);
        let reason = reason.filter(|_| !holds);
        let by_override = |key: &&str| {
            let cause = self.settings.given(key);
            cause.is_some_and(|cause| matches!(cause.origin, Origin::Override(_)))
        };
        // A preset may describe hardware features that the workload does not use.
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

/// Findings of all points so far, by field.
#[derive(Debug, Default)]
pub struct Effects(BTreeMap<String, Finding>);

impl Effects {
    /// Add the findings of one more point. `look` must record all fields that may have no effect there.
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

    /// Return the fields without effect that an override causes or that are from a preset.
    ///
    /// # Errors
    /// If another field has no effect; the error is about the first such field.
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
