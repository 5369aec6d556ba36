//! The wait for one channel, by the channel by which a worm comes; see the module's description.

use super::lanes::{HELD_MAX, LANES_MAX, Leading, POINTS, behind, first_of, held_after};
use crate::moments::Moments;
use crate::queue;

/// Kinds of lengths that are told apart where several lanes are held.
pub(super) const LENGTHS: usize = 4;

/// What comes to a channel by one other, or from sources.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inflow {
    /// Lanes of the channel by which it comes; none if it starts here.
    pub lanes: Option<u32>,
    /// Worms per cycle.
    pub rate: f64,
    /// What batches of answers add to the rate times E\[S^2\]; 0 at channels of several lanes.
    pub together: f64,
    /// For how long one holds a lane of this channel.
    pub service: Moments,
    /// By kind of length: the share of time for which one holds a lane, and the mean time left.
    pub kinds: [(f64, f64); LENGTHS],
}

/// The worms of an input that wait.
#[derive(Debug, Clone, Copy, Default)]
struct Queued {
    /// Their mean number.
    count: f64,
    /// The odds q that one more of them waits.
    odds: f64,
    /// Their mean number while a worm of another input is served, and as that ends.
    during: f64,
    at_end: f64,
}

impl Inflow {
    fn load(&self) -> f64 {
        self.rate * self.service.mean
    }

    /// Lanes that can all be held; none where worms start, and above [`LANES_MAX`].
    fn few_lanes(&self) -> Option<u32> {
        self.lanes.filter(|&lanes| lanes <= LANES_MAX)
    }

    /// Of the load `rho` of a channel of one lane, what a worm of this input may have to wait for.
    fn others(&self, rho: f64) -> f64 {
        let lane = self.lanes.map_or(0.0, |lanes| 1.0 / f64::from(lanes));
        (rho - lane * self.load()).max(f64::MIN_POSITIVE)
    }

    /// The worms that wait for `waited` cycles on average. While one of another input is served, k of m lanes have a
    /// worm that waits with the probability q^k; while one of its own is served, k of the other m - 1.
    fn queued(&self, waited: f64, rho: f64) -> Queued {
        let mut count = self.rate * waited;
        if self.together > 0.0 {
            count += self.together / (2.0 * self.service.mean);
        }
        let Some(lanes) = self.few_lanes() else {
            let during = count / rho;
            return Queued {
                count,
                odds: 0.0,
                during,
                at_end: 2.0 * during,
            };
        };
        let odds = self.odds(count, lanes, rho);
        let powers = std::iter::successors(Some(odds), |power| Some(power * odds));
        let during: f64 = powers
            .take(lanes as usize)
            .take_while(|power| *power > 1e-15)
            .sum();
        // The number grows evenly while it is small, and no further than to all lanes.
        let at_end = during * (2.0 - during / f64::from(lanes));
        Queued {
            count,
            odds,
            during,
            at_end,
        }
    }

