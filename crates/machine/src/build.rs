//! From a description to a machine: placement, routes, channels.

use crate::layout::{ChannelKind, Layout};
use crate::spec::{FaultSpec, HypercubeSpec, PlacementSpec};
use isthmus_device::{Disk, IoNodeTimes};
use isthmus_kernel::{Chance, Cycles};
use isthmus_topology::{
    Hypercube, IncompleteHypercube, Placement, PlacementError,
};
use isthmus_units::{Bytes, Clock};
use isthmus_wormhole::ChannelId;
use thiserror::Error;

/// Why a description gives no machine.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum MachineError {
    /// The dimension is out of range.
    #[error(transparent)]
    Dimension(#[from] isthmus_topology::DimensionError),
    /// The placement cannot be.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// A length or a bandwidth of zero.
    #[error("a flit of {flit} at {bandwidth} has no cycle time; both must be more than zero")]
    NoClock {
        /// Length of a flit.
        flit: Bytes,
        /// Bandwidth of a lane.
        bandwidth: isthmus_units::Bandwidth,
    },
    /// A kind of channel without lanes.
    #[error("channels of kind {kind} have 0 lanes; give 1 or more")]
    NoLanes {
        /// Name of the kind.
        kind: &'static str,
    },
    /// A fault names something that does not exist.
    #[error("the fault names {what}, which does not exist")]
    MissingPart {
        /// What was named.
        what: String,
    },
    /// Nothing is left to serve I/O.
    #[error("all I/O nodes have failed; I/O demands have nowhere to go")]
    NoIoNodeLeft,
}

/// A hypercube with its I/O nodes, ready to run any workload.
#[derive(Debug, Clone)]
pub struct Machine {
    layout: Layout,
    placement: Placement,
    clock: Clock,
    separate: bool,
    startup: Cycles,
    times: IoNodeTimes,
    alive: Vec<bool>,
    /// I/O node asked by each PE: its server, or a nearby one if the server's PE has failed.
    asks: Vec<u32>,
    /// The I/O node that does the work of each: itself unless it has failed.
    attends: Vec<u32>,
}

impl Machine {
    /// Builds the machine `spec`.
    ///
    /// # Errors
    /// What in the description cannot be.
    pub fn new(spec: &HypercubeSpec) -> Result<Self, MachineError> {
        let cube = Hypercube::new(spec.dimension)?;
        let clock = Clock::new(spec.flit, spec.bandwidth).ok_or(MachineError::NoClock {
            flit: spec.flit,
            bandwidth: spec.bandwidth,
        })?;
        let placement = place(cube, &spec.placement)?;
        let io_cube = IncompleteHypercube::new(placement.io_node_count())
            .expect("a placement has 1 to 2^dimension I/O nodes");
        let layout = Layout::new(cube, io_cube, &spec.lanes);
        for kind in ChannelKind::ALL {
            if !layout.of_kind(kind).is_empty() && layout.lanes(kind) == 0 {
                return Err(MachineError::NoLanes { kind: kind.name() });
            }
        }
        let faults = Faulted::new(cube, &placement, &spec.faults)?;
        let device = &spec.device;
        let per_byte = match device.disk.transfer {
            Some(rate) => 8e6 / rate.bits_per_s() as f64 / clock.cycle_us(),
            None => 0.0,
        };
        Ok(Self {
            separate: spec.lanes.io_link > 0,
            startup: clock.cycles(device.startup),
            times: IoNodeTimes {
                access: clock.cycles(device.access),
                hit: Chance::new(device.cache_hit_rate),
                disk: Disk {
                    seek: clock.cycles_exact(device.disk.seek),
                    rotation: clock.cycles_exact(device.disk.rotation),
                    per_byte,
                },
                queued: device.service == crate::spec::Service::Queue,
            },
            layout,
            placement,
            clock,
            alive: faults.alive,
            asks: faults.asks,
            attends: faults.attends,
        })
    }

    /// Channel numbers.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Where the I/O nodes are and whom they serve.
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// The PE network.
    pub fn cube(&self) -> Hypercube {
        self.layout.cube
    }

    /// The network of the I/O nodes.
    pub fn io_cube(&self) -> IncompleteHypercube {
        self.layout.io_cube
    }

    /// The clock of a lane.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Whether the I/O nodes have a network of their own.
    pub fn has_io_network(&self) -> bool {
        self.separate
    }

    /// Start-up overhead of a message.
    pub fn startup(&self) -> Cycles {
        self.startup
    }

    /// Access times of the I/O nodes.
    pub fn times(&self) -> &IoNodeTimes {
        &self.times
    }

    /// Whether a PE works.
    #[inline]
    pub fn is_alive(&self, pe: u32) -> bool {
        self.alive[pe as usize]
    }

    /// The I/O node that a PE sends its requests to.
    #[inline]
    pub fn asks(&self, pe: u32) -> u32 {
        self.asks[pe as usize]
    }

    /// The I/O node that does the work of `io_node`: itself unless it has failed.
    #[inline]
    pub fn attends(&self, io_node: u32) -> u32 {
        self.attends[io_node as usize]
    }

    /// The PE of an I/O node.
    #[inline]
    pub fn pe_of(&self, io_node: u32) -> u32 {
        self.placement.io_nodes()[io_node as usize]
    }

    /// Channels of the longest path that any message can take.
    pub fn longest_path(&self) -> usize {
        (self.layout.io_cube.dimension() + self.layout.cube.dimension() + 4) as usize
    }

