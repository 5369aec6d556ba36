//! The wait for one channel, by the channel by which a worm comes; see the module's description.

use super::lanes::{LANES_MAX, Leading, POINTS, behind, first_of, held_after};
use crate::moments::Moments;
use crate::queue;

/// Weight of the formula of Draper and Ghosh, the rest being that of the machine-repair model.
pub const DRAPER_GHOSH: f64 = 0.65;

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

impl Inflow {
    fn load(&self) -> f64 {
        self.rate * self.service.mean
    }

    fn single(&self) -> bool {
        self.lanes == Some(1)
    }

    /// Of the channel's load `rho`, what a worm of this input may have to wait for.
    fn others(&self, rho: f64) -> f64 {
        if self.single() {
            rho - self.load()
        } else {
            rho
        }
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
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Ahead {
    /// Variance of the later waits for others that any two of them have in common.
    pub common: f64,
    /// The probability that all of them are bound for one lane, where only one moves on at a time.
    pub serial: f64,
}

/// The wait of what comes by each input.
pub(super) fn waits(inflows: &[Inflow], lanes: u32, ahead: Ahead) -> Vec<Moments> {
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
    let excess = ahead.common / (service.mean * service.mean);
    let together: f64 = inflows.iter().map(|inflow| inflow.together).sum();
    let open = || {
        let service = Moments {
            second: service.second + together / rate,
            ..service
        };
        let mean = mgm(inflows, rate, &service, lanes, ahead.serial);
        let waiting = queue::waiting_probability(rate, service.mean, lanes);
        let alone = queue::wait_moments(rate, &service, lanes, mean);
        alone.as_often(more_often(waiting, excess, lanes))
    };
    if inflows.iter().all(|inflow| inflow.lanes.is_none()) || lanes > LANES_MAX {
        return vec![open(); inflows.len()];
    }
    if lanes == 1 {
        one_lane(inflows, rate * service.second + together, rho)
    } else {
        several_lanes(inflows, (lanes, rho), excess, ahead.serial)
    }
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

/// Rule 4: by how much more often all of several lanes are held, where by chance they are so with the
/// probability `held`: the odds grow by (1 + `excess`) (1 + 2 `excess`) ... (1 + (m - 1) `excess`).
fn more_often(held: f64, excess: f64, lanes: u32) -> f64 {
    if held.is_nan() || excess.is_nan() {
        return 1.0;
    }
    let odds: f64 = (1..lanes)
        .map(|lane| 1.0 + f64::from(lane) * excess)
        .take_while(|factor| *factor > 1.0)
        .product();
    1.0 / (1.0 / odds + held * (1.0 - 1.0 / odds))
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

/// Rule 2: `work` is the arrival rate times E\[S^2\] of all, with the additions of batches.
fn one_lane(inflows: &[Inflow], work: f64, rho: f64) -> Vec<Moments> {
    let full = work / (2.0 * (1.0 - rho));
    let each: Vec<Found> = inflows.iter().map(Found::of).collect();
    // An input of one lane meets those of the others alone.
    let others: Vec<Found> = (inflows.iter().enumerate())
        .map(|(at, own)| {
            let met = each.iter().enumerate();
            met.filter(|(number, _)| *number != at || !own.single())
                .fold(Found::default(), |sum, (_, found)| sum.plus(*found))
        })
        .collect();
    let mut waited = vec![0.0; inflows.len()];
    let mut found = vec![Found::default(); inflows.len()];
    for round in 0..ROUNDS_MAX {
        let mut moved: f64 = 0.0;
        // Work of what waits by each input, and the same for each unit of load that it waits for.
        let work = |(input, waited): (&Inflow, &f64)| {
            let work = input.rate * waited * input.service.mean;
            (work, work / input.others(rho).max(1e-15))
        };
        let all = (inflows.iter().zip(&waited))
            .map(work)
            .fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        for (at, own) in inflows.iter().enumerate() {
            let mut waiting = all.0;
            if own.single() {
                // What would wait for this input does not.
                let kept = work((own, &waited[at]));
                waiting = ((all.0 - kept.0) - own.load() * (all.1 - kept.1)).max(0.0);
            }
            let others = Found {
                waiting,
                ..others[at]
            };
            found[at] = find(own, waited[at], others, rho);
        }
        for (known, found) in waited.iter_mut().zip(&found) {
            let next = found.left + found.waiting;
            let next = if round > 10 {
                (next + *known) / 2.0
            } else {
                next
            };
            moved = moved.max((next - *known).abs());
            *known = next;
        }
        if moved < 1e-6 {
            break;
        }
    }
    inflows
        .iter()
        .zip(&found)
        .map(|(inflow, found)| {
            let repair = found.left + found.waiting;
            let mean = if inflow.single() {
                let own = inflow.rate * inflow.service.second + inflow.together;
                let others = 1.0 - own / work;
                DRAPER_GHOSH * full * others.max(0.0) + (1.0 - DRAPER_GHOSH) * repair
            } else {
                repair
            };
            let queued = found.waiting + (mean - repair);
            wait(
                found.serving.min(1.0),
                mean,
                found.left_second + 2.0 * mean * queued.max(0.0),
            )
        })
        .collect()
}

/// What a worm of `own` finds of the `others` at a channel of one lane, which are as they are while
/// its input has no worm there; `waited` is the wait of its input.
fn find(own: &Inflow, waited: f64, others: Found, rho: f64) -> Found {
    if !own.single() {
        return others;
    }
    let left = own.others(rho);
    if left <= 1e-15 {
        return Found::default();
    }
    let waits = own.rate * waited;
    // Of the time in which the others are served, and of all time, that without a worm of this one.
    let apart = (1.0 - waits / left).max(0.0);
    let absent = (1.0 - own.load() - waits).max(1e-9);
    others.times(apart / absent)
}

/// Rule 3.
fn several_lanes(
    inflows: &[Inflow],
    (lanes, rho): (u32, f64),
    excess: f64,
    serial: f64,
) -> Vec<Moments> {
    let most = 2 * lanes + 4;
    let leading: u64 = inflows
        .iter()
        .map(|inflow| u64::from(inflow.lanes.unwrap_or(most)))
        .sum();
    let kinds = inflows.iter().flat_map(|inflow| inflow.kinds);
    let longest = kinds.map(|(_, left)| left).fold(0.0, f64::max);
    let offered = rho * f64::from(lanes);
    if leading <= u64::from(lanes) || queue::waiting_probability(offered, 1.0, lanes) < 1e-9 {
        return vec![Moments::ZERO; inflows.len()];
    }
    (0..inflows.len())
        .map(|at| {
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
            let alone = wait(waiting, mean * longer, second * longer);
            alone.as_often(more_often(waiting, excess, lanes))
        })
        .collect()
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
        assert!((waits(&[source], 1, Ahead::default())[0].mean - expected).abs() < 1e-12);
        for lanes in [2, 3, 4, 8] {
            for rho in [0.1, 0.3, 0.5, 0.8] {
                let offered = rho * f64::from(lanes);
                let exact = crommelin(offered, lanes as usize, 100.0);
                let found = waits(
                    &[inflow(None, offered / 100.0, 100.0)],
                    lanes,
                    Ahead::default(),
                );
                let off = found[0].mean / exact - 1.0;
                assert!(off.abs() < 0.03, "{lanes} lanes at {rho}: {off}");
            }
        }
        assert_eq!(
            waits(&[inflow(None, 0.01, 100.0)], 1, Ahead::default())[0].mean,
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
            waits(&[source], lanes, Ahead::default())[0].mean
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
            waits(&[inflow(Some(1), 0.006, 100.0)], 1, Ahead::default())[0],
            Moments::ZERO
        );
    }

    #[test]
    fn no_more_lanes_in_than_out_is_no_wait() {
        let inflows = [inflow(Some(1), 0.006, 100.0), inflow(Some(2), 0.01, 100.0)];
        assert!(
            waits(&inflows, 3, Ahead::default())
                .iter()
                .all(|wait| wait.mean == 0.0)
        );
        assert!(
            waits(&inflows, 2, Ahead::default())
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
        let found = waits(&inflows, 1, Ahead::default());
        let expected = [3.0 * rate * 40.0 * 20.0, rate * 100.0 * 50.0];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found.mean / expected - 1.0).abs() < 1e-3);
            // Uniform times left: E[X^2] = p (2 r)^2 / 3 with the mean p r.
        }
        assert!((found[1].second / (rate * 100.0 * 100.0 * 100.0 / 3.0) - 1.0).abs() < 1e-3);
        // By several lanes a worm may meet those of its own channel, too.
        let wide = [inflow(Some(4), rate, 100.0)];
        let expected = rate * 100.0 * 50.0;
        assert!((waits(&wide, 1, Ahead::default())[0].mean / expected - 1.0).abs() < 1e-3);
    }

    /// At light load both lanes are held with probability p_1 p_2, and the first of two uniform times
    /// up to L ends after L / 3.
    #[test]
    fn two_lanes_are_free_when_the_first_of_two_ends() {
        let (rate, length) = (1e-5, 100.0);
        let inflows = [1e-9, rate, rate].map(|rate| inflow(Some(1), rate, length));
        let found = waits(&inflows, 2, Ahead::default())[0];
        let expected = (rate * length).powi(2) * length / 3.0;
        assert!(
            (found.mean / expected - 1.0).abs() < 0.02,
            "{}",
            found.mean / expected
        );
    }

    /// Two single-lane inputs, alike: by rule 2's second formula W = (r - w) / (1 - r - w) L / 2 with
    /// r = lambda L and w = lambda W, by the first half of that of M/D/1.
    #[test]
    fn two_inputs_follow_both_formulas() {
        let (rate, length) = (0.003, 100.0);
        let inflows = [inflow(Some(1), rate, length); 2];
        let (r, mut repair) = (rate * length, 0.0);
        for _ in 0..200 {
            let w = rate * repair;
            repair = (r - w) / (1.0 - r - w) * length / 2.0;
        }
        let half = queue::mg1_wait(2.0 * rate, length, 0.0).unwrap() / 2.0;
        let expected = DRAPER_GHOSH * half + (1.0 - DRAPER_GHOSH) * repair;
        assert!((waits(&inflows, 1, Ahead::default())[0].mean / expected - 1.0).abs() < 1e-4);
    }

    #[test]
    fn lanes_are_held_together_as_often_as_their_moments_say() {
        assert_eq!(more_often(0.3, 0.0, 4), 1.0);
        assert_eq!(more_often(0.0, 0.5, 1), 1.0);
        assert_eq!(more_often(0.0, 0.5, 2), 1.5);
        assert!((more_often(0.0, 0.5, 3) - 1.5 * 2.0).abs() < 1e-12);
        assert_eq!(more_often(1.0, 0.5, 3), 1.0);
        assert_eq!(more_often(0.3, f64::NAN, 3), 1.0);
        // However large the excess, no more than always.
        for excess in [1.0, 1e3, f64::INFINITY] {
            assert!(0.01 * more_often(0.01, excess, 65_536) <= 1.0 + 1e-12);
        }
        // At light load every wait for two lanes is longer by as much.
        let inflows = [1e-9, 1e-5, 1e-5].map(|rate| inflow(Some(1), rate, 100.0));
        let (alone, common) = (
            waits(&inflows, 2, Ahead::default())[0],
            waits(
                &inflows,
                2,
                Ahead {
                    common: 5e3,
                    serial: 0.0,
                },
            )[0],
        );
        assert!((common.mean / alone.mean / 1.5 - 1.0).abs() < 1e-3);
    }
}
