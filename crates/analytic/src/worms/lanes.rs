//! Channels of several lanes: how many are held, and when the first of them is free.

use super::inflow::{Inflow, LANES_MAX, LENGTHS};

/// Points in time, as shares of the longest mean time left, at which it is asked what is still held:
/// times left are below twice their mean.
pub(super) const POINTS: [f64; 26] = [
    0.0, 0.001, 0.0017, 0.0028, 0.0046, 0.0077, 0.013, 0.022, 0.036, 0.06, 0.1, 0.2, 0.32, 0.44,
    0.56, 0.68, 0.8, 0.92, 1.04, 1.16, 1.28, 1.4, 1.55, 1.7, 1.85, 2.0,
];

/// Largest share of an input's lanes that count as held.
pub(super) const HELD_MAX: f64 = 0.999;

/// Coefficients that are kept of how many lanes have a worm at a channel; what lies beyond is cut.
const LONGEST: usize = 4 * LANES_MAX as usize + 8;

/// The share of the worms in service that are still there after `time`: the time that each has left is
/// uniform up to twice its mean. `kinds` are loads and mean times left.
pub(super) fn still<'a>(kinds: impl Iterator<Item = &'a (f64, f64)>, time: f64) -> f64 {
    let (mut all, mut still) = (0.0, 0.0);
    for (load, left) in kinds.filter(|(load, _)| *load > 0.0) {
        all += load;
        still += load * (1.0 - time / (2.0 * left)).max(0.0);
    }
    if all > 0.0 { still / all } else { 0.0 }
}

/// The mean time until the first of `lanes` worms in service ends, each of which is at a random time
/// of its own.
pub(super) fn first_of(inflows: &[Inflow], lanes: u32) -> f64 {
    let kinds = || inflows.iter().flat_map(|inflow| &inflow.kinds);
    let longest = kinds().map(|(_, left)| *left).fold(0.0, f64::max);
    let held = |point: f64| still(kinds(), point * longest).powi(lanes as i32);
    let steps = POINTS.windows(2);
    steps
        .map(|ends| longest * (ends[1] - ends[0]) / 2.0 * (held(ends[0]) + held(ends[1])))
        .sum()
}

/// The lanes of one input that lead to a channel, as a worm that comes there finds them.
#[derive(Debug, Clone)]
pub(super) struct Leading {
    kinds: [(f64, f64); LENGTHS],
    load: f64,
    /// False where worms start: any number of them may wait.
    channel: bool,
    /// The probabilities that 0, 1, ... of the lanes have a worm for the channel.
    held: Vec<f64>,
}

impl Leading {
    /// Of an input with at most `most` lanes. The worms on m lanes are Poisson, and at most m. A worm that
    /// comes by these lanes (`own`) has one of them itself.
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

/// The probability that all of `lanes` are held (at the time 0 only), and the same with all of them still held after `time`, counted
/// once for each that must end. With the probability `serial` only one of the worms moves on at a time; else the
/// others hasten the first.
pub(super) fn held_after(leads: &[Leading], lanes: u32, serial: f64, time: f64) -> (f64, f64) {
    let waiting = |q: usize| (q - lanes as usize + 1) as f64;
    let (mut all, mut in_turn, mut at_once) = (0.0, 0.0, 0.0);
    if serial > 0.0 || time == 0.0 {
        for (q, share) in Counts::of(leads, lanes, |_| 1.0).full() {
            all += share;
            in_turn += share * waiting(q);
        }
        let load: f64 = leads.iter().map(|lead| lead.load).sum();
        let each = leads.iter();
        let each = each.map(|lead| lead.load * still(lead.kinds.iter(), time));
        in_turn *= each.sum::<f64>() / load.max(f64::MIN_POSITIVE);
    }
    let m = f64::from(lanes);
    for (q, share) in Counts::of(leads, lanes, |lead| still(lead.kinds.iter(), time)).full() {
        at_once += share * waiting(q) * q as f64 / m;
    }
    (all, serial * in_turn + (1.0 - serial) * at_once)
}

/// The load for each of `lanes` of worms that may wait while all lanes are held: an input whose lanes are among
/// those held sends no more.
pub(super) fn behind(leads: &[Leading], lanes: u32) -> f64 {
    let all = |leads: &[Leading], lanes: u32| -> f64 {
        Counts::of(leads, lanes, |_| 1.0)
            .full()
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

/// How many of the lanes that lead to a channel have a worm for it.
struct Counts {
    /// Coefficient q: the probability that q lanes have one.
    shares: [f64; LONGEST],
    used: usize,
    lanes: usize,
}

impl Counts {
    /// Of worms each of which is still there with the probability `on` of its input.
    fn of(leads: &[Leading], lanes: u32, on: impl Fn(&Leading) -> f64) -> Self {
        let kept = 4 * lanes as usize + 8;
        let mut shares = [0.0; LONGEST];
        shares[0] = 1.0;
        let mut used = 1;
        for lead in leads.iter().filter(|lead| lead.load > 0.0) {
            let on = on(lead);
            let reach = (used + lead.held.len() - 1).min(kept);
            // From the end, where nothing is read that was written.
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

    /// The numbers with which all lanes are held, and their probabilities.
    fn full(&self) -> impl Iterator<Item = (usize, f64)> {
        let shares = self.shares[..self.used].iter().copied();
        shares.enumerate().skip(self.lanes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moments::Moments;

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

    /// The least of m times that are uniform up to L has the mean L / (m + 1).
    #[test]
    fn the_first_of_several_ends_early() {
        for lanes in 1..=8 {
            let found = first_of(&[input(None, 0.5, 100.0)], lanes);
            let expected = 100.0 / f64::from(lanes + 1);
            assert!((found / expected - 1.0).abs() < 0.02, "{lanes}: {found}");
        }
    }

    /// Both lanes of one input are held with the probability a^2 / 2, and the first of them ends after L / 3; where
    /// both are bound for one lane, the one in front ends after L / 2.
    #[test]
    fn two_lanes_of_one_input_are_held_as_poisson_arrivals_hold_them() {
        let (load, length) = (1e-3, 100.0);
        let leads = [Leading::new(&input(Some(2), load, length), 8, false)];
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

    /// While both lanes of an input hold the channel, only others can wait behind.
    #[test]
    fn lanes_that_hold_a_channel_send_no_more() {
        let inputs = [input(Some(2), 0.5, 100.0), input(Some(1), 1e-6, 1.0)];
        let leads = inputs.map(|one| Leading::new(&one, 8, false));
        assert!(behind(&leads, 2) < 1e-5);
        let sources = [Leading::new(&input(None, 0.5, 100.0), 8, false)];
        assert_eq!(behind(&sources, 2), 0.25);
    }
}
