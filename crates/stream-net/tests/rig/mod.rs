//! The interface of the conformance scripts: a sending and a receiving interface, with ranks on
//! links and a path between them.

pub mod memory;
pub mod plain;
pub mod proxy;
pub mod ranks;
pub mod real;
pub mod sinks;

use isthmus_stream::{Direction, Event, Format, LinkId, Protocol};
use std::ops::Range;

/// One of the two interfaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    Sends,
    Receives,
}

/// A stream at both interfaces.
#[derive(Clone)]
pub struct Plan {
    pub connection: usize,
    pub format: Format,
    pub adus: u64,
    /// Streams of earlier submissions or of this one, by index.
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

/// An SU as the receiving ranks got it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Had {
    pub adu: u64,
    pub offset: u64,
    pub good: bool,
    pub data: Vec<u8>,
}

/// The actions of a script. Streams and connections are numbered in the order of submission and
/// opening.
pub trait Rig {
    /// Returns the name, for failure messages.
    fn name(&self) -> String;
    /// Whether one end of a connection is notified when the other is closed.
    fn reports_the_end(&self) -> bool {
        true
    }
    /// Opens a connection on both sides, with the receiver's window in bytes.
    fn open(&mut self, protocol: Protocol, window: u64) -> usize;
    fn close(&mut self, connection: usize);
    /// Registers streams with the sender.
    fn submit(&mut self, plans: &[Plan]) -> Vec<usize>;
    /// Registers streams with the receiver, without their dependences.
    fn receive(&mut self, streams: &[usize]);
    fn cancel(&mut self, side: Side, stream: usize);
    /// Makes the rank of a link write its part of these ADUs.
    fn feed_link(&mut self, stream: usize, link: LinkId, adus: Range<u64>);
    /// Returns the links of a stream.
    fn links(&self, stream: usize) -> Vec<LinkId>;
    /// Makes the ranks of all links write these ADUs.
    fn feed(&mut self, stream: usize, adus: Range<u64>) {
        for link in self.links(stream) {
            self.feed_link(stream, link, adus.clone());
        }
    }
    /// Attaches a rank to this link, in its own process if possible, which writes its part of ADU 0
    /// and half of its part of ADU 1.
    fn doom(&mut self, stream: usize, link: LinkId);
    /// Kills that rank.
    fn kill(&mut self, link: LinkId);
    /// Cuts the sender's link while its rank has written `adu`, of which nothing may have come.
    fn cut(&mut self, link: LinkId);
    /// Restores the link. Ranks continue with the data that was not taken, up to the ADU before
    /// `adus`.
    fn restore(&mut self, link: LinkId, stream: usize, adus: u64);
    /// Flips a bit of the next data packet on its way, except in ADU 0, whose data may be sent
    /// again.
    fn corrupt(&mut self, connection: usize);
    /// Loses the connection on both sides.
    fn lose(&mut self, connection: usize);
    /// Lets the drivers run.
    fn pump(&mut self);
    /// Returns all events of a side so far, with streams numbered as here.
    fn events(&self, side: Side) -> Vec<Event>;
    /// Returns the SUs of a stream that the receiver's ranks got, in the order of the links.
    fn had(&mut self, stream: usize) -> Vec<Had>;
    /// Returns the received bytes if there is no second interface, once the connection is closed.
    /// None if there is one.
    fn taken(&mut self, _connection: usize) -> Option<Vec<u8>> {
        None
    }
    /// Returns the maximum number of bytes in network memory of a side, for a direction.
    fn most(&mut self, side: Side, direction: Direction) -> u64;
}

/// Returns the bytes of an ADU of a stream.
pub fn content(stream: usize, adu: u64, bytes: u64) -> Vec<u8> {
    let mut word = (stream as u64) << 32 | adu << 8 | 1;
    let mut data = vec![0; bytes as usize];
    for eight in data.chunks_mut(8) {
        word = word.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        eight.copy_from_slice(&word.to_be_bytes()[..eight.len()]);
    }
    data
}
