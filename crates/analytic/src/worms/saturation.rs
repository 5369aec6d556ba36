//! Computes the load at which a network of channels saturates, and the load at which a channel carries flits all the
//! time.

use super::network::Network;

impl Network {
    /// Return the lowest load at which a channel is held all the time. The result has the relative precision
    /// `precision`. Return `None` if no worms are sent.
    pub fn saturation(&self, precision: f64) -> Option<f64> {
        let full = |load: f64| {
            let held = |used: f64| used.is_nan() || used >= 1.0;
            self.solve_while_unsaturated(load, &mut self.idle(), held)
        };
        let mut high = self.saturation_bound()?;
        let mut low = 0.0;
        while high - low > precision * high {
            let middle = low + (high - low) / 2.0;
            if full(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Some(high)
    }

    /// Return the load at which some channel carries flits all the time; no load can be higher. `None` if no worms are
    /// sent.
    pub fn saturation_bound(&self) -> Option<f64> {
        let carried = (0..self.lanes.len()).map(|channel| {
            let work: f64 = (self.arrivals[channel].iter())
                .map(|arrival| {
                    let step = &self.steps[arrival.step as usize];
                    arrival.rate * self.lengths[step.length].mean
                })
                .sum();
            work / f64::from(self.lanes[channel].max(1))
        });
        let most = carried.fold(0.0, f64::max);
        (most > 0.0).then(|| 1.0 / most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worms::network::Step;
    use crate::worms::network::examples::{network, start};
    use crate::worms::solve::Solved;
    use proptest::prelude::*;

    /// Return a network of three layers of three channels each, for random tests. Each channel leads to two channels of
    /// the next layer, with the probabilities in `split`.
    fn layers(lanes: &[u32], split: &[f64], long: f64) -> Network {
        let steps = (0..18u32)
            .map(|number| {
                let (channel, length) = (number % 9, number / 9);
                let (layer, place) = (channel / 3, channel % 3);
                let next = |place: u32| 9 * length + 3 * (layer + 1) + place % 3;
                let goes = split[number as usize];
                Step {
                    channel,
                    length: length as usize,
                    next: if layer < 2 {
                        vec![(goes, next(place)), (1.0 - goes, next(place + 1))]
                    } else {
                        Vec::new()
                    },
                }
            })
            .collect();
        let starts = [0, 1, 2, 9, 10, 11].map(|step| start(step, 1.0)).to_vec();
        network(lanes, &[20.0, long], steps, starts)
    }

    proptest! {
        /// Checks an assumption of the search for the saturation load: waits and utilisations grow with the load.
        #[test]
        fn waits_and_use_grow_with_the_load(
            lanes in prop::collection::vec(1u32..6, 9),
            split in prop::collection::vec(0.0f64..1.0, 18),
            long in 20.0f64..2000.0,
        ) {
            let network = layers(&lanes, &split, long);
            let full = network.saturation(1e-4).expect("worms are sent");
            let mut before = network.solve(0.0);
            for part in 1..40 {
                let solved = network.solve(full * f64::from(part) / 40.0);
                let grown = |new: f64, old: f64| new >= old * (1.0 - 1e-6) - 1e-6;
                let fullest = |solved: &Solved| solved.utilisation.iter().copied().fold(0.0, f64::max);
                prop_assert!(grown(fullest(&solved), fullest(&before)), "use at {part}/40");
                // Compare single waits only up to 70% of the load: nearer to saturation they may decrease, if nearly
                // all worms of an input follow directly on one another.
                if part <= 28 {
                    for (new, old) in solved.utilisation.iter().zip(&before.utilisation) {
                        prop_assert!(grown(*new, *old), "use at {part}/40: {old} -> {new}");
                    }
                    for (new, old) in solved.waits.iter().zip(&before.waits) {
                        prop_assert!(grown(new.mean, old.mean), "wait at {part}/40: {old:?} -> {new:?}");
                    }
                }
                before = solved;
            }
        }
    }
}
