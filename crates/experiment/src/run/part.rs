//! Run of a scenario by several processes, which share finished points and searches through the journal.

use super::jobs::{Job, SearchJob};
use super::order::run_in_order;
use super::{Experiment, Extent};
use crate::claims::{Taken, Worker};
use crate::ends::{PointEnd, SearchEnd};
use crate::envelope::Entry;
use crate::error::RunError;
use crate::journal::JournalError;
use serde::Serialize;
use std::thread;
use std::time::Duration;

/// Interval between two checks whether other processes have finished their points and searches.
const PAUSE: Duration = Duration::from_millis(200);

/// Selection of points and searches of a run, by their positions in the result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Positions of the selected points in the result, in order.
    pub points: Vec<usize>,
    /// Positions of the selected searches in the result, in order.
    pub searches: Vec<usize>,
}

impl Selection {
    /// Return whether the selection is empty.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty() && self.searches.is_empty()
    }
}

/// Outcome of [`Experiment::run_part`] for a selection of points and searches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Part {
    /// Number of the selected points and searches that are now in the journal.
    pub done: usize,
    /// For each point and search that could not be computed: the name of its journal entry, and the error message.
    pub failed: Vec<(String, String)>,
}

/// A unit of work: a point or a search, which one of several processes claims and computes.
#[derive(Debug, Clone, Copy)]
enum Unit<'e> {
    Point(&'e Job),
    Search(&'e SearchJob),
}

impl<'e> Unit<'e> {
    /// Return the entry of the journal for the result of this point or search: the name of its file, and the
    /// inputs that determine it.
    fn entry(self) -> &'e Entry {
        match self {
            Self::Point(job) => &job.entry,
            Self::Search(job) => &job.entry,
        }
    }
}

/// The result of an attempt to compute a unit of work (a point or a search).
#[derive(Debug)]
enum Outcome {
    /// The result of the unit is in the journal.
    Done,
    /// Another process is computing the unit.
    Elsewhere,
    /// The unit could not be computed, for this reason.
    Failed(String),
}

impl Experiment {
    /// Run these points and searches, except those that are in the journal. Wait for points and searches that
    /// other processes compute, and take over those of processes without a heartbeat. The result lists the
    /// points that failed; they do not stop the others.
    ///
    /// # Errors
    /// The run ended early: it was stopped, or the folder cannot be used.
    pub fn run_part(&self, part: &Selection) -> Result<Part, RunError> {
        let points = part.points.iter().map(|&at| Unit::Point(&self.points[at]));
        let searches = (part.searches.iter()).map(|&at| Unit::Search(&self.searches[at]));
        // Start searches first: they take longest, and at the end all threads would wait for one.
        let mut left: Vec<Unit<'_>> = searches.chain(points).collect();
        self.progress.set_total(left.len() as u64);
        let pool = self.pool()?;
        let worker = self.worker(pool.current_num_threads())?;
        let mut result = Part::default();
        // True after a round in which other processes were computing all remaining units. No round has run yet.
        let mut waited = false;
        loop {
            let all = pool.install(|| self.try_all(&left, worker.as_ref(), waited));
            self.check_failure()?;
            let mut elsewhere = Vec::new();
            for (unit, outcome) in left.into_iter().zip(all) {
                match outcome.ok_or(RunError::Cancelled)? {
                    Outcome::Done => result.done += 1,
                    Outcome::Elsewhere => elsewhere.push(unit),
                    Outcome::Failed(why) => result.failed.push((unit.entry().name.clone(), why)),
                }
            }
            self.progress.set_elsewhere(elsewhere.len() as u64);
            (left, waited) = (elsewhere, true);
            if left.is_empty() {
                return Ok(result);
            }
            thread::sleep(PAUSE);
            if self.progress.is_stopped() {
                return Err(RunError::Cancelled);
            }
        }
    }

    /// Return the number of points and the number of searches of the whole run.
    pub fn counts(&self) -> (usize, usize) {
        (self.points.len(), self.searches.len())
    }

