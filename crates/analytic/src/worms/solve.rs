//! Solves a network: one pass over its channels, against the direction in which worms travel, computes all waits.

use super::inflow::{Inflow, LENGTHS, utilisation};
use super::network::Network;
use super::shared_waits::{CommonWait, SharedWaits};
use super::wait::waits;
use crate::moments::{Moments, ratio};
use std::collections::BTreeMap;

/// The waits and utilisations of the network at one load, as the model computes them.
#[derive(Debug, Clone)]
pub struct Solved {
    /// Wait of worms from each input of each channel, indexed by slot.
    pub(super) waits: Vec<Moments>,
    /// For each step, the wait of an answer for earlier answers of its batch.
    pub(super) batch_wait: Vec<Moments>,
    /// For each group of requests: the length of the interval in which requests form a batch; empty in the first pass.
    pub(super) gathering: Vec<f64>,
    /// For each step of the paths, the total wait of a worm at later steps.
    waits_after: Vec<Moments>,
    /// For each channel, the waits at later channels that its worms have in common.
    shared_waits: Vec<SharedWaits>,
    /// For each channel with one lane: the mean wait if all its worms waited in one M/G/1 queue.
    in_one_queue: Vec<f64>,
    /// Share of time for which the lanes of each channel are held, 0 to 1 below saturation.
    pub utilisation: Vec<f64>,
}

impl Solved {
    /// Return the wait of worms for the channel of a step, including waits within a batch of answers. `slot` is the
    /// index of the input over which the worms arrive.
    pub(super) fn wait(&self, slot: u32, step: u32) -> Moments {
        self.waits[slot as usize].plus(&self.batch_wait[step as usize])
    }
}

impl Network {
    /// Return the waits and utilisations in the network if every source sends `load` times its own rate.
    pub fn solve(&self, load: f64) -> Solved {
        let mut solved = self.idle();
        self.solve_while_unsaturated(load, &mut solved, |_| false);
        solved
    }

    /// Solve the queues of all channels. If there are requests, solve them twice: the first pass assumes independent
    /// answers, and its waits determine the batches of the second pass. Stop at the first channel for whose utilisation
    /// `is_full` returns true, and return whether there is such a channel.
    pub(super) fn solve_while_unsaturated(
        &self,
        load: f64,
        solved: &mut Solved,
        is_full: impl Fn(f64) -> bool,
    ) -> bool {
        let passes = if self.groups > 0 { 2 } else { 1 };
        (0..passes).any(|pass| {
            if pass > 0 {
                solved.gathering = self.gathering_times(solved);
            }
            let mut order = self.order.iter();
            order.any(|&channel| is_full(self.solve_channel(channel, load, solved)))
        })
    }

    /// Return the solution of the network at load zero: all waits are zero.
    pub(super) fn idle(&self) -> Solved {
        let slots: usize = self.inputs.iter().map(Vec::len).sum();
        Solved {
            waits: vec![Moments::ZERO; slots],
            batch_wait: vec![Moments::ZERO; self.steps.len()],
            gathering: Vec::new(),
            waits_after: vec![Moments::ZERO; self.steps.len()],
            shared_waits: vec![SharedWaits::default(); self.lanes.len()],
            in_one_queue: vec![0.0; self.lanes.len()],
            utilisation: vec![0.0; self.lanes.len()],
        }
    }

    /// Compute the waits at a channel from those at all later channels, and return its utilisation.
    fn solve_channel(&self, channel: u32, load: f64, solved: &mut Solved) -> f64 {
        for &number in &self.steps_on[channel as usize] {
            solved.waits_after[number as usize] = self.waits_after(number, solved);
        }
        let together = self.batch_waits(channel as usize, load, solved);
        let inflows = self.inflows(channel as usize, load, &together, solved);
        let lanes = self.lanes[channel as usize];
        let shared_waits = self.shared_waits(channel as usize, solved);
        let used = utilisation(&inflows, lanes);
        solved.utilisation[channel as usize] = used;
        let work = |inflow: &Inflow| inflow.rate * inflow.service.second + inflow.together;
        let work: f64 = inflows.iter().map(work).sum();
        solved.in_one_queue[channel as usize] = work / (2.0 * (1.0 - used));
        let first = self.first_slot[channel as usize] as usize;
        for (slot, wait) in waits(&inflows, lanes, &shared_waits)
            .into_iter()
            .enumerate()
        {
            solved.waits[first + slot] = wait;
        }
        solved.shared_waits[channel as usize] = shared_waits;
        used
    }

