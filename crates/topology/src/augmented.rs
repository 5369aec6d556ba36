//! PEs and I/O nodes in one address space.

use crate::{Hypercube, Placement};

/// A node of an [`AugmentedHypercube`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AugmentedNode {
    /// The PE of this address.
    Pe(u32),
    /// The I/O node of this index in the sorted placement.
    IoNode(u32),
}

/// The n-cube of PEs extended by a dimension, in which only the positions of the I/O nodes exist
/// (section 3.2 of the hypercube paper). PE `p` has address `p`; the I/O node attached to it has
/// address `2^n + p`: 10000, 10111, 11001 and 11110 for the 4-cube.
///
/// The one link of an I/O node in this space is the one to its PE. The links among I/O nodes are
/// those of the smaller cube over their ranks, [`IncompleteHypercube`](crate::IncompleteHypercube).
#[derive(Debug, Clone)]
pub struct AugmentedHypercube<'a> {
    cube: Hypercube,
    placement: &'a Placement,
}

impl<'a> AugmentedHypercube<'a> {
    /// `cube` with the I/O nodes of `placement`; `None` when the placement is for another number of
    /// PEs.
    pub fn new(cube: Hypercube, placement: &'a Placement) -> Option<Self> {
        (placement.pe_count() == cube.node_count()).then_some(Self { cube, placement })
    }

    /// Number of dimensions of the address space, one more than the PE cube's.
    pub fn dimension(&self) -> u32 {
        self.cube.dimension() + 1
    }

    /// Number of nodes that exist: PEs and I/O nodes.
    pub fn node_count(&self) -> u32 {
        self.cube.node_count() + self.placement.io_node_count()
    }

    /// What is at `address`: `None` for an empty position or one outside the space.
    pub fn at(&self, address: u32) -> Option<AugmentedNode> {
        let extension = self.cube.node_count();
        if address < extension {
            return Some(AugmentedNode::Pe(address));
        }
        let pe = address - extension;
        let index = self.placement.io_nodes().binary_search(&pe).ok()?;
        Some(AugmentedNode::IoNode(index as u32))
    }

    /// The address of `node`; `None` when it does not exist.
    pub fn address(&self, node: AugmentedNode) -> Option<u32> {
        match node {
            AugmentedNode::Pe(pe) => self.cube.contains(pe).then_some(pe),
            AugmentedNode::IoNode(index) => {
                let pe = self.placement.io_nodes().get(index as usize)?;
                Some(self.cube.node_count() | pe)
            }
        }
    }

    /// The addresses that exist one hop from `address`, lowest dimension first; empty when nothing
    /// is at `address`.
    pub fn neighbors(&self, address: u32) -> impl Iterator<Item = u32> + '_ {
        let dimensions = match self.at(address) {
            None => 0..0,
            // I/O nodes that happen to be neighbours in the extension have no link there: they are
            // wired by rank.
            Some(AugmentedNode::IoNode(_)) => self.cube.dimension()..self.dimension(),
            Some(AugmentedNode::Pe(_)) => 0..self.dimension(),
        };
        dimensions
            .map(move |dimension| address ^ (1 << dimension))
            .filter(|&neighbor| self.at(neighbor).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_4_cube_has_its_io_nodes_where_the_paper_prints_them() {
        let cube = Hypercube::new(4).unwrap();
        let placement = Placement::combined(cube);
        let augmented = AugmentedHypercube::new(cube, &placement).unwrap();
        let addresses: Vec<_> = (0..placement.io_node_count())
            .map(|index| augmented.address(AugmentedNode::IoNode(index)).unwrap())
            .collect();
        assert_eq!(addresses, [0b10000, 0b10111, 0b11001, 0b11110]);
        assert_eq!(augmented.dimension(), 5);
        assert_eq!(augmented.node_count(), 20);
        assert_eq!(augmented.at(0b10001), None);
        assert_eq!(augmented.at(0b11001), Some(AugmentedNode::IoNode(2)));
        assert_eq!(augmented.at(32), None);
        assert_eq!(augmented.neighbors(0b11001).collect::<Vec<_>>(), [0b01001]);
        assert_eq!(
            augmented.neighbors(0b01001).collect::<Vec<_>>(),
            [0b01000, 0b01011, 0b01101, 0b00001, 0b11001]
        );
        assert_eq!(augmented.neighbors(0b10001).count(), 0);
    }

    #[test]
    fn a_placement_for_another_cube_is_refused() {
        let placement = Placement::combined(Hypercube::new(4).unwrap());
        assert!(AugmentedHypercube::new(Hypercube::new(5).unwrap(), &placement).is_none());
    }
}
