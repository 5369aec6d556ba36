//! One replication of jobs, on a machine of any kind.

use super::observe::Observer;
use super::running::Open;
use crate::storage::StationCount;
use isthmus_kernel::Cycles;

/// One replication (run with its own random numbers) of a simulation of jobs: methods to run it and to read
/// its counters.
pub trait Replication {
    /// Return the present cycle of the simulation.
    fn now(&self) -> Cycles;

    /// Return the number of messages that are not complete, including generated messages that start later. All of
    /// them occupy memory.
    fn under_way(&self) -> u64;

    /// Run until the observer has finished, no event is left, or all events before cycle `until` are handled.
    /// Return whether any message is still under way.
    fn run_until<O: Observer>(&mut self, observer: &mut O, until: Cycles) -> bool;

    /// Return the phases and messages that have started and not ended by the present cycle.
    fn open(&self) -> Open;

    /// Reset the counters of channels and devices.
    fn restart_counts(&mut self);

    /// Return the counts of the storage devices behind the I/O servers since [`Replication::restart_counts`], ordered
    /// by server, then by kind of device.
    fn counted_behind(&self) -> Vec<StationCount>;
}
