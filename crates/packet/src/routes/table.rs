//! Ways through any network, by a table.

use super::{End, Header, Run, Routes};
use isthmus_kernel::Cycles;
use isthmus_topology::Wiring;
use std::sync::Arc;

/// Where a packet goes on from a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// The next switch, from 0.
    pub to: u32,
    /// The class of channels that it takes there.
    pub class: u16,
    /// Its state there.
    pub state: u16,
}

/// Why a table cannot be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// A node that is not joined to one switch and to nothing else.
    #[error("node {node} is not joined to one switch; every node must be, and to nothing else")]
    Node {
        /// The node.
        node: u32,
    },
    /// A way on over a link that there is not.
    #[error(
        "the route from switch {from} to switch {to} ends at switch {at}; no link leads on as the \
         table says"
    )]
    NoLink {
        /// The switch that it starts at.
        from: u32,
        /// The switch that it is to lead to.
        to: u32,
        /// The switch where it ends.
        at: u32,
    },
    /// A way that goes around for ever.
    #[error("the route from switch {from} to switch {to} goes around for ever")]
    Loop {
        /// The switch that it starts at.
        from: u32,
        /// The switch that it is to lead to.
        to: u32,
    },
    /// A class, a state or a switch that is not among those that were said to be.
    #[error(
        "the route from switch {from} to switch {to} names {what} {value}; there are {count}, from 0"
    )]
    NotAmong {
        /// The switch that the way starts at.
        from: u32,
        /// The switch that it is to lead to.
        to: u32,
        /// What it is.
        what: &'static str,
        /// Its number.
        value: u32,
        /// How many there are.
        count: u32,
    },
    /// Classes or states that are none, or too many.
    #[error("{count} {what}; there must be 1 to {KINDS_MAX}")]
    Count {
        /// What they are.
        what: &'static str,
        /// How many.
        count: u16,
    },
    /// A table with more entries than there may be.
    #[error(
        "a table of {entries} entries; it may have {ENTRIES_MAX}, one for each state and pair of switches"
    )]
    TooLarge {
        /// How many.
        entries: u64,
    },
}

/// Classes or states at most: an entry has a byte for each.
const KINDS_MAX: u16 = 256;

/// Entries of a table at most: some 3 GB.
const ENTRIES_MAX: u64 = 1 << 28;

/// What a [`Table`] is made of.
#[derive(Debug, Clone, Copy)]
pub struct Rule<Start, Next> {
    /// Classes of channels, 1 or more.
    pub classes: u16,
    /// States of headers, 1 or more.
    pub states: u16,
    /// The state of packets from one switch to another at the first of them.
    pub start: Start,
    /// Where packets in a state go on from a switch to another, to a third. Not asked where the two
    /// are the same.
    pub next: Next,
}

/// A network of any shape whose packets go on by the switch that they are at, the one that they go to,
/// and a state that says what else they are to know of the way behind them. They wait for all links
/// to the next switch together. Whether they can wait for one another in a circle is not checked.
#[derive(Debug, Clone)]
pub struct Table {
    wiring: Arc<Wiring>,
    node_count: u32,
    switches: usize,
    lengths: Vec<Cycles>,
    /// Of each node its switch and the links from there.
    nodes: Vec<(u32, Run)>,
    /// By state, the switch to come to and the present one.
    hops: Vec<Entry>,
    /// By the last switch and the first.
    start: Vec<u16>,
    classes: u16,
    longest: u32,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    first: u32,
    /// Links of the run; none if nobody goes this way.
    links: u32,
    class: u8,
    state: u8,
    /// Links from here to the node at the end.
    left: u16,
}

const NOWHERE: Entry = Entry {
    first: 0,
    links: 0,
    class: 0,
    state: 0,
    left: 0,
};

impl Table {
    /// Follows a rule from every switch with nodes to every other and keeps what it says. `lengths`: of each
    /// link the ticks that a signal takes along it.
    ///
    /// # Errors
    /// The first way that does not lead to its end.
    ///
    /// # Panics
    /// If there are not as many lengths as links.
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
        let nodes = (0..wiring.node_count()).map(|node| at_switch(&wiring, node));
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
            hops: vec![NOWHERE; usize::from(rule.states) * switches * switches],
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

    fn place(&self, state: u16, switch: u32, to: u32) -> usize {
        (usize::from(state) * self.switches + to as usize) * self.switches + switch as usize
    }

