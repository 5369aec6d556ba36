//! Staging and network memory, in blocks that the manager identifies by buffer and packet numbers.
//!
//! One pool serves both memories. A TU that is sent as one packet keeps its block, which only gets
//! a packet number in place of its buffer number. So bytes are copied only once, from the link
//! (paper, 4.2).

use crate::claims::{Claimed, Claims};
use crate::sum::Pieces;
use isthmus_stream::{BufferId, LinkId, PacketId, StreamId};
use std::collections::BTreeMap;

/// Number of bytes that are copied before their checksum is computed, while they are in the L1
/// cache.
const CHUNK: usize = 16 << 10;

/// A block of memory, of which the first `len` bytes are in use.
#[derive(Debug, Default)]
pub(crate) struct Block {
    pub bytes: Vec<u8>,
    pub len: usize,
}

impl Block {
    /// Returns the used bytes of this memory block; the rest of the block has no data.
    pub fn data(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// A buffer of staging memory, into which a transfer unit is fetched or loaded.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    pub block: Block,
    /// The pieces of data that were fetched into the buffer, with their checksums.
    pub pieces: Pieces,
    /// Size in bytes of the transfer unit that is fetched into the buffer.
    pub tu_bytes: usize,
    /// Claims on data of the transfer unit that is still in the rings of links.
    pub claimed: Claimed,
}

/// The location of a packet's data: the manager's memory, or rings of links.
#[derive(Debug)]
enum Location {
    Here(Block),
    InRings(Claims),
}

/// The data of a packet that is to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Data<'m> {
    /// The data of the packet is in the manager's memory.
    Here(&'m [u8]),
    /// The data of the packet is in rings of links.
    InRings(&'m Claims),
}

/// All memory blocks of a driver. The manager's configuration limits the blocks in use. Free blocks
/// are retained for reuse up to `free_max` bytes.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    buffers: BTreeMap<BufferId, Buffer>,
    locations: BTreeMap<PacketId, Location>,
    free: Vec<Block>,
    free_bytes: usize,
    free_max: usize,
    /// Number of blocks that were allocated since the start.
    pub made: u64,
    /// Number of bytes that were copied out of rings because ranks needed the room in the rings.
    pub spilled: u64,
}

impl Memory {
    /// Creates an empty pool that retains at most `most` bytes of free blocks.
    pub fn new(most: u64) -> Self {
        Self {
            free_max: usize::try_from(most).unwrap_or(usize::MAX),
            ..Self::default()
        }
    }

    /// Returns a memory block of at least `bytes`: a free one if one fits, otherwise a new one.
    fn take(&mut self, bytes: usize) -> Block {
        let fits = |block: &Block| {
            let has = block.bytes.len();
            // A small packet must not occupy the block of a large one.
            has >= bytes && has / 4 <= bytes.max(4096)
        };
        let block = match self.free.iter().rposition(fits) {
            Some(index) => {
                let block = self.free.remove(index);
                self.free_bytes -= block.bytes.len();
                block
            }
            None => {
                self.made += 1;
                Block {
                    bytes: vec![0; bytes],
                    len: 0,
                }
            }
        };
        Block {
            len: bytes,
            ..block
        }
    }

    /// Retains a memory block for reuse, or frees it if enough blocks are free.
    fn recycle(&mut self, block: Block) {
        let bytes = block.bytes.len();
        if bytes > 0 && self.free_bytes + bytes <= self.free_max {
            self.free_bytes += bytes;
            self.free.push(block);
        }
    }

    /// Returns the buffer `id` after making room for `bytes` bytes in its block. Creates the buffer
    /// if it does not exist.
    pub fn buffer(&mut self, id: BufferId, bytes: usize) -> &mut Buffer {
        let has = self.buffers.get(&id).map_or(0, |it| it.block.bytes.len());
        if has < bytes {
            let mut block = self.take(bytes);
            let it = self.buffers.entry(id).or_default();
            let (old, kept) = (&it.block, it.block.len);
            block.bytes[..kept].copy_from_slice(&old.bytes[..kept]);
            block.len = kept;
            let old = std::mem::replace(&mut it.block, block);
            self.recycle(old);
        }
        self.buffers.entry(id).or_default()
    }

