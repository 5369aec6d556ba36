//! Deadlock check of a routing: the result is a proof of freedom from deadlock, or a possible cycle
//! of waiting messages.
//!
//! Under wormhole routing a message holds the channels it has crossed while it requests the next
//! one. A deterministic routing is free of deadlock exactly when there is no cycle of channels in
//! which a message that holds one channel may request the next (Dally and Seitz, reference 7 of the
//! hypercube paper, theorem 1). The proof is a numbering of the channels that increases along every
//! route.

use std::collections::VecDeque;
use std::fmt;

/// A number for each channel such that the numbers increase strictly along every dependency between
/// channels. It proves freedom from deadlock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbering {
    number: Vec<u32>,
}

impl Numbering {
    /// Return the number that the proof of freedom from deadlock assigns to each channel, ordered by
    /// channel index. The numbers are `0..channel_count`, each once.
    pub fn numbers(&self) -> &[u32] {
        &self.number
    }
}

/// Channels whose messages can wait for one another in a cycle: a message that holds `channels[i]`
/// may request `channels[i + 1]`, and a message that holds the last channel may request the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DependencyCycle {
    /// Indices of the channels in the cycle. The cycle is the shortest one through the first
    /// channel.
    pub channels: Vec<usize>,
}

impl fmt::Display for DependencyCycle {
    /// Write the error message with the channels of the cycle.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "deadlock is possible: channels ")?;
        for channel in &self.channels {
            write!(f, "{channel} -> ")?;
        }
        write!(f, "{}", self.channels.first().copied().unwrap_or(0))
    }
}

impl std::error::Error for DependencyCycle {}

/// Check the channels `0..channel_count` for cycles. `successors(c)` lists the channels that a
/// message may request while `c` is the last channel that the message holds.
///
/// The time is proportional to the number of dependencies, the memory to the number of channels,
/// since dependencies are not stored. `successors` must return the same channels in every call.
///
/// # Errors
/// A cycle of channels, if one exists.
///
/// # Panics
/// When `successors` names a channel that is not below `channel_count`.
pub fn check<S, I>(channel_count: usize, mut successors: S) -> Result<Numbering, DependencyCycle>
where
    S: FnMut(usize) -> I,
    I: IntoIterator<Item = usize>,
{
    /// Progress of the depth-first search at a channel.
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut mark = vec![Mark::New; channel_count];
    let mut number = vec![0; channel_count];
    let mut next_number = channel_count as u32;
    for start in 0..channel_count {
        if mark[start] != Mark::New {
            continue;
        }
        mark[start] = Mark::Open;
        let mut stack = vec![(start, successors(start).into_iter())];
        while let Some((channel, rest)) = stack.last_mut() {
            let channel = *channel;
            match rest.next() {
                None => {
                    mark[channel] = Mark::Done;
                    next_number -= 1;
                    number[channel] = next_number;
                    stack.pop();
                }
                Some(next) if mark[next] == Mark::New => {
                    mark[next] = Mark::Open;
                    stack.push((next, successors(next).into_iter()));
                }
                Some(next) if mark[next] == Mark::Open => {
                    return Err(shortest_cycle(channel_count, successors, next));
                }
                Some(_) => {}
            }
        }
    }
    Ok(Numbering { number })
}

/// Return the shortest cycle through `origin`, which must be a channel on a cycle. The depth-first
/// search finds long cycles first, but a short one is easier to read.
fn shortest_cycle<S, I>(channel_count: usize, mut successors: S, origin: usize) -> DependencyCycle
where
    S: FnMut(usize) -> I,
    I: IntoIterator<Item = usize>,
{
    let mut before = vec![usize::MAX; channel_count];
    let mut queue = VecDeque::from([origin]);
    while let Some(channel) = queue.pop_front() {
        for next in successors(channel) {
            if next == origin {
                let mut channels = vec![channel];
                while channels[channels.len() - 1] != origin {
                    channels.push(before[channels[channels.len() - 1]]);
                }
                channels.reverse();
                return DependencyCycle { channels };
            }
            if before[next] == usize::MAX {
                before[next] = channel;
                queue.push_back(next);
            }
        }
    }
    unreachable!("depth-first search found channel {origin} on a cycle")
}

/// Channel dependencies of an arbitrary set of paths.
#[derive(Debug, Clone)]
pub struct Dependencies {
    /// For each channel the channels that some path crosses next, in ascending order without
    /// repetition.
    successors: Vec<Vec<usize>>,
}

impl Dependencies {
    /// Return an empty set of dependencies among channels `0..channel_count`.
    pub fn new(channel_count: usize) -> Self {
        Self {
            successors: vec![Vec::new(); channel_count],
        }
    }

    /// Add the dependencies of a path: each channel on it depends on the next one.
    ///
    /// # Panics
    /// When a channel is not below the number of channels.
    pub fn add_path(&mut self, path: impl IntoIterator<Item = usize>) {
        let channel_count = self.successors.len();
        let mut path = path.into_iter();
        let Some(mut held) = path.next() else {
            return;
        };
        for next in path {
            assert!(next < channel_count, "channel {next} of {channel_count}");
            if let Err(place) = self.successors[held].binary_search(&next) {
                self.successors[held].insert(place, next);
            }
            held = next;
        }
    }

    /// Return the channels that some path crosses right after `channel`, ascending.
    pub fn successors(&self, channel: usize) -> &[usize] {
        &self.successors[channel]
    }

    /// Return the number of distinct dependencies.
    pub fn len(&self) -> usize {
        self.successors.iter().map(Vec::len).sum()
    }

    /// Return whether no dependencies exist: no added path crosses more than one channel.
    pub fn is_empty(&self) -> bool {
        self.successors.iter().all(Vec::is_empty)
    }

