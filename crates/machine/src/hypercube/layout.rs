//! Numbering of the channels of a hypercube with I/O nodes (Fig. 2 of the hypercube paper).

use crate::hypercube::spec::Lanes;
use isthmus_topology::{Hypercube, IncompleteHypercube};
use isthmus_wormhole::ChannelId;

/// Kinds of channels of a hypercube. The letters below are the symbols for numbers of lanes in Fig. 2 of the hypercube
/// paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChannelKind {
    /// Channel from a PE to its router (k lanes).
    PeInject,
    /// Channel from a router to its PE (k lanes).
    PeEject,
    /// Channel from the router of a PE to the router of a neighbouring PE.
    Link,
    /// Channel from a PE router to its I/O node (m lanes).
    IoNodeIn,
    /// Channel from an I/O node to its PE router (m lanes).
    IoNodeOut,
    /// Channel from an I/O node to its I/O router (r lanes).
    IoInject,
    /// Channel from an I/O router to its I/O node (r lanes).
    IoEject,
    /// Channel from an I/O router to a neighbouring I/O router (b lanes).
    IoLink,
    /// Channel from an I/O router to its PE router (n lanes).
    IoToPe,
}

impl ChannelKind {
    /// All kinds of channels, in the order in which channels are numbered.
    pub const ALL: [Self; 9] = [
        Self::PeInject,
        Self::PeEject,
        Self::Link,
        Self::IoNodeIn,
        Self::IoNodeOut,
        Self::IoInject,
        Self::IoEject,
        Self::IoLink,
        Self::IoToPe,
    ];

    /// Return the name of this kind of channel, as results use it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PeInject => "pe_inject",
            Self::PeEject => "pe_eject",
            Self::Link => "link",
            Self::IoNodeIn => "io_node_in",
            Self::IoNodeOut => "io_node_out",
            Self::IoInject => "io_inject",
            Self::IoEject => "io_eject",
            Self::IoLink => "io_link",
            Self::IoToPe => "io_to_pe",
        }
    }
}

/// The name of a channel in results: its kind, and the PEs or I/O nodes at its two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelName {
    /// Kind of the channel.
    pub kind: ChannelKind,
    /// Number of the PE or I/O node at which the channel starts.
    pub from: u32,
    /// Number of the PE or I/O node at which the channel ends.
    pub to: u32,
}

/// Numbers all channels of a machine: each kind of channel has a block of numbers, in the order of
/// [`ChannelKind::ALL`].
#[derive(Debug, Clone)]
pub struct Layout {
    pub(crate) cube: Hypercube,
    pub(crate) io_cube: IncompleteHypercube,
    /// First channel number of each kind of channel, in the order of the kinds, and the number after the last channel.
    first: [ChannelId; 10],
    lanes: [u32; 9],
}

impl Layout {
    /// Return the numbers of the channels in a machine with these two networks and these numbers of lanes. If
    /// `lanes.io_link` is 0, the last four kinds have no channels.
    pub fn new(cube: Hypercube, io_cube: IncompleteHypercube, lanes: &Lanes) -> Self {
        let (pes, io_nodes) = (cube.node_count(), io_cube.node_count());
        let networked = u32::from(lanes.io_link > 0);
        let counts = [
            pes,
            pes,
            cube.link_count() as u32,
            io_nodes,
            io_nodes,
            io_nodes * networked,
            io_nodes * networked,
            io_cube.link_count() as u32 * networked,
            io_nodes * networked,
        ];
        let mut first = [0; 10];
        for (kind, count) in counts.into_iter().enumerate() {
            first[kind + 1] = first[kind] + count;
        }
        Self {
            cube,
            io_cube,
            first,
            lanes: [
                lanes.pe,
                lanes.pe,
                lanes.link,
                lanes.io_node,
                lanes.io_node,
                lanes.io_source,
                lanes.io_source,
                lanes.io_link,
                lanes.io_to_pe,
            ],
        }
    }

    /// Return the number of the channel of this kind at the PE, I/O node or link number `index`.
    #[inline]
    pub fn channel(&self, kind: ChannelKind, index: u32) -> ChannelId {
        self.first[kind as usize] + index
    }

    /// Return the range of the numbers of all channels of this kind.
    pub fn of_kind(&self, kind: ChannelKind) -> std::ops::Range<ChannelId> {
        self.first[kind as usize]..self.first[kind as usize + 1]
    }

    /// Return the number of lanes of a channel of this kind.
    pub fn lanes(&self, kind: ChannelKind) -> u32 {
        self.lanes[kind as usize]
    }

    /// Return the number of lanes of every channel, in the order of channel numbers.
    pub fn all_lanes(&self) -> impl Iterator<Item = u32> + '_ {
        ChannelKind::ALL
            .into_iter()
            .flat_map(|kind| std::iter::repeat_n(self.lanes(kind), self.of_kind(kind).len()))
    }

    /// Return the kind and the ends of a channel; `io_nodes` are the PEs with an I/O node. Return `None` for
    /// unused numbers (links of an incomplete I/O cube towards labels that do not exist).
    pub fn name(&self, channel: ChannelId, io_nodes: &[u32]) -> Option<ChannelName> {
        let kind = ChannelKind::ALL
            .into_iter()
            .find(|&kind| self.of_kind(kind).contains(&channel))?;
        let index = channel - self.first[kind as usize];
        let (from, to) = match kind {
            ChannelKind::PeInject | ChannelKind::PeEject => (index, index),
            ChannelKind::IoInject | ChannelKind::IoEject => (index, index),
            ChannelKind::Link => {
                let hop = self.cube.hop(index as usize);
                (hop.node, hop.node ^ (1 << hop.dimension))
            }
            ChannelKind::IoLink => {
                let hop = self.io_cube.hop(index as usize);
                (hop.node, self.io_cube.neighbor(hop.node, hop.dimension)?)
            }
            ChannelKind::IoNodeIn => (io_nodes[index as usize], index),
            ChannelKind::IoNodeOut | ChannelKind::IoToPe => (index, io_nodes[index as usize]),
        };
        Some(ChannelName { kind, from, to })
    }
}
