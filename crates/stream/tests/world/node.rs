//! One interface with its ranks: a driver in virtual time. For each byte its memories hold the
//! stream and the position of that byte.

use super::rng::Rng;
use isthmus_stream::{
    AppId, BufferId, ConnectionId, Direction, End, LinkId, Manager, OrderId, PacketId, Protocol,
    StreamId, Work,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Returns the identity of a byte: stream, ADU and position.
pub fn identity(key: u64, adu: u64, offset: u64) -> u64 {
    key << 40 | adu << 20 | offset
}

pub fn sum(data: &[u64]) -> u32 {
    let hash = data.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, word| {
        (hash ^ word).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ hash >> 32) as u32
}

/// The test's state of a stream.
pub struct Track {
    pub key: u64,
    pub direction: Direction,
    pub connection: ConnectionId,
    pub adus: u64,
    pub tu_bytes: u64,
    pub by_done: bool,
    pub after: Vec<StreamId>,
    pub step: Vec<StreamId>,
    pub links: Vec<LinkId>,
    pub offered: u64,
    /// If its number of ADUs is set late: bytes on each link.
    pub exact: Option<BTreeMap<LinkId, u64>>,
    pub started: u64,
    pub moved: u64,
    pub done: u64,
    pub good: u64,
    pub last: Option<(u64, u64, u32)>,
    pub end: Option<End>,
}

impl Track {
    pub fn finished(&self) -> u64 {
        if self.by_done { self.done } else { self.moved }
    }
}

/// One end of a connection.
pub struct Side {
    pub protocol: Protocol,
    pub peer: ConnectionId,
    pub wire_free: u64,
    /// Arrival time of the last sent packet, if order is kept.
    pub arrives: u64,
    pub backlog: VecDeque<(Vec<u8>, Vec<u64>)>,
    pub gone: bool,
    /// Packets are confirmed once they are in the peer's network memory.
    pub by_held: bool,
}

pub struct Node {
    pub manager: Manager,
    pub app: AppId,
    pub buffers: BTreeMap<BufferId, Vec<u64>>,
    pub places: BTreeMap<PacketId, Vec<u64>>,
    pub copying: BTreeMap<PacketId, (ConnectionId, u64)>,
    pub under_way: BTreeMap<OrderId, Work>,
    pub link_free: BTreeMap<LinkId, u64>,
    pub cut: BTreeSet<LinkId>,
    pub streams: BTreeMap<StreamId, Track>,
    pub sides: BTreeMap<ConnectionId, Side>,
    pub tick_at: Option<u64>,
}

impl Node {
    pub fn new(manager: Manager, app: AppId) -> Self {
        Self {
            manager,
            app,
            buffers: BTreeMap::new(),
            places: BTreeMap::new(),
            copying: BTreeMap::new(),
            under_way: BTreeMap::new(),
            link_free: BTreeMap::new(),
            cut: BTreeSet::new(),
            streams: BTreeMap::new(),
            sides: BTreeMap::new(),
            tick_at: None,
        }
    }

    /// Carries an order out, at the time of its completion. Returns the checksum of a `Store`.
    pub fn carry_out(&mut self, work: &Work) -> u32 {
        match work {
            Work::Fetch {
                stream,
                tu,
                su,
                buffer,
            } => {
                let key = self.streams[stream].key;
                let room = self.room(*buffer, tu.bytes);
                for at in su.offset..su.offset + su.bytes {
                    room[at as usize] = identity(key, tu.adu, tu.offset + at);
                }
            }
            Work::Store {
                packet,
                buffer,
                offset,
                bytes,
                ..
            } => {
                let from = &self.buffers[buffer][*offset as usize..][..*bytes as usize];
                let data = from.to_vec();
                let sum = sum(&data);
                let before = self.places.insert(*packet, data);
                assert!(
                    before.is_none(),
                    "packet {packet} is stored where another is"
                );
                return sum;
            }
            Work::Load {
                packet,
                from,
                buffer,
                to,
                bytes,
                ..
            } => {
                let data = self.places[packet][*from as usize..][..*bytes as usize].to_vec();
                let end = to + bytes;
                let room = self.room(*buffer, end);
                room[*to as usize..end as usize].copy_from_slice(&data);
            }
            Work::Deliver {
                stream,
                tu,
                su,
                buffer,
                good: true,
            } => {
                let track = &self.streams[stream];
                let data = &self.buffers[buffer];
                for at in su.offset..su.offset + su.bytes {
                    let right = identity(track.key, tu.adu, tu.offset + at);
                    let found = data[at as usize];
                    assert_eq!(found, right, "byte {at} of {tu:?} of stream {stream}");
                }
            }
            _ => (),
        }
        0
    }

    fn room(&mut self, buffer: BufferId, bytes: u64) -> &mut Vec<u64> {
        let room = self.buffers.entry(buffer).or_default();
        if room.len() < bytes as usize {
            room.resize(bytes as usize, 0);
        }
        room
    }

    /// Links of a node carry one SU at a time.
    pub fn link_time(&mut self, link: LinkId, now: u64, bytes: u64, rng: &mut Rng) -> u64 {
        let free = self.link_free.entry(link).or_insert(0);
        let stops = if rng.chance(5) { 50_000_000 } else { 0 };
        *free = now.max(*free) + 1 + bytes * rng.between(1, 30) + rng.below(500) + stops;
        *free
    }

    /// Returns the bytes in network memory, by the test's own count.
    pub fn stored_bytes(&self) -> u64 {
        self.places.values().map(|place| place.len() as u64).sum()
    }

    pub fn live(&self) -> Vec<StreamId> {
        let live = self.streams.iter().filter(|(_, track)| track.end.is_none());
        live.map(|(id, _)| *id).collect()
    }
}
