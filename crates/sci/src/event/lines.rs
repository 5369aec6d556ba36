//! Headers on the links.
//!
//! What is on a link arrives in the order in which it left, so a list for each is enough. All lists
//! share one small store, so that what is in use stays close together.

use super::packets::PacketId;
use super::queue::QueueId;
use crate::InterfaceId;
use crate::traffic::Class;
use isthmus_kernel::{Cycles, Id, Slab, id};
use std::hint::select_unpredictable;

id! {
    /// The place of a header.
    pub(super) struct HeaderId;
}

impl HeaderId {
    /// The place that stands for no header. There is one in it that is never due, so that nobody has to
    /// ask whether there is one.
    pub const NOBODY: Self = Self(0);
}

/// What a header is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A send, its packet's number with it.
    Send,
    /// An echo of an accepted send, the number of the queue that held the packet with it.
    Good,
    /// An echo of a refused send, its packet's number with it. Also an echo whose send has not
    /// come to its target yet.
    Busy,
}

/// A header on its way. None is in two lines of a processor's cache.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(super) struct Header {
    /// When it comes to the interface that the link leads to.
    pub time: Cycles,
    /// The next on the link.
    pub next: HeaderId,
    /// Number of the packet or the queue: see [`Kind`].
    pub number: u32,
    /// For a send that goes no further, the place of the echo that follows it.
    pub echo: HeaderId,
    /// For an echo of an accepted send, the interface from which the packet came to the queue.
    pub from: InterfaceId,
    /// Links still to go, those after the interface that it comes to.
    pub left: u16,
    /// Links that the echo of a send goes.
    pub back: u16,
    /// Symbols with the idle.
    pub size: u16,
    pub kind: Kind,
    /// The class of the packet.
    pub class: Class,
}

impl Header {
    /// The packet of a send, or of an echo of a refused one.
    #[inline]
    pub fn packet(&self) -> PacketId {
        debug_assert!(self.kind != Kind::Good);
        PacketId::new(self.number)
    }

    /// The queue that held the packet of an accepted send, whose echo this is.
    #[inline]
    pub fn queue(&self) -> QueueId {
        debug_assert!(self.kind == Kind::Good);
        QueueId::new(self.number)
    }
}

/// What comes to an interface, in order of time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    first: HeaderId,
    last: HeaderId,
}

impl Line {
    pub const EMPTY: Self = Self {
        first: HeaderId::NOBODY,
        last: HeaderId::NOBODY,
    };
}

/// The headers of all lines.
#[derive(Debug, Clone)]
pub(super) struct Headers {
    headers: Slab<HeaderId, Header>,
}

impl Headers {
    pub fn new() -> Self {
        let none = Header {
            time: Cycles::MAX,
            next: HeaderId::NOBODY,
            number: 0,
            echo: HeaderId::NOBODY,
            from: InterfaceId::NONE,
            left: 0,
            back: 0,
            size: 0,
            kind: Kind::Send,
            class: Class::Request,
        };
        let mut headers = Slab::new();
        let place = headers.insert(none);
        debug_assert_eq!(place, HeaderId::NOBODY);
        Self { headers }
    }

    #[inline]
    pub fn get_mut(&mut self, place: HeaderId) -> &mut Header {
        &mut self.headers[place]
    }

    /// Finds a place for a header.
    #[inline]
    pub fn add(&mut self, header: Header) -> HeaderId {
        self.headers.insert(header)
    }

    /// Gives up a place.
    #[inline]
    pub fn remove(&mut self, place: HeaderId) {
        self.headers.remove(place);
    }

    /// Puts a header at the end of a line. Without a branch: whether the line is empty cannot be
    /// foreseen. What is said to follow the place of no header has no meaning.
    #[inline]
    pub fn push(&mut self, line: &mut Line, place: HeaderId) {
        let only = line.first == HeaderId::NOBODY;
        let last = select_unpredictable(only, HeaderId::NOBODY, line.last);
        self.headers[last].next = place;
        line.first = select_unpredictable(only, place, line.first);
        line.last = place;
    }

    /// Takes the first header of a line, which it is ready to leave for another. Returns its place,
    /// itself, and the time of the next.
    #[inline]
    pub fn pop(&mut self, line: &mut Line) -> (HeaderId, &mut Header, Cycles) {
        let place = line.first;
        line.first = self.headers[place].next;
        let next = self.headers[line.first].time;
        let header = &mut self.headers[place];
        header.next = HeaderId::NOBODY;
        (place, header, next)
    }

    /// The headers of a line.
    pub fn iter(&self, line: Line) -> impl Iterator<Item = &Header> {
        let place = |place: HeaderId| (place != HeaderId::NOBODY).then_some(place);
        std::iter::successors(place(line.first), move |&at| place(self.headers[at].next))
            .map(|at| &self.headers[at])
    }
}
