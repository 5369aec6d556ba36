//! State of all packets that are in the network.

use super::lanes::LaneId;
use crate::routes::{Header, Run};
use crate::rules::tie;
use isthmus_kernel::{Cycles, Id, Paths, Slab, id};

id! {
    /// Number of the slot of a message in the store of all messages.
    pub(super) struct MessageId;
}

id! {
    /// Number of the slot of a packet in [`Packets`].
    pub(super) struct PacketId;
}

/// State of a packet. It occupies one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Packet {
    /// Time at which the packet started on the link of its source.
    pub injected: Cycles,
    pub message: MessageId,
    /// The fields of the packet that switches read.
    pub header: Header,
    /// Number of ticks for which the packet occupies a link.
    pub ticks: u32,
    /// Number of bytes of the packet on a link.
    pub wire: u32,
    /// Bytes of payload of the packet, without padding.
    pub payload: u32,
    /// Number of the packet among all packets of its source.
    pub number: u32,
    /// The lane (virtual channel) that was granted to the packet last.
    pub lane: LaneId,
    /// Links that the packet requests at the switch to which its `lane` leads.
    pub run: Run,
    /// Number of the input by which the packet comes into the switch to which `lane` leads: the
    /// number of the port times the number of channels per link, plus the number of the channel.
    pub input: u32,
    /// Whether the header has arrived at the switch and may request an output once the packet is
    /// the first of its buffer.
    pub ready: bool,
}

const _: () = assert!(size_of::<Packet>() == 64);

impl Packet {
    /// Return the packet's random number for the choice of the next link of its route.
    #[inline]
    pub fn random(&self, seed: u64) -> u64 {
        tie(
            seed,
            self.header.from,
            self.number,
            self.header.links.into(),
        )
    }
}

/// A step of the path of a packet: the lane (virtual channel) that the packet got.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Step {
    pub lane: LaneId,
    /// The group of links to which the link of the packet's `lane` belongs.
    pub group: u32,
}

/// All packets in the network and the paths of their lanes (virtual channels).
#[derive(Debug, Clone)]
pub(super) struct Packets {
    slots: Slab<PacketId, Packet>,
    paths: Paths<PacketId, Step>,
    /// Number of links of the longest route, for which each slot has room.
    longest: usize,
}

impl Packets {
    /// Return an empty store for routes of up to `longest` links.
    pub fn new(longest: u32) -> Self {
        Self {
            slots: Slab::new(),
            paths: Paths::new(longest as usize),
            longest: longest as usize,
        }
    }

    /// Add a packet with an empty path. Return its slot.
    #[inline]
    pub fn insert(&mut self, packet: Packet) -> PacketId {
        let slot = self.slots.insert(packet);
        self.paths.make_room(slot, self.longest);
        slot
    }

    /// Free the slot of a packet.
    #[inline]
    pub fn remove(&mut self, packet: PacketId) {
        self.slots.remove(packet);
    }

    /// Return the state of a packet.
    #[inline]
    pub fn get(&self, packet: PacketId) -> &Packet {
        &self.slots[packet]
    }

    /// Return a mutable reference to the state of a packet.
    #[inline]
    pub fn get_mut(&mut self, packet: PacketId) -> &mut Packet {
        &mut self.slots[packet]
    }

    /// Append a lane (virtual channel) to the path of a packet.
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

    /// Read the end of the path of a packet, so that the processor caches it. The result has no
    /// meaning.
    #[inline]
    pub fn prefetch_path(&self, packet: PacketId, links: u16) -> u64 {
        if usize::from(links) == self.longest {
            return 0;
        }
        self.paths.step(packet, links.into()).lane.number().into()
    }

    /// Return the lanes (virtual channels) that were granted to a packet so far, in order.
    #[inline]
    pub fn path(&self, packet: PacketId) -> &[Step] {
        let links = self.slots[packet].header.links;
        self.paths.of(packet, links.into())
    }

    /// Return the number of packets in the network.
    pub fn count(&self) -> usize {
        self.slots.len()
    }
}
