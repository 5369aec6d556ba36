//! Waits in a network of wormhole channels that messages cross in stages.
//!
//! Channels that carry statistically the same traffic form one *group*. A message class crosses a
//! fixed list of stages; in each it crosses at most one channel, of one group or another with known
//! probabilities. A blocked worm keeps the channels behind its head, so the time a message holds
//! channel i is its length plus its waits on every channel after i:
//! x_adj,i = x_i + sum_j P_j W_j (section 6 of the hypercube paper). This holds while messages are
//! longer (in flits) than their paths.
//!
//! Groups are listed in the order in which messages cross them, so that one pass from the last
//! group to the first has every W_j at hand when it needs it; nothing is iterated. Deterministic
//! deadlock-free routing always gives such an order.

use crate::Error;
use crate::moments::Moments;
use crate::queue;

/// How C^2 of a service time is found once waits on later channels have been added to its mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Variation {
    /// C^2 = 1.
    One,
    /// C^2 of the message lengths, unchanged.
    Base,
    /// Variance of the message lengths over the square of the adjusted mean: falls with the load.
    Falling,
    /// Variance between and within message classes, each with the mean of its own waits added.
    ByClass,
    /// As `ByClass`, and the waits vary too (first three moments are carried along).
    WithWaits,
}

/// Whose messages a worm may have to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Blocking {
    /// Everybody's: the wait is that of the queue.
    AllInputs,
    /// Those that came by another input of the router. A worm that arrives by a channel of one
    /// lane finds none of that channel's other messages before it, since they follow it; one that
    /// arrives by several lanes may find them on the others. The chance of having to wait shrinks
    /// by a single-lane input's share of the work, as in Draper and Ghosh, *J. Parallel and
    /// Distributed Computing* 23 (1994) 202-214.
    OtherInputs,
}

/// Which formula gives the wait for a group with several lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum ManyLanes {
    /// M/M/m: C^2 is taken as 1, as in section 6 of the hypercube paper.
    Exponential,
    /// M/G/m by Allen and Cunneen.
    General,
}

/// Channels that carry statistically the same traffic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Group {
    /// Lanes of each channel.
    pub lanes: u32,
    /// Number of channels in the group.
    pub channels: f64,
    /// Whether messages wait here; if not, the wait is taken as zero below saturation.
    pub queued: bool,
    /// How C^2 is found.
    pub variation: Variation,
}

/// One way to cross a stage. The four probabilities are one and the same in an exact model; the
/// readings of a paper let them differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Visit {
    /// Index of the group.
    pub group: usize,
    /// Probability that counts for the arrival rate.
    pub rate: f64,
    /// Probability that counts for the latency.
    pub path: f64,
    /// Probability once an earlier channel of the same segment has been crossed.
    pub within: f64,
    /// Probability seen from channels of earlier segments.
    pub beyond: f64,
}

/// Channels of which a message crosses at most one, at one point of its path.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// The router input that these channels are to whatever is crossed next; stages of different
    /// classes with the same number share it.
    pub port: u32,
    /// Stages of one segment (the dimensions of one cube) have probabilities that depend on each
    /// other; different segments are independent.
    pub segment: u32,
    /// The alternatives.
    pub visits: Vec<Visit>,
}

/// A class of messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Messages per cycle in the whole network at a load of 1.
    pub rate: f64,
    /// Length in flits.
    pub length: Moments,
    /// The stages in the order of the path; the first is the source's injection lane.
    pub stages: Vec<Stage>,
}

/// What a group carries and how long messages wait there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupState {
    /// Messages per cycle on one channel.
    pub rate: f64,
    /// Length in flits of the messages that cross it.
    pub length: Moments,
    /// Time in cycles for which a message holds it.
    pub service: Moments,
    /// C^2 used for the wait.
    pub scv: f64,
    /// rho with the lengths as service times: the share of time in which flits could move.
    pub carried: f64,
    /// rho with the adjusted service times; 1 or more where the group is saturated.
    pub utilisation: f64,
    /// Wait in cycles; infinite where the group or one after it is saturated.
    pub wait: Moments,
}

