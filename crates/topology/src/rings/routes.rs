//! Routes of packets through a fabric of rings, by a routing rule.

use std::sync::OnceLock;

use super::grid::{Grid, Kind};
use super::results::AllPairs;
use super::table::{Rule, Table};
use super::{Fabric, RoutesError, Routing, Segment};

/// Maximum number of nodes of a fabric with a table of all pairs. This number of nodes takes about
/// 200 MB.
pub const MAX_TABLE_NODES: u32 = 4_096;

/// The shortest paths, in links, between all live nodes of a fabric, and the rule by which each
/// packet selects one of its paths.
///
/// Rings and tori without faults are routed by arithmetic. All other fabrics use a table of all
/// pairs, which takes 2 bytes per pair with [`Routing::Fixed`], 10 with [`Routing::Random`] and 12
/// with [`Routing::FewestChanges`].
///
/// With faults, [`Routing::DimensionOrder`] still applies to every pair of nodes with such a path
/// over rings in service. The other pairs use the shortest remaining paths with the fewest ring
/// changes, one of them at random for each packet.
///
/// ```
/// use isthmus_topology::rings::{Fabric, Routes, Routing, Segment, Shape};
///
/// let torus = Fabric::new(&Shape::Torus { sizes: vec![4, 4] })?;
/// let routes = Routes::new(&torus, Routing::DimensionOrder)?;
/// let mut path = Vec::new();
/// // From (1, 0) three links along x to (0, 0), then one along y, without a random choice.
/// routes.route(1, 4, &mut |_| unreachable!(), &mut path);
/// assert_eq!(path, [Segment { ring: 0, hops: 3 }, Segment { ring: 4, hops: 1 }]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Routes {
    fabric: Fabric,
    routing: Routing,
    method: Method,
    /// For each node, whether it is live: in the largest set of nodes that can reach one another.
    live: Vec<bool>,
    /// Link loads and the check for waiting cycles over all pairs of nodes, once they are computed.
    pub(super) pairs: OnceLock<AllPairs>,
}

/// How the paths of packets are found: from coordinates, from a table of all pairs, or from both.
#[derive(Debug, Clone)]
pub(super) enum Method {
    /// All paths are computed by arithmetic: for all rules on tori whose rings run along the lines
    /// of nodes, and for dimension order on all tori.
    Arithmetic(Grid),
    /// All paths are found in a table of all pairs of nodes.
    Table(Table),
    /// The path in dimension order is computed by arithmetic. If it contains a fault, the path is
    /// taken from the table instead.
    Mixed(Grid, Table),
}

impl Routes {
    /// Return the routes of a fabric under a routing rule.
    ///
    /// # Errors
    /// The rule is dimension order and the fabric has no dimensions with uniform links; it needs a
    /// table for more than [`MAX_TABLE_NODES`]; two nodes have more equal paths than 64 bits can
    /// count; or no two nodes are connected after the faults.
    pub fn new(fabric: &Fabric, routing: Routing) -> Result<Self, RoutesError> {
        let name = || fabric.name().to_string();
        if fabric.live_nodes().is_empty() {
            return Err(RoutesError::NothingLeft { fabric: name() });
        }
        let table = || {
            if fabric.node_count() > MAX_TABLE_NODES {
                return Err(RoutesError::TooManyNodes {
                    fabric: name(),
                    limit: MAX_TABLE_NODES,
                });
            }
            Table::new(fabric, Rule::of(routing))
                .map_err(|(from, to)| RoutesError::TooManyPaths { from, to })
        };
        let method = match (routing, &fabric.grid, fabric.is_whole()) {
            (Routing::DimensionOrder, None, _) => {
                return Err(RoutesError::NoDimensions { fabric: name() });
            }
            (Routing::DimensionOrder, Some(grid), true) => Method::Arithmetic(grid.clone()),
            (Routing::DimensionOrder, Some(grid), false) => Method::Mixed(grid.clone(), table()?),
            (_, Some(grid), true) if grid.kind() != Kind::Faces => Method::Arithmetic(grid.clone()),
            _ => Method::Table(table()?),
        };
        let mut live = vec![false; fabric.node_count() as usize];
        for &node in fabric.live_nodes() {
            live[node as usize] = true;
        }
        Ok(Self {
            fabric: fabric.clone(),
            routing,
            method,
            live,
            pairs: OnceLock::new(),
        })
    }

