//! Layers of virtual channels.

use super::neighbors::Neighbors;
use super::waits::Waits;

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
    Links(u32, Vec<u16>),
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

impl Layers {
    /// The layer of the link that packets take from a switch to come to another.
    pub fn of(&self, at: u32, to: u32) -> u16 {
        match &self.of {
            Of::Ends(layers) => layers[to as usize],
            Of::Links(switches, layers) => layers[(to * switches + at) as usize],
        }
    }

    /// Whether packets change from one to another on their way.
    pub fn change(&self) -> bool {
        matches!(self.of, Of::Links(..))
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
            of: Of::Links(switches as u32, layers),
            count,
            circle,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::deadlock;
    use crate::switches::{Form, Shortest};

    /// Dally and Seitz: a ring needs two, a mesh whose ways go dimension by dimension one.
    #[test]
    fn rings_need_two_layers_and_meshes_one() {
        let layers = |form: Form| Shortest::new(&form, &form.wiring(1)).unwrap().layers();
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

    /// Every way in a layer of its own number again: no circle in any.
    #[test]
    fn no_layer_of_a_torus_closes_a_circle() {
        let form = Form::Torus { sizes: vec![5, 4] };
        let ways = Shortest::new(&form, &form.wiring(1)).unwrap();
        let layers = ways.layers();
        assert!((2..=4).contains(&layers.count), "{layers:?}");
        assert!(!layers.change());
        // Switches have numbers below 20.
        let channel =
            |from: u32, to: u32, layer: u16| ((u32::from(layer) * 20 + from) * 20 + to) as usize;
        let mut waits = vec![Vec::new(); 1600];
        for (at, to) in (0..20).flat_map(|at| (0..20).map(move |to| (at, to))) {
            let Some(first) = ways.next(at, to) else {
                continue;
            };
            if let Some(second) = ways.next(first, to) {
                let held = channel(at, first, layers.of(at, to));
                waits[held].push(channel(first, second, layers.of(first, to)));
            }
        }
        assert!(deadlock::check(1600, |held| waits[held].clone()).is_ok());
    }

    /// A ring of seven has ways of three links at most, which pass its lowest switch once: two layers. Trees of
    /// random numbers do with as few, and stay whole.
    #[test]
    fn packets_change_where_that_takes_fewer_layers() {
        let ring = Form::of_cables((0..7).map(|at| (at, (at + 1) % 7)).collect());
        let layers = Shortest::new(&ring, &ring.wiring(1)).unwrap().layers();
        assert_eq!((layers.count, layers.change()), (2, false));
        // Each of 60 with three others behind it.
        let steps = (0..60).flat_map(|at| [1, 7, 22].map(|step| (at, (at + step) % 60)));
        let form = Form::of_cables(steps.collect());
        let layers = Shortest::new(&form, &form.wiring(1)).unwrap().layers();
        assert!(layers.change() && layers.count <= 4, "{layers:?}");
    }
}
