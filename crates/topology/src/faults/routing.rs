//! Routes of a cube with faults.

use thiserror::Error;

use super::detour::Detours;
use super::up_down::UpDown;
use super::{CubeFaults, pairs};
use crate::deadlock::Dependencies;
use crate::{Hop, Route};

/// Search steps spent on detours before up*/down* routing is taken instead; about a second.
const WORK_MAX: u64 = 1 << 28;

/// Why there is no route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RouteError {
    /// One end has failed.
    #[error("no route from node {from} to node {to}: node {failed} has failed")]
    FailedNode {
        /// Source.
        from: u32,
        /// Destination.
        to: u32,
        /// The end that has failed.
        failed: u32,
    },
    /// Both ends work, but no path of working links joins them.
    #[error("no route from node {from} to node {to}: the faults cut them off from each other")]
    Disconnected {
        /// Source.
        from: u32,
        /// Destination.
        to: u32,
    },
}

/// How a [`FaultyCube`] routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoutingScheme {
    /// No fault breaks any route: all pairs use the cube's own.
    Unaffected,
    /// Pairs whose own route is broken have a detour; all others keep theirs.
    Detours {
        /// Number of ordered pairs with a detour.
        affected: usize,
    },
    /// All pairs use up*/down* routing, since detours that stay free of deadlock were not found, or
    /// would have taken too long to find.
    UpDown,
}

#[derive(Debug, Clone)]
enum Table {
    Detours(Detours),
    UpDown(UpDown),
}

/// A binary cube with faults and a routing around them that is free of deadlock.
///
/// - Pairs whose own route (e-cube, or that of [`IncompleteHypercube`](crate::IncompleteHypercube))
///   is whole keep it.
/// - The others get a detour, in order of distance, source and destination: a shortest path over
///   working links whose channel dependencies close no cycle with those of all other routes, and
///   which needs as few new ones as possible. It is longer than the shortest path there is only if
///   every shorter one that was tried would close a cycle.
/// - If some pair ends without a detour, or the search would take too many steps, all pairs use
///   up*/down* routing instead. No limit of time is involved: the choice depends on the faults only.
#[derive(Debug, Clone)]
pub struct FaultyCube {
    faults: CubeFaults,
    table: Table,
}

impl FaultyCube {
    /// Finds routes around `faults`. Pairs that no path joins are no obstacle here; see
    /// [`CubeFaults::check_connected`].
    pub fn new(faults: CubeFaults) -> Self {
        let detours = pairs::affected(&faults, WORK_MAX)
            .and_then(|pairs| Detours::find(&faults, &pairs, WORK_MAX));
        let table = match detours {
            Some(detours) => Table::Detours(detours),
            None => Table::UpDown(UpDown::new(&faults)),
        };
        Self { faults, table }
    }

    /// What has failed.
    pub fn faults(&self) -> &CubeFaults {
        &self.faults
    }

    /// How pairs are routed.
    pub fn scheme(&self) -> RoutingScheme {
        match &self.table {
            Table::Detours(detours) if detours.len() == 0 => RoutingScheme::Unaffected,
            Table::Detours(detours) => RoutingScheme::Detours {
                affected: detours.len(),
            },
            Table::UpDown(_) => RoutingScheme::UpDown,
        }
    }

    /// The route between two nodes; empty when they are the same.
    ///
    /// # Errors
    /// When one of the nodes has failed, or no path of working links joins them.
    ///
    /// # Panics
    /// When a node does not exist.
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
            Table::Detours(detours) => match detours.get(from, to) {
                Some(dimensions) => Steps::Stored(dimensions.iter()),
                None => Steps::Own(self.faults.cube().route(from, to)),
            },
        };
        Ok(FaultyRoute { node: from, steps })
    }

    /// The channel dependencies of all routes, for [`Dependencies::check`]; channels are the link
    /// indices of the cube. Walks all pairs, so it is for cubes of up to about 2^12 nodes.
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

#[derive(Debug, Clone)]
enum Steps<'a> {
    Own(Route),
    Stored(std::slice::Iter<'a, u8>),
    Searched(std::vec::IntoIter<u8>),
}

impl Iterator for FaultyRoute<'_> {
    type Item = Hop;

    fn next(&mut self) -> Option<Hop> {
        let dimension = match &mut self.steps {
            Steps::Own(route) => route.next()?.dimension,
            Steps::Stored(dimensions) => u32::from(*dimensions.next()?),
            Steps::Searched(dimensions) => u32::from(dimensions.next()?),
        };
        let hop = Hop {
            node: self.node,
            dimension,
        };
        self.node = hop.target();
        Some(hop)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.steps {
            Steps::Own(route) => route.size_hint(),
            Steps::Stored(dimensions) => dimensions.size_hint(),
            Steps::Searched(dimensions) => dimensions.size_hint(),
        }
    }
}

impl ExactSizeIterator for FaultyRoute<'_> {}
