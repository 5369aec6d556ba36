//! Search for the knee: the load at which saturation begins.

use crate::error::{Error, open_unit};
use crate::saturation::{SaturationTest, Verdict};

/// Maximum number of loads that the search computes from the growth of the backlog. After these it
/// tests the middle of the bracket.
const HINTS: usize = 4;
/// Minimum distance between the ends of the bracket and a load that the search derives from the
/// growth of the backlog, relative to the width of the bracket.
const MARGIN: f64 = 0.1;

/// Search for the knee by tests of one load after another, which the caller runs.
///
/// The caller alternates [`next`](Self::next) and [`report`](Self::report):
///
/// ```
/// use isthmus_statistics::{KneeSearch, Verdict};
///
/// let mut search = KneeSearch::new(5.0, 20.0, 0.2, 0.05)?;
/// while let Some(load) = search.next() {
///     // Run the simulation at `load`, judged by `search.test(looks)`, longer while undecided.
///     let growth = (1.0 - 11.7 / load).max(0.0);
///     let verdict = if growth > 0.0 { Verdict::Saturated } else { Verdict::Stable };
///     search.report(load, verdict, growth)?;
/// }
/// let bracket = search.bracket();
/// assert!(bracket.stable.unwrap() <= 11.7 && 11.7 <= bracket.saturated.unwrap());
/// assert!(bracket.width().unwrap() <= 0.2);
/// # Ok::<(), isthmus_statistics::Error>(())
/// ```
///
/// The search bisects. In an open system of which a share g of the demands is never served at load
/// x, the knee is near x (1 - g). So up to four proposed loads are half a resolution to either side
/// of that estimate. They save most of the steps and cannot harm the bracket. The ends of the range
/// are tested only if the bracket closes on them. A load that stays undecided at the longest
/// permitted run becomes part of an undecided zone inside the bracket, and the search continues on
/// both sides of the zone.
///
/// **Error rate.** Each load is tested at the level `alpha / tests_max`. So the bracket is wrong
/// (its lower end not stable or its upper end not saturated) with probability at most `alpha`
/// (Bonferroni over all possible tests of the search, `2 ceil(log2(range / resolution)) + 7`).
#[derive(Debug, Clone, PartialEq)]
pub struct KneeSearch {
    low: f64,
    high: f64,
    resolution: f64,
    alpha: f64,
    hints_left: usize,
    hint: Option<f64>,
    bracket: Bracket,
    /// Loads tested so far, in the order of the tests.
    tested: Vec<f64>,
}

/// Loads between which the knee (the load at which saturation begins) lies.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bracket {
    /// Highest load that was found stable; `None` if even the lower end of the range was not.
    pub stable: Option<f64>,
    /// Lowest and highest load between `stable` and `saturated` whose tests stayed undecided.
    pub undecided: Option<(f64, f64)>,
    /// Lowest load that was found saturated; `None` if even the upper end of the range was not.
    pub saturated: Option<f64>,
}

impl Bracket {
    /// Return the distance between the ends of the bracket, or `None` if one end is missing.
    #[must_use]
    pub fn width(&self) -> Option<f64> {
        Some(self.saturated? - self.stable?)
    }
}

impl KneeSearch {
    /// Create a search for the knee between the loads `low` and `high`. It ends at a bracket of the
    /// width `resolution`, in the same unit. Its overall error rate is `alpha`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless `0 < low < high`, `resolution > 0` and `0 < alpha < 1`, all
    /// finite.
    pub fn new(low: f64, high: f64, resolution: f64, alpha: f64) -> Result<Self, Error> {
        open_unit("overall error rate of the search", alpha)?;
        let positive = |value: f64| value > 0.0 && value.is_finite();
        let checks = [
            ("lowest load", low, positive(low), "positive"),
            (
                "highest load",
                high,
                high > low && high.is_finite(),
                "above the lowest load",
            ),
            (
                "resolution of the knee",
                resolution,
                positive(resolution),
                "positive",
            ),
        ];
        if let Some((what, value, _, wanted)) = checks.into_iter().find(|check| !check.2) {
            return Err(Error::OutOfRange {
                what,
                value,
                wanted,
            });
        }
        Ok(Self {
            low,
            high,
            resolution,
            alpha,
            hints_left: HINTS,
            hint: None,
            bracket: Bracket::default(),
            tested: Vec::new(),
        })
    }

