//! Messages that nodes send, reports on their delivery, and the trait that handles these reports.

use crate::engine::{Lanes, Step};
use isthmus_kernel::Cycles;

/// The direction in which a message moves data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// From the node that sends the message to the other node.
    Write,
    /// From the other node to the node that sends the message. The message starts with a small
    /// request, and the interface of the other node returns the data without software.
    Read,
}

/// A message to send. Nodes and queue must exist, and no node may send to itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<T> {
    /// The node that sends the message or the request of the read.
    pub from: u32,
    /// The node to which the message or the request of the read is sent.
    pub to: u32,
    /// Number of data bytes. A message of 0 bytes is sent as one packet without data.
    pub bytes: u64,
    /// The direction of the data: a write or a read.
    pub kind: Kind,
    /// The queue of node `from` in which the message waits.
    pub queue: u32,
    /// Data that the handler attaches to the message. Reports on the message return it.
    pub tag: T,
}

/// A message whose data has arrived completely, as the engine reports it to the handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery<T> {
    /// The message that has arrived.
    pub message: Message<T>,
    /// The time at which the message was to be generated, as the handler offered it.
    pub generated: Cycles,
    /// The time at which the first packet started on the link of `from`; for a read, the first
    /// packet is the request.
    pub injected: Cycles,
    /// The time at which the last byte arrived, which is the time of this report.
    pub arrived: Cycles,
    /// The time at which node `from` learns of the delivery. For a write, this is when all packets
    /// have been acknowledged.
    pub completed: Cycles,
    /// Number of packets that carried the data.
    pub packets: u64,
}

/// A link of a packet's route, and the virtual channel that the packet used there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane {
    /// Number of the link in the network.
    pub link: u32,
    /// Number of the virtual channel on the link, from 0.
    pub channel: u32,
}

/// A packet that has arrived at its destination, as the engine reports it to the handler.
#[derive(Debug, Clone, Copy)]
pub struct PacketSeen<'a, T> {
    /// The data that the handler has attached to the packet's message.
    pub tag: T,
    /// The node that sent the packet.
    pub from: u32,
    /// The node at which the packet has arrived.
    pub to: u32,
    /// Whether the packet is the request of a read.
    pub request: bool,
    /// Number of the packet among all packets of its source, from 0.
    pub number: u32,
    /// Bytes of payload of the packet, without padding.
    pub payload: u32,
    /// The time at which the packet started on the link of its source.
    pub injected: Cycles,
    /// The time at which the tail of the packet arrived, which is the time of this report.
    pub arrived: Cycles,
    /// The lanes (virtual channels of links) that the packet has crossed.
    pub(crate) path: &'a [Step],
    pub(crate) lanes: Lanes,
}

impl<T> PacketSeen<'_, T> {
    /// Returns the lanes (virtual channels) that the packet crossed, in order.
    pub fn path(&self) -> impl ExactSizeIterator<Item = Lane> {
        let lanes = self.lanes;
        self.path.iter().map(move |step| Lane {
            link: lanes.link(step.lane),
            channel: lanes.channel(step.lane),
        })
    }
}

/// Collects the messages and reminders that a handler requests in answer to a report.
#[derive(Debug, Clone)]
pub struct Offers<T> {
    pub(crate) messages: Vec<(Cycles, Message<T>)>,
    pub(crate) reminders: Vec<(Cycles, u32, T)>,
}

impl<T> Default for Offers<T> {
    /// Creates a collection without messages and reminders.
    fn default() -> Self {
        Self {
            messages: Vec::new(),
            reminders: Vec::new(),
        }
    }
}

impl<T> Offers<T> {
    /// Schedules the generation of a message, at any node, at `time`, which must not be in the
    /// past.
    #[inline]
    pub fn offer(&mut self, time: Cycles, message: Message<T>) {
        self.messages.push((time, message));
    }

    /// Requests a call of [`Handler::reminded`] for `node` at `time`, later than the present.
    #[inline]
    pub fn remind(&mut self, time: Cycles, node: u32, tag: T) {
        self.reminders.push((time, node, tag));
    }
}

/// Handles the engine's reports on messages and packets. The engine calls it in order of time.
/// Within a tick it reports arrivals first, in the order of their last links. Then it reports
/// reminders, and then generations, both in the order of the nodes.
pub trait Handler {
    /// The type of the data that the handler attaches to messages and reminders.
    type Tag: Copy;

    /// Receives the report that a message was generated, in reply to which a handler can offer the
    /// next message of the node. Does nothing by default.
    #[inline]
    fn generated(
        &mut self,
        _time: Cycles,
        _message: &Message<Self::Tag>,
        _offers: &mut Offers<Self::Tag>,
    ) {
    }

    /// Handles the arrival of a read's request at node `message.to`. Returns the time at which the
    /// data can be sent: `time` by default, or a later one.
    #[inline]
    fn read_requested(&mut self, time: Cycles, _message: &Message<Self::Tag>) -> Cycles {
        time
    }

    /// Handles the arrival of the last data of a message.
    fn delivered(&mut self, delivery: &Delivery<Self::Tag>, offers: &mut Offers<Self::Tag>);

    /// Handles a reminder that the handler requested earlier with [`Offers::remind`]. Does nothing
    /// by default.
    #[inline]
    fn reminded(
        &mut self,
        _time: Cycles,
        _node: u32,
        _tag: Self::Tag,
        _offers: &mut Offers<Self::Tag>,
    ) {
    }

    /// Handles the arrival of a packet, before the delivery of its message. Does nothing by
    /// default.
    #[inline]
    fn packet(&mut self, _packet: &PacketSeen<'_, Self::Tag>) {}

    /// Returns whether the run may end. Called after every tick in which an event happens. False by
    /// default.
    #[inline]
    fn finished(&self) -> bool {
        false
    }
}