    /// Return how long the worms on the lanes of a channel wait together at later channels.
    fn shared_waits(&self, channel: usize, solved: &Solved) -> SharedWaits {
        let mut shared_waits = SharedWaits {
            serial_probability: self.serial_probability(channel, solved),
            ..SharedWaits::default()
        };
        if self.usable_lanes[channel] == 1 {
            return shared_waits;
        }
        for on in &self.onward[channel] {
            let next = on.channel as usize;
            let others = 1.0 - self.share_of_work(channel, next, solved);
            let mut wait = solved.waits[on.slot as usize].scaled(others);
            let mut further = solved.shared_waits[next].third;
            if self.lanes[next] == 1 && on.share.min(1.0 - others) > 1.0 - 1e-9 {
                let wait = solved.waits[on.slot as usize].mean;
                shared_waits.only = Some((wait, solved.in_one_queue[next]));
            }
            if self.usable_lanes[next] == 1 {
                // The first worm holds the only lane for as long as it waits at later channels: the others wait for
                // this time, too.
                let own = (self.arrivals[next].iter()).filter(|arrival| arrival.slot == on.slot);
                let rate = own.clone().map(|arrival| arrival.rate).sum();
                let later = own.map(|own| (own.rate, solved.waits_after[own.step as usize]));
                wait = wait.plus(&Moments::weighted(later, rate));
                further = 0.0;
            }
            let third = wait.third + further;
            if wait.mean > 0.0 && third.is_finite() {
                let left = wait.second / (2.0 * wait.mean);
                let longer = wait.third / (3.0 * wait.second);
                shared_waits.common.push(CommonWait {
                    share: on.share,
                    third,
                    left: [left, longer],
                });
            }
            shared_waits.third += on.share * on.share * third;
        }
        shared_waits
    }

    /// Return which share of the work that waits for channel `to` arrives over channel `from`, 0 to 1.
    fn share_of_work(&self, from: usize, to: usize, solved: &Solved) -> f64 {
        let (mut own, mut all) = (0.0, 0.0);
        for arrival in &self.arrivals[to] {
            let work = arrival.rate * self.service(arrival.step, solved).second;
            all += work;
            let input = self.inputs[to][self.input_index(to, arrival.slot)];
            if input == Some(from as u32) {
                own += work;
            }
        }
        if all > 0.0 { own / all } else { 0.0 }
    }

    /// Return the probability that all worms on the lanes of a channel go on to the same single lane, so that they
    /// leave one after another.
    fn serial_probability(&self, channel: usize, solved: &Solved) -> f64 {
        let lanes = self.lanes[channel];
        if lanes == 1 {
            return 1.0;
        }
        let mut loads = BTreeMap::new();
        let mut all = 0.0;
        for arrival in &self.arrivals[channel] {
            let load = arrival.rate * self.service(arrival.step, solved).mean;
            all += load;
            for &(probability, next) in &self.steps[arrival.step as usize].next {
                let next = self.steps[next as usize].channel;
                *loads.entry(next).or_insert(0.0) += load * probability;
            }
        }
        if !(all > 0.0 && all.is_finite()) {
            return 0.0;
        }
        let together = |load: f64| (load / all).powi(lanes as i32);
        let each = loads.into_iter();
        each.map(|(next, load)| {
            together(load) * solved.shared_waits[next as usize].serial_probability
        })
        .sum()
    }

    /// Return the moments of the time for which a worm holds the channel of a step: its length and its waits at later
    /// channels.
    pub(super) fn service(&self, step: u32, solved: &Solved) -> Moments {
        let length = self.lengths[self.steps[step as usize].length];
        length.plus(&solved.waits_after[step as usize])
    }

    /// Return the total wait of a worm at all steps of its path after step `number`.
    fn waits_after(&self, number: u32, solved: &Solved) -> Moments {
        let step = &self.steps[number as usize];
        let slots = &self.slots_of[number as usize];
        let parts = step.next.iter().zip(slots);
        Moments::weighted(
            parts.map(|(&(probability, next), &slot)| {
                let wait = solved.wait(slot, next);
                (probability, wait.plus(&solved.waits_after[next as usize]))
            }),
            1.0,
        )
    }

