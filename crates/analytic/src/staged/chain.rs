//! Paths of messages: the path of a message class as a Markov chain over its stages.

use super::{Group, Stage, Visit};

/// Number of states of the Markov chain that models the path of a message. A message starts in
/// state 0.
pub const STATES: usize = 6;

/// Share of the messages in each state.
type States = [f64; STATES];

/// One value for each stage of a path and each visit (possible crossing) of this stage, indexed in
/// this order.
pub(super) type PerVisit<T> = Vec<Vec<T>>;

/// A single-lane input of a router, and the share of the messages of a visit (a crossing of a channel
/// group) that arrive through it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Input {
    pub(super) port: u32,
    pub(super) probability: f64,
}

/// Move the messages through a stage: update `states`, the share of the messages in each state.
/// Return, for each visit (possible crossing) of the stage, the share of the messages that makes
/// it.
fn advance(states: &mut States, visits: &[Visit]) -> Vec<f64> {
    let before = *states;
    visits
        .iter()
        .map(|visit| {
            let mut taken = 0.0;
            for (state, share) in before.iter().enumerate() {
                if visit.from.is_none_or(|from| from == state) {
                    let moved = share * visit.given;
                    states[state] = (states[state] - moved).max(0.0);
                    taken += moved;
                }
            }
            states[visit.to] += taken;
            taken
        })
        .collect()
}

/// Return, for each stage and each visit (possible crossing) of it, the single-lane inputs that
/// messages cross just before it, with the shares of the messages.
pub(super) fn inputs(groups: &[Group], stages: &[Stage]) -> PerVisit<Vec<Input>> {
    // Entry 0 contains the messages that have crossed no stage yet, entry e those whose last stage
    // was e - 1.
    let mut last: Vec<States> = vec![[0.0; STATES]; stages.len() + 1];
    last[0][0] = 1.0;
    let mut all = Vec::with_capacity(stages.len());
    for (position, stage) in stages.iter().enumerate() {
        let mut of_stage = vec![Vec::new(); stage.visits.len()];
        let mut totals = vec![0.0; stage.visits.len()];
        let mut arrived = [0.0; STATES];
        for (entry, states) in last.iter_mut().enumerate().take(position + 1) {
            let before: f64 = states.iter().sum();
            if before == 0.0 {
                continue;
            }
            let mut moved = *states;
            let taken = advance(&mut moved, &stage.visits);
            for (number, (visit, &taken)) in stage.visits.iter().zip(&taken).enumerate() {
                totals[number] += taken;
                arrived[visit.to] += taken;
                moved[visit.to] -= taken;
                let port = entry.checked_sub(1).map(|earlier| &stages[earlier]);
                if let Some(port) = port.filter(|port| taken > 0.0 && lanes(groups, port) == 1) {
                    of_stage[number].push(Input {
                        port: port.port,
                        probability: taken,
                    });
                }
            }
            *states = moved.map(|share| share.max(0.0));
        }
        last[position + 1] = arrived;
        for (inputs, total) in of_stage.iter_mut().zip(totals) {
            for input in inputs {
                input.probability /= total;
            }
        }
        all.push(of_stage);
    }
    all
}

/// Return the number of lanes of the channels of a stage.
fn lanes(groups: &[Group], stage: &Stage) -> u32 {
    (stage.visits.first()).map_or(0, |visit| groups[visit.group].lanes)
}

/// Return, for each stage and each visit (possible crossing) of it, the channel groups that
/// messages cross later, with their probabilities.
pub(super) fn groups_after(stages: &[Stage]) -> PerVisit<Vec<(usize, f64)>> {
    let after = |position: usize, state: usize| {
        let mut states = [0.0; STATES];
        states[state] = 1.0;
        let mut reached = Vec::new();
        for stage in &stages[position + 1..] {
            let taken = advance(&mut states, &stage.visits);
            for (visit, taken) in stage.visits.iter().zip(taken) {
                if taken > 0.0 {
                    reached.push((visit.group, taken));
                }
            }
        }
        reached
    };
    stages
        .iter()
        .enumerate()
        .map(|(position, stage)| {
            let visits = stage.visits.iter();
            visits.map(|visit| after(position, visit.to)).collect()
        })
        .collect()
}

