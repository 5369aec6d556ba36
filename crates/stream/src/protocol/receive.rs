//! The receive half: decides which packets are accepted, puts them in order, and acknowledges them.

use crate::ids::PacketId;
use crate::wire::{DiscardedStreams, Header};
use std::collections::{BTreeMap, VecDeque};

/// Maximum number of packets without data (end marks) that wait, in addition to the packets that
/// the window covers.
const MARKS_MAX: usize = 1024;

/// Number of sequence numbers beyond the next expected one that the receive half accepts.
const SPAN: u64 = 1 << 20;

/// The verdict of the receive half on a data packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Take,
    Duplicate,
    Impossible,
    NoRoom,
}

/// State of the receive half of a connection.
#[derive(Debug, Default)]
pub(crate) struct Receive {
    pub window: u64,
    /// The next expected sequence number: all packets with lower numbers arrived, or were given up.
    pub expected: u64,
    /// Complete packets beyond the next expected one, by sequence number.
    pub early: BTreeMap<u64, PacketId>,
    /// Packets whose data is being copied into network memory, by sequence number.
    pub arriving: BTreeMap<u64, PacketId>,
    /// Packets in order that no stream has consumed yet (the receive queue of the paper, 4.3).
    pub held: VecDeque<PacketId>,
    /// Cost in bytes, in terms of the receive window, of all packets that are still in network
    /// memory. `freed` is the cost of those that were released.
    pub cost: u64,
    pub freed: u64,
    /// One above the highest sequence number that was received.
    pub latest: u64,
    /// All packets below the number `taken` were removed from `held`; all packets below `delivered`
    /// were delivered.
    pub taken: u64,
    pub delivered: u64,
    /// Number of buffers that contain data that is not delivered.
    pub buffered: u64,
    /// Streams with consumed packets that will not be delivered. Headers report them to the peer no
    /// later than `delivered` passes these packets, so that the peer does not count them as done.
    pub discarded: DiscardedStreams,
    /// Position of the end of the last packet in order: stream, application data unit (ADU), byte.
    pub last: Option<(u32, u64, u64)>,
}

impl Receive {
    /// Creates the state of a connection with a receive window of this number of bytes.
    pub fn new(window: u64) -> Self {
        Self {
            window,
            ..Self::default()
        }
    }

    /// Returns the total credit in bytes that was granted to the peer since the connection was
    /// opened.
    pub fn granted(&self) -> u64 {
        self.freed.saturating_add(self.window)
    }

    /// Returns a bit set of the packets beyond the next expected one that have arrived: bit `i`
    /// stands for packet `expected + 1 + i`.
    pub fn beyond(&self) -> u64 {
        let first = self.expected + 1;
        let come = self.early.range(first..first + 64);
        come.fold(0, |bits, (sequence, _)| bits | 1 << (sequence - first))
    }

    /// Decides whether to accept a data packet. A packet that is being copied counts as a
    /// duplicate.
    pub fn judge(&self, header: &Header) -> Verdict {
        let sequence = header.sequence;
        let known = self.early.contains_key(&sequence) || self.arriving.contains_key(&sequence);
        if sequence < self.expected || known {
            return Verdict::Duplicate;
        }
        if sequence - self.expected > SPAN {
            return Verdict::Impossible;
        }
        let packets = self.held.len() + self.early.len() + self.arriving.len();
        // Reserve the last free entry for the next expected packet, because all other packets wait
        // for it.
        let ahead = u64::from(sequence != self.expected);
        let most = self.window / Header::BYTES as u64 + MARKS_MAX as u64 - ahead;
        if packets as u64 >= most || self.cost.saturating_add(header.cost()) > self.window {
            return Verdict::NoRoom;
        }
        Verdict::Take
    }

    /// Returns whether the packet with this header is the next one in order and needs no special
    /// handling (header prediction).
    pub fn predicted(&self, header: &Header) -> bool {
        header.sequence == self.expected
            && self.arriving.is_empty()
            && self.early.is_empty()
            && !header.end
            && self.last == Some((header.stream, header.adu, header.offset))
    }

    /// Inserts a complete packet in order of sequence numbers, with the early packets that become
    /// contiguous.
    pub fn insert(&mut self, sequence: u64, packet: PacketId) {
        self.latest = self.latest.max(sequence + 1);
        if sequence != self.expected {
            self.early.insert(sequence, packet);
            return;
        }
        self.held.push_back(packet);
        self.expected += 1;
        self.drain();
    }

    /// Moves early packets that are now in order to the receive queue `held`.
    fn drain(&mut self) {
        while let Some(packet) = self.early.remove(&self.expected) {
            self.held.push_back(packet);
            self.expected += 1;
        }
    }

    /// Records that all packets below `sequence` are delivered or discarded. Returns whether
    /// `delivered` advanced.
    pub fn deliver_below(&mut self, sequence: u64) -> bool {
        if sequence <= self.delivered {
            return false;
        }
        self.delivered = sequence;
        true
    }

    /// Gives up the missing packets below the number `floor`.
    pub fn give_up_below(&mut self, floor: u64) {
        while self.expected < floor {
            let next = self.early.first_key_value().map(|(sequence, _)| *sequence);
            self.expected = next.map_or(floor, |next| next.min(floor));
            self.drain();
        }
    }

    /// Stops waiting for those missing packets that at least `reorder` later packets have
    /// overtaken.
    pub fn give_up_overtaken(&mut self, reorder: u32) {
        let floor = self.latest.saturating_sub(u64::from(reorder));
        // Do not give up a packet that is being copied: it has arrived.
        let copied = self
            .arriving
            .first_key_value()
            .map(|(sequence, _)| *sequence);
        self.give_up_below(copied.map_or(floor, |copied| copied.min(floor)));
    }

    /// Gives up the missing packets before the first early packet. Returns whether there were any.
    pub fn give_up_gap(&mut self) -> bool {
        let Some((&sequence, _)) = self.early.first_key_value() else {
            return false;
        };
        self.give_up_below(sequence);
        true
    }
}
