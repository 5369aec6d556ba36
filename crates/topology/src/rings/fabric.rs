//! Fabrics of rings: their nodes and links, and the rings in service.

use petgraph::unionfind::UnionFind;

use super::grid::Grid;
use super::layout::{self, Layout};
use super::{Faults, RingsError, Shape};

/// A fabric: directed rings joined by nodes that are on more than one ring.
///
/// Nodes are `0..node_count`, rings `0..ring_count`. The link at `position` of a ring leads from
/// the ring's node at this position to the node at the next position; the last link leads to the
/// first node. Links are numbered ring by ring, position by position ([`link`](Self::link)). A node
/// is at most once on a ring, so a link also identifies the interface of the node that it leaves.
///
/// Faults change neither numbers nor rings: rings out of service stay in the lists, but carry no
/// packets.
///
/// ```
/// use isthmus_topology::rings::{Fabric, Faults, Shape};
///
/// let torus = Fabric::new(&Shape::Torus { sizes: vec![6, 6] })?;
/// assert_eq!((torus.node_count(), torus.ring_count(), torus.rings()[0].len()), (36, 12, 6));
///
/// let faults = Faults { nodes: vec![], links: vec![(0, 1)] };
/// let faulted = torus.with_faults(&faults)?;
/// assert_eq!(faulted.rings_out_of_service().collect::<Vec<_>>(), [0]);
/// assert_eq!(faulted.live_nodes().len(), 36);
/// # Ok::<(), isthmus_topology::rings::RingsError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fabric {
    name: String,
    sizes: Option<Vec<u32>>,
    pub(super) grid: Option<Grid>,
    rings: Vec<Vec<u32>>,
    /// For each ring the number of its first link. The last entry is the number of all links.
    first_link: Vec<u32>,
    links: Vec<Link>,
    /// For each node the index of its first link in `leaving`. The last entry is the number of all
    /// links.
    first_leaving: Vec<u32>,
    /// Numbers of all links, ordered by the node that they leave and then by ring.
    leaving: Vec<u32>,
    faults: Faults,
    in_service: Vec<bool>,
    live_nodes: Vec<u32>,
    cut_off: Vec<u32>,
}

/// A link from one node of a ring to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Number of the ring of the link.
    pub ring: u32,
    /// Node that the link leaves.
    pub from: u32,
    /// Node that the link enters.
    pub to: u32,
    /// Number of the next link on the same ring.
    pub next: u32,
}

impl Fabric {
    /// Return the fabric of this shape without faults.
    ///
    /// # Errors
    /// A ring has fewer than two nodes or passes one twice, a torus is too small for its kind, a
    /// node is on no ring or cannot be reached from another, or there are more than
    /// [`MAX_NODES`](super::MAX_NODES) nodes.
    pub fn new(shape: &Shape) -> Result<Self, RingsError> {
        let Layout {
            name,
            sizes,
            grid,
            rings,
        } = layout::layout_of(shape)?;
        let highest = rings.iter().flatten().max().copied();
        let node_count = highest.ok_or(RingsError::NoRings)? + 1;

        let mut first_link = vec![0];
        let mut links = Vec::new();
        for (ring, nodes) in (0..).zip(&rings) {
            let first = links.len() as u32;
            let last = first + nodes.len() as u32 - 1;
            let ends = nodes.iter().zip(nodes.iter().cycle().skip(1));
            for (number, (&from, &to)) in (first..).zip(ends) {
                let next = if number == last { first } else { number + 1 };
                links.push(Link {
                    ring,
                    from,
                    to,
                    next,
                });
            }
            first_link.push(last + 1);
        }

        let mut first_leaving = vec![0; node_count as usize + 1];
        for link in &links {
            first_leaving[link.from as usize + 1] += 1;
        }
        for node in 0..node_count as usize {
            first_leaving[node + 1] += first_leaving[node];
        }
        let mut leaving = vec![0; links.len()];
        let mut filled = first_leaving.clone();
        for (number, link) in (0..).zip(&links) {
            let place = &mut filled[link.from as usize];
            leaving[*place as usize] = number;
            *place += 1;
        }

        let mut fabric = Self {
            name,
            sizes,
            grid,
            in_service: vec![true; rings.len()],
            rings,
            first_link,
            links,
            first_leaving,
            leaving,
            faults: Faults::default(),
            live_nodes: Vec::new(),
            cut_off: Vec::new(),
        };
        fabric.find_live_nodes();
        match fabric.cut_off.first() {
            None => Ok(fabric),
            Some(&first) => Err(RingsError::Unreachable {
                from: 0,
                // Name node 0 and a node without a path to or from it. If node 0 itself is outside
                // the largest connected set, any live node is one.
                to: if first == 0 {
                    fabric.live_nodes[0]
                } else {
                    first
                },
            }),
        }
    }

    /// Return this fabric with additional faults. A failed link or node takes all of its rings out
    /// of service. A failed link `(a, b)` belongs to every ring on which b follows a.
    ///
    /// The result may have no live nodes ([`live_nodes`](Self::live_nodes)); that is no error.
    ///
    /// # Errors
    /// A listed node does not exist, or no ring has a listed link.
    pub fn with_faults(&self, faults: &Faults) -> Result<Self, RingsError> {
        let mut faulted = self.clone();
        for &node in &faults.nodes {
            if node >= self.node_count() {
                let highest = self.node_count() - 1;
                return Err(RingsError::MissingNode { node, highest });
            }
            for link in self.links_from(node) {
                faulted.in_service[self.links[link as usize].ring as usize] = false;
            }
        }
        for &(from, to) in &faults.links {
            let mut found = false;
            if from < self.node_count() {
                for link in self.links_from(from) {
                    let link = self.links[link as usize];
                    if link.to == to {
                        faulted.in_service[link.ring as usize] = false;
                        found = true;
                    }
                }
            }
            if !found {
                return Err(RingsError::MissingLink { from, to });
            }
        }
        faulted.faults.nodes.extend(&faults.nodes);
        faulted.faults.nodes.sort_unstable();
        faulted.faults.nodes.dedup();
        faulted.faults.links.extend(&faults.links);
        faulted.faults.links.sort_unstable();
        faulted.faults.links.dedup();
        faulted.find_live_nodes();
        Ok(faulted)
    }

