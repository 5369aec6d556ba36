//! The variants of a scenario (its individual machines), and the text of new scenarios that are composed of
//! variants.

use crate::fields::common::HeadTable;
use crate::fields::field::Field;
use crate::fields::format::Row;
use crate::fields::rows::Describe;
use crate::file::canonical;
use crate::file::error::{Origin, ScenarioError, Source};
use crate::file::setting::Layer;
use crate::file::settings::Settings;
use crate::file::tree::{is_in, quoted};
use crate::scenario::Scenario;
use crate::sweep::axis::{Axis, AxisValue};
use crate::sweep::failures::{Asked, Failures, Part};
use crate::sweep::points::{applied, product};
use crate::value::described::Described;
use std::sync::Arc;

/// A variant of a scenario: a machine with its workload, except a load that an axis sets.
#[derive(Debug, Clone)]
pub struct Variant {
    /// The values of the axes that change the machine, as text; empty without such axes.
    pub label: String,
    kind: &'static Row,
    /// The values of all fields of the variant.
    settings: Settings,
    source: Arc<Source>,
}

impl Scenario {
    /// Return the variants of the scenario, one for each combination of the axes that change the machine.
    /// Axes over loads are left out, and other axes have their first value.
    ///
    /// # Errors
    /// If values contradict one another. The check of the points detects such errors earlier.
    pub fn variants(&self) -> Result<Vec<Variant>, ScenarioError> {
        let (machines, others): (Vec<&Axis>, Vec<&Axis>) = (self.axes.iter())
            .filter(|axis| !self.is_load(&axis.key))
            .partition(|axis| axis.decides_below("machine."));
        let machines: Vec<Axis> = machines.into_iter().cloned().collect();
        let first = others.iter().filter_map(|axis| axis.values.first());
        let first: Vec<AxisValue> = first.cloned().collect();
        let variant = |values: Vec<AxisValue>| {
            let words: Vec<&str> = values.iter().map(|value| value.text.as_str()).collect();
            let settings = applied(&self.base, &[&first[..], &values[..]].concat());
            Ok(Variant {
                label: words.join(", "),
                kind: self.kind,
                settings: settings.map_err(|problem| self.source.error(problem))?,
                source: Arc::clone(&self.source),
            })
        };
        product(&machines).into_iter().map(variant).collect()
    }

    /// Return the text of a scenario called `name` with `variants` as the values of the axis `axis`. Offered
    /// loads and stopping rules are those of this scenario. `with` lists further fields with their values in
    /// TOML.
    pub fn text_of(
        &self,
        name: &str,
        seed: u64,
        (axis, variants): (&str, &[Variant]),
        with: &[(&str, &str)],
    ) -> String {
        let mut base = Settings::new(self.base.schema().clone());
        let head = HeadTable::read(&self.base, "");
        let (version, seed) = (head.version.to_string(), seed.to_string());
        let (name, title) = (quoted(name), quoted(&self.title));
        let head = [
            ("version", version.as_str()),
            ("name", &name),
            ("title", &title),
            ("seed", &seed),
        ];
        for (key, value) in head.iter().chain(with) {
            let given = base.give(key, value, Origin::Whole);
            given.unwrap_or_else(|problem| unreachable!("a field of the study: {problem:?}"));
        }
        let fields = || self.base.schema().fields().iter();
        let is_rule = |key: &str| ["stop", "verdict"].iter().any(|table| is_in(table, key));
        for field in fields().filter(|field| is_rule(&field.key)) {
            if let Some(setting) = self.base.given(&field.key) {
                base.keep(setting);
            }
        }
        let mut own = Vec::new();
        for field in fields().filter(|field| field.is_of_machine()) {
            let mut given = variants
                .iter()
                .map(|variant| variant.settings.given(&field.key));
            let first = given.next().flatten();
            match first.filter(|_| given.all(|other| other == first)) {
                Some(setting) => base.keep(setting),
                None => own.push(field),
            }
        }
        let value = |variant: &Variant| {
            let given = own
                .iter()
                .filter_map(|field| variant.settings.given(&field.key));
            AxisValue {
                text: variant.label.clone(),
                number: None,
                settings: given.cloned().collect(),
            }
        };
        let values = variants.iter().map(value).collect();
        let loads = self.axes.iter().filter(|axis| self.is_load(&axis.key));
        let axes: Vec<Axis> = [Axis::of_variants(axis, values)]
            .into_iter()
            .chain(loads.cloned())
            .collect();
        canonical::write(&base, &axes, |_| true)
    }

