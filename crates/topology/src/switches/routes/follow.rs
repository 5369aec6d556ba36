//! The ways of packets by a list of routes.

use super::error::RouteError;
use super::route::{Listing, Route};
use crate::Wiring;
use crate::deadlock;
use crate::switches::Form;
use crate::switches::neighbors::Neighbors;

/// Where packets do not arrive.
pub(super) enum Lost {
    /// From one switch they come to another without a route, from the third.
    Missing(u32, u32, Option<u32>),
    /// They come by these again and again.
    Circle(Vec<u32>),
}

impl Lost {
    pub fn route_error(self, ways: &Listing<'_>, form: &Form, to: u32) -> RouteError {
        let line = |at: u32| ways.route(at, to).map_or(0, |route| route.line as usize);
        match self {
            Self::Missing(from, at, before) => RouteError::Missing {
                line: before.map(line),
                at: form.shown(at),
                to: form.shown(to),
                from: form.shown(from),
            },
            Self::Circle(circle) => RouteError::Loop {
                line: circle.iter().map(|&at| line(at)).min().unwrap_or(0),
                to: form.shown(to),
                circle: circle.iter().map(|&at| form.shown(at)).collect(),
            },
        }
    }
}

/// Channels that packets take, a layer of a link each, numbered as they come.
pub(super) struct Used {
    beside: Neighbors,
    /// Of each link the layers that packets are in there, each with the number of the channel.
    numbers: Vec<Vec<(u16, u32)>>,
    /// Of each channel the switch that it leaves.
    from: Vec<u32>,
    /// Of each channel those that packets want while they hold it.
    wanted: Vec<Vec<u32>>,
    /// Of each switch the last destination that a way over it led to.
    crossed: Vec<u32>,
    way: Vec<u32>,
}

impl Used {
    pub fn new(wiring: &Wiring) -> Self {
        let beside = Neighbors::new(wiring).sorted();
        Self {
            numbers: vec![Vec::new(); beside.links()],
            from: Vec::new(),
            wanted: Vec::new(),
            crossed: vec![u32::MAX; beside.switches() as usize],
            beside,
            way: Vec::new(),
        }
    }

    /// The channel from a switch by a route.
    fn channel(&mut self, route: &Route) -> u32 {
        let link = self.beside.link(route.at, route.next).unwrap_or(0);
        let numbers = &mut self.numbers[link as usize];
        let known = numbers.iter().find(|&&(layer, _)| layer == route.layer);
        if let Some(&(_, number)) = known {
            return number;
        }
        let number = self.from.len() as u32;
        numbers.push((route.layer, number));
        self.from.push(route.at);
        self.wanted.push(Vec::new());
        number
    }

    /// Follows the ways from these switches to one; the layers that packets are in on them.
    pub fn follow(&mut self, ways: &Listing<'_>, ends: &[u32], to: u32) -> Result<u16, Lost> {
        let mut layers = 1;
        self.crossed[to as usize] = to;
        for &from in ends {
            let mut at = from;
            self.way.clear();
            while std::mem::replace(&mut self.crossed[at as usize], to) != to {
                let before = self.way.last().copied();
                let route = ways.route(at, to).ok_or(Lost::Missing(from, at, before))?;
                layers = layers.max(route.layer + 1);
                self.way.push(at);
                at = route.next;
            }
            if let Some(start) = self.way.iter().position(|&crossed| crossed == at) {
                return Err(Lost::Circle(self.way.split_off(start)));
            }
            while let Some(at) = self.way.pop() {
                if let Some((first, second)) = ways.pair(at, to) {
                    let [held, wanted] = [first, second].map(|route| self.channel(route));
                    let known = &mut self.wanted[held as usize];
                    if !known.contains(&wanted) {
                        known.push(wanted);
                    }
                }
            }
        }
        Ok(layers)
    }

    /// A circle of waiting: the line of a route, and the switches.
    pub fn check(&mut self, ways: &Listing<'_>, ends: &[u32]) -> Result<(), (usize, Vec<u32>)> {
        let after = |held: usize| self.wanted[held].iter().map(|&wanted| wanted as usize);
        let Err(circle) = deadlock::check(self.wanted.len(), after) else {
            return Ok(());
        };
        let from = circle
            .channels
            .iter()
            .map(|&channel| self.from[channel])
            .collect();
        let two = [0, 1 % circle.channels.len()].map(|place| circle.channels[place] as u32);
        let pairs = ends
            .iter()
            .flat_map(|&to| (0..ways.switches).map(move |at| (at, to)));
        let mut pairs = pairs.filter_map(|(at, to)| ways.pair(at, to));
        let waits = |(first, second): &(&Route, &Route)| {
            [*first, *second].map(|route| self.channel(route)) == two
        };
        let line = pairs
            .find(waits)
            .map_or(0, |(first, _)| first.line as usize);
        Err((line, from))
    }
}
