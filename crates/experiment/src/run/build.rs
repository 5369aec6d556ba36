//! Construction of an experiment from a scenario: its points, searches and machines.

use super::jobs::{Job, SearchJob, built};
use super::places::{search_values, values};
use super::whole::{check_measured, longest_period};
use super::{Experiment, Extent, Options};
use crate::envelope::{Entry, Run};
use crate::error::SetupError;
use crate::journal::{Journal, JournalError};
use crate::kept::Kept;
use crate::kind::Kinds;
use crate::limits::Memory;
use crate::machines::Machines;
use crate::memory;
use crate::progress::Progress;
use crate::rules::{PATIENCE, Rules};
use crate::subject::Subject;
use isthmus_scenario::{Scenario, StopRule};
use isthmus_units::Bytes;
use std::sync::{Arc, Mutex};

impl Experiment {
    /// Build all machines of `scenario`, whose kind of machine must be in the table `kinds`, and open the
    /// journal.
    ///
    /// # Errors
    /// A machine or the journal is invalid; nothing has been changed.
    pub fn new(kinds: &Kinds, scenario: Scenario, options: Options) -> Result<Self, SetupError> {
        Self::build(kinds, scenario, options, Arc::default())
    }

    /// Build the experiment as [`Experiment::new`] does. Once `progress` is cancelled, no further machine is
    /// built.
    ///
    /// # Errors
    /// The same errors as [`Experiment::new`], and [`SetupError::Cancelled`].
    pub fn build(
        kinds: &Kinds,
        scenario: Scenario,
        options: Options,
        progress: Arc<Progress>,
    ) -> Result<Self, SetupError> {
        let kind = kinds.of(&scenario);
        let names = kind.measures(&scenario.workload);
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        scenario.check_measures(&known)?;
        if scenario.verdict.error_rate >= 0.5 {
            let problem = format!("{} is no better than a guess", scenario.verdict.error_rate);
            let error = scenario.error_at("verdict.error_rate", problem, "give less than 0.5");
            return Err(error.into());
        }
        let mut machines = Machines::new(kind);
        let whole = options.extent == Extent::Whole || needs_all(&scenario, &options);
        let mut points = Vec::new();
        for point in scenario.points() {
            if progress.is_cancelled() {
                return Err(SetupError::Cancelled);
            }
            let values = values(&point.values);
            let (machine, digest) = machines.position(&point.machine);
            let subject = match whole {
                true => Some(built(
                    &scenario,
                    &machines,
                    machine,
                    &point.workload,
                    &values.iter().map(Some).collect::<Vec<_>>(),
                )?),
                false => None,
            };
            let at: Vec<_> = values.iter().cloned().map(Some).collect();
            let name = format!("point-{:05}", point.index);
            points.push(Job {
                entry: Entry::new(name, digest, &point.workload, &at, &()),
                index: point.index,
                machine,
                values,
                workload: point.workload,
                subject,
            });
        }
        let mut searches = Vec::new();
        for line in scenario.search_lines() {
            if progress.is_cancelled() {
                return Err(SetupError::Cancelled);
            }
            let Some(search) = &scenario.search else {
                break;
            };
            let (described, workload) = line.at(search.low)?;
            let (machine, digest) = machines.position(&described);
            if whole {
                built(&scenario, &machines, machine, &workload, &[])?;
            }
            let values = search_values(&scenario, &line);
            let name = format!("search-{:05}", line.index);
            searches.push(SearchJob {
                entry: Entry::new(name, digest, &workload, &values, search),
                machine,
                values,
                search: search.clone(),
                line,
            });
        }
        let seed = options.seed.unwrap_or(scenario.seed);
        let rules = Rules {
            stop: scenario.stop.clone(),
            measure: scenario.measure.clone(),
            verdict: scenario.verdict,
            periods_min: 0,
            patience: PATIENCE,
            decisive: 1,
            in_full: None,
        };
        if progress.is_cancelled() {
            return Err(SetupError::Cancelled);
        }
        let built = points.iter().filter_map(|job| job.subject.as_deref());
        let loads: Vec<&dyn Subject> = built.collect();
        if whole {
            check_measured(&scenario, &loads)?;
        }
        let period = longest_period(&loads);
        let run = Run {
            digest: scenario.digest(),
            seed,
            quick: options.quick,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let journal = match &options.journal {
            Some(folder) => Journal::open(folder, run)?,
            None => Journal::nowhere(run, matches!(options.extent, Extent::Parts(_))),
        };
        let memory = options
            .memory
            .map_or_else(memory::default_bound, Bytes::get);
        progress.set_total((points.len() + searches.len()) as u64);
        let mut experiment = Self {
            rules: if options.quick {
                rules.quick(period)
            } else {
                rules
            },
            scenario,
            seed,
            options,
            machines,
            points,
            searches,
            journal,
            progress,
            memory: Arc::new(Memory::new(memory)),
            failure: Mutex::default(),
            finished: Mutex::default(),
        };
        if experiment.options.extent == Extent::Whole {
            experiment.finished = Mutex::new(experiment.collected()?);
            experiment.check_journal()?;
        }
        Ok(experiment)
    }

    /// Check all files of the journal once, to find a damaged file before any work starts: the results, and
    /// the partial results of unfinished points. If all results exist, they have been read already.
    fn check_journal(&mut self) -> Result<(), JournalError> {
        if (self.finished.get_mut()).is_ok_and(|json| json.is_some()) {
            return Ok(());
        }
        let points = self.points.iter().map(|job| &job.entry);
        let searches = self.searches.iter().map(|job| &job.entry);
        for entry in points.chain(searches) {
            if !self.journal.check(entry)? {
                Kept::open(&self.journal, entry, None)?;
            }
        }
        Ok(())
    }
}

/// Return whether all points must be built before one of them can run. A `--quick` run with the stop rule
/// `time` must not be shorter than the longest checkpoint period of any point.
fn needs_all(scenario: &Scenario, options: &Options) -> bool {
    options.quick && matches!(scenario.stop.rule, StopRule::FixedTime { .. })
}
