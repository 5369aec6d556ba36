//! Requests that wait at their node while as many as may be are under way.

use isthmus_kernel::Cycles;
use isthmus_workload::packets::{PacketSource, Request};
use std::collections::VecDeque;

/// The requests of one node.
#[derive(Debug, Clone, Default)]
struct Door {
    /// Handed to the interface and not over.
    under_way: u32,
    /// Whether the next request is with the engine for its time, which may lie ahead.
    next_known: bool,
    /// Requests that have been drawn and are not with the engine.
    drawn: VecDeque<Request>,
    /// The time of the newest request with the engine, if it is not reported as offered.
    given: Option<Cycles>,
    /// How many of `drawn` have been reported as offered.
    reported: usize,
}

/// What stands between what nodes ask for and their interfaces.
#[derive(Debug, Clone)]
pub(super) struct Gate {
    most: u32,
    doors: Vec<Door>,
}

impl Gate {
    pub fn new(most: u32, nodes: u32) -> Self {
        Self {
            most,
            doors: vec![Door::default(); nodes as usize],
        }
    }

    /// The next request in order of a node, which the engine gets now.
    pub fn next(&mut self, node: u32, source: &mut PacketSource) -> Request {
        let door = &mut self.doors[node as usize];
        door.next_known = true;
        let request = match door.drawn.pop_front() {
            Some(request) => request,
            None => source.next(node),
        };
        match door.reported {
            0 => door.given = Some(request.time),
            _ => door.reported -= 1,
        }
        request
    }

    /// A request of a node has been handed over. Whether the next one is to be given to the engine.
    pub fn handed(&mut self, node: u32) -> bool {
        let door = &mut self.doors[node as usize];
        door.under_way += 1;
        door.next_known = false;
        door.under_way < self.most
    }

    /// A transaction of a node is over. Whether the next one is to be given to the engine.
    pub fn ended(&mut self, node: u32) -> bool {
        let door = &mut self.doors[node as usize];
        door.under_way -= 1;
        !door.next_known
    }

    /// Requests that a node has asked for by `now`, which never goes back, since this was last asked.
    pub fn asked_by(&mut self, node: u32, now: Cycles, source: &mut PacketSource) -> u64 {
        let door = &mut self.doors[node as usize];
        let mut asked = 0;
        match door.given {
            Some(time) if time > now => return 0,
            Some(_) => asked += 1,
            None => {}
        }
        door.given = None;
        loop {
            while let Some(request) = door.drawn.get(door.reported) {
                if request.time > now {
                    return asked;
                }
                door.reported += 1;
                asked += 1;
            }
            door.drawn.push_back(source.next(node));
        }
    }
}
