//! Rule 4: waits for worms of the same channel that are bound for the same busy place.

use crate::moments::Moments;

/// What the worms on the lanes of a channel share further on.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Ahead {
    /// The probability that all of them are bound for one lane, where only one moves on at a time.
    pub serial: f64,
    /// E\[W^3\] of the later waits that any two of them have in common.
    pub third: f64,
    /// By the channel that they go on to.
    pub common: Vec<Common>,
    /// The mean wait at the channel of one lane that all of them go on to and nothing else crosses, and what it would be
    /// if all waited there.
    pub only: Option<(f64, f64)>,
}

/// The time for which the worms of a channel that go on to one other may all have to wait there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Common {
    /// The share of worms that go on there.
    pub share: f64,
    /// E\[W^3\] over all of them, with what any two of these have in common later.
    pub third: f64,
    /// Mean time left of a wait, and of one that has more worms behind it: E\[W^2\] / 2 E\[W\] and E\[W^3\] / 3 E\[W^2\].
    pub left: [f64; 2],
}

impl Ahead {
    /// Rule 4: how often worms find all of `lanes` held by others that wait for the same channel, and how long they
    /// wait for that.
    pub(super) fn wait(&self, rate: f64, lanes: u32, rho: f64) -> (f64, Moments) {
        let m = lanes as i32;
        let (mut often, mut all) = (0.0, Moments::ZERO);
        for common in &self.common {
            let rate = rate * common.share;
            let [left, longer] = common.left;
            let light = rate * rate * common.third / 6.0 * (rate * longer).powi(m - 2);
            let mean = light / (1.0 + rate * left).powi(m);
            often += mean / longer;
            all.mean += mean / (1.0 - rho);
            all.second += 2.0 * longer * mean / (1.0 - rho);
            all.third += 6.0 * longer * longer * mean / (1.0 - rho);
        }
        (often, all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A share s of the worms waits together for blocks of the length B, with the probability p. In light traffic two come in
    /// one block, and a third waits for the rest: (lambda s)^2 p B^3 / 24, where E[W^3] is p B^3 / 4.
    #[test]
    fn worms_wait_for_two_that_wait_for_the_same_channel() {
        let (rate, share, block, often) = (1e-6, 0.5, 1000.0, 0.2);
        let moment = |k: i32| often * f64::powi(block, k) / f64::from(k + 1);
        let common = Common {
            share,
            third: moment(3),
            left: [moment(2) / (2.0 * moment(1)), moment(3) / (3.0 * moment(2))],
        };
        let ahead = Ahead {
            common: vec![common],
            ..Ahead::default()
        };
        let expected = (rate * share).powi(2) * often * block.powi(3) / 24.0;
        assert!((ahead.wait(rate, 2, 0.0).1.mean / expected - 1.0).abs() < 0.01);
        // With three lanes a further one must come first.
        let (often, three) = ahead.wait(rate, 3, 0.0);
        assert!(often > 0.0 && three.mean < expected * rate * share * block);
    }
}
