//! Solves the queueing model of a network whose channels form stages: waits, computed group by group against the
//! direction of travel; bounds and saturation.

use super::chain::{Input, PerVisit, STATES, groups_after, inputs};
use super::{Blocking, Group, ManyLanes, Message, Variation};
use crate::Error;
use crate::moments::Moments;
use crate::queue;

/// Load of a group of channels, and the wait at it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupState {
    /// Messages per cycle on one channel of the group.
    pub rate: f64,
    /// Length in flits of the messages that cross the group.
    pub length: Moments,
    /// Time for which a message holds a channel, in cycles.
    pub service: Moments,
    /// C^2 (squared coefficient of variation) of the service time, from which the wait is computed.
    pub scv: f64,
    /// Utilisation rho if a message held a channel only for its length in cycles: the share of time in which flits move
    /// if no worm blocks.
    pub carried: f64,
    /// Utilisation rho, computed with the adjusted service times. At 1 or more the group is saturated.
    pub utilisation: f64,
    /// Wait for a channel in cycles; infinite if this group or a later one is saturated.
    pub wait: Moments,
}

/// Rules by which the model computes waits, the same for all groups of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Formula for the wait at groups with several lanes.
    pub many_lanes: ManyLanes,
    /// The part of a queue's wait that a worm experiences.
    pub blocking: Blocking,
}

/// A network: groups of channels, message classes and rules for waits.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    groups: Vec<Group>,
    messages: Vec<Message>,
    rules: Rules,
    /// For each group, the message classes that cross it.
    crossings: Vec<Vec<Crossing>>,
    /// For each message class, stage and visit: the ports with one lane from which the messages come, with their
    /// probabilities.
    inputs: Vec<PerVisit<Vec<Input>>>,
    /// For each message, stage and visit: the groups crossed later, with their probabilities.
    reach: Vec<PerVisit<Vec<(usize, f64)>>>,
}

/// Solution at one load: the state of every group, and the part of its wait that each message class
/// experiences.
#[derive(Debug, Clone, PartialEq)]
pub struct Solved {
    /// State of each group.
    pub groups: Vec<GroupState>,
    /// For each message, stage and visit: the share of the group's wait that a message experiences.
    seen: Vec<PerVisit<f64>>,
    /// For each message, stage and state: the sum of the waits from the stage on, if it has been
    /// computed.
    ahead: Vec<Vec<Option<[Moments; STATES]>>>,
}

impl Network {
    /// Return a network of these groups and message classes. The module description explains the
    /// order of `groups`.
    ///
    /// # Errors
    /// A message crosses groups in an order that is not ascending, or crosses a group that does not
    /// exist.
    pub fn new(groups: Vec<Group>, messages: Vec<Message>, rules: Rules) -> Result<Self, Error> {
        for message in &messages {
            let mut below = 0;
            for stage in &message.stages {
                let mut top = below;
                for visit in &stage.visits {
                    if visit.to >= STATES || visit.from.is_some_and(|from| from >= STATES) {
                        return Err(Error::Contradiction(
                            "a path is in a state that does not exist",
                        ));
                    }
                    if visit.group < below || visit.group >= groups.len() {
                        return Err(Error::Contradiction(
                            "a message crosses channel groups out of order",
                        ));
                    }
                    top = top.max(visit.group + 1);
                }
                below = top;
            }
        }
        let crossings = crossings(&groups, &messages);
        let inputs = messages
            .iter()
            .map(|message| inputs(&groups, &message.stages))
            .collect();
        let reach = messages
            .iter()
            .map(|message| groups_after(&message.stages))
            .collect();
        Ok(Self {
            groups,
            messages,
            rules,
            crossings,
            inputs,
            reach,
        })
    }

    /// Return the message classes of the network.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Return the state of every group if each class sends `load` times its rate.
    pub fn solve(&self, load: f64) -> Solved {
        let mut solved = Solved {
            groups: vec![IDLE; self.groups.len()],
            seen: (self.messages.iter())
                .map(|message| {
                    (message.stages.iter())
                        .map(|stage| vec![1.0; stage.visits.len()])
                        .collect()
                })
                .collect(),
            ahead: (self.messages.iter())
                .map(|message| vec![None; message.stages.len() + 1])
                .collect(),
        };
        for index in (0..self.groups.len()).rev() {
            self.solve_group(index, load, &mut solved);
        }
        solved
    }

