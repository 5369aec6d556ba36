//! Routes through a network of any shape, looked up in a table.

use super::{End, Header, Routes, Run};
use isthmus_kernel::Cycles;
use isthmus_topology::Wiring;
use std::sync::Arc;

/// Next step of a packet at a switch, as a rule returns it: the next switch, channel class and
/// state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// Number of the next switch, from 0.
    pub to: u32,
    /// Class of channels of the packet on the link to the next switch.
    pub class: u16,
    /// State of the packet's header when the packet leaves the next switch.
    pub state: u16,
}

/// Error in a table of routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// A node is not attached to exactly one switch.
    #[error("node {node} is not joined to one switch; every node must be, and to nothing else")]
    Node {
        /// The node that is not attached to one switch.
        node: u32,
    },
    /// A route needs a link that does not exist.
    #[error(
        "the route from switch {from} to switch {to} ends at switch {at}; no link leads on as the \
         table says"
    )]
    NoLink {
        /// The first switch of the route.
        from: u32,
        /// The last switch of the route.
        to: u32,
        /// The switch at which the route needs the missing link.
        at: u32,
    },
    /// A route never ends, because it comes back to an earlier switch.
    #[error("the route from switch {from} to switch {to} goes around for ever")]
    Loop {
        /// The first switch of the route.
        from: u32,
        /// The last switch of the route.
        to: u32,
    },
    /// A route contains a class, state or switch that does not exist.
    #[error(
        "the route from switch {from} to switch {to} names {what} {value}; there are {count}, from 0"
    )]
    NotAmong {
        /// The first switch of the route.
        from: u32,
        /// The last switch of the route.
        to: u32,
        /// The kind of value: class, state or switch.
        what: &'static str,
        /// The value that does not exist.
        value: u32,
        /// The number of existing classes, states or switches. Valid values are less.
        count: u32,
    },
    /// The number of classes or states is 0 or too large.
    #[error("{count} {what}; there must be 1 to {KINDS_MAX}")]
    Count {
        /// Name of the invalid number: `classes` or `states`.
        what: &'static str,
        /// The number of classes or states.
        count: u16,
    },
    /// The table would need too many entries.
    #[error(
        "a table of {entries} entries; it may have {ENTRIES_MAX}, one for each state and pair of switches"
    )]
    TooLarge {
        /// The number of entries that the table would need.
        entries: u64,
    },
}

/// Maximum number of classes, and of states: a table entry has one byte for each.
const KINDS_MAX: u16 = 256;

/// Maximum number of entries of a table: about 3 GB.
const ENTRIES_MAX: u64 = 1 << 28;

/// Routing rule from which a [`Table`] is built, as functions of switches and states.
#[derive(Debug, Clone, Copy)]
pub struct Rule<Start, Next> {
    /// Number of classes of channels, 1 or more.
    pub classes: u16,
    /// Number of states that a packet's header may have, 1 or more. The next step depends on the
    /// state.
    pub states: u16,
    /// Function that returns the initial state of a packet's header, from its first and its last
    /// switch.
    pub start: Start,
    /// Function that returns the next step of a packet, from its state, its present switch and its
    /// last switch. It is called only if these switches differ.
    pub next: Next,
}

/// Routes in a network of any shape, stored as a table. The next switch of a packet depends on its
/// current switch, its destination and a state. The state represents everything else about the
/// route so far. Packets wait for all links to the next switch together. The table is not checked
/// for cycles of waiting packets.
#[derive(Debug, Clone)]
pub struct Table {
    wiring: Arc<Wiring>,
    node_count: u32,
    /// Number of switches of the network.
    switches: usize,
    /// Propagation delay of each link in ticks.
    lengths: Vec<Cycles>,
    /// For each node, its switch and the links from there to the node.
    nodes: Vec<(u32, Run)>,
    /// Next step of a packet, by state, last switch and current switch.
    hops: Vec<Entry>,
    /// State of a packet's header at its first switch, by the packet's last switch and first
    /// switch.
    start: Vec<u16>,
    classes: u16,
    /// Number of links of the longest route.
    longest: u32,
}

