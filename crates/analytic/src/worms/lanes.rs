//! Channels with several lanes: how many of them are held, and how long it takes until the first of them is free.

use super::inflow::{Inflow, LANES_MAX, LENGTHS};

/// Points in time at which the model computes how many lanes are held, as multiples of the longest mean remaining time.
/// The largest is 2: remaining times are below twice their mean.
pub(super) const POINTS: [f64; 26] = [
    0.0, 0.001, 0.0017, 0.0028, 0.0046, 0.0077, 0.013, 0.022, 0.036, 0.06, 0.1, 0.2, 0.32, 0.44,
    0.56, 0.68, 0.8, 0.92, 1.04, 1.16, 1.28, 1.4, 1.55, 1.7, 1.85, 2.0,
];

/// Upper limit on the share of time for which the lanes of an input count as held; larger shares are cut to it.
pub(super) const HELD_MAX: f64 = 0.999;

/// Number of entries in the distribution of the number of lanes that have a worm for a channel. Higher numbers of lanes
/// have no entry and count as impossible.
const COUNTS_MAX: usize = 4 * LANES_MAX as usize + 8;

/// Return the share of the worms in service that still hold their lanes after `time`. `kinds` are the loads and mean
/// remaining times of kinds of worms. A remaining time is uniform between 0 and twice its mean.
pub(super) fn still_held<'a>(kinds: impl Iterator<Item = &'a (f64, f64)>, time: f64) -> f64 {
    let (mut all, mut still_held) = (0.0, 0.0);
    for (load, left) in kinds.filter(|(load, _)| *load > 0.0) {
        all += load;
        still_held += load * (1.0 - time / (2.0 * left)).max(0.0);
    }
    if all > 0.0 { still_held / all } else { 0.0 }
}

/// Return the mean time until the first of `lanes` worms ends that each hold a lane and are at a random time of their
/// service.
pub(super) fn time_to_first(inflows: &[Inflow], lanes: u32) -> f64 {
    let kinds = || inflows.iter().flat_map(|inflow| &inflow.kinds);
    let longest = kinds().map(|(_, left)| *left).fold(0.0, f64::max);
    let held = |point: f64| still_held(kinds(), point * longest).powi(lanes as i32);
    let steps = POINTS.windows(2);
    steps
        .map(|ends| longest * (ends[1] - ends[0]) / 2.0 * (held(ends[0]) + held(ends[1])))
        .sum()
}

/// The lanes of an input from which worms request a channel, as an arriving worm finds them.
#[derive(Debug, Clone)]
pub(super) struct InputLanes {
    kinds: [(f64, f64); LENGTHS],
    load: f64,
    /// Whether the lanes belong to a previous channel. If false, the worms start at this channel, and any number of
    /// them may wait.
    channel: bool,
    /// Probabilities that 0, 1, 2 and so on of the lanes have a worm for the channel.
    held: Vec<f64>,
}

impl InputLanes {
    /// Describe the lanes of an input, of which at most `most` count. The number of worms on m lanes is Poisson, cut
    /// off at m. If `own` is true, the arriving worm comes over these lanes and occupies one of them itself.
    pub(super) fn new(inflow: &Inflow, most: u32, own: bool) -> Self {
        let load: f64 = inflow.kinds.iter().map(|(load, _)| load).sum();
        let lanes = inflow.lanes.unwrap_or(most).min(most);
        let offered = load.min(HELD_MAX * f64::from(lanes));
        let mut held = vec![1.0];
        for lane in 1..=lanes {
            held.push(held[lane as usize - 1] * offered / f64::from(lane));
        }
        let sum: f64 = held.iter().sum();
        held.iter_mut().for_each(|share| *share /= sum);
        let channel = inflow.lanes.is_some();
        if own && channel {
            let all = held.pop().unwrap_or(0.0);
            if let Some(last) = held.last_mut() {
                *last += all;
            }
        }
        Self {
            kinds: inflow.kinds,
            load,
            channel,
            held,
        }
    }
}

/// Return two probabilities for a channel of `lanes` lanes: that all of them are held now, and that all are still held
/// after `time`, counted once for each worm that must end first. With probability `serial` only one of the worms moves
/// on at a time. Otherwise the first worm that ends determines the time.
pub(super) fn held_after(leads: &[InputLanes], lanes: u32, serial: f64, time: f64) -> (f64, f64) {
    let waiting = |q: usize| (q - lanes as usize + 1) as f64;
    let (mut all, mut in_turn, mut at_once) = (0.0, 0.0, 0.0);
    if serial > 0.0 || time == 0.0 {
        for (q, share) in LaneDistribution::of(leads, lanes, |_| 1.0).all_held() {
            all += share;
            in_turn += share * waiting(q);
        }
        let load: f64 = leads.iter().map(|lead| lead.load).sum();
        let each = leads.iter();
        let each = each.map(|lead| lead.load * still_held(lead.kinds.iter(), time));
        in_turn *= each.sum::<f64>() / load.max(f64::MIN_POSITIVE);
    }
    let m = f64::from(lanes);
    for (q, share) in
        LaneDistribution::of(leads, lanes, |lead| still_held(lead.kinds.iter(), time)).all_held()
    {
        at_once += share * waiting(q) * q as f64 / m;
    }
    (all, serial * in_turn + (1.0 - serial) * at_once)
}

