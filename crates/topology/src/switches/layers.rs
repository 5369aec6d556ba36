//! Layers of virtual channels.

use super::Grid;
use super::neighbors::Neighbors;
use super::waits::Waits;

/// Layers that routes over datelines take.
pub(super) const DATELINE_LAYERS: u32 = 2;

/// In which layer of virtual channels packets are on which links. Within a layer the links that they wait for
/// while they hold others close no circle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layers {
    of: Of,
    /// How many there are.
    pub count: u16,
    /// The switches of a circle of waiting that one layer would have, if it would.
    pub circle: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Of {
    /// Of all ways to each switch.
    Ends(Vec<u16>),
    /// By the switch at the end and the present one, of so many: of the next link.
    Links(Change, u32, Vec<u16>),
}

/// Where packets go on in a lower layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Where their route leads up a tree again after it led down.
    Turn,
    /// Behind the cable between the last and the first switch of a ring. In each ring a packet is in layer 1 until
    /// it has crossed that cable, and in layer 0 if it does not cross it any more.
    Dateline,
}

/// Ways of which all to one switch are a tree.
pub(super) struct Trees<'w> {
    /// Which switches are beside which, ascending.
    pub beside: &'w Neighbors,
    /// Of each switch whether ways begin and end there.
    pub has_nodes: &'w [bool],
    /// By the last switch and the present one the next; anything where they are the same.
    pub next: &'w [u32],
}

impl<'w> Trees<'w> {
    fn to(&self, to: u32) -> &'w [u32] {
        let switches = self.has_nodes.len();
        &self.next[to as usize * switches..][..switches]
    }

    fn ends(&self) -> impl Iterator<Item = u32> {
        let switches = 0..self.has_nodes.len() as u32;
        switches.filter(|&switch| self.has_nodes[switch as usize])
    }

    /// The links that packets to a switch hold while they wait for others, with these, ascending by the
    /// first. `crossed`: of each switch the last that this was asked about to which a way led over it.
    fn waits(&self, to: u32, crossed: &mut [u32], waits: &mut Vec<(u32, u32)>) {
        let next = self.to(to);
        for from in self.ends() {
            let mut at = from;
            while at != to && std::mem::replace(&mut crossed[at as usize], to) != to {
                at = next[at as usize];
            }
        }
        let link = |at: u32| self.beside.link(at, next[at as usize]);
        waits.clear();
        waits.extend((0..next.len() as u32).filter_map(|at| {
            let first = next[at as usize];
            let goes_on = at != to && crossed[at as usize] == to && first != to;
            goes_on.then(|| link(at).zip(link(first)))?
        }));
    }
}

/// Why routes are free of deadlock of which each is in one of so many layers.
pub fn no_circle(layers: u16) -> &'static str {
    match layers {
        1 => "the links that packets wait for close no circle",
        _ => "the links that packets of one wait for close no circle",
    }
}

impl Layers {
    /// The layer of the link that packets take from a switch to come to another.
    pub fn of(&self, at: u32, to: u32) -> u16 {
        match &self.of {
            Of::Ends(layers) => layers[to as usize],
            Of::Links(_, switches, layers) => layers[(to * switches + at) as usize],
        }
    }

    /// Where packets change from one layer to another; `None` if they never do.
    pub fn change(&self) -> Option<Change> {
        match self.of {
            Of::Ends(_) => None,
            Of::Links(change, ..) => Some(change),
        }
    }

    /// Why packets in these layers cannot wait for one another in a circle.
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

