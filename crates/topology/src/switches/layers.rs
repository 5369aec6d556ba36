//! Layers of virtual channels.

use crate::deadlock::{self, DependencyCycle};
use std::collections::{BTreeMap, BTreeSet};

/// Of each switch the layer of all ways to it.
///
/// A way is wholly in one layer, and within a layer the links that packets wait for while they hold others
/// close no circle. The ways to one switch are a tree, so that they never do; those to the next switch join
/// the first layer in which that stays true, after Skeie, Lysne and Theiss, *Layered shortest path (LASH)
/// routing in irregular system area networks*, IPDPS 2002, who do so way by way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layers {
    /// The layer of the ways to each switch.
    pub of: Vec<u16>,
    /// How many there are.
    pub count: u16,
    /// The switches of a circle of waiting that one layer would have, if it would.
    pub circle: Vec<u32>,
}

/// One layer: of each link those that packets wait for while they hold it, and numbers that rise along
/// every such wait.
struct Layer {
    waits: Vec<BTreeSet<usize>>,
    numbers: Vec<u32>,
}

impl Layer {
    /// Adds waits, if they close no circle.
    fn take(&mut self, waits: &[(usize, usize)]) -> Result<(), DependencyCycle> {
        let new: Vec<(usize, usize)> = (waits.iter().copied())
            .filter(|&(held, wanted)| self.waits[held].insert(wanted))
            .collect();
        let rises = |&(held, wanted): &(usize, usize)| self.numbers[held] < self.numbers[wanted];
        if new.iter().all(rises) {
            return Ok(());
        }
        let waits = &self.waits;
        match deadlock::check(waits.len(), |link| waits[link].iter().copied()) {
            Ok(numbering) => {
                self.numbers = numbering.numbers().to_vec();
                Ok(())
            }
            Err(circle) => {
                for (held, wanted) in new {
                    self.waits[held].remove(&wanted);
                }
                Err(circle)
            }
        }
    }
}

impl Layers {
    pub(super) fn new(switches: u32, next: impl Fn(u32, u32) -> Option<u32>) -> Self {
        // Links between switches, numbered as they come.
        let mut links: Vec<(u32, u32)> = Vec::new();
        let mut numbers: Vec<BTreeMap<u32, usize>> = vec![BTreeMap::new(); switches as usize];
        for to in 0..switches {
            for at in 0..switches {
                let Some(there) = next(at, to) else { continue };
                numbers[at as usize].entry(there).or_insert_with(|| {
                    links.push((at, there));
                    links.len() - 1
                });
            }
        }
        let number = |at: u32, there: u32| numbers[at as usize][&there];
        let mut layers: Vec<Layer> = Vec::new();
        let mut found = Self {
            of: Vec::with_capacity(switches as usize),
            count: 0,
            circle: Vec::new(),
        };
        for to in 0..switches {
            let waits = (0..switches).filter_map(|at| {
                let first = next(at, to)?;
                let second = next(first, to)?;
                Some((number(at, first), number(first, second)))
            });
            let waits: Vec<(usize, usize)> = waits.collect();
            let layer = layers
                .iter_mut()
                .position(|layer| match layer.take(&waits) {
                    Ok(()) => true,
                    Err(circle) => {
                        if found.circle.is_empty() {
                            let from = circle.channels.iter().map(|&link| links[link].0);
                            found.circle = from.collect();
                        }
                        false
                    }
                });
            found.of.push(layer.unwrap_or_else(|| {
                let mut layer = Layer {
                    waits: vec![BTreeSet::new(); links.len()],
                    numbers: vec![0; links.len()],
                };
                let alone = layer.take(&waits);
                debug_assert!(alone.is_ok(), "the ways to one switch are a tree");
                layers.push(layer);
                layers.len() - 1
            }) as u16);
        }
        found.count = layers.len() as u16;
        found
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
        for layer in 0..layers.count {
            let link = |from: u32, to: u32| (from * 20 + to) as usize;
            let mut waits = vec![Vec::new(); 400];
            for to in (0..20).filter(|&to| layers.of[to as usize] == layer) {
                for at in 0..20 {
                    let Some(first) = ways.next(at, to) else {
                        continue;
                    };
                    if let Some(second) = ways.next(first, to) {
                        waits[link(at, first)].push(link(first, second));
                    }
                }
            }
            assert!(deadlock::check(400, |link| waits[link].clone()).is_ok());
        }
    }
}
