//! Detection of stalls: packets wait and no packet is delivered any more.

use crate::traffic::CLASSES;
use crate::{Fabric, InterfaceId};
use isthmus_kernel::{Cycles, Id};
use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;

/// Kind of a stall, in which no packet is delivered: a livelock or a deadlock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StallKind {
    /// Packets still circulate, but all targets refuse them.
    Livelock,
    /// No packet leaves any node any more.
    Deadlock,
}

/// A stall: no packet has been delivered anywhere for some time, and packets wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stall {
    /// Whether packets still move (livelock) or not (deadlock).
    pub kind: StallKind,
    /// Cycle of the last delivery, or of the generation of the oldest packet if that is later.
    pub since: Cycles,
    /// Number of packets that are generated and not delivered.
    pub under_way: u64,
    /// Nodes whose full input queues wait for one another cyclically, in ascending order. If some
    /// of them can never move again, only these. Empty if there is no circular wait.
    pub nodes: Vec<u32>,
}

/// Progress of an engine: the state from which it is detected whether the engine has stalled.
pub(crate) struct Progress {
    pub now: Cycles,
    pub last_delivery: Cycles,
    /// Last cycle in which an interface started to send a packet of its own node.
    pub last_start: Cycles,
    /// Cycle of the generation of the oldest packet in flight; `None` if there is none.
    pub oldest: Option<Cycles>,
    pub under_way: u64,
}

impl Progress {
    /// Returns the stall if no packet has been delivered for `limit` cycles, else `None`. `nodes`
    /// returns the nodes that take part in a stall, and is called only for a stall.
    pub fn stalled(&self, limit: Cycles, nodes: impl FnOnce() -> Vec<u32>) -> Option<Stall> {
        let since = self.last_delivery.max(self.oldest?);
        if self.now < since + limit {
            return None;
        }
        let kind = if self.last_start + limit > self.now {
            StallKind::Livelock
        } else {
            StallKind::Deadlock
        };
        Some(Stall {
            kind,
            since,
            under_way: self.under_way,
            nodes: nodes(),
        })
    }
}

/// Dependencies among full input queues and full output queues.
///
/// An input queue is stuck if it is full and the output queue for which its first packet waits is
/// stuck. An output queue is stuck if it is full and all of its packets go to stuck input queues,
/// none of which has accepted its packet yet. The largest set of queues that are stuck under this
/// rule can never move again: each queue of the set waits for another queue of the set.
pub(crate) struct Waiting {
    /// For each input queue (numbered by [`Waiting::input`]), the output queue for which its first
    /// packet waits. `None` unless both queues are full.
    pub inputs: Vec<Option<u32>>,
    /// For each output queue, the input queues to which its packets go. `None` if the queue is not
    /// full, or if an echo in flight will free a slot of it: the echo reports an accepted packet.
    pub outputs: Vec<Option<Vec<u32>>>,
}

impl Waiting {
    /// Returns the number of an input queue from its interface and class.
    pub fn input(interface: InterfaceId, class: usize) -> u32 {
        interface.number() * CLASSES as u32 + class as u32
    }

    /// Returns the nodes of the input queues that wait for one another cyclically and can never
    /// move again, in ascending order.
    pub fn wedged(&self, fabric: &Fabric) -> Vec<u32> {
        let mut stuck: Vec<bool> = self.inputs.iter().map(Option::is_some).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for input in 0..stuck.len() {
                let waits = |targets: &[u32]| targets.iter().all(|&to| stuck[to as usize]);
                if stuck[input] && !self.targets(input).is_some_and(waits) {
                    stuck[input] = false;
                    changed = true;
                }
            }
        }
        self.circular_waits(fabric, &stuck)
    }

    /// Returns the nodes of [`Waiting::wedged`]. If there are none, returns the nodes of full input
    /// queues in a circular wait that could still resolve. Such a wait lasts because passing
    /// traffic leaves no room on the ring.
    pub fn stalled(&self, fabric: &Fabric) -> Vec<u32> {
        let wedged = self.wedged(fabric);
        if !wedged.is_empty() {
            return wedged;
        }
        let full: Vec<bool> = self.inputs.iter().map(Option::is_some).collect();
        self.circular_waits(fabric, &full)
    }

    /// Returns the input queues for which input queue `input` waits. Its first packet waits for a
    /// full output queue; the result is the input queues to which the packets of that output queue
    /// go. `None` if the input queue does not wait in this way.
    fn targets(&self, input: usize) -> Option<&[u32]> {
        self.outputs[self.inputs[input]? as usize].as_deref()
    }

    /// Returns the nodes of all circular waits that lead only through the input queues in
    /// `through`.
    fn circular_waits(&self, fabric: &Fabric, through: &[bool]) -> Vec<u32> {
        let mut graph = DiGraph::<(), (), u32>::default();
        for _ in through {
            graph.add_node(());
        }
        for from in (0..through.len()).filter(|&from| through[from]) {
            for &to in self.targets(from).unwrap_or_default() {
                if through[to as usize] {
                    graph.add_edge((from as u32).into(), to.into(), ());
                }
            }
        }
        let mut nodes: Vec<u32> = tarjan_scc(&graph)
            .into_iter()
            .filter(|part| part.len() > 1 || graph.contains_edge(part[0], part[0]))
            .flatten()
            .map(|input| fabric.interfaces().values()[input.index() / CLASSES].node)
            .collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that only queues that can never move again are stuck.
    #[test]
    fn only_queues_that_can_never_move_are_stuck() {
        let fabric = Fabric::new(3, &[vec![0, 1, 2]]).unwrap();
        // The input queues of requests have the numbers 0, 2 and 4; each output queue has the
        // number of its node.
        let mut waiting = Waiting {
            inputs: vec![Some(0), None, Some(1), None, Some(2), None],
            outputs: vec![Some(vec![2, 2]), Some(vec![0]), Some(vec![0])],
        };
        // Queues 0 and 1 wait for one another; queue 2 waits for 0 and is not part of the circle.
        assert_eq!(waiting.wedged(&fabric), [0, 1]);
        assert_eq!(waiting.stalled(&fabric), [0, 1]);
        // One packet of output queue 0 goes to input queue 3, which is not full, so the circular
        // wait may resolve.
        waiting.outputs[0] = Some(vec![2, 3]);
        assert_eq!(waiting.wedged(&fabric), []);
        assert_eq!(waiting.stalled(&fabric), [0, 1]);
        // An echo that reports an accepted packet will free a slot of output queue 1, so nothing is
        // stuck.
        waiting.outputs[0] = Some(vec![2]);
        waiting.outputs[1] = None;
        assert_eq!(waiting.wedged(&fabric), []);
    }

    /// Checks that the time of a stall counts from the last delivery, or from the generation of the
    /// oldest packet if that is later.
    #[test]
    fn a_stall_begins_with_the_last_delivery_or_the_oldest_packet() {
        let mut progress = Progress {
            now: 1000,
            last_delivery: 300,
            last_start: 990,
            oldest: Some(500),
            under_way: 3,
        };
        assert_eq!(progress.stalled(501, Vec::new), None);
        let stall = progress.stalled(500, || vec![7]).unwrap();
        assert_eq!((stall.kind, stall.since), (StallKind::Livelock, 500));
        assert_eq!((stall.under_way, stall.nodes), (3, vec![7]));
        progress.last_start = 500;
        let stall = progress.stalled(500, Vec::new).unwrap();
        assert_eq!(stall.kind, StallKind::Deadlock);
        progress.oldest = None;
        assert_eq!(progress.stalled(1, Vec::new), None);
    }
}
