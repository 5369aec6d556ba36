//! Nodes, rings and the interfaces between them.

use crate::Error;
use crate::limits::{RING_NODES_MAX, RINGS_MAX};
use isthmus_kernel::{Id, Table, id};
use isthmus_topology::rings::Segment;

id! {
    /// Number of an interface. The interfaces of a node have consecutive numbers, in the order of
    /// its rings.
    pub struct InterfaceId;
}

/// An interface of a node to a ring, with its position on the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interface {
    /// Number of the node of the interface.
    pub node: u32,
    /// Number of the ring of the interface.
    pub ring: u32,
    /// The interface to which the output link leads.
    pub next: InterfaceId,
    /// Number of the interface among the interfaces of its node.
    pub port: u32,
    /// Position of the node on the ring.
    position: u32,
}

/// Directed rings over numbered nodes. Each node has one interface for each of its rings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fabric {
    interfaces: Table<InterfaceId, Interface>,
    /// Ring of each interface, stored apart from the other fields for fast searches.
    rings: Table<InterfaceId, u32>,
    /// Number of the first interface of each node, and the number of interfaces as a last entry.
    first: Vec<InterfaceId>,
    /// Interfaces of all rings, ring by ring, each ring in the order in which packets pass them.
    around: Vec<InterfaceId>,
    /// Index in `around` at which each ring starts, and the length of `around` as a last entry.
    starts: Vec<u32>,
}

impl Fabric {
    /// Create a fabric of `nodes` nodes and these rings. Each ring is a list of nodes in the order
    /// in which packets pass them. A node may be on no ring; then it can neither send nor receive.
    ///
    /// # Errors
    /// A ring has fewer than two nodes or more than [`RING_NODES_MAX`]. A ring names a node that
    /// does not exist, or a node twice. A node is on more than [`RINGS_MAX`] rings.
    pub fn new(nodes: u32, rings: &[Vec<u32>]) -> Result<Self, Error> {
        let mut counts = vec![0u32; nodes as usize];
        for (ring, members) in rings.iter().enumerate() {
            let ring = ring as u32;
            if members.len() < 2 || members.len() > RING_NODES_MAX {
                return Err(Error::RingSize {
                    ring,
                    nodes: members.len(),
                });
            }
            let mut sorted = members.clone();
            sorted.sort_unstable();
            for (index, &node) in sorted.iter().enumerate() {
                if node >= nodes {
                    return Err(Error::NoSuchNode { ring, node, nodes });
                }
                if index > 0 && sorted[index - 1] == node {
                    return Err(Error::NodeTwice { ring, node });
                }
                counts[node as usize] += 1;
                if counts[node as usize] as usize > RINGS_MAX {
                    return Err(Error::TooManyRings { node });
                }
            }
        }
        let mut first = Vec::with_capacity(counts.len() + 1);
        let mut sum = 0;
        for &count in &counts {
            first.push(InterfaceId::new(sum));
            sum += count;
        }
        first.push(InterfaceId::new(sum));
        let empty = Interface {
            node: 0,
            ring: 0,
            next: InterfaceId::NONE,
            port: 0,
            position: 0,
        };
        let mut interfaces = Table::of(sum as usize, empty);
        let mut around = Vec::with_capacity(sum as usize);
        let mut starts = Vec::with_capacity(rings.len() + 1);
        let mut filled = vec![0u32; nodes as usize];
        for (ring, members) in rings.iter().enumerate() {
            let begin = around.len();
            starts.push(begin as u32);
            for (position, &node) in members.iter().enumerate() {
                let port = filled[node as usize];
                filled[node as usize] += 1;
                let id = InterfaceId::new(first[node as usize].number() + port);
                interfaces[id] = Interface {
                    node,
                    ring: ring as u32,
                    next: InterfaceId::NONE,
                    port,
                    position: position as u32,
                };
                around.push(id);
            }
            let ring = &around[begin..];
            for (position, &id) in ring.iter().enumerate() {
                interfaces[id].next = ring[(position + 1) % ring.len()];
            }
        }
        starts.push(around.len() as u32);
        Ok(Self {
            rings: interfaces
                .values()
                .iter()
                .map(|interface| interface.ring)
                .collect(),
            interfaces,
            first,
            around,
            starts,
        })
    }

    /// Return the number of nodes.
    pub fn node_count(&self) -> u32 {
        self.first.len() as u32 - 1
    }

