//! Rule 5: answers that come in batches; see the module's description.

use super::network::{Network, Role, Start};
use super::solve::Solved;
use crate::moments::Moments;
use std::collections::BTreeMap;

/// The answers of one group that cross a channel: their rate, their service, and their rates by input.
struct Answers {
    rate: f64,
    service: Moments,
    by_input: Vec<f64>,
}

impl Network {
    /// Return for each group the mean time in which worms that ask gather behind the worm that holds their channel: twice
    /// its mean residual time, W (1 - rho). At a channel that only a share of the group crosses, only this share gathers.
    pub(super) fn gathering(&self, solved: &Solved) -> Vec<f64> {
        let mut all = vec![0.0; self.groups];
        let mut crossing: BTreeMap<(u32, u32), f64> = BTreeMap::new();
        let asking = || {
            let starts = self.starts.iter().zip(&self.slot_of_start);
            starts.filter_map(|(start, &slot)| match start.role {
                Role::Asks(group) => Some((group, start, slot)),
                Role::Alone | Role::Answers(_) => None,
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
                let wait = solved.wait(slot, step).mean;
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
        let mut step = start.step as usize;
        while let Some(&(_, next)) = self.steps[step].next.first() {
            path.push((next, self.slots_of[step][0]));
            step = next as usize;
        }
        path
    }

    /// Find how long answers of one batch wait for each other at a channel of one lane. Return by input what batches add
    /// to the rate times E\[S^2\].
    pub(super) fn meet(&self, channel: usize, load: f64, solved: &mut Solved) -> Vec<f64> {
        let inputs = &self.inputs[channel];
        let mut work = vec![0.0; inputs.len()];
        if self.lanes[channel] != 1 || solved.gathering.is_empty() {
            return work;
        }
        let arrivals = self.arrivals[channel].iter();
        let answering = arrivals.filter(|arrival| arrival.answers > 0.0);
        let mut groups: BTreeMap<u32, Answers> = BTreeMap::new();
        for arrival in answering.clone() {
            let group = groups.entry(arrival.group).or_insert_with(|| Answers {
                rate: 0.0,
                service: Moments::ZERO,
                by_input: vec![0.0; inputs.len()],
            });
            let rate = group.rate + arrival.answers;
            let parts = [
                (group.rate, group.service),
                (arrival.answers, self.service(arrival.step, solved)),
            ];
            group.service = Moments::weighted(parts, rate);
            group.rate = rate;
            group.by_input[self.input_of(channel, arrival.slot)] += arrival.answers;
        }
        let mut met: BTreeMap<u32, Vec<(f64, Moments)>> = BTreeMap::new();
        for arrival in answering {
            let group = &groups[&arrival.group];
            let input = self.input_of(channel, arrival.slot);
            // Answers on the same lane before this channel follow one another.
            let own = inputs[input].map_or(0.0, |from| {
                group.by_input[input] / f64::from(self.fed[from as usize])
            });
            let gathering = solved.gathering[arrival.group as usize];
            let others = gathering * load * (group.rate - own).max(0.0);
            let service = self.service(arrival.step, solved);
            if others > 0.0 && service.mean.is_finite() {
                work[input] += load * arrival.answers * others * service.mean * group.service.mean;
                // On average half of the others come first.
                let wait = Moments::weighted([(others / 2.0, group.service)], 1.0);
                let of_step = met.entry(arrival.step).or_default();
                of_step.push((arrival.answers, wait));
            }
        }
        for (step, parts) in met {
            let rate = parts.iter().map(|(rate, _)| rate).sum();
            solved.met[step as usize] = Moments::weighted(parts, rate);
        }
        work
    }
}