    /// Return the load at which the most used group would have rho = 1 if worms never blocked, and
    /// the index of that group. This load is an upper bound of the saturation load. `None` without
    /// messages.
    pub fn saturation_bound(&self) -> Option<(f64, usize)> {
        let mut lowest: Option<(f64, usize)> = None;
        for (index, (group, crossings)) in self.groups.iter().zip(&self.crossings).enumerate() {
            let work: f64 = crossings
                .iter()
                .map(|crossing| crossing.rate * self.messages[crossing.message].length.mean)
                .sum();
            if work > 0.0 {
                let load = group.channels * f64::from(group.lanes) / work;
                if lowest.is_none_or(|(best, _)| load < best) {
                    lowest = Some((load, index));
                }
            }
        }
        lowest
    }

    /// Return the load at which some group first has rho = 1 with its adjusted service time, and
    /// the index of that group. `None` without messages. The load is found by bisection below
    /// [`Network::saturation_bound`].
    ///
    /// Beyond it [`Network::solve`] need not find a saturated group at every load. Where waits
    /// overlap ([`Blocking::OtherInputs`] with [`Variation::WithWaits`]), an unbounded wait can
    /// replace the shares of the others.
    pub fn saturation(&self) -> Option<(f64, usize)> {
        let (mut high, mut group) = self.saturation_bound()?;
        let mut low = 0.0;
        while high - low > 1e-12 * high {
            let middle = low + (high - low) / 2.0;
            match self.saturated(&self.solve(middle)) {
                Some(found) => (high, group) = (middle, found),
                None => low = middle,
            }
        }
        Some((high, group))
    }

    /// Return the last saturated group in the order of the paths, which blocks the groups before
    /// it.
    pub fn saturated(&self, solved: &Solved) -> Option<usize> {
        (solved.groups.iter()).rposition(|state| state.utilisation >= 1.0)
    }

    /// Return the cycles that a header of `message` needs: `(channels, waits after the first
    /// channel, wait for the first channel)`.
    pub fn header(&self, message: usize, solved: &Solved) -> (f64, f64, f64) {
        let (mut channels, mut waits, mut source) = (0.0, 0.0, 0.0);
        for (position, stage) in self.messages[message].stages.iter().enumerate() {
            let seen = &solved.seen[message][position];
            for (visit, seen) in stage.visits.iter().zip(seen) {
                if visit.path > 0.0 {
                    channels += visit.path;
                    let wait = solved.groups[visit.group].wait.mean;
                    let mean_wait = visit.path * mean_wait(*seen, wait);
                    if position == 0 {
                        source += mean_wait;
                    } else {
                        waits += mean_wait;
                    }
                }
            }
        }
        (channels, waits, source)
    }