/// Table entry, the next step of a packet: the links to the next switch, and the class and state
/// there.
#[derive(Debug, Clone, Copy)]
struct Entry {
    first: u32,
    /// Number of parallel links to the next switch; 0 if no packet takes this route.
    links: u32,
    class: u8,
    state: u8,
    /// Number of links from here to the destination node.
    links_left: u16,
}

/// Value of the table's entries that no packet uses.
const UNUSED: Entry = Entry {
    first: 0,
    links: 0,
    class: 0,
    state: 0,
    links_left: 0,
};

impl Table {
    /// Follow a rule from every switch with nodes to every other, and store its steps. `lengths`
    /// holds the propagation delay of each link in ticks.
    ///
    /// # Errors
    /// The first route that does not reach its last switch.
    ///
    /// # Panics
    /// If the number of lengths differs from the number of links.
    pub fn new<Start, Next>(
        wiring: impl Into<Arc<Wiring>>,
        lengths: Vec<Cycles>,
        mut rule: Rule<Start, Next>,
    ) -> Result<Self, TableError>
    where
        Start: FnMut(u32, u32) -> u16,
        Next: FnMut(u16, u32, u32) -> Option<Hop>,
    {
        let wiring = wiring.into();
        assert_eq!(lengths.len(), wiring.link_count() as usize, "lengths");
        for (what, count) in [("classes", rule.classes), ("states", rule.states)] {
            if !(1..=KINDS_MAX).contains(&count) {
                return Err(TableError::Count { what, count });
            }
        }
        let nodes = (0..wiring.node_count()).map(|node| attachment(&wiring, node));
        let nodes = nodes.collect::<Result<Vec<(u32, Run)>, _>>()?;
        let switches = wiring.switch_count() as usize;
        let entries = u64::from(rule.states) * (switches as u64).pow(2);
        if entries > ENTRIES_MAX {
            return Err(TableError::TooLarge { entries });
        }
        let neighbors = (0..wiring.switch_count()).map(|switch| {
            let mut runs: Vec<(u32, Run)> = runs_out(&wiring, switch).collect();
            runs.sort_unstable_by_key(|&(vertex, _)| vertex);
            runs
        });
        let neighbors: Vec<Vec<(u32, Run)>> = neighbors.collect();
        let mut ends: Vec<u32> = nodes.iter().map(|&(switch, _)| switch).collect();
        ends.sort_unstable();
        ends.dedup();
        let mut table = Self {
            nodes,
            hops: vec![UNUSED; usize::from(rule.states) * switches * switches],
            start: vec![0; switches * switches],
            lengths,
            classes: rule.classes,
            longest: 2,
            node_count: wiring.node_count(),
            switches,
            wiring,
        };
        let mut new = Vec::new();
        for &to in &ends {
            for &from in &ends {
                table.follow(from, to, &neighbors, &mut rule, &mut new)?;
            }
        }
        Ok(table)
    }

    /// Return the index in `hops` of the entry for a packet with this state at a switch.
    fn index(&self, state: u16, switch: u32, to: u32) -> usize {
        (usize::from(state) * self.switches + to as usize) * self.switches + switch as usize
    }

