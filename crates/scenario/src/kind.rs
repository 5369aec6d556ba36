//! What a kind of machine says of itself.

use crate::error::Problem;
use crate::field::{Field, Own};
use crate::load::Load;
use crate::machine::Machine;
use crate::named::Named;
use crate::preset::Presets;
use crate::settings::Settings;
use crate::vain::Watch;
use crate::value::Value;
use crate::workload::Workload;

/// One kind of machine.
#[derive(Debug)]
pub(crate) struct MachineKind {
    /// The word after `machine.kind =`.
    pub(crate) name: &'static str,
    /// The fields of `[machine]` beside the kind, those of one table together.
    pub(crate) fields: fn() -> Vec<Field>,
    /// The fields of `[workload]`, those of one table together.
    pub(crate) workload_fields: fn() -> Vec<Field>,
    /// The tables in it that a file may repeat under names of its own, if there are such.
    pub(crate) named: Option<Named>,
    /// What it says of the fields of other tables that are [`OfKind`](crate::field::Default::OfKind).
    pub(crate) own: &'static [Own],
    pub(crate) loads: Loads,
    pub(crate) build: fn(&Settings) -> Result<Machine, Problem>,
    /// The workload, checked against the machine that it runs on.
    pub(crate) build_workload: fn(&Settings, &Machine) -> Result<Workload, Problem>,
    /// Tells of the fields that may have no effect at a point.
    pub(crate) watch: fn(&mut Watch<'_>, &Machine, &Workload),
    /// The values, as they would be written, of fields of `[machine]` that follow from others.
    pub(crate) derived: fn(&Machine) -> Vec<(&'static str, String)>,
    /// Sets of values under one name, if there are such.
    pub(crate) presets: Option<&'static Presets>,
}

impl MachineKind {
    /// Its form of a row of a table that all kinds share.
    pub(crate) fn row(&self, row: Field) -> Field {
        let own = self.own.iter().find(|own| own.key == &*row.key);
        own.unwrap_or_else(|| unreachable!("{} has no {}", self.name, row.key))
            .row(row)
    }
}

/// How a kind says how much is asked of the machine.
#[derive(Debug)]
pub(crate) struct Loads {
    /// The fields that decide the load, each in place of the others.
    pub(crate) keys: &'static [&'static str],
    /// The load that a value of the field `search.over` stands for.
    pub(crate) read: fn(&str, &Value) -> Result<Load, NoLoad>,
    /// What sets a load; if nothing can, what would be possible.
    pub(crate) write: fn(Load) -> Result<LoadValue, &'static str>,
}

/// Why a value stands for no load.
#[derive(Debug)]
pub(crate) struct NoLoad {
    pub(crate) problem: &'static str,
    pub(crate) hint: &'static str,
}

/// The field that sets a load, its value, and the value as it would be written.
#[derive(Debug)]
pub(crate) struct LoadValue {
    pub(crate) key: &'static str,
    pub(crate) value: Value,
    pub(crate) written: String,
}
