//! Network memory: slots for packets that wait for an acknowledgement or for a receiving stream.
//!
//! The manager keeps only descriptors; the driver has the data. Each direction has its own limit.
//! The lowest free slot is reused first, so that a driver can keep a table by number.

use crate::ids::{AppId, ConnectionId, Direction, Instant, PacketId, StreamId};
use crate::wire::Header;
use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};

/// The descriptor of a packet in network memory: its state without its data.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub direction: Direction,
    pub app: AppId,
    pub connection: ConnectionId,
    pub stream: Option<StreamId>,
    pub header: Header,
    /// Whether all data of the packet is in network memory.
    pub whole: bool,
    /// Number of orders in progress, to send or to load the packet, that use its memory.
    pub users: u32,
    /// Whether the packet is to be freed as soon as no order uses its memory (`users` is 0).
    pub leaving: bool,
    /// For a sent packet: number of its transmissions so far; `sent_at` is the time of the latest
    /// one.
    pub tries: u32,
    pub sent_at: Instant,
    /// For a sent packet: number of its latest transmission, counted over all transmissions of the
    /// connection.
    pub number: u64,
    /// For a sent packet: number of the earliest of its transmissions that an acknowledgement can
    /// refer to. An acknowledgement of the packet proves that this transmission or a later one
    /// arrived.
    pub proves: u64,
}

/// The packets in network memory, and the bytes in use, in both directions.
#[derive(Debug, Default)]
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
    /// Creates empty network memory with `total` bytes in each direction.
    pub fn new(total: u64) -> Self {
        Self {
            total,
            ..Self::default()
        }
    }

    /// Returns the size in bytes of network memory in each direction.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the bytes of network memory in use in one direction.
    pub fn used(&self, direction: Direction) -> u64 {
        self.used[direction.index()]
    }

    /// Returns the free bytes of network memory in one direction.
    pub fn room(&self, direction: Direction) -> u64 {
        self.total.saturating_sub(self.used(direction))
    }

    /// Returns the bytes of network memory that one connection uses in this direction.
    pub fn used_by_connection(&self, direction: Direction, connection: ConnectionId) -> u64 {
        let held = self.by_connection[direction.index()].get(&connection);
        held.copied().unwrap_or(0)
    }

    /// Returns the bytes of network memory that all connections of an application use in this
    /// direction.
    pub fn of_app(&self, direction: Direction, app: AppId) -> u64 {
        let held = self.by_app[direction.index()].get(&app);
        held.copied().unwrap_or(0)
    }

    /// Returns all connections with data in network memory in this direction, and the number of
    /// bytes of each.
    pub fn holders(&self, direction: Direction) -> Vec<(ConnectionId, u64)> {
        let all = self.by_connection[direction.index()].iter();
        all.map(|(connection, bytes)| (*connection, *bytes))
            .collect()
    }

    /// Allocates a slot of network memory for a packet. The caller must have checked that there is
    /// room.
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

    /// Frees the memory of a packet and returns the packet; None if it was freed before. Its number
    /// is reused only after `vacate`.
    pub fn free_bytes(&mut self, id: PacketId) -> Option<Packet> {
        let packet = self.places.get_mut(id.0 as usize)?.take()?;
        let (direction, bytes) = (packet.direction.index(), u64::from(packet.header.bytes));
        self.used[direction] -= bytes;
        subtract_freed(&mut self.by_connection[direction], packet.connection, bytes);
        subtract_freed(&mut self.by_app[direction], packet.app, bytes);
        Some(packet)
    }

    /// Makes slot number `id` of network memory available for reuse. The driver must no longer use
    /// it, because the next packet may occupy it at once.
    pub fn vacate(&mut self, id: PacketId) {
        self.free.insert(id.0);
    }

    /// Returns the descriptor of a packet; None if its slot is free.
    pub fn get(&self, id: PacketId) -> Option<&Packet> {
        self.places.get(id.0 as usize)?.as_ref()
    }

    /// Returns the descriptor of a packet, which the caller may change; None if its slot is free.
    pub fn get_mut(&mut self, id: PacketId) -> Option<&mut Packet> {
        self.places.get_mut(id.0 as usize)?.as_mut()
    }

    /// Returns the descriptors of all packets in network memory, in ascending order of their slots.
    pub fn packets(&self) -> impl Iterator<Item = (PacketId, &Packet)> {
        let places = self.places.iter().enumerate();
        places.filter_map(|(id, packet)| Some((PacketId(id as u32), packet.as_ref()?)))
    }
}

/// Subtracts the freed bytes from the total of `who` (a connection or an application). Removes the
/// entry if the total becomes 0.
fn subtract_freed<K: Ord>(held: &mut BTreeMap<K, u64>, who: K, bytes: u64) {
    if let Entry::Occupied(mut held) = held.entry(who) {
        *held.get_mut() -= bytes;
        if *held.get() == 0 {
            held.remove();
        }
    }
}