    /// Return the fabric that the routes belong to.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// Return the rule by which packets select their paths.
    pub fn routing(&self) -> Routing {
        self.routing
    }

    /// Return a text that describes the routing rule, and how faults change it.
    pub fn description(&self) -> String {
        let rule = match (self.routing, &self.method) {
            (Routing::DimensionOrder, Method::Mixed(..)) => {
                "dimension order, x first, where a path of it is left; else one of the shortest \
                 paths left with the fewest ring changes, at random for each packet"
            }
            (Routing::DimensionOrder, _) => {
                "dimension order, x first; of two equally long directions one at random for each \
                 packet"
            }
            (Routing::Fixed, _) => {
                "the first of the shortest paths: at every node the ring with the lowest number \
                 that leads on"
            }
            (Routing::Random, _) => "any of the shortest paths, at random for each packet",
            (Routing::FewestChanges, _) => {
                "one of the shortest paths with the fewest ring changes, at random for each packet"
            }
        };
        rule.to_string()
    }

    /// Return whether the rule is dimension order.
    pub(super) fn dimension_order(&self) -> bool {
        self.routing == Routing::DimensionOrder
    }

    /// Return how paths are found: from coordinates, from a table of all pairs, or from both.
    pub(super) fn method(&self) -> &Method {
        &self.method
    }

    /// Write the path of a packet to `out`, and remove the previous content of `out`. Consecutive
    /// segments are on different rings.
    ///
    /// `choose(n)` must return a number below n, uniformly distributed. The method calls it only
    /// with n of 2 or more.
    ///
    /// # Panics
    /// The nodes are the same, or one of them is not a live node.
    pub fn route(
        &self,
        source: u32,
        destination: u32,
        choose: &mut impl FnMut(u32) -> u32,
        out: &mut Vec<Segment>,
    ) {
        self.check(source, destination);
        out.clear();
        match &self.method {
            Method::Arithmetic(grid) => match self.routing {
                Routing::DimensionOrder => {
                    let whole = grid.dimension_order(source, destination, |_| true, choose, out);
                    debug_assert!(whole.is_some(), "all rings work");
                }
                Routing::Fixed => grid.lowest_rings(source, destination, out),
                Routing::Random => grid.random_shortest_path(source, destination, choose, out),
                Routing::FewestChanges => {
                    grid.random_dimension_order(source, destination, choose, out);
                }
            },
            Method::Table(table) => {
                let paths = table.paths(&self.fabric, destination);
                paths.sample(source, choose, out);
            }
            Method::Mixed(grid, table) => {
                let works = |ring| self.fabric.is_in_service(ring);
                // Take the path in dimension order. If it turns out to be broken, take one from the
                // table instead, with new random choices.
                let whole = grid.dimension_order(source, destination, works, choose, out);
                if whole.is_none() {
                    out.clear();
                    let paths = table.paths(&self.fabric, destination);
                    paths.sample(source, choose, out);
                }
            }
        }
    }

    /// Panic if the nodes are the same, or one is outside the largest connected set of nodes.
    fn check(&self, source: u32, destination: u32) {
        assert_ne!(source, destination, "a packet to its own source");
        for node in [source, destination] {
            let live = self.live.get(node as usize) == Some(&true);
            assert!(live, "node {node} is not a live node");
        }
    }

    /// Return the number of links on a shortest path between two nodes.
    ///
    /// # Panics
    /// One of the nodes is not a live node.
    pub fn distance(&self, source: u32, destination: u32) -> u32 {
        if source == destination {
            return 0;
        }
        self.check(source, destination);
        let by_table = |table: &Table| {
            let paths = table.paths(&self.fabric, destination);
            paths.distance(source).expect("live nodes are joined")
        };
        match &self.method {
            Method::Table(table) | Method::Mixed(_, table) => by_table(table),
            Method::Arithmetic(grid) => (0..grid.dimensions())
                .filter_map(|dimension| grid.offset(source, destination, dimension))
                .map(|offset| offset.hops)
                .sum(),
        }
    }
}
