//! The events that a simulation reports to its observer.

use isthmus_kernel::Cycles;
use isthmus_workload::jobs::Phase;

/// A packet that has arrived, of data or of the answer to a write.
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
    /// Whether it is a server's answer that its device has taken what was written. All others are data.
    pub answer: bool,
}

/// Data of a message that the device behind a server has taken and confirmed to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// The job whose message that was.
    pub job: u32,
    /// The node of the process whose message that was.
    pub client: u32,
    /// Bytes of data.
    pub bytes: u64,
}

/// A message that is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completed {
    /// Its job.
    pub job: u32,
    /// From being asked for, waiting behind others of its process included, in ticks.
    pub response: Cycles,
    /// From being handed to the network interface, in ticks. The device behind a server is part of it.
    pub network: Cycles,
}

/// Receives what happens. The methods are called very often.
pub trait Observer {
    /// A process of `job` has asked for a message.
    fn offered(&mut self, job: u32);

    /// A packet of data, or of an answer, has arrived.
    fn packet(&mut self, packet: &Packet);

    /// A device has taken a message; it is complete. Does nothing by default.
    fn stored(&mut self, _stored: &Stored) {}

    /// A message is complete: acknowledged at its writer, or, where a device stands behind its server,
    /// answered; or all there at its reader.
    fn completed(&mut self, completed: &Completed);

    /// All processes of a job have ended a phase. Does nothing by default.
    fn phase(&mut self, _phase: &Phase) {}

    /// Whether the run may end.
    fn finished(&self) -> bool;
}