/// Rules that hold for the whole network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// The formula for several lanes.
    pub many_lanes: ManyLanes,
    /// Whose messages a worm may have to wait for.
    pub blocking: Blocking,
}

/// Groups, message classes and rules.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    groups: Vec<Group>,
    messages: Vec<Message>,
    rules: Rules,
    /// Who crosses each group.
    crossings: Vec<Vec<Crossing>>,
    /// For each message and stage: the single-lane ports before it, with their probabilities.
    inputs: Vec<Vec<Vec<Input>>>,
}

/// The state of every group, and what each message class sees of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Solved {
    /// One entry per group.
    pub groups: Vec<GroupState>,
    /// Share of a group's wait that falls to a message: by message, stage and visit.
    seen: Vec<Vec<Vec<f64>>>,
}

impl Network {
    /// A network; see the module's description for the order of `groups`.
    ///
    /// # Errors
    /// A message that does not cross groups in ascending order, or crosses a group that is not
    /// there.
    pub fn new(groups: Vec<Group>, messages: Vec<Message>, rules: Rules) -> Result<Self, Error> {
        for message in &messages {
            let mut below = 0;
            for stage in &message.stages {
                let mut top = below;
                for visit in &stage.visits {
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
        Ok(Self {
            groups,
            messages,
            rules,
            crossings,
            inputs,
        })
    }

    /// The message classes.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// State of every group when each class sends `load` times its rate.
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
        };
        for index in (0..self.groups.len()).rev() {
            self.solve_group(index, load, &mut solved);
        }
        solved
    }

    /// The load at which rho = 1 on the most used group if worms never blocked, and that group:
    /// an upper bound of the saturation load. `None` if nothing is sent.
    pub fn bound(&self) -> Option<(f64, usize)> {
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

    /// The load at which some group first has rho = 1 with its adjusted service time, and that
    /// group. `None` if nothing is sent. Found by bisection below [`Network::bound`].
    pub fn saturation(&self) -> Option<(f64, usize)> {
        let (mut high, mut group) = self.bound()?;
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

    /// The last group (in path order) that is saturated: the one that holds up those before it.
    pub fn saturated(&self, solved: &Solved) -> Option<usize> {
        (solved.groups.iter()).rposition(|state| state.utilisation >= 1.0)
    }

    /// Cycles that a header of `message` needs: `(channels, waits after the first channel, wait for
    /// the first channel)`.
    pub fn header(&self, message: usize, solved: &Solved) -> (f64, f64, f64) {
        let (mut channels, mut waits, mut source) = (0.0, 0.0, 0.0);
        for (position, stage) in self.messages[message].stages.iter().enumerate() {
            let seen = &solved.seen[message][position];
            for (visit, seen) in stage.visits.iter().zip(seen) {
                if visit.path > 0.0 {
                    channels += visit.path;
                    let wait = solved.groups[visit.group].wait.mean;
                    let felt = visit.path * felt(*seen, wait);
                    if position == 0 {
                        source += felt;
                    } else {
                        waits += felt;
                    }
                }
            }
        }
        (channels, waits, source)
    }

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
            services.push((crossing.rate, self.held(index, crossing, solved)));
        }
        let length = Moments::weighted(&lengths, total);
        let service = Moments::weighted(&services, total);
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
            self.see_other_inputs(index, &services, solved);
        }
    }