    /// Compute the state of one group of channels, after those of all groups that follow it on the
    /// paths.
    fn solve_group(&self, index: usize, load: f64, solved: &mut Solved) {
        let crossings = &self.crossings[index];
        let total: f64 = crossings.iter().map(|crossing| crossing.rate).sum();
        if total <= 0.0 {
            return;
        }
        let group = &self.groups[index];
        let mut lengths = Vec::with_capacity(crossings.len());
        let mut services = Vec::with_capacity(crossings.len());
        for crossing in crossings {
            let length = self.messages[crossing.message].length;
            lengths.push((crossing.rate, length));
            let stage = crossing.stage;
            let to = self.messages[crossing.message].stages[stage].visits[crossing.visit].to;
            let waits = self.waits_ahead(crossing.message, stage + 1, solved)[to];
            services.push((
                crossing.rate,
                length.plus(&if group.variation == Variation::WithWaits {
                    waits
                } else {
                    Moments::fixed(waits.mean)
                }),
            ));
        }
        let length = Moments::weighted(lengths, total);
        let service = Moments::weighted(services.iter().copied(), total);
        let scv = match group.variation {
            Variation::One => 1.0,
            Variation::Base => length.scv(),
            Variation::Falling => length.variance() / (service.mean * service.mean),
            Variation::ByClass | Variation::WithWaits => service.scv(),
        };
        let rate = load * total / group.channels;
        let carried = queue::rho(rate, length.mean, group.lanes);
        let utilisation = if group.queued {
            queue::rho(rate, service.mean, group.lanes)
        } else {
            carried
        };
        let mean = if utilisation >= 1.0 {
            f64::INFINITY
        } else if !group.queued {
            0.0
        } else if group.lanes > 1 && self.rules.many_lanes == ManyLanes::Exponential {
            queue::mmm(rate, service.mean, group.lanes)
        } else {
            queue::mgm(rate, service.mean, scv, group.lanes)
        };
        solved.groups[index] = GroupState {
            rate,
            length,
            service,
            scv,
            carried,
            utilisation,
            wait: queue::wait_moments(rate, &service, group.lanes, mean),
        };
        if self.rules.blocking == Blocking::OtherInputs {
            self.share_waits(index, &services, solved);
        }
    }

    /// Return the waits of `message` in `stage` and after it, for each state in which the message
    /// reaches the stage.
    fn waits_ahead(&self, message: usize, stage: usize, solved: &mut Solved) -> [Moments; STATES] {
        if let Some(known) = solved.ahead[message][stage] {
            return known;
        }
        let Some(alternatives) = self.messages[message].stages.get(stage) else {
            return [Moments::ZERO; STATES];
        };
        let next = self.waits_ahead(message, stage + 1, solved);
        let waits = std::array::from_fn(|state| {
            let mut parts = Vec::with_capacity(alternatives.visits.len() + 1);
            let mut passed = 1.0;
            for (visit, seen) in alternatives.visits.iter().zip(&solved.seen[message][stage]) {
                if visit.given > 0.0 && visit.from.is_none_or(|from| from == state) {
                    let wait = with_share(&solved.groups[visit.group].wait, *seen);
                    parts.push((visit.given, wait.plus(&next[visit.to])));
                    passed -= visit.given;
                }
            }
            parts.push((passed.max(0.0), next[state]));
            Moments::weighted(parts, 1.0)
        });
        solved.ahead[message][stage] = Some(waits);
        waits
    }

    /// Compute the share of the wait at group `index` that each message experiences: see
    /// [`Blocking`]. Work is measured as rate times E\[S^2\], to which the wait of an M/G/1 queue
    /// is proportional.
    fn share_waits(&self, index: usize, services: &[(f64, Moments)], solved: &mut Solved) {
        let mut by_port: Vec<(u32, f64)> = Vec::new();
        let mut all = 0.0;
        for (crossing, (rate, service)) in self.crossings[index].iter().zip(services) {
            // If the work is infinite, so is the wait of every message, whatever its share: stop.
            let work = rate * service.second;
            if !work.is_finite() {
                return;
            }
            all += work;
            for input in &self.inputs[crossing.message][crossing.stage][crossing.visit] {
                let part = work * input.probability;
                match by_port.iter_mut().find(|(port, _)| *port == input.port) {
                    Some((_, sum)) => *sum += part,
                    None => by_port.push((input.port, part)),
                }
            }
        }
        // For each later group of channels, the share of this group's work that is due to waits there.
        let mut waiting = vec![0.0; self.groups.len()];
        if self.groups[index].variation == Variation::WithWaits {
            for (crossing, (rate, _)) in self.crossings[index].iter().zip(services) {
                for &(group, probability) in
                    &self.reach[crossing.message][crossing.stage][crossing.visit]
                {
                    waiting[group] += rate * probability * solved.groups[group].wait.second / all;
                }
            }
        }
        for (message, class) in self.messages.iter().enumerate() {
            for (position, stage) in class.stages.iter().enumerate() {
                for (number, visit) in stage.visits.iter().enumerate() {
                    if visit.group != index {
                        continue;
                    }
                    let overlap: f64 = self.reach[message][position][number]
                        .iter()
                        .map(|&(group, probability)| probability * waiting[group])
                        .sum();
                    let own: f64 = self.inputs[message][position][number]
                        .iter()
                        .map(|input| {
                            let port = by_port.iter().find(|(port, _)| *port == input.port);
                            let work = port.map_or(0.0, |(_, work)| *work);
                            input.probability * work / all
                        })
                        .sum();
                    solved.seen[message][position][number] = (1.0 - own - overlap).max(0.0);
                }
            }
        }
    }
}

