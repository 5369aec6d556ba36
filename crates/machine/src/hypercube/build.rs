//! Construction of a hypercube machine: placement, routes, channels.

use crate::hypercube::faulted::{Faulted, WorkingParts};
use crate::hypercube::layout::{ChannelKind, Layout};
use crate::hypercube::spec::{FaultSpec, HypercubeSpec, PlacementSpec};
use isthmus_device::{Disk, IoNodeTimes};
use isthmus_kernel::{Chance, Cycles};
use isthmus_topology::deadlock::DependencyCycle;
use isthmus_topology::{
    BroadcastTree, Budget, CubeFaults, DisconnectedError, FaultError, FaultyCube, Hypercube,
    IncompleteHypercube, Placement, PlacementError, RoutingScheme,
};
use isthmus_units::{Bytes, Clock};
use thiserror::Error;

/// Reason why a hypercube cannot be built.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum MachineError {
    /// The dimension is out of range.
    #[error(transparent)]
    Dimension(#[from] isthmus_topology::DimensionError),
    /// The placement of the I/O nodes is invalid.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// The length of a flit or the bandwidth of a lane is zero.
    #[error("a flit of {flit} at {bandwidth} has no cycle time")]
    NoClock {
        /// Length of a flit.
        flit: Bytes,
        /// Bandwidth of a lane.
        bandwidth: isthmus_units::Bandwidth,
    },
    /// A kind of channel, such as the links between PEs, has no lanes (parallel channels).
    #[error("channels of kind {kind} have 0 lanes")]
    NoLanes {
        /// Name of the kind of channel, such as the links between PEs.
        kind: &'static str,
    },
    /// A fault names a node or link that does not exist.
    #[error(transparent)]
    Fault(#[from] FaultError),
    /// Faults disconnect the PE network or the I/O network.
    #[error("{network} network: {error}")]
    Disconnected {
        /// Name of the disconnected network: `PE` or `I/O`.
        network: &'static str,
        /// Error with the nodes that cannot reach each other.
        error: DisconnectedError,
    },
    /// Fewer than two PEs work, so that none can send.
    #[error("fewer than two PEs work")]
    NobodyLeft,
    /// No I/O node works.
    #[error("all I/O nodes have failed")]
    NoIoNodeLeft,
}

/// Largest dimension for which the deadlock check visits all links.
const DIMENSION_CHECKED_MAX: u32 = 12;
/// Largest dimension for which the deadlock check visits all pairs of nodes of a faulty machine.
const DIMENSION_WALKED_MAX: u32 = 9;

/// Method by which the routes of a machine were shown to be free of deadlock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeadlockProof {
    /// All channels were numbered so that the numbers increase along every route.
    Numbered,
    /// Every route crosses its dimensions in descending order (section 4.2). The machine is too large
    /// to check all links.
    ByDimensionOrder,
    /// Every route around a fault was accepted only if it closed no cycle with the others (see
    /// [`FaultyCube`]). The machine is too large to check all pairs again.
    ByConstruction,
}

/// A hypercube with its I/O nodes, ready to run any workload.
#[derive(Debug, Clone)]
pub struct Machine {
    pub(crate) layout: Layout,
    placement: Placement,
    clock: Clock,
    pub(crate) separate: bool,
    startup: Cycles,
    times: IoNodeTimes,
    /// Routes of the PE network around faults; `None` if no fault changes them.
    pub(crate) routes: Option<FaultyCube>,
    /// Routes of the I/O network around faults; `None` if no fault changes them.
    pub(crate) io_routes: Option<FaultyCube>,
    /// Faults of the I/O network, including failed I/O nodes, which cannot forward a broadcast.
    io_faults: CubeFaults,
    /// Whether each PE works; empty if all PEs work.
    alive: Vec<bool>,
    /// For each PE, the I/O node to which it sends requests: its server, or the nearest one if the server's
    /// PE has failed. `None` for failed PEs.
    io_node_of_pe: Vec<Option<u32>>,
    /// For each I/O node, the I/O node that serves its requests: itself, or a substitute if it has failed.
    serving_io_node: Vec<u32>,
    /// Working PEs that each I/O node serves: the PEs assigned to it, and those of failed I/O nodes that it
    /// replaces.
    clients: Vec<Vec<u32>>,
}

