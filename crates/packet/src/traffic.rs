//! Messages, deliveries and the handler.

use crate::engine::{Lanes, Step};
use isthmus_kernel::Cycles;

/// The direction of a message's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// From the node that sends the message to the other.
    Write,
    /// A small request to the other node, whose interface sends the data back on its own.
    Read,
}

/// A message to send. Nodes and queue must exist, and no node may send to itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<T> {
    /// The node that sends it.
    pub from: u32,
    /// The other node.
    pub to: u32,
    /// Bytes of data. 0 is one packet without payload.
    pub bytes: u64,
    /// The direction of the data.
    pub kind: Kind,
    /// The queue of `from` in which it waits.
    pub queue: u32,
    /// Data for the handler.
    pub tag: T,
}

/// A message whose data has arrived completely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery<T> {
    /// The message.
    pub message: Message<T>,
    /// The time for which it was offered.
    pub generated: Cycles,
    /// The time at which its first packet (a read's request) started on the link of `from`.
    pub injected: Cycles,
    /// The time at which the last byte arrived, which is the time of this report.
    pub arrived: Cycles,
    /// The time at which `from` knows: for a write, when all its packets have been acknowledged.
    pub completed: Cycles,
    /// Number of data packets.
    pub packets: u64,
}

/// A link of a packet's route, and its virtual channel there.
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
    /// Its source.
    pub from: u32,
    /// Its destination.
    pub to: u32,
    /// Whether it is the request of a read.
    pub request: bool,
    /// Its number among all packets of its source, from 0.
    pub number: u32,
    /// Bytes of payload, without padding.
    pub payload: u32,
    /// The time at which it started on the link of its source.
    pub injected: Cycles,
    /// The time at which its tail arrived, which is the time of this report.
    pub arrived: Cycles,
    /// Its route, as [`Lane`]s.
    pub(crate) path: &'a [Step],
    pub(crate) lanes: Lanes,
}

impl<T> PacketSeen<'_, T> {
    /// Returns the links that it crossed, in order.
    pub fn path(&self) -> impl ExactSizeIterator<Item = Lane> {
        let lanes = self.lanes;
        self.path.iter().map(move |step| Lane {
            link: lanes.link(step.lane),
            channel: lanes.channel(step.lane),
        })
    }
}

/// Collects the messages that a handler offers in answer to a report.
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
    /// Offers a message of any node for `time`, the present or later.
    #[inline]
    pub fn offer(&mut self, time: Cycles, message: Message<T>) {
        self.messages.push((time, message));
    }

    /// Requests a reminder for `node` at `time`, later than the present.
    #[inline]
    pub fn remind(&mut self, time: Cycles, node: u32, tag: T) {
        self.reminders.push((time, node, tag));
    }
}

/// Receives the reports on messages. Calls come in order of time. Within a tick arrivals come
/// before reminders and these before generations: arrivals in the order of their last links, the
/// others in the order of the nodes.
pub trait Handler {
    /// The type of the handler's data.
    type Tag: Copy;

    /// A message was generated at its time. The place to offer the node's next one. Does nothing by
    /// default.
    #[inline]
    fn generated(
        &mut self,
        _time: Cycles,
        _message: &Message<Self::Tag>,
        _offers: &mut Offers<Self::Tag>,
    ) {
    }

    /// The request of a read has arrived at `message.to`. Returns the time at which the data is
    /// ready to be sent, now or later. Now by default.
    #[inline]
    fn requested(&mut self, time: Cycles, _message: &Message<Self::Tag>) -> Cycles {
        time
    }

    /// A message has arrived completely.
    fn delivered(&mut self, delivery: &Delivery<Self::Tag>, offers: &mut Offers<Self::Tag>);

    /// A reminder is due ([`Offers::remind`]). Does nothing by default.
    #[inline]
    fn reminded(
        &mut self,
        _time: Cycles,
        _node: u32,
        _tag: Self::Tag,
        _offers: &mut Offers<Self::Tag>,
    ) {
    }

    /// A packet has arrived; reported before the delivery of its message. Does nothing by default.
    #[inline]
    fn packet(&mut self, _packet: &PacketSeen<'_, Self::Tag>) {}

    /// Whether the run may end. Called after every tick in which something happens. False by
    /// default.
    #[inline]
    fn finished(&self) -> bool {
        false
    }
}
