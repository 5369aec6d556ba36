//! From a description to a machine: placement, routes, channels.

use crate::layout::{ChannelKind, Layout};
use crate::spec::{FaultSpec, HypercubeSpec, PlacementSpec};
use isthmus_device::{Disk, IoNodeTimes};
use isthmus_kernel::{Chance, Cycles};
use isthmus_topology::deadlock::{self, DependencyCycle};
use isthmus_topology::{
    BroadcastTree, Budget, CubeFaults, DisconnectedError, FaultError, FaultyCube, FaultyRoute, Hop,
    Hypercube, IncompleteHypercube, Placement, PlacementError, RoutingScheme,
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
    #[error("a flit of {flit} at {bandwidth} has no cycle time")]
    NoClock {
        /// Length of a flit.
        flit: Bytes,
        /// Bandwidth of a lane.
        bandwidth: isthmus_units::Bandwidth,
    },
    /// A kind of channel without lanes.
    #[error("channels of kind {kind} have 0 lanes")]
    NoLanes {
        /// Name of the kind.
        kind: &'static str,
    },
    /// A fault names something that does not exist.
    #[error("{what} is to fail but does not exist")]
    MissingPart {
        /// What was named.
        what: String,
    },
    /// A fault is no node or no link.
    #[error(transparent)]
    Fault(#[from] FaultError),
    /// Faults cut a network apart.
    #[error("{network} network: {error}")]
    Disconnected {
        /// `PE` or `I/O`.
        network: &'static str,
        /// Who cannot reach whom.
        error: DisconnectedError,
    },
    /// Nobody is left to send to.
    #[error("fewer than two PEs work")]
    NobodyLeft,
    /// Nothing is left to serve I/O.
    #[error("all I/O nodes have failed")]
    NoIoNodeLeft,
}

/// Largest dimension whose links are all walked by the deadlock check.
const DIMENSION_CHECKED_MAX: u32 = 12;
/// Largest dimension in which all pairs are walked where there are faults.
const DIMENSION_WALKED_MAX: u32 = 9;

/// Why routes cannot deadlock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeadlockProof {
    /// All channels were numbered so that every route rises.
    Numbered,
    /// Every route crosses its dimensions in falling order (section 4.2); not walked, the machine
    /// is too large.
    ByDimensionOrder,
    /// Every route around a fault was accepted only after it closed no cycle with the others (see
    /// [`FaultyCube`]); not walked again, the machine is too large.
    ByConstruction,
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
    /// Routes of the PE network and of the I/O network, where faults change them.
    routes: Option<FaultyCube>,
    io_routes: Option<FaultyCube>,
    /// The I/O nodes that can pass a broadcast on.
    io_faults: CubeFaults,
    /// Whether each PE works; empty if all do.
    alive: Vec<bool>,
    /// I/O node asked by each PE: its server, or a nearby one if the server's PE has failed.
    asks: Vec<u32>,
    /// The I/O node that does the work of each: itself unless it has failed.
    attends: Vec<u32>,
    /// The working PEs that each I/O node works for, its own and those of failed ones.
    clients: Vec<Vec<u32>>,
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
        let faults = Faulted::new(cube, io_cube, &placement, &spec.faults)?;
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
            clients: clients(&faults),
            routes: faults.routes,
            io_routes: faults.io_routes,
            io_faults: faults.io_faults,
            alive: if faults.alive.contains(&false) {
                faults.alive
            } else {
                Vec::new()
            },
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
        self.alive.is_empty() || self.alive[pe as usize]
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

    /// The working PEs that an I/O node works for.
    pub fn clients(&self, io_node: u32) -> &[u32] {
        &self.clients[io_node as usize]
    }

    /// The PE of an I/O node.
    #[inline]
    pub fn pe_of(&self, io_node: u32) -> u32 {
        self.placement.io_nodes()[io_node as usize]
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
        let cube = self.layout.cube;
        let mut push = |hop: Hop| {
            let link = cube.link(hop.node, hop.dimension) as u32;
            path.push(self.layout.channel(ChannelKind::Link, link));
        };
        match &self.routes {
            None => cube.route(from, to).for_each(&mut push),
            Some(routes) => around(routes, from, to).for_each(&mut push),
        }
    }

    #[inline]
    fn push_io_links(&self, from: u32, to: u32, path: &mut Vec<ChannelId>) {
        let cube = self.layout.io_cube;
        let mut push = |hop: Hop| {
            let link = cube.link(hop.node, hop.dimension) as u32;
            path.push(self.layout.channel(ChannelKind::IoLink, link));
        };
        match &self.io_routes {
            None => cube.route(from, to).for_each(&mut push),
            Some(routes) => around(routes, from, to).for_each(&mut push),
        }
    }

    /// How the PE network and the I/O network route around faults; `None` where nothing failed.
    pub fn schemes(&self) -> (Option<RoutingScheme>, Option<RoutingScheme>) {
        let scheme = |routes: &Option<FaultyCube>| routes.as_ref().map(FaultyCube::scheme);
        (scheme(&self.routes), scheme(&self.io_routes))
    }

    /// Who passes a broadcast on to whom among the working I/O nodes, from `root`. I/O nodes that
    /// links of working nodes do not reach are no part of the tree.
    pub fn broadcast(&self, root: u32) -> BroadcastTree {
        BroadcastTree::new(&self.io_faults, root).expect("the root of a broadcast works")
    }

    /// Checks that the routes of both networks cannot deadlock. A worm passes from the I/O network
    /// to the PE network and never back, and end channels lead nowhere else, so no cycle of
    /// channels spans both. Walks all pairs where there are faults, else all links.
    ///
    /// # Errors
    /// The cycle of links, with the network that has it.
    pub fn check_deadlock(&self) -> Result<DeadlockProof, (&'static str, DependencyCycle)> {
        let faulty = self.routes.is_some() || self.io_routes.is_some();
        let dimension = self.cube().dimension();
        if faulty && dimension > DIMENSION_WALKED_MAX {
            return Ok(DeadlockProof::ByConstruction);
        }
        if dimension > DIMENSION_CHECKED_MAX {
            return Ok(DeadlockProof::ByDimensionOrder);
        }
        let pe = match &self.routes {
            Some(routes) => routes.dependencies().check(),
            None => {
                let cube = self.cube();
                deadlock::check(cube.link_count(), |link| {
                    let hop = cube.hop(link);
                    (0..hop.dimension).map(move |lower| cube.link(hop.target(), lower))
                })
            }
        };
        pe.map_err(|cycle| ("PE", cycle))?;
        if self.separate {
            let io = match &self.io_routes {
                Some(routes) => routes.dependencies().check(),
                None => FaultyCube::new(CubeFaults::none(self.io_cube()))
                    .dependencies()
                    .check(),
            };
            io.map_err(|cycle| ("I/O", cycle))?;
        }
        Ok(DeadlockProof::Numbered)
    }
}