    /// Return the number of rings.
    pub fn ring_count(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// Return all interfaces, by number. Interface i also identifies the link that leaves it.
    pub fn interfaces(&self) -> &Table<InterfaceId, Interface> {
        &self.interfaces
    }

    /// Return the numbers of the interfaces of `node`.
    #[inline]
    pub fn node_interfaces(&self, node: u32) -> std::ops::Range<usize> {
        self.first[node as usize].index()..self.first[node as usize + 1].index()
    }

    /// Return the interfaces of `ring`, in the order in which packets pass them.
    #[inline]
    pub fn ring_interfaces(&self, ring: u32) -> &[InterfaceId] {
        let ring = ring as usize;
        &self.around[self.starts[ring] as usize..self.starts[ring + 1] as usize]
    }

    /// Return the interface of `node` on `ring`, if it has one.
    #[inline]
    pub fn interface(&self, node: u32, ring: u32) -> Option<InterfaceId> {
        // The loop has no branch: the processor cannot predict which interface matches.
        let range = self.node_interfaces(node);
        let start = range.start as u32;
        let mut found = InterfaceId::NONE;
        for (id, &other) in (start..).zip(&self.rings.values()[range]) {
            let id = InterfaceId::new(id);
            found = if other == ring { id } else { found };
        }
        (found != InterfaceId::NONE).then_some(found)
    }

    /// Return the interface by which a route segment leaves `node`, and the interface at which the
    /// segment ends.
    ///
    /// # Errors
    /// The node is not on the ring, or the segment has 0 links or as many as the ring.
    #[inline]
    pub fn segment_ends(
        &self,
        node: u32,
        segment: Segment,
    ) -> Result<(InterfaceId, InterfaceId), Error> {
        let bad = Error::Route { node, segment };
        if segment.ring >= self.ring_count() {
            return Err(bad);
        }
        let Some(from) = self.interface(node, segment.ring) else {
            return Err(bad);
        };
        let ring = self.ring_interfaces(segment.ring);
        if segment.hops == 0 || segment.hops as usize >= ring.len() {
            return Err(bad);
        }
        let mut position = self.interfaces[from].position as usize + segment.hops as usize;
        if position >= ring.len() {
            position -= ring.len();
        }
        Ok((from, ring[position]))
    }

    /// Return the destination of a route that starts at `node`.
    ///
    /// # Errors
    /// The route is empty, has a segment that the fabric does not have, or stays on a ring from one
    /// segment to the next.
    pub fn route_end(&self, node: u32, route: &[Segment]) -> Result<u32, Error> {
        let Some(&start) = route.first() else {
            return Err(Error::EmptyRoute { node });
        };
        let mut at = node;
        let mut ring = None;
        for &segment in route {
            if ring == Some(segment.ring) {
                return Err(Error::Route { node: at, segment });
            }
            ring = Some(segment.ring);
            at = self.interfaces[self.segment_ends(at, segment)?.1].node;
        }
        if at == node {
            return Err(Error::Route {
                node,
                segment: start,
            });
        }
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return a segment of a route for the tests: `hops` links along a ring.
    fn segment(ring: u32, hops: u32) -> Segment {
        Segment { ring, hops }
    }

    /// Checks the numbers of the interfaces of each node, and their order around each ring.
    #[test]
    fn interfaces_are_numbered_by_node_and_linked_around_the_ring() {
        let fabric = Fabric::new(4, &[vec![2, 0, 1], vec![1, 3, 2]]).unwrap();
        assert_eq!(fabric.node_count(), 4);
        let [one, two, four, five] = [1, 2, 4, 5].map(InterfaceId::new);
        let [zero, three] = [0, 3].map(InterfaceId::new);
        assert_eq!(fabric.interfaces().values().len(), 6);
        // Node 1 has interfaces 1 (ring 0) and 2 (ring 1); node 2 has 3 and 4; node 3 has 5.
        assert_eq!(fabric.node_interfaces(1), 1..3);
        assert_eq!(fabric.interface(2, 1), Some(four));
        assert_eq!(fabric.interface(3, 0), None);
        assert_eq!(fabric.ring_interfaces(0), [three, zero, one]);
        assert_eq!(fabric.interfaces()[one].next, three);
        assert_eq!(fabric.interfaces()[two].next, five);
        assert_eq!(fabric.interfaces()[four].next, two);
    }

    /// Checks the ends of valid routes, and that invalid routes cause errors.
    #[test]
    fn routes_are_followed_and_checked() {
        let fabric = Fabric::new(4, &[vec![2, 0, 1], vec![1, 3, 2]]).unwrap();
        assert_eq!(fabric.route_end(0, &[segment(0, 1), segment(1, 1)]), Ok(3));
        assert_eq!(fabric.route_end(0, &[segment(0, 2)]), Ok(2));
        assert!(fabric.route_end(0, &[]).is_err());
        assert!(fabric.route_end(0, &[segment(0, 3)]).is_err());
        assert!(fabric.route_end(0, &[segment(0, 0)]).is_err());
        assert!(fabric.route_end(0, &[segment(1, 1)]).is_err());
        assert!(fabric.route_end(0, &[segment(7, 1)]).is_err());
        assert!(
            fabric
                .route_end(0, &[segment(0, 1), segment(0, 1)])
                .is_err()
        );
        // A route over both rings that ends at its start.
        assert!(
            fabric
                .route_end(1, &[segment(1, 2), segment(0, 2)])
                .is_err()
        );
    }

    /// Checks that invalid rings cause an error that names the ring.
    #[test]
    fn invalid_rings_cause_errors_that_name_them() {
        let error = |rings: &[Vec<u32>]| Fabric::new(3, rings).unwrap_err().to_string();
        assert_eq!(
            error(&[vec![0, 1], vec![2]]),
            "ring 1 has 1 node; a ring has 2 to 16384"
        );
        assert_eq!(
            error(&[vec![0, 1, 3]]),
            "ring 0 names node 3; the nodes are 0 to 2"
        );
        assert_eq!(error(&[vec![0, 1, 0]]), "ring 0 names node 0 twice");
        assert_eq!(
            Fabric::new(2, &vec![vec![0, 1]; 33]).unwrap_err(),
            Error::TooManyRings { node: 0 }
        );
    }
}
