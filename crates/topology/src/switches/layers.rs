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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deadlock;
    use crate::switches::{Form, Shortest};

    /// Return the shortest routes through a network of this form, with one node at each switch.
    fn shortest_routes(form: &Form) -> Shortest {
        Shortest::new(form, &form.wiring(1)).expect("all switches are joined")
    }

    /// Return a torus of these sizes.
    fn torus(sizes: &[u32]) -> Form {
        let sizes = sizes.to_vec();
        Form::Torus { sizes }
    }

    /// Return whether packets of a layer can wait for one another in a cycle. The function follows all routes, with a
    /// separate number for each link in each layer.
    fn has_cycle(ways: &Shortest, layers: &Layers, switches: u32) -> bool {
        let channel = |from: u32, to: u32, layer: u16| {
            ((u32::from(layer) * switches + from) * switches + to) as usize
        };
        let count = (u32::from(layers.count) * switches * switches) as usize;
        let mut waits = vec![Vec::new(); count];
        for (at, to) in (0..switches).flat_map(|at| (0..switches).map(move |to| (at, to))) {
            let Some(first) = ways.next(at, to) else {
                continue;
            };
            if let Some(second) = ways.next(first, to) {
                let held = channel(at, first, layers.of(at, to));
                waits[held].push(channel(first, second, layers.of(first, to)));
            }
        }
        deadlock::check(count, |held| waits[held].clone()).is_err()
    }

    /// Checks the results of Dally and Seitz: a ring needs two layers, a mesh with routes dimension by dimension needs
    /// one.
    #[test]
    fn rings_need_two_layers_and_meshes_one() {
        let layers = |form: Form| shortest_routes(&form).layers(16);
        let ring = layers(Form::Ring { switches: 8 });
        assert_eq!(ring.count, 2);
        assert_eq!(ring.circle.len(), 8);
        // In a ring of three switches, no route is long enough to close a cycle, so one layer
        // suffices.
        assert_eq!(layers(Form::Ring { switches: 3 }).count, 1);
        let mesh = layers(Form::Mesh {
            sizes: vec![4, 4, 3],
        });
        assert_eq!((mesh.count, mesh.circle), (1, vec![]));
    }

    /// Checks that every torus of any dimension needs at most two virtual channels, and that no layer has a cycle.
    #[test]
    fn tori_need_two_layers() {
        let squares = (2..=12).map(|size| vec![size; 2]);
        let mut sizes: Vec<Vec<u32>> = squares.collect();
        sizes.extend((2..=20).map(|size| vec![size]));
        sizes.extend((2..=6).map(|size| vec![size; 3]));
        let others: [&[u32]; 6] = [
            &[5, 9],
            &[9, 2, 5],
            &[16, 3],
            &[4, 5, 6],
            &[5, 3, 4, 5],
            &[2, 5, 2, 5],
        ];
        sizes.extend(others.map(<[u32]>::to_vec));
        for sizes in sizes {
            let form = torus(&sizes);
            let ways = shortest_routes(&form);
            for channels in [1, 2, 3, 4, 16] {
                let layers = ways.layers(channels);
                let more = channels == 3 && layers.count == 3;
                assert!(layers.count <= 2 || more, "{form}: {}", layers.count);
                let circle = has_cycle(&ways, &layers, form.switch_count());
                assert!(!circle, "{form} with {channels} channels");
            }
        }
    }

    /// Checks that each route stays in one layer if this leaves as many channels per layer as datelines do. A torus of
    /// 9 x 9 takes three layers if each route is in one layer. With three channels per link, each of three layers has
    /// floor(3/3) = 1 channel and each of two layers has floor(3/2) = 1; with four channels the numbers are 1 and 2.
    #[test]
    fn routes_stay_in_one_layer_if_enough_channels_remain() {
        let wide = shortest_routes(&torus(&[9, 9]));
        let found = [2, 3, 4, 16].map(|channels| {
            let layers = wide.layers(channels);
            (layers.count, layers.change())
        });
        let dateline = (2, Some(Change::Dateline));
        assert_eq!(found, [dateline, (3, None), dateline, dateline]);
        // The routes of these tori have no cycle, or two layers suffice even if each route stays in
        // one layer.
        for (sizes, count) in [(&[4, 4, 4][..], 1), (&[3, 9], 2), (&[16], 2)] {
            let layers = shortest_routes(&torus(sizes)).layers(4);
            assert_eq!((layers.count, layers.change()), (count, None));
        }
    }

    /// Checks that packets change layers only if this reduces the number of layers. A ring of seven has routes of at
    /// most three links, which pass its lowest switch once, so it needs two layers. Trees of random numbers need no
    /// more layers, and each route stays in one layer.
    #[test]
    fn packets_change_layers_if_fewer_layers_suffice() {
        let ring = Form::of_cables((0..7).map(|at| (at, (at + 1) % 7)).collect());
        let layers = shortest_routes(&ring).layers(16);
        assert_eq!((layers.count, layers.change()), (2, None));
        // Each of 60 switches has three neighbours.
        let steps = (0..60).flat_map(|at| [1, 7, 22].map(|step| (at, (at + step) % 60)));
        let layers = shortest_routes(&Form::of_cables(steps.collect())).layers(16);
        assert_eq!(layers.change(), Some(Change::Turn));
        assert!(layers.count <= 4, "{layers:?}");
    }
}
