//! A network of any shape, whose routes are computed again at every step.

use crate::engine::reference::{Flight, Network};
use isthmus_kernel::Cycles;
use isthmus_packet::routes::{Hop, Rule, Table, TableError};
use isthmus_topology::Wiring;
use std::ops::Range;

/// How packets find their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// Over the fewest links, of equals to the lowest switch if the last is higher than the
    /// first, else to the highest, in a class of channels for each link crossed.
    Shortest,
    /// Over the fewest links that lead to lower switches first and to higher ones then; of equals to the
    /// lowest switch. Every switch but the first has a lower neighbour.
    UpDown,
}

#[derive(Debug, Clone)]
pub struct Graph {
    pub wiring: Wiring,
    pub finding: Finding,
    pub lengths: Vec<Cycles>,
    pub classes: u32,
}

impl Graph {
    fn switch(&self, node: u32) -> u32 {
        self.wiring.target(self.wiring.out_of(node).start)
    }

    fn neighbors(&self, switch: u32) -> Vec<u32> {
        let out = self
            .wiring
            .out_of(switch)
            .map(|link| self.wiring.target(link));
        let mut neighbors: Vec<u32> = out
            .filter(|&vertex| vertex >= self.wiring.node_count())
            .collect();
        neighbors.sort_unstable();
        neighbors.dedup();
        neighbors
    }

    /// Links from a switch to another, if it may still go up.
    fn distance(&self, from: u32, to: u32, up: bool) -> Option<u32> {
        let mut found = vec![(from, up)];
        let mut next = 0;
        let mut links = 0;
        loop {
            let end = found.len();
            if found[next..].iter().any(|&(switch, _)| switch == to) {
                return Some(links);
            }
            for at in next..end {
                let (switch, up) = found[at];
                for neighbor in self.neighbors(switch) {
                    let state = match self.finding {
                        Finding::Shortest => (neighbor, up),
                        Finding::UpDown if neighbor < switch && !up => continue,
                        Finding::UpDown => (neighbor, neighbor < switch),
                    };
                    if !found.contains(&state) {
                        found.push(state);
                    }
                }
            }
            if found.len() == end {
                return None;
            }
            (next, links) = (end, links + 1);
        }
    }

    /// The next switch, and whether the packet may still go up there.
    /// `rising`: whether the last switch is higher than the first.
    fn next(&self, from: u32, to: u32, up: bool, rising: bool) -> Option<(u32, bool)> {
        let left = self.distance(from, to, up)?;
        let mut neighbors = self.neighbors(from);
        if !rising {
            neighbors.reverse();
        }
        let neighbors = neighbors.into_iter();
        let mut routes = neighbors.filter_map(|neighbor| {
            let still = neighbor < from;
            let allowed = self.finding == Finding::Shortest || !still || up;
            let near = self.distance(neighbor, to, still)? + 1 == left;
            (allowed && near).then_some((neighbor, still))
        });
        routes.next()
    }

    /// The same as a table. States: links crossed, or whether it has gone down; those of packets to
    /// higher switches first.
    pub fn table(&self) -> Result<Table, TableError> {
        let nodes = self.wiring.node_count();
        let shortest = self.finding == Finding::Shortest;
        let half = if shortest { self.classes as u16 + 1 } else { 2 };
        Table::new(
            self.wiring.clone(),
            self.lengths.clone(),
            Rule {
                classes: self.classes as u16,
                states: 2 * half,
                start: |from, to| if to > from { 0 } else { half },
                next: |state, from, to| {
                    let (rising, state) = (state < half, state % half);
                    let next = self.next(nodes + from, nodes + to, state == 0, rising);
                    let (next, up) = next?;
                    let then = if shortest { state + 1 } else { u16::from(!up) };
                    Some(Hop {
                        to: next - nodes,
                        class: if shortest { state } else { 0 },
                        state: then + if rising { 0 } else { half },
                    })
                },
            },
        )
    }
}

impl Network for Graph {
    fn nodes(&self) -> u32 {
        self.wiring.node_count()
    }

    fn links(&self) -> u32 {
        self.wiring.link_count()
    }

    fn target(&self, link: u32) -> u32 {
        self.wiring.target(link)
    }

    fn port(&self, link: u32) -> (u32, u32) {
        let out = self.wiring.out_of(self.wiring.target(link));
        (self.wiring.reverse(link) - out.start, out.len() as u32)
    }

    fn of_node(&self, node: u32) -> Range<u32> {
        self.wiring.out_of(node)
    }

    fn classes(&self) -> u32 {
        self.classes
    }

    fn length(&self, link: u32) -> Cycles {
        self.lengths[link as usize]
    }

    fn wanted(&self, at: u32, flight: &Flight, _lot: u64) -> (Range<u32>, u32) {
        let all_to = |target: u32| {
            let out = self.wiring.out_of(at);
            let links: Vec<u32> = out.filter(|&link| self.target(link) == target).collect();
            links[0]..links[0] + links.len() as u32
        };
        let last = self.switch(flight.to);
        if at < self.nodes() {
            return (all_to(self.switch(at)), 0);
        }
        if at == last {
            return (all_to(flight.to), 0);
        }
        // It has gone down if it has ever come to a switch from a lower one.
        let switches: Vec<u32> = flight
            .path
            .iter()
            .map(|lane| self.target(lane.link))
            .collect();
        let down = switches.windows(2).any(|pair| pair[1] > pair[0]);
        let rising = last > self.switch(flight.from);
        let (next, _) = self.next(at, last, !down, rising).unwrap();
        let class = match self.finding {
            Finding::Shortest => switches.len() as u32 - 1,
            Finding::UpDown => 0,
        };
        (all_to(next), class)
    }
}