    /// Layers of whole ways: those to each switch are a tree, so that no circle closes among them, and join the
    /// first layer in which that stays true, after Skeie, Lysne and Theiss, *Layered shortest path (LASH) routing
    /// in irregular system area networks*, IPDPS 2002, who do so way by way.
    ///
    /// # Errors
    /// More than `most` are needed: the switches of a circle that one would have.
    pub(super) fn of_ends(trees: &Trees<'_>, most: u16) -> Result<Self, Vec<u32>> {
        let switches = trees.has_nodes.len();
        let mut layers: Vec<Waits> = Vec::new();
        let mut of = vec![0; switches];
        let mut circle = Vec::new();
        let mut crossed = vec![u32::MAX; switches];
        let mut waits = Vec::new();
        for to in trees.ends() {
            trees.waits(to, &mut crossed, &mut waits);
            let fits = layers
                .iter_mut()
                .position(|layer| match layer.take(&waits) {
                    Ok(()) => true,
                    Err(links) => {
                        if circle.is_empty() {
                            let from = links.into_iter().map(|link| trees.beside.from(link));
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
                let mut layer = Waits::new(trees.beside.links());
                let alone = layer.take(&waits);
                debug_assert!(alone.is_ok(), "the ways to one switch are a tree");
                layers.push(layer);
            }
            of[to as usize] = layer as u16;
        }
        Ok(Self {
            of: Of::Ends(of),
            count: layers.len() as u16,
            circle,
        })
    }

    /// As few layers as ways need whose packets go on in the next lower one wherever they lead up again after
    /// they led down, by these places of the switches, of which up is towards the lower. In a layer no way does
    /// so, and to a higher one none leads back (after Skeie, Lysne, Flich, López, Robles and Duato, *LASH-TOR: a
    /// generic transition-oriented routing algorithm*, ICPADS 2004). If whole ways do with as few, those.
    pub(super) fn fewest(trees: &Trees<'_>, places: &[u32]) -> Self {
        let switches = trees.has_nodes.len();
        let mut layers = vec![0; switches * switches];
        let mut highest = 0;
        let mut way = Vec::new();
        let mut known = vec![u32::MAX; switches];
        for to in trees.ends() {
            let next = trees.to(to);
            let layer = &mut layers[to as usize * switches..][..switches];
            known[to as usize] = to;
            for from in trees.ends() {
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
        Self::of_ends(trees, count).unwrap_or_else(|circle| Self {
            of: Of::Links(Change::Turn, switches as u32, layers),
            count,
            circle,
        })
    }

    /// Two layers for routes dimension by dimension on a grid, after Dally and Seitz, *Deadlock-free message routing in
    /// multiprocessor interconnection networks*, IEEE Trans. Computers C-36(5), 1987. Packets take channels in rising
    /// order: the dimensions in turn, in a ring layer 1 up to the dateline, then layer 0 behind it.
    pub(super) fn datelines(grid: &Grid, circle: Vec<u32>) -> Self {
        let mut layers = Vec::new();
        grid.pairs(|_, here, there| {
            let leg = grid.leg(here, there);
            // A route that leads away from the place of its end reaches it over the dateline.
            layers.push(leg.map_or(0, |leg| u16::from(leg.up != (leg.to > leg.from))));
        });
        Self {
            of: Of::Links(Change::Dateline, grid.switch_count(), layers),
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

    fn ways(form: &Form) -> Shortest {
        Shortest::new(form, &form.wiring(1)).expect("all switches are joined")
    }

    fn torus(sizes: &[u32]) -> Form {
        let sizes = sizes.to_vec();
        Form::Torus { sizes }
    }

    /// Whether packets of a layer can wait for one another in a circle: follows all routes, each link with a number
    /// of its own in each layer.
    fn closes_a_circle(ways: &Shortest, layers: &Layers, switches: u32) -> bool {
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

    /// Dally and Seitz: a ring needs two, a mesh whose ways go dimension by dimension one.
    #[test]
    fn rings_need_two_layers_and_meshes_one() {
        let layers = |form: Form| ways(&form).layers(16);
        let ring = layers(Form::Ring { switches: 8 });
        assert_eq!(ring.count, 2);
        assert_eq!(ring.circle.len(), 8);
        // No way is long enough to close one of three.
        assert_eq!(layers(Form::Ring { switches: 3 }).count, 1);
        let mesh = layers(Form::Mesh {
            sizes: vec![4, 4, 3],
        });
        assert_eq!((mesh.count, mesh.circle), (1, vec![]));
    }

    /// Every torus needs at most two virtual channels, in any dimension, and no layer closes a circle.
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
            let ways = ways(&form);
            for channels in [1, 2, 3, 4, 16] {
                let layers = ways.layers(channels);
                let more = channels == 3 && layers.count == 3;
                assert!(layers.count <= 2 || more, "{form}: {}", layers.count);
                let circle = closes_a_circle(&ways, &layers, form.switch_count());
                assert!(!circle, "{form} with {channels} channels");
            }
        }
    }

    /// 9 x 9 takes three layers of whole routes. With three channels each of three layers has floor(3/3) = 1, as each
    /// of two has floor(3/2); with four it is 1 against 2.
    #[test]
    fn whole_routes_stay_in_a_layer_where_that_leaves_as_many_channels() {
        let wide = ways(&torus(&[9, 9]));
        let found = [2, 3, 4, 16].map(|channels| {
            let layers = wide.layers(channels);
            (layers.count, layers.change())
        });
        let dateline = (2, Some(Change::Dateline));
        assert_eq!(found, [dateline, (3, None), dateline, dateline]);
        // Routes that close no circle, or only one that two layers of whole routes open.
        for (sizes, count) in [(&[4, 4, 4][..], 1), (&[3, 9], 2), (&[16], 2)] {
            let layers = ways(&torus(sizes)).layers(4);
            assert_eq!((layers.count, layers.change()), (count, None));
        }
    }

    /// A ring of seven has ways of three links at most, which pass its lowest switch once: two layers. Trees of
    /// random numbers do with as few, and stay whole.
    #[test]
    fn packets_change_where_that_takes_fewer_layers() {
        let ring = Form::of_cables((0..7).map(|at| (at, (at + 1) % 7)).collect());
        let layers = ways(&ring).layers(16);
        assert_eq!((layers.count, layers.change()), (2, None));
        // Each of 60 with three others behind it.
        let steps = (0..60).flat_map(|at| [1, 7, 22].map(|step| (at, (at + step) % 60)));
        let layers = ways(&Form::of_cables(steps.collect())).layers(16);
        assert_eq!(layers.change(), Some(Change::Turn));
        assert!(layers.count <= 4, "{layers:?}");
    }
}