    /// Returns the whole memory block of a buffer, of which only the first bytes may be data.
    /// Returns no bytes if the buffer does not exist.
    pub fn block_bytes(&self, id: BufferId) -> &[u8] {
        self.buffers.get(&id).map_or(&[], |it| &it.block.bytes)
    }

    /// Sets the location of a packet's data, and frees the previous block of the packet.
    fn settle(&mut self, id: PacketId, location: Location) {
        if let Some(Location::Here(old)) = self.locations.insert(id, location) {
            self.recycle(old);
        }
    }

    /// Allocates a memory block for a packet of `bytes` bytes.
    pub fn allocate(&mut self, id: PacketId, bytes: usize) {
        let block = self.take(bytes);
        self.settle(id, Location::Here(block));
    }

    /// Returns the data of a packet, if it is in the manager's memory; otherwise no bytes.
    pub fn packet(&self, id: PacketId) -> &[u8] {
        match self.locations.get(&id) {
            Some(Location::Here(block)) => block.data(),
            _ => &[],
        }
    }

    /// Returns the data of a packet, from the manager's memory or from rings.
    pub fn data(&self, id: PacketId) -> Data<'_> {
        match self.locations.get(&id) {
            Some(Location::Here(block)) => Data::Here(block.data()),
            Some(Location::InRings(claims)) => Data::InRings(claims),
            None => Data::Here(&[]),
        }
    }

    /// Returns mutable access to the memory block of a packet; None if the data is not in the
    /// manager's memory.
    pub fn packet_mut(&mut self, id: PacketId) -> Option<&mut Block> {
        match self.locations.get_mut(&id) {
            Some(Location::Here(block)) => Some(block),
            _ => None,
        }
    }

    /// Makes `bytes` bytes at position `at` of a buffer the data of a packet, without a copy: they
    /// stay in the rings. Returns the claims on that memory, or None if the rings do not hold all
    /// of it.
    pub fn keep_in_rings(
        &mut self,
        buffer: BufferId,
        at: usize,
        packet: PacketId,
        bytes: usize,
    ) -> Option<&Claims> {
        let claims = self.buffers.get_mut(&buffer)?.claimed.take(at, bytes)?;
        self.settle(packet, Location::InRings(claims));
        match self.locations.get(&packet) {
            Some(Location::InRings(claims)) => Some(claims),
            _ => None,
        }
    }

    /// Copies data of a transfer unit from the ring of this link to the buffer; without a link,
    /// from all rings.
    pub fn gather(&mut self, buffer: BufferId, link: Option<LinkId>) {
        let there = |it: &Buffer| match link {
            Some(link) => it.claimed.lies_on(link),
            None => !it.claimed.is_empty(),
        };
        let Some(room) = self.buffers.get(&buffer).filter(|it| there(it)) else {
            return;
        };
        let room = room.tu_bytes;
        let it = self.buffer(buffer, room);
        let copied = it.claimed.spill(link, &mut it.block.bytes);
        self.spilled += copied;
    }

    /// Copies all claimed data out of the ring of a link, so that its rank can continue to write.
    pub fn spill(&mut self, link: LinkId) {
        let buffers: Vec<_> = self.buffers.keys().copied().collect();
        for buffer in buffers {
            self.gather(buffer, Some(link));
        }
        let lies =
            |location: &Location| matches!(location, Location::InRings(it) if it.lies_on(link));
        let locations = self.locations.iter().filter(|(_, location)| lies(location));
        let locations: Vec<_> = locations.map(|(id, _)| *id).collect();
        for id in locations {
            self.spill_packet(id);
        }
    }

    /// Copies the data of a packet from the rings of links to a memory block of the manager.
    fn spill_packet(&mut self, id: PacketId) {
        let Some(Location::InRings(claims)) = self.locations.get(&id) else {
            return;
        };
        let bytes = claims.len();
        let mut block = self.take(bytes);
        if let Some(Location::InRings(claims)) = self.locations.get(&id) {
            claims.copy_to(&mut block.bytes[..bytes]);
        }
        self.spilled += bytes as u64;
        self.settle(id, Location::Here(block));
    }

