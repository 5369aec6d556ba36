//! Network of channels and of the worms (messages) that cross them.

use super::inflow::LENGTHS;
use crate::Error;
use crate::moments::Moments;

/// A step of the path of worms (messages): the channel that they hold, and the possible next steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Number of the channel that the worms hold.
    pub channel: u32,
    /// Class of the lengths of the worms, an index of `lengths` in [`Network::new`].
    pub length: usize,
    /// Next steps with their probabilities; empty if the path ends with this step.
    pub next: Vec<(f64, u32)>,
}

/// A source of worms (messages): its rate, its class and the first step of its paths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Start {
    /// Class of the worms for the latency statistics.
    pub class: usize,
    /// Index of the step on which the worms start.
    pub step: u32,
    /// Worms of this source per cycle, at a load of 1.
    pub rate: f64,
    /// Whether the worms of this source are requests, answers or neither.
    pub role: Role,
}

/// Role of worms (messages) in exchanges of a request and an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The worms (messages) start at random times and are neither requests nor answers.
    Alone,
    /// The worms (messages) are requests of the group with this number, which are answered where
    /// they end. All of them must have the same path.
    Requests(u32),
    /// The worms (messages) are answers to the requests of the group with this number. All answers
    /// that cross a step (a channel of a path) must belong to the same group.
    Answers(u32),
}

/// Worms (messages) that arrive at a channel from one previous step or one source.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub(super) step: u32,
    pub(super) rate: f64,
    pub(super) slot: u32,
    /// Rate of the answers among these worms (messages), which is a part of `rate`.
    pub(super) answers: f64,
    /// Number of the request group that these answers belong to; 0 if there are no answers.
    pub(super) group: u32,
}

/// A network of channels and of the worms that cross them; the module description of `worms` has
/// the rules.
#[derive(Debug, Clone)]
pub struct Network {
    pub(super) lanes: Vec<u32>,
    pub(super) lengths: Vec<Moments>,
    pub(super) steps: Vec<Step>,
    pub(super) starts: Vec<Start>,
    /// For each step, the slots (indices in the list of waits) of the waits before its next steps,
    /// in the order of `next`.
    pub(super) slots_of: Vec<Vec<u32>>,
    pub(super) slot_of_start: Vec<u32>,
    /// For each channel, its inputs: previous channels, or `None` for sources. The slots of the
    /// inputs (indices in the list of waits) are numbered from `first_slot`.
    pub(super) inputs: Vec<Vec<Option<u32>>>,
    pub(super) first_slot: Vec<u32>,
    /// For each channel, the worms that arrive at it.
    pub(super) arrivals: Vec<Vec<Arrival>>,
    /// For each channel, the steps of paths on which worms hold it.
    pub(super) steps_on: Vec<Vec<u32>>,
    /// The channels in use, those at the ends of paths first.
    pub(super) order: Vec<u32>,
    /// For each channel, the number of its lanes that its inputs can hold at the same time.
    pub(super) usable_lanes: Vec<u32>,
    /// For each channel, the next channels of its worms (messages), with the slots (indices in the
    /// list of waits) of the waits there and the shares of the worms.
    pub(super) onward: Vec<Vec<Onward>>,
    /// Number of groups of requests with their answers.
    pub(super) groups: usize,
}

/// The worms (messages) that go from one channel to the same next channel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Onward {
    pub(super) channel: u32,
    pub(super) slot: u32,
    pub(super) share: f64,
}

