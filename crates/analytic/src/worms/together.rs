//! Rule 5: answers that come together; see the module's description.

use super::network::{Network, Start, Turn};
use super::solve::Solved;
use crate::moments::Moments;
use std::collections::BTreeMap;

/// Of the answers of one group that cross a channel: their rate, their service, and their rates by slot.
struct Answers {
    rate: f64,
    service: Moments,
    by_slot: Vec<f64>,
}

impl Network {
    /// Return for each group the mean time in which worms that ask gather behind the same busy channel: twice the mean
    /// time left of what they wait for, W (1 - rho). At a channel that only a share of the group crosses, only this
    /// share gathers.
    pub(super) fn gathering(&self, solved: &Solved) -> Vec<f64> {
        let mut all = vec![0.0; self.groups];
        let mut crossing: BTreeMap<(u32, u32), f64> = BTreeMap::new();
        let asking = || {
            let starts = self.starts.iter().zip(&self.slot_of_start);
            starts.filter_map(|(start, &slot)| match start.turn {
                Turn::Asks(group) => Some((group, start, slot)),
                Turn::Alone | Turn::Answers(_) => None,
            })
        };
        for (group, start, slot) in asking() {
            all[group as usize] += start.rate;
            for (step, _) in self.path(start, slot) {
                let channel = self.steps[step as usize].channel;
                *crossing.entry((group, channel)).or_default() += start.rate;
            }
        }
        let mut times = vec![0.0; self.groups];
        for (group, start, slot) in asking() {
            for (step, slot) in self.path(start, slot) {
                let channel = self.steps[step as usize].channel;
                let used = solved.utilisation[channel as usize];
                let wait = solved.waits[slot as usize].mean + solved.met[step as usize].mean;
                if used < 1.0 && wait.is_finite() {
                    let of_all = all[group as usize].powi(2).max(f64::MIN_POSITIVE);
                    let weight = start.rate * crossing[&(group, channel)] / of_all;
                    times[group as usize] += weight * 2.0 * (1.0 - used) * wait;
                }
            }
        }
        times
    }

    /// The steps of a worm that has one path, with their slots.
    fn path(&self, start: &Start, slot: u32) -> Vec<(u32, u32)> {
        let mut path = vec![(start.step, slot)];
        let (mut step, mut ends) = (start.step, false);
        while !ends {
            let next = self.steps[step as usize].next.first();
            ends = next.is_none();
            if let Some(&(_, next)) = next {
                path.push((next, self.slots_of[step as usize][0]));
                step = next;
            }
        }
        path
    }

    /// Find how long answers that come to a channel of one lane together wait for each other. Return by slot what they
    /// add to the rate times E\[S^2\].
    pub(super) fn meet(&self, channel: usize, load: f64, solved: &mut Solved) -> Vec<f64> {
        let inputs = &self.inputs[channel];
        let mut work = vec![0.0; inputs.len()];
        let answering = || {
            self.arrivals[channel]
                .iter()
                .filter(|one| one.answers > 0.0)
        };
        if self.lanes[channel] != 1 || solved.gathering.is_empty() {
            return work;
        }
        let slot_of = |slot: u32| (slot - self.first_slot[channel]) as usize;
        let mut groups: BTreeMap<u32, Answers> = BTreeMap::new();
        for one in answering() {
            let group = groups.entry(one.group).or_insert_with(|| Answers {
                rate: 0.0,
                service: Moments::ZERO,
                by_slot: vec![0.0; inputs.len()],
            });
            let rate = group.rate + one.answers;
            let parts = [
                (group.rate, group.service),
                (one.answers, self.service(one.step, solved)),
            ];
            group.service = Moments::weighted(parts, rate);
            group.rate = rate;
            group.by_slot[slot_of(one.slot)] += one.answers;
        }
        let mut met: BTreeMap<u32, Vec<(f64, Moments)>> = BTreeMap::new();
        for one in answering() {
            let (group, slot) = (&groups[&one.group], slot_of(one.slot));
            // Those on the same lane before this channel follow one another.
            let own = match inputs[slot] {
                Some(from) if self.fed[from as usize] == 1 => group.by_slot[slot],
                _ => 0.0,
            };
            let others = solved.gathering[one.group as usize] * load * (group.rate - own).max(0.0);
            let service = self.service(one.step, solved);
            if others > 0.0 && service.mean.is_finite() {
                work[slot] += load * one.answers * others * service.mean * group.service.mean;
                // Half of them come first.
                let wait = Moments::weighted([(others / 2.0, group.service)], 1.0);
                met.entry(one.step).or_default().push((one.answers, wait));
            }
        }
        for (step, parts) in met {
            let rate = parts.iter().map(|(rate, _)| rate).sum();
            solved.met[step as usize] = Moments::weighted(parts, rate);
        }
        work
    }
}
