//! Confidence intervals of the rates of events.
//!
//! For independent events the interval of Garwood (Biometrika 28(3-4), 1936) is exact. It follows
//! from the Poisson distribution, is never below zero, and has a positive upper end if no event
//! occurred. Events in bursts count as fewer events, and evenly spaced events as more: they are
//! replaced by the number of independent events that would scatter like the rates of the
//! replications (Fay and Feuer, Statistics in Medicine 16(7), 1997, for rates of unequal weight).

use statrs::function::gamma::gamma_lr;

use crate::error::{Error, all_finite, open_unit};
use crate::estimate::{Estimate, mean_and_variance};
use crate::quantile::{normal_quantile, t_quantile};

/// Number of events below which an even spacing may be due to chance. For fewer events, the
/// effective number is at most the actual number.
const FEW: u64 = 100;
/// Minimum number of events for which the interval is the t interval over replications.
const MANY: f64 = 10_000.0;
/// Minimum shape of a gamma distribution for which the cube root of the variable is treated as
/// normal (Wilson and Hilferty, PNAS 17(12), 1931).
const CUBE_ROOT_FROM: f64 = 100.0;

/// Number of events in all replications, with the rate that one event stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Events {
    /// Number of events in all replications.
    pub number: u64,
    /// The mean rate that corresponds to one event in all replications together.
    pub one: f64,
}

impl Events {
    /// Return the events of several replications, from the number of events in each and its length. The rate is
    /// per unit of the length.
    pub fn of_replications(counts: &[(u64, u64)]) -> Self {
        let length: f64 = counts.iter().map(|&(_, length)| length as f64).sum();
        Self {
            number: counts.iter().map(|&(number, _)| number).sum(),
            one: 1.0 / length,
        }
    }
}

impl Estimate {
    /// Return the mean rate of events over replications of equal weight, from the rate in each
    /// replication. `events` contains the number of events. It is `None` for measures with other
    /// units, such as bytes: then a rate of zero gives no upper end.
    ///
    /// # Errors
    /// Those of [`Estimate::from_samples`]; [`Error::OutOfRange`] for a negative rate.
    pub fn of_rate(rates: &[f64], events: Option<Events>, confidence: f64) -> Result<Self, Error> {
        all_finite("rates of replications", rates)?;
        open_unit("confidence", confidence)?;
        if let Some(&rate) = rates.iter().find(|rate| **rate < 0.0) {
            return Err(Error::OutOfRange {
                what: "rate of a replication",
                value: rate,
                wanted: "zero or more",
            });
        }
        let plain = Self::from_samples(rates, confidence)?;
        let tail = 0.5 - 0.5 * confidence;
        if rates.len() < 2 {
            return Ok(plain.between(0.0, f64::INFINITY));
        }
        if plain.mean == 0.0 {
            let high = match events {
                Some(events) => events.one * gamma_quantile(1.0, 1.0 - tail)?,
                None => f64::INFINITY,
            };
            return Ok(plain.between(0.0, high));
        }
        let effective = effective_events(rates, events, tail)?;
        if effective >= MANY {
            return Ok(plain);
        }
        let low = gamma_quantile(effective, tail)? / effective;
        let high = gamma_quantile(effective + 1.0, 1.0 - tail)? / effective;
        Ok(plain.between(low * plain.mean, high * plain.mean))
    }
}

/// Return the effective number of events, which is the number of independent events that would
/// scatter like these rates of the replications.
fn effective_events(rates: &[f64], events: Option<Events>, tail: f64) -> Result<f64, Error> {
    let number = events.map_or(f64::INFINITY, |events| events.number as f64);
    let few = events.is_some_and(|events| events.number < FEW);
    let (mean, variance) = mean_and_variance(rates);
    let variance = variance.unwrap_or(0.0);
    let ratio = normal_quantile(1.0 - tail)? / t_quantile(1.0 - tail, rates.len() - 1)?;
    let alike = ratio * ratio * mean * mean * rates.len() as f64 / variance;
    Ok(if few { alike.min(number) } else { alike })
}

