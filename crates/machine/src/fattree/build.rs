//! From the description of a fat tree to what a simulation runs on.

use super::spec::FatTreeSpec;
use crate::packets::{Network, NetworkError};
use isthmus_packet::routes::FatTree;
use isthmus_topology::trees::{Tree, TreesError};
use std::sync::Arc;
use thiserror::Error;

/// Why a fat tree cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MachineError {
    /// Its switches are no tree.
    #[error(transparent)]
    Tree(#[from] TreesError),
    /// Its links, switches or interfaces cannot be.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

/// A fat tree.
#[derive(Debug)]
pub struct Machine {
    spec: FatTreeSpec,
    tree: Tree,
    routes: Arc<FatTree>,
    network: Network,
}

impl Machine {
    /// Builds what `spec` describes.
    ///
    /// # Errors
    /// A tree that does not close, rules that contradict one another.
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

    /// The description it was built from.
    pub fn spec(&self) -> &FatTreeSpec {
        &self.spec
    }

    /// The tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Where packets may go on it.
    pub fn routes(&self) -> &Arc<FatTree> {
        &self.routes
    }

    /// Its links, switches and interfaces.
    pub fn network(&self) -> &Network {
        &self.network
    }
}
