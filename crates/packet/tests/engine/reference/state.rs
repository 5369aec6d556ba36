//! The state of the reference, and its reports.

use isthmus_kernel::Cycles;
use isthmus_packet::{Lane, Message};
use std::ops::Range;

/// A report of the reference.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    Generated {
        time: Cycles,
        tag: u32,
    },
    Reminded {
        time: Cycles,
        node: u32,
        tag: u32,
    },
    /// The request of a read has arrived.
    Requested {
        time: Cycles,
        tag: u32,
    },
    Packet {
        tag: u32,
        from: u32,
        to: u32,
        request: bool,
        number: u32,
        payload: u32,
        injected: Cycles,
        arrived: Cycles,
        path: Vec<Lane>,
    },
    Delivered {
        tag: u32,
        generated: Cycles,
        injected: Cycles,
        arrived: Cycles,
        completed: Cycles,
        packets: u64,
    },
}

/// What is offered in answer: messages and when, reminders, and for a request when what it asks for is
/// there, if that is not now.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    pub messages: Vec<(Cycles, Message<u32>)>,
    pub reminders: Vec<(Cycles, u32, u32)>,
    pub there: Option<Cycles>,
}

/// The answer to a report.
pub type Answer<'a> = dyn FnMut(&Report) -> Answers + 'a;

#[derive(Debug, Clone)]
pub struct Flight {
    pub message: usize,
    pub from: u32,
    pub to: u32,
    pub number: u32,
    pub payload: u64,
    pub wire: u64,
    pub injected: Cycles,
    pub path: Vec<Lane>,
    /// When its header asks, or has asked, at the switch behind the last link of its path.
    pub asks: Cycles,
    /// The link in whose output buffer it is, and since when.
    pub crossed: Option<(u32, Cycles)>,
    /// When its tail arrives at its node.
    pub tail: Option<Cycles>,
    /// The links that it waits for, and the class of their channels: fixed when it asks.
    pub wanted: Option<(Range<u32>, u32)>,
    /// What its network remembers of it.
    pub via: Option<u32>,
    /// From when its age counts.
    pub since: Cycles,
    /// Whether its sender has known of its arrival for a tick.
    pub over: bool,
}

#[derive(Debug, Clone)]
pub struct Transfer {
    pub message: Message<u32>,
    pub generated: Cycles,
    pub injected: Option<Cycles>,
    pub data: bool,
    pub unsent: u64,
    pub packets: u64,
    pub arrived: u64,
    pub acknowledged: Cycles,
    pub delivered: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Node {
    pub ready: Cycles,
    pub sent: u32,
    /// Messages with packets to send, in the order of their turns.
    pub turns: Vec<usize>,
    pub sent_in_turn: u32,
    /// Messages by queue, the first with whether its DMA has been set up, and when.
    pub queues: Vec<Vec<usize>>,
    /// DMAs to start: when, queue (or one more than the last), message.
    pub starts: Vec<(Cycles, u32, usize)>,
}

#[derive(Debug, Clone, Default)]
pub struct Channel {
    /// Circuit: who holds it.
    pub holder: Option<usize>,
    /// Cut-through: bytes sent and not yet known to have left, with the time when that is known.
    pub taken: Vec<(Option<Cycles>, u64, usize)>,
    /// Cut-through: packets on the link or in the buffer, in order.
    pub buffer: Vec<usize>,
    pub clear: Cycles,
}

/// The buffer at the begin of a link out of a switch.
#[derive(Debug, Clone, Default)]
pub struct Output {
    /// Until when the way into it is taken.
    pub way: Cycles,
    /// Bytes that came in, with the time when they have left if that is known.
    pub taken: Vec<(Option<Cycles>, u64, usize)>,
    /// Packets that wait for the link, in order.
    pub queue: Vec<usize>,
}
