//! Packets on their way.

use crate::rules::tie;
use crate::ways::{Header, Run};
use isthmus_kernel::Cycles;

/// One packet: one line of the processor's caches.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Packet {
    /// When it started on the link of its source.
    pub injected: Cycles,
    pub message: u32,
    /// What the switches read of it.
    pub header: Header,
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
    /// The links that it is to ask for at the switch to which that leads.
    pub run: Run,
    /// The input of that switch: port times channels plus channel.
    pub input: u32,
    /// Whether it has asked for its next output, or would have, were it the first of its buffer.
    pub ready: bool,
}

const _: () = assert!(size_of::<Packet>() == 64);

impl Packet {
    /// What decides, where chance does, about the next link of its way.
    #[inline]
    pub fn lot(&self, seed: u64) -> u64 {
        tie(
            seed,
            self.header.from,
            self.number,
            self.header.links.into(),
        )
    }
}

/// A lane that a packet has got.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Step {
    pub lane: u32,
    /// The group of its link.
    pub group: u32,
}

/// All packets, in slots used again, and the lanes that each has got.
#[derive(Debug, Clone, Default)]
pub(super) struct Packets {
    slots: Vec<Packet>,
    free: Vec<u32>,
    paths: Vec<Step>,
    /// Lanes that the longest way has.
    stride: usize,
}

impl Packets {
    /// None yet; their ways have so many links at most.
    pub fn new(longest: u32) -> Self {
        Self {
            stride: longest as usize,
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
        self.paths
            .resize(self.slots.len() * self.stride, Step::default());
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
    pub fn step(&mut self, packet: u32, step: Step) -> &mut Packet {
        let state = &mut self.slots[packet as usize];
        self.paths[packet as usize * self.stride + usize::from(state.header.links)] = step;
        state.header.links += 1;
        state.lane = step.lane;
        state
    }

    /// Calls for the end of a packet's path, unless that is in the processor's caches.
    #[inline]
    pub fn call_path(&self, packet: u32, links: u16) -> u64 {
        let end = packet as usize * self.stride + usize::from(links);
        self.paths.get(end).map_or(0, |step| u64::from(step.lane))
    }

    /// The lanes that it has got.
    #[inline]
    pub fn path(&self, packet: u32) -> &[Step] {
        let begin = packet as usize * self.stride;
        &self.paths[begin..begin + usize::from(self.slots[packet as usize].header.links)]
    }

    /// Packets on their way.
    pub fn count(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