impl Network {
    /// Return a network with `lanes` lanes for each channel and at most four classes of worms,
    /// whose lengths in flits are `lengths`.
    ///
    /// # Errors
    /// The routes form a cycle of channels, or refer to numbers that do not exist.
    pub fn new(
        lanes: Vec<u32>,
        lengths: Vec<Moments>,
        steps: Vec<Step>,
        starts: Vec<Start>,
    ) -> Result<Self, Error> {
        let known = |step: u32| (step as usize) < steps.len();
        let good = lengths.len() <= LENGTHS
            && starts.iter().all(|start| known(start.step))
            && steps.iter().all(|step| {
                (step.channel as usize) < lanes.len()
                    && step.length < lengths.len()
                    && step.next.iter().all(|&(_, next)| known(next))
            });
        if !good {
            return Err(Error::Contradiction("a step names what is not there"));
        }
        let channels = lanes.len();
        let mut inputs: Vec<Vec<Option<u32>>> = vec![Vec::new(); channels];
        let mut slot = |channel: u32, from: Option<u32>| -> u32 {
            let list = &mut inputs[channel as usize];
            let at = list.iter().position(|&known| known == from);
            at.unwrap_or_else(|| {
                list.push(from);
                list.len() - 1
            }) as u32
        };
        let mut slots_of: Vec<Vec<u32>> = Vec::with_capacity(steps.len());
        for step in &steps {
            let slots = step.next.iter();
            slots_of.push(
                slots
                    .map(|&(_, next)| slot(steps[next as usize].channel, Some(step.channel)))
                    .collect(),
            );
        }
        let mut slot_of_start: Vec<u32> = starts
            .iter()
            .map(|start| slot(steps[start.step as usize].channel, None))
            .collect();
        let mut first_slot = Vec::with_capacity(channels);
        let mut slots = 0;
        for list in &inputs {
            first_slot.push(slots);
            slots += list.len() as u32;
        }
        for (step, slots) in steps.iter().zip(&mut slots_of) {
            for (&(_, next), slot) in step.next.iter().zip(slots) {
                *slot += first_slot[steps[next as usize].channel as usize];
            }
        }
        for (start, slot) in starts.iter().zip(&mut slot_of_start) {
            *slot += first_slot[steps[start.step as usize].channel as usize];
        }
        let mut steps_on: Vec<Vec<u32>> = vec![Vec::new(); channels];
        for (number, step) in (0u32..).zip(&steps) {
            steps_on[step.channel as usize].push(number);
        }
        let order = reverse_path_order(&steps, &steps_on)?;
        let groups = starts.iter().map(|start| match start.role {
            Role::Alone => 0,
            Role::Requests(group) | Role::Answers(group) => group as usize + 1,
        });
        let groups = groups.max().unwrap_or(0);
        let mut network = Self {
            groups,
            lanes,
            lengths,
            steps,
            starts,
            slots_of,
            slot_of_start,
            inputs,
            first_slot,
            arrivals: vec![Vec::new(); channels],
            steps_on,
            order,
            usable_lanes: Vec::new(),
            onward: vec![Vec::new(); channels],
        };
        network.compute_arrivals();
        network.compute_usable_lanes();
        Ok(network)
    }

    /// Return the index, among the inputs of a channel, of the input whose wait is number `slot` in
    /// the list of all waits.
    pub(super) fn input_index(&self, channel: usize, slot: u32) -> usize {
        (slot - self.first_slot[channel]) as usize
    }

    /// Compute the number of lanes of each channel that can be held at the same time: no more than
    /// the lanes of the previous channels, which the worms also hold, or all lanes if worms start
    /// at the channel.
    fn compute_usable_lanes(&mut self) {
        self.usable_lanes = vec![0; self.lanes.len()];
        for &channel in self.order.iter().rev() {
            let inputs = self.inputs[channel as usize].iter();
            let before: Option<u32> = inputs
                .map(|from| from.map(|from| self.usable_lanes[from as usize]))
                .try_fold(0u32, |sum, lanes| Some(sum.saturating_add(lanes?)));
            let lanes = self.lanes[channel as usize];
            self.usable_lanes[channel as usize] = before.map_or(lanes, |before| before.min(lanes));
        }
    }

