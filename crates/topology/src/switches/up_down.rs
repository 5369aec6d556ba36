//! Routes of up*/down* routing: each leads up a tree of switches first, and then only down.

use super::neighbors::Neighbors;
use super::{Apart, Form};
use crate::ranks::Ranks;
use crate::{Wiring, distance};

/// For every pair of switches, the next switch of one of the shortest routes that first lead up and then down. These
/// routes need no layers (Schroeder et al., *Autonet: a high-speed, self-configuring local area network using
/// point-to-point links*, IEEE J. Sel. Areas Commun. 9, 1991).
///
/// Up is towards the switch with the most neighbours (the lowest of several). Between equally distant switches, up is
/// towards the lower number.
#[derive(Debug, Clone)]
pub struct UpDown {
    switches: u32,
    /// Table of next switches, each with whether the hop to it leads down. The index consists of whether the packet has
    /// gone down before, the destination switch and the current switch.
    next: Vec<(u32, bool)>,
    /// Entry n is the number of ordered pairs of switches with a route of n links.
    hops: Vec<u64>,
}

/// Entry of the table of next switches if no route exists.
const NO_ROUTE: (u32, bool) = (u32::MAX, false);

/// Return the ranks of all switches: their distances from the switch with the most neighbours. Of several such
/// switches, it is the one with the lowest number.
pub(super) fn ranks(beside: &Neighbors) -> Ranks {
    let switches = beside.switches();
    let most = (0..switches).max_by_key(|&at| (beside.of(at).len(), switches - at));
    Ranks::new(beside, vec![most.unwrap_or(0)])
}

impl UpDown {
    /// Name of this routing, as results contain it.
    pub const NAME: &str = "one of the shortest ways up a tree, then down";
    /// Text in results on why packets cannot deadlock.
    pub const REASON: &str = "no way leads up after it has led down";

    /// Return the up*/down* routes of a network of this form and wiring.
    ///
    /// # Errors
    /// The first two switches that no path joins.
    pub fn new(form: &Form, wiring: &Wiring) -> Result<Self, Apart> {
        let beside = Neighbors::new(wiring);
        let switches = beside.switches();
        let ranks = ranks(&beside);
        if let Some(from) = ranks.places().iter().position(|&index| index == u32::MAX) {
            let (from, to) = (from as u32, ranks.order()[0]);
            return Err(Apart { from, to });
        }
        let is_up = |at: u32, there: u32| ranks.is_up(at, there);
        let mut ways = Self {
            switches,
            next: vec![NO_ROUTE; 2 * (switches as usize).pow(2)],
            hops: Vec::new(),
        };
        let mut nearer = Vec::new();
        let mut down = vec![u32::MAX; switches as usize];
        let mut any = down.clone();
        for to in 0..switches {
            down.fill(u32::MAX);
            any.fill(u32::MAX);
            down[to as usize] = 0;
            // Go from the highest rank to the lowest: on the way down, a route leads to higher ranks, whose results are
            // needed.
            for &at in ranks.order().iter().rev() {
                let below = beside.of(at).iter().filter(|&&n| !is_up(at, n));
                let nearest = below.map(|&n| down[n as usize].saturating_add(1)).min();
                down[at as usize] = down[at as usize].min(nearest.unwrap_or(u32::MAX));
            }
            for &at in ranks.order() {
                let above = beside.of(at).iter().filter(|&&n| is_up(at, n));
                let nearest = above.map(|&n| any[n as usize].saturating_add(1)).min();
                any[at as usize] = down[at as usize].min(nearest.unwrap_or(u32::MAX));
            }
            for &hops in &any {
                distance::count_pair(&mut ways.hops, hops);
            }
            for at in (0..switches).filter(|&at| at != to) {
                for gone_down in [false, true] {
                    let here = if gone_down { &down } else { &any }[at as usize];
                    if here == u32::MAX {
                        continue;
                    }
                    let beside = beside.of(at).iter().copied();
                    nearer.clear();
                    nearer.extend(beside.filter(|&n| match is_up(at, n) {
                        true => !gone_down && any[n as usize].saturating_add(1) == here,
                        false => down[n as usize].saturating_add(1) == here,
                    }));
                    let next = nearer[form.choice(at, to, &nearer)];
                    let index = ways.index(gone_down, at, to);
                    ways.next[index] = (next, !is_up(at, next));
                }
            }
        }
        Ok(ways)
    }

    /// Return the index in the table of next switches of a packet at switch `at` with destination `to`. `gone_down` is
    /// whether the packet has gone down before.
    fn index(&self, gone_down: bool, at: u32, to: u32) -> usize {
        let switches = self.switches as usize;
        (usize::from(gone_down) * switches + to as usize) * switches + at as usize
    }

    /// Return the next switch after `at` for destination `to`, and whether the hop leads down; `None` at the
    /// destination. `gone_down` is whether the packet has gone down before.
    pub fn next(&self, gone_down: bool, at: u32, to: u32) -> Option<(u32, bool)> {
        let next = self.next[self.index(gone_down, at, to)];
        (next != NO_ROUTE).then_some(next)
    }

    /// Return the number of ordered pairs of switches at each distance: entry n counts the pairs with a route of n
    /// links. Entry 0 counts the pairs of a switch and itself.
    pub fn hops(&self) -> &[u64] {
        &self.hops
    }
}
