//! Packets on their way.

use super::lanes::LaneId;
use super::messages::MessageId;
use crate::rules::tie;
use crate::routes::{Header, Run};
use isthmus_kernel::{Cycles, Id, Paths, Slab, id};

id! {
    /// The place of a packet.
    pub(super) struct PacketId;
}

/// One packet: one line of the processor's caches.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Packet {
    /// When it started on the link of its source.
    pub injected: Cycles,
    pub message: MessageId,
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
    pub lane: LaneId,
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
    pub lane: LaneId,
    /// The group of its link.
    pub group: u32,
}

/// All packets, and the lanes that each has got.
#[derive(Debug, Clone)]
pub(super) struct Packets {
    slots: Slab<PacketId, Packet>,
    paths: Paths<PacketId, Step>,
    /// Lanes that the longest way has.
    longest: usize,
}

impl Packets {
    /// None yet; their ways have so many links at most.
    pub fn new(longest: u32) -> Self {
        Self {
            slots: Slab::new(),
            paths: Paths::new(longest as usize),
            longest: longest as usize,
        }
    }

    #[inline]
    pub fn insert(&mut self, packet: Packet) -> PacketId {
        let slot = self.slots.insert(packet);
        self.paths.make_room(slot, self.longest);
        slot
    }

    #[inline]
    pub fn remove(&mut self, packet: PacketId) {
        self.slots.remove(packet);
    }

    #[inline]
    pub fn get(&self, packet: PacketId) -> &Packet {
        &self.slots[packet]
    }

    #[inline]
    pub fn get_mut(&mut self, packet: PacketId) -> &mut Packet {
        &mut self.slots[packet]
    }

    /// The packet goes on along this lane.
    #[inline]
    pub fn step(&mut self, packet: PacketId, step: Step) -> &mut Packet {
        let state = &mut self.slots[packet];
        let links = usize::from(state.header.links);
        assert!(links < self.longest, "a way of more links than the longest");
        *self.paths.step_mut(packet, links) = step;
        state.header.links += 1;
        state.lane = step.lane;
        state
    }

    /// Calls for the end of a packet's path, unless that is in the processor's caches.
    #[inline]
    pub fn call_path(&self, packet: PacketId, links: u16) -> u64 {
        if usize::from(links) == self.longest {
            return 0;
        }
        self.paths.step(packet, links.into()).lane.number().into()
    }

    /// The lanes that it has got.
    #[inline]
    pub fn path(&self, packet: PacketId) -> &[Step] {
        let links = self.slots[packet].header.links;
        self.paths.of(packet, links.into())
    }

    /// Packets on their way.
    pub fn count(&self) -> usize {
        self.slots.len()
    }
}
