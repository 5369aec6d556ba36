//! The pass against the direction of travel: waits, latencies, and the load that saturates.

use super::network::Network;
use super::wait::{Ahead, Common, Inflow, LENGTHS, utilisation, waits};
use crate::moments::Moments;
use std::collections::BTreeMap;

/// Mean header latency of a class in cycles.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Uses {
    /// Worms per cycle at a load of 1.
    pub rate: f64,
    /// Channels on the way.
    pub channels: f64,
    /// Waits after the first channel.
    pub waits: f64,
    /// Wait for the first channel.
    pub source: f64,
}

/// The network at one load.
#[derive(Debug, Clone)]
pub struct Solved {
    /// Waits by slot.
    pub(super) waits: Vec<Moments>,
    /// By step: the wait for other answers of the same batch.
    pub(super) met: Vec<Moments>,
    /// By group: the time in which worms that ask gather; empty in the first pass.
    pub(super) gathering: Vec<f64>,
    /// By step: the waits after it.
    later: Vec<Moments>,
    /// By channel.
    ahead: Vec<Ahead>,
    /// By channel of one lane: the mean wait if all that cross it waited in one queue (M/G/1).
    in_one_queue: Vec<f64>,
    /// Share of time for which the lanes of each channel are held.
    pub utilisation: Vec<f64>,
}

impl Solved {
    /// The whole wait for the channel of a step, which has this slot.
    pub(super) fn wait(&self, slot: u32, step: u32) -> Moments {
        self.waits[slot as usize].plus(&self.met[step as usize])
    }
}

impl Network {
    /// Waits and use when every start sends `load` times its rate.
    pub fn solve(&self, load: f64) -> Solved {
        let mut solved = self.idle();
        self.solve_until(load, &mut solved, |_| false);
        solved
    }

    /// Solve all channels, twice if worms ask: the first pass takes answers as independent, and its waits give the batches
    /// of the second. Stop at the first channel whose utilisation `is_full`, and return whether there is one.
    fn solve_until(&self, load: f64, solved: &mut Solved, is_full: impl Fn(f64) -> bool) -> bool {
        let passes = if self.groups > 0 { 2 } else { 1 };
        (0..passes).any(|pass| {
            if pass > 0 {
                solved.gathering = self.gathering(solved);
            }
            let mut order = self.order.iter();
            order.any(|&channel| is_full(self.solve_channel(channel, load, solved)))
        })
    }

    fn idle(&self) -> Solved {
        let slots: usize = self.inputs.iter().map(Vec::len).sum();
        Solved {
            waits: vec![Moments::ZERO; slots],
            met: vec![Moments::ZERO; self.steps.len()],
            gathering: Vec::new(),
            later: vec![Moments::ZERO; self.steps.len()],
            ahead: vec![Ahead::default(); self.lanes.len()],
            in_one_queue: vec![0.0; self.lanes.len()],
            utilisation: vec![0.0; self.lanes.len()],
        }
    }

    /// Solves a channel once all behind it are solved, and gives its utilisation.
    fn solve_channel(&self, channel: u32, load: f64, solved: &mut Solved) -> f64 {
        for &number in &self.steps_on[channel as usize] {
            solved.later[number as usize] = self.later(number, solved);
        }
        let together = self.meet(channel as usize, load, solved);
        let inflows = self.inflows(channel as usize, load, &together, solved);
        let lanes = self.lanes[channel as usize];
        let ahead = self.ahead(channel as usize, solved);
        let used = utilisation(&inflows, lanes);
        solved.utilisation[channel as usize] = used;
        let work = |inflow: &Inflow| inflow.rate * inflow.service.second + inflow.together;
        let work: f64 = inflows.iter().map(work).sum();
        solved.in_one_queue[channel as usize] = work / (2.0 * (1.0 - used));
        let first = self.first_slot[channel as usize] as usize;
        for (slot, wait) in waits(&inflows, lanes, &ahead).into_iter().enumerate() {
            solved.waits[first + slot] = wait;
        }
        solved.ahead[channel as usize] = ahead;
        used
    }