    /// Return which of these parts differ between this scenario and `other`: loads, stopping rule, verdict,
    /// seed.
    pub fn differs_from(&self, other: &Self) -> Vec<&'static str> {
        let rules = |table: &'static str| {
            let mut fields = self.base.schema().fields().iter();
            fields.any(|field| {
                let key = &field.key;
                is_in(table, key) && self.base.given(key) != other.base.given(key)
            })
        };
        [
            ("loads", self.given_loads() != other.given_loads()),
            ("stop", rules("stop")),
            ("verdict", rules("verdict")),
            ("seed", self.seed != other.seed),
        ]
        .into_iter()
        .filter_map(|(name, differs)| differs.then_some(name))
        .collect()
    }

    /// Return the offered loads of the scenario: those of the load axis, or else the load of the first
    /// variant.
    fn given_loads(&self) -> Vec<toml::Value> {
        if let Some(axis) = self.axes.iter().find(|axis| self.is_load(&axis.key)) {
            let settings = axis.settings();
            return settings.map(|setting| setting.written.clone()).collect();
        }
        let settings = self.first_settings();
        let given = settings.given(self.loads().key).into_iter();
        given.map(|setting| setting.written.clone()).collect()
    }
}

impl Variant {
    /// Return the key of the first field that is set and whose key begins with one of `starts`, in the order
    /// of the reference of scenario fields.
    pub fn given(&self, starts: &[&str]) -> Option<&str> {
        let mut fields = self.settings.schema().fields().iter();
        let is_one = |field: &&Arc<Field>| {
            starts.iter().any(|start| field.key.starts_with(start))
                && self.settings.given(&field.key).is_some()
        };
        fields.find(is_one).map(|field| &*field.key)
    }

    /// Return the variant with the field `key` set to `value`, in TOML.
    ///
    /// # Panics
    /// If the field or the value is invalid for this kind of machine.
    pub fn with(mut self, key: &str, value: &str) -> Self {
        self.settings.remove(key);
        let given = self.settings.give(key, value, Origin::Whole);
        given.unwrap_or_else(|problem| panic!("{key} = {value}: {problem:?}"));
        self
    }

    /// Return the machine of the variant.
    ///
    /// # Errors
    /// If values contradict one another.
    pub fn machine(&self) -> Result<Described, ScenarioError> {
        let machine = self.kind.machine(&self.settings);
        machine.map_err(|problem| self.source.error(problem))
    }

    /// Return the possible failures of `machine`, which must be the machine of this variant. Return `None` if
    /// the machine has more states than `asked` accepts.
    pub fn failures(&self, machine: &Described, asked: &Asked) -> Option<Failures> {
        (self.kind.failures)(machine, asked)
    }

    /// Return the variant after the failure of further parts, with the label `label`.
    ///
    /// # Panics
    /// If the machine does not have these parts.
    pub fn after(&self, parts: &[Part], label: String) -> Self {
        let mut settings = self.settings.clone();
        let failed = settings.with_failed(parts, Origin::Whole, Layer::Axis);
        let failed = failed.unwrap_or_else(|problem| panic!("{parts:?}: {problem:?}"));
        for list in failed {
            settings.keep(&list);
        }
        Self {
            label,
            kind: self.kind,
            settings,
            source: Arc::clone(&self.source),
        }
    }
}
