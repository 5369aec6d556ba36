//! One replication of jobs, on a machine of any kind.

use super::observe::Observer;
use super::running::Open;
use crate::storage::StationCount;
use isthmus_kernel::Cycles;

/// A machine, its jobs and everything under way.
pub trait Replication {
    /// The present cycle.
    fn now(&self) -> Cycles;

    /// What takes room: messages that have been asked for and are not complete, those to come included.
    fn under_way(&self) -> u64;

    /// Goes on until the observer has finished, nothing is left that could happen or everything before
    /// cycle `until` has happened. Returns whether anything is under way still.
    fn run_until<O: Observer>(&mut self, observer: &mut O, until: Cycles) -> bool;

    /// Return what jobs have started and not ended, up to the present cycle.
    fn open(&self) -> Open;

    /// Counts from now on what channels and devices do.
    fn restart_counts(&mut self);

    /// What the devices behind servers have done since [`Replication::restart_counts`]: by server, then by
    /// kind of station.
    fn counted_behind(&self) -> Vec<StationCount>;
}