    /// Return the worms that arrive over each input of a channel. `together` has the values that [`Self::batch_waits`]
    /// computed.
    fn inflows(&self, channel: usize, load: f64, together: &[f64], solved: &Solved) -> Vec<Inflow> {
        let inputs = &self.inputs[channel];
        let mut sums = vec![(0.0, Moments::ZERO, [(0.0, 0.0); LENGTHS]); inputs.len()];
        for arrival in &self.arrivals[channel] {
            let step = &self.steps[arrival.step as usize];
            let service = self.service(arrival.step, solved);
            let (rate, moments, kinds) = &mut sums[self.input_index(channel, arrival.slot)];
            *rate += arrival.rate;
            moments.mean += arrival.rate * service.mean;
            moments.second += arrival.rate * service.second;
            moments.third += arrival.rate * service.third;
            kinds[step.length].0 += arrival.rate * service.mean;
            kinds[step.length].1 += arrival.rate * service.second;
        }
        let each = inputs.iter().zip(together).zip(sums);
        each.map(|((&from, &together), (rate, sum, kinds))| Inflow {
            lanes: from.map(|from| self.usable_lanes[from as usize]),
            rate: load * rate,
            together,
            service: if rate > 0.0 {
                sum.map(|moment| moment / rate)
            } else {
                Moments::ZERO
            },
            kinds: kinds.map(|(held, second)| (load * held, ratio(second, 2.0 * held))),
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue;
    use crate::worms::network::Step;
    use crate::worms::network::examples::{network, start, step};

    /// Return a network of four channels: worms from channel 0 continue on channel 1, others start on channel 2, and
    /// all of them cross channel 3.
    fn meeting(lanes: [u32; 4], rates: [f64; 2]) -> Network {
        let steps = vec![
            step(0, vec![(1.0, 1)]),
            step(1, vec![(1.0, 3)]),
            step(2, vec![(1.0, 3)]),
            step(3, Vec::new()),
        ];
        let starts = vec![start(0, rates[0]), start(2, rates[1])];
        network(&lanes, &[100.0], steps, starts)
    }

    /// Checks that worms from one source wait at the source as in an M/D/1 queue, and nowhere else. They cross three
    /// channels in a row, of which only the first can have a queue.
    #[test]
    fn a_single_lane_source_waits_as_in_md1() {
        let steps = vec![
            step(0, vec![(1.0, 1)]),
            step(1, vec![(1.0, 2)]),
            step(2, Vec::new()),
        ];
        let network = network(&[1; 3], &[100.0], steps, vec![start(0, 1.0)]);
        let solved = network.solve(0.008);
        let header = network.headers(&solved, 1)[0];
        let expected = queue::mg1_wait(0.008, 100.0, 0.0).expect("the load is below 1");
        assert!((header.source - expected).abs() < 1e-9);
        assert_eq!((header.channels, header.waits), (3.0, 0.0));
        let saturation = network.saturation(1e-6).expect("worms are sent");
        assert!((saturation - 0.01).abs() < 1e-7);
    }

    /// Checks that a wait for a later channel lengthens the time for which the channel before it is held. Two sources
    /// have a channel each and share the next one: worms hold their first channel while they wait for it.
    #[test]
    fn waiting_worms_hold_channels_behind_them() {
        let steps = vec![
            step(0, vec![(1.0, 2)]),
            step(1, vec![(1.0, 2)]),
            step(2, Vec::new()),
        ];
        let starts = vec![start(0, 1.0), start(1, 1.0)];
        let network = network(&[1; 3], &[100.0], steps, starts);
        let solved = network.solve(0.003);
        let header = network.headers(&solved, 1)[0];
        assert!(header.waits > 0.0);
        let held = 0.003 * (100.0 + header.waits);
        assert!((solved.utilisation[0] - held).abs() < 1e-12);
        let saturation = network.saturation(1e-6).expect("worms are sent");
        let bound = network.saturation_bound().expect("worms are sent");
        // The saturation load is almost that of one queue in which all worms of both sources wait.
        assert!(saturation <= bound && saturation > 0.0049);
    }

    /// Checks that a channel uses no more lanes than its inputs can fill. Only one lane of the channel can be held at a
    /// time, because the source before it has one lane. So two lanes give the same result as one.
    #[test]
    fn usable_lanes_are_limited_by_the_inputs() {
        let headers = |lanes: u32| {
            let network = meeting([1, lanes, 1, 1], [1.0, 1.0]);
            assert_eq!(network.usable_lanes[1], 1);
            network.headers(&network.solve(0.003), 1)
        };
        assert_eq!(headers(2), headers(1));
    }

    /// Checks that a network whose channels feed each other in a cycle is refused.
    #[test]
    fn cycles_of_channels_are_refused() {
        let steps = vec![step(0, vec![(1.0, 1)]), step(1, vec![(1.0, 0)])];
        let lengths = vec![Moments::fixed(10.0)];
        let refused = Network::new(vec![1; 2], lengths, steps, vec![start(0, 1.0)]);
        assert!(refused.is_err());
    }

    /// Checks that the waits on all channels of a route to one lane add up to the wait in an M/D/1 queue: worms of
    /// equal length that all go to one lane wait for one another as in one queue, on any channel.
    #[test]
    fn waits_on_the_way_to_one_lane_add_up_to_md1() {
        for (lanes, inputs, most) in [(1, 2, 0.02), (1, 5, 0.02), (2, 1, 1e-9), (2, 2, 0.05)] {
            for rho in [0.1, 0.2, 0.35] {
                let rate = rho / 100.0 / f64::from(inputs);
                let mut steps: Vec<Step> = (0..inputs)
                    .map(|input| step(input, vec![(1.0, inputs)]))
                    .collect();
                steps.push(step(inputs, Vec::new()));
                let mut all = vec![lanes; inputs as usize];
                all.push(1);
                let starts = (0..inputs).map(|input| start(input, rate)).collect();
                let network = network(&all, &[100.0], steps, starts);
                let header = network.headers(&network.solve(1.0), 1)[0];
                let exact = queue::mg1_wait(rho / 100.0, 100.0, 0.0).expect("the load is below 1");
                let off = (header.waits + header.source) / exact - 1.0;
                assert!(
                    off.abs() < most,
                    "{inputs} of {lanes} lanes at {rho}: {off}"
                );
            }
        }
    }

    /// Checks the third moment of the waiting time on a path of three channels. All worms wait at the last channel,
    /// which worms of another source occupy too; worms on different lanes wait there at the same time.
    #[test]
    fn waits_of_all_worms_are_shared() {
        let whole = meeting([8, 2, 1, 1], [0.001, 0.004]);
        let solved = whole.solve(1.0);
        let wait = |step: usize| solved.waits[whole.slots_of[step][0] as usize];
        assert!(wait(1).mean > 0.0 && wait(0).mean > 0.0);
        // One fifth of the worms that cross channel 3 arrive over channel 1. They share the waits for the other four
        // fifths.
        let others = 0.8 * wait(1).third;
        assert!((solved.shared_waits[1].third / others - 1.0).abs() < 1e-9);
        // No other worms cross channel 1, so the wait that the worms share is the same at channel 1 as at channel 3.
        assert_eq!(solved.shared_waits[0].third, solved.shared_waits[1].third);
        assert_eq!(
            (
                solved.shared_waits[0].serial_probability,
                solved.shared_waits[1].serial_probability
            ),
            (1.0, 1.0)
        );
        // Let half of the worms leave the common route: two worms then share a wait with a probability of one quarter.
        let mut halved = whole.steps.clone();
        halved.push(step(4, Vec::new()));
        halved[1].next = vec![(0.5, 3), (0.5, 4)];
        let network = network(&[8, 2, 1, 1, 1], &[100.0], halved, whole.starts.clone());
        let solved = network.solve(1.0);
        // In this network, one ninth of the worms that cross channel 3 arrive over channel 1, so the expected shared
        // wait is smaller.
        let wait = solved.waits[network.slots_of[1][0] as usize];
        let expected = wait.third / 4.0 * 8.0 / 9.0;
        assert!((solved.shared_waits[1].third / expected - 1.0).abs() < 1e-9);
    }

    /// Checks that worms also wait for the later waits of the worm before them: the first worm on a channel of one lane
    /// blocks the others while it waits at a later channel.
    #[test]
    fn worms_wait_for_the_first_that_waits_later() {
        let network = meeting([2, 1, 1, 1], [0.001, 0.004]);
        let solved = network.solve(1.0);
        let later = solved.waits[network.slots_of[1][0] as usize];
        assert!(later.third > 0.0);
        let wait = solved.waits[network.slots_of[0][0] as usize];
        // Only worms from channel 0 cross channel 1. They wait there for the worm before them, which waits for channel
        // 3.
        assert!(wait.mean > 0.0);
        assert!((solved.shared_waits[0].third / later.third - 1.0).abs() < 1e-9);
    }
}
