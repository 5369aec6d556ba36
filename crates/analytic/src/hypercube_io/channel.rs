//! Kinds of channels of the hypercube with I/O nodes, and their order on the paths of messages.

use serde::{Deserialize, Serialize};

use super::input::HypercubeIo;
use super::reading::{Interface, Reading};
use crate::staged::Group;

/// Kind of a channel by its two ends (Fig. 2 of the hypercube paper).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChannelKind {
    /// Channel from a PE to its router (k lanes).
    PeInject,
    /// Channel from an I/O node to its PE router (m lanes).
    FromIoNode,
    /// Channel from an I/O node to its I/O router (r lanes).
    IoInject,
    /// Channel between two I/O routers (b lanes).
    IoLink,
    /// Channel from an I/O router to its I/O node (r lanes).
    IoEject,
    /// Channel from an I/O router to its PE router (n lanes).
    IoToPe,
    /// Channel from the router of a class I PE (one with an I/O node) to a neighbouring router: channel
    /// D in Fig. 2.
    LinkFromClassOne,
    /// Channel from a neighbouring router to the router of a class I PE (one with an I/O node): channel
    /// A in Fig. 2.
    LinkToClassOne,
    /// Channel between the routers of two class II PEs (PEs without I/O nodes).
    Link,
    /// Channel from a router to its PE (k lanes).
    PeEject,
    /// Channel from a PE router to its I/O node (m lanes).
    ToIoNode,
}

impl ChannelKind {
    /// Return a short English name of this kind of channel.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PeInject => "PE to router",
            Self::FromIoNode => "I/O node to router",
            Self::IoInject => "I/O node to I/O router",
            Self::IoLink => "I/O link",
            Self::IoEject => "I/O router to I/O node",
            Self::IoToPe => "I/O router to router",
            Self::LinkFromClassOne => "link from class I",
            Self::LinkToClassOne => "link to class I",
            Self::Link => "link",
            Self::PeEject => "router to PE",
            Self::ToIoNode => "router to I/O node",
        }
    }
}

/// A group of channels that carry the same traffic: their kind and dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Channel {
    /// Kind of the channels.
    pub kind: ChannelKind,
    /// Dimension of the PE cube or I/O cube that the channels cross; `None` for channels that cross
    /// no dimension.
    pub dimension: Option<u32>,
}

impl std::fmt::Display for Channel {
    /// Write the kind of the channels, and their dimension if they have one.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.kind.name())?;
        match self.dimension {
            Some(dimension) => write!(f, ", dimension {dimension}"),
            None => Ok(()),
        }
    }
}

/// Positions of the groups of channels in the solver's list. Every path crosses its channels in the
/// order of this list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    io_dimension: usize,
    dimension: usize,
}

impl Layout {
    /// Position, in the solver's list, of the channels from PEs to their routers.
    pub(super) const PE_INJECT: usize = 0;
    /// Position, in the solver's list, of the channels from I/O nodes to PE routers.
    pub(super) const FROM_IO_NODE: usize = 1;
    /// Position, in the solver's list, of the channels from I/O nodes to I/O routers.
    pub(super) const IO_INJECT: usize = 2;

    /// Return the positions, in the solver's list, of the channel groups of this machine.
    pub(super) fn new(cube: &HypercubeIo) -> Self {
        Self {
            io_dimension: cube.io_dimension() as usize,
            dimension: cube.dimension as usize,
        }
    }

    /// Return the position, in the solver's list, of the links between I/O routers along a
    /// dimension.
    pub(super) fn io_link(self, dimension: usize) -> usize {
        3 + self.io_dimension - 1 - dimension
    }

    /// Return the position, in the solver's list, of the channels from I/O routers to I/O nodes.
    pub(super) fn io_eject(self) -> usize {
        3 + self.io_dimension
    }

    /// Return the position, in the solver's list, of the channels from I/O routers to PE routers.
    pub(super) fn io_to_pe(self) -> usize {
        4 + self.io_dimension
    }

    /// Return the position, in the solver's list, of the links along `dimension` of the PE cube that
    /// leave the routers of PEs with I/O nodes (channels D). The links that enter these routers
    /// (channels A) and the other links of the dimension follow.
    pub(super) fn links(self, dimension: usize) -> usize {
        5 + self.io_dimension + 3 * (self.dimension - 1 - dimension)
    }

    /// Return the position, in the solver's list, of the channels from routers to their PEs.
    pub(super) fn pe_eject(self) -> usize {
        5 + self.io_dimension + 3 * self.dimension
    }

    /// Return the position, in the solver's list, of the channels from PE routers to I/O nodes.
    pub(super) fn to_io_node(self) -> usize {
        self.pe_eject() + 1
    }

    /// Return all groups of channels in the order of the solver's list.
    pub(super) fn channels(self) -> Vec<Channel> {
        let plain = |kind| Channel {
            kind,
            dimension: None,
        };
        let across = |kind, dimension: usize| Channel {
            kind,
            dimension: Some(dimension as u32),
        };
        let mut channels = vec![
            plain(ChannelKind::PeInject),
            plain(ChannelKind::FromIoNode),
            plain(ChannelKind::IoInject),
        ];
        for dimension in (0..self.io_dimension).rev() {
            channels.push(across(ChannelKind::IoLink, dimension));
        }
        channels.push(plain(ChannelKind::IoEject));
        channels.push(plain(ChannelKind::IoToPe));
        for dimension in (0..self.dimension).rev() {
            channels.push(across(ChannelKind::LinkFromClassOne, dimension));
            channels.push(across(ChannelKind::LinkToClassOne, dimension));
            channels.push(across(ChannelKind::Link, dimension));
        }
        channels.push(plain(ChannelKind::PeEject));
        channels.push(plain(ChannelKind::ToIoNode));
        channels
    }
}

