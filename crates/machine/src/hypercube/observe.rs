//! The events that a simulation reports to its observer.

use isthmus_kernel::Cycles;
use isthmus_wormhole::ChannelId;

/// Classes of messages in the network (section 4.3 of the hypercube paper).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Class {
    /// A message from a PE to a PE.
    PePe,
    /// Request message of a PE to the I/O node that serves it.
    Request,
    /// From a PE to the I/O node that serves it: a write request and its data in one message.
    Write,
    /// Request or data from an I/O node to the I/O node that has or collects the block.
    Forward,
    /// Data to the requesting PE, from the I/O node that serves it.
    ReplyLocal,
    /// Data to the requesting PE, from an I/O node that does not serve it.
    ReplyRemote,
    /// A request passed on by the PE of a failed I/O node.
    Redirect,
    /// Data on the way from an I/O node to all PEs.
    Broadcast,
}

impl Class {
    /// All classes of messages, in the order in which results list them.
    pub const ALL: [Self; 8] = [
        Self::PePe,
        Self::Request,
        Self::Write,
        Self::Forward,
        Self::ReplyLocal,
        Self::ReplyRemote,
        Self::Redirect,
        Self::Broadcast,
    ];

    /// Return the name that this class of messages has in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PePe => "pe_pe",
            Self::Request => "request",
            Self::Write => "write",
            Self::Forward => "forward",
            Self::ReplyLocal => "reply_local",
            Self::ReplyRemote => "reply_remote",
            Self::Redirect => "redirect",
            Self::Broadcast => "broadcast",
        }
    }
}

/// Types of I/O operations that PEs demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Operation {
    /// A PE reads a file.
    Read,
    /// A PE writes a file.
    Write,
    /// An I/O node sends a block to all PEs.
    Broadcast,
    /// Blocks are spread over a group of PEs.
    Scatter,
    /// Blocks are collected from a group of PEs.
    Gather,
}

impl Operation {
    /// All types of I/O operations, in the order in which results list them.
    pub const ALL: [Self; 5] = [
        Self::Read,
        Self::Write,
        Self::Broadcast,
        Self::Scatter,
        Self::Gather,
    ];

    /// Return the name that this type of I/O operation has in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Broadcast => "broadcast",
            Self::Scatter => "scatter",
            Self::Gather => "gather",
        }
    }
}

/// The two flows of traffic, messages between PEs and I/O demands. A growing backlog of either shows
/// saturation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Flow {
    /// Messages between PEs.
    Messages,
    /// I/O demands, each from its request to the arrival of its last data.
    Io,
}

/// Report of a leg, that is, of one message between two nodes whose head has reached its receiver.
/// Simulations report legs in the order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leg {
    /// Kind of the message.
    pub class: Class,
    /// Number of the message.
    pub number: u64,
    /// Cycle in which the message first requested a channel: its generation plus the start-up time.
    pub ready: Cycles,
    /// Cycle in which the message was granted its first channel.
    pub granted: Cycles,
    /// Cycle in which the head of the message arrived.
    pub header: Cycles,
    /// Cycle in which the tail of the message arrived.
    pub tail: Cycles,
    /// Number of channels that the message crossed.
    pub hops: u32,
}

impl Leg {
    /// Return the cycles from `ready` to the arrival of the header, including the wait for the injection lane.
    #[inline]
    pub fn header_latency(&self) -> Cycles {
        self.header - self.ready
    }

    /// Return the header latency as defined in the hypercube paper, in cycles: from the router of the
    /// sending node to the interior of the receiving one, including the wait for the first network
    /// channel.
    #[inline]
    pub fn router_latency(&self) -> Cycles {
        self.header - self.granted - 1
    }
}

/// Report of an I/O demand that is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completed {
    /// Type of the I/O operation that was demanded.
    pub operation: Operation,
    /// Network share of the response in cycles: the sum of the header latencies along the slowest
    /// chain of consecutive messages.
    pub network: Cycles,
    /// Time from the generation of the demand to the arrival of its last data, software and devices included,
    /// in cycles.
    pub response: Cycles,
    /// Time at which the demand was complete, in cycles.
    pub time: Cycles,
}

/// Report of a message that starts to request channels, for tests and traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Started<'a> {
    /// Number of the message.
    pub number: u64,
    /// Kind of the message.
    pub class: Class,
    /// Cycle in which the message starts to request channels.
    pub time: Cycles,
    /// Length of the message in flits.
    pub length: u32,
    /// Channels that the message will cross, in order.
    pub path: &'a [ChannelId],
    /// Number of the message whose complete arrival triggered this one, if any.
    pub cause: Option<u64>,
}

/// Receiver of the events that a simulation reports. Its methods are called very often.
pub trait Observer {
    /// Handle the generation of a demand by a PE.
    fn offered(&mut self, flow: Flow, time: Cycles);

    /// Handle the arrival of a message's head. For PE-PE messages this is also the completion.
    fn arrived(&mut self, leg: &Leg);

    /// Handle the completion of an I/O demand.
    fn completed(&mut self, completed: &Completed);

    /// Return whether the observer has seen enough, so that the run may end.
    fn finished(&self) -> bool;

    /// Handle the start of a message. Does nothing by default.
    #[inline]
    fn started(&mut self, _started: &Started<'_>) {}

    /// Handle the grant of channel number `hop` of a message's path. Does nothing by default.
    #[inline]
    fn granted(&mut self, _number: u64, _hop: u32, _time: Cycles) {}
}