    /// Time for which a message that crosses group `index` there holds it.
    fn held(&self, index: usize, crossing: &Crossing, solved: &Solved) -> Moments {
        let message = &self.messages[crossing.message];
        let vary = self.groups[index].variation == Variation::WithWaits;
        let segment = message.stages[crossing.stage].segment;
        let mut held = message.length;
        for (position, stage) in message.stages.iter().enumerate().skip(crossing.stage + 1) {
            let seen = &solved.seen[crossing.message][position];
            let mut parts = Vec::with_capacity(stage.visits.len());
            for (visit, seen) in stage.visits.iter().zip(seen) {
                let probability = if stage.segment == segment {
                    visit.within
                } else {
                    visit.beyond
                };
                parts.push((probability * seen, solved.groups[visit.group].wait));
            }
            let wait = Moments::weighted(&parts, 1.0);
            held = held.plus(&if vary {
                wait
            } else {
                Moments::fixed(wait.mean)
            });
        }
        held
    }

    /// Takes from the wait at group `index` what came by the message's own input. Work is counted
    /// as rate times E\[S^2\], to which the wait of an M/G/1 queue is proportional.
    fn see_other_inputs(&self, index: usize, services: &[(f64, Moments)], solved: &mut Solved) {
        let mut by_port: Vec<(u32, f64)> = Vec::new();
        let mut all = 0.0;
        for (crossing, (rate, service)) in self.crossings[index].iter().zip(services) {
            // Where the wait is infinite the shares no longer matter.
            let work = rate * service.second;
            if !work.is_finite() {
                return;
            }
            all += work;
            for input in &self.inputs[crossing.message][crossing.stage] {
                let part = work * input.probability;
                match by_port.iter_mut().find(|(port, _)| *port == input.port) {
                    Some((_, sum)) => *sum += part,
                    None => by_port.push((input.port, part)),
                }
            }
        }
        for (message, class) in self.messages.iter().enumerate() {
            for (position, stage) in class.stages.iter().enumerate() {
                for (number, visit) in stage.visits.iter().enumerate() {
                    if visit.group != index {
                        continue;
                    }
                    let own: f64 = self.inputs[message][position]
                        .iter()
                        .map(|input| {
                            let port = by_port.iter().find(|(port, _)| *port == input.port);
                            let work = port.map_or(0.0, |(_, work)| *work);
                            input.probability * work / all
                        })
                        .sum();
                    solved.seen[message][position][number] = (1.0 - own).max(0.0);
                }
            }
        }
    }
}

/// `seen` of a wait that may be infinite; a worm that nobody can block does not wait.
fn felt(seen: f64, wait: f64) -> f64 {
    if seen > 0.0 { seen * wait } else { 0.0 }
}

/// State of a group that nothing crosses.
const IDLE: GroupState = GroupState {
    rate: 0.0,
    length: Moments::ZERO,
    service: Moments::ZERO,
    scv: 0.0,
    carried: 0.0,
    utilisation: 0.0,
    wait: Moments::ZERO,
};

