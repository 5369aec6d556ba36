//! Wait of worms for a channel of one lane: rule 2 of the description of the module `worms`.

use super::inflow::Inflow;
use crate::moments::Moments;

/// Worms of one input that wait for a channel: their mean numbers.
#[derive(Debug, Clone, Copy, Default)]
struct WaitingWorms {
    /// Mean number of worms of the input that wait for the channel.
    count: f64,
    /// Ratio q between the probabilities of successive numbers of waiting worms.
    ratio: f64,
    /// Mean number of waiting worms while a worm of another input is served.
    during: f64,
    /// Mean number of waiting worms at the end of the service of a worm of another input.
    at_end: f64,
}

impl Inflow {
    /// Return the mean numbers of waiting worms, given that worms wait for `waited` cycles on average. While a worm of
    /// another input is served, at least k of the m lanes have a waiting worm with probability q^k. While a worm of the
    /// same input is served, this holds for the other m - 1 lanes.
    fn waiting_worms(&self, waited: f64, rho: f64) -> WaitingWorms {
        let mut count = self.rate * waited;
        if self.together > 0.0 {
            count += self.together / (2.0 * self.service.mean);
        }
        let Some(lanes) = self.lanes_if_few() else {
            let during = count / rho;
            return WaitingWorms {
                count,
                ratio: 0.0,
                during,
                at_end: 2.0 * during,
            };
        };
        let ratio = self.ratio(count, lanes, rho);
        let powers = std::iter::successors(Some(ratio), |power| Some(power * ratio));
        let during: f64 = powers
            .take(lanes as usize)
            .take_while(|power| *power > 1e-15)
            .sum();
        // At the end of a service up to twice as many worms wait, but at most one per lane.
        let at_end = during * (2.0 - during / f64::from(lanes));
        WaitingWorms {
            count,
            ratio,
            during,
            at_end,
        }
    }

    /// Return the ratio q with which on average `count` worms wait: the ratio between the probabilities of successive
    /// numbers of waiting worms. Newton's method finds q, starting at an upper bound.
    fn ratio(&self, count: f64, lanes: u32, rho: f64) -> f64 {
        let others = (rho - self.load()).max(f64::MIN_POSITIVE);
        if lanes == 1 {
            return (count / others).min(1.0);
        }
        let mut q = (count / rho).min(1.0);
        for _ in 0..8 {
            let (mut sum, mut slope, mut power) = (0.0, 0.0, 1.0);
            for k in 1..=lanes {
                let weight = if k < lanes { rho } else { others };
                slope += weight * f64::from(k) * power;
                power *= q;
                sum += weight * power;
                if power < 1e-15 {
                    break;
                }
            }
            let step = (sum - count) / slope;
            q = (q - step).clamp(0.0, 1.0);
            if step.abs() < 1e-13 {
                break;
            }
        }
        q
    }
}

/// State in which a worm that arrives over some input finds the channel: the probability of a worm in service, the
/// first two moments of its remaining time, and the mean work of the waiting worms.
#[derive(Debug, Clone, Copy, Default)]
struct ArrivalState {
    serving: f64,
    left: f64,
    left_second: f64,
    waiting: f64,
}

impl ArrivalState {
    /// Return the channel's state that an arriving worm would find if `input` were the only input and no worm waited
    /// for the channel.
    fn of(input: &Inflow) -> Self {
        if input.rate <= 0.0 {
            return Self::default();
        }
        let (load, service) = (input.load(), &input.service);
        Self {
            serving: load,
            left: load * service.second / (2.0 * service.mean),
            left_second: load * service.third / (3.0 * service.mean),
            waiting: 0.0,
        }
    }

    /// Return the sum of two arrival states, value by value.
    fn plus(self, other: Self) -> Self {
        Self {
            serving: self.serving + other.serving,
            left: self.left + other.left,
            left_second: self.left_second + other.left_second,
            waiting: self.waiting + other.waiting,
        }
    }

    /// Return this state with each of its values multiplied by `factor`.
    fn scaled(self, factor: f64) -> Self {
        Self {
            serving: self.serving * factor,
            left: self.left * factor,
            left_second: self.left_second * factor,
            waiting: self.waiting * factor,
        }
    }
}

/// Maximum number of iterations in the computation of the waits at a channel of one lane.
const ROUNDS_MAX: usize = 60;
/// Return the waits of the inputs of a channel of one lane, by rule 2 of the module description of `worms`.
pub(super) fn one_lane(inflows: &[Inflow], rho: f64) -> Vec<Moments> {
    let served: Vec<ArrivalState> = inflows.iter().map(ArrivalState::of).collect();
    let in_service = (served.iter()).fold(ArrivalState::default(), |sum, one| sum.plus(*one));
    let mut waited = vec![0.0; inflows.len()];
    let mut found = vec![Moments::ZERO; inflows.len()];
    for round in 0..ROUNDS_MAX {
        let each = inflows.iter().zip(&waited);
        let queued: Vec<WaitingWorms> = each
            .map(|(inflow, &waited)| inflow.waiting_worms(waited, rho))
            .collect();
        let all = QueuedWork::all(inflows, &queued, in_service);
        let mut moved: f64 = 0.0;
        for (at, known) in waited.iter_mut().enumerate() {
            let parts = (served[at], queued[at]);
            found[at] = input_wait(&inflows[at], parts, all, rho);
            let mut next = found[at].mean;
            if round > 10 {
                next = (next + *known) / 2.0;
            }
            moved = moved.max((next - *known).abs());
            *known = next;
        }
        if moved < 1e-6 * waited.iter().copied().fold(1.0, f64::max) {
            break;
        }
    }
    found
}

