//! What scripts of the conformance suite are written for: two interfaces, one that sends and one
//! that receives, with ranks on links and something between them.

pub mod memory;
pub mod plain;
pub mod proxy;
pub mod ranks;
pub mod real;
pub mod sinks;

use isthmus_stream::{Direction, Event, Format, LinkId, Protocol};
use std::ops::Range;

/// Which interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    Sends,
    Receives,
}

/// A stream, of both interfaces.
#[derive(Clone)]
pub struct Plan {
    pub connection: usize,
    pub format: Format,
    pub adus: u64,
    /// Streams of earlier submissions, or of this one.
    pub after: Vec<usize>,
    pub in_step_with: Vec<usize>,
}

impl Plan {
    pub fn new(connection: usize, format: Format, adus: u64) -> Self {
        Self {
            connection,
            format,
            adus,
            after: Vec::new(),
            in_step_with: Vec::new(),
        }
    }
}

/// An SU as the receiving ranks had it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Had {
    pub adu: u64,
    pub offset: u64,
    pub good: bool,
    pub data: Vec<u8>,
}

/// What a script does. Streams and connections are numbered as they are submitted and opened.
pub trait Rig {
    /// What it is, for messages of failures.
    fn name(&self) -> String;
    /// Whether who is at one end of a connection is told that the other end was closed.
    fn tells_the_end(&self) -> bool {
        true
    }
    /// Opens a connection on both sides; the receiver's window in bytes.
    fn open(&mut self, protocol: Protocol, window: u64) -> usize;
    fn close(&mut self, connection: usize);
    /// Registers streams with the sender.
    fn submit(&mut self, plans: &[Plan]) -> Vec<usize>;
    /// Registers them with the receiver, without what they come after or go in step with.
    fn receive(&mut self, streams: &[usize]);
    fn cancel(&mut self, side: Side, stream: usize);
    /// The rank of a link writes its part of these ADUs.
    fn feed_link(&mut self, stream: usize, link: LinkId, adus: Range<u64>);
    /// Links of a stream.
    fn links(&self, stream: usize) -> Vec<LinkId>;
    /// Ranks of all links write these ADUs.
    fn feed(&mut self, stream: usize, adus: Range<u64>) {
        for link in self.links(stream) {
            self.feed_link(stream, link, adus.clone());
        }
    }
    /// A rank on this link, its own process where there are any, writes its part of ADU 0 and half
    /// of that of ADU 1.
    fn doom(&mut self, stream: usize, link: LinkId);
    /// It is killed.
    fn kill(&mut self, link: LinkId);
    /// The sender's link is cut while its rank has written `adu`, of which nothing may have come.
    fn cut(&mut self, link: LinkId);
    /// It works again; ranks go on with what was not taken, up to the ADU before `adus`.
    fn restore(&mut self, link: LinkId, stream: usize, adus: u64);
    /// A bit of the next packet of data is flipped on its way. Not of ADU 0, whose data may be sent again.
    fn corrupt(&mut self, connection: usize);
    /// The connection is gone for both.
    fn lose(&mut self, connection: usize);
    /// Lets something happen.
    fn pump(&mut self);
    /// All events of a side so far, with streams numbered as here.
    fn events(&self, side: Side) -> Vec<Event>;
    /// What ranks of the receiver had of a stream, by link in the order of the links.
    fn had(&mut self, stream: usize) -> Vec<Had>;
    /// What came where there is no second interface, once the connection is closed; none if there is
    /// one.
    fn taken(&mut self, _connection: usize) -> Option<Vec<u8>> {
        None
    }
    /// Most bytes in network memory of a side, for a direction.
    fn most(&mut self, side: Side, direction: Direction) -> u64;
}

/// The bytes of an ADU of a stream.
pub fn content(stream: usize, adu: u64, bytes: u64) -> Vec<u8> {
    let seed = (stream as u64) << 32 | adu << 8 | 1;
    (0..bytes)
        .map(|at| ((at + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8)
        .collect()
}
