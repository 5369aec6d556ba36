//! I/O demands (such as reads of a file) that are not complete, and their messages.

use crate::hypercube::build::Machine;
use crate::hypercube::observe::Operation;
use isthmus_kernel::{Cycles, id};
use isthmus_wormhole::ChannelId;

id! {
    /// Index of an I/O demand (such as a file read) that is not complete.
    pub(crate) struct OpenId;
    /// Index of a message that is on its way for an I/O demand.
    pub(crate) struct MessageId;
}

/// An I/O demand, such as a read of a file, that has started and is not complete.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Open {
    pub operation: Operation,
    pub pe: u32,
    pub generated: Cycles,
    /// Number of the demand's chains of messages that have not ended.
    pub parts: u32,
    /// Time that messages spent in the network, in cycles, in the slowest chain of messages of the demand so far.
    pub network: Cycles,
    /// Latest time so far, in cycles, at which data of the demand arrived or a storage device had stored a block.
    pub last: Cycles,
}

/// Purpose of a message of an I/O demand, with the sender and the receiver of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Request or write from a PE to the I/O node that serves it.
    Ask { pe: u32 },
    /// Request or write from the PE of a failed I/O node to a nearby working I/O node.
    Redirect { failed: u32, to: u32 },
    /// Request or data to write, from one I/O node to another.
    Forward { from: u32, to: u32 },
    /// Data from I/O node `from` to the PE, through the I/O node `asked`.
    Reply { from: u32, asked: u32, pe: u32 },
    /// Data of a broadcast to the I/O node `to` and its descendants in the tree from `root`.
    Spread { root: u32, from: u32, to: u32 },
    /// Data of a broadcast, from the I/O node `from` to one of the PEs that it serves.
    Copy { from: u32, pe: u32 },
}

impl Step {
    /// Append to `path` the network channels that a message with this purpose crosses.
    pub fn path(self, machine: &Machine, path: &mut Vec<ChannelId>) {
        match self {
            Self::Ask { pe } => machine.path_ask(pe, machine.io_node_of_pe(pe), path),
            Self::Redirect { failed, to } => machine.path_ask(machine.pe_of(failed), to, path),
            Self::Forward { from, to } | Self::Spread { from, to, .. } => {
                machine.path_forward(from, to, path);
            }
            Self::Reply { from, asked, pe } => machine.path_reply(from, asked, pe, path),
            Self::Copy { from, pe } => machine.path_reply(from, from, pe, path),
        }
    }

    /// Return whether a message with this purpose contains a request, also before the data of a write.
    pub fn announces(self) -> bool {
        matches!(self, Self::Ask { .. } | Self::Redirect { .. })
    }
}

/// Event for which a message of an I/O demand waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The message waits for the time at which it is sent.
    Send,
    /// The message waits for the arrival of its tail at an I/O node.
    Arrive,
    /// The message waits until a storage device has stored its data.
    Store,
}

/// One message of an I/O demand: its purpose, and the state of its chain of consecutive messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageState {
    pub open: OpenId,
    pub stage: Stage,
    pub step: Step,
    /// Number of disk blocks that the message requests or carries.
    pub blocks: u32,
    /// Sum of the header latencies of this message and of those before it in its chain, in cycles.
    pub network: Cycles,
    /// Whether the message carries data rather than a request.
    pub data: bool,
    /// Number of the message that triggered this one.
    pub cause: u64,
}