    /// Releases the memory of rings that a stream still holds after its end.
    pub fn forget(&mut self, stream: StreamId) {
        for buffer in self.buffers.values_mut() {
            if buffer.pieces.are_of(stream) {
                buffer.claimed.clear();
            }
        }
    }

    /// Makes the memory block of a buffer the block of a packet of `bytes` bytes, without a copy.
    /// The buffer has no memory block afterwards.
    pub fn hand_over(&mut self, buffer: BufferId, packet: PacketId, bytes: usize) {
        let Some(it) = self.buffers.get_mut(&buffer) else {
            return;
        };
        it.pieces.clear();
        let mut block = std::mem::take(&mut it.block);
        block.len = bytes.min(block.bytes.len());
        self.settle(packet, Location::Here(block));
    }

    /// Copies `bytes` bytes of a buffer, from byte `at` on, to a new memory block for a packet.
    /// Passes each piece to `visit` while it is in the cache.
    pub fn copy_out(
        &mut self,
        buffer: BufferId,
        at: usize,
        packet: PacketId,
        bytes: usize,
        visit: &mut dyn FnMut(&[u8]),
    ) {
        self.allocate(packet, bytes);
        let from = self
            .buffers
            .get(&buffer)
            .and_then(|it| it.block.bytes.get(at..at + bytes));
        let (Some(from), Some(Location::Here(to))) = (from, self.locations.get_mut(&packet)) else {
            return;
        };
        for (piece, room) in from.chunks(CHUNK).zip(to.bytes[..bytes].chunks_mut(CHUNK)) {
            room.copy_from_slice(piece);
            visit(room);
        }
    }

    /// Copies bytes of a packet to a buffer.
    pub fn copy_in(
        &mut self,
        packet: PacketId,
        from: usize,
        buffer: BufferId,
        to: usize,
        bytes: usize,
    ) {
        if self.packet(packet).len() < from.saturating_add(bytes) {
            return;
        }
        if to == 0 {
            self.buffer(buffer, bytes).block.len = 0;
        }
        self.buffer(buffer, to + bytes);
        let (of, into) = (self.locations.get(&packet), self.buffers.get_mut(&buffer));
        let (Some(Location::Here(of)), Some(into)) = (of, into) else {
            return;
        };
        into.block.bytes[to..to + bytes].copy_from_slice(&of.bytes[from..from + bytes]);
        into.block.len = into.block.len.max(to + bytes);
    }

    /// Makes the memory block of a packet the block of a buffer, without a copy. The packet has no
    /// memory block afterwards.
    pub fn hand_back(&mut self, packet: PacketId, buffer: BufferId) {
        let Some(Location::Here(block)) = self.locations.remove(&packet) else {
            return;
        };
        let it = self.buffers.entry(buffer).or_default();
        let old = std::mem::replace(&mut it.block, block);
        self.recycle(old);
    }

    /// Frees the data of a packet.
    pub fn free(&mut self, packet: PacketId) {
        if let Some(Location::Here(block)) = self.locations.remove(&packet) {
            self.recycle(block);
        }
    }

    /// Removes and returns the block of a packet, for a writer on another thread.
    pub fn take_block(&mut self, packet: PacketId) -> Block {
        self.spill_packet(packet);
        match self.locations.remove(&packet) {
            Some(Location::Here(block)) => block,
            _ => Block::default(),
        }
    }

    /// Makes a block, which `take_block` removed before, the memory of the packet again.
    pub fn return_block(&mut self, packet: PacketId, block: Block) {
        self.locations.insert(packet, Location::Here(block));
    }

    /// Returns the size in bytes of the manager's own memory blocks, without data that is still in
    /// the rings of links.
    pub fn bytes(&self) -> u64 {
        let buffers = self.buffers.values().map(|it| it.block.bytes.len());
        let locations = self.locations.values().map(|location| match location {
            Location::Here(block) => block.bytes.len(),
            Location::InRings(_) => 0,
        });
        (buffers.chain(locations).sum::<usize>() + self.free_bytes) as u64
    }
}
