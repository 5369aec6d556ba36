//! What faults do to routes and to who asks whom.

use crate::hypercube::build::MachineError;
use crate::hypercube::spec::FaultSpec;
use isthmus_topology::{CubeFaults, FaultyCube, Hypercube, IncompleteHypercube, Placement};

/// What faults do to who asks whom.
pub(crate) struct Faulted {
    pub routes: Option<FaultyCube>,
    pub io_routes: Option<FaultyCube>,
    pub io_faults: CubeFaults,
    pub alive: Vec<bool>,
    /// The I/O node asked by each PE; none by one that has failed.
    pub asks: Vec<Option<u32>>,
    pub attends: Vec<u32>,
}

/// What faults leave, without the routes.
pub(crate) struct Left {
    pe_faults: CubeFaults,
    io_link_faults: CubeFaults,
    /// Whether each PE works.
    pub alive: Vec<bool>,
    /// The I/O nodes that do not work.
    silent: Vec<u32>,
}

impl Left {
    /// What `faults` leave, if that can run.
    pub fn new(
        cube: Hypercube,
        io_cube: IncompleteHypercube,
        placement: &Placement,
        faults: &FaultSpec,
    ) -> Result<Self, MachineError> {
        let connected = |network, faults: &CubeFaults| {
            let checked = faults.check_connected();
            checked.map_err(|error| MachineError::Disconnected { network, error })
        };
        let pe_faults = CubeFaults::new(cube, &faults.pes, &faults.links)?;
        connected("PE", &pe_faults)?;
        // The I/O router of a failed I/O node goes on working (section 3.2).
        let io_link_faults = CubeFaults::new(io_cube, &[], &faults.io_links)?;
        connected("I/O", &io_link_faults)?;
        let alive: Vec<bool> = cube.nodes().map(|pe| !pe_faults.is_failed(pe)).collect();
        if alive.iter().filter(|&&alive| alive).count() < 2 {
            return Err(MachineError::NobodyLeft);
        }
        let silent = placement.io_nodes_down(&pe_faults, &faults.io_nodes)?;
        if silent.len() == placement.io_nodes().len() {
            return Err(MachineError::NoIoNodeLeft);
        }
        Ok(Self {
            pe_faults,
            io_link_faults,
            alive,
            silent,
        })
    }
}

impl Faulted {
    pub fn new(
        cube: Hypercube,
        io_cube: IncompleteHypercube,
        placement: &Placement,
        faults: &FaultSpec,
    ) -> Result<Self, MachineError> {
        let Left {
            pe_faults,
            io_link_faults,
            alive,
            silent,
        } = Left::new(cube, io_cube, placement, faults)?;
        let routed = |faults: CubeFaults| (!faults.is_none()).then(|| FaultyCube::new(faults));
        let (routes, io_routes) = (routed(pe_faults.clone()), routed(io_link_faults));
        let io_faults = CubeFaults::new(io_cube, &silent, &faults.io_links)?;
        let attends = placement.forwarding(&cube, &silent, &placement.clients(&pe_faults))?;
        let asks = placement.server_of_each(cube, &pe_faults, &attends);
        Ok(Self {
            routes,
            io_routes,
            io_faults,
            alive,
            asks,
            attends,
        })
    }

    /// The working PEs that each I/O node works for.
    pub fn clients(&self) -> Vec<Vec<u32>> {
        let mut clients = vec![Vec::new(); self.attends.len()];
        for (pe, asked) in (0u32..).zip(&self.asks) {
            if let Some(asked) = *asked {
                clients[self.attends[asked as usize] as usize].push(pe);
            }
        }
        clients
    }
}
