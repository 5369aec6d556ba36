//! Wait of worms behind worms of the same channel that go to the same busy channel: rule 4 of the description of the
//! module `worms`.

use crate::moments::Moments;

/// Waits for later channels that the worms on the lanes of a channel have in common.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct SharedWaits {
    /// Probability that all worms go to one lane, on which only one of them moves on at a time.
    pub serial_probability: f64,
    /// E\[W^3\] of the later waits that any two of the worms have in common.
    pub third: f64,
    /// For each next channel, the waits that worms have in common there.
    pub common: Vec<CommonWait>,
    /// Two mean waits at the next channel: as computed, and as if all worms waited in one queue. `None` unless the next
    /// channel has one lane and carries all worms of this channel and no others.
    pub only: Option<(f64, f64)>,
}

/// Waiting time of worms that leave one channel for the same next channel. Worms on different lanes of the first
/// channel may wait at the next one together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CommonWait {
    /// Share of the worms of the channel that go on to this next channel.
    pub share: f64,
    /// E\[W^3\] of the waits W at this next channel, including the later waits that any two of the worms share.
    pub third: f64,
    /// Two mean remaining times of a wait W in progress: when a random worm arrives, E\[W^2\] / (2 E\[W\]), and when a
    /// second one arrives after it, E\[W^3\] / (3 E\[W^2\]).
    pub left: [f64; 2],
}

impl SharedWaits {
    /// Apply rule 4 of the module description of `worms`. Return the probability that worms find all of `lanes` held by
    /// others that wait for the same channel, and the moments of the wait of these worms.
    pub(super) fn wait(&self, rate: f64, lanes: u32, rho: f64) -> (f64, Moments) {
        let m = lanes as i32;
        let (mut probability, mut all) = (0.0, Moments::ZERO);
        for common in &self.common {
            let rate = rate * common.share;
            let [left, longer] = common.left;
            let light = rate * rate * common.third / 6.0 * (rate * longer).powi(m - 2);
            let mean = light / (1.0 + rate * left).powi(m);
            probability += mean / longer;
            all.mean += mean / (1.0 - rho);
            all.second += 2.0 * longer * mean / (1.0 - rho);
            all.third += 6.0 * longer * longer * mean / (1.0 - rho);
        }
        (probability, all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the wait for lanes whose worms all wait for the same next channel. A share s of the worms waits together
    /// for blocks of the length B, with the probability p. In light traffic two arrive during one block, and a third
    /// waits for the rest: (lambda s)^2 p B^3 / 24, where E[W^3] is p B^3 / 4.
    #[test]
    fn worms_wait_for_two_that_wait_for_the_same_channel() {
        let (rate, share, block, probability) = (1e-6, 0.5, 1000.0, 0.2);
        let moment = |k: i32| probability * f64::powi(block, k) / f64::from(k + 1);
        let common = CommonWait {
            share,
            third: moment(3),
            left: [moment(2) / (2.0 * moment(1)), moment(3) / (3.0 * moment(2))],
        };
        let shared = SharedWaits {
            common: vec![common],
            ..SharedWaits::default()
        };
        let expected = (rate * share).powi(2) * probability * block.powi(3) / 24.0;
        assert!((shared.wait(rate, 2, 0.0).1.mean / expected - 1.0).abs() < 0.01);
        // With three lanes, a worm waits only if two others have arrived before it, so the mean wait is
        // shorter.
        let (probability, three) = shared.wait(rate, 3, 0.0);
        assert!(probability > 0.0 && three.mean < expected * rate * share * block);
    }
}
