//! Ways through any network, by a table.

use super::{End, Header, Run, Ways};
use isthmus_kernel::Cycles;
use isthmus_topology::Wiring;
use std::fmt;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableError {
    /// A node that is not joined to one switch and to nothing else.
    Node {
        /// The node.
        node: u32,
    },
    /// A way on over a link that there is not.
    NoLink {
        /// The switch that it starts at.
        from: u32,
        /// The switch that it is to lead to.
        to: u32,
        /// The switch where it ends.
        at: u32,
    },
    /// A way that goes around for ever.
    Loop {
        /// The switch that it starts at.
        from: u32,
        /// The switch that it is to lead to.
        to: u32,
    },
    /// A class or a state that is not among those that were said to be.
    TooMany {
        /// What it is.
        what: &'static str,
        /// Its number.
        value: u16,
        /// How many there are.
        count: u16,
    },
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Node { node } => write!(
                f,
                "node {node} is not joined to one switch; every node must be, and to nothing else"
            ),
            Self::NoLink { from, to, at } => write!(
                f,
                "the route from switch {from} to switch {to} ends at switch {at}; no link leads on as the \
                 table says"
            ),
            Self::Loop { from, to } => {
                write!(
                    f,
                    "the route from switch {from} to switch {to} goes around for ever"
                )
            }
            Self::TooMany { what, value, count } => {
                write!(f, "{what} {value}; there are {count}, from 0")
            }
        }
    }
}

impl std::error::Error for TableError {}

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
/// to the next switch together.
#[derive(Debug, Clone)]
pub struct Table {
    wiring: Wiring,
    lengths: Vec<Cycles>,
    /// Of each node its switch and the links from there.
    nodes: Vec<(u32, Run)>,
    /// By state, switch and the switch to come to.
    hops: Vec<Entry>,
    /// By the first switch and the last.
    start: Vec<u16>,
    classes: u16,
    longest: u32,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    first: u32,
    links: u32,
    class: u8,
    state: u8,
}

const NOWHERE: Entry = Entry {
    first: 0,
    links: 0,
    class: 0,
    state: 0,
};

impl Table {
    /// Follows a rule from everywhere to everywhere and keeps what it says. `lengths`: of each link the
    /// ticks that a signal takes along it.
    ///
    /// # Errors
    /// The first way that does not lead to its end.
    ///
    /// # Panics
    /// If there are not as many lengths as links.
    pub fn new<Start, Next>(
        wiring: Wiring,
        lengths: Vec<Cycles>,
        mut rule: Rule<Start, Next>,
    ) -> Result<Self, TableError>
    where
        Start: FnMut(u32, u32) -> u16,
        Next: FnMut(u16, u32, u32) -> Option<Hop>,
    {
        assert_eq!(lengths.len(), wiring.link_count() as usize, "lengths");
        let nodes = (0..wiring.node_count()).map(|node| at_switch(&wiring, node));
        let nodes = nodes.collect::<Result<_, _>>()?;
        let switches = wiring.switch_count() as usize;
        let mut table = Self {
            nodes,
            hops: vec![NOWHERE; usize::from(rule.states) * switches * switches],
            start: vec![0; switches * switches],
            lengths,
            classes: rule.classes,
            longest: 2,
            wiring,
        };
        for from in 0..switches as u32 {
            for to in 0..switches as u32 {
                table.follow(from, to, &mut rule)?;
            }
        }
        Ok(table)
    }

    fn place(&self, state: u16, switch: u32, to: u32) -> usize {
        let switches = self.wiring.switch_count() as usize;
        (usize::from(state) * switches + switch as usize) * switches + to as usize
    }

