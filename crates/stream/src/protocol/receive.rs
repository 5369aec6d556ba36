//! The receive half: decides which packets are accepted, puts them in order, and acknowledges them.

use crate::ids::PacketId;
use crate::wire::{DiscardedStreams, Header};
use std::collections::{BTreeMap, VecDeque};

/// Number of packets without data that are held in addition to those that the window pays for.
const MARKS_MAX: usize = 1024;

/// Range of accepted sequence numbers beyond the next expected one.
const SPAN: u64 = 1 << 20;

/// The verdict of the receive half on a data packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Take,
    Duplicate,
    Impossible,
    NoRoom,
}

/// State of the receive half.
#[derive(Debug, Default)]
pub(crate) struct Receive {
    pub window: u64,
    /// All packets below came, or were given up.
    pub expected: u64,
    /// Complete packets beyond the next expected one.
    pub early: BTreeMap<u64, PacketId>,
    /// Packets whose data is being copied into network memory.
    pub arriving: BTreeMap<u64, PacketId>,
    /// Packets in order that no stream has taken yet (the receive queue of the paper, 4.3).
    pub held: VecDeque<PacketId>,
    /// Cost of all packets that are not free yet, and of all that are.
    pub cost: u64,
    pub freed: u64,
    /// One above the highest received sequence number.
    pub latest: u64,
    /// All packets below were taken from `held`; and were delivered.
    pub taken: u64,
    pub delivered: u64,
    /// Number of buffers with taken data.
    pub buffered: u64,
    /// Streams with taken packets that will not be delivered. The peer learns this no later than
    /// `delivered` passes these packets, so that it does not count them as done.
    pub discarded: DiscardedStreams,
    /// End of the last packet: stream, ADU, byte.
    pub last: Option<(u32, u64, u64)>,
}

impl Receive {
    pub fn new(window: u64) -> Self {
        Self {
            window,
            ..Self::default()
        }
    }

    /// Returns the total credit since the start.
    pub fn granted(&self) -> u64 {
        self.freed.saturating_add(self.window)
    }

    /// Returns which packets have come beyond the one after the next expected.
    pub fn beyond(&self) -> u64 {
        let first = self.expected + 1;
        let come = self.early.range(first..first + 64);
        come.fold(0, |bits, (sequence, _)| bits | 1 << (sequence - first))
    }

    /// Decides on a data packet. A packet that is being copied counts as a duplicate.
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
        // The last slot is reserved for the packet that all others wait for.
        let ahead = u64::from(sequence != self.expected);
        let most = self.window / Header::BYTES as u64 + MARKS_MAX as u64 - ahead;
        if packets as u64 >= most || self.cost.saturating_add(header.cost()) > self.window {
            return Verdict::NoRoom;
        }
        Verdict::Take
    }

    /// Whether it is the next packet in order, without any special case.
    pub fn predicted(&self, header: &Header) -> bool {
        header.sequence == self.expected
            && self.arriving.is_empty()
            && self.early.is_empty()
            && !header.end
            && self.last == Some((header.stream, header.adu, header.offset))
    }

    /// Inserts a complete packet in order, with those behind it that become contiguous.
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

    fn drain(&mut self) {
        while let Some(packet) = self.early.remove(&self.expected) {
            self.held.push_back(packet);
            self.expected += 1;
        }
    }

    /// Records that all packets below `sequence` are delivered or discarded. Returns whether that
    /// is new.
    pub fn deliver_below(&mut self, sequence: u64) -> bool {
        if sequence <= self.delivered {
            return false;
        }
        self.delivered = sequence;
        true
    }

    /// Gives up missing packets below `floor`.
    pub fn give_up_below(&mut self, floor: u64) {
        while self.expected < floor {
            let next = self.early.first_key_value().map(|(sequence, _)| *sequence);
            self.expected = next.map_or(floor, |next| next.min(floor));
            self.drain();
        }
    }

    /// Gives up packets that more than `reorder` later ones have overtaken.
    pub fn give_up_overtaken(&mut self, reorder: u32) {
        let floor = self.latest.saturating_sub(u64::from(reorder));
        // A packet that is being copied has come; it is only slower.
        let copied = self
            .arriving
            .first_key_value()
            .map(|(sequence, _)| *sequence);
        self.give_up_below(copied.map_or(floor, |copied| copied.min(floor)));
    }

    /// Gives up the gap before the first early packet, if there is one.
    pub fn give_up_gap(&mut self) -> bool {
        let Some((&sequence, _)) = self.early.first_key_value() else {
            return false;
        };
        self.give_up_below(sequence);
        true
    }
}
