//! The most clients at one server when each chooses one of the servers at random.

/// E\[1 / M\] of the most clients M at one of `servers`, each of at least one of `clients` being at
/// one of them with the same probability.
pub(super) fn mean_inverse_most(clients: u32, servers: u32) -> f64 {
    let factorials: Vec<f64> = (0..=clients)
        .scan(0.0, |sum, n| {
            *sum += f64::from(n.max(1)).ln();
            Some(*sum)
        })
        .collect();
    let (mut inverse, mut below) = (0.0, 0.0);
    for most in clients.div_ceil(servers)..=clients {
        let next = if most == clients {
            1.0
        } else {
            at_most(clients, servers, most, &factorials).clamp(below, 1.0)
        };
        // What is left is less than the approximation can tell.
        let last = below > 0.5 && next - below < 1e-9;
        let next = if last { 1.0 } else { next };
        inverse += (next - below) / f64::from(most);
        below = next;
        if last {
            break;
        }
    }
    inverse
}

/// Probability that no server has more than `most` clients, which are fewer than all and not fewer
/// than their mean; `factorials` are the logarithms of n!.
///
/// The choices with this property number C! times the coefficient of x^C in A(x)^S, A(x) the sum of
/// x^k / k! up to k = `most`. That coefficient is A(y)^S / y^C times the probability that S
/// independent numbers with the weights y^k / k! add up to C, for any y. With y such that C is their
/// expectation, that probability is 1 / sqrt(2 pi S v) (1 + (3 k4 / v^2 - 5 k3^2 / v^3) / (24 S)),
/// v, k3, k4 the cumulants of one (H. E. Daniels, *Saddlepoint approximations in statistics*, Ann.
/// Math. Stat. 25, 1954, Eq. 2.6).
fn at_most(clients: u32, servers: u32, most: u32, factorials: &[f64]) -> f64 {
    let (count, all) = (f64::from(clients), f64::from(servers));
    let ways = factorials[clients as usize] - count * all.ln();
    if u64::from(most) * u64::from(servers) == u64::from(clients) {
        // One way to fill them all.
        return (ways - all * factorials[most as usize]).exp();
    }
    let mean = count / all;
    // The expectation rises with y, by the variance for each unit of its logarithm; it is below y.
    // Newton's method, halving what it leaves of the range where it steps out.
    let (mut low, mut high) = (mean.ln(), f64::INFINITY);
    let mut at = low;
    let mut weights = Weights::new(&factorials[..=most as usize], at);
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
        weights = Weights::new(&factorials[..=most as usize], at);
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
    fn new(factorials: &[f64], logarithm_of_y: f64) -> Self {
        let mut largest = f64::NEG_INFINITY;
        let mut terms = Vec::new();
        for (k, factorial) in factorials.iter().enumerate().rev() {
            let k = k as f64;
            let term = k * logarithm_of_y - factorial;
            largest = largest.max(term);
            // They fall on from here, faster than a geometric series.
            if term < largest - 50.0 {
                break;
            }
            terms.push((k, term));
        }
        let mut sum = 0.0;
        for (_, term) in &mut terms {
            *term = (*term - largest).exp();
            sum += *term;
        }
        let moment = |around: f64, power: i32| -> f64 {
            let powers = terms
                .iter()
                .map(|(k, weight)| (k - around).powi(power) * weight);
            powers.sum::<f64>() / sum
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