/// Return three shares of the PE links of one dimension: links that leave the router of a PE with an
/// I/O node (channels D), links that enter one (channels A), and all others. A link between two such
/// routers counts as D.
pub(super) fn link_shares(cube: &HypercubeIo) -> [f64; 3] {
    let class_one = f64::from(cube.io_nodes) / cube.pes();
    let entering = class_one.min(1.0 - class_one);
    [class_one, entering, (1.0 - class_one - entering).max(0.0)]
}

/// Return the number of directed links that cross `dimension` of the I/O cube. Each label below
/// `io_nodes` with that bit set has two such links, since the label without the bit is smaller and
/// therefore exists, too.
pub(super) fn io_links(io_nodes: u32, dimension: usize) -> f64 {
    2.0 * count_labels_with_bit(io_nodes, dimension)
}

/// Return the number of labels below `io_nodes` whose bit `dimension` is set.
pub(super) fn count_labels_with_bit(io_nodes: u32, dimension: usize) -> f64 {
    let (nodes, half) = (u64::from(io_nodes), 1u64 << dimension);
    let whole = nodes / (2 * half) * half;
    (whole + (nodes % (2 * half)).saturating_sub(half)) as f64
}

/// Return the groups of channels for the solver, in the order of its list.
pub(super) fn groups(cube: &HypercubeIo, reading: &Reading) -> Vec<Group> {
    let shares = link_shares(cube);
    let io_nodes = f64::from(cube.io_nodes);
    let interface = reading.interface == Interface::Queued;
    Layout::new(cube)
        .channels()
        .into_iter()
        .map(|channel| {
            let dimension = channel.dimension.unwrap_or(0) as usize;
            let (lanes, channels, queued) = match channel.kind {
                ChannelKind::PeInject | ChannelKind::PeEject => {
                    (cube.lanes.pe, cube.pes(), interface)
                }
                ChannelKind::FromIoNode | ChannelKind::ToIoNode => {
                    (cube.lanes.io_node, io_nodes, interface)
                }
                ChannelKind::IoInject | ChannelKind::IoEject => {
                    (cube.lanes.io_source, io_nodes, interface)
                }
                ChannelKind::IoToPe => (cube.lanes.io_to_pe, io_nodes, interface),
                ChannelKind::IoLink => {
                    (cube.lanes.io_link, io_links(cube.io_nodes, dimension), true)
                }
                ChannelKind::LinkFromClassOne => (cube.lanes.link, shares[0] * cube.pes(), true),
                ChannelKind::LinkToClassOne => (cube.lanes.link, shares[1] * cube.pes(), true),
                ChannelKind::Link => (cube.lanes.link, shares[2] * cube.pes(), true),
            };
            Group {
                lanes,
                channels,
                queued,
                variation: if channel.kind == ChannelKind::IoLink {
                    reading.io_variation
                } else {
                    reading.pe_variation
                },
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::input::{Lanes, Traffic};
    use super::super::serving::Serving;
    use super::*;
    use crate::moments::Moments;

    /// Checks that the formula for the number of labels (node numbers) with a certain bit set
    /// equals a count over all labels.
    #[test]
    fn labels_with_a_bit_are_counted() {
        for nodes in 1..70u32 {
            for bit in 0..7usize {
                let counted = (0..nodes).filter(|label| label >> bit & 1 == 1).count();
                assert_eq!(count_labels_with_bit(nodes, bit), counted as f64);
            }
        }
    }

    /// Checks that the indices of the channel layout select the channels of the list with the same
    /// kind and dimension.
    #[test]
    fn the_layout_and_the_list_agree() {
        let length = Moments::fixed(32.0);
        let cube = HypercubeIo {
            dimension: 7,
            io_nodes: 16,
            serving: Serving::from_table(7, &(0..128).collect::<Vec<u32>>()).unwrap(),
            lanes: Lanes::paper(7, 2),
            traffic: Traffic {
                io_probability: 0.05,
                read_ratio: 1.0,
                locality: 0.2,
                message: length,
                request: length,
                reply: length,
                write: length,
                replies_per_read: 1.0,
            },
        };
        let layout = Layout::new(&cube);
        let channels = layout.channels();
        let at = |index: usize| (channels[index].kind, channels[index].dimension);
        assert_eq!(at(Layout::PE_INJECT), (ChannelKind::PeInject, None));
        assert_eq!(at(Layout::FROM_IO_NODE), (ChannelKind::FromIoNode, None));
        assert_eq!(at(Layout::IO_INJECT), (ChannelKind::IoInject, None));
        assert_eq!(at(layout.io_link(3)), (ChannelKind::IoLink, Some(3)));
        assert_eq!(at(layout.io_link(0)), (ChannelKind::IoLink, Some(0)));
        assert_eq!(at(layout.io_eject()), (ChannelKind::IoEject, None));
        assert_eq!(at(layout.io_to_pe()), (ChannelKind::IoToPe, None));
        assert_eq!(
            at(layout.links(6)),
            (ChannelKind::LinkFromClassOne, Some(6))
        );
        assert_eq!(at(layout.links(0) + 2), (ChannelKind::Link, Some(0)));
        assert_eq!(at(layout.pe_eject()), (ChannelKind::PeEject, None));
        assert_eq!(at(layout.to_io_node()), (ChannelKind::ToIoNode, None));
        assert_eq!(channels.len(), layout.to_io_node() + 1);
    }
}