    /// Find the live nodes, which are connected by rings in service. A ring leads from each of its
    /// nodes to all others, so nodes connected in one direction are also connected in the other.
    fn find_live_nodes(&mut self) {
        let node_count = self.node_count() as usize;
        let mut joined = UnionFind::<u32>::new(node_count);
        for (nodes, _) in self
            .rings
            .iter()
            .zip(&self.in_service)
            .filter(|ring| *ring.1)
        {
            for pair in nodes.windows(2) {
                joined.union(pair[0], pair[1]);
            }
        }
        let part = joined.into_labeling();
        let mut sizes = vec![0u32; node_count];
        for &part in &part {
            sizes[part as usize] += 1;
        }
        let mut largest = 0;
        for node in 1..node_count {
            if sizes[part[node] as usize] > sizes[part[largest] as usize] {
                largest = node;
            }
        }
        let alone = sizes[part[largest] as usize] == 1;
        let failed = &self.faults.nodes;
        (self.live_nodes, self.cut_off) = (0..node_count as u32)
            .filter(|node| failed.binary_search(node).is_err())
            .partition(|&node| !alone && part[node as usize] == part[largest]);
    }

    /// Return the name of the fabric, such as "6 x 6 bidirectional torus".
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Return the number of nodes, including failed ones and those cut off.
    pub fn node_count(&self) -> u32 {
        (self.first_leaving.len() - 1) as u32
    }

    /// Return the number of rings, including those out of service.
    pub fn ring_count(&self) -> u32 {
        self.rings.len() as u32
    }

    /// Return the nodes of each ring, in the order in which packets pass the nodes.
    pub fn rings(&self) -> &[Vec<u32>] {
        &self.rings
    }

    /// Return all links, ordered by their numbers.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Return the number of the link at a position of a ring.
    ///
    /// # Panics
    /// The ring does not exist.
    pub fn link(&self, ring: u32, position: u32) -> u32 {
        self.first_link[ring as usize] + position
    }

    /// Return the numbers of the links that leave a node in the order of their rings. Each ring of
    /// the node has one such link.
    ///
    /// # Panics
    /// The node does not exist.
    pub fn links_from(&self, node: u32) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.leaving[self.leaving_range(node)].iter().copied()
    }

    /// Return the range of entries of `leaving` with the links that leave a node.
    pub(super) fn leaving_range(&self, node: u32) -> std::ops::Range<usize> {
        let node = node as usize;
        self.first_leaving[node] as usize..self.first_leaving[node + 1] as usize
    }

    /// Return the number of the link that leaves a node on a ring, or `None` if the node is not on
    /// the ring.
    pub fn link_on(&self, node: u32, ring: u32) -> Option<u32> {
        self.links_from(node)
            .find(|&link| self.links[link as usize].ring == ring)
    }

    /// Return the number of the link that follows `link` on its ring after `hops` links.
    pub(super) fn link_after(&self, link: u32, hops: u32) -> u32 {
        let ring = self.links[link as usize].ring as usize;
        let (first, end) = (self.first_link[ring], self.first_link[ring + 1]);
        first + (link - first + hops) % (end - first)
    }

    /// Return the number of the link that precedes `link` on its ring.
    pub(super) fn link_before(&self, link: u32) -> u32 {
        let ring = self.links[link as usize].ring as usize;
        if link == self.first_link[ring] {
            self.first_link[ring + 1] - 1
        } else {
            link - 1
        }
    }

    /// Return the number of nodes in each dimension; a ring has one dimension. `None` if the
    /// fabric has no dimensions.
    pub fn sizes(&self) -> Option<&[u32]> {
        self.sizes.as_deref()
    }

    /// Return the coordinates of a node, x first, or `None` if the fabric has no dimensions.
    ///
    /// # Panics
    /// The node does not exist.
    pub fn coordinates(&self, node: u32) -> Option<Vec<u32>> {
        assert!(node < self.node_count(), "no node {node}");
        let mut rest = node;
        let coordinates = self.sizes.as_ref()?.iter().map(|&size| {
            let coordinate = rest % size;
            rest /= size;
            coordinate
        });
        Some(coordinates.collect())
    }

    /// Return all failed nodes and links of the fabric, each once, in ascending order.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Return whether a ring is in service.
    ///
    /// # Panics
    /// The ring does not exist.
    pub fn is_in_service(&self, ring: u32) -> bool {
        self.in_service[ring as usize]
    }

    /// Return whether all rings of the fabric are in service.
    pub fn is_whole(&self) -> bool {
        self.in_service.iter().all(|&works| works)
    }

    /// Return the rings that faults have taken out of service, ascending.
    pub fn rings_out_of_service(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.ring_count()).filter(|&ring| !self.is_in_service(ring))
    }

    /// Return the largest set of nodes that can all reach one another over rings in service,
    /// ascending. Of several equally large sets, the result is the one with the lowest node. It is
    /// empty if no ring is in service.
    pub fn live_nodes(&self) -> &[u32] {
        &self.live_nodes
    }

    /// Return the working nodes outside the largest connected set (the live nodes), ascending.
    pub fn cut_off(&self) -> &[u32] {
        &self.cut_off
    }
}
