//! Replacement of the name of a preset (a named set of values) by its values.
//!
//! A preset is resolved when a file is read: its values fill fields that are not set, and each such value
//! records the name of the preset. The canonical form and the digest therefore contain the values of the
//! preset. They change if a later version of isthmus changes the preset.

use crate::fields::tables::{Preset, PresetValue, Presets};
use crate::file::error::{Origin, Problem};
use crate::file::setting::{Credit, Layer, Setting};
use crate::file::settings::Settings;
use crate::file::tree::parse_value;
use crate::sweep::axis::Axis;

impl Preset {
    /// Parse the values of the preset, and return them as values of their fields.
    fn settings(&self, settings: &Settings, origin: Origin) -> Result<Vec<Setting>, Problem> {
        let setting = |value: &PresetValue| {
            let field = settings.schema().field(value.key);
            let node = parse_value(value.value, origin);
            let (Some(field), Some(node)) = (field, node) else {
                unreachable!(
                    "{} of preset {} is a value of a field",
                    value.key, self.name
                )
            };
            let mut setting = Setting::read(field, &node, Layer::Preset)?;
            setting.credit = Some(Credit {
                preset: self.name,
                source: value.source,
            });
            Ok(setting)
        };
        self.values.iter().map(setting).collect()
    }
}

/// Set the fields that the file leaves out to the values of the presets that it names.
pub fn resolve(presets: &Presets, base: &mut Settings, axes: &mut [Axis]) -> Result<(), Problem> {
    let schema = base.schema().clone();
    let is_preset = |setting: &Setting| &*setting.field.key == presets.key;
    convert_name_axis(presets, axes)?;
    let of_all = base.given(presets.key).cloned();
    base.remove(presets.key);
    let chosen = |setting: &Setting| {
        let name = setting.text();
        let preset = presets.rows.iter().find(|row| row.name == name);
        preset.unwrap_or_else(|| unreachable!("the words of {} are its presets", presets.key))
    };
    let mut by_axis = false;
    for position in 0..axes.len() {
        if !axes[position].settings().any(is_preset) {
            continue;
        }
        by_axis = true;
        for number in 0..axes[position].values.len() {
            let own = &axes[position].values[number].settings;
            let Some(name) = own.iter().find(|s| is_preset(s)).or(of_all.as_ref()) else {
                continue;
            };
            let mut values = chosen(name).settings(base, name.origin)?;
            let (before, after) = (&axes[..position], &axes[position + 1..]);
            let others = || before.iter().chain(after);
            values.retain(|value| {
                let key = &*value.field.key;
                base.given(key).is_none()
                    && !own.iter().any(|setting| setting.field.decides_on(key))
                    && !others().any(|axis| axis.decides(key))
            });
            let mut explicit = own.clone();
            explicit.retain(|setting| !is_preset(setting));
            let mut together = base.clone();
            for setting in values.iter().chain(&explicit) {
                together.put(setting)?;
            }
            values.retain(|value| {
                let mut selectors = schema.selectors(&value.field);
                together.applies(&value.field)
                    || selectors.any(|selector| others().any(|axis| axis.decides(selector)))
            });
            explicit.extend(values);
            axes[position].values[number].settings = explicit;
        }
    }
    if let Some(name) = of_all.filter(|_| !by_axis) {
        let mut values = chosen(&name).settings(base, name.origin)?;
        values.retain(|value| base.given(&value.field.key).is_none());
        for value in &values {
            base.put(value)?;
        }
        for value in &values {
            let mut selectors = schema.selectors(&value.field);
            let swept = selectors.any(|selector| axes.iter().any(|axis| axis.decides(selector)));
            if !base.applies(&value.field) && !swept {
                base.remove(&value.field.key);
            }
        }
    }
    Ok(())
}

/// Convert an axis over names of presets to an axis of variants, in which each variant has the values of a
/// preset.
fn convert_name_axis(presets: &Presets, axes: &mut [Axis]) -> Result<(), Problem> {
    let Some(at) = axes.iter().position(|axis| axis.key == presets.key) else {
        return Ok(());
    };
    let name = presets.key.rsplit('.').next().unwrap_or(presets.key);
    if axes.iter().any(|axis| axis.key == name) {
        let first = axes[at].settings().next();
        return Err(Problem::new(
            format!("sweep.{}", presets.key),
            first.map_or(Origin::Whole, |setting| setting.origin),
            format!("there is another axis of the name {name}"),
            "give that one another name",
        ));
    }
    name.clone_into(&mut axes[at].key);
    name.clone_into(&mut axes[at].label);
    axes[at].field = None;
    Ok(())
}
