//! Headers on the links.
//!
//! What is on a link arrives in the order in which it left, so a list for each is enough. All lists
//! share one small store, so that what is in use stays close together.

use crate::traffic::Class;
use isthmus_kernel::Cycles;
use std::hint::select_unpredictable;

/// The place that stands for no header. It is never due.
pub(super) const NO_HEADER: u32 = 0;

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
    /// The next on the link; for a place that is not in use, the next such place.
    pub next: u32,
    /// Number of the packet or the queue.
    pub number: u32,
    /// For a send that goes no further, the place of the echo that follows it.
    pub echo: u32,
    /// For an echo of an accepted send, the interface from which the packet came to the queue.
    pub from: u32,
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

/// What comes to an interface, in order of time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    first: u32,
    last: u32,
}

impl Line {
    pub const EMPTY: Self = Self {
        first: NO_HEADER,
        last: NO_HEADER,
    };
}

/// The headers of all lines.
#[derive(Debug, Clone)]
pub(super) struct Headers {
    headers: Vec<Header>,
    free: u32,
}

impl Headers {
    pub fn new() -> Self {
        let none = Header {
            time: Cycles::MAX,
            next: NO_HEADER,
            number: 0,
            echo: NO_HEADER,
            from: 0,
            left: 0,
            back: 0,
            size: 0,
            kind: Kind::Send,
            class: Class::Request,
        };
        Self {
            headers: vec![none],
            free: NO_HEADER,
        }
    }

    #[inline]
    pub fn get_mut(&mut self, place: u32) -> &mut Header {
        &mut self.headers[place as usize]
    }

    /// Finds a place for a header.
    #[inline]
    pub fn add(&mut self, header: Header) -> u32 {
        let place = self.free;
        if place == NO_HEADER {
            self.headers.push(header);
            return self.headers.len() as u32 - 1;
        }
        let free = &mut self.headers[place as usize];
        self.free = free.next;
        *free = header;
        place
    }

    /// Gives up a place.
    #[inline]
    pub fn remove(&mut self, place: u32) {
        self.headers[place as usize].next = self.free;
        self.free = place;
    }

    /// Puts a header at the end of a line. Without a branch: whether the line is empty cannot be
    /// foreseen. What is said to follow the place of no header has no meaning.
    #[inline]
    pub fn push(&mut self, line: &mut Line, place: u32) {
        let only = line.first == NO_HEADER;
        let last = select_unpredictable(only, NO_HEADER, line.last);
        self.headers[last as usize].next = place;
        line.first = select_unpredictable(only, place, line.first);
        line.last = place;
    }

    /// Takes the first header of a line, which it is ready to leave for another. Returns its place,
    /// itself, and the time of the next.
    #[inline]
    pub fn pop(&mut self, line: &mut Line) -> (u32, &mut Header, Cycles) {
        let place = line.first;
        line.first = self.headers[place as usize].next;
        let next = self.headers[line.first as usize].time;
        let header = &mut self.headers[place as usize];
        header.next = NO_HEADER;
        (place, header, next)
    }

    /// The headers of a line.
    pub fn iter(&self, line: Line) -> impl Iterator<Item = &Header> {
        let place = |place: u32| (place != NO_HEADER).then_some(place);
        std::iter::successors(place(line.first), move |&at| {
            place(self.headers[at as usize].next)
        })
        .map(|at| &self.headers[at as usize])
    }
}
