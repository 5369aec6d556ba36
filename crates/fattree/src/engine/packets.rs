//! Packets on their way.

use isthmus_kernel::Cycles;

/// One packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packet {
    /// When it started on the link of its source.
    pub injected: Cycles,
    pub message: u32,
    pub from: u32,
    pub to: u32,
    /// Ticks that it takes on a link.
    pub ticks: u32,
    /// Its bytes on a link.
    pub wire: u32,
    /// Its payload without padding.
    pub payload: u32,
    /// Its number among those of its source.
    pub number: u32,
    /// The lane that it got last.
    pub lane: u32,
    /// The level at which its way turns.
    pub top: u16,
    /// Links that it has got so far.
    pub links: u16,
    /// Whether it has asked for its next output, or would have, were it the first of its buffer.
    pub ready: bool,
}

/// All packets, in slots used again, and the lanes that each has got.
#[derive(Debug, Clone, Default)]
pub(super) struct Packets {
    slots: Vec<Packet>,
    free: Vec<u32>,
    paths: Vec<u32>,
    /// Lanes that the longest way has.
    stride: usize,
}

impl Packets {
    pub fn new(levels: u32) -> Self {
        Self {
            stride: 2 * levels as usize,
            ..Self::default()
        }
    }

    pub fn clear(&mut self) {
        self.slots.clear();
        self.free.clear();
        self.paths.clear();
    }

    #[inline]
    pub fn insert(&mut self, packet: Packet) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = packet;
            return slot;
        }
        self.slots.push(packet);
        self.paths.resize(self.slots.len() * self.stride, 0);
        self.slots.len() as u32 - 1
    }

    #[inline]
    pub fn remove(&mut self, packet: u32) {
        self.free.push(packet);
    }

    #[inline]
    pub fn get(&self, packet: u32) -> &Packet {
        &self.slots[packet as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, packet: u32) -> &mut Packet {
        &mut self.slots[packet as usize]
    }

    /// The packet goes on along this lane.
    #[inline]
    pub fn step(&mut self, packet: u32, lane: u32) {
        let state = &mut self.slots[packet as usize];
        self.paths[packet as usize * self.stride + usize::from(state.links)] = lane;
        state.links += 1;
        state.lane = lane;
    }

    /// The lanes that it has got.
    #[inline]
    pub fn path(&self, packet: u32) -> &[u32] {
        let begin = packet as usize * self.stride;
        &self.paths[begin..begin + usize::from(self.slots[packet as usize].links)]
    }

    /// The lane that it got last.
    #[inline]
    pub fn lane(&self, packet: u32) -> u32 {
        self.slots[packet as usize].lane
    }

    /// Packets on their way.
    pub fn count(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