impl Machine {
    /// Build the machine that `spec` describes.
    ///
    /// # Errors
    /// If the description is invalid.
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
                queued: device.service == crate::hypercube::spec::Service::Queue,
            },
            layout,
            placement,
            clock,
            clients: faults.clients(),
            routes: faults.routes,
            io_routes: faults.io_routes,
            io_faults: faults.io_faults,
            alive: if faults.alive.contains(&false) {
                faults.alive
            } else {
                Vec::new()
            },
            io_node_of_pe: faults.io_node_of_pe,
            serving_io_node: faults.serving_io_node,
        })
    }

    /// Return the layout, which numbers all channels of the machine.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Return the placement of the I/O nodes: the PEs that have one, and the I/O node that serves each PE.
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// Return the PE network.
    pub fn cube(&self) -> Hypercube {
        self.layout.cube
    }

    /// Return the network of the I/O nodes.
    pub fn io_cube(&self) -> IncompleteHypercube {
        self.layout.io_cube
    }

    /// Return the clock, which converts times and lengths to cycles: a lane carries one flit per cycle.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Return whether the I/O nodes have their own network.
    pub fn has_io_network(&self) -> bool {
        self.separate
    }

    /// Return the start-up overhead of a message.
    pub fn startup(&self) -> Cycles {
        self.startup
    }

    /// Return the access times of the I/O nodes.
    pub fn times(&self) -> &IoNodeTimes {
        &self.times
    }

    /// Return whether a PE works.
    #[inline]
    pub fn is_alive(&self, pe: u32) -> bool {
        self.alive.is_empty() || self.alive[pe as usize]
    }

    /// Return the number of PEs that would work if the machine had these faults instead of its own.
    ///
    /// # Errors
    /// If a faulty part does not exist, or the machine cannot run with these faults.
    pub fn working_pes_after(&self, faults: &FaultSpec) -> Result<u32, MachineError> {
        let working = WorkingParts::new(self.cube(), self.io_cube(), &self.placement, faults)?;
        Ok(working.alive.iter().filter(|&&alive| alive).count() as u32)
    }

    /// Return the number of PEs that work.
    pub fn working_pes(&self) -> u32 {
        self.io_node_of_pe.iter().flatten().count() as u32
    }

    /// Return the number of I/O nodes that work.
    pub fn working_io_nodes(&self) -> u32 {
        let attended = (0u32..).zip(&self.serving_io_node);
        attended.filter(|&(node, &by)| node == by).count() as u32
    }

    /// Return the I/O node to which a PE sends its requests.
    ///
    /// # Panics
    /// If the PE has failed.
    #[inline]
    pub fn io_node_of_pe(&self, pe: u32) -> u32 {
        self.io_node_of_pe[pe as usize].expect("a working PE")
    }

    /// Return the working I/O node that serves the requests of a PE, or `None` if the PE has failed.
    pub fn serves(&self, pe: u32) -> Option<u32> {
        self.io_node_of_pe[pe as usize].map(|asked| self.serving_io_node(asked))
    }

    /// Return the I/O node that serves the requests to `io_node`: `io_node` itself, or its substitute if it has
    /// failed.
    #[inline]
    pub fn serving_io_node(&self, io_node: u32) -> u32 {
        self.serving_io_node[io_node as usize]
    }

    /// Return whether the PEs of failed I/O nodes forward requests to other I/O nodes.
    pub fn redirects(&self) -> bool {
        let asked = self.io_node_of_pe.iter().flatten();
        asked
            .into_iter()
            .any(|&node| self.serving_io_node(node) != node)
    }

    /// Return the working PEs that an I/O node serves.
    pub fn clients(&self, io_node: u32) -> &[u32] {
        &self.clients[io_node as usize]
    }

    /// Return the PE to which an I/O node is attached.
    #[inline]
    pub fn pe_of(&self, io_node: u32) -> u32 {
        self.placement.io_nodes()[io_node as usize]
    }

    /// Return the schemes by which the PE network and the I/O network route around faults, or `None`
    /// for a network without faults.
    pub fn schemes(&self) -> (Option<RoutingScheme>, Option<RoutingScheme>) {
        let scheme = |routes: &Option<FaultyCube>| routes.as_ref().map(FaultyCube::scheme);
        (scheme(&self.routes), scheme(&self.io_routes))
    }

    /// Return the tree over which a broadcast from `root` reaches the working I/O nodes. Nodes that
    /// cannot be reached over working I/O nodes are not in the tree.
    pub fn broadcast(&self, root: u32) -> BroadcastTree {
        BroadcastTree::new(&self.io_faults, root).expect("the root of a broadcast works")
    }

    /// Check that the routes of both networks cannot deadlock. No cycle of channels spans both: a worm
    /// passes from the I/O network to the PE network and never back, and end channels lead nowhere
    /// else. The check visits all pairs of nodes if there are faults, else all links.
    ///
    /// # Errors
    /// Return a cycle of links and the name of its network.
    pub fn check_deadlock(&self) -> Result<DeadlockProof, (&'static str, DependencyCycle)> {
        let faulty = self.routes.is_some() || self.io_routes.is_some();
        let dimension = self.cube().dimension();
        if faulty && dimension > DIMENSION_WALKED_MAX {
            return Ok(DeadlockProof::ByConstruction);
        }
        if dimension > DIMENSION_CHECKED_MAX {
            return Ok(DeadlockProof::ByDimensionOrder);
        }
        let check = |routes: &Option<FaultyCube>, cube: IncompleteHypercube| match routes {
            Some(routes) => routes.dependencies().check(),
            None => cube.check_deadlock(),
        };
        check(&self.routes, self.cube().into()).map_err(|cycle| ("PE", cycle))?;
        if self.separate {
            check(&self.io_routes, self.io_cube()).map_err(|cycle| ("I/O", cycle))?;
        }
        Ok(DeadlockProof::Numbered)
    }
}

/// Compute the placement of the I/O nodes that the description requests.
fn place(cube: Hypercube, spec: &PlacementSpec) -> Result<Placement, PlacementError> {
    match spec {
        PlacementSpec::Hamming => Placement::hamming(cube),
        PlacementSpec::Combined => Ok(Placement::combined(cube)),
        PlacementSpec::Dominating => Ok(Placement::dominating(cube, Budget::default()).0),
        PlacementSpec::Stride { count } => Placement::stride(&cube, *count),
        PlacementSpec::Clustered { count } => Placement::clustered(&cube, *count),
        PlacementSpec::List(pes) => Placement::list(&cube, pes),
    }
}
