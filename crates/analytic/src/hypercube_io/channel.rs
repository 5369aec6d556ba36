//! Kinds of channels, and their order on the paths.

use serde::{Deserialize, Serialize};

use super::input::HypercubeIo;
use super::reading::{Interface, Reading};
use crate::staged::Group;

/// The ends of a channel (Fig. 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChannelKind {
    /// PE to its router (k lanes).
    PeInject,
    /// I/O node to PE router (m lanes).
    FromIoNode,
    /// I/O node to I/O router (r lanes).
    IoInject,
    /// Between I/O routers (b lanes).
    IoLink,
    /// I/O router to I/O node (r lanes).
    IoEject,
    /// I/O router to PE router (n lanes).
    IoToPe,
    /// From the router of a class I PE to a neighbouring router: D in Fig. 2.
    LinkFromClassOne,
    /// From a neighbouring router to that of a class I PE: A in Fig. 2.
    LinkToClassOne,
    /// Between two routers of class II PEs.
    Link,
    /// Router to its PE (k lanes).
    PeEject,
    /// PE router to I/O node (m lanes).
    ToIoNode,
}

impl ChannelKind {
    /// Return a short English name.
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

/// A group of channels that carry the same traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Channel {
    /// Kind of the channels.
    pub kind: ChannelKind,
    /// Dimension of the PE cube or I/O cube that the channels cross; `None` at the interfaces.
    pub dimension: Option<u32>,
}

impl std::fmt::Display for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.kind.name())?;
        match self.dimension {
            Some(dimension) => write!(f, ", dimension {dimension}"),
            None => Ok(()),
        }
    }
}

/// Position of each group in the solver's list. Paths only move down this list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    io_dimension: usize,
    dimension: usize,
}

impl Layout {
    pub(super) const PE_INJECT: usize = 0;
    pub(super) const FROM_IO_NODE: usize = 1;
    pub(super) const IO_INJECT: usize = 2;

    pub(super) fn new(cube: &HypercubeIo) -> Self {
        Self {
            io_dimension: cube.io_dimension() as usize,
            dimension: cube.dimension as usize,
        }
    }

    pub(super) fn io_link(self, dimension: usize) -> usize {
        3 + self.io_dimension - 1 - dimension
    }

    pub(super) fn io_eject(self) -> usize {
        3 + self.io_dimension
    }

    pub(super) fn io_to_pe(self) -> usize {
        4 + self.io_dimension
    }

    /// Return the position of the D group of a dimension. A and the ordinary links follow it.
    pub(super) fn links(self, dimension: usize) -> usize {
        5 + self.io_dimension + 3 * (self.dimension - 1 - dimension)
    }

    pub(super) fn pe_eject(self) -> usize {
        5 + self.io_dimension + 3 * self.dimension
    }

    pub(super) fn to_io_node(self) -> usize {
        self.pe_eject() + 1
    }

    /// Return every group in order, with its name.
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

/// Return the shares of one dimension's PE links that leave a class I router (D), that enter one
/// (A), and of the other links. A link between two class I routers counts as D.
pub(super) fn link_shares(cube: &HypercubeIo) -> [f64; 3] {
    let class_one = f64::from(cube.io_nodes) / cube.pes();
    let entering = class_one.min(1.0 - class_one);
    [class_one, entering, (1.0 - class_one - entering).max(0.0)]
}

/// Return the number of directed links that cross `dimension` of the I/O cube: two for each label
/// below `io_nodes` with that bit set, since the label without it is smaller and therefore exists,
/// too.
pub(super) fn io_links(io_nodes: u32, dimension: usize) -> f64 {
    2.0 * count_labels_with_bit(io_nodes, dimension)
}

/// Return the number of labels below `io_nodes` whose bit `dimension` is set.
pub(super) fn count_labels_with_bit(io_nodes: u32, dimension: usize) -> f64 {
    let (nodes, half) = (u64::from(io_nodes), 1u64 << dimension);
    let whole = nodes / (2 * half) * half;
    (whole + (nodes % (2 * half)).saturating_sub(half)) as f64
}

/// Return the groups for the solver.
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

    #[test]
    fn labels_with_a_bit_are_counted() {
        for nodes in 1..70u32 {
            for bit in 0..7usize {
                let counted = (0..nodes).filter(|label| label >> bit & 1 == 1).count();
                assert_eq!(count_labels_with_bit(nodes, bit), counted as f64);
            }
        }
    }

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
