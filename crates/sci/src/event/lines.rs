//! Packet headers in flight on the links of the rings.
//!
//! Headers arrive in the order in which they left, so a list for each link is enough. All lists
//! share one small store, so that the entries in use stay close together.

use super::packets::PacketId;
use super::queue::QueueId;
use crate::InterfaceId;
use crate::traffic::Class;
use isthmus_kernel::{Cycles, Id, Slab, id};
use std::hint::select_unpredictable;

id! {
    /// Number of the slot of a header in [`Headers`].
    pub(super) struct HeaderId;
}

impl HeaderId {
    /// The number that means that there is no header. The slot with this number has a header that
    /// is never due, so that no code has to test for the sentinel.
    pub const SENTINEL: Self = Self(0);
}

/// Kind of a packet on a link: a send, or the echo that accepts or refuses it. It determines the
/// meaning of `Header::number`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A send packet. [`Header::number`] is the number of the packet.
    Send,
    /// A good echo, which accepts a send. [`Header::number`] is the number of the output queue from
    /// which the packet was sent.
    Good,
    /// A busy echo, by which the target refuses a send. [`Header::number`] is the number of the
    /// packet. An echo is also of this kind as long as its send has not reached the target.
    Busy,
}

/// A packet in flight on a link, represented by its header. No record spans two cache lines.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(super) struct Header {
    /// Cycle in which the header arrives at the interface to which the link leads.
    pub time: Cycles,
    /// Next header on the same link.
    pub next: HeaderId,
    /// Number of the packet, or for a good echo of its output queue: see [`Kind`].
    pub number: u32,
    /// For a send that reaches its target at the end of this link: the echo that will replace its
    /// last symbols.
    pub echo: HeaderId,
    /// For a good echo, the interface from which the packet came to its output queue.
    pub from: InterfaceId,
    /// Number of links that the packet must still cross after the present link.
    pub left: u16,
    /// Number of links that the echo of a send must cross.
    pub back: u16,
    /// Length of the packet in symbols, including the idle symbol after it.
    pub size: u16,
    pub kind: Kind,
    /// Class of the packet: request or response.
    pub class: Class,
}

impl Header {
    /// Return the packet of this header, which must be a send or the echo of a refused send.
    #[inline]
    pub fn packet(&self) -> PacketId {
        debug_assert!(self.kind != Kind::Good);
        PacketId::new(self.number)
    }

    /// Return the output queue to which this header, a good echo, reports that a packet was
    /// accepted.
    #[inline]
    pub fn queue(&self) -> QueueId {
        debug_assert!(self.kind == Kind::Good);
        QueueId::new(self.number)
    }
}

/// List of the packet headers that are on the link to an interface, in order of arrival.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    first: HeaderId,
    last: HeaderId,
}

impl Line {
    /// The list of a link without headers.
    pub const EMPTY: Self = Self {
        first: HeaderId::SENTINEL,
        last: HeaderId::SENTINEL,
    };
}

/// Store of the packet headers on all links.
#[derive(Debug, Clone)]
pub(super) struct Headers {
    headers: Slab<HeaderId, Header>,
}

impl Headers {
    /// Return a store without packets. It has only the sentinel, a header that is never due.
    pub fn new() -> Self {
        let none = Header {
            time: Cycles::MAX,
            next: HeaderId::SENTINEL,
            number: 0,
            echo: HeaderId::SENTINEL,
            from: InterfaceId::NONE,
            left: 0,
            back: 0,
            size: 0,
            kind: Kind::Send,
            class: Class::Request,
        };
        let mut headers = Slab::new();
        let slot = headers.insert(none);
        debug_assert_eq!(slot, HeaderId::SENTINEL);
        Self { headers }
    }

    /// Return mutable access to the packet header in a slot.
    #[inline]
    pub fn get_mut(&mut self, slot: HeaderId) -> &mut Header {
        &mut self.headers[slot]
    }

    /// Store a header that is not in the list of any link yet. Return its slot.
    #[inline]
    pub fn add(&mut self, header: Header) -> HeaderId {
        self.headers.insert(header)
    }

    /// Free the slot of a packet header.
    #[inline]
    pub fn remove(&mut self, slot: HeaderId) {
        self.headers.remove(slot);
    }

    /// Append a header to a line, the list of the headers on a link. The code has no branch, since
    /// the processor cannot predict whether the line is empty. It may write `next` of the sentinel,
    /// which has no effect.
    #[inline]
    pub fn push(&mut self, line: &mut Line, slot: HeaderId) {
        let only = line.first == HeaderId::SENTINEL;
        let last = select_unpredictable(only, HeaderId::SENTINEL, line.last);
        self.headers[last].next = slot;
        line.first = select_unpredictable(only, slot, line.first);
        line.last = slot;
    }

    /// Remove the first header of a line (the list of the headers on a link). Return its slot,
    /// which stays in use, the header, and the time of the next header.
    #[inline]
    pub fn pop(&mut self, line: &mut Line) -> (HeaderId, &mut Header, Cycles) {
        let slot = line.first;
        line.first = self.headers[slot].next;
        let next = self.headers[line.first].time;
        let header = &mut self.headers[slot];
        header.next = HeaderId::SENTINEL;
        (slot, header, next)
    }

    /// Return the headers on a link, whose list is `line`.
    pub fn iter(&self, line: Line) -> impl Iterator<Item = &Header> {
        let existing = |slot: HeaderId| (slot != HeaderId::SENTINEL).then_some(slot);
        std::iter::successors(existing(line.first), move |&at| {
            existing(self.headers[at].next)
        })
        .map(|at| &self.headers[at])
    }
}