    /// PE to PE: k, e-cube, k.
    #[inline]
    pub fn path_pe_pe(&self, from: u32, to: u32, path: &mut Vec<ChannelId>) {
        path.push(self.layout.channel(ChannelKind::PeInject, from));
        self.push_links(from, to, path);
        path.push(self.layout.channel(ChannelKind::PeEject, to));
    }

    /// PE to the I/O node at another or the same PE: k, e-cube, m. A failed I/O node's requests
    /// end at its PE: k, e-cube, k.
    pub fn path_ask(&self, pe: u32, io_node: u32, path: &mut Vec<ChannelId>) {
        let at = self.pe_of(io_node);
        path.push(self.layout.channel(ChannelKind::PeInject, pe));
        self.push_links(pe, at, path);
        path.push(if self.attends(io_node) == io_node {
            self.layout.channel(ChannelKind::IoNodeIn, io_node)
        } else {
            self.layout.channel(ChannelKind::PeEject, at)
        });
    }

    /// I/O node to I/O node: r, I/O e-cube, r; without an I/O network m, e-cube, m.
    pub fn path_forward(&self, from: u32, to: u32, path: &mut Vec<ChannelId>) {
        let layout = &self.layout;
        if self.separate {
            path.push(layout.channel(ChannelKind::IoInject, from));
            self.push_io_links(from, to, path);
            path.push(layout.channel(ChannelKind::IoEject, to));
        } else {
            path.push(layout.channel(ChannelKind::IoNodeOut, from));
            self.push_links(self.pe_of(from), self.pe_of(to), path);
            path.push(layout.channel(ChannelKind::IoNodeIn, to));
        }
    }

    /// Data from the I/O node `from` to `pe` through the I/O node `asked`. Local (`from` =
    /// `asked`): m, e-cube, k. Remote: r, I/O e-cube, n, e-cube, k, one worm across both networks;
    /// without an I/O network m, e-cube straight to the PE, k.
    pub fn path_reply(&self, from: u32, asked: u32, pe: u32, path: &mut Vec<ChannelId>) {
        let layout = &self.layout;
        if from != asked && self.separate {
            path.push(layout.channel(ChannelKind::IoInject, from));
            self.push_io_links(from, asked, path);
            path.push(layout.channel(ChannelKind::IoToPe, asked));
            self.push_links(self.pe_of(asked), pe, path);
        } else {
            path.push(layout.channel(ChannelKind::IoNodeOut, from));
            self.push_links(self.pe_of(from), pe, path);
        }
        path.push(layout.channel(ChannelKind::PeEject, pe));
    }

    #[inline]
    fn push_links(&self, from: u32, to: u32, path: &mut Vec<ChannelId>) {
        for hop in self.layout.cube.route(from, to) {
            let link = self.layout.cube.link(hop.node, hop.dimension);
            path.push(self.layout.channel(ChannelKind::Link, link as u32));
        }
    }

    #[inline]
    fn push_io_links(&self, from: u32, to: u32, path: &mut Vec<ChannelId>) {
        for hop in self.layout.io_cube.route(from, to) {
            let link = self.layout.io_cube.link(hop.node, hop.dimension);
            path.push(self.layout.channel(ChannelKind::IoLink, link as u32));
        }
    }
}

fn place(cube: Hypercube, spec: &PlacementSpec) -> Result<Placement, PlacementError> {
    match spec {
        PlacementSpec::Hamming => Placement::hamming(cube),
        PlacementSpec::Combined => Ok(Placement::combined(cube)),
        PlacementSpec::Dominating => todo!(),
        PlacementSpec::Stride { count } => Placement::stride(cube, *count),
        PlacementSpec::Clustered { count } => Placement::clustered(cube, *count),
        PlacementSpec::List(pes) => Placement::list(cube, pes),
    }
}

/// What faults do to who asks whom.
struct Faulted {
    alive: Vec<bool>,
    asks: Vec<u32>,
    attends: Vec<u32>,
}

impl Faulted {
    fn new(
        cube: Hypercube,
        placement: &Placement,
        faults: &FaultSpec,
    ) -> Result<Self, MachineError> {
        let missing = |what: String| Err(MachineError::MissingPart { what });
        let mut alive = vec![true; cube.node_count() as usize];
        for &pe in &faults.pes {
            match alive.get_mut(pe as usize) {
                Some(state) => *state = false,
                None => return missing(format!("PE {pe}")),
            }
        }
        let mut working: Vec<bool> = placement
            .io_nodes()
            .iter()
            .map(|&pe| alive[pe as usize])
            .collect();
        for &io_node in &faults.io_nodes {
            match working.get_mut(io_node as usize) {
                Some(state) => *state = false,
                None => return missing(format!("I/O node {io_node}")),
            }
        }
        if !working.contains(&true) {
            return Err(MachineError::NoIoNodeLeft);
        }
        // A failed I/O node's forwarding address is the nearest one that works (section 3.2); of
        // several, the one with the lowest number.
        let pe_of = |io_node: u32| placement.io_nodes()[io_node as usize];
        let nearest = |pe: u32| {
            (0..placement.io_node_count())
                .filter(|&other| working[other as usize])
                .min_by_key(|&other| (cube.distance(pe, pe_of(other)), other))
                .expect("one I/O node works")
        };
        let attends: Vec<u32> = (0..placement.io_node_count())
            .map(|io_node| {
                if working[io_node as usize] {
                    io_node
                } else {
                    nearest(pe_of(io_node))
                }
            })
            .collect();
        let asks = (0..cube.node_count())
            .map(|pe| {
                let server = placement.server(pe);
                if alive[pe_of(server) as usize] {
                    server
                } else {
                    nearest(pe)
                }
            })
            .collect();
        Ok(Self {
            alive,
            asks,
            attends,
        })
    }
}