    /// Return the maximum number of tests of the search.
    #[must_use]
    pub fn tests_max(&self) -> u32 {
        let halvings = ((self.high - self.low) / self.resolution)
            .log2()
            .ceil()
            .max(0.0);
        // The sum counts the two ends, the hints, and the step that opens an undecided zone with a
        // search on either side of the zone.
        2 * halvings as u32 + HINTS as u32 + 3
    }

    /// Return the test to use at each load, with up to `looks` evaluations of runs of increasing
    /// length.
    #[must_use]
    pub fn test(&self, looks: u32) -> SaturationTest {
        SaturationTest {
            alpha: self.alpha / f64::from(self.tests_max()),
            looks,
            ..SaturationTest::default()
        }
    }

    /// Return the bracket found so far.
    #[must_use]
    pub fn bracket(&self) -> Bracket {
        self.bracket
    }

    /// Return the next load to test, in the unit of the range. The result is `None` once the
    /// bracket is no wider than the resolution, where an undecided zone inside it does not count.
    /// Repeated calls without a report return the same load.
    #[must_use]
    pub fn next(&self) -> Option<f64> {
        let from = self.bracket.stable.unwrap_or(self.low);
        let to = self.bracket.saturated.unwrap_or(self.high);
        match self.bracket.undecided {
            None => self.split(from, to, true, true),
            Some((first, last)) => self
                .split(from, first, true, false)
                .or_else(|| self.split(last, to, false, true)),
        }
    }

    /// Return a load between `from` and `to` to be tested next, if they are further apart than the
    /// resolution. Otherwise return an untested end of the range (`lower`, `upper`: if permitted),
    /// or `None`.
    fn split(&self, from: f64, to: f64, lower: bool, upper: bool) -> Option<f64> {
        let width = to - from;
        // Allow for rounding: repeated halving may end slightly above the resolution.
        if width > self.resolution * (1.0 + 1e-9) {
            let inside = from + MARGIN * width..=to - MARGIN * width;
            let hinted = self.hint.and_then(|knee| {
                let half = 0.5 * self.resolution;
                [knee - half, knee + half]
                    .into_iter()
                    .find(|load| inside.contains(load))
            });
            return Some(hinted.unwrap_or(from + 0.5 * width));
        }
        if lower && self.bracket.stable.is_none() && from == self.low && !self.is_tested(from) {
            return Some(from);
        }
        if upper && self.bracket.saturated.is_none() && to == self.high && !self.is_tested(to) {
            return Some(to);
        }
        None
    }

    /// Return whether this load has been tested.
    fn is_tested(&self, load: f64) -> bool {
        self.tested.contains(&load)
    }

    /// Report the verdict of the test at `load`, and the growth of the backlog per offered demand.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if `load` is not the result of [`next`](Self::next), or if the growth
    /// is not finite.
    pub fn report(&mut self, load: f64, verdict: Verdict, growth: f64) -> Result<(), Error> {
        if self.next() != Some(load) {
            return Err(Error::OutOfRange {
                what: "load reported to the knee search",
                value: load,
                wanted: "the load that it asked for",
            });
        }
        if !growth.is_finite() {
            return Err(Error::OutOfRange {
                what: "backlog growth",
                value: growth,
                wanted: "finite",
            });
        }
        if let Some(hint) = self.hint
            && (load - hint).abs() <= 0.5 * self.resolution * (1.0 + 1e-9)
        {
            self.hints_left -= 1;
        }
        self.tested.push(load);
        match verdict {
            Verdict::Stable => self.bracket.stable = Some(load),
            Verdict::Saturated => {
                self.bracket.saturated = Some(load);
                self.hint = Some(load * (1.0 - growth));
            }
            Verdict::Undecided => {
                let (first, last) = self.bracket.undecided.unwrap_or((load, load));
                self.bracket.undecided = Some((first.min(load), last.max(load)));
            }
        }
        self.drop_contradicted_zone();
        if self.hints_left == 0 || self.bracket.undecided.is_some() {
            self.hint = None;
        }
        Ok(())
    }