    /// Add the entries of the route from one switch to another that the table does not have yet.
    fn follow<Start, Next>(
        &mut self,
        from: u32,
        to: u32,
        neighbors: &[Vec<(u32, Run)>],
        rule: &mut Rule<Start, Next>,
        new: &mut Vec<usize>,
    ) -> Result<(), TableError>
    where
        Start: FnMut(u32, u32) -> u16,
        Next: FnMut(u16, u32, u32) -> Option<Hop>,
    {
        let (nodes, switches) = (self.node_count, self.switches as u32);
        let check_range = |what, value: u32, count: u32| match value < count {
            true => Ok(()),
            false => Err(TableError::NotAmong {
                from,
                to,
                what,
                value,
                count,
            }),
        };
        let mut state = (rule.start)(from, to);
        check_range("state", state.into(), rule.states.into())?;
        let start = self.index(0, from, to);
        self.start[start] = state;
        // Follow the rule, and add an entry for each switch up to the last one or to a known entry.
        new.clear();
        let mut at = from;
        let known = loop {
            if at == to {
                break 1;
            }
            let index = self.index(state, at, to);
            let entry = self.hops[index];
            if entry.links_left > 0 {
                break entry.links_left;
            }
            if entry.links > 0 || new.len() + 2 > usize::from(u16::MAX) {
                return Err(TableError::Loop { from, to });
            }
            let no_link = TableError::NoLink { from, to, at };
            let hop = (rule.next)(state, at, to).ok_or(no_link)?;
            check_range("class", hop.class.into(), rule.classes.into())?;
            check_range("state", hop.state.into(), rule.states.into())?;
            check_range("switch", hop.to, switches)?;
            let beside = &neighbors[at as usize];
            let run = beside.binary_search_by_key(&(nodes + hop.to), |&(vertex, _)| vertex);
            let run = beside[run.map_err(|_| no_link)?].1;
            self.hops[index] = Entry {
                first: run.first,
                links: run.links,
                class: hop.class as u8,
                state: hop.state as u8,
                links_left: 0,
            };
            new.push(index);
            (at, state) = (hop.to, hop.state);
        };
        let mut left = known;
        for &index in new.iter().rev() {
            left += 1;
            self.hops[index].links_left = left;
        }
        self.longest = self.longest.max(1 + u32::from(left));
        Ok(())
    }
}

/// Return the switch to which a node is attached, and the links from that switch to the node.
fn attachment(wiring: &Wiring, node: u32) -> Result<(u32, Run), TableError> {
    let wrong = TableError::Node { node };
    let mut out = wiring.out_of(node);
    let links = out.end - out.start;
    let first = out.next().ok_or(wrong)?;
    let switch = wiring.target(first);
    if switch < wiring.node_count() || out.any(|link| wiring.target(link) != switch) {
        return Err(wrong);
    }
    // The links in the other direction: parallel links have consecutive numbers, in the order of
    // their cables at both ends.
    let run = Run {
        first: wiring.reverse(first),
        links,
    };
    Ok((switch - wiring.node_count(), run))
}

/// Return the links out of a switch, grouped by the vertex that they lead to.
fn runs_out(wiring: &Wiring, switch: u32) -> impl Iterator<Item = (u32, Run)> {
    let mut rest = wiring.out_of(wiring.node_count() + switch);
    std::iter::from_fn(move || {
        let first = rest.next()?;
        let target = wiring.target(first);
        let mut links = 1;
        while rest.start < rest.end && wiring.target(rest.start) == target {
            rest.next();
            links += 1;
        }
        Some((target, Run { first, links }))
    })
}

impl Routes for Table {
    /// Return the number of nodes.
    fn node_count(&self) -> u32 {
        self.node_count
    }

    /// Return the number of links in the network.
    fn link_count(&self) -> u32 {
        self.wiring.link_count()
    }

    /// Return the number of links of the longest route from node to node.
    fn longest_route(&self) -> u32 {
        self.longest
    }

    /// Return the vertex and port to which a link leads.
    fn end(&self, link: u32) -> End {
        End::of(&self.wiring, link)
    }

    /// Return the propagation delay of a link in ticks.
    fn length(&self, link: u32) -> Cycles {
        self.lengths[link as usize]
    }

    /// Return the number of classes of virtual channels.
    fn classes(&self) -> u32 {
        self.classes.into()
    }

    /// Return the parallel links from each switch to each of its neighbours, with the number of
    /// ports of the first switch.
    fn runs(&self) -> impl Iterator<Item = (Run, u32)> {
        (0..self.wiring.switch_count()).flat_map(|switch| {
            let out = self.wiring.out_of(self.node_count() + switch);
            let ports = out.end - out.start;
            runs_out(&self.wiring, switch).map(move |(_, run)| (run, ports))
        })
    }

    /// Return all links out of a node.
    #[inline]
    fn node_links(&self, node: u32) -> Run {
        let out = self.wiring.out_of(node);
        Run {
            first: out.start,
            links: out.end - out.start,
        }
    }

    /// Return the route state, at its first switch, of a packet from one node to another.
    fn initial_state(&self, from: u32, to: u32) -> u16 {
        let [from, to] = [from, to].map(|node| self.nodes[node as usize].0);
        self.start[self.index(0, from, to)]
    }