/// Return the product of the share `seen` and a mean wait, which may be infinite. It is 0 for a
/// share of 0: a worm that no message can block does not wait.
fn mean_wait(seen: f64, wait: f64) -> f64 {
    if seen > 0.0 { seen * wait } else { 0.0 }
}

/// Return the moments of a wait that only the share `seen` of the messages experiences.
fn with_share(wait: &Moments, seen: f64) -> Moments {
    wait.map(|moment| mean_wait(seen, moment))
}

/// State of a group of channels without messages.
const IDLE: GroupState = GroupState {
    rate: 0.0,
    length: Moments::ZERO,
    service: Moments::ZERO,
    scv: 0.0,
    carried: 0.0,
    utilisation: 0.0,
    wait: Moments::ZERO,
};

/// One crossing of a group of channels by a class of messages: which class, in which stage and visit of its route, and
/// how often per cycle.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Crossing {
    message: usize,
    stage: usize,
    visit: usize,
    rate: f64,
}

/// Return for each group the crossings by all message classes.
fn crossings(groups: &[Group], messages: &[Message]) -> Vec<Vec<Crossing>> {
    let mut crossings = vec![Vec::new(); groups.len()];
    for (message, class) in messages.iter().enumerate() {
        for (stage, alternatives) in class.stages.iter().enumerate() {
            for (number, visit) in alternatives.visits.iter().enumerate() {
                let rate = class.rate * visit.rate;
                if rate > 0.0 {
                    crossings[visit.group].push(Crossing {
                        message,
                        stage,
                        visit: number,
                        rate,
                    });
                }
            }
        }
    }
    crossings
}

#[cfg(test)]
mod tests {
    use super::super::{Stage, Visit};
    use super::*;

    /// Rules for waits in the tests.
    const RULES: Rules = Rules {
        many_lanes: ManyLanes::General,
        blocking: Blocking::AllInputs,
    };

    /// Return a stage that all messages cross, at one group.
    fn certain(group: usize, port: u32) -> Stage {
        Stage {
            port,
            visits: vec![Visit {
                group,
                rate: 1.0,
                path: 1.0,
                given: 1.0,
                from: None,
                to: 0,
            }],
        }
    }

    /// Return a group of one channel at which messages wait.
    fn group(lanes: u32, variation: Variation) -> Group {
        Group {
            lanes,
            channels: 1.0,
            queued: true,
            variation,
        }
    }

    /// Return a network of two channels that all messages cross in a row.
    fn line(lengths: Moments, variation: Variation) -> Network {
        let message = Message {
            rate: 1.0,
            length: lengths,
            stages: vec![certain(0, 0), certain(1, 1)],
        };
        let groups = vec![group(1, variation), group(1, variation)];
        Network::new(groups, vec![message], RULES).unwrap()
    }

    /// Checks that a single channel has the wait and saturation load of an M/G/1 queue, in every
    /// variation of the model.
    #[test]
    fn a_single_channel_is_an_mg1_queue() {
        let lengths = Moments::mixture(&[(1.0, 32.0), (1.0, 4096.0)], 2.0);
        let message = Message {
            rate: 1.0,
            length: lengths,
            stages: vec![certain(0, 0)],
        };
        for variation in [Variation::Base, Variation::ByClass, Variation::WithWaits] {
            let network =
                Network::new(vec![group(1, variation)], vec![message.clone()], RULES).unwrap();
            let state = network.solve(2e-4).groups[0];
            let expected = queue::mg1_wait(2e-4, 2064.0, lengths.scv()).unwrap();
            assert!((state.wait.mean - expected).abs() < 1e-9 * expected);
            let (load, index) = network.saturation().unwrap();
            assert!((load - 1.0 / 2064.0).abs() < 1e-12 && index == 0);
        }
    }