    /// The odds q with which `count` worms wait on average, by Newton's method from above.
    fn odds(&self, count: f64, lanes: u32, rho: f64) -> f64 {
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

const NEVER: Moments = Moments {
    mean: f64::INFINITY,
    second: f64::INFINITY,
    third: f64::INFINITY,
};

/// Share of time for which the lanes of a channel are held.
pub(super) fn utilisation(inflows: &[Inflow], lanes: u32) -> f64 {
    inflows.iter().map(Inflow::load).sum::<f64>() / f64::from(lanes)
}

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
    fn wait(&self, rate: f64, lanes: u32, rho: f64) -> (f64, Moments) {
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

/// The wait of what comes by each input.
pub(super) fn waits(inflows: &[Inflow], lanes: u32, ahead: &Ahead) -> Vec<Moments> {
    let rho = utilisation(inflows, lanes);
    if rho.is_nan() || rho >= 1.0 {
        return vec![NEVER; inflows.len()];
    }
    let rate: f64 = inflows.iter().map(|inflow| inflow.rate).sum();
    if rate <= 0.0 {
        return vec![Moments::ZERO; inflows.len()];
    }
    let services = inflows.iter().map(|inflow| (inflow.rate, inflow.service));
    let service = Moments::weighted(services, rate);
    let open = || {
        let together: f64 = inflows.iter().map(|inflow| inflow.together).sum();
        let service = Moments {
            second: service.second + together / rate,
            ..service
        };
        let mean = mgm(inflows, rate, &service, lanes, ahead.serial);
        let alone = queue::wait_moments(rate, &service, lanes, mean);
        if lanes == 1 || lanes > LANES_MAX {
            return alone;
        }
        if let Some((wait, all)) = ahead.only
            && mean > 0.0
        {
            // All wait as in one queue before that lane, of which the first are on these lanes.
            return alone.as_often((all - wait).max(0.0) / mean);
        }
        sum(alone, ahead.wait(rate, lanes, rho).1)
    };
    if inflows.iter().all(|inflow| inflow.lanes.is_none()) || lanes > LANES_MAX {
        return vec![open(); inflows.len()];
    }
    if lanes == 1 {
        one_lane(inflows, rho)
    } else {
        several_lanes(inflows, (rate, &service), (lanes, rho), ahead)
    }
}

/// Moments of waits of which a worm has one or the other.
fn sum(one: Moments, other: Moments) -> Moments {
    Moments::weighted([(1.0, one), (1.0, other)], 1.0)
}

/// Rule 1: M/M/m times a ratio that goes from its limit in light traffic to that in heavy traffic. In light traffic
/// a worm waits for the first of m in service (Burman and Smith, *Bell System Technical Journal* 62, 1983), in heavy
/// traffic (1 + C^2) / 2 is the ratio (Lee and Longton). The weight is within 3% of M/D/m for 2 to 8 lanes.
fn mgm(inflows: &[Inflow], rate: f64, service: &Moments, lanes: u32, serial: f64) -> f64 {
    let heavy = queue::mgm(rate, service.mean, service.scv(), lanes);
    if lanes == 1 || lanes > LANES_MAX {
        return heavy;
    }
    let m = f64::from(lanes);
    let first = (1.0 - serial) * first_of(inflows, lanes) + serial * first_of(inflows, 1);
    let light = queue::mmm(rate, service.mean, lanes) * m * first / service.mean;
    let weight = (1.0 - queue::rho(rate, service.mean, lanes)).powf(1.0 + 4.0 / m);
    heavy + weight * (light - heavy)
}

/// A wait that befalls the share `waiting` of worms, with these first two moments over all; the
/// third is that of a gamma distribution fitted to those who wait.
fn wait(waiting: f64, mean: f64, second: f64) -> Moments {
    if mean <= 0.0 {
        return Moments::ZERO;
    }
    let waiting = waiting.clamp(1e-12, 1.0);
    let conditional = mean / waiting;
    let second = (second / waiting).max(conditional * conditional);
    let scv = second / (conditional * conditional) - 1.0;
    Moments {
        mean,
        second: waiting * second,
        third: waiting * second * conditional * (1.0 + 2.0 * scv),
    }
}

/// What an arrival by some input finds: the probability of one in service, the mean and second
/// moment of what is left of it, and the mean work of those that wait.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    serving: f64,
    left: f64,
    left_second: f64,
    waiting: f64,
}

impl Found {
    /// As if one input alone were there, before anything waits.
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

    fn plus(self, other: Self) -> Self {
        Self {
            serving: self.serving + other.serving,
            left: self.left + other.left,
            left_second: self.left_second + other.left_second,
            waiting: self.waiting + other.waiting,
        }
    }

    fn times(self, factor: f64) -> Self {
        Self {
            serving: self.serving * factor,
            left: self.left * factor,
            left_second: self.left_second * factor,
            waiting: self.waiting * factor,
        }
    }
}

const ROUNDS_MAX: usize = 60;
/// Rounds of rule 3, of which each adds a small part to the one before.
const FOLLOWING_ROUNDS: usize = 8;

/// Rule 2.
fn one_lane(inflows: &[Inflow], rho: f64) -> Vec<Moments> {
    let served: Vec<Found> = inflows.iter().map(Found::of).collect();
    let in_service = (served.iter()).fold(Found::default(), |sum, one| sum.plus(*one));
    let mut waited = vec![0.0; inflows.len()];
    let mut found = vec![Moments::ZERO; inflows.len()];
    for round in 0..ROUNDS_MAX {
        let each = inflows.iter().zip(&waited);
        let queued: Vec<Queued> = each
            .map(|(inflow, &waited)| inflow.queued(waited, rho))
            .collect();
        let all = Gathered::all(inflows, &queued, in_service);
        let mut moved: f64 = 0.0;
        for (at, known) in waited.iter_mut().enumerate() {
            let parts = (served[at], queued[at]);
            found[at] = find(&inflows[at], parts, all, rho);
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

/// What is at a channel of one lane: the worms in service, and the work that waits and the same times the mean of what it consists
/// of, on average, while one worm is served, and as that ends.
#[derive(Debug, Clone, Copy, Default)]
struct Gathered {
    served: Found,
    waiting: [f64; 2],
    during: [f64; 2],
    at_end: [f64; 2],
}

impl Gathered {
    fn of(input: &Inflow, queued: &Queued, served: Found) -> Self {
        let work = |count: f64| [count * input.service.mean, count * input.service.second];
        Self {
            served,
            waiting: work(queued.count),
            during: work(queued.during),
            at_end: work(queued.at_end),
        }
    }

    fn all(inflows: &[Inflow], queued: &[Queued], served: Found) -> Self {
        let mut all = Self {
            served,
            ..Self::default()
        };
        for (input, queued) in inflows.iter().zip(queued) {
            let one = Self::of(input, queued, Found::default());
            for at in 0..2 {
                all.waiting[at] += one.waiting[at];
                all.during[at] += one.during[at];
                all.at_end[at] += one.at_end[at];
            }
        }
        all
    }
}

/// What a worm of input `own` finds at a channel of one lane: either a lane of its input was free, and the others are
/// in service and wait as they do while this is so; or it follows directly on a worm of its input, and those go
/// first that have gathered behind that one.
fn find(own: &Inflow, (served, queued): (Found, Queued), all: Gathered, rho: f64) -> Moments {
    let load = own.load();
    if own.rate <= 0.0 {
        return Moments::ZERO;
    }
    // Probabilities that all its lanes are held: while one of another input is served, and while one of its own is.
    let (mut all_wait, mut own_served, mut lanes) = (0.0, 0.0, 1.0);
    if let Some(few) = own.few_lanes() {
        lanes = f64::from(few);
        all_wait = queued.odds.powi(few as i32);
        own_served = load * queued.odds.powi(few as i32 - 1);
    }
    let follows = (rho - load).max(0.0) * all_wait + own_served;
    let others = 1.0 - all_wait;
    let mut free = (all.served.plus(served.times(-1.0))).times(others);
    free = free.plus(served.times(1.0 - own_served / load));
    free.left = free.left.max(0.0);
    let itself = Gathered::of(own, &queued, served);
    let own_waits = (queued.count - (lanes * follows - own_served)).max(0.0);
    // Work that waits, and the same times the mean of what it consists of.
    let waits = |at: usize, each: f64| {
        let before = all.waiting[at] - itself.waiting[at];
        let for_own = own_served * (all.during[at] - itself.during[at]);
        others * (before - for_own).max(0.0) + own_waits * each
    };
    free.waiting = waits(0, own.service.mean);
    let waiting_second = waits(1, own.service.second);
    let before = [0, 1].map(|at| (all.at_end[at] - itself.at_end[at]).max(0.0));
    // What gathers grows with the time that the one before takes, which is longer than the mean.
    let growth = before[0] * own.service.mean / own.service.second;
    let more = growth * growth * own.service.third / own.service.mean;
    let ahead = before[0] + (lanes - 1.0) * own.service.mean;
    let ahead_second = before[1] + more + (lanes - 1.0) * own.service.second;
    // The same goes for what has gathered behind the worm that a free lane finds in service.
    let ratio = free.waiting / free.left.max(1e-12 * own.service.mean);
    let free_second = free.left_second * (1.0 + ratio + ratio * ratio) + waiting_second;
    wait(
        (free.serving + follows).min(1.0),
        free.left + free.waiting + follows * ahead,
        free_second + follows * ahead_second,
    )
}

/// Rule 3.
fn several_lanes(
    inflows: &[Inflow],
    (rate, service): (f64, &Moments),
    (lanes, rho): (u32, f64),
    ahead: &Ahead,
) -> Vec<Moments> {
    let m = f64::from(lanes);
    let most = 2 * lanes + 4;
    let leading: u64 = inflows
        .iter()
        .map(|inflow| u64::from(inflow.lanes.unwrap_or(most)))
        .sum();
    if leading <= u64::from(lanes) || queue::waiting_probability(rho * m, 1.0, lanes) < 1e-9 {
        return vec![Moments::ZERO; inflows.len()];
    }
    // As if all worms started here, which rule 1 has exactly.
    let as_started = lanes_held(&[started(inflows)], 0, lanes, ahead.serial);
    let exact = mgm(inflows, rate, service, lanes, ahead.serial);
    let ratio = (exact / as_started.1).min(1.0);
    let (often, common) = ahead.wait(rate, lanes, rho);
    let free: Vec<[f64; 3]> = (0..inflows.len())
        .map(|at| {
            let (waiting, mean, second) = lanes_held(inflows, at, lanes, ahead.serial);
            let part = (waiting / as_started.0).min(1.0);
            [
                waiting + part * often,
                ratio * mean + part * common.mean,
                ratio * second + part * common.second,
            ]
        })
        .collect();
    let mut found = free.clone();
    // Each worm that goes before one that follows leaves a lane after so long, of which the second moment is that of
    // the least of m - 1 uniform times.
    let step = service.mean / m;
    let step_second = step * step * 2.0 * m / (m + 1.0);
    for _ in 0..FOLLOWING_ROUNDS {
        let waiting = |at: usize| inflows[at].rate * found[at][1];
        // While one is in service.
        let gathered = |at: usize| waiting(at) * m / inflows[at].others(rho * m);
        let all: f64 = (0..inflows.len()).map(gathered).sum();
        found = (0..inflows.len())
            .map(|at| {
                let own = &inflows[at];
                let Some(few) = own.few_lanes() else {
                    return free[at];
                };
                let few = f64::from(few);
                let there = (own.load() + waiting(at)).min(HELD_MAX * few);
                let follows = queue::waiting_probability(there, 1.0, few as u32);
                let others = (all - gathered(at)).max(0.0);
                let siblings = (few - 1.0) * waiting(at) / there.max(f64::MIN_POSITIVE);
                let before = 2.0 * others / (1.0 + others) + siblings.max(few - m);
                let [waits, mean, second] = free[at];
                [
                    (waits + follows * before).min(1.0),
                    mean + follows * before * step,
                    second + follows * before * step_second,
                ]
            })
            .collect();
    }
    let each = found.into_iter();
    each.map(|[waits, mean, second]| wait(waits, mean, second))
        .collect()
}

/// All worms of these inputs, as if they started at the channel.
fn started(inflows: &[Inflow]) -> Inflow {
    let mut all = Inflow {
        lanes: None,
        kinds: [(0.0, 0.0); LENGTHS],
        ..inflows[0]
    };
    for (length, kind) in inflows
        .iter()
        .flat_map(|inflow| inflow.kinds.into_iter().enumerate())
    {
        let (load, left) = &mut all.kinds[length];
        *load += kind.0;
        *left += kind.0 * kind.1;
    }
    for (load, left) in all.kinds.iter_mut().filter(|(load, _)| *load > 0.0) {
        *left /= *load;
    }
    all
}

/// Rule 3 without worms that follow directly on others: the probability of a wait, its mean and its second moment.
fn lanes_held(inflows: &[Inflow], at: usize, lanes: u32, serial: f64) -> (f64, f64, f64) {
    let most = 2 * lanes + 4;
    let kinds = inflows.iter().flat_map(|inflow| inflow.kinds);
    let longest = kinds.map(|(_, left)| left).fold(0.0, f64::max);
    let leads: Vec<Leading> = (inflows.iter().enumerate())
        .map(|(number, inflow)| Leading::new(inflow, most, number == at))
        .collect();
    let (mut mean, mut second) = (0.0, 0.0);
    let (waiting, mut held_before) = held_after(&leads, lanes, serial, 0.0);
    for ends in POINTS.windows(2) {
        let (before, time) = (ends[0] * longest, ends[1] * longest);
        let (_, held) = held_after(&leads, lanes, serial, time);
        let step = (time - before) / 2.0;
        mean += step * (held + held_before);
        second += step * 2.0 * (time * held + before * held_before);
        held_before = held;
    }
    let longer = 1.0 / (1.0 - behind(&leads, lanes));
    (waiting, mean * longer, second * longer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inflow(lanes: Option<u32>, rate: f64, length: f64) -> Inflow {
        let mut kinds = [(0.0, 0.0); LENGTHS];
        kinds[0] = (rate * length, length / 2.0);
        Inflow {
            lanes,
            rate,
            together: 0.0,
            service: Moments::fixed(length),
            kinds,
        }
    }

    /// M/D/m as Crommelin has it: L later there are those that found no server, and a Poisson number more. Waits by
    /// Little's law from the number that wait.
    fn crommelin(offered: f64, servers: usize, length: f64) -> f64 {
        let mut new = vec![(-offered).exp()];
        for count in 1..120 {
            new.push(new[count - 1] * offered / count as f64);
        }
        let mut there = new.clone();
        for _ in 0..400 {
            let mut next = vec![0.0; new.len()];
            for (count, share) in there.iter().enumerate() {
                let left = count.saturating_sub(servers);
                for (more, chance) in new.iter().enumerate().take(next.len() - left) {
                    next[left + more] += share * chance;
                }
            }
            there = next;
        }
        let waiting = |(count, share): (usize, &f64)| count.saturating_sub(servers) as f64 * share;
        there.iter().enumerate().map(waiting).sum::<f64>() * length / offered
    }

    #[test]
    fn sources_are_mg1_and_nearly_mdm_queues() {
        let source = inflow(None, 0.006, 100.0);
        let expected = queue::mg1_wait(0.006, 100.0, 0.0).unwrap();
        assert!((waits(&[source], 1, &Ahead::default())[0].mean - expected).abs() < 1e-12);
        for lanes in [2, 3, 4, 8] {
            for rho in [0.1, 0.3, 0.5, 0.8] {
                let offered = rho * f64::from(lanes);
                let exact = crommelin(offered, lanes as usize, 100.0);
                let found = waits(
                    &[inflow(None, offered / 100.0, 100.0)],
                    lanes,
                    &Ahead::default(),
                );
                let off = found[0].mean / exact - 1.0;
                assert!(off.abs() < 0.03, "{lanes} lanes at {rho}: {off}");
            }
        }
        assert_eq!(
            waits(&[inflow(None, 0.01, 100.0)], 1, &Ahead::default())[0].mean,
            f64::INFINITY
        );
    }

    /// In light traffic both lanes are held with the probability a^2 / 2, and the first is free after L / 3; in heavy
    /// traffic the wait is (1 + C^2) / 2 of that of M/M/m.
    #[test]
    fn sources_with_two_lanes_have_both_limits() {
        let (length, lanes) = (100.0, 2);
        let wait = |offered: f64| {
            let source = inflow(None, offered / length, length);
            waits(&[source], lanes, &Ahead::default())[0].mean
        };
        let offered = 1e-3;
        let light = offered * offered / 2.0 * length / 3.0;
        assert!((wait(offered) / light - 1.0).abs() < 0.01);
        let offered = 2.0 * 0.999;
        let heavy = queue::mmm_wait(offered / length, length, lanes).unwrap() / 2.0;
        assert!((wait(offered) / heavy - 1.0).abs() < 1e-6);
    }

    #[test]
    fn what_follows_on_one_lane_never_waits() {
        assert_eq!(
            waits(&[inflow(Some(1), 0.006, 100.0)], 1, &Ahead::default())[0],
            Moments::ZERO
        );
    }

    #[test]
    fn no_more_lanes_in_than_out_is_no_wait() {
        let inflows = [inflow(Some(1), 0.006, 100.0), inflow(Some(2), 0.01, 100.0)];
        assert!(
            waits(&inflows, 3, &Ahead::default())
                .iter()
                .all(|wait| wait.mean == 0.0)
        );
        assert!(
            waits(&inflows, 2, &Ahead::default())
                .iter()
                .all(|wait| wait.mean > 0.0)
        );
    }

    /// At light load: the other input is there with probability lambda L, for L / 2 more.
    #[test]
    fn lightly_loaded_inputs_meet_with_half_a_length_to_go() {
        let rate = 1e-7;
        let inflows = [
            inflow(Some(1), rate, 100.0),
            inflow(Some(1), 3.0 * rate, 40.0),
        ];
        let found = waits(&inflows, 1, &Ahead::default());
        let expected = [3.0 * rate * 40.0 * 20.0, rate * 100.0 * 50.0];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found.mean / expected - 1.0).abs() < 1e-3);
            // Uniform times left: E[X^2] = p (2 r)^2 / 3 with the mean p r.
        }
        assert!((found[1].second / (rate * 100.0 * 100.0 * 100.0 / 3.0) - 1.0).abs() < 1e-3);
        // By several lanes a worm may meet those of its own channel, too.
        let wide = [inflow(Some(4), rate, 100.0)];
        let expected = rate * 100.0 * 50.0;
        assert!((waits(&wide, 1, &Ahead::default())[0].mean / expected - 1.0).abs() < 1e-3);
    }

    /// At light load both lanes are held with probability p_1 p_2, and the first of two uniform times
    /// up to L ends after L / 3.
    #[test]
    fn two_lanes_are_free_when_the_first_of_two_ends() {
        let (rate, length) = (1e-5, 100.0);
        let inflows = [1e-9, rate, rate].map(|rate| inflow(Some(1), rate, length));
        let found = waits(&inflows, 2, &Ahead::default())[0];
        let expected = (rate * length).powi(2) * length / 3.0;
        assert!(
            (found.mean / expected - 1.0).abs() < 0.02,
            "{}",
            found.mean / expected
        );
    }

    /// An input of very many lanes brings worms at random times: M/D/1, whose second moment is
    /// 2 W^2 + lambda L^3 / 3 (1 - rho).
    #[test]
    fn many_lanes_lead_to_one_as_in_md1() {
        let length = 100.0;
        for rho in [0.05, 0.2, 0.35] {
            let rate = rho / length;
            let found = waits(&[inflow(Some(1000), rate, length)], 1, &Ahead::default())[0];
            let mean = queue::mg1_wait(rate, length, 0.0).unwrap();
            assert!((found.mean / mean - 1.0).abs() < 1e-5);
            let second = 2.0 * mean * mean + rate * length.powi(3) / (3.0 * (1.0 - rho));
            assert!((found.second / second - 1.0).abs() < 0.1);
        }
    }

    /// Two inputs of one lane, alike. With r = lambda L and w = lambda W a worm waits for the other input with the
    /// probability q = w / r while that is served. A lane is free, and the other served, with r - w: for L / 2. It
    /// follows with r + w; then one has gathered with the probability q (2 - q), and takes L.
    #[test]
    fn a_worm_that_follows_finds_what_has_gathered() {
        let (rate, length) = (0.003, 100.0);
        let found = waits(&[inflow(Some(1), rate, length); 2], 1, &Ahead::default())[0];
        let (r, w) = (rate * length, rate * found.mean);
        let q = w / r;
        let expected = (r - w) * length / 2.0 + (r + w) * q * (2.0 - q) * length;
        assert!((found.mean / expected - 1.0).abs() < 1e-6);
    }

    /// The odds give back the number of worms that wait.
    #[test]
    fn odds_are_those_of_the_mean_number() {
        let rho: f64 = 0.6;
        for lanes in [1, 2, 5, 24] {
            let input = inflow(Some(lanes), 0.003, 100.0);
            let queued = input.queued(20.0, rho);
            let powers =
                |most: u32| -> f64 { (1..=most).map(|k| queued.odds.powi(k as i32)).sum() };
            let (own, others) = (0.3, rho - 0.3);
            let count = others * powers(lanes) + own * powers(lanes - 1);
            assert!((count / 0.06 - 1.0).abs() < 1e-9, "{lanes}: {count}");
        }
    }

    /// With 16 lanes before it a channel has nearly random arrivals.
    #[test]
    fn many_lanes_lead_to_several_as_in_mdm() {
        for lanes in [2, 4] {
            for rho in [0.1, 0.3, 0.5] {
                let offered = rho * f64::from(lanes);
                let exact = crommelin(offered, lanes as usize, 100.0);
                let input = inflow(Some(16), offered / 100.0, 100.0);
                let found = waits(&[input], lanes, &Ahead::default())[0].mean;
                let off = found / exact - 1.0;
                assert!(off.abs() < 0.05, "{lanes} lanes at {rho}: {off}");
            }
        }
    }

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