    /// Return the links over which a packet may leave its source node: all links of the node.
    #[inline]
    fn first_links(&self, header: &mut Header, _random: impl FnOnce() -> u64) -> Run {
        self.node_links(header.from)
    }

    /// Return the links from a switch to a packet's next switch, and set the packet's class and
    /// state.
    #[inline]
    fn next_links(&self, header: &mut Header, at: End, _random: impl FnOnce() -> u64) -> Run {
        let switch = at.vertex - self.node_count;
        let (to, last) = self.nodes[header.to as usize];
        if switch == to {
            header.class = 0;
            return last;
        }
        let entry = self.hops[self.index(header.state, switch, to)];
        debug_assert!(entry.links > 0, "a way that the rule does not lead");
        (header.class, header.state) = (entry.class.into(), entry.state.into());
        Run {
            first: entry.first,
            links: entry.links,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Build a table for three switches in a row, each with one node.
    fn row(
        states: u16,
        hop: impl FnMut(u16, u32, u32) -> Option<Hop>,
    ) -> Result<Table, TableError> {
        let wiring = Wiring::new(3, 3, &[(0, 3), (1, 4), (2, 5), (3, 4), (4, 5), (4, 5)]);
        let rule = Rule {
            classes: 2,
            states,
            start: |_, _| 0,
            next: hop,
        };
        let lengths = vec![0; wiring.link_count() as usize];
        Table::new(wiring, lengths, rule)
    }

    /// Return the next step of a packet: to the neighbour of switch `from` in the row of switches,
    /// towards `to`. The state is not used. The test builds its table from this rule.
    fn along(_: u16, from: u32, to: u32) -> Option<Hop> {
        Some(Hop {
            to: if to > from { from + 1 } else { from - 1 },
            class: 0,
            state: 0,
        })
    }

    /// Checks that routes use the links of the network, and that parallel links form one run.
    #[test]
    fn routes_use_existing_links_and_parallel_links_form_one_run() {
        let table = row(1, along).unwrap();
        assert_eq!(table.longest_route(), 4);
        let runs: Vec<u32> = table.runs().map(|(run, _)| run.links).collect();
        assert_eq!(runs.iter().sum::<u32>(), 9);
        assert_eq!(runs.iter().filter(|&&links| links == 2).count(), 2);
    }

    /// Checks that a rule without a valid route causes an error that names the route.
    #[test]
    fn invalid_rules_cause_errors_that_name_the_route() {
        let error = |hop: fn(u16, u32, u32) -> Option<Hop>| row(1, hop).unwrap_err().to_string();
        assert_eq!(
            error(|_, from, to| (from > 0).then_some(along(0, from, to))?),
            "the route from switch 0 to switch 1 ends at switch 0; no link leads on as the table says"
        );
        let to = |to| {
            Some(Hop {
                to,
                class: 0,
                state: 0,
            })
        };
        assert_eq!(
            row(1, |state, from, last| match (from, last) {
                (1, 2) => to(0),
                _ => along(state, from, last),
            })
            .unwrap_err()
            .to_string(),
            "the route from switch 0 to switch 2 goes around for ever"
        );
        assert_eq!(
            row(1, |_, _, _| to(u32::MAX - 2)).unwrap_err().to_string(),
            "the route from switch 1 to switch 0 names switch 4294967293; there are 3, from 0"
        );
        assert_eq!(
            error(|_, from, to| along(0, from, to).map(|hop| Hop { class: 2, ..hop })),
            "the route from switch 1 to switch 0 names class 2; there are 2, from 0"
        );
        assert_eq!(
            error(|_, from, to| along(0, from, to).map(|hop| Hop { state: 1, ..hop })),
            "the route from switch 1 to switch 0 names state 1; there are 1, from 0"
        );
        assert_eq!(
            row(0, along).unwrap_err().to_string(),
            "0 states; there must be 1 to 256"
        );
        let lone = Wiring::new(1, 1, &[]);
        let rule = Rule {
            classes: 1,
            states: 1,
            start: |_, _| 0,
            next: along,
        };
        assert_eq!(
            Table::new(lone, Vec::new(), rule).unwrap_err().to_string(),
            "node 0 is not joined to one switch; every node must be, and to nothing else"
        );
    }
}
