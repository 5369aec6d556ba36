//! Replacement of failed I/O nodes: forwarding addresses and servers.

use super::{Placement, PlacementError};
use crate::{Adjacency, CubeFaults, Hypercube, distance};

impl Placement {
    /// Return the forwarding address of every I/O node, by index; `failed` lists the failed ones.
    /// The address of a working I/O node is its own index. That of a failed one is the working I/O
    /// node whose PE is the fewest hops away; of several, the one that serves the fewest PEs so far
    /// (including those that it takes over), then the lowest. Failed I/O nodes choose in ascending
    /// order. `clients` contains the number of PEs of each I/O node, by index; the PEs of a failed
    /// I/O node use its replacement.
    ///
    /// "In case an I/O node fails, the I/O requests meant for that node can be routed to a nearby
    /// I/O node by simply changing the forwarding address at the PE node connected to the failed
    /// I/O node" (section 3.2 of the hypercube paper). So all PEs of a failed I/O node get the same
    /// replacement.
    ///
    /// # Errors
    /// A listed I/O node does not exist, or no working one can be reached.
    ///
    /// # Panics
    /// `network` has fewer nodes than this placement has PEs, or `clients` has fewer entries than
    /// I/O nodes.
    pub fn forwarding(
        &self,
        network: &impl Adjacency,
        failed: &[u32],
        clients: &[u32],
    ) -> Result<Vec<u32>, PlacementError> {
        let works = self.working_except(failed)?;
        let count = self.io_node_count();
        let mut serves = clients.to_vec();
        let mut address: Vec<u32> = (0..count).collect();
        for index in (0..count).filter(|&index| !works[index as usize]) {
            let pe = self.io_nodes()[index as usize];
            let hops = distance::hops_from(network, &[pe]);
            let nearest = (0..count)
                .filter(|&other| works[other as usize])
                .filter_map(|other| Some((hops[self.io_nodes()[other as usize] as usize]?, other)))
                .min_by_key(|&(hops, other)| (hops, serves[other as usize], other));
            let Some((_, replacement)) = nearest else {
                return Err(PlacementError::NoWorkingIoNode { index });
            };
            serves[replacement as usize] += clients[index as usize];
            address[index as usize] = replacement;
        }
        Ok(address)
    }

    /// Return the number of working client PEs of each I/O node, by index. The number is zero if
    /// the PE of the I/O node has failed, since this PE then forwards no requests: see
    /// [`server_of_each`](Self::server_of_each).
    pub fn clients(&self, pes: &CubeFaults) -> Vec<u32> {
        let mut clients = vec![0; self.io_node_count() as usize];
        for pe in pes.working_nodes() {
            if !pes.is_failed(self.server_pe(pe)) {
                clients[self.server(pe) as usize] += 1;
            }
        }
        clients
    }

    /// Return the I/O node that each PE sends its requests to; `None` for failed PEs.
    ///
    /// It is normally the PE's server, even if the I/O node has failed but its PE works, since this
    /// PE forwards requests to the address in `attends`. If the PE of the server has failed, each
    /// of its clients uses the working I/O node the fewest hops away; of several, the one that
    /// serves the fewest working PEs so far (replacements included), then the lowest. PEs choose in
    /// ascending order. Hops are those of the whole cube: a failed link changes routes, not
    /// assignments.
    ///
    /// # Panics
    /// `attends` has fewer entries than there are I/O nodes, or a PE needs an I/O node and no I/O
    /// node has its own index in `attends`.
    pub fn server_of_each(
        &self,
        cube: Hypercube,
        pes: &CubeFaults,
        attends: &[u32],
    ) -> Vec<Option<u32>> {
        let mut serves = vec![0u32; self.io_node_count() as usize];
        let mut server_of_each = vec![None; self.pe_count() as usize];
        let mut left = Vec::new();
        for pe in pes.working_nodes() {
            if pes.is_failed(self.server_pe(pe)) {
                left.push(pe);
            } else {
                let server = self.server(pe);
                server_of_each[pe as usize] = Some(server);
                serves[attends[server as usize] as usize] += 1;
            }
        }
        let working: Vec<u32> = (0..self.io_node_count())
            .filter(|&node| attends[node as usize] == node)
            .collect();
        for pe in left {
            let hops = |node: u32| cube.distance(pe, self.io_nodes()[node as usize]);
            let nearest = working
                .iter()
                .copied()
                .min_by_key(|&node| (hops(node), serves[node as usize], node))
                .expect("some I/O node works");
            server_of_each[pe as usize] = Some(nearest);
            serves[nearest as usize] += 1;
        }
        server_of_each
    }

    /// Return the I/O nodes that do not work, ascending: those in `failed` and those whose PE has
    /// failed, since an I/O node and its PE share a board.
    ///
    /// # Errors
    /// A listed I/O node does not exist.
    ///
    /// # Panics
    /// `pes` belongs to a cube with fewer nodes than this placement has PEs.
    pub fn io_nodes_down(
        &self,
        pes: &CubeFaults,
        failed: &[u32],
    ) -> Result<Vec<u32>, PlacementError> {
        let works = self.working_except(failed)?;
        let attached = (0..).zip(self.io_nodes().iter().zip(works));
        Ok(attached
            .filter(|&(_, (&pe, works))| !works || pes.is_failed(pe))
            .map(|(index, _)| index)
            .collect())
    }

    /// Return for each I/O node whether it is not in `failed`.
    fn working_except(&self, failed: &[u32]) -> Result<Vec<bool>, PlacementError> {
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
