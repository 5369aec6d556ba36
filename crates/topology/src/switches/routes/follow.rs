//! Follows the routes in a list of routes from switch to switch, as packets do.

use super::error::RouteError;
use super::route::{Listing, Route};
use crate::Wiring;
use crate::deadlock;
use crate::switches::Form;
use crate::switches::neighbors::Neighbors;

/// A reason why packets do not arrive at their destination.
pub(super) enum Undelivered {
    /// The routes end before the destination. Fields: the switch where packets start, the switch at
    /// which no route continues, and the switch before that, if any.
    Missing(u32, u32, Option<u32>),
    /// The routes form a cycle over these switches, so that packets never arrive.
    Circle(Vec<u32>),
}

impl Undelivered {
    /// Convert this reason, why a route cannot be followed, to the error of a list of routes, for
    /// packets to switch `to`.
    pub fn route_error(self, ways: &Listing<'_>, form: &Form, to: u32) -> RouteError {
        let line = |at: u32| ways.route(at, to).map_or(0, |route| route.line as usize);
        match self {
            Self::Missing(from, at, before) => RouteError::Missing {
                line: before.map(line),
                at: form.shortened_name(at),
                to: form.shortened_name(to),
                from: form.shortened_name(from),
            },
            Self::Circle(circle) => RouteError::Loop {
                line: circle.iter().map(|&at| line(at)).min().unwrap_or(0),
                to: form.shortened_name(to),
                circle: circle.iter().map(|&at| form.shortened_name(at)).collect(),
            },
        }
    }
}

/// The channels that packets use, one for each layer of a link, numbered in the order of their
/// first use.
pub(super) struct UsedChannels {
    beside: Neighbors,
    /// For each link its used layers, each with the number of the channel.
    numbers: Vec<Vec<(u16, u32)>>,
    /// For each channel the switch that the channel leaves.
    from: Vec<u32>,
    /// For each channel the channels that packets request while they hold the channel.
    requested: Vec<Vec<u32>>,
    /// For each switch the last destination whose routes cross the switch.
    crossed: Vec<u32>,
    way: Vec<u32>,
}

impl UsedChannels {
    /// Return an empty set of used channels for the links of a network.
    pub fn new(wiring: &Wiring) -> Self {
        let beside = Neighbors::new(wiring).sorted();
        Self {
            numbers: vec![Vec::new(); beside.links()],
            from: Vec::new(),
            requested: Vec::new(),
            crossed: vec![u32::MAX; beside.switches() as usize],
            beside,
            way: Vec::new(),
        }
    }

    /// Return the number of the channel by which a route leaves its switch.
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
        self.requested.push(Vec::new());
        number
    }

    /// Follow the routes from the switches `ends` to switch `to`; return the number of layers in
    /// use.
    pub fn follow(
        &mut self,
        ways: &Listing<'_>,
        ends: &[u32],
        to: u32,
    ) -> Result<u16, Undelivered> {
        let mut layers = 1;
        self.crossed[to as usize] = to;
        for &from in ends {
            let mut at = from;
            self.way.clear();
            while std::mem::replace(&mut self.crossed[at as usize], to) != to {
                let before = self.way.last().copied();
                let route = ways
                    .route(at, to)
                    .ok_or(Undelivered::Missing(from, at, before))?;
                layers = layers.max(route.layer + 1);
                self.way.push(at);
                at = route.next;
            }
            if let Some(start) = self.way.iter().position(|&crossed| crossed == at) {
                return Err(Undelivered::Circle(self.way.split_off(start)));
            }
            while let Some(at) = self.way.pop() {
                if let Some((first, second)) = ways.consecutive_routes(at, to) {
                    let [held, requested] = [first, second].map(|route| self.channel(route));
                    let known = &mut self.requested[held as usize];
                    if !known.contains(&requested) {
                        known.push(requested);
                    }
                }
            }
        }
        Ok(layers)
    }

    /// Check whether packets can deadlock. The error contains the line number of a route and the
    /// switches of a cycle.
    pub fn check(&mut self, ways: &Listing<'_>, ends: &[u32]) -> Result<(), (usize, Vec<u32>)> {
        let after = |held: usize| {
            self.requested[held]
                .iter()
                .map(|&requested| requested as usize)
        };
        let Err(circle) = deadlock::check(self.requested.len(), after) else {
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
        let mut pairs = pairs.filter_map(|(at, to)| ways.consecutive_routes(at, to));
        let waits = |(first, second): &(&Route, &Route)| {
            [*first, *second].map(|route| self.channel(route)) == two
        };
        let line = pairs
            .find(waits)
            .map_or(0, |(first, _)| first.line as usize);
        Err((line, from))
    }
}
