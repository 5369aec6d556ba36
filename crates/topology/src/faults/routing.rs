//! Routing of a cube with faults: the routes between all working nodes.

use thiserror::Error;

use super::detour::Detours;
use super::local::{self, LocalDetours};
use super::up_down::UpDown;
use super::{CubeFaults, pairs};
use crate::deadlock::Dependencies;
use crate::{Hop, Route};

/// Default maximum number of steps in the search for detours of pairs, which take about one or two
/// seconds.
const SEARCH_STEPS_MAX: u64 = 1 << 28;
/// Maximum number of steps for the checks that detours add no cycle of channel dependencies.
const CHECK_STEPS_MAX: u64 = 1 << 30;

/// A reason why no route exists between two nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RouteError {
    /// The source or the destination has failed.
    #[error("no route from node {from} to node {to}: node {failed} has failed")]
    FailedNode {
        /// Source of the requested route.
        from: u32,
        /// Destination of the requested route.
        to: u32,
        /// The failed node, either the source or the destination.
        failed: u32,
    },
    /// Source and destination work, but no path of working links joins them.
    #[error("no route from node {from} to node {to}: the faults cut them off from each other")]
    Disconnected {
        /// Source of the requested route.
        from: u32,
        /// Destination of the requested route.
        to: u32,
    },
}

/// The kind of routing that a [`FaultyCube`] uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoutingScheme {
    /// No fault breaks any route. All pairs use the routing of the fault-free cube.
    Unaffected,
    /// Pairs of nodes with a broken route have a detour. All other pairs use the routing of the
    /// fault-free cube.
    Detours {
        /// Number of ordered pairs of nodes with a detour.
        affected: usize,
    },
    /// Routes are e-cube, with local detours at broken links: usually the next two dimensions in
    /// the other order.
    LocalDetours {
        /// Number of local detours that are stored.
        places: usize,
    },
    /// All pairs use up*/down* routing, because deadlock-free detours were not found or the search
    /// would have taken too long.
    UpDown,
}

/// The data that each routing scheme stores to find routes.
#[derive(Debug, Clone)]
enum Table {
    Detours(Detours),
    Local(LocalDetours),
    UpDown(UpDown),
}

/// A binary cube with faults and a routing around them that is free of deadlock.
///
/// - Pairs whose route in the fault-free cube (e-cube, or the rule of
///   [`IncompleteHypercube`](crate::IncompleteHypercube)) is unbroken use this route.
/// - The other pairs get a detour, in the order of distance, source and destination. A detour is a
///   shortest path over working links whose channel dependencies close no cycle with those of all
///   other routes, and which needs as few new dependencies as possible. It is longer than the
///   shortest path only if every shorter path that was tried would close a cycle.
/// - If there are too many such pairs, or no detour is found for a pair, the detours are searched
///   for the broken links instead (complete cubes only). Unbroken routes do not change here,
///   either.
/// - If this search also fails, all pairs use up*/down* routing.
///
/// There is no time limit: the routing depends only on the faults.
#[derive(Debug, Clone)]
pub struct FaultyCube {
    faults: CubeFaults,
    table: Table,
}

impl FaultyCube {
    /// Find routes around `faults`. Some pairs of nodes may have no path; see
    /// [`CubeFaults::check_connected`].
    pub fn new(faults: CubeFaults) -> Self {
        Self::with_search_limit(faults, SEARCH_STEPS_MAX)
    }

    /// Find routes like [`new`](Self::new), but with `steps_max` as the maximum number of estimated
    /// search steps for detours of pairs. [`new`](Self::new) uses 2^28 (one or two seconds). 0
    /// selects local detours at once.
    pub fn with_search_limit(faults: CubeFaults, steps_max: u64) -> Self {
        let detours = pairs::affected(&faults, steps_max)
            .and_then(|pairs| Detours::find(&faults, pairs, CHECK_STEPS_MAX))
            .map(Table::Detours);
        let table = detours
            .or_else(|| LocalDetours::find(&faults, CHECK_STEPS_MAX).map(Table::Local))
            .unwrap_or_else(|| Table::UpDown(UpDown::new(&faults)));
        Self { faults, table }
    }

    /// Return the faults that the routing avoids.
    pub fn faults(&self) -> &CubeFaults {
        &self.faults
    }

