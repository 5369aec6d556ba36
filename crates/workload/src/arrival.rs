//! Times at which one PE (processing element) requests messages.

use crate::gaps::Gaps;
use crate::spec::Arrival;
use isthmus_kernel::{Chance, Cycles, Gap, Stream};
use isthmus_units::Clock;

/// The process by which every PE (processing element) generates messages and I/O requests, with times in cycles.
#[derive(Debug, Clone, Copy)]
pub struct Arrivals {
    kind: Kind,
}

/// Arrival processes with their parameters in cycles: an open loop without bursts, one with bursts, or a closed loop.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Open {
        mean: f64,
        gaps: Gaps,
    },
    Bursty {
        gap: f64,
        silence: f64,
        more: Chance,
    },
    Closed {
        think: f64,
        outstanding: u32,
    },
}

impl Arrivals {
    /// Convert the arrival process `arrival` of a scenario, with its times in cycles of `clock`.
    pub fn new(arrival: Arrival, clock: Clock) -> Self {
        let kind = match arrival {
            Arrival::Exponential { mean } => Kind::Open {
                mean: clock.cycles_exact(mean),
                gaps: Gaps::Exponential,
            },
            Arrival::Deterministic { gap } => Kind::Open {
                mean: clock.cycles_exact(gap),
                gaps: Gaps::Equal { phases: 1.0 },
            },
            Arrival::Bursty {
                mean,
                burst_messages,
                burst_gap,
            } => {
                // A burst of B messages (B geometric with mean b) has B - 1 inner gaps and one silence. Choose the mean
                // silence for the required mean: (b - 1) gap + silence = b mean.
                let (mean, gap) = (clock.cycles_exact(mean), clock.cycles_exact(burst_gap));
                Kind::Bursty {
                    gap,
                    silence: burst_messages * mean - (burst_messages - 1.0) * gap,
                    more: Chance::new(1.0 - 1.0 / burst_messages),
                }
            }
            Arrival::Closed { think, outstanding } => Kind::Closed {
                think: clock.cycles_exact(think),
                outstanding,
            },
        };
        Self { kind }
    }

    /// Return whether arrivals are a closed loop: the next demand follows the completion of an earlier one.
    pub fn is_closed(&self) -> bool {
        matches!(self.kind, Kind::Closed { .. })
    }

    /// Return how many demands a processing element (PE) issues first: the maximum number of outstanding ones in a
    /// closed loop, else one.
    pub fn initial(&self) -> u32 {
        match self.kind {
            Kind::Closed { outstanding, .. } => outstanding,
            _ => 1,
        }
    }

    /// Return a random time in cycles from the start of the run to the first demand of a processing element (PE).
    pub fn first(&self, gap: &mut Gap, stream: &mut Stream) -> Cycles {
        match self.kind {
            Kind::Open { mean, gaps } => gaps.first(mean, gap, stream),
            Kind::Closed { think: mean, .. } | Kind::Bursty { silence: mean, .. } => {
                gap.exponential(mean, stream)
            }
        }
    }

    /// Return a random number of cycles: from one demand to the next in an open loop, or from a completion to the next
    /// demand in a closed loop.
    #[inline]
    pub fn next(&self, gap: &mut Gap, stream: &mut Stream) -> Cycles {
        match self.kind {
            Kind::Open { mean, gaps } => gaps.next(mean, gap, stream),
            Kind::Closed { think, .. } => gap.exponential(think, stream),
            Kind::Bursty {
                gap: inner,
                silence,
                more,
            } => {
                if more.draw(stream) {
                    gap.fixed(inner)
                } else {
                    gap.exponential(silence, stream)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isthmus_kernel::Streams;
    use isthmus_units::{Bandwidth, Bytes, Time};

    /// Return a clock of 0.05 us per cycle.
    fn clock() -> Clock {
        Clock::new(Bytes::new(1), Bandwidth::from_mb_per_s(20)).unwrap()
    }

    /// Return `n` random gaps between arrivals of a process, in cycles.
    fn gaps(arrival: Arrival, n: u32) -> Vec<f64> {
        let arrivals = Arrivals::new(arrival, clock());
        let (mut gap, mut stream) = (Gap::default(), Streams::new(3, 0).stream("pe", 1));
        (0..n)
            .map(|_| arrivals.next(&mut gap, &mut stream) as f64)
            .collect()
    }

    /// Return the mean of the gaps and their squared coefficient of variation.
    fn mean_and_scv(gaps: &[f64]) -> (f64, f64) {
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / n;
        (mean, variance / mean.powi(2))
    }

    /// Checks that exponential, deterministic and bursty arrivals have the requested mean gap and the expected
    /// variation.
    #[test]
    fn every_open_process_keeps_its_mean() {
        let mean = Time::from_us(156); // 3120 cycles
        let n = 200_000;
        let (exponential, scv) = mean_and_scv(&gaps(Arrival::Exponential { mean }, n));
        assert!((exponential / 3120.0 - 1.0).abs() < 4.0 / f64::from(n).sqrt());
        assert!((scv - 1.0).abs() < 0.03);

        let (deterministic, scv) = mean_and_scv(&gaps(Arrival::Deterministic { gap: mean }, n));
        assert_eq!((deterministic, scv), (3120.0, 0.0));

        let bursty = Arrival::Bursty {
            mean,
            burst_messages: 8.0,
            burst_gap: Time::from_us(10),
        };
        let (bursty, scv) = mean_and_scv(&gaps(bursty, n));
        // A gap is 200 cycles with probability 7/8, else exponential of mean 8*3120 - 7*200:
        // E[g^2] = 7/8 * 200^2 + 1/8 * 2 * 23560^2, so C^2 = E[g^2] / 3120^2 - 1.
        let silence = 8.0 * 3120.0 - 7.0 * 200.0;
        let expected = (0.875 * 200f64.powi(2) + 0.25 * silence * silence) / 3120f64.powi(2) - 1.0;
        assert!((bursty / 3120.0 - 1.0).abs() < 4.0 * (expected / f64::from(n)).sqrt());
        assert!((scv / expected - 1.0).abs() < 0.05, "{scv} {expected}");
    }
}