    /// Return the points and searches that are missing from the journal.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn missing(&self) -> Result<Selection, JournalError> {
        let lacks = |entry| Ok::<_, JournalError>(!self.journal.has(entry)?);
        let mut missing = Selection::default();
        for (at, job) in self.points.iter().enumerate() {
            if lacks(&job.entry)? {
                missing.points.push(at);
            }
        }
        for (at, job) in self.searches.iter().enumerate() {
            if lacks(&job.entry)? {
                missing.searches.push(at);
            }
        }
        Ok(missing)
    }

    /// Remove from memory and return the results that [`Experiment::run_part`] has computed without a folder,
    /// each as the name and the bytes of a journal file. Another process adds them to its journal by
    /// [`Experiment::admit`].
    pub fn give_away(&self, part: &Selection) -> Vec<(String, Vec<u8>)> {
        let points = part.points.iter().map(|&at| &self.points[at].entry);
        let searches = part.searches.iter().map(|&at| &self.searches[at].entry);
        let given = points.chain(searches).filter_map(|entry| {
            let bytes = self.journal.take(entry)?;
            Some((entry.name.clone(), bytes))
        });
        given.collect()
    }

    /// Add the result `bytes` of the point or search `name` to the journal. Another process has computed it and
    /// exported it with [`Experiment::give_away`].
    ///
    /// # Errors
    /// The entry is of another run or another version of isthmus, was damaged in transit, or cannot be stored.
    pub fn admit(&self, name: &str, bytes: Vec<u8>) -> Result<(), JournalError> {
        match self.unit(name) {
            Some(Unit::Point(job)) => (self.journal).admit(&job.entry, bytes, PointEnd::is_whole),
            Some(Unit::Search(job)) => (self.journal).admit(&job.entry, bytes, SearchEnd::is_whole),
            None => Err(JournalError::Elsewhere {
                name: name.to_owned(),
                what: "the number of points".to_owned(),
            }),
        }
    }

    /// Return the point or search with this name, such as `point-3`; `None` if there is none.
    fn unit(&self, name: &str) -> Option<Unit<'_>> {
        let (kind, position) = name.split_once('-')?;
        let position: usize = position.parse().ok()?;
        let unit = match kind {
            "point" => Unit::Point(self.points.get(position)?),
            _ => Unit::Search(self.searches.get(position)?),
        };
        (unit.entry().name == name).then_some(unit)
    }

    /// Register this process as a worker in the journal's folder. Return `None` if the journal has no folder.
    fn worker(&self, threads: usize) -> Result<Option<Worker>, JournalError> {
        let (Extent::Parts(expiry), Some(folder)) = (self.options.extent, self.journal.folder())
        else {
            return Ok(None);
        };
        Ok(Some(Worker::new(
            folder,
            expiry,
            env!("CARGO_PKG_VERSION"),
            threads,
        )?))
    }

    /// Try to compute all units (points and searches) on all threads, then one by one those for which memory was too
    /// small. The outcome of a unit is `None` if the run ended before it. `waited` says whether other processes were
    /// computing all of these units at the last attempt.
    fn try_all(
        &self,
        units: &[Unit<'_>],
        worker: Option<&Worker>,
        waited: bool,
    ) -> Vec<Option<Outcome>> {
        // `fail` stops the whole run at once after any error but a lack of memory, so that no other unit starts.
        let tried = |unit: &Unit<'_>, alone| match self.try_unit(*unit, worker, alone, waited) {
            Ok(outcome) => Some(outcome),
            Err(RunError::Memory { .. }) => None,
            Err(error) => self.fail(error),
        };
        let mut all = run_in_order(units.len(), |at| tried(&units[at], false));
        for (unit, outcome) in units.iter().zip(&mut all) {
            if outcome.is_none() && !self.progress.is_stopped() {
                *outcome = tried(unit, true);
            }
        }
        all
    }

    /// Claim a unit of work, compute it and store its result in the journal. `alone` says whether no other unit
    /// is computed at the same time.
    ///
    /// # Errors
    /// An error that ends the run. If `alone` is false, a lack of memory is not an error.
    fn try_unit(
        &self,
        unit: Unit<'_>,
        worker: Option<&Worker>,
        alone: bool,
        waited: bool,
    ) -> Result<Outcome, RunError> {
        let entry = unit.entry();
        let there = match self.journal.has(entry) {
            Err(error) if error.of_one_file() => return Ok(Outcome::Failed(error.to_string())),
            there => there?,
        };
        let claim = match worker {
            Some(worker) if !there => {
                match worker.take(&entry.name).map_err(JournalError::from) {
                    Ok(Taken::HeldBy(_)) => return Ok(Outcome::Elsewhere),
                    // Nothing to compute: another process has finished the unit in the meantime and released it.
                    Ok(Taken::Granted(_)) if self.journal.has(entry)? => None,
                    Ok(Taken::Granted(claim)) => Some(claim),
                    Err(error) if error.of_one_file() => {
                        return Ok(Outcome::Failed(error.to_string()));
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            _ => None,
        };
        if waited && !alone {
            self.progress.drop_elsewhere();
        }
        let done = self.attempt(|| match unit {
            Unit::Point(job) => self.point(job).map(drop),
            Unit::Search(job) => self.search(job).map(drop),
        });
        let why = match done {
            Ok(()) if self.journal.has(entry)? => None,
            Ok(()) => Some("its memory was used up; give more by --memory".to_owned()),
            Err(error) if error.ends_all() => return Err(error),
            Err(error @ RunError::Memory { .. }) if !alone => return Err(error),
            Err(error) => Some(error.to_string()),
        };
        let logged = match (claim, &why) {
            (Some(claim), None) => claim.done(),
            (Some(claim), Some(why)) => claim.failed(why),
            (None, _) => Ok(()),
        };
        logged.map_err(JournalError::from)?;
        Ok(why.map_or(Outcome::Done, Outcome::Failed))
    }
}
