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