    /// Check the paths added so far for cycles of dependencies.
    ///
    /// # Errors
    /// A cycle of channels, if one exists.
    pub fn check(&self) -> Result<Numbering, DependencyCycle> {
        check(self.successors.len(), |channel| {
            self.successors[channel].iter().copied()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hypercube, IncompleteHypercube};

    /// Return the links that an e-cube route may cross right after `link`.
    fn ecube_successors(cube: Hypercube, link: usize) -> impl Iterator<Item = usize> {
        let hop = cube.hop(link);
        (0..hop.dimension).map(move |dimension| cube.link(hop.target(), dimension))
    }

    /// Checks that e-cube routing is free of deadlock in cubes of up to 14 dimensions, and channel
    /// numbers increase along routes.
    #[test]
    fn ecube_is_free_of_deadlock_in_up_to_14_dimensions() {
        for dimension in (1..=10).chain([14]) {
            let cube = Hypercube::new(dimension).unwrap();
            let numbering = check(cube.link_count(), |link| ecube_successors(cube, link)).unwrap();
            for (from, to) in [(0, cube.node_count() - 1), (cube.node_count() / 3, 1)] {
                let path = cube
                    .route(from, to)
                    .map(|hop| numbering.numbers()[cube.link(hop.node, hop.dimension)]);
                assert!(path.is_sorted_by(|one, next| one < next));
            }
        }
    }

    /// Checks that the formula for the successors of a link gives the same links as all e-cube
    /// routes.
    #[test]
    fn the_successors_of_a_link_are_those_of_all_ecube_paths() {
        let cube = Hypercube::new(5).unwrap();
        let mut dependencies = Dependencies::new(cube.link_count());
        for from in cube.nodes() {
            for to in cube.nodes() {
                let route = cube.route(from, to);
                dependencies.add_path(route.map(|hop| cube.link(hop.node, hop.dimension)));
            }
        }
        for link in 0..cube.link_count() {
            let expected: Vec<_> = ecube_successors(cube, link).collect();
            assert_eq!(dependencies.successors(link), expected);
        }
    }

    /// Checks that routes in incomplete cubes of 1 to 64 nodes are free of deadlock, and their
    /// successors are correct.
    #[test]
    fn incomplete_cubes_are_free_of_deadlock_for_all_counts_up_to_64() {
        for node_count in 1..=64 {
            let cube = IncompleteHypercube::new(node_count).unwrap();
            let mut dependencies = Dependencies::new(cube.link_count());
            for from in cube.nodes() {
                for to in cube.nodes() {
                    let route = cube.route(from, to);
                    dependencies.add_path(route.map(|hop| cube.link(hop.node, hop.dimension)));
                }
            }
            if let Err(cycle) = dependencies.check() {
                panic!("{node_count} nodes: {cycle}");
            }
            for link in 0..cube.link_count() {
                let found: Vec<_> = cube.successors(link).collect();
                assert_eq!(found, dependencies.successors(link), "{node_count}: {link}");
            }
        }
    }

    /// Checks that the check finds the cycle of channels in a ring with shortest paths.
    #[test]
    fn a_ring_with_shortest_paths_has_a_cycle() {
        // Channel i leads clockwise from node i, channel 6 + i counterclockwise from node i.
        let mut dependencies = Dependencies::new(12);
        for from in 0..6 {
            for hops in 1..=3 {
                dependencies.add_path((0..hops).map(|hop| (from + hop) % 6));
                dependencies.add_path((0..hops).map(|hop| 6 + (from + 6 - hop) % 6));
            }
        }
        let cycle = dependencies.check().unwrap_err();
        assert_eq!(cycle.channels, [0, 1, 2, 3, 4, 5]);
        assert_eq!(
            cycle.to_string(),
            "deadlock is possible: channels 0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 0"
        );
    }

    /// Checks that the check finds a cycle if some sources correct the dimensions in the opposite
    /// order.
    #[test]
    fn different_dimension_orders_have_a_cycle() {
        let cube = Hypercube::new(3).unwrap();
        let mut dependencies = Dependencies::new(cube.link_count());
        for from in cube.nodes() {
            for to in cube.nodes() {
                // Build the path. Sources with odd numbers correct the lowest dimension first,
                // other sources the highest.
                let mut path: Vec<usize> = Vec::new();
                let mut at = from;
                while at != to {
                    let differing = at ^ to;
                    let dimension = if from % 2 == 1 {
                        differing.trailing_zeros()
                    } else {
                        differing.ilog2()
                    };
                    path.push(cube.link(at, dimension));
                    at = cube.neighbor(at, dimension);
                }
                dependencies.add_path(path);
            }
        }
        let cycle = dependencies.check().unwrap_err().channels;
        assert!(
            cycle.len() >= 4,
            "two opposite links never wait for each other here"
        );
        for (index, &held) in cycle.iter().enumerate() {
            let asked = cycle[(index + 1) % cycle.len()];
            assert!(dependencies.successors(held).contains(&asked));
        }
    }

    /// Checks that a channel that waits for itself is reported as a cycle of one channel.
    #[test]
    fn a_channel_that_waits_for_itself_is_a_cycle() {
        let cycle = check(1, |_| [0]).unwrap_err();
        assert_eq!(cycle.channels, [0]);
    }

    /// Checks that each channel has a different number.
    #[test]
    fn channel_numbers_are_distinct() {
        let numbering = check(4, |channel| (channel < 2).then_some(channel + 2)).unwrap();
        let mut numbers = numbering.numbers().to_vec();
        numbers.sort_unstable();
        assert_eq!(numbers, [0, 1, 2, 3]);
    }
}
