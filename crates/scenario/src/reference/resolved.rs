//! The effective values of all fields of a scenario, and the origin of each value.

use crate::fields::field::Default;
use crate::file::error::{Origin, cut};
use crate::file::setting::{Credit, Layer, Setting};
use crate::scenario::Scenario;
use serde::Serialize;

/// Maximum number of characters of a value as text. Longer values, such as lists of nodes, are shortened.
const VALUE_MAX: usize = 200;

/// A field with its effective value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Resolved {
    /// Key of the field.
    pub key: String,
    /// Value of the field as text, strings without quotation marks; a description if the field has no value.
    pub value: String,
    /// Origin of the value: `given`, `override`, `axis`, `preset NAME`, `default`, or `derived` from other
    /// fields.
    pub from: String,
    /// Publication that states the value, if the value is from a preset; else empty.
    pub source: String,
}

impl Scenario {
    /// Return the effective value of every field that applies at the first point of the sweep, in the order of the
    /// reference. A sweep without points counts as one point: the first combination of axis values.
    pub fn resolved(&self) -> Vec<Resolved> {
        let settings = self.first_settings();
        let derived = (self.kind.derived)(&self.machine);
        let row = |key: &str, value: String, from: String, source: String| Resolved {
            key: key.to_owned(),
            value: cut(&value, VALUE_MAX),
            from,
            source,
        };
        let mut rows = Vec::new();
        for field in settings.schema().fields() {
            if !field.sets.is_empty() || !settings.applies(field) {
                continue;
            }
            if let Some(setting) = settings.given(&field.key) {
                let (from, source) = origin_of(setting);
                rows.push(row(&field.key, setting.text(), from, source));
                continue;
            }
            let derived = derived.iter().find(|(key, _)| *key == &*field.key);
            let (value, from) = match (derived, &field.default) {
                (Some((_, value)), _) => (value.clone(), "derived"),
                (None, Default::Value(_)) => {
                    let default = settings.schema().default(&field.key);
                    (default.map_or_else(String::new, Setting::text), "default")
                }
                (None, Default::Following(_)) => (settings.text(&field.key), "derived"),
                (None, Default::Derived(words)) => ((*words).to_owned(), "derived"),
                (None, Default::Absent(_) | Default::Required | Default::OfKind) => continue,
            };
            let value = if value.is_empty() {
                "(none)".to_owned()
            } else {
                value
            };
            rows.push(row(&field.key, value, from.to_owned(), String::new()));
        }
        rows
    }
}

/// Return the origin of a value as text and, if it is from a preset, the publication that states it.
fn origin_of(setting: &Setting) -> (String, String) {
    if let Some(Credit { preset, source }) = setting.credit {
        return (format!("preset {preset}"), source.to_owned());
    }
    let word = match (setting.layer, setting.origin) {
        (Layer::Axis, _) => "axis",
        (_, Origin::Override(_)) => "override",
        _ => "given",
    };
    (word.to_owned(), String::new())
}
