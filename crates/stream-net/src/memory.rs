//! Staging and network memory: blocks by the manager's numbers.
//!
//! The two memories are one here. A TU that is one packet changes its number and not its place, so
//! that its bytes are copied from the link once and then to the socket (paper, 4.2).

use crate::sum::Pieces;
use isthmus_stream::{BufferId, PacketId};
use std::collections::BTreeMap;

/// Bytes that are copied before they are looked at, while they are in the first cache.
const CHUNK: usize = 16 << 10;

/// Bytes, as many as it was made for, of which the first `len` count.
#[derive(Debug, Default)]
pub(crate) struct Block {
    pub bytes: Vec<u8>,
    pub len: usize,
}

impl Block {
    pub fn data(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// A buffer of staging memory.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    pub block: Block,
    /// The sums of what was fetched into it.
    pub pieces: Pieces,
    /// Bytes of the TU that is fetched into it.
    pub tu_bytes: usize,
}

/// All blocks. What the manager has given out is bounded by its configuration; blocks that are free
/// are kept up to as many bytes again.
#[derive(Debug)]
pub(crate) struct Memory {
    buffers: BTreeMap<BufferId, Buffer>,
    places: BTreeMap<PacketId, Block>,
    free: Vec<Block>,
    free_bytes: usize,
    free_most: usize,
    /// Blocks ever made.
    pub made: u64,
}

impl Memory {
    pub fn new(most: u64) -> Self {
        Self {
            buffers: BTreeMap::new(),
            places: BTreeMap::new(),
            free: Vec::new(),
            free_bytes: 0,
            free_most: usize::try_from(most).unwrap_or(usize::MAX),
            made: 0,
        }
    }

    /// A block of at least `bytes`, one that was used last if there is one.
    fn take(&mut self, bytes: usize) -> Block {
        let fits = |block: &Block| {
            let has = block.bytes.len();
            // A small packet does not hold the memory of a large one.
            has >= bytes && has / 4 <= bytes.max(4096)
        };
        let block = match self.free.iter().rposition(fits) {
            Some(place) => {
                let block = self.free.remove(place);
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

    fn give_back(&mut self, block: Block) {
        let bytes = block.bytes.len();
        if bytes > 0 && self.free_bytes + bytes <= self.free_most {
            self.free_bytes += bytes;
            self.free.push(block);
        }
    }

    /// A buffer, with room for `bytes`.
    pub fn buffer(&mut self, id: BufferId, bytes: usize) -> &mut Buffer {
        let has = self.buffers.get(&id).map_or(0, |it| it.block.bytes.len());
        if has < bytes {
            let mut block = self.take(bytes);
            let it = self.buffers.entry(id).or_default();
            let (old, kept) = (&it.block, it.block.len);
            block.bytes[..kept].copy_from_slice(&old.bytes[..kept]);
            block.len = kept;
            let old = std::mem::replace(&mut it.block, block);
            self.give_back(old);
        }
        self.buffers.entry(id).or_default()
    }

    pub fn filled(&self, id: BufferId) -> &[u8] {
        self.buffers.get(&id).map_or(&[], |it| &it.block.bytes)
    }

    /// A place for a packet of `bytes`, whatever was in it.
    pub fn place(&mut self, id: PacketId, bytes: usize) -> &mut Block {
        if let Some(old) = self.places.remove(&id) {
            self.give_back(old);
        }
        let block = self.take(bytes);
        self.places.entry(id).or_insert(block)
    }

    pub fn packet(&self, id: PacketId) -> &[u8] {
        self.places.get(&id).map_or(&[], Block::data)
    }

    pub fn packet_mut(&mut self, id: PacketId) -> Option<&mut Block> {
        self.places.get_mut(&id)
    }

    /// The whole buffer becomes the packet; the buffer has no memory then.
    pub fn hand_over(&mut self, buffer: BufferId, packet: PacketId, bytes: usize) {
        let Some(it) = self.buffers.get_mut(&buffer) else {
            return;
        };
        it.pieces.clear();
        let mut block = std::mem::take(&mut it.block);
        block.len = bytes.min(block.bytes.len());
        if let Some(old) = self.places.insert(packet, block) {
            self.give_back(old);
        }
    }

    /// Copies bytes of a buffer to a packet, and shows them to `seen`, piece by piece, just copied.
    pub fn copy_out(
        &mut self,
        buffer: BufferId,
        at: usize,
        packet: PacketId,
        bytes: usize,
        seen: &mut dyn FnMut(&[u8]),
    ) {
        self.place(packet, bytes);
        let from = self
            .buffers
            .get(&buffer)
            .and_then(|it| it.block.bytes.get(at..at + bytes));
        let (Some(from), Some(to)) = (from, self.places.get_mut(&packet)) else {
            return;
        };
        for (piece, room) in from.chunks(CHUNK).zip(to.bytes[..bytes].chunks_mut(CHUNK)) {
            room.copy_from_slice(piece);
            seen(room);
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
        let (Some(of), Some(into)) = (self.places.get(&packet), self.buffers.get_mut(&buffer))
        else {
            return;
        };
        into.block.bytes[to..to + bytes].copy_from_slice(&of.bytes[from..from + bytes]);
        into.block.len = into.block.len.max(to + bytes);
    }

    /// The whole packet becomes what the buffer holds; the place is empty then.
    pub fn hand_back(&mut self, packet: PacketId, buffer: BufferId) {
        let Some(block) = self.places.remove(&packet) else {
            return;
        };
        let it = self.buffers.entry(buffer).or_default();
        let old = std::mem::replace(&mut it.block, block);
        self.give_back(old);
    }

    pub fn free(&mut self, packet: PacketId) {
        if let Some(block) = self.places.remove(&packet) {
            self.give_back(block);
        }
    }

    /// Takes the packet's memory away, for who writes it elsewhere.
    pub fn lend(&mut self, packet: PacketId) -> Block {
        self.places.remove(&packet).unwrap_or_default()
    }

    pub fn lent_back(&mut self, packet: PacketId, block: Block) {
        self.places.insert(packet, block);
    }

    /// Bytes of all blocks.
    pub fn bytes(&self) -> u64 {
        let buffers = self.buffers.values().map(|it| it.block.bytes.len());
        let places = self.places.values().map(|it| it.bytes.len());
        (buffers.chain(places).sum::<usize>() + self.free_bytes) as u64
    }
}
