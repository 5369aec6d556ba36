//! Construction of a fat tree machine from its description.

use super::spec::FatTreeSpec;
use crate::packets::{Network, NetworkError};
use isthmus_packet::routes::FatTree;
use isthmus_topology::trees::{Tree, TreesError};
use std::sync::Arc;
use thiserror::Error;

/// Reason why a fat tree cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MachineError {
    /// The switches do not form a tree.
    #[error(transparent)]
    Tree(#[from] TreesError),
    /// The links, switches or interfaces are invalid.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

/// A fat tree, ready for simulations.
#[derive(Debug)]
pub struct Machine {
    spec: FatTreeSpec,
    tree: Tree,
    routes: Arc<FatTree>,
    network: Network,
}

impl Machine {
    /// Build the machine that `spec` describes.
    ///
    /// # Errors
    /// If the shape is not a valid tree, or parameters contradict one another.
    pub fn new(spec: &FatTreeSpec) -> Result<Self, MachineError> {
        let network = Network::new(&spec.network)?;
        let tree = Tree::new(&spec.shape)?;
        Ok(Self {
            spec: spec.clone(),
            routes: Arc::new(FatTree::new(&tree, spec.ascent)),
            tree,
            network,
        })
    }

    /// Return the description of the machine.
    pub fn spec(&self) -> &FatTreeSpec {
        &self.spec
    }

    /// Return the tree of nodes and switches.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Return the routes of packets.
    pub fn routes(&self) -> &Arc<FatTree> {
        &self.routes
    }

    /// Return the properties of the machine's links, switches and interfaces.
    pub fn network(&self) -> &Network {
        &self.network
    }
}
