//! Packets, deliveries and the handler.

use isthmus_kernel::Cycles;
use isthmus_topology::rings::Segment;

/// The two kinds of packet, each with queues of its own so that responses never wait for requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Moves, and the first half of transactions.
    Request,
    /// The second half.
    Response,
}

/// Number of classes.
pub(crate) const CLASSES: usize = 2;

impl Class {
    /// All classes, by number.
    pub(crate) const ALL: [Self; CLASSES] = [Self::Request, Self::Response];

    pub(crate) fn number(self) -> usize {
        self as usize
    }
}

/// A packet to send.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Packet<'a, T> {
    /// The node whose client generates it.
    pub node: u32,
    /// Its class.
    pub class: Class,
    /// Its length without the idle: header, payload and checksum. At least that of an echo, at most
    /// the maximum of the rules.
    pub symbols: u32,
    /// Its route, segment by segment; the ring changes after each. It must be a route of the
    /// fabric: see [`Fabric::route_end`](crate::Fabric::end_of).
    pub route: &'a [Segment],
    /// Data for the handler.
    pub tag: T,
}

/// A packet that arrives at its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery<T> {
    /// The handler's data.
    pub tag: T,
    /// The destination.
    pub node: u32,
    /// Its class.
    pub class: Class,
    /// Its length without the idle.
    pub symbols: u32,
    /// The cycle for which it was offered.
    pub generated: Cycles,
    /// The cycle in which it got a slot of its output port.
    pub admitted: Cycles,
    /// The cycle in which its header first left its source.
    pub sent: Cycles,
    /// The cycle in which its header was decoded here, which is the cycle of this report.
    pub header: Cycles,
    /// The cycle after its last symbol was decoded: `header` plus its length.
    pub tail: Cycles,
    /// Number of agents crossed.
    pub ring_changes: u32,
    /// Number of links of its route.
    pub links: u32,
    /// Number of busy echoes received for it on the way.
    pub retries: u32,
}

/// A packet that found no slot (source rule B).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped<T> {
    /// The handler's data.
    pub tag: T,
    /// The node whose client generated it.
    pub node: u32,
    /// The cycle for which it was offered.
    pub time: Cycles,
}

/// The length that marks a reminder.
pub(crate) const REMINDER: u32 = 0;

/// Collects the packets that a handler offers in answer to a report.
#[derive(Debug, Clone)]
pub struct Offers<T> {
    pub(crate) packets: Vec<Offer<T>>,
    pub(crate) segments: Vec<Segment>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer<T> {
    pub time: Cycles,
    pub node: u32,
    pub class: Class,
    pub symbols: u32,
    pub tag: T,
    /// End of its route in `segments`; it begins where that of the previous offer ends.
    pub end: u32,
}

impl<T> Default for Offers<T> {
    fn default() -> Self {
        Self {
            packets: Vec::new(),
            segments: Vec::new(),
        }
    }
}

impl<T: Copy> Offers<T> {
    /// Offers a packet for cycle `time`, the present one or a later one. Its node must be that of
    /// the report, because a node knows only the events that have reached it.
    #[inline]
    pub fn offer(&mut self, time: Cycles, packet: Packet<'_, T>) {
        self.segments.extend_from_slice(packet.route);
        self.packets.push(Offer {
            time,
            node: packet.node,
            class: packet.class,
            symbols: packet.symbols,
            tag: packet.tag,
            end: self.segments.len() as u32,
        });
    }

    /// Requests a reminder at `time`, the present cycle or a later one, for `node`, which must be
    /// that of the report. Only handlers with [`REMINDED`](Handler::REMINDED) may do that.
    #[inline]
    pub fn remind(&mut self, time: Cycles, node: u32, tag: T) {
        let (class, route) = (Class::Request, [].as_slice());
        let reminder = Packet {
            node,
            class,
            symbols: REMINDER,
            route,
            tag,
        };
        self.offer(time, reminder);
    }

    /// Returns the offered packets and their times.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Cycles, Packet<'_, T>)> {
        let mut begin = 0;
        self.packets.iter().map(move |offer| {
            let packet = Packet {
                node: offer.node,
                class: offer.class,
                symbols: offer.symbols,
                route: &self.segments[begin..offer.end as usize],
                tag: offer.tag,
            };
            begin = offer.end as usize;
            (offer.time, packet)
        })
    }

    /// Panics if a packet may not be offered in answer to a report on `node` at `now`.
    #[inline]
    pub(crate) fn check(&self, node: u32, now: Cycles, time: Cycles, packet: &Packet<'_, T>) {
        assert!(
            packet.node == node,
            "notified of node {node}, a handler offered a packet of node {}",
            packet.node
        );
        assert!(
            time >= now,
            "a packet of node {node} was offered for cycle {time}, now is {now}"
        );
    }

    pub(crate) fn clear(&mut self) {
        self.packets.clear();
        self.segments.clear();
    }
}

/// Receives the reports on packets.
///
/// Reports on one node come in order of time. Calls for different nodes may be out of order by less
/// than one hop, because no node can learn of another sooner.
pub trait Handler {
    /// The type of the handler's data.
    type Tag: Copy;

    /// Whether it requests reminders ([`Offers::remind`]). False by default.
    const REMINDED: bool = false;

    /// A packet was generated in its cycle. The place to offer the node's next one. Does nothing by
    /// default.
    #[inline]
    fn generated(
        &mut self,
        _node: u32,
        _time: Cycles,
        _tag: Self::Tag,
        _offers: &mut Offers<Self::Tag>,
    ) {
    }

    /// A packet arrives. The tail follows at `delivery.tail`.
    fn delivered(&mut self, delivery: &Delivery<Self::Tag>, offers: &mut Offers<Self::Tag>);

    /// A packet was dropped. Does nothing by default.
    #[inline]
    fn dropped(&mut self, _dropped: &Dropped<Self::Tag>, _offers: &mut Offers<Self::Tag>) {}

    /// A reminder is due, as if its node had generated a packet now. Does nothing by default.
    #[inline]
    fn reminded(
        &mut self,
        _node: u32,
        _time: Cycles,
        _tag: Self::Tag,
        _offers: &mut Offers<Self::Tag>,
    ) {
    }

    /// Whether the run may end. Called once per hop or more often. False by default.
    #[inline]
    fn finished(&self) -> bool {
        false
    }
}