    /// Checks that a message occupies the first channel of its path while it waits for the second,
    /// which lowers the saturation load.
    #[test]
    fn the_first_channel_is_held_through_the_wait_for_the_second() {
        let network = line(Moments::fixed(100.0), Variation::Base);
        let solved = network.solve(2e-3);
        let states = &solved.groups;
        // The second channel is M/D/1 with rho = 0.2, so W = 0.2 * 100 / (2 * 0.8) = 12.5.
        assert!((states[1].wait.mean - 12.5).abs() < 1e-12);
        assert!((states[0].service.mean - 112.5).abs() < 1e-12);
        let (channels, waits, source) = network.header(0, &solved);
        assert_eq!(channels, 2.0);
        assert_eq!(waits, states[1].wait.mean);
        assert_eq!(source, states[0].wait.mean);
        // Without blocking the bound is rho = 1 on either channel; blocking lowers it.
        let (bound, _) = network.saturation_bound().unwrap();
        let (saturation, group) = network.saturation().unwrap();
        assert!((bound - 0.01).abs() < 1e-15);
        assert!(saturation < bound && group == 0);
        // The saturation load x solves x (100 + W(x)) = 1 with W = 100 * 100x / (2 (1 - 100x)).
        // With u = 100x: u + u^2 / (2 (1 - u)) = 1, u^2 - 4u + 2 = 0, u = 2 - sqrt 2.
        assert!((saturation * 100.0 - (2.0 - 2f64.sqrt())).abs() < 1e-9);
    }

    /// Checks that the wait before a saturated channel is infinite, and no result is NaN.
    #[test]
    fn waits_before_a_saturated_channel_are_infinite_and_never_nan() {
        let network = line(Moments::fixed(100.0), Variation::WithWaits);
        for load in [0.0, 0.005, 0.0099, 0.01, 0.5] {
            for state in network.solve(load).groups {
                for number in [
                    state.service.mean,
                    state.scv,
                    state.utilisation,
                    state.wait.mean,
                    state.wait.second,
                ] {
                    assert!(!number.is_nan());
                }
            }
        }
        assert_eq!(network.solve(0.01).groups[0].wait.mean, f64::INFINITY);
    }

    /// Checks that a message that crosses channel groups in descending order is refused.
    #[test]
    fn paths_against_the_order_are_refused() {
        let message = Message {
            rate: 1.0,
            length: Moments::fixed(1.0),
            stages: vec![certain(1, 0), certain(0, 1)],
        };
        let groups = vec![group(1, Variation::Base); 2];
        assert!(Network::new(groups, vec![message], RULES).is_err());
    }

    /// Checks that with the rule for other inputs, a message waits only for messages that come from
    /// other inputs.
    #[test]
    fn a_worm_is_not_blocked_by_worms_behind_it() {
        // Two single-lane inputs feed one channel. 3/4 of the traffic comes from the first.
        let feed = |rate: f64, input: usize| Message {
            rate,
            length: Moments::fixed(100.0),
            stages: vec![certain(input, input as u32), certain(2, 9)],
        };
        let groups = vec![group(1, Variation::Base); 3];
        let messages = vec![feed(0.75, 0), feed(0.25, 1)];
        let solve = |blocking| {
            let network = Network::new(
                groups.clone(),
                messages.clone(),
                Rules { blocking, ..RULES },
            )
            .unwrap();
            let solved = network.solve(2e-3);
            [0, 1].map(|message| network.header(message, &solved).1)
        };
        // M/D/1 at rho = 0.2 has a wait of 12.5 cycles. Worms of the first input only wait for
        // those of the second input.
        assert_eq!(solve(Blocking::AllInputs), [12.5, 12.5]);
        let [first, second] = solve(Blocking::OtherInputs);
        assert!((first - 0.25 * 12.5).abs() < 1e-9);
        assert!((second - 0.75 * 12.5).abs() < 1e-9);
    }
}
