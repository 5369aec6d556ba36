//! Layers of virtual channels that prevent deadlocks.

use super::Grid;
use super::neighbors::Neighbors;
use super::waits::Waits;

/// Number of layers for routes with datelines.
pub(super) const DATELINE_LAYERS: u32 = 2;

/// The layer of virtual channels that packets use on each link. Within a layer, the links that packets hold while they
/// wait for others form no cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layers {
    of: Assignment,
    /// Number of layers of virtual channels.
    pub count: u16,
    /// The switches of a possible cycle of waiting packets if all routes were in one layer; empty if no cycle exists.
    pub circle: Vec<u32>,
}

/// The data from which the layer of a packet on a link follows.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Assignment {
    /// For each destination switch, the layer of all routes to it.
    Ends(Vec<u16>),
    /// Layer of the next link, by destination switch and current switch. The number in the middle is the number of
    /// switches.
    Links(Change, u32, Vec<u16>),
}

/// The points of a route where packets change to a lower layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Packets change where the route leads up a tree again after it has led down.
    Turn,
    /// Packets change after the cable between the last and the first switch of a ring. In each ring a packet is in
    /// layer 1 until it has crossed that cable, and in layer 0 if it will not cross the cable any more.
    Dateline,
}

/// Routes between switches, given by next switches; the routes to any one destination form a tree.
pub(super) struct Trees<'w> {
    /// Neighbours of each switch, ascending.
    pub neighbors: &'w Neighbors,
    /// Whether each switch has nodes, so that routes begin and end there.
    pub has_nodes: &'w [bool],
    /// Next switch of a route, by destination switch and current switch; arbitrary if the two are equal.
    pub next: &'w [u32],
}

impl<'w> Trees<'w> {
    /// Return, for each switch, the next switch on its route to the switch `to`.
    fn next_to(&self, to: u32) -> &'w [u32] {
        let switches = self.has_nodes.len();
        &self.next[to as usize * switches..][..switches]
    }

    /// Return the switches that have nodes.
    fn end_switches(&self) -> impl Iterator<Item = u32> {
        let switches = 0..self.has_nodes.len() as u32;
        switches.filter(|&switch| self.has_nodes[switch as usize])
    }

    /// Write to `waits` the pairs of links such that packets to switch `to` hold the first link while they wait for the
    /// second, ascending by the first. `crossed` contains for each switch the last destination whose routes cross the
    /// switch.
    fn find_waits(&self, to: u32, crossed: &mut [u32], waits: &mut Vec<(u32, u32)>) {
        let next = self.next_to(to);
        for from in self.end_switches() {
            let mut at = from;
            while at != to && std::mem::replace(&mut crossed[at as usize], to) != to {
                at = next[at as usize];
            }
        }
        let link = |at: u32| self.neighbors.link(at, next[at as usize]);
        waits.clear();
        waits.extend((0..next.len() as u32).filter_map(|at| {
            let first = next[at as usize];
            let goes_on = at != to && crossed[at as usize] == to && first != to;
            goes_on.then(|| link(at).zip(link(first)))?
        }));
    }
}

/// Return a text that says why routes are free of deadlock if each route is in one of `layers` layers.
pub fn no_circle(layers: u16) -> &'static str {
    match layers {
        1 => "the links that packets wait for close no circle",
        _ => "the links that packets of one wait for close no circle",
    }
}

impl Layers {
    /// Return the layer of the link from switch `at` for packets to switch `to`.
    pub fn of(&self, at: u32, to: u32) -> u16 {
        match &self.of {
            Assignment::Ends(layers) => layers[to as usize],
            Assignment::Links(_, switches, layers) => layers[(to * switches + at) as usize],
        }
    }

    /// Return where packets change from one layer to another; `None` if each packet stays in its layer.
    pub fn change(&self) -> Option<Change> {
        match self.of {
            Assignment::Ends(_) => None,
            Assignment::Links(change, ..) => Some(change),
        }
    }