/// Return the quantile of the gamma distribution with this shape and a scale of 1.
fn gamma_quantile(shape: f64, probability: f64) -> Result<f64, Error> {
    let ninth = 1.0 / (9.0 * shape);
    let root = 1.0 - ninth + normal_quantile(probability)? * ninth.sqrt();
    let near = shape * root.max(0.0).powi(3);
    if shape >= CUBE_ROOT_FROM {
        return Ok(near);
    }
    let (mut low, mut high) = (0.0, near.max(1.0));
    while gamma_lr(shape, high) < probability {
        high *= 2.0;
    }
    // The bisection ends when the bounds are adjacent floating-point numbers, or nearly.
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if middle > 0.0 && gamma_lr(shape, middle) < probability {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Checks that one event in replications of 400 and 600 cycles is a rate of 1 in 1000 cycles.
    #[test]
    fn the_rate_of_one_event_is_over_the_length_of_all_replications() {
        let events = Events::of_replications(&[(1, 400), (2, 600)]);
        assert_eq!(events.number, 3);
        assert!((events.one - 1e-3).abs() < 1e-18);
    }

    /// Return the estimate from the number of events in each replication.
    fn of(counts: &[u64]) -> Estimate {
        let rates: Vec<f64> = counts.iter().map(|count| *count as f64).collect();
        let events = Events {
            number: counts.iter().sum(),
            one: 1.0 / counts.len() as f64,
        };
        Estimate::of_rate(&rates, Some(events), 0.95).unwrap()
    }

    /// Checks Garwood's table: no event gives the interval 0 to 3.689, one event 0.0253 to 5.572,
    /// ten events 4.795 to 18.39.
    #[test]
    fn few_events_have_the_interval_of_the_poisson_distribution() {
        let none = of(&[0; 10]);
        assert_eq!((none.mean, none.low), (0.0, 0.0));
        assert!((10.0 * none.high + 0.025f64.ln()).abs() < 1e-9);
        for (shape, tail, expected) in [
            (1.0, 0.025, 0.02532),
            (2.0, 0.975, 5.5716),
            (10.0, 0.025, 4.7954),
            (11.0, 0.975, 18.3904),
            (100.0, 0.025, 81.364),
        ] {
            let found = gamma_quantile(shape, tail).unwrap();
            assert!((found / expected - 1.0).abs() < 1e-4, "{shape}: {found}");
        }
    }

    /// Checks that ten equal small counts have an interval above width 0, and ten equal large
    /// counts have width 0.
    #[test]
    fn equal_counts_are_no_certainty_unless_there_are_many() {
        let ones = of(&[1; 10]);
        assert!(ones.low > 0.4 && ones.low < 0.5 && ones.high > 1.8 && ones.high < 1.9);
        let many = of(&[5000; 10]);
        assert_eq!((many.low, many.high), (5000.0, 5000.0));
    }

    /// Checks that bursts of events widen the interval of a rate, which stays at 0 or above.
    #[test]
    fn bursts_widen_and_never_below_zero() {
        let bursts = of(&[0, 0, 0, 900, 0, 0, 0, 40, 0, 0]);
        assert!(bursts.low > 0.0 && bursts.low < 10.0, "{bursts:?}");
        assert!(bursts.high > 500.0, "{bursts:?}");
        let nothing = Estimate::of_rate(&[0.0; 4], None, 0.95).unwrap();
        assert_eq!((nothing.low, nothing.high), (0.0, f64::INFINITY));
        let even = Estimate::of_rate(&[3.0; 4], None, 0.95).unwrap();
        assert_eq!((even.low, even.high), (3.0, 3.0));
        assert!(Estimate::of_rate(&[-1.0, 2.0], None, 0.95).is_err());
        let single = Estimate::of_rate(&[4.0], None, 0.95).unwrap();
        assert_eq!((single.low, single.high), (0.0, f64::INFINITY));
    }

    /// Checks the share of the intervals that contain the mean, for Poisson counts in ten
    /// replications with 0.2, 3 and 40 events in all on average, and for bursts of a geometric
    /// number of events.
    #[test]
    fn coverage() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut poisson = |mean: f64| {
            let (limit, mut product, mut count) = ((-mean).exp(), 1.0, 0u64);
            loop {
                product *= random.random::<f64>();
                if product < limit {
                    return count;
                }
                count += 1;
            }
        };
        for (mean, most) in [(0.02, 1.0), (0.3, 0.99), (4.0, 0.99), (60.0, 0.985)] {
            let runs = 1000;
            let held = (0..runs)
                .filter(|_| {
                    let counts: Vec<u64> = (0..10).map(|_| poisson(mean)).collect();
                    of(&counts).contains(mean)
                })
                .count();
            let share = held as f64 / f64::from(runs);
            // The number of intervals is Binomial(1000, 0.95), so its share has sigma = 0.0069; the
            // limit is 3 sigma below.
            assert!(share >= 0.929 && share <= most + 0.01, "{mean}: {share}");
        }
        for (mean, burst) in [(2.0, 5), (20.0, 5)] {
            let runs = 1000;
            let held = (0..runs)
                .filter(|_| {
                    let counts: Vec<u64> = (0..10)
                        .map(|_| {
                            (0..poisson(mean))
                                .map(|_| 1 + poisson(f64::from(burst - 1)))
                                .sum()
                        })
                        .collect();
                    of(&counts).contains(mean * f64::from(burst))
                })
                .count();
            let share = held as f64 / f64::from(runs);
            assert!((0.92..=0.985).contains(&share), "{mean}: {share}");
        }
    }
}