    /// What the worms on the lanes of a channel share behind it.
    fn ahead(&self, channel: usize, solved: &Solved) -> Ahead {
        let mut ahead = Ahead {
            serial: self.serial(channel, solved),
            ..Ahead::default()
        };
        if self.fed[channel] == 1 {
            return ahead;
        }
        for on in &self.onward[channel] {
            let next = on.channel as usize;
            let others = 1.0 - self.share(channel, next, solved);
            let mut wait = solved.waits[on.slot as usize].as_often(others);
            let mut further = solved.ahead[next].third;
            if self.lanes[next] == 1 && on.share.min(1.0 - others) > 1.0 - 1e-9 {
                let wait = solved.waits[on.slot as usize].mean;
                ahead.only = Some((wait, solved.in_one_queue[next]));
            }
            if self.fed[next] == 1 {
                // The first holds the one lane for the others, whatever it waits for later.
                let own = (self.arrivals[next].iter()).filter(|arrival| arrival.slot == on.slot);
                let rate = own.clone().map(|arrival| arrival.rate).sum();
                let later = own.map(|own| (own.rate, solved.later[own.step as usize]));
                wait = wait.plus(&Moments::weighted(later, rate));
                further = 0.0;
            }
            let third = wait.third + further;
            if wait.mean > 0.0 && third.is_finite() {
                let left = wait.second / (2.0 * wait.mean);
                let longer = wait.third / (3.0 * wait.second);
                ahead.common.push(Common {
                    share: on.share,
                    third,
                    left: [left, longer],
                });
            }
            ahead.third += on.share * on.share * third;
        }
        ahead
    }

    /// The share of the work that worms wait for at channel `to` that comes by channel `from`.
    fn share(&self, from: usize, to: usize, solved: &Solved) -> f64 {
        let (mut own, mut all) = (0.0, 0.0);
        for arrival in &self.arrivals[to] {
            let work = arrival.rate * self.service(arrival.step, solved).second;
            all += work;
            let input = self.inputs[to][self.input_of(to, arrival.slot)];
            if input == Some(from as u32) {
                own += work;
            }
        }
        if all > 0.0 { own / all } else { 0.0 }
    }

    /// The probability that all worms on the lanes of a channel are bound for one lane.
    fn serial(&self, channel: usize, solved: &Solved) -> f64 {
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
        each.map(|(next, load)| together(load) * solved.ahead[next as usize].serial)
            .sum()
    }

    /// How long a worm holds the channel of a step.
    pub(super) fn service(&self, step: u32, solved: &Solved) -> Moments {
        let length = self.lengths[self.steps[step as usize].length];
        length.plus(&solved.later[step as usize])
    }

    /// Waits after a step.
    fn later(&self, number: u32, solved: &Solved) -> Moments {
        let step = &self.steps[number as usize];
        let slots = &self.slots_of[number as usize];
        let parts = step.next.iter().zip(slots);
        Moments::weighted(
            parts.map(|(&(probability, next), &slot)| {
                let wait = solved.wait(slot, next);
                (probability, wait.plus(&solved.later[next as usize]))
            }),
            1.0,
        )
    }

