//! The events that a simulation reports to its observer.

use isthmus_kernel::Cycles;
use isthmus_workload::jobs::Phase;

/// Report of a packet that has arrived: data, or a server's answer to a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Index of the packet's job in the list of all jobs.
    pub job: u32,
    /// The node of the process whose message the packet belongs to.
    pub client: u32,
    /// Node that sent the packet.
    pub from: u32,
    /// Node at which the packet has arrived.
    pub to: u32,
    /// Bytes of data in the packet, without padding.
    pub bytes: u64,
    /// Time from the packet's start on the link of its source to the arrival of its tail at the destination, in
    /// ticks.
    pub latency: Cycles,
    /// Whether the packet is the answer of an I/O server that its device has stored the written data. Other
    /// packets carry data.
    pub answer: bool,
}

/// Report of data that a server's device has stored, and that the server confirms to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// Index of the message's job in the list of all jobs.
    pub job: u32,
    /// Node of the process that requested the message.
    pub client: u32,
    /// Bytes of data that the device has stored.
    pub bytes: u64,
}

/// Report of a message of a job that is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completed {
    /// Index of the message's job in the list of all jobs.
    pub job: u32,
    /// Time from generation to completion of the message in ticks, including the wait for other messages of
    /// its process.
    pub response: Cycles,
    /// Time from the handover to the network interface to completion, in ticks. Includes the server's
    /// device.
    pub network: Cycles,
}

/// Receiver of the events that a simulation reports. Its methods are called very often.
pub trait Observer {
    /// Handle the generation of a message by a process of `job`.
    fn offered(&mut self, job: u32);

    /// Handle the arrival of a packet of data or of an answer.
    fn packet(&mut self, packet: &Packet);

    /// Handle the event that a storage device has stored the data of a message. The default does nothing.
    fn stored(&mut self, _stored: &Stored) {}

    /// Handle the completion of a message. A write is complete when the writer has the acknowledgement,
    /// or the server's answer if the server has a device. A read is complete when all data has arrived.
    fn completed(&mut self, completed: &Completed);

    /// Handle the end of a phase of a job: all its processes have finished the phase. The default does nothing.
    fn phase(&mut self, _phase: &Phase) {}

    /// Return whether the observer has seen enough, so that the run may end.
    fn finished(&self) -> bool;
}
