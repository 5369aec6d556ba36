//! Channels on the path of each message class of a hypercube with I/O nodes.
//!
//! Each channel costs one cycle, so without contention the header of a message needs as many
//! cycles as its path has channels. Lanes: k between PE and router, m between router and I/O node,
//! r between I/O node and I/O router, n from I/O router to router.
//!
//! | class | path |
//! |---|---|
//! | PE-PE | k, e-cube, k |
//! | request, write | k, e-cube to the own class I PE, m |
//! | forward | r, I/O e-cube, r (without an I/O network: m, e-cube, m) |
//! | local reply | m, e-cube, k |
//! | remote reply | r, I/O e-cube, n, e-cube, k (without an I/O network: m, e-cube, k) |

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::check_not_negative;

/// What a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageClass {
    /// Between two PEs.
    PePe,
    /// A read request to the local I/O node.
    Request,
    /// A write, with its data, to the local I/O node.
    Write,
    /// A request that the local I/O node passes on to the remote one that has the block.
    Forward,
    /// A block from the local I/O node.
    ReplyLocal,
    /// A block from a remote I/O node.
    ReplyRemote,
}

impl MessageClass {
    /// Every class.
    pub const ALL: [Self; 6] = [
        Self::PePe,
        Self::Request,
        Self::Write,
        Self::Forward,
        Self::ReplyLocal,
        Self::ReplyRemote,
    ];

    /// The name used in scenarios and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PePe => "pe_pe",
            Self::Request => "request",
            Self::Write => "write",
            Self::Forward => "forward",
            Self::ReplyLocal => "reply_local",
            Self::ReplyRemote => "reply_remote",
        }
    }

    /// Channels on the path besides the links that cross dimensions.
    pub const fn fixed_channels(self, io_network: bool) -> u32 {
        match self {
            Self::ReplyRemote if io_network => 3,
            _ => 2,
        }
    }

    /// Channels on a path that crosses `dimensions` links in all (both cubes together).
    pub const fn channels(self, dimensions: u32, io_network: bool) -> u32 {
        self.fixed_channels(io_network) + dimensions
    }
}

/// How many messages travel how far: `counts[h]` of them cross h dimensions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Distances {
    counts: Vec<f64>,
    total: f64,
}

impl Distances {
    /// From counts or shares; `counts[h]` belongs to distance h.
    ///
    /// # Errors
    /// A negative or infinite count, or none above zero.
    pub fn new(counts: Vec<f64>) -> Result<Self, Error> {
        for &count in &counts {
            check_not_negative("count of a distance", count)?;
        }
        let total: f64 = counts.iter().sum();
        if total > 0.0 && total.is_finite() {
            Ok(Self { counts, total })
        } else {
            Err(Error::Contradiction(
                "a histogram of distances needs at least one message",
            ))
        }
    }

    /// Uniform traffic between different nodes of a `dimension`-cube: C(n, h) nodes at distance h.
    ///
    /// # Errors
    /// A cube of dimension zero, which has no two nodes.
    pub fn uniform(dimension: u32) -> Result<Self, Error> {
        let mut counts = vec![0.0; dimension as usize + 1];
        let mut nodes = 1.0;
        for distance in 1..=dimension {
            nodes = nodes * f64::from(dimension - distance + 1) / f64::from(distance);
            counts[distance as usize] = nodes;
        }
        Self::new(counts)
    }

    /// Mean distance.
    pub fn mean(&self) -> f64 {
        let sum: f64 = (0u32..)
            .zip(&self.counts)
            .map(|(distance, count)| f64::from(distance) * count)
            .sum();
        sum / self.total
    }

    /// Largest distance that occurs.
    pub fn max(&self) -> u32 {
        self.counts
            .iter()
            .rposition(|&count| count > 0.0)
            .unwrap_or(0) as u32
    }

    /// Distances of a path made of an independent one of these followed by one of `next`.
    pub fn then(&self, next: &Self) -> Self {
        let mut counts = vec![0.0; self.counts.len() + next.counts.len() - 1];
        for (here, &count) in self.counts.iter().enumerate() {
            for (there, &other) in next.counts.iter().enumerate() {
                counts[here + there] += count * other;
            }
        }
        Self {
            counts,
            total: self.total * next.total,
        }
    }

    /// Mean header latency in cycles without contention, from generation to the header's arrival:
    /// the mean number of channels.
    pub fn zero_load_latency(&self, class: MessageClass, io_network: bool) -> f64 {
        f64::from(class.fixed_channels(io_network)) + self.mean()
    }

    /// Whether messages of `shortest` flits or more are longer than every path, which the adjusted
    /// service times of section 6 (and the rule by which a lane is released) presuppose.
    pub fn shorter_than(&self, shortest: u32, class: MessageClass, io_network: bool) -> bool {
        class.channels(self.max(), io_network) < shortest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_distances_have_the_known_mean() {
        for dimension in 1..=20u32 {
            let nodes = 2f64.powi(dimension as i32);
            let expected = f64::from(dimension) * nodes / (2.0 * (nodes - 1.0));
            let distances = Distances::uniform(dimension).unwrap();
            assert!((distances.mean() - expected).abs() < 1e-9);
            assert_eq!(distances.max(), dimension);
        }
    }

    #[test]
    fn a_remote_reply_crosses_both_cubes() {
        // 7-cube: I/O cube of dimension 4, then 1/8 of the requesters are class I PEs.
        let io = Distances::uniform(4).unwrap();
        let way = io.then(&Distances::new(vec![1.0, 7.0]).unwrap());
        let expected = 3.0 + 4.0 * 8.0 / 15.0 + 7.0 / 8.0;
        let latency = way.zero_load_latency(MessageClass::ReplyRemote, true);
        assert!((latency - expected).abs() < 1e-12);
        assert_eq!(way.max(), 5);
        assert!(way.shorter_than(32, MessageClass::ReplyRemote, true));
        assert!(!way.shorter_than(8, MessageClass::ReplyRemote, true));
    }

    #[test]
    fn empty_histograms_are_refused() {
        assert!(Distances::new(vec![]).is_err());
        assert!(Distances::new(vec![0.0, -1.0]).is_err());
        assert!(Distances::uniform(0).is_err());
    }
}