    /// By input: what comes, with the addition of [`meet`](Self::meet).
    fn inflows(&self, channel: usize, load: f64, together: &[f64], solved: &Solved) -> Vec<Inflow> {
        let inputs = &self.inputs[channel];
        let mut sums = vec![(0.0, Moments::ZERO, [(0.0, 0.0); LENGTHS]); inputs.len()];
        for arrival in &self.arrivals[channel] {
            let step = &self.steps[arrival.step as usize];
            let service = self.service(arrival.step, solved);
            let (rate, moments, kinds) = &mut sums[self.input_of(channel, arrival.slot)];
            *rate += arrival.rate;
            moments.mean += arrival.rate * service.mean;
            moments.second += arrival.rate * service.second;
            moments.third += arrival.rate * service.third;
            kinds[step.length].0 += arrival.rate * service.mean;
            kinds[step.length].1 += arrival.rate * service.second;
        }
        let each = inputs.iter().zip(together).zip(sums);
        each.map(|((&from, &together), (rate, sum, kinds))| Inflow {
            lanes: from.map(|from| self.fed[from as usize]),
            rate: load * rate,
            together,
            service: if rate > 0.0 {
                Moments {
                    mean: sum.mean / rate,
                    second: sum.second / rate,
                    third: sum.third / rate,
                }
            } else {
                Moments::ZERO
            },
            kinds: kinds.map(|(held, second)| {
                let left = if held > 0.0 {
                    second / (2.0 * held)
                } else {
                    0.0
                };
                (load * held, left)
            }),
        })
        .collect()
    }

    /// Mean header latencies of the classes below `classes`.
    pub fn headers(&self, solved: &Solved, classes: usize) -> Vec<Uses> {
        let mut ahead = vec![(1.0, 0.0); self.steps.len()];
        for &channel in &self.order {
            for &number in &self.steps_on[channel as usize] {
                let step = &self.steps[number as usize];
                let (mut channels, mut waits) = (1.0, 0.0);
                for (&(probability, next), &slot) in
                    step.next.iter().zip(&self.slots_of[number as usize])
                {
                    let (more, later) = ahead[next as usize];
                    channels += probability * more;
                    if probability > 0.0 {
                        waits += probability * (solved.wait(slot, next).mean + later);
                    }
                }
                ahead[number as usize] = (channels, waits);
            }
        }
        let mut found = vec![Uses::default(); classes];
        for (start, &slot) in self.starts.iter().zip(&self.slot_of_start) {
            if start.rate > 0.0 {
                let (channels, waits) = ahead[start.step as usize];
                let sum = &mut found[start.class];
                sum.rate += start.rate;
                sum.channels += start.rate * channels;
                sum.waits += start.rate * waits;
                sum.source += start.rate * solved.wait(slot, start.step).mean;
            }
        }
        for sum in found.iter_mut().filter(|sum| sum.rate > 0.0) {
            sum.channels /= sum.rate;
            sum.waits /= sum.rate;
            sum.source /= sum.rate;
        }
        found
    }

