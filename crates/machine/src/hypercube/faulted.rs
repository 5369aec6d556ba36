//! Effects of faults on routes and on the assignment of PEs to I/O nodes.

use crate::hypercube::build::MachineError;
use crate::hypercube::spec::FaultSpec;
use isthmus_topology::{CubeFaults, FaultyCube, Hypercube, IncompleteHypercube, Placement};

/// Routes and assignment of PEs to I/O nodes under faults.
pub(crate) struct Faulted {
    pub routes: Option<FaultyCube>,
    pub io_routes: Option<FaultyCube>,
    pub io_faults: CubeFaults,
    pub alive: Vec<bool>,
    /// For each PE, the I/O node to which it sends requests; `None` for a failed PE.
    pub io_node_of_pe: Vec<Option<u32>>,
    /// For each I/O node, the I/O node that serves its requests: itself, or a substitute if it has failed.
    pub serving_io_node: Vec<u32>,
}

/// The PEs and I/O nodes of a faulty machine that still work.
pub(crate) struct WorkingParts {
    pe_faults: CubeFaults,
    io_link_faults: CubeFaults,
    /// For each PE, whether it works.
    pub alive: Vec<bool>,
    /// I/O nodes that do not work, by number.
    failed_io_nodes: Vec<u32>,
}

impl WorkingParts {
    /// Return the parts that work under `faults`, or an error if the machine cannot run.
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
        // Add only failed links: the I/O router of a failed I/O node still forwards (section 3.2 of the
        // paper).
        let io_link_faults = CubeFaults::new(io_cube, &[], &faults.io_links)?;
        connected("I/O", &io_link_faults)?;
        let alive: Vec<bool> = cube.nodes().map(|pe| !pe_faults.is_failed(pe)).collect();
        if alive.iter().filter(|&&alive| alive).count() < 2 {
            return Err(MachineError::NobodyLeft);
        }
        let failed_io_nodes = placement.io_nodes_down(&pe_faults, &faults.io_nodes)?;
        if failed_io_nodes.len() == placement.io_nodes().len() {
            return Err(MachineError::NoIoNodeLeft);
        }
        Ok(Self {
            pe_faults,
            io_link_faults,
            alive,
            failed_io_nodes,
        })
    }
}

impl Faulted {
    /// Return the routes and the assignment of PEs under `faults`, or an error if the machine cannot run.
    pub fn new(
        cube: Hypercube,
        io_cube: IncompleteHypercube,
        placement: &Placement,
        faults: &FaultSpec,
    ) -> Result<Self, MachineError> {
        let WorkingParts {
            pe_faults,
            io_link_faults,
            alive,
            failed_io_nodes,
        } = WorkingParts::new(cube, io_cube, placement, faults)?;
        let routed = |faults: CubeFaults| (!faults.is_none()).then(|| FaultyCube::new(faults));
        let (routes, io_routes) = (routed(pe_faults.clone()), routed(io_link_faults));
        let io_faults = CubeFaults::new(io_cube, &failed_io_nodes, &faults.io_links)?;
        let serving_io_node =
            placement.forwarding(&cube, &failed_io_nodes, &placement.clients(&pe_faults))?;
        let io_node_of_pe = placement.server_of_each(cube, &pe_faults, &serving_io_node);
        Ok(Self {
            routes,
            io_routes,
            io_faults,
            alive,
            io_node_of_pe,
            serving_io_node,
        })
    }

    /// Return the working PEs that each I/O node serves.
    pub fn clients(&self) -> Vec<Vec<u32>> {
        let mut clients = vec![Vec::new(); self.serving_io_node.len()];
        for (pe, asked) in (0u32..).zip(&self.io_node_of_pe) {
            if let Some(asked) = *asked {
                clients[self.serving_io_node[asked as usize] as usize].push(pe);
            }
        }
        clients
    }
}
