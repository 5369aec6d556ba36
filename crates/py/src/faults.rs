//! Failed parts of a hypercube, as functions of the Python package pass them to the core.

use crate::question::{Link, Refusal, Whole};
use isthmus_machine::hypercube::spec::FaultSpec;
use isthmus_topology::{CubeFaults, FaultError, Hypercube, IncompleteHypercube, Placement};
use serde::Deserialize;

#[derive(Default, Deserialize)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "an object with lists of failed pes, io_nodes, links and io_links"
)]
/// The failed parts of a hypercube as Python passes them: numbers of PEs and I/O nodes, and links by their ends.
pub(crate) struct FaultsQuestion {
    pub pes: Vec<Whole>,
    pub io_nodes: Vec<Whole>,
    pub links: Vec<Link>,
    pub io_links: Vec<Link>,
}

/// Return the network that connects the I/O nodes of a placement: an incomplete hypercube, which has any number of
/// nodes.
pub(crate) fn io_cube(placement: &Placement) -> IncompleteHypercube {
    IncompleteHypercube::new(placement.io_node_count())
        .expect("a placement has at least one I/O node and no more than its cube has PEs")
}

/// Convert node numbers from [`Whole`], the type of parsed JSON, to integers.
fn plain(list: &[Whole]) -> Vec<u32> {
    list.iter().map(|whole| whole.0).collect()
}

/// Return links as pairs of node numbers.
fn pairs(list: &[Link]) -> Vec<(u32, u32)> {
    list.iter().map(|&Link(from, to)| (from, to)).collect()
}

impl FaultsQuestion {
    /// Return whether all lists of failed parts are empty.
    pub(crate) fn is_none(&self) -> bool {
        self.pes.is_empty()
            && self.io_nodes.is_empty()
            && self.links.is_empty()
            && self.io_links.is_empty()
    }

    /// Convert the faults to the type that is part of the description of a hypercube machine.
    pub(crate) fn spec(&self) -> FaultSpec {
        FaultSpec {
            pes: plain(&self.pes),
            io_nodes: plain(&self.io_nodes),
            links: pairs(&self.links),
            io_links: pairs(&self.io_links),
        }
    }

    /// Return the failed nodes and links of the network that connects the PEs.
    pub(crate) fn pe_network(&self, cube: Hypercube) -> Result<CubeFaults, Refusal> {
        let pes = plain(&self.pes);
        CubeFaults::new(cube, &pes, &pairs(&self.links)).map_err(|error| match error {
            FaultError::MissingNode { node, .. } if pes.contains(&node) => {
                Refusal::at("faults.pes", error)
            }
            error => Refusal::at("faults.links", error),
        })
    }

    /// Return the failed nodes and links of the network that connects the I/O nodes. The nodes in
    /// `silent` count as failed.
    pub(crate) fn io_network(
        &self,
        io_cube: IncompleteHypercube,
        silent: &[u32],
    ) -> Result<CubeFaults, Refusal> {
        CubeFaults::new(io_cube, silent, &pairs(&self.io_links))
            .map_err(|error| Refusal::at("faults.io_links", error))
    }

    /// Return the numbers of the I/O nodes that do not work, ascending: those that have failed, or whose
    /// processing element (PE) has failed.
    pub(crate) fn silent_io_nodes(
        &self,
        cube: Hypercube,
        placement: &Placement,
    ) -> Result<Vec<u32>, Refusal> {
        placement
            .io_nodes_down(&self.pe_network(cube)?, &plain(&self.io_nodes))
            .map_err(|error| Refusal::at("faults.io_nodes", error))
    }
}
