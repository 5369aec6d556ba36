//! Jobs of an experiment: the points of its sweep, and its searches for the rate that meets a limit. Each
//! has all data that its simulation needs.

use super::places::position_text;
use crate::envelope::Entry;
use crate::kind::{Built, Flaw};
use crate::machines::Machines;
use crate::result::AxisValue;
use crate::subject::Subject;
use isthmus_scenario::{Described, Scenario, ScenarioError, Search, SearchLine};
use std::sync::Arc;

/// One point of the sweep, with all data that its simulation needs.
#[derive(Debug)]
pub(super) struct Job {
    /// Position of the point among all combinations of axis values.
    pub index: usize,
    /// Value of each axis at the point.
    pub values: Vec<AxisValue>,
    /// Position of the point's machine among the distinct machines of the sweep.
    pub machine: usize,
    pub workload: Described,
    /// The machine with its workload; `None` in a process that shares the run with others and builds machines
    /// on first use.
    pub subject: Option<Arc<dyn Subject>>,
    /// Journal entry of the point.
    pub entry: Entry,
}

impl Job {
    /// Return the machine with its workload. Only a process that does the whole run may call this.
    pub fn built(&self) -> &Arc<dyn Subject> {
        let subject = self.subject.as_ref();
        subject.expect("all points are built with the whole")
    }
}

/// One search for the saturation load, with all data that its simulations need.
#[derive(Debug)]
pub(super) struct SearchJob {
    /// Value of each axis of the sweep; `None` for an axis over loads.
    pub values: Vec<Option<AxisValue>>,
    /// Position of the search's machine among the distinct machines of the sweep.
    pub machine: usize,
    /// Range of offered loads and resolution of the search.
    pub search: Search,
    /// The scenario with fixed values of all fields except the load; it gives the workload at any load.
    pub line: SearchLine,
    /// Journal entry of the search.
    pub entry: Entry,
}

impl SearchJob {
    /// Combine the machine `built` with the workload of the search at the offered load `load`.
    pub fn subject(&self, built: &Built, load: f64) -> Arc<dyn Subject> {
        let (_, workload) = self
            .line
            .at(load)
            .expect("loads within the range of a search are possible");
        (built.subject(&workload)).expect("the search's machine was checked with its workload")
    }
}

/// Combine the machine at position `machine`, built if necessary, with a workload, for a point or a search.
/// The axis `values` appear in errors.
pub(super) fn built(
    scenario: &Scenario,
    machines: &Machines,
    machine: usize,
    workload: &Described,
    values: &[Option<&AxisValue>],
) -> Result<Arc<dyn Subject>, ScenarioError> {
    let refused = |flaw: Flaw| {
        let problem = format!("{}{}", flaw.problem, position_text(scenario, values));
        scenario.error_below(flaw.field, flaw.line, problem, flaw.hint)
    };
    let machine = machines.build(machine).map_err(refused)?;
    machine.subject(workload).map_err(refused)
}
