//! Packets, reports on packets (such as deliveries), and the handler that receives the reports.

use isthmus_kernel::Cycles;
use isthmus_topology::rings::Segment;

/// The two kinds of packet, each with queues of its own so that responses never wait for requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// A packet that needs no answer, or the packet that starts a transaction.
    Request,
    /// The packet that answers a request in a transaction.
    Response,
}

/// Number of packet classes: requests and responses.
pub(crate) const CLASSES: usize = 2;

impl Class {
    /// All packet classes, by number.
    pub(crate) const ALL: [Self; CLASSES] = [Self::Request, Self::Response];

    /// Return the number of the class, by which it indexes tables.
    pub(crate) fn number(self) -> usize {
        self as usize
    }
}

/// A packet that a node sends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Packet<'a, T> {
    /// The node at which the packet is generated.
    pub node: u32,
    /// Class of the packet: request or response.
    pub class: Class,
    /// Length of the packet in symbols: header, payload and checksum, without the idle symbol after
    /// it. It must be at least the length of an echo and at most the maximum of the rules.
    pub symbols: u32,
    /// The segments of the route, each on another ring than the one before. The route must exist in
    /// the fabric: see [`Fabric::route_end`](crate::Fabric::route_end).
    pub route: &'a [Segment],
    /// Data that the handler attaches to the packet. The reports on the packet contain it.
    pub tag: T,
}

/// Report on a packet that arrives at its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery<T> {
    /// Data that the handler attached to the packet.
    pub tag: T,
    /// The node at which the packet arrives.
    pub node: u32,
    /// Class of the packet: request or response.
    pub class: Class,
    /// Length of the packet in symbols, without the idle symbol after it.
    pub symbols: u32,
    /// The cycle for which the handler offered the packet, in which the client generated it.
    pub generated: Cycles,
    /// The cycle in which the packet got a slot of its output queue at the source.
    pub admitted: Cycles,
    /// The cycle in which the packet's header first left its source.
    pub sent: Cycles,
    /// The cycle in which the header was decoded at the destination, which is the cycle of this
    /// report.
    pub header: Cycles,
    /// The cycle after the last symbol of the packet: `header` plus the length.
    pub tail: Cycles,
    /// Number of times that the packet changed from one ring to another.
    pub ring_changes: u32,
    /// Number of links of the packet's route.
    pub links: u32,
    /// Number of times that the packet was refused by a busy echo on its route.
    pub retries: u32,
}

/// Report on a packet that was dropped because its output queue had no free slot (rule B for
/// sources with a full queue).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped<T> {
    /// Data that the handler attached to the packet.
    pub tag: T,
    /// The node at which the packet was generated.
    pub node: u32,
    /// The cycle for which the handler offered the packet, in which the client generated it.
    pub time: Cycles,
}

/// Number of symbols of the empty packet that represents a reminder (a timer of the handler).
pub(crate) const REMINDER: u32 = 0;

/// Packets that a [`Handler`] offers to the engine in answer to a report.
#[derive(Debug, Clone)]
pub struct Offers<T> {
    pub(crate) packets: Vec<Offer<T>>,
    pub(crate) segments: Vec<Segment>,
}

/// A packet that a handler has offered, without its route.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer<T> {
    pub time: Cycles,
    pub node: u32,
    pub class: Class,
    pub symbols: u32,
    pub tag: T,
    /// End (exclusive) of the packet's route in `segments`. The route starts at the end of the
    /// previous offer's route.
    pub end: u32,
}

impl<T> Default for Offers<T> {
    /// Return an empty list of offered packets.
    fn default() -> Self {
        Self {
            packets: Vec::new(),
            segments: Vec::new(),
        }
    }
}

impl<T: Copy> Offers<T> {
    /// Offers a packet for generation in cycle `time`, the present one or a later one. Its node
    /// must be the node of the report, because a node knows only the events that have reached it.
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

    /// Requests a reminder: a call of [`Handler::reminded`] in cycle `time`, the present one or a
    /// later one, for `node`. That must be the node of the report. Only handlers with
    /// [`REMINDED`](Handler::REMINDED) may request reminders.
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

    /// Panics if the handler must not offer this packet in answer to a report on `node` at `now`.
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

    /// Remove all offered packets and reminders (timers).
    pub(crate) fn clear(&mut self) {
        self.packets.clear();
        self.segments.clear();
    }
}

/// Receives the reports of an engine on the generation, delivery and drop of packets.
///
/// Reports on one node come in order of time. Calls for different nodes may be out of order by less
/// than one hop, because no node can learn of another sooner.
pub trait Handler {
    /// The type of the data that the handler attaches to packets and reminders (timers).
    type Tag: Copy;

    /// Whether the handler requests reminders (timers, see [`Offers::remind`]). False by default.
    const REMINDED: bool = false;

    /// Handles the generation of a packet. A handler can offer the next packet of the node here.
    /// Does nothing by default.
    #[inline]
    fn generated(
        &mut self,
        _node: u32,
        _time: Cycles,
        _tag: Self::Tag,
        _offers: &mut Offers<Self::Tag>,
    ) {
    }

    /// Handles the arrival of a packet at its destination. The tail of the packet follows at
    /// `delivery.tail`.
    fn delivered(&mut self, delivery: &Delivery<Self::Tag>, offers: &mut Offers<Self::Tag>);

    /// Handles the drop of a packet. Does nothing by default.
    #[inline]
    fn dropped(&mut self, _dropped: &Dropped<Self::Tag>, _offers: &mut Offers<Self::Tag>) {}

    /// Handles a reminder (a timer set by [`Offers::remind`]) that is due, as if its node had
    /// generated a packet now. Does nothing by default.
    #[inline]
    fn reminded(
        &mut self,
        _node: u32,
        _time: Cycles,
        _tag: Self::Tag,
        _offers: &mut Offers<Self::Tag>,
    ) {
    }

    /// Returns whether the run may end. Called once per hop or more often. False by default.
    #[inline]
    fn finished(&self) -> bool {
        false
    }
}