    /// Return the kind of routing in use.
    pub fn scheme(&self) -> RoutingScheme {
        match &self.table {
            Table::Detours(detours) if detours.len() == 0 => RoutingScheme::Unaffected,
            Table::Detours(detours) => RoutingScheme::Detours {
                affected: detours.len(),
            },
            Table::Local(detours) => RoutingScheme::LocalDetours {
                places: detours.len(),
            },
            Table::UpDown(_) => RoutingScheme::UpDown,
        }
    }

    /// Return the route between two nodes; it is empty if the nodes are the same.
    ///
    /// # Errors
    /// One of the nodes has failed, or no path of working links joins them.
    ///
    /// # Panics
    /// A node does not exist.
    pub fn route(&self, from: u32, to: u32) -> Result<FaultyRoute<'_>, RouteError> {
        for failed in [from, to] {
            if self.faults.is_failed(failed) {
                return Err(RouteError::FailedNode { from, to, failed });
            }
        }
        if !self.faults.is_reachable(from, to) {
            return Err(RouteError::Disconnected { from, to });
        }
        let steps = match &self.table {
            Table::UpDown(up_down) => Steps::Searched(
                up_down
                    .route(&self.faults, from, to)
                    .ok_or(RouteError::Disconnected { from, to })?
                    .into_iter(),
            ),
            Table::Local(detours) => Steps::Local {
                faults: &self.faults,
                detours,
                remaining: from ^ to,
                detour: [].iter(),
            },
            Table::Detours(detours) => match detours.get(from, to) {
                Some(dimensions) => Steps::Stored(dimensions.iter()),
                None => Steps::Own(self.faults.cube().route(from, to)),
            },
        };
        Ok(FaultyRoute { node: from, steps })
    }

    /// Return the channel dependencies of all routes, for [`Dependencies::check`]. Channels are
    /// identified by the link indices of the cube. All pairs of nodes are visited, so this method
    /// is suitable for cubes of up to about 2^12 nodes.
    pub fn dependencies(&self) -> Dependencies {
        let cube = self.faults.cube();
        let mut dependencies = Dependencies::new(cube.link_count());
        for from in cube.nodes() {
            for to in cube.nodes() {
                if let Ok(route) = self.route(from, to) {
                    dependencies.add_path(route.map(|hop| cube.link(hop.node, hop.dimension)));
                }
            }
        }
        dependencies
    }
}

/// The hops of a route of a [`FaultyCube`], in order.
#[derive(Debug, Clone)]
pub struct FaultyRoute<'a> {
    node: u32,
    steps: Steps<'a>,
}

/// The remaining hops of a route, in a form that depends on the routing scheme.
#[derive(Debug, Clone)]
enum Steps<'a> {
    Own(Route),
    Stored(std::slice::Iter<'a, u8>),
    Searched(std::vec::IntoIter<u8>),
    Local {
        faults: &'a CubeFaults,
        detours: &'a LocalDetours,
        /// Dimensions that the route crosses after the current detour, as a bit set.
        remaining: u32,
        detour: std::slice::Iter<'a, u8>,
    },
}

impl Iterator for FaultyRoute<'_> {
    /// One hop of the route: a node and the dimension of the link that leaves it.
    type Item = Hop;

    /// Return the next hop of the route, or `None` at the destination.
    fn next(&mut self) -> Option<Hop> {
        let dimension = match &mut self.steps {
            Steps::Own(route) => route.next()?.dimension,
            Steps::Stored(dimensions) => u32::from(*dimensions.next()?),
            Steps::Searched(dimensions) => u32::from(dimensions.next()?),
            Steps::Local {
                faults,
                detours,
                remaining,
                detour,
            } => {
                if detour.len() == 0
                    && *remaining != 0
                    && let Some(replaced) =
                        local::replaced_dimensions(faults, self.node, *remaining)
                {
                    *detour = detours.take_detour(self.node, replaced, remaining).iter();
                }
                match detour.next() {
                    Some(&dimension) => u32::from(dimension),
                    None => {
                        let dimension = remaining.checked_ilog2()?;
                        *remaining ^= 1 << dimension;
                        dimension
                    }
                }
            }
        };
        let hop = Hop {
            node: self.node,
            dimension,
        };
        self.node = hop.target();
        Some(hop)
    }
}