/// A route around faults. Machines whose working nodes are cut apart are never built.
fn around(routes: &FaultyCube, from: u32, to: u32) -> FaultyRoute<'_> {
    routes.route(from, to).expect("working nodes are connected")
}

fn place(cube: Hypercube, spec: &PlacementSpec) -> Result<Placement, PlacementError> {
    match spec {
        PlacementSpec::Hamming => Placement::hamming(cube),
        PlacementSpec::Combined => Ok(Placement::combined(cube)),
        PlacementSpec::Dominating => Ok(Placement::dominating(cube, Budget::default()).0),
        PlacementSpec::Stride { count } => Placement::stride(cube, *count),
        PlacementSpec::Clustered { count } => Placement::clustered(cube, *count),
        PlacementSpec::List(pes) => Placement::list(cube, pes),
    }
}

fn clients(faults: &Faulted) -> Vec<Vec<u32>> {
    let mut clients = vec![Vec::new(); faults.attends.len()];
    for (pe, &asked) in (0u32..).zip(&faults.asks) {
        if faults.alive[pe as usize] {
            clients[faults.attends[asked as usize] as usize].push(pe);
        }
    }
    clients
}

/// What faults do to who asks whom.
struct Faulted {
    routes: Option<FaultyCube>,
    io_routes: Option<FaultyCube>,
    io_faults: CubeFaults,
    alive: Vec<bool>,
    asks: Vec<u32>,
    attends: Vec<u32>,
}

impl Faulted {
    fn new(
        cube: Hypercube,
        io_cube: IncompleteHypercube,
        placement: &Placement,
        faults: &FaultSpec,
    ) -> Result<Self, MachineError> {
        let routed = |network, faults: CubeFaults| {
            faults
                .check_connected()
                .map_err(|error| MachineError::Disconnected { network, error })?;
            Ok::<_, MachineError>((!faults.is_none()).then(|| FaultyCube::new(faults)))
        };
        let routes = routed("PE", CubeFaults::new(cube, &faults.pes, &faults.links)?)?;
        // The I/O router of a failed I/O node goes on working (section 3.2).
        let io_routes = routed("I/O", CubeFaults::new(io_cube, &[], &faults.io_links)?)?;
        let missing = |what: String| Err(MachineError::MissingPart { what });
        let mut alive = vec![true; cube.node_count() as usize];
        for &pe in &faults.pes {
            match alive.get_mut(pe as usize) {
                Some(state) => *state = false,
                None => return missing(format!("PE {pe}")),
            }
        }
        if alive.iter().filter(|&&alive| alive).count() < 2 {
            return Err(MachineError::NobodyLeft);
        }
        let count = placement.io_node_count();
        if let Some(io_node) = faults.io_nodes.iter().find(|&&io_node| io_node >= count) {
            return missing(format!("I/O node {io_node}"));
        }
        let silent: Vec<u32> = (0..count)
            .filter(|&io_node| {
                let pe = placement.io_nodes()[io_node as usize];
                !alive[pe as usize] || faults.io_nodes.contains(&io_node)
            })
            .collect();
        if silent.len() == count as usize {
            return Err(MachineError::NoIoNodeLeft);
        }
        let io_faults = CubeFaults::new(io_cube, &silent, &faults.io_links)?;
        let attends = placement.forwarding(&cube, &silent)?;
        // With its PE gone, too, nobody is left to pass requests on: they go straight to the heir.
        let asks = (0..cube.node_count())
            .map(|pe| {
                let server = placement.server(pe);
                if alive[placement.server_pe(pe) as usize] {
                    server
                } else {
                    attends[server as usize]
                }
            })
            .collect();
        Ok(Self {
            routes,
            io_routes,
            io_faults,
            alive,
            asks,
            attends,
        })
    }
}