/// Return the load per lane of the worms that may arrive and wait while all `lanes` lanes of the channel are held. An
/// input sends no more worms while all of its lanes are held.
pub(super) fn load_behind(leads: &[InputLanes], lanes: u32) -> f64 {
    let all = |leads: &[InputLanes], lanes: u32| -> f64 {
        LaneDistribution::of(leads, lanes, |_| 1.0)
            .all_held()
            .map(|(_, share)| share)
            .sum()
    };
    let full = all(leads, lanes).max(f64::MIN_POSITIVE);
    let each = leads.iter().enumerate().map(|(number, lead)| {
        let most = lead.held.len() - 1;
        if !lead.channel || most > lanes as usize {
            return lead.load;
        }
        let mut rest = leads.to_vec();
        rest.remove(number);
        let taken = lead.held[most] * all(&rest, lanes - most as u32) / full;
        lead.load * (1.0 - taken).max(0.0)
    });
    (each.sum::<f64>() / f64::from(lanes)).min(HELD_MAX)
}

/// Distribution of the number of lanes that have a worm for a channel, among the lanes that lead to it.
struct LaneDistribution {
    /// Entry q is the probability that q lanes have a worm for the channel.
    shares: [f64; COUNTS_MAX],
    used: usize,
    lanes: usize,
}

impl LaneDistribution {
    /// Compute the distribution of the number of worms that still hold lanes. `on` returns, for an input, the
    /// probability that a worm of it does.
    fn of(leads: &[InputLanes], lanes: u32, on: impl Fn(&InputLanes) -> f64) -> Self {
        let kept = 4 * lanes as usize + 8;
        let mut shares = [0.0; COUNTS_MAX];
        shares[0] = 1.0;
        let mut used = 1;
        for lead in leads.iter().filter(|lead| lead.load > 0.0) {
            let on = on(lead);
            let reach = (used + lead.held.len() - 1).min(kept);
            // Go from the last entry to the first, so that the loop never reads an entry that it has changed.
            for q in (0..reach).rev() {
                let (mut sum, mut there) = (0.0, 1.0);
                for (k, held) in lead.held.iter().enumerate().take(q + 1) {
                    if q - k < used {
                        sum += shares[q - k] * held * there;
                    }
                    there *= on;
                }
                shares[q] = sum;
            }
            used = reach;
        }
        Self {
            shares,
            used,
            lanes: lanes as usize,
        }
    }

    /// Yield each number of worms with which all lanes are held, and its probability.
    fn all_held(&self) -> impl Iterator<Item = (usize, f64)> {
        let shares = self.shares[..self.used].iter().copied();
        shares.enumerate().skip(self.lanes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moments::Moments;

    /// Return an input with this number of lanes, this load and this worm length in flits.
    fn input(lanes: Option<u32>, load: f64, length: f64) -> Inflow {
        let mut kinds = [(0.0, 0.0); LENGTHS];
        kinds[0] = (load, length / 2.0);
        Inflow {
            lanes,
            rate: load / length,
            together: 0.0,
            service: Moments::fixed(length),
            kinds,
        }
    }

    /// Checks the mean time until the first of several worms in service ends. By theory, the minimum of m times that
    /// are uniform between 0 and L has the mean L / (m + 1).
    #[test]
    fn the_first_of_several_ends_early() {
        for lanes in 1..=8 {
            let found = time_to_first(&[input(None, 0.5, 100.0)], lanes);
            let expected = 100.0 / f64::from(lanes + 1);
            assert!((found / expected - 1.0).abs() < 0.02, "{lanes}: {found}");
        }
    }

    /// Checks the probability that both lanes of an input are held, and the mean time until one is free. By theory, the
    /// probability is a^2 / 2, and the first of the two worms ends after L / 3. If both worms go on to the same lane,
    /// the first one in the queue ends after L / 2.
    #[test]
    fn two_lanes_of_one_input_are_held_as_poisson_arrivals_hold_them() {
        let (load, length) = (1e-3, 100.0);
        let leads = [InputLanes::new(&input(Some(2), load, length), 8, false)];
        let mean = |serial: f64| {
            let steps = POINTS.windows(2).map(|ends| {
                let held = |point: f64| held_after(&leads, 2, serial, point * length / 2.0).1;
                (ends[1] - ends[0]) * length / 4.0 * (held(ends[0]) + held(ends[1]))
            });
            steps.sum::<f64>() / (load * load / 2.0)
        };
        assert!((mean(0.0) / (length / 3.0) - 1.0).abs() < 0.02);
        assert!((mean(1.0) / (length / 2.0) - 1.0).abs() < 0.02);
    }

    /// Checks that an input adds almost no load behind a channel while its own worms hold all lanes of the input.
    #[test]
    fn lanes_that_hold_a_channel_send_no_more() {
        let inputs = [input(Some(2), 0.5, 100.0), input(Some(1), 1e-6, 1.0)];
        let leads = inputs.map(|one| InputLanes::new(&one, 8, false));
        assert!(load_behind(&leads, 2) < 1e-5);
        let sources = [InputLanes::new(&input(None, 0.5, 100.0), 8, false)];
        assert_eq!(load_behind(&sources, 2), 0.25);
    }
}