/// Load of a channel of one lane: the worms in service and, for the waiting worms, the sums of the first and of the
/// second moments of their service times. The sums are means over time, during a service, and at the end of a service.
#[derive(Debug, Clone, Copy, Default)]
struct QueuedWork {
    served: ArrivalState,
    waiting: [f64; 2],
    during: [f64; 2],
    at_end: [f64; 2],
}

impl QueuedWork {
    /// Return the load by the worms of one input: for each group of waiting worms, their number times the mean, and
    /// times the second moment, of the service time.
    fn of(input: &Inflow, queued: &WaitingWorms, served: ArrivalState) -> Self {
        let work = |count: f64| [count * input.service.mean, count * input.service.second];
        Self {
            served,
            waiting: work(queued.count),
            during: work(queued.during),
            at_end: work(queued.at_end),
        }
    }

    /// Return the load by the worms of all inputs together.
    fn all(inflows: &[Inflow], queued: &[WaitingWorms], served: ArrivalState) -> Self {
        let mut all = Self {
            served,
            ..Self::default()
        };
        for (input, queued) in inflows.iter().zip(queued) {
            let one = Self::of(input, queued, ArrivalState::default());
            for at in 0..2 {
                all.waiting[at] += one.waiting[at];
                all.during[at] += one.during[at];
                all.at_end[at] += one.at_end[at];
            }
        }
        all
    }
}

/// Return the wait of a worm of input `own` at a channel of one lane. In one case a lane of its input is free: the
/// other worms are in service or wait as usual. In the other case it directly follows a worm of its own
/// input, and also waits for the worms that have gathered behind that worm.
fn input_wait(
    own: &Inflow,
    (served, queued): (ArrivalState, WaitingWorms),
    all: QueuedWork,
    rho: f64,
) -> Moments {
    let load = own.load();
    if own.rate <= 0.0 {
        return Moments::ZERO;
    }
    // Compute the probabilities that all lanes of the input are held, while a worm of another input is served and while
    // a worm of the same input is served.
    let (mut all_wait, mut own_served, mut lanes) = (0.0, 0.0, 1.0);
    if let Some(few) = own.lanes_if_few() {
        lanes = f64::from(few);
        all_wait = queued.ratio.powi(few as i32);
        own_served = load * queued.ratio.powi(few as i32 - 1);
    }
    let follows = (rho - load).max(0.0) * all_wait + own_served;
    let others = 1.0 - all_wait;
    let mut free = (all.served.plus(served.scaled(-1.0))).scaled(others);
    free = free.plus(served.scaled(1.0 - own_served / load));
    free.left = free.left.max(0.0);
    let itself = QueuedWork::of(own, &queued, served);
    let own_waits = (queued.count - (lanes * follows - own_served)).max(0.0);
    // Return, for the waiting worms that a worm finds if a lane of its input is free, the sum of their mean service
    // times (`at` 0) or of the second moments of their service times (`at` 1).
    let waits = |at: usize, each: f64| {
        let before = all.waiting[at] - itself.waiting[at];
        let for_own = own_served * (all.during[at] - itself.during[at]);
        others * (before - for_own).max(0.0) + own_waits * each
    };
    free.waiting = waits(0, own.service.mean);
    let waiting_second = waits(1, own.service.second);
    let before = [0, 1].map(|at| (all.at_end[at] - itself.at_end[at]).max(0.0));
    // Work gathers in proportion to the service time of the previous worm. On average this is more than the mean service
    // time.
    let growth = before[0] * own.service.mean / own.service.second;
    let more = growth * growth * own.service.third / own.service.mean;
    let ahead = before[0] + (lanes - 1.0) * own.service.mean;
    let ahead_second = before[1] + more + (lanes - 1.0) * own.service.second;
    // Work gathers behind the worm in service even if a lane is free. Estimate its second moment from the ratio of this
    // work to the rest of the service.
    let ratio = free.waiting / free.left.max(1e-12 * own.service.mean);
    let free_second = free.left_second * (1.0 + ratio + ratio * ratio) + waiting_second;
    Moments::with_probability(
        (free.serving + follows).min(1.0),
        free.left + free.waiting + follows * ahead,
        free_second + follows * ahead_second,
    )
}

#[cfg(test)]
mod tests {
    use crate::worms::inflow::examples::inflow;

    /// Checks that the ratio between the probabilities of successive numbers reproduces the mean number of waiting
    /// worms.
    #[test]
    fn the_ratio_reproduces_the_mean_number() {
        let rho: f64 = 0.6;
        for lanes in [1, 2, 5, 24] {
            let input = inflow(Some(lanes), 0.003, 100.0);
            let queued = input.waiting_worms(20.0, rho);
            let powers =
                |most: u32| -> f64 { (1..=most).map(|k| queued.ratio.powi(k as i32)).sum() };
            let (own, others) = (0.3, rho - 0.3);
            let count = others * powers(lanes) + own * powers(lanes - 1);
            assert!((count / 0.06 - 1.0).abs() < 1e-9, "{lanes}: {count}");
        }
    }
}
