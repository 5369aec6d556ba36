//! What goes in and what comes out.

use crate::engine::{Lanes, Step};
use isthmus_kernel::Cycles;

/// Which way the data of a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// From the node that sends the message to the other.
    Write,
    /// A small request to the other node, whose interface sends the data back by itself.
    Read,
}

/// A message to be sent. Nodes and queue exist, and no node sends to itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<T> {
    /// The node that sends it.
    pub from: u32,
    /// The other node.
    pub to: u32,
    /// Bytes of data; 0 is one packet without payload.
    pub bytes: u64,
    /// Which way the data goes.
    pub kind: Kind,
    /// The queue of `from` that it waits in.
    pub queue: u32,
    /// What the handler wants to know again.
    pub tag: T,
}

/// A message all of whose data has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery<T> {
    /// The message.
    pub message: Message<T>,
    /// The time for which it was offered.
    pub generated: Cycles,
    /// When its first packet (a read's request) started on the link of `from`.
    pub injected: Cycles,
    /// When the last byte arrived: the time in which this is told.
    pub arrived: Cycles,
    /// When `from` knows: for a write, when all its packets have been acknowledged.
    pub completed: Cycles,
    /// Packets of data.
    pub packets: u64,
}

/// A link of a packet's way and the virtual channel that it took there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane {
    /// The link.
    pub link: u32,
    /// The virtual channel, from 0.
    pub channel: u32,
}

/// A packet that has arrived.
#[derive(Debug, Clone, Copy)]
pub struct PacketSeen<'a, T> {
    /// The tag of its message.
    pub tag: T,
    /// Where it comes from.
    pub from: u32,
    /// Where it has arrived.
    pub to: u32,
    /// Whether it is the request of a read.
    pub request: bool,
    /// Its number among all packets that its source has sent, from 0.
    pub number: u32,
    /// Bytes of payload, without padding.
    pub payload: u32,
    /// When it started on the link of its source.
    pub injected: Cycles,
    /// When its tail arrived: the time in which this is told.
    pub arrived: Cycles,
    /// Its way, as [`Lane`]s.
    pub(crate) path: &'a [Step],
    pub(crate) lanes: Lanes,
}

impl<T> PacketSeen<'_, T> {
    /// The links that it crossed, in order.
    pub fn path(&self) -> impl ExactSizeIterator<Item = Lane> {
        let lanes = self.lanes;
        self.path.iter().map(move |step| Lane {
            link: lanes.link(step.lane),
            channel: lanes.channel(step.lane),
        })
    }
}

/// Takes the messages that a handler offers in answer to what it is told.
#[derive(Debug, Clone)]
pub struct Offers<T> {
    pub(crate) messages: Vec<(Cycles, Message<T>)>,
    pub(crate) reminders: Vec<(Cycles, u32, T)>,
}

impl<T> Default for Offers<T> {
    fn default() -> Self {
        Self {
            messages: Vec::new(),
            reminders: Vec::new(),
        }
    }
}

impl<T> Offers<T> {
    /// Offers a message for `time`, the present or later. It may be of any node.
    #[inline]
    pub fn offer(&mut self, time: Cycles, message: Message<T>) {
        self.messages.push((time, message));
    }

    /// Asks to be reminded at `time`, later than the present, of something that concerns `node`.
    #[inline]
    pub fn remind(&mut self, time: Cycles, node: u32, tag: T) {
        self.reminders.push((time, node, tag));
    }
}

/// Learns what becomes of messages. Calls come in order of time; within a tick arrivals come
/// before reminders and these before generations, arrivals in the order of the links that they come
/// over, the others in that of the nodes.
pub trait Handler {
    /// What is attached to a message.
    type Tag: Copy;

    /// The time of an offered message has come. The place to offer the node's next one. Does
    /// nothing by default.
    #[inline]
    fn generated(
        &mut self,
        _time: Cycles,
        _message: &Message<Self::Tag>,
        _offers: &mut Offers<Self::Tag>,
    ) {
    }

    /// The request of a read has arrived at `message.to`: when what it asks for is there to be sent, now
    /// or later. Now by default.
    #[inline]
    fn requested(&mut self, time: Cycles, _message: &Message<Self::Tag>) -> Cycles {
        time
    }

    /// All data of a message has arrived.
    fn delivered(&mut self, delivery: &Delivery<Self::Tag>, offers: &mut Offers<Self::Tag>);

    /// The time of a reminder has come ([`Offers::remind`]). Does nothing by default.
    #[inline]
    fn reminded(
        &mut self,
        _time: Cycles,
        _node: u32,
        _tag: Self::Tag,
        _offers: &mut Offers<Self::Tag>,
    ) {
    }

    /// A packet has arrived: told before the delivery of its message. Does nothing by default.
    #[inline]
    fn packet(&mut self, _packet: &PacketSeen<'_, Self::Tag>) {}

    /// Whether the run may end. Asked after every tick in which something happens. No by default.
    #[inline]
    fn finished(&self) -> bool {
        false
    }
}