    /// Fills in what is new of the way from one switch to another.
    fn follow<Start, Next>(
        &mut self,
        from: u32,
        to: u32,
        rule: &mut Rule<Start, Next>,
    ) -> Result<(), TableError>
    where
        Start: FnMut(u32, u32) -> u16,
        Next: FnMut(u16, u32, u32) -> Option<Hop>,
    {
        let within = |what, value, count| match value < count {
            true => Ok(()),
            false => Err(TableError::TooMany { what, value, count }),
        };
        let nodes = self.wiring.node_count();
        let mut state = (rule.start)(from, to);
        within("state", state, rule.states.min(u16::from(u8::MAX) + 1))?;
        let start = self.place(0, from, to);
        self.start[start] = state;
        let (mut at, mut links) = (from, 2);
        let most = u32::from(rule.states) * self.wiring.switch_count() + 2;
        while at != to {
            let place = self.place(state, at, to);
            let entry = &mut self.hops[place];
            if entry.links == 0 {
                let no_link = TableError::NoLink { from, to, at };
                let hop = (rule.next)(state, at, to).ok_or(no_link)?;
                within("class", hop.class, rule.classes.min(u16::from(u8::MAX) + 1))?;
                within("state", hop.state, rule.states)?;
                let run = between(&self.wiring, nodes + at, nodes + hop.to).ok_or(no_link)?;
                *entry = Entry {
                    first: run.first,
                    links: run.links,
                    class: hop.class as u8,
                    state: hop.state as u8,
                };
            }
            (at, state) = (self.wiring.target(entry.first) - nodes, entry.state.into());
            links += 1;
            if links > most {
                return Err(TableError::Loop { from, to });
            }
        }
        self.longest = self.longest.max(links);
        Ok(())
    }
}

/// The switch of a node, and the links from there to it.
fn at_switch(wiring: &Wiring, node: u32) -> Result<(u32, Run), TableError> {
    let wrong = TableError::Node { node };
    let nodes = wiring.node_count();
    let out = wiring.out_of(node);
    let switch = wiring.target(out.clone().next().ok_or(wrong)?);
    if switch < nodes || out.clone().any(|link| wiring.target(link) != switch) {
        return Err(wrong);
    }
    let run = between(wiring, switch, node).ok_or(wrong)?;
    Ok((switch - nodes, run))
}

/// The links from one vertex to another.
fn between(wiring: &Wiring, from: u32, to: u32) -> Option<Run> {
    let to_there = |link: &u32| wiring.target(*link) == to;
    let first = wiring.out_of(from).find(to_there)?;
    let links = wiring.out_of(from).filter(to_there).count() as u32;
    Some(Run { first, links })
}

impl Ways for Table {
    fn node_count(&self) -> u32 {
        self.wiring.node_count()
    }

    fn link_count(&self) -> u32 {
        self.wiring.link_count()
    }

    fn longest(&self) -> u32 {
        self.longest
    }

    fn end(&self, link: u32) -> End {
        super::end(&self.wiring, link)
    }

    fn length(&self, link: u32) -> Cycles {
        self.lengths[link as usize]
    }

    fn classes(&self) -> u32 {
        self.classes.into()
    }

    fn runs(&self) -> impl Iterator<Item = (Run, u32)> {
        let nodes = self.node_count();
        let switches = nodes..nodes + self.wiring.switch_count();
        switches.flat_map(move |switch| {
            let out = self.wiring.out_of(switch);
            let ports = out.end - out.start;
            let target = |link: u32| self.wiring.target(link);
            let firsts = out
                .clone()
                .filter(move |&link| link == out.start || target(link) != target(link - 1));
            let runs = firsts.filter_map(move |first| between(&self.wiring, switch, target(first)));
            runs.map(move |run| (run, ports))
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
        let switch = at.vertex - self.node_count();
        let (to, last) = self.nodes[header.to as usize];
        if switch == to {
            header.class = 0;
            return last;
        }
        let entry = self.hops[self.place(header.state, switch, to)];
        (header.class, header.state) = (entry.class.into(), entry.state.into());
        Run {
            first: entry.first,
            links: entry.links,
        }
    }
}
