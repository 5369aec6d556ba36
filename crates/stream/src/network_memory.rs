//! Network memory: packets that wait for their acknowledgement, or for a receive.
//!
//! It holds descriptors; the data is the driver's. Both directions are bounded by themselves, and
//! places are numbered anew from the lowest, so that a driver can keep a table by number.

use crate::ids::{AppId, ConnectionId, Direction, Instant, PacketId, StreamId};
use crate::wire::Header;
use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};

/// The descriptor of a packet.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub direction: Direction,
    pub app: AppId,
    pub connection: ConnectionId,
    pub stream: Option<StreamId>,
    pub header: Header,
    /// Its data is in network memory.
    pub whole: bool,
    /// Orders of the driver that use its memory: sends or loads.
    pub users: u32,
    /// It leaves as soon as nobody uses it.
    pub leaving: bool,
    /// Transmit: times it was sent, and when last.
    pub tries: u32,
    pub sent_at: Instant,
    /// Transmit: the number of its last transmission.
    pub number: u64,
    /// Transmit: its acknowledgement proves that this transmission arrived, or a later one.
    pub proves: u64,
}

/// Both directions of network memory.
#[derive(Debug)]
pub(crate) struct NetworkMemory {
    total: u64,
    used: [u64; 2],
    pub most: [u64; 2],
    places: Vec<Option<Packet>>,
    free: BTreeSet<u32>,
    by_connection: [BTreeMap<ConnectionId, u64>; 2],
    by_app: [BTreeMap<AppId, u64>; 2],
}

impl NetworkMemory {
    pub fn new(total: u64) -> Self {
        Self {
            total,
            used: [0; 2],
            most: [0; 2],
            places: Vec::new(),
            free: BTreeSet::new(),
            by_connection: [BTreeMap::new(), BTreeMap::new()],
            by_app: [BTreeMap::new(), BTreeMap::new()],
        }
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn used(&self, direction: Direction) -> u64 {
        self.used[direction.index()]
    }

    pub fn room(&self, direction: Direction) -> u64 {
        self.total.saturating_sub(self.used(direction))
    }

    /// Bytes of one connection.
    pub fn of(&self, direction: Direction, connection: ConnectionId) -> u64 {
        let held = self.by_connection[direction.index()].get(&connection);
        held.copied().unwrap_or(0)
    }

    /// Bytes of all connections of an application.
    pub fn of_app(&self, direction: Direction, app: AppId) -> u64 {
        let held = self.by_app[direction.index()].get(&app);
        held.copied().unwrap_or(0)
    }

    /// All connections that hold something.
    pub fn holders(&self, direction: Direction) -> Vec<(ConnectionId, u64)> {
        let all = self.by_connection[direction.index()].iter();
        all.map(|(connection, bytes)| (*connection, *bytes))
            .collect()
    }

    /// Takes a place. Who calls has looked for room.
    pub fn take(&mut self, packet: Packet) -> PacketId {
        let (direction, bytes) = (packet.direction.index(), u64::from(packet.header.bytes));
        self.used[direction] += bytes;
        self.most[direction] = self.most[direction].max(self.used[direction]);
        if bytes > 0 {
            let connection = self.by_connection[direction].entry(packet.connection);
            *connection.or_insert(0) += bytes;
            *self.by_app[direction].entry(packet.app).or_insert(0) += bytes;
        }
        if let Some(place) = self.free.pop_first() {
            self.places[place as usize] = Some(packet);
            return PacketId(place);
        }
        self.places.push(Some(packet));
        PacketId((self.places.len() - 1) as u32)
    }

    /// Gives the bytes back, and the place as soon as it is vacated; none if it is free already.
    pub fn give_back(&mut self, id: PacketId) -> Option<Packet> {
        let packet = self.places.get_mut(id.0 as usize)?.take()?;
        let (direction, bytes) = (packet.direction.index(), u64::from(packet.header.bytes));
        self.used[direction] -= bytes;
        less(&mut self.by_connection[direction], packet.connection, bytes);
        less(&mut self.by_app[direction], packet.app, bytes);
        Some(packet)
    }

    /// The driver knows that the place is free, so that it may be used again: not before, as a
    /// packet that is offered takes its place at once.
    pub fn vacate(&mut self, id: PacketId) {
        self.free.insert(id.0);
    }

    pub fn get(&self, id: PacketId) -> Option<&Packet> {
        self.places.get(id.0 as usize)?.as_ref()
    }

    pub fn get_mut(&mut self, id: PacketId) -> Option<&mut Packet> {
        self.places.get_mut(id.0 as usize)?.as_mut()
    }

    /// All packets, ascending.
    pub fn packets(&self) -> impl Iterator<Item = (PacketId, &Packet)> {
        let places = self.places.iter().enumerate();
        places.filter_map(|(id, packet)| Some((PacketId(id as u32), packet.as_ref()?)))
    }
}

/// Counts bytes that are given back; who holds none is not listed.
fn less<K: Ord>(held: &mut BTreeMap<K, u64>, who: K, bytes: u64) {
    if let Entry::Occupied(mut held) = held.entry(who) {
        *held.get_mut() -= bytes;
        if *held.get() == 0 {
            held.remove();
        }
    }
}
