//! Fields that are given and change nothing, because of the values of others.
//!
//! A field may be of use at one point of a sweep and of none at another, so that it is refused only if it
//! has no effect at any point at which it is given.

use crate::file::error::{Origin, Problem};
use crate::file::setting::Layer;
use crate::file::settings::Settings;
use std::collections::BTreeMap;

/// Looks at the fields that may change nothing at one point.
pub struct Watch<'s> {
    settings: &'s Settings,
    found: Vec<Finding>,
}

/// A field that is given at a point.
#[derive(Debug, Clone)]
struct Finding {
    key: String,
    /// What is wrong, if it changes nothing.
    no_effect: Option<Problem>,
    /// Whether an override has made it so, or the field is that of a preset.
    overruled: bool,
}

/// Why a field changes nothing.
pub struct Reason<'r> {
    /// What is wrong.
    pub problem: String,
    /// What would be right.
    pub hint: String,
    /// The fields whose values make it so.
    pub causes: &'r [&'r str],
}

impl<'s> Watch<'s> {
    fn new(settings: &'s Settings) -> Self {
        Self {
            settings,
            found: Vec::new(),
        }
    }

    /// The settings of the point.
    pub fn settings(&self) -> &'s Settings {
        self.settings
    }

    /// Notes a field, if it is given; `reason` says why it changes nothing, where that is so.
    pub fn field(&mut self, key: &str, reason: Option<Reason<'_>>) {
        let Some(given) = self.settings.given(key) else {
            return;
        };
        // The default, written out, is what holds anyway, where the field means anything.
        let default = self.settings.schema().default(key);
        let holds = default.is_some_and(|default| default.value == given.value)
            && self.settings.applies(&given.field);
        let reason = reason.filter(|_| !holds);
        let by_override = |key: &&str| {
            let cause = self.settings.given(key);
            cause.is_some_and(|cause| matches!(cause.origin, Origin::Override(_)))
        };
        // What a preset says of hardware may well be more than a workload uses.
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

/// What is known of all points so far.
#[derive(Debug, Default)]
pub struct Effects(BTreeMap<String, Finding>);

impl Effects {
    /// Looks at one more point, as `look` does at all that may have no effect there.
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

    /// The fields that overrides have left without effect, and those of presets.
    ///
    /// # Errors
    /// The first field without effect for another reason.
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