    /// Return a text that says why packets in these layers cannot wait for one another in a cycle.
    pub fn reason(&self) -> &'static str {
        match self.change() {
            Some(Change::Turn) => {
                "packets go on in the next lower one where their way leads up a tree again after it led down"
            }
            Some(Change::Dateline) => {
                "packets go on in the next lower one behind the cable that closes a ring (a dateline)"
            }
            None => no_circle(self.count),
        }
    }

    /// Assign each route to one layer. The routes to one switch form a tree, so they form no cycle among themselves.
    /// They join the first layer that stays free of cycles, as in Skeie, Lysne and Theiss, *Layered shortest path
    /// (LASH) routing in irregular system area networks*, IPDPS 2002, who assign each route separately.
    ///
    /// # Errors
    /// If more than `most` layers are needed, the switches of a cycle that exists with one layer.
    pub(super) fn by_destination(trees: &Trees<'_>, most: u16) -> Result<Self, Vec<u32>> {
        let switches = trees.has_nodes.len();
        let mut layers: Vec<Waits> = Vec::new();
        let mut of = vec![0; switches];
        let mut circle = Vec::new();
        let mut crossed = vec![u32::MAX; switches];
        let mut waits = Vec::new();
        for to in trees.end_switches() {
            trees.find_waits(to, &mut crossed, &mut waits);
            let fits = layers
                .iter_mut()
                .position(|layer| match layer.add_all(&waits) {
                    Ok(()) => true,
                    Err(links) => {
                        if circle.is_empty() {
                            let from = links.into_iter().map(|link| trees.neighbors.from(link));
                            circle = from.collect();
                        }
                        false
                    }
                });
            let layer = fits.unwrap_or(layers.len());
            if layer == usize::from(most) {
                return Err(circle);
            }
            if fits.is_none() {
                let mut layer = Waits::new(trees.neighbors.links());
                let alone = layer.add_all(&waits);
                debug_assert!(alone.is_ok(), "the ways to one switch are a tree");
                layers.push(layer);
            }
            of[to as usize] = layer as u16;
        }
        Ok(Self {
            of: Assignment::Ends(of),
            count: layers.len() as u16,
            circle,
        })
    }

    /// Return the minimum number of layers for routes whose packets change to the next lower layer wherever a route
    /// leads up again after it has led down. `places` are the positions of the switches in a tree; up is towards lower
    /// positions. Within a layer no route leads up after it has led down, and no route leads back to a higher layer
    /// (after Skeie, Lysne, Flich, López, Robles and Duato, *LASH-TOR: a generic transition-oriented routing
    /// algorithm*, ICPADS 2004). Routes that are each in one layer are preferred if they need no more layers.
    pub(super) fn minimum_layers(trees: &Trees<'_>, places: &[u32]) -> Self {
        let switches = trees.has_nodes.len();
        let mut layers = vec![0; switches * switches];
        let mut highest = 0;
        let mut way = Vec::new();
        let mut known = vec![u32::MAX; switches];
        for to in trees.end_switches() {
            let next = trees.next_to(to);
            let layer = &mut layers[to as usize * switches..][..switches];
            known[to as usize] = to;
            for from in trees.end_switches() {
                let mut at = from;
                while std::mem::replace(&mut known[at as usize], to) != to {
                    way.push(at);
                    at = next[at as usize];
                }
                while let Some(at) = way.pop() {
                    let there = next[at as usize];
                    if there != to {
                        let [here, low, then] =
                            [at, there, next[there as usize]].map(|at| places[at as usize]);
                        let turns = here < low && then < low;
                        layer[at as usize] = layer[there as usize] + u16::from(turns);
                        highest = highest.max(layer[at as usize]);
                    }
                }
            }
        }
        let count = highest + 1;
        Self::by_destination(trees, count).unwrap_or_else(|circle| Self {
            of: Assignment::Links(Change::Turn, switches as u32, layers),
            count,
            circle,
        })
    }

    /// Return two layers for routes dimension by dimension on a grid, after Dally and Seitz, *Deadlock-free message
    /// routing in multiprocessor interconnection networks*, IEEE Trans. Computers C-36(5), 1987. Packets use channels
    /// in ascending order: the dimensions in turn; in each ring, layer 1 up to the dateline and layer 0 after it.
    pub(super) fn datelines(grid: &Grid, circle: Vec<u32>) -> Self {
        let mut layers = Vec::new();
        grid.pairs(|_, here, there| {
            let leg = grid.leg(here, there);
            // A route that leads away from the position of its destination reaches it over the
            // dateline (the cable that closes the ring), so it starts in layer 1.
            layers.push(leg.map_or(0, |leg| u16::from(leg.up != (leg.to > leg.from))));
        });
        Self {
            of: Assignment::Links(Change::Dateline, grid.switch_count(), layers),
            count: DATELINE_LAYERS as u16,
            circle,
        }
    }
}