/// Divide the rate and path probability of each channel group in each stage among its visits
/// (possible crossings), in proportion to the share of messages that makes each visit. A group that
/// no message reaches stays unchanged.
pub(crate) fn apportion(stages: &mut [Stage]) {
    let mut states = [0.0; STATES];
    states[0] = 1.0;
    for stage in stages {
        let taken = advance(&mut states, &stage.visits);
        let groups: Vec<usize> = stage.visits.iter().map(|visit| visit.group).collect();
        for (number, group) in groups.iter().enumerate() {
            if groups[..number].contains(group) {
                continue;
            }
            let of_group = || (0..groups.len()).filter(|&other| groups[other] == *group);
            let all: f64 = of_group().map(|other| taken[other]).sum();
            if all > 0.0 {
                let rate: f64 = of_group().map(|other| stage.visits[other].rate).sum();
                let path: f64 = of_group().map(|other| stage.visits[other].path).sum();
                for other in of_group() {
                    stage.visits[other].rate = rate * taken[other] / all;
                    stage.visits[other].path = path * taken[other] / all;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return a visit that messages in state `from` make with probability `given`.
    fn visit(group: usize, given: f64, from: usize, to: usize) -> Visit {
        Visit {
            group,
            rate: 0.0,
            path: 0.0,
            given,
            from: Some(from),
            to,
        }
    }

    /// A path with injection lane 0 and then three dimensions, crossed with probabilities 4/7, 2/3
    /// (4/7 again) and so on: a message to one of the 7 other nodes of a 3-cube. In state 1 the
    /// message has moved.
    fn cube() -> Vec<Stage> {
        let mut stages = vec![Stage {
            port: 0,
            visits: vec![visit(0, 1.0, 0, 0)],
        }];
        for (port, first) in [(1, 4.0 / 7.0), (2, 2.0 / 3.0), (3, 1.0)] {
            let group = port as usize;
            stages.push(Stage {
                port,
                visits: vec![visit(group, first, 0, 1), visit(group, 0.5, 1, 1)],
            });
        }
        stages
    }

    /// Checks that a message of uniform traffic in a 3-cube crosses each dimension with the same
    /// probability, 4/7.
    #[test]
    fn uniform_traffic_crosses_every_dimension_alike() {
        let reached = &groups_after(&cube())[0][0];
        for group in 1..=3 {
            let crossing: f64 = reached
                .iter()
                .filter(|(at, _)| *at == group)
                .map(|(_, probability)| probability)
                .sum();
            assert!((crossing - 4.0 / 7.0).abs() < 1e-12);
        }
    }

    /// Checks that the inputs of a channel are the previous channels on the paths of its messages,
    /// with the right probabilities.
    #[test]
    fn inputs_are_the_channels_just_before() {
        let group = Group {
            lanes: 1,
            channels: 8.0,
            queued: true,
            variation: crate::staged::Variation::Base,
        };
        let inputs = inputs(&[group; 4], &cube());
        // In the lowest dimension, consider messages in state 1: 2/7 of all messages come from
        // dimension 1 (half of 4/7), and 1/7 straight from dimension 2. The other messages (state
        // 0) come from the source.
        let of_moved = &inputs[3][1];
        let of_port = |port| of_moved.iter().find(|input| input.port == port).unwrap();
        assert!((of_port(2).probability - 2.0 / 3.0).abs() < 1e-12);
        assert!((of_port(1).probability - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(inputs[3][0].len(), 1);
        assert_eq!(inputs[3][0][0].port, 0);
        assert!((inputs[3][0][0].probability - 1.0).abs() < 1e-12);
    }

    /// Checks that the flow of a dimension is divided among the states of messages in the
    /// proportions of the Markov chain.
    #[test]
    fn flows_are_divided_in_the_proportions_of_the_chain() {
        let mut stages = cube();
        stages[2].visits[0].path = 4.0 / 7.0;
        apportion(&mut stages);
        // Of all messages, 3/7 have not moved before dimension 1, and 2/3 of them cross it. Half of
        // the other 4/7 cross it.
        assert!((stages[2].visits[0].path - 2.0 / 7.0).abs() < 1e-12);
        assert!((stages[2].visits[1].path - 2.0 / 7.0).abs() < 1e-12);
    }
}