    /// Fills in what is new of the way from one switch to another.
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
        let among = |what, value: u32, count: u32| match value < count {
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
        among("state", state.into(), rule.states.into())?;
        let start = self.place(0, from, to);
        self.start[start] = state;
        // What is new, up to the end or to what is known.
        new.clear();
        let mut at = from;
        let known = loop {
            if at == to {
                break 1;
            }
            let place = self.place(state, at, to);
            let entry = self.hops[place];
            if entry.left > 0 {
                break entry.left;
            }
            if entry.links > 0 || new.len() + 2 > usize::from(u16::MAX) {
                return Err(TableError::Loop { from, to });
            }
            let no_link = TableError::NoLink { from, to, at };
            let hop = (rule.next)(state, at, to).ok_or(no_link)?;
            among("class", hop.class.into(), rule.classes.into())?;
            among("state", hop.state.into(), rule.states.into())?;
            among("switch", hop.to, switches)?;
            let beside = &neighbors[at as usize];
            let run = beside.binary_search_by_key(&(nodes + hop.to), |&(vertex, _)| vertex);
            let run = beside[run.map_err(|_| no_link)?].1;
            self.hops[place] = Entry {
                first: run.first,
                links: run.links,
                class: hop.class as u8,
                state: hop.state as u8,
                left: 0,
            };
            new.push(place);
            (at, state) = (hop.to, hop.state);
        };
        let mut left = known;
        for &place in new.iter().rev() {
            left += 1;
            self.hops[place].left = left;
        }
        self.longest = self.longest.max(1 + u32::from(left));
        Ok(())
    }
}

/// The switch of a node, and the links from there to it.
fn at_switch(wiring: &Wiring, node: u32) -> Result<(u32, Run), TableError> {
    let wrong = TableError::Node { node };
    let mut out = wiring.out_of(node);
    let links = out.end - out.start;
    let first = out.next().ok_or(wrong)?;
    let switch = wiring.target(first);
    if switch < wiring.node_count() || out.any(|link| wiring.target(link) != switch) {
        return Err(wrong);
    }
    // Parallel links stand beside one another, in the order of their cables at both ends.
    let run = Run {
        first: wiring.reverse(first),
        links,
    };
    Ok((switch - wiring.node_count(), run))
}

/// The links out of a switch by the vertex that they lead to.
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
    fn node_count(&self) -> u32 {
        self.node_count
    }

    fn link_count(&self) -> u32 {
        self.wiring.link_count()
    }

    fn longest(&self) -> u32 {
        self.longest
    }

    fn end(&self, link: u32) -> End {
        End::of(&self.wiring, link)
    }

    fn length(&self, link: u32) -> Cycles {
        self.lengths[link as usize]
    }

    fn classes(&self) -> u32 {
        self.classes.into()
    }

    fn runs(&self) -> impl Iterator<Item = (Run, u32)> {
        (0..self.wiring.switch_count()).flat_map(|switch| {
            let out = self.wiring.out_of(self.node_count() + switch);
            let ports = out.end - out.start;
            runs_out(&self.wiring, switch).map(move |(_, run)| (run, ports))
        })
    }

    #[inline]
    fn of_node(&self, node: u32) -> Run {
        let out = self.wiring.out_of(node);
        Run {
            first: out.start,
            links: out.end - out.start,
        }
    }

    fn state(&self, from: u32, to: u32) -> u16 {
        let [from, to] = [from, to].map(|node| self.nodes[node as usize].0);
        self.start[self.place(0, from, to)]
    }

    #[inline]
    fn first(&self, header: &mut Header, _lot: impl FnOnce() -> u64) -> Run {
        self.of_node(header.from)
    }

    #[inline]
    fn next(&self, header: &mut Header, at: End, _lot: impl FnOnce() -> u64) -> Run {
        let switch = at.vertex - self.node_count;
        let (to, last) = self.nodes[header.to as usize];
        if switch == to {
            header.class = 0;
            return last;
        }
        let entry = self.hops[self.place(header.state, switch, to)];
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

    /// Three switches in a row, a node at each.
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

    fn along(_: u16, from: u32, to: u32) -> Option<Hop> {
        Some(Hop {
            to: if to > from { from + 1 } else { from - 1 },
            class: 0,
            state: 0,
        })
    }

    #[test]
    fn ways_have_their_links_and_parallel_ones_are_one_run() {
        let table = row(1, along).unwrap();
        assert_eq!(table.longest(), 4);
        let runs: Vec<u32> = table.runs().map(|(run, _)| run.links).collect();
        assert_eq!(runs.iter().sum::<u32>(), 9);
        assert_eq!(runs.iter().filter(|&&links| links == 2).count(), 2);
    }

    #[test]
    fn what_cannot_be_followed_is_named() {
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
