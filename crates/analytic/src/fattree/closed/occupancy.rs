//! The most clients at one server when each chooses one of the servers at random.

/// E\[1 / M\] of the most clients M at one of `servers`, each of at least one of `clients` being at
/// one of them with the same probability.
pub(super) fn mean_inverse_most(clients: u32, servers: u32) -> f64 {
    let factorial: f64 = (1..=clients).map(|n| f64::from(n).ln()).sum();
    let (mut inverse, mut below) = (0.0, 0.0);
    for most in clients.div_ceil(servers)..=clients {
        let next = if most == clients {
            1.0
        } else {
            at_most(clients, servers, most, factorial).clamp(below, 1.0)
        };
        inverse += (next - below) / f64::from(most);
        below = next;
        if 1.0 - below < 1e-12 {
            break;
        }
    }
    inverse
}

/// Probability that no server has more than `most` clients, which are fewer than all and not fewer
/// than their mean; `factorial` is the logarithm of C!.
///
/// The choices with this property number C! times the coefficient of x^C in A(x)^S, A(x) the sum of
/// x^k / k! up to k = `most`. That coefficient is A(y)^S / y^C times the probability that S
/// independent numbers with the weights y^k / k! add up to C, for any y. With y such that C is their
/// expectation, that probability is 1 / sqrt(2 pi S v) (1 + (3 k4 / v^2 - 5 k3^2 / v^3) / (24 S)),
/// v, k3, k4 the cumulants of one (H. E. Daniels, *Saddlepoint approximations in statistics*, Ann.
/// Math. Stat. 25, 1954, Eq. 2.6).
fn at_most(clients: u32, servers: u32, most: u32, factorial: f64) -> f64 {
    let (count, all) = (f64::from(clients), f64::from(servers));
    let ways = factorial - count * all.ln();
    if u64::from(most) * u64::from(servers) == u64::from(clients) {
        // One way to fill them all.
        let each: f64 = (1..=most).map(|n| f64::from(n).ln()).sum();
        return (ways - all * each).exp();
    }
    let mean = count / all;
    // The expectation rises with y, by the variance for each unit of its logarithm; it is below y.
    // Newton's method, halving what it leaves of the range where it steps out.
    let (mut low, mut high) = (mean.ln(), f64::INFINITY);
    let mut at = low;
    let mut weights = Weights::new(most, at);
    for _ in 0..200 {
        if (weights.mean - mean).abs() < 1e-12 * mean {
            break;
        }
        if weights.mean < mean {
            low = at;
        } else {
            high = at;
        }
        at += (mean - weights.mean) / weights.variance;
        if at <= low || at >= high {
            at = if high.is_finite() {
                (low + high) / 2.0
            } else {
                low + 1.0
            };
        }
        weights = Weights::new(most, at);
    }
    let Weights {
        logarithm,
        variance,
        third,
        fourth,
        ..
    } = weights;
    let correction =
        (3.0 * fourth / variance.powi(2) - 5.0 * third.powi(2) / variance.powi(3)) / (24.0 * all);
    let density = (1.0 + correction) / (std::f64::consts::TAU * all * variance).sqrt();
    (ways - count * at + all * logarithm).exp() * density
}

/// The weights y^k / k! of the numbers up to `most`.
struct Weights {
    /// ln A(y).
    logarithm: f64,
    mean: f64,
    variance: f64,
    /// Third and fourth cumulant.
    third: f64,
    fourth: f64,
}

impl Weights {
    fn new(most: u32, logarithm_of_y: f64) -> Self {
        let mut term = 0.0;
        let terms = (0..=most).map(|k| {
            if k > 0 {
                term += logarithm_of_y - f64::from(k).ln();
            }
            term
        });
        let terms: Vec<f64> = terms.collect();
        let largest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = terms.iter().map(|term| (term - largest).exp()).sum();
        let moment = |around: f64, power: i32| -> f64 {
            let powers = (0u32..).zip(&terms).map(|(k, term)| {
                (f64::from(k) - around).powi(power) * (term - largest).exp() / sum
            });
            powers.sum()
        };
        let mean = moment(0.0, 1);
        let variance = moment(mean, 2);
        Self {
            logarithm: largest + sum.ln(),
            mean,
            variance,
            third: moment(mean, 3),
            fourth: moment(mean, 4) - 3.0 * variance * variance,
        }
    }
}