    /// Compute the arrivals of worms (messages) at each channel, with their rates and the rates of
    /// the answers among them.
    fn compute_arrivals(&mut self) {
        let mut rates = vec![0.0; self.steps.len()];
        // For each step (a channel on a path), the rate of the answers that cross it, and the
        // number of their request group.
        let mut answer_rates = vec![(0.0, 0u32); self.steps.len()];
        let arrivals = &mut self.arrivals;
        let mut arrive = |step: u32, channel: u32, rate: f64, slot: u32, (answers, group)| {
            if rate > 0.0 {
                arrivals[channel as usize].push(Arrival {
                    step,
                    rate,
                    slot,
                    answers,
                    group,
                });
            }
        };
        for (start, &slot) in self.starts.iter().zip(&self.slot_of_start) {
            rates[start.step as usize] += start.rate;
            let channel = self.steps[start.step as usize].channel;
            let mut answers = (0.0, 0);
            if let Role::Answers(group) = start.role {
                answers = (start.rate, group);
                answer_rates[start.step as usize].0 += start.rate;
                answer_rates[start.step as usize].1 = group;
            }
            arrive(start.step, channel, start.rate, slot, answers);
        }
        for &channel in self.order.iter().rev() {
            let onward = &mut self.onward[channel as usize];
            let mut all = 0.0;
            for &number in &self.steps_on[channel as usize] {
                let step = &self.steps[number as usize];
                let slots = &self.slots_of[number as usize];
                all += rates[number as usize];
                for (&(probability, next), &slot) in step.next.iter().zip(slots) {
                    let rate = rates[number as usize] * probability;
                    rates[next as usize] += rate;
                    let channel = self.steps[next as usize].channel;
                    let (answers, group) = answer_rates[number as usize];
                    if answers > 0.0 {
                        answer_rates[next as usize].0 += answers * probability;
                        answer_rates[next as usize].1 = group;
                    }
                    arrive(next, channel, rate, slot, (answers * probability, group));
                    match onward.iter_mut().find(|known| known.slot == slot) {
                        Some(known) => known.share += rate,
                        None => onward.push(Onward {
                            channel,
                            slot,
                            share: rate,
                        }),
                    }
                }
            }
            for known in onward {
                known.share /= all.max(f64::MIN_POSITIVE);
            }
        }
    }

    /// Return the same network with other numbers of lanes of its channels.
    pub fn with_lanes(&self, lanes: Vec<u32>) -> Self {
        let mut network = Self {
            lanes,
            ..self.clone()
        };
        network.compute_usable_lanes();
        network
    }

    /// Return the number of lanes of each channel.
    pub fn lanes(&self) -> &[u32] {
        &self.lanes
    }
}

/// Return the channels in use, each after all channels that follow it on the paths.
fn reverse_path_order(steps: &[Step], steps_on: &[Vec<u32>]) -> Result<Vec<u32>, Error> {
    let mut behind: Vec<Vec<u32>> = vec![Vec::new(); steps_on.len()];
    for step in steps {
        for &(_, next) in &step.next {
            let next = steps[next as usize].channel;
            let list = &mut behind[step.channel as usize];
            if !list.contains(&next) {
                list.push(next);
            }
        }
    }
    let mut waiting: Vec<usize> = behind.iter().map(Vec::len).collect();
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); steps_on.len()];
    for (channel, list) in (0u32..).zip(&behind) {
        for &next in list {
            before[next as usize].push(channel);
        }
    }
    let crossed = |channel: &u32| !steps_on[*channel as usize].is_empty();
    let mut order: Vec<u32> = (0..steps_on.len() as u32)
        .filter(|channel| crossed(channel) && waiting[*channel as usize] == 0)
        .collect();
    let mut at = 0;
    while at < order.len() {
        for &earlier in &before[order[at] as usize] {
            waiting[earlier as usize] -= 1;
            if waiting[earlier as usize] == 0 {
                order.push(earlier);
            }
        }
        at += 1;
    }
    let all = (0..steps_on.len() as u32).filter(crossed).count();
    if order.len() < all {
        return Err(Error::Contradiction("routes close a circle of channels"));
    }
    Ok(order)
}

#[cfg(test)]
pub(super) mod examples {
    use super::{Moments, Network, Role, Start, Step};

    pub(in crate::worms) fn step(channel: u32, next: Vec<(f64, u32)>) -> Step {
        Step {
            channel,
            length: 0,
            next,
        }
    }

    pub(in crate::worms) fn start(step: u32, rate: f64) -> Start {
        Start {
            class: 0,
            step,
            rate,
            role: Role::Alone,
        }
    }

    /// Return a network whose worms have fixed lengths.
    pub(in crate::worms) fn network(
        lanes: &[u32],
        lengths: &[f64],
        steps: Vec<Step>,
        starts: Vec<Start>,
    ) -> Network {
        let lengths = lengths.iter().copied().map(Moments::fixed).collect();
        Network::new(lanes.to_vec(), lengths, steps, starts).expect("the routes have no circle")
    }
}