    /// The load at which the first channel is held all the time, to this relative precision; none if
    /// nothing is sent.
    pub fn saturation(&self, precision: f64) -> Option<f64> {
        let full = |load: f64| {
            let held = |used: f64| used.is_nan() || used >= 1.0;
            self.solve_until(load, &mut self.idle(), held)
        };
        let mut high = self.bound()?;
        let mut low = 0.0;
        while high - low > precision * high {
            let middle = low + (high - low) / 2.0;
            if full(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Some(high)
    }

    /// The load at which some channel carries flits all the time.
    pub fn bound(&self) -> Option<f64> {
        let carried = (0..self.lanes.len()).map(|channel| {
            let work: f64 = (self.arrivals[channel].iter())
                .map(|arrival| {
                    let step = &self.steps[arrival.step as usize];
                    arrival.rate * self.lengths[step.length].mean
                })
                .sum();
            work / f64::from(self.lanes[channel].max(1))
        });
        let most = carried.fold(0.0, f64::max);
        (most > 0.0).then(|| 1.0 / most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue;
    use crate::worms::network::{Role, Start, Step};
    use proptest::prelude::*;

    fn step(channel: u32, next: Vec<(f64, u32)>) -> Step {
        Step {
            channel,
            length: 0,
            next,
        }
    }

    fn start(step: u32, rate: f64) -> Start {
        Start {
            class: 0,
            step,
            rate,
            role: Role::Alone,
        }
    }

    /// Worms that start on channel 0 go on to 1, others start on 2; all meet in 3.
    fn meeting(lanes: [u32; 4], rates: [f64; 2]) -> Network {
        let steps = vec![
            step(0, vec![(1.0, 1)]),
            step(1, vec![(1.0, 3)]),
            step(2, vec![(1.0, 3)]),
            step(3, Vec::new()),
        ];
        let starts = vec![start(0, rates[0]), start(2, rates[1])];
        Network::new(lanes.to_vec(), vec![Moments::fixed(100.0)], steps, starts).unwrap()
    }

    /// One source, three channels in a row: only the first has a queue, that of M/D/1.
    #[test]
    fn a_single_lane_source_waits_as_in_md1() {
        let steps = vec![
            step(0, vec![(1.0, 1)]),
            step(1, vec![(1.0, 2)]),
            step(2, Vec::new()),
        ];
        let lengths = vec![Moments::fixed(100.0)];
        let network = Network::new(vec![1; 3], lengths, steps, vec![start(0, 1.0)]).unwrap();
        let solved = network.solve(0.008);
        let header = network.headers(&solved, 1)[0];
        let expected = queue::mg1_wait(0.008, 100.0, 0.0).unwrap();
        assert!((header.source - expected).abs() < 1e-9);
        assert_eq!((header.channels, header.waits), (3.0, 0.0));
        assert!((network.saturation(1e-6).unwrap() - 0.01).abs() < 1e-7);
    }

    /// Two sources that share their second channel: each first channel is held through the wait.
    #[test]
    fn what_waits_holds_what_is_behind() {
        let steps = vec![
            step(0, vec![(1.0, 2)]),
            step(1, vec![(1.0, 2)]),
            step(2, Vec::new()),
        ];
        let lengths = vec![Moments::fixed(100.0)];
        let starts = vec![start(0, 1.0), start(1, 1.0)];
        let network = Network::new(vec![1; 3], lengths, steps, starts).unwrap();
        let solved = network.solve(0.003);
        let header = network.headers(&solved, 1)[0];
        assert!(header.waits > 0.0);
        let held = 0.003 * (100.0 + header.waits);
        assert!((solved.utilisation[0] - held).abs() < 1e-12);
        let saturation = network.saturation(1e-6).unwrap();
        // In all, both sources wait as one queue would.
        assert!(saturation <= network.bound().unwrap() && saturation > 0.0049);
    }

    /// A source with one lane, a channel with two, and one that another source shares: the two lanes are never
    /// held at once, so that it is all as if there were one.
    #[test]
    fn no_more_lanes_are_held_than_are_fed() {
        let headers = |lanes: u32| {
            let network = meeting([1, lanes, 1, 1], [1.0, 1.0]);
            assert_eq!(network.fed[1], 1);
            network.headers(&network.solve(0.003), 1)
        };
        assert_eq!(headers(2), headers(1));
    }

    #[test]
    fn circles_are_refused() {
        let steps = vec![step(0, vec![(1.0, 1)]), step(1, vec![(1.0, 0)])];
        let lengths = vec![Moments::fixed(10.0)];
        let refused = Network::new(vec![1; 2], lengths, steps, vec![start(0, 1.0)]);
        assert!(refused.is_err());
    }

    /// Worms of equal length that all go to one lane wait as in M/D/1, wherever they do so.
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
                let network =
                    Network::new(all, vec![Moments::fixed(100.0)], steps, starts).unwrap();
                let header = network.headers(&network.solve(1.0), 1)[0];
                let exact = queue::mg1_wait(rho / 100.0, 100.0, 0.0).unwrap();
                let off = (header.waits + header.source) / exact - 1.0;
                assert!(
                    off.abs() < most,
                    "{inputs} of {lanes} lanes at {rho}: {off}"
                );
            }
        }
    }

    /// All worms of the first channels go on to the last, where they wait for another source.
    #[test]
    fn what_all_wait_for_is_common() {
        let network = meeting([8, 2, 1, 1], [0.001, 0.004]);
        let solved = network.solve(1.0);
        let wait = |step: usize| solved.waits[network.slots_of[step][0] as usize];
        assert!(wait(1).mean > 0.0 && wait(0).mean > 0.0);
        // One in five that cross channel 3 come by channel 1; the wait for the others is common.
        let others = 0.8 * wait(1).third;
        assert!((solved.ahead[1].third / others - 1.0).abs() < 1e-9);
        // Nothing else crosses channel 1, and all go on to the one lane of channel 3.
        assert_eq!(solved.ahead[0].third, solved.ahead[1].third);
        assert_eq!((solved.ahead[0].serial, solved.ahead[1].serial), (1.0, 1.0));
        // Where half of them go elsewhere, two wait together a quarter of the time.
        let mut halved = network.steps.clone();
        halved.push(step(4, Vec::new()));
        halved[1].next = vec![(0.5, 3), (0.5, 4)];
        let starts = network.starts.clone();
        let network = Network::new(vec![8, 2, 1, 1, 1], network.lengths, halved, starts).unwrap();
        let solved = network.solve(1.0);
        // Then one in nine that cross channel 3 come by channel 1.
        let wait = solved.waits[network.slots_of[1][0] as usize];
        let expected = wait.third / 4.0 * 8.0 / 9.0;
        assert!((solved.ahead[1].third / expected - 1.0).abs() < 1e-9);
    }

    /// The first worm on a channel of one lane holds back the others while it waits later.
    #[test]
    fn worms_wait_for_the_first_that_waits_later() {
        let network = meeting([2, 1, 1, 1], [0.001, 0.004]);
        let solved = network.solve(1.0);
        let later = solved.waits[network.slots_of[1][0] as usize];
        assert!(later.third > 0.0);
        let wait = solved.waits[network.slots_of[0][0] as usize];
        // All that cross channel 1 come from channel 0: no wait for others there.
        assert!(wait.mean > 0.0);
        assert!((solved.ahead[0].third / later.third - 1.0).abs() < 1e-9);
    }

    /// Worms of one flit ask on channel 0, where worms of 100 flits start, too. Answers of 100 flits start evenly on
    /// channels 1 to `sources` and go on to the last channel.
    fn answered(sources: u32, ask: f64, long: f64) -> (Network, Solved) {
        let (flit, block) = (Moments::fixed(1.0), Moments::fixed(100.0));
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
        let mut starts = vec![with_role(Role::Asks(0), 0, ask), start(2, long)];
        for source in 1..=sources {
            steps.push(Step {
                length: 1,
                ..step(source, vec![(1.0, 1)])
            });
            let answers = ask / f64::from(sources);
            starts.push(with_role(Role::Answers(0), 2 + source, answers));
        }
        let lanes = vec![1; last as usize + 1];
        let network = Network::new(lanes, vec![flit, block], steps, starts).unwrap();
        let solved = network.solve(1.0);
        (network, solved)
    }

    /// M/D/1 with batch arrivals, c others in the mean: the wait for earlier batches is lambda S^2 (1 + c) / 2 (1 - rho),
    /// and that for others of the same batch is c S / 2.
    #[test]
    fn answers_to_worms_that_waited_together_come_together() {
        let (ask, long, length) = (0.004, 0.005, 100.0);
        let (network, solved) = answered(1, ask, long);
        // c is the rate of answers times 2 R, and 2 R is the sum of rate times E[S^2] on channel 0.
        let others = ask * (long * length * length + ask);
        let rho = ask * length;
        let work = rho * length * (1.0 + others) / (2.0 * (1.0 - rho));
        let found = network.headers(&solved, 1);
        let source = solved.waits[network.slot_of_start[2] as usize].mean;
        assert!((source / work - 1.0).abs() < 1e-9);
        assert!((solved.met[3].mean / (others * length / 2.0) - 1.0).abs() < 1e-9);
        assert_eq!(solved.met[1], Moments::ZERO, "they follow one another");
        assert!(found[0].source > 0.0);
        // With no long worms to wait for, hardly any come together.
        assert!(answered(1, ask, 0.0).1.met[3].mean < 1e-3);
    }

    /// Answers from each of three sources meet those from the two others at the last channel.
    #[test]
    fn answers_from_several_places_meet_later() {
        let (ask, long) = (0.003, 0.005);
        let (_, solved) = answered(3, ask, long);
        let gathered = long * 100.0 * 100.0 + ask;
        let met = |others: f64| gathered * others * 100.0 / 2.0;
        assert!((solved.met[1].mean / met(ask * 2.0 / 3.0) - 1.0).abs() < 1e-9);
        // Answers hold their source while they wait there.
        let service = 100.0 + solved.later[3].mean;
        let expected = gathered * ask / 3.0 * service / 2.0;
        assert!((solved.met[3].mean / expected - 1.0).abs() < 1e-9);
    }

    #[test]
    fn batches_of_answers_do_not_raise_the_saturation_load() {
        let (network, _) = answered(3, 0.003, 0.005);
        let alone = network.starts.iter().map(|&start| Start {
            role: Role::Alone,
            ..start
        });
        let lengths = network.lengths.clone();
        let alone = Network::new(
            network.lanes.clone(),
            lengths,
            network.steps.clone(),
            alone.collect(),
        );
        let (together, alone) = (network.saturation(1e-6), alone.unwrap().saturation(1e-6));
        assert!(together.unwrap() <= alone.unwrap());
    }

    /// Three layers of three channels each; from each channel on to two of the next layer.
    fn layers(lanes: Vec<u32>, split: &[f64], long: f64) -> Network {
        let (short, long) = (Moments::fixed(20.0), Moments::fixed(long));
        let steps = (0..18u32)
            .map(|number| {
                let (channel, length) = (number % 9, number / 9);
                let (layer, place) = (channel / 3, channel % 3);
                let next = |place: u32| 9 * length + 3 * (layer + 1) + place % 3;
                let goes = split[number as usize];
                Step {
                    channel,
                    length: length as usize,
                    next: if layer < 2 {
                        vec![(goes, next(place)), (1.0 - goes, next(place + 1))]
                    } else {
                        Vec::new()
                    },
                }
            })
            .collect();
        let starts = [0, 1, 2, 9, 10, 11].map(|step| start(step, 1.0)).to_vec();
        Network::new(lanes, vec![short, long], steps, starts).unwrap()
    }

    proptest! {
        /// What the search for the saturation load takes for granted.
        #[test]
        fn waits_and_use_grow_with_the_load(
            lanes in prop::collection::vec(1u32..6, 9),
            split in prop::collection::vec(0.0f64..1.0, 18),
            long in 20.0f64..2000.0,
        ) {
            let network = layers(lanes, &split, long);
            let full = network.saturation(1e-4).unwrap();
            let mut before = network.solve(0.0);
            for part in 1..40 {
                let solved = network.solve(full * f64::from(part) / 40.0);
                let grown = |new: f64, old: f64| new >= old * (1.0 - 1e-6) - 1e-6;
                let fullest = |solved: &Solved| solved.utilisation.iter().copied().fold(0.0, f64::max);
                prop_assert!(grown(fullest(&solved), fullest(&before)), "use at {part}/40");
                // Nearer to saturation worms may wait less where nearly all of an input follow on one another.
                if part <= 28 {
                    for (new, old) in solved.utilisation.iter().zip(&before.utilisation) {
                        prop_assert!(grown(*new, *old), "use at {part}/40: {old} -> {new}");
                    }
                    for (new, old) in solved.waits.iter().zip(&before.waits) {
                        prop_assert!(grown(new.mean, old.mean), "wait at {part}/40: {old:?} -> {new:?}");
                    }
                }
                before = solved;
            }
        }
    }
}
