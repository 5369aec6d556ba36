//! Domain of validity of the throughputs and latencies of clients that [`loops`](super::loops) computes.
//!
//! On fat trees there are three causes of errors. With cut-through, packets wait in the buffers of switches and block
//! those behind them, which the model neglects. With either form of switching the same happens at links between
//! switches that are nearly full. If messages wait for long at parts that are not full, these parts are idle by chance:
//! then it matters whether clients choose their partners at random, and how lengths are distributed. The limits were
//! set on random machines (`bench/estimates.py fat-tree`, seeds 2, 3, 10 and 11) and tested on others; the guide has
//! the table.
//!
//! In other networks packets also wait in buffers that are short for their link, and for circuits that others hold for
//! long. There the model is valid with buffers if messages hardly wait, or if nodes are full but links between
//! switches are not (`bench/estimates.py graph-loops`, seeds 51 and 52).

use super::loops::{Client, Pace};
use std::collections::BTreeMap;

/// Largest utilisation of a link between switches for which the model is valid with cut-through switching.
pub const CUT_THROUGH_MAX: f64 = 0.35;
/// Largest utilisation of a link between switches for which the model is valid with circuit switching.
pub const CIRCUITS_MAX: f64 = 0.9;
/// Messages count as delayed for long if they take more than this multiple of their time without other messages.
pub const STRETCH_MAX: f64 = 1.5;
/// Utilisation from which a part (a link, server or interface) counts as full.
pub const FULL: f64 = 0.9;
/// A part (a link, server or interface) with at most this utilisation is hardly ever full.
pub const FREE: f64 = 0.7;
/// With fewer clients, the model is not valid if messages wait for long, even if no part is heavily loaded.
pub const FEW: usize = 4;

/// Largest [`Load::stretch`] for which a response shorter than the preceding pause is inside the domain.
pub const SHORT_STRETCH_MAX: f64 = 1.2;

/// Smallest share of a link's bandwidth that the buffer at its end must sustain for the model to be valid, in networks
/// other than fat trees.
pub const LET_THROUGH_MIN: f64 = 0.3;

/// Reason why the model is not valid if nodes run several jobs: their messages wait for one another at the interface,
/// and the job with fewer messages in flight gets less than the computed throughput.
pub const SHARED: &str = "nodes run several jobs";

/// Reason why the model is not valid if messages wait for long at parts that are not full: such waits depend on chance.
const BY_CHANCE: &str = "messages wait for long at links or servers that are not full";

/// The load that clients with their computed throughputs put on the links, servers and interfaces of a network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Utilisation of the busiest link between switches.
    pub between: f64,
    /// Utilisation of the busiest part (link, server or interface).
    pub busiest: f64,
    /// Number of clients.
    pub clients: usize,
    /// Ratio of the time of a message to its time without other messages, as the mean over clients.
    pub stretch: f64,
}

impl Load {
    /// Return the load that results from the computed throughputs `paces` of `clients`. `between` returns whether a
    /// part is a link between switches.
    pub fn new(clients: &[Client], paces: &[Pace], between: impl Fn(u32) -> bool) -> Self {
        let mut busy = BTreeMap::<u32, f64>::new();
        let mut stretch = 0.0;
        for (client, pace) in clients.iter().zip(paces) {
            stretch += pace.time / client.transfer / clients.len() as f64;
            for of in client.uses.iter().filter(|of| !of.is_stream) {
                *busy.entry(of.part).or_default() += pace.throughput * of.probability * of.busy;
            }
        }
        let most = |of: &dyn Fn(u32) -> bool| {
            let parts = busy.iter().filter(|(part, _)| of(**part));
            parts.fold(0.0, |most: f64, (_, &share)| most.max(share))
        };
        Self {
            between: most(&between),
            busiest: most(&|_| true),
            clients: clients.len(),
            stretch,
        }
    }

