//! Wait of answers that arrive in batches: rule 5 of the description of the module `worms`.

use super::network::{Network, Role, Start};
use super::solve::Solved;
use crate::moments::Moments;
use std::collections::BTreeMap;

/// The answers of one group that cross a channel: their rate, their service times, and their rate by input.
struct Answers {
    rate: f64,
    service: Moments,
    by_input: Vec<f64>,
}

impl Network {
    /// Return for each group the mean time in which requests gather behind the worm that holds their channel: twice the
    /// mean residual time of that worm, W (1 - rho). At a channel that only a share of the group crosses, only this
    /// share gathers.
    pub(super) fn gathering_times(&self, solved: &Solved) -> Vec<f64> {
        let mut all = vec![0.0; self.groups];
        let mut crossing: BTreeMap<(u32, u32), f64> = BTreeMap::new();
        let asking = || {
            let starts = self.starts.iter().zip(&self.slot_of_start);
            starts.filter_map(|(start, &slot)| match start.role {
                Role::Requests(group) => Some((group, start, slot)),
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

    /// Return the steps of a worm that has only one path, each with the index (slot) of its wait in the list of waits.
    fn path(&self, start: &Start, slot: u32) -> Vec<(u32, u32)> {
        let mut path = vec![(start.step, slot)];
        let mut step = start.step as usize;
        while let Some(&(_, next)) = self.steps[step].next.first() {
            path.push((next, self.slots_of[step][0]));
            step = next as usize;
        }
        path
    }

    /// Compute how long answers of one batch wait for each other at a channel of one lane. Return for each input the
    /// amount by which batches increase the rate times E\[S^2\].
    pub(super) fn batch_waits(&self, channel: usize, load: f64, solved: &mut Solved) -> Vec<f64> {
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
            group.by_input[self.input_index(channel, arrival.slot)] += arrival.answers;
        }
        let mut met: BTreeMap<u32, Vec<(f64, Moments)>> = BTreeMap::new();
        for arrival in answering {
            let group = &groups[&arrival.group];
            let input = self.input_index(channel, arrival.slot);
            // Answers that arrive over the same lane follow one another and do not meet here, so their rate is
            // subtracted from that of the others.
            let own = inputs[input].map_or(0.0, |from| {
                group.by_input[input] / f64::from(self.usable_lanes[from as usize])
            });
            let gathering = solved.gathering[arrival.group as usize];
            let others = gathering * load * (group.rate - own).max(0.0);
            let service = self.service(arrival.step, solved);
            if others > 0.0 && service.mean.is_finite() {
                work[input] += load * arrival.answers * others * service.mean * group.service.mean;
                // On average, half of the other answers of the batch arrive first.
                let wait = Moments::weighted([(others / 2.0, group.service)], 1.0);
                let of_step = met.entry(arrival.step).or_default();
                of_step.push((arrival.answers, wait));
            }
        }
        for (step, parts) in met {
            let rate = parts.iter().map(|(rate, _)| rate).sum();
            solved.batch_wait[step as usize] = Moments::weighted(parts, rate);
        }
        work
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worms::network::Step;
    use crate::worms::network::examples::{network, start, step};

    /// Return a network and its solution. Worms of one flit are requests on channel 0, where worms of 100 flits also
    /// start. Answers of 100 flits start equally on channels 1 to `sources` and continue on the last channel.
    fn answered(sources: u32, ask: f64, long: f64) -> (Network, Solved) {
        let last = sources + 1;
        let mut steps = vec![step(0, Vec::new()), step(last, Vec::new())];
        steps.push(Step {
            length: 1,
            ..step(0, Vec::new())
        });
        steps[1].length = 1;
        let with_role = |role, step, rate| Start {
            role,
            ..start(step, rate)
        };
        let mut starts = vec![with_role(Role::Requests(0), 0, ask), start(2, long)];
        for source in 1..=sources {
            steps.push(Step {
                length: 1,
                ..step(source, vec![(1.0, 1)])
            });
            let answers = ask / f64::from(sources);
            starts.push(with_role(Role::Answers(0), 2 + source, answers));
        }
        let lanes = vec![1; last as usize + 1];
        let network = network(&lanes, &[1.0, 100.0], steps, starts);
        let solved = network.solve(1.0);
        (network, solved)
    }

    /// Checks that answers to requests that waited together arrive in batches and wait longer. M/D/1 with batch
    /// arrivals, c others on average: the wait for earlier batches is lambda S^2 (1 + c) / 2 (1 - rho), and that for
    /// others of the same batch is c S / 2.
    #[test]
    fn answers_to_gathered_requests_arrive_in_batches() {
        let (ask, long, length) = (0.004, 0.005, 100.0);
        let (network, solved) = answered(1, ask, long);
        // c, the mean number of other answers in a batch, is the rate of answers times 2 R. 2 R is the sum of rate
        // times E[S^2] on channel 0.
        let others = ask * (long * length * length + ask);
        let rho = ask * length;
        let work = rho * length * (1.0 + others) / (2.0 * (1.0 - rho));
        let found = network.headers(&solved, 1);
        let source = solved.waits[network.slot_of_start[2] as usize].mean;
        assert!((source / work - 1.0).abs() < 1e-9);
        assert!((solved.batch_wait[3].mean / (others * length / 2.0) - 1.0).abs() < 1e-9);
        assert_eq!(
            solved.batch_wait[1],
            Moments::ZERO,
            "they follow one another"
        );
        assert!(found[0].source > 0.0);
        // Without long worms, hardly any answers arrive together.
        assert!(answered(1, ask, 0.0).1.batch_wait[3].mean < 1e-3);
    }

    /// Checks that answers of one batch from several sources wait for each other at their common channel. Answers from
    /// each of three sources meet the answers from the two others at the last channel.
    #[test]
    fn answers_from_several_sources_meet_later() {
        let (ask, long) = (0.003, 0.005);
        let (network, solved) = answered(3, ask, long);
        let gathered = long * 100.0 * 100.0 + ask;
        let met = |others: f64| gathered * others * 100.0 / 2.0;
        assert!((solved.batch_wait[1].mean / met(ask * 2.0 / 3.0) - 1.0).abs() < 1e-9);
        // Answers hold the lane of their source while they wait at the last channel.
        let service = network.service(3, &solved).mean;
        let expected = gathered * ask / 3.0 * service / 2.0;
        assert!((solved.batch_wait[3].mean / expected - 1.0).abs() < 1e-9);
    }

    /// Checks that simultaneous answers give no higher saturation load than independent answers.
    #[test]
    fn batches_of_answers_do_not_raise_the_saturation_load() {
        let (together, _) = answered(3, 0.003, 0.005);
        let alone = together.starts.iter().map(|&start| Start {
            role: Role::Alone,
            ..start
        });
        let steps = together.steps.clone();
        let alone = network(&together.lanes, &[1.0, 100.0], steps, alone.collect());
        let saturation = |of: &Network| of.saturation(1e-6).expect("worms are sent");
        assert!(saturation(&together) <= saturation(&alone));
    }
}
