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

impl Faulted {
    pub fn new(
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
        let pe_faults = CubeFaults::new(cube, &faults.pes, &faults.links)?;
        let routes = routed("PE", pe_faults.clone())?;
        // The I/O router of a failed I/O node goes on working (section 3.2).
        let io_routes = routed("I/O", CubeFaults::new(io_cube, &[], &faults.io_links)?)?;
        let alive: Vec<bool> = cube.nodes().map(|pe| !pe_faults.is_failed(pe)).collect();
        if alive.iter().filter(|&&alive| alive).count() < 2 {
            return Err(MachineError::NobodyLeft);
        }
        let silent = placement.silent(&pe_faults, &faults.io_nodes)?;
        if silent.len() == placement.io_nodes().len() {
            return Err(MachineError::NoIoNodeLeft);
        }
        let io_faults = CubeFaults::new(io_cube, &silent, &faults.io_links)?;
        let attends = placement.forwarding(&cube, &silent, &placement.clients(&pe_faults))?;
        let asks = placement.asked(cube, &pe_faults, &attends);
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
