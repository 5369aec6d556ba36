//! What a simulation tells about itself.

use isthmus_kernel::Cycles;
use isthmus_workload::jobs::Phase;

/// A packet of data that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The job whose message it is part of, by its place in the list of all jobs.
    pub job: u32,
    /// The node of the process whose message that is.
    pub client: u32,
    /// Where it comes from.
    pub from: u32,
    /// Where it has arrived.
    pub to: u32,
    /// Bytes of data, without padding.
    pub bytes: u64,
    /// From the start on its source's link to the arrival of the tail, in ticks.
    pub latency: Cycles,
}

/// A message that is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completed {
    /// Its job.
    pub job: u32,
    /// From being asked for, waiting behind others of its process included, in ticks.
    pub response: Cycles,
    /// From being handed to the network interface, in ticks.
    pub network: Cycles,
}

/// Receives what happens. The methods are called very often.
pub trait Observer {
    /// A process of `job` has asked for a message.
    fn offered(&mut self, job: u32);

    /// A packet of data has arrived.
    fn packet(&mut self, packet: &Packet);

    /// A message is complete: acknowledged at its writer, or all there at its reader.
    fn completed(&mut self, completed: &Completed);

    /// All processes of a job have ended a phase. Does nothing by default.
    fn phase(&mut self, _phase: &Phase) {}

    /// Whether the run may end.
    fn finished(&self) -> bool;
}
