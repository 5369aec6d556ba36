//! I/O demands under way and the messages they still have to send.

use crate::hypercube::build::Machine;
use crate::hypercube::observe::Operation;
use isthmus_kernel::{Cycles, id};
use isthmus_wormhole::ChannelId;

id! {
    /// The place of an I/O demand under way.
    pub(crate) struct OpenId;
    /// The place of an errand.
    pub(crate) struct ErrandId;
}

/// An I/O demand under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Open {
    pub operation: Operation,
    pub pe: u32,
    pub generated: Cycles,
    /// Chains of messages not yet at their end.
    pub parts: u32,
    /// The slowest chain so far.
    pub network: Cycles,
    /// The latest arrival so far.
    pub last: Cycles,
}

/// What a message of an I/O demand is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// From a PE to the I/O node that serves it.
    Ask { pe: u32 },
    /// From the PE of a failed I/O node to a nearby one.
    Redirect { failed: u32, to: u32 },
    /// From one I/O node to another; `asked` stands for the requester.
    Forward { from: u32, to: u32 },
    /// Data from I/O node `from` to the PE, by way of the I/O node `asked`.
    Reply { from: u32, asked: u32, pe: u32 },
    /// Data to the I/O node `to` and on to those below it in the tree from `root`.
    Spread { root: u32, from: u32, to: u32 },
    /// Data of a broadcast from an I/O node to one of its PEs.
    Copy { from: u32, pe: u32 },
}

impl Step {
    /// The channels that its message crosses.
    pub fn path(self, machine: &Machine, path: &mut Vec<ChannelId>) {
        match self {
            Self::Ask { pe } => machine.path_ask(pe, machine.asks(pe), path),
            Self::Redirect { failed, to } => machine.path_ask(machine.pe_of(failed), to, path),
            Self::Forward { from, to } | Self::Spread { from, to, .. } => {
                machine.path_forward(from, to, path);
            }
            Self::Reply { from, asked, pe } => machine.path_reply(from, asked, pe, path),
            Self::Copy { from, pe } => machine.path_reply(from, from, pe, path),
        }
    }

    /// Whether a request travels with its data and announces them.
    pub fn announces(self) -> bool {
        matches!(self, Self::Ask { .. } | Self::Redirect { .. })
    }
}

/// What an errand waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The time to send its message.
    Send,
    /// The tail of its message at an I/O node.
    Arrive,
    /// The device that takes its data.
    Store,
}

/// One message of an I/O demand: what it is for and what it carries on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Errand {
    pub open: OpenId,
    pub stage: Stage,
    pub step: Step,
    /// Blocks asked for or carried.
    pub blocks: u32,
    /// Header latencies of the chain so far, in cycles.
    pub network: Cycles,
    /// Whether the message carries data rather than a request.
    pub data: bool,
    /// Number of the message that set it off.
    pub cause: u64,
}