    /// Return a text that says why a response time is outside the domain because it is shorter than `pause`, the pause
    /// before it in the same unit; `None` if it is inside. Little's law gives a response time as the difference of a
    /// cycle time and its pause, so a short response time has a large relative error. With equal pauses clients stay in
    /// step, so their messages meet each time.
    pub fn reason_short_outside(
        &self,
        response: f64,
        pause: f64,
        is_equal: bool,
    ) -> Option<&'static str> {
        if pause <= response {
            return None;
        }
        if is_equal {
            return Some("clients pause for longer than messages take, and all pauses are equal");
        }
        let waits = self.stretch > SHORT_STRETCH_MAX;
        waits.then_some("clients pause for longer than messages take, and messages wait")
    }

    /// Return a text that says why the computed throughputs are not valid in a fat tree, or `None` if they are.
    /// `cut_through` is true for cut-through switching, and false for circuit switching.
    pub fn reason_outside(&self, cut_through: bool) -> Option<String> {
        let percent = |share: f64| format!("{:.0}%", 100.0 * share);
        let (limit, switching) = match cut_through {
            true => (CUT_THROUGH_MAX, "cut-through"),
            false => (CIRCUITS_MAX, "circuits"),
        };
        if self.between > limit {
            let limit = percent(limit);
            return Some(format!(
                "links between switches are used above {limit} with {switching}"
            ));
        }
        let some = self.busiest > FREE || self.clients < FEW;
        let by_chance = self.stretch > STRETCH_MAX && some && self.busiest < FULL;
        by_chance.then(|| BY_CHANCE.to_owned())
    }

    /// For networks other than fat trees: return a text that says why computed throughputs are not valid, or `None` if
    /// they are. `let_through` is the smallest share of the links' bandwidth that the buffers behind them permit; it is
    /// `None` if packets hold circuits.
    pub fn reason_graph_outside(&self, let_through: Option<f64>) -> Option<String> {
        let Some(let_through) = let_through else {
            return Some("packets hold circuits".to_owned());
        };
        if let_through < LET_THROUGH_MIN {
            let least = 100.0 * LET_THROUGH_MIN;
            return Some(format!(
                "the buffer behind a link limits it to less than {least:.0}% of its bandwidth"
            ));
        }
        if self.stretch <= STRETCH_MAX || (self.busiest >= FULL && self.between <= FREE) {
            return None;
        }
        let reason = match self.between > FREE {
            true => "messages wait for long at links between switches",
            false => BY_CHANCE,
        };
        Some(reason.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::loops::Use;

    /// A load inside the domain of validity, which the tests vary.
    const LOAD: Load = Load {
        between: 0.0,
        busiest: 0.0,
        clients: 8,
        stretch: 1.0,
    };

    /// Checks that the utilisation of a link is the sum over all clients. Two clients send 0.2 messages per time unit
    /// each. A message takes 2 time units on its client's own link and 1 time unit on a link that both use.
    #[test]
    fn link_loads_are_sums_over_clients() {
        let client = |own| Client {
            under_way: 1,
            at_once: 1.0,
            pause: 0.0,
            transfer: 2.0,
            offered: f64::INFINITY,
            uses: [(own, 2.0), (9, 1.0)]
                .map(|(part, busy)| Use {
                    part,
                    probability: 1.0,
                    busy,
                    is_stream: false,
                })
                .into(),
        };
        let pace = Pace {
            throughput: 0.2,
            time: 5.0,
        };
        let found = Load::new(&[client(1), client(2)], &[pace; 2], |part| part == 9);
        let expected = [0.4, 0.4, 2.5];
        for (found, expected) in [found.between, found.busiest, found.stretch]
            .iter()
            .zip(expected)
        {
            assert!((found - expected).abs() < 1e-12);
        }
    }

    /// Checks that the model is valid for a response time shorter than the client's pause only if the pauses vary and
    /// the load is light.
    #[test]
    fn responses_shorter_than_their_pause_need_pauses_that_vary_and_light_load() {
        let outside = |stretch, response, pause, is_equal| {
            let load = Load { stretch, ..LOAD };
            load.reason_short_outside(response, pause, is_equal)
        };
        assert_eq!(outside(9.0, 2.0, 2.0, true), None);
        assert!(outside(1.0, 2.0, 2.1, true).unwrap().contains("equal"));
        assert_eq!(outside(SHORT_STRETCH_MAX, 2.0, 2.1, false), None);
        assert!(outside(1.21, 2.0, 2.1, false).unwrap().contains("wait"));
    }

    /// Checks that each limit of the domain of validity rejects a load just beyond it.
    #[test]
    fn each_limit_ends_the_domain() {
        assert_eq!(LOAD.reason_outside(true), None);
        let between = |between| Load { between, ..LOAD };
        let cut = between(CUT_THROUGH_MAX + 0.01);
        assert!(cut.reason_outside(true).unwrap().contains("cut-through"));
        assert_eq!(cut.reason_outside(false), None);
        assert!(between(CIRCUITS_MAX + 0.01).reason_outside(false).is_some());
        // Checks long waits for the busiest part at several utilisations. With many clients they are invalid only if
        // this part is neither lightly loaded nor full; with few clients, unless it is full.
        let chance = |clients, busiest| {
            let load = Load {
                clients,
                busiest,
                stretch: 3.0,
                ..LOAD
            };
            load.reason_outside(false).is_some()
        };
        let shares = [0.5, FREE, 0.8, FULL, 1.0];
        assert_eq!(
            shares.map(|share| chance(FEW, share)),
            [false, false, true, false, false]
        );
        assert_eq!(
            shares.map(|share| chance(FEW - 1, share)),
            [true, true, true, false, false]
        );
    }

    /// Checks that on networks that are not fat trees, the domain requires short waits or fully used nodes, and enough
    /// buffers.
    #[test]
    fn other_networks_need_short_waits_or_full_nodes() {
        let load = |stretch, busiest, between| Load {
            stretch,
            busiest,
            between,
            ..LOAD
        };
        let outside = |load: Load| load.reason_graph_outside(Some(1.0)).is_some();
        assert!(!outside(load(STRETCH_MAX, 0.8, 0.8)));
        let reason = |load: Load| load.reason_graph_outside(Some(1.0)).unwrap();
        assert!(reason(load(1.6, 0.8, 0.5)).contains("not full"));
        assert!(!outside(load(9.0, FULL, FREE)));
        assert!(reason(load(9.0, 1.0, 0.8)).contains("between switches"));
        let buffers = LOAD.reason_graph_outside(Some(0.29)).unwrap();
        assert!(buffers.contains("30%"), "{buffers}");
        assert!(
            LOAD.reason_graph_outside(None)
                .unwrap()
                .contains("circuits")
        );
        assert_eq!(LOAD.reason_graph_outside(Some(LET_THROUGH_MIN)), None);
    }
}
