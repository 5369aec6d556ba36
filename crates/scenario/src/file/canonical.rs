//! The canonical form of a scenario file and its overrides, in which layout and order of the file do not count, and the
//! SHA-256 of this form.

use crate::file::settings::Settings;
use crate::file::tree::quoted;
use crate::sweep::axis::{Axis, AxisValue};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Return the text of a scenario file in TOML: the settings whose keys `keep` accepts, in the order of the reference
/// manual, and then the axes.
pub(crate) fn write(base: &Settings, axes: &[Axis], keep: impl Fn(&str) -> bool) -> String {
    let mut text = String::new();
    let mut table = "";
    for field in base.schema().fields() {
        let Some(setting) = base.given(&field.key).filter(|_| keep(&field.key)) else {
            continue;
        };
        let (parent, key) = field.key.rsplit_once('.').unwrap_or(("", &field.key));
        if parent != table {
            let _ = write!(text, "\n[{parent}]\n");
            table = parent;
        }
        let _ = writeln!(text, "{key} = {}", setting.written);
    }
    if !axes.is_empty() {
        text.push_str("\n[sweep]\n");
    }
    for axis in axes {
        let values: Vec<String> = axis
            .values
            .iter()
            .map(|value| axis_value(axis, value))
            .collect();
        let _ = writeln!(text, "{} = [{}]", quoted(&axis.key), values.join(", "));
    }
    text
}

/// Return a value of a sweep axis in the notation of TOML.
fn axis_value(axis: &Axis, value: &AxisValue) -> String {
    if axis.field.is_some() {
        return value
            .settings
            .iter()
            .map(|setting| setting.written.to_string())
            .collect();
    }
    let label = if value.number.is_some() {
        value.text.clone()
    } else {
        quoted(&value.text)
    };
    let settings = value
        .settings
        .iter()
        .map(|setting| format!("{} = {}", quoted(&setting.field.key), setting.written));
    let entries: Vec<String> = std::iter::once(format!("label = {label}"))
        .chain(settings)
        .collect();
    format!("{{ {} }}", entries.join(", "))
}

/// Return the SHA-256 of `text` in hexadecimal.
pub(crate) fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest
        .iter()
        .fold(String::with_capacity(64), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}