#[derive(Debug, Clone, Copy, PartialEq)]
struct Crossing {
    message: usize,
    stage: usize,
    rate: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Input {
    port: u32,
    lanes: u32,
    probability: f64,
}

fn crossings(groups: &[Group], messages: &[Message]) -> Vec<Vec<Crossing>> {
    let mut crossings = vec![Vec::new(); groups.len()];
    for (message, class) in messages.iter().enumerate() {
        for (stage, alternatives) in class.stages.iter().enumerate() {
            for visit in &alternatives.visits {
                let rate = class.rate * visit.rate;
                if rate > 0.0 {
                    crossings[visit.group].push(Crossing {
                        message,
                        stage,
                        rate,
                    });
                }
            }
        }
    }
    crossings
}

/// For each stage, the probabilities of the stage crossed just before it.
fn inputs(groups: &[Group], stages: &[Stage]) -> Vec<Vec<Input>> {
    let total = |stage: &Stage, of: fn(&Visit) -> f64| stage.visits.iter().map(of).sum::<f64>();
    (0..stages.len())
        .map(|here| {
            let mut before: Vec<Input> = (0..here)
                .filter_map(|earlier| {
                    let start = &stages[earlier];
                    let mut probability = total(start, |visit| visit.path);
                    for between in &stages[earlier + 1..here] {
                        let crossed = if between.segment == start.segment {
                            total(between, |visit| visit.within)
                        } else {
                            total(between, |visit| visit.path)
                        };
                        probability *= (1.0 - crossed).max(0.0);
                    }
                    if stages[here].segment == start.segment {
                        probability *= total(&stages[here], |visit| visit.within);
                    } else {
                        probability *= total(&stages[here], |visit| visit.path);
                    }
                    let group = start.visits.first()?.group;
                    (probability > 0.0).then_some(Input {
                        port: start.port,
                        lanes: groups[group].lanes,
                        probability,
                    })
                })
                .collect();
            let sum: f64 = before.iter().map(|input| input.probability).sum();
            for input in &mut before {
                input.probability /= sum;
            }
            before.retain(|input| input.lanes == 1);
            before
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules {
        many_lanes: ManyLanes::General,
        blocking: Blocking::AllInputs,
    };

    fn certain(group: usize, segment: u32) -> Stage {
        Stage {
            segment,
            port: segment,
            visits: vec![Visit {
                group,
                rate: 1.0,
                path: 1.0,
                within: 1.0,
                beyond: 1.0,
            }],
        }
    }

    fn group(lanes: u32, variation: Variation) -> Group {
        Group {
            lanes,
            channels: 1.0,
            queued: true,
            variation,
        }
    }

    fn line(lengths: Moments, variation: Variation) -> Network {
        let message = Message {
            rate: 1.0,
            length: lengths,
            stages: vec![certain(0, 0), certain(1, 1)],
        };
        let groups = vec![group(1, variation), group(1, variation)];
        Network::new(groups, vec![message], RULES).unwrap()
    }

    #[test]
    fn a_single_channel_is_an_mg1_queue() {
        let lengths = Moments::mixture(&[(1.0, 32.0), (1.0, 4096.0)]).unwrap();
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

    #[test]
    fn the_first_channel_is_held_through_the_wait_for_the_second() {
        let network = line(Moments::fixed(100.0), Variation::Base);
        let solved = network.solve(2e-3);
        let states = &solved.groups;
        // Second channel: M/D/1 with rho = 0.2, W = 0.2 * 100 / (2 * 0.8) = 12.5.
        assert!((states[1].wait.mean - 12.5).abs() < 1e-12);
        assert!((states[0].service.mean - 112.5).abs() < 1e-12);
        let (channels, waits, source) = network.header(0, &solved);
        assert_eq!(channels, 2.0);
        assert_eq!(waits, states[1].wait.mean);
        assert_eq!(source, states[0].wait.mean);
        // Without blocking the bound is rho = 1 on either channel; blocking lowers it.
        let (bound, _) = network.bound().unwrap();
        let (saturation, group) = network.saturation().unwrap();
        assert!((bound - 0.01).abs() < 1e-15);
        assert!(saturation < bound && group == 0);
        // The load x at which x (100 + W(x)) = 1, W = 100 * 100x / (2 (1 - 100x)); with
        // u = 100x: u + u^2 / (2 (1 - u)) = 1, u^2 - 4u + 2 = 0, u = 2 - sqrt 2.
        assert!((saturation * 100.0 - (2.0 - 2f64.sqrt())).abs() < 1e-9);
    }

    #[test]
    fn what_lies_before_a_saturated_channel_waits_forever_and_nothing_is_nan() {
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

    #[test]
    fn a_worm_is_not_blocked_by_those_behind_it() {
        // Two single-lane inputs feed one channel; 3/4 of the traffic comes by the first.
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
        // M/D/1 at rho = 0.2: 12.5 cycles; the first input's worms only wait for the second's.
        assert_eq!(solve(Blocking::AllInputs), [12.5, 12.5]);
        let [first, second] = solve(Blocking::OtherInputs);
        assert!((first - 0.25 * 12.5).abs() < 1e-9);
        assert!((second - 0.75 * 12.5).abs() < 1e-9);
    }
}