    /// Remove an undecided zone that lies entirely below a stable load or above a saturated load.
    fn drop_contradicted_zone(&mut self) {
        let Some((first, last)) = self.bracket.undecided else {
            return;
        };
        let above = self.bracket.stable.is_some_and(|stable| stable > last);
        let below = self
            .bracket
            .saturated
            .is_some_and(|saturated| saturated < first);
        if above || below {
            self.bracket.undecided = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Run a search in which `oracle` tests each load, and return the finished search. Check that
    /// it tests no load twice, none out of range, and not more loads than promised.
    fn run(mut search: KneeSearch, oracle: impl Fn(f64) -> (Verdict, f64)) -> KneeSearch {
        while let Some(load) = search.next() {
            assert!(search.low <= load && load <= search.high);
            assert!(!search.is_tested(load), "no load twice");
            let (verdict, growth) = oracle(load);
            search.report(load, verdict, growth).unwrap();
            assert!(search.tested.len() <= search.tests_max() as usize);
        }
        search
    }

    proptest! {
        /// Test the search with any knee, any width of the undecided zone, and misleading growth.
        #[test]
        fn brackets_the_knee(
            low in 0.1..10.0f64,
            range in 0.1..100.0f64,
            relative in 0.001..0.5f64,
            place in -0.2..1.2f64,
            zone in prop_oneof![Just(0.0), 0.0..0.3f64],
            misled in prop_oneof![Just(1.0), 0.0..3.0f64],
        ) {
            let (high, resolution) = (low + range, range * relative);
            let knee = low + place * range;
            let top = knee + zone * range;
            let search = run(KneeSearch::new(low, high, resolution, 0.05).unwrap(), |load| {
                if load <= knee {
                    (Verdict::Stable, 0.0)
                } else if load > top {
                    (Verdict::Saturated, misled * (1.0 - knee / load))
                } else {
                    (Verdict::Undecided, 0.003)
                }
            });
            let found = search.bracket();
            match found.stable {
                Some(stable) => prop_assert!(stable <= knee),
                None => prop_assert!(knee < low),
            }
            match found.saturated {
                Some(saturated) => prop_assert!(saturated > top),
                None => prop_assert!(top >= high),
            }
            let slack = resolution * (1.0 + 1e-6);
            let (first, last) = match found.undecided {
                Some((first, last)) => (Some(first), Some(last)),
                None => (found.saturated, found.stable),
            };
            if let (Some(from), Some(to)) = (found.stable, first) {
                prop_assert!(to - from <= slack);
            }
            if let (Some(from), Some(to)) = (last, found.saturated) {
                prop_assert!(to - from <= slack);
            }
            if zone == 0.0 && found.stable.is_some() && found.saturated.is_some() {
                prop_assert!(found.width().unwrap() <= slack);
            }
        }
    }

    /// Checks that the growth of the backlog reduces the number of tested loads. The search from
    /// 5..20 to a resolution of 0.1 would take 7.2 halvings. The growth gives the knee after the
    /// first saturated load.
    #[test]
    fn growth_saves_steps() {
        let knee = |load: f64| {
            if load <= 11.7 {
                (Verdict::Stable, 0.0)
            } else {
                (Verdict::Saturated, 1.0 - 11.7 / load)
            }
        };
        let search = run(KneeSearch::new(5.0, 20.0, 0.1, 0.05).unwrap(), knee);
        assert_eq!(search.tested.len(), 3, "{:?}", search.tested);
        let found = search.bracket();
        assert!((found.stable.unwrap() - 11.65).abs() < 1e-9);
        assert!((found.saturated.unwrap() - 11.75).abs() < 1e-9);
    }

    /// Checks that the error probability of the search is divided equally among the maximum number
    /// of tests.
    #[test]
    fn the_error_rate_is_shared_among_the_tests() {
        let search = KneeSearch::new(1.0, 2.0, 0.125, 0.05).unwrap();
        assert_eq!(search.tests_max(), 2 * 3 + 7);
        assert_eq!(search.test(3).alpha, 0.05 / 13.0);
    }

    /// Checks that impossible search ranges are refused, and so are reports for a load that the
    /// search did not request.
    #[test]
    fn wrong_use_is_refused() {
        assert!(KneeSearch::new(0.0, 1.0, 0.1, 0.05).is_err());
        assert!(KneeSearch::new(2.0, 1.0, 0.1, 0.05).is_err());
        assert!(KneeSearch::new(1.0, 2.0, 0.0, 0.05).is_err());
        assert!(KneeSearch::new(1.0, 2.0, 0.1, 1.0).is_err());
        assert!(KneeSearch::new(1.0, f64::INFINITY, 0.1, 0.05).is_err());
        let mut search = KneeSearch::new(1.0, 2.0, 0.1, 0.05).unwrap();
        let error = search.report(1.9, Verdict::Stable, 0.0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "load reported to the knee search is 1.9, it must be the load that it asked for"
        );
        assert!(search.report(1.5, Verdict::Stable, f64::NAN).is_err());
        assert!(search.tested.is_empty());
        assert_eq!(search.next(), Some(1.5));
    }
}
