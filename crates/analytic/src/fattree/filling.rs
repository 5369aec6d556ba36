//! Progressive filling: all rates rise together, and stop one after the other.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::Flow;

/// The state at some common rate of the flows that still rise.
pub(super) struct Filling<'a> {
    flows: &'a [Flow<'a>],
    links: Vec<Link>,
    /// The flows that use each link, link by link; those of a link begin at its `first`.
    users: Vec<u32>,
    /// By flow; NaN while it rises.
    rates: Vec<f64>,
    /// The rate of the flows that still rise.
    level: f64,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    /// What is left by flows that have stopped.
    left: f64,
    /// What the flows that still rise ask for each unit of their rate.
    slope: f64,
    /// How many of these there are.
    rising: u32,
    first: u32,
}

/// Links by the rate at which they are full, then by number.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Full {
    rate: f64,
    link: u32,
}

impl Eq for Full {}

impl PartialOrd for Full {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Full {
    fn cmp(&self, other: &Self) -> Ordering {
        let rates = self.rate.total_cmp(&other.rate);
        rates.then(self.link.cmp(&other.link))
    }
}

impl<'a> Filling<'a> {
    pub(super) fn new(capacities: &[f64], flows: &'a [Flow<'a>]) -> Self {
        let start = |&left: &f64| Link {
            left,
            slope: 0.0,
            rising: 0,
            first: 0,
        };
        let mut links: Vec<Link> = capacities.iter().map(start).collect();
        for flow in flows {
            for &(link, part) in used(flow) {
                let link = &mut links[link as usize];
                link.slope += part;
                link.rising += 1;
            }
        }
        let mut first = 0;
        for link in &mut links {
            link.first = first;
            first += link.rising;
        }
        let mut users = vec![0; first as usize];
        let mut place: Vec<u32> = links.iter().map(|link| link.first).collect();
        for (number, flow) in (0..).zip(flows) {
            for &(link, _) in used(flow) {
                let place = &mut place[link as usize];
                users[*place as usize] = number;
                *place += 1;
            }
        }
        Self {
            flows,
            links,
            users,
            rates: vec![f64::NAN; flows.len()],
            level: 0.0,
        }
    }

    pub(super) fn fill(mut self) -> Vec<f64> {
        let mut by_limit: Vec<u32> = (0..self.flows.len() as u32).collect();
        by_limit.sort_by(|&a, &b| {
            let limits = [a, b].map(|flow| self.flows[flow as usize].limit);
            limits[0].total_cmp(&limits[1])
        });
        let mut by_limit = by_limit.into_iter().peekable();
        // The rate at which a link is full only rises as flows stop short of it, so that an entry is
        // never too high; it is put right when it comes up.
        let mut full: BinaryHeap<Reverse<Full>> = (0..self.links.len() as u32)
            .filter_map(|link| self.full(link).map(Reverse))
            .collect();
        loop {
            let limited = by_limit
                .peek()
                .map_or(f64::INFINITY, |&flow| self.flows[flow as usize].limit);
            match full.peek().copied() {
                Some(Reverse(next)) if next.rate <= limited => {
                    full.pop();
                    match self.full(next.link) {
                        None => {}
                        Some(now) if now > next => full.push(Reverse(now)),
                        Some(now) => self.stop_users(now),
                    }
                }
                _ => match by_limit.next() {
                    // Nothing but links can stop flows without a limit, and all of these are full.
                    Some(flow) if limited.is_finite() => self.stop(flow, limited),
                    _ => break,
                },
            }
        }
        self.rates
    }

    /// When a link is full at the pace of now, if any flow that uses it still rises.
    fn full(&self, number: u32) -> Option<Full> {
        let link = self.links[number as usize];
        (link.rising > 0).then(|| Full {
            // Differences of sums may fall short of what is exact.
            rate: (link.left / link.slope).max(self.level),
            link: number,
        })
    }

    fn stop_users(&mut self, full: Full) {
        let first = self.links[full.link as usize].first as usize;
        let end = match self.links.get(full.link as usize + 1) {
            Some(next) => next.first as usize,
            None => self.users.len(),
        };
        for place in first..end {
            self.stop(self.users[place], full.rate);
        }
    }

    fn stop(&mut self, flow: u32, rate: f64) {
        if !self.rates[flow as usize].is_nan() {
            return;
        }
        self.rates[flow as usize] = rate;
        self.level = rate;
        for &(link, part) in used(&self.flows[flow as usize]) {
            let link = &mut self.links[link as usize];
            link.left -= part * rate;
            link.slope -= part;
            link.rising -= 1;
        }
    }
}

fn used<'a>(flow: &Flow<'a>) -> impl Iterator<Item = &'a (u32, f64)> + use<'a> {
    flow.uses.iter().filter(|(_, part)| *part > 0.0)
}
