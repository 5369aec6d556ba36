//! Who takes over from failed I/O nodes.

use super::{Placement, PlacementError};
use crate::{Adjacency, CubeFaults, distance};

impl Placement {
    /// The forwarding address of every I/O node, by index, when those listed have failed: its own
    /// index for one that works; for a failed one the working I/O node whose PE is fewest hops
    /// away, of equals the one that serves the fewest PEs so far (its own and those taken over),
    /// then the lowest. Failed I/O nodes choose in ascending order.
    ///
    /// "In case an I/O node fails, the I/O requests meant for that node can be routed to a nearby
    /// I/O node by simply changing the forwarding address at the PE node connected to the failed
    /// I/O node" (section 3.2 of the hypercube paper), so all PEs of a failed I/O node follow it to
    /// the same place.
    ///
    /// # Errors
    /// When an I/O node listed does not exist, or no working one can be reached.
    ///
    /// # Panics
    /// When `network` has fewer nodes than this placement has PEs.
    pub fn forwarding(
        &self,
        network: &impl Adjacency,
        failed: &[u32],
    ) -> Result<Vec<u32>, PlacementError> {
        let works = self.without(failed)?;
        let count = self.io_node_count();
        let mut serves: Vec<u32> = self.coverage().served().to_vec();
        let mut address: Vec<u32> = (0..count).collect();
        for index in (0..count).filter(|&index| !works[index as usize]) {
            let pe = self.io_nodes()[index as usize];
            let hops = distance::hops_from(network, &[pe]);
            let nearest = (0..count)
                .filter(|&other| works[other as usize])
                .filter_map(|other| Some((hops[self.io_nodes()[other as usize] as usize]?, other)))
                .min_by_key(|&(hops, other)| (hops, serves[other as usize], other));
            let Some((_, heir)) = nearest else {
                return Err(PlacementError::NoWorkingIoNode { index });
            };
            serves[heir as usize] += self.coverage().served()[index as usize];
            address[index as usize] = heir;
        }
        Ok(address)
    }

    /// The I/O nodes that do not work, ascending: those listed and those whose PE has failed, since
    /// the two share a board.
    ///
    /// # Errors
    /// When an I/O node listed does not exist.
    ///
    /// # Panics
    /// When `pes` is of a cube with fewer nodes than this placement has PEs.
    pub fn silent(&self, pes: &CubeFaults, failed: &[u32]) -> Result<Vec<u32>, PlacementError> {
        let works = self.without(failed)?;
        let attached = (0..).zip(self.io_nodes().iter().zip(works));
        Ok(attached
            .filter(|&(_, (&pe, works))| !works || pes.is_failed(pe))
            .map(|(index, _)| index)
            .collect())
    }

    /// Which I/O nodes are not listed, by index.
    fn without(&self, failed: &[u32]) -> Result<Vec<bool>, PlacementError> {
        let count = self.io_node_count();
        let mut works = vec![true; count as usize];
        for &index in failed {
            match works.get_mut(index as usize) {
                Some(works) => *works = false,
                None => return Err(PlacementError::MissingIoNode { index, count }),
            }
        }
        Ok(works)
    }
}

#[cfg(test)]
mod tests {
    use crate::{CubeFaults, Graph, Hypercube, Placement};

    #[test]
    fn a_failed_io_node_hands_over_to_the_nearest() {
        let cube = Hypercube::new(7).unwrap();
        let placement = Placement::hamming(cube).unwrap();
        let address = placement.forwarding(&cube, &[0, 5]).unwrap();
        for index in 0..16u32 {
            let heir = address[index as usize];
            if [0, 5].contains(&index) {
                let pes = placement.io_nodes();
                // The code has distance 3, and code words at distance 3 from any other.
                assert_eq!(cube.distance(pes[index as usize], pes[heir as usize]), 3);
                assert!(![0, 5].contains(&heir));
            } else {
                assert_eq!(heir, index);
            }
        }
        assert_ne!(address[0], address[5]);
    }

    #[test]
    fn neighbours_share_what_they_take_over() {
        // I/O nodes everywhere in a square: both neighbours of the failed ones are equally near.
        let cube = Hypercube::new(2).unwrap();
        let placement = Placement::list(cube, &[0, 1, 2, 3]).unwrap();
        assert_eq!(placement.forwarding(&cube, &[0, 3]), Ok(vec![1, 1, 2, 2]));
    }

    #[test]
    fn a_failed_pe_silences_its_io_node() {
        let cube = Hypercube::new(4).unwrap();
        let placement = Placement::list(cube, &[1, 4, 9, 14]).unwrap();
        let pes = CubeFaults::new(cube, &[9, 10], &[(0, 1)]).unwrap();
        assert_eq!(placement.silent(&pes, &[3, 0, 3]), Ok(vec![0, 2, 3]));
        assert_eq!(placement.silent(&CubeFaults::none(cube), &[]), Ok(vec![]));
        assert!(placement.silent(&pes, &[4]).is_err());
    }

    #[test]
    fn impossible_requests_are_refused() {
        let cube = Hypercube::new(3).unwrap();
        let placement = Placement::hamming(cube).unwrap();
        let error = placement.forwarding(&cube, &[2]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "failed I/O node 2, but the I/O nodes are 0 to 1"
        );
        let error = placement.forwarding(&cube, &[0, 1]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no working I/O node can be reached from failed I/O node 0"
        );
        let apart = Graph::from_edge_list("a b\nc d").unwrap();
        let placement = Placement::nearest(&apart, vec![0, 2]).unwrap();
        assert!(placement.forwarding(&apart, &[0]).is_err());
    }
}
