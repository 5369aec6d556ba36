//! One of the shortest ways from every switch to every other.

use super::layers::{DATELINE_LAYERS, Trees};
use super::neighbors::Neighbors;
use super::{Form, Grid, Layers, up_down};
use crate::Wiring;

/// Two switches without a way from one to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no way leads from switch {from} to switch {to}")]
pub struct Apart {
    /// The one.
    pub from: u32,
    /// The other.
    pub to: u32,
}

/// The next switch of one of the shortest ways from every switch to every other; all ways to a switch are
/// a tree.
///
/// ```
/// use isthmus_topology::switches::{Form, Shortest};
///
/// let form = Form::Torus { sizes: vec![4, 4] };
/// let ways = Shortest::new(&form, &form.wiring(1))?;
/// // Along the first dimension, then along the second.
/// assert_eq!((ways.next(0, 9), ways.next(1, 9)), (Some(1), Some(5)));
/// # Ok::<(), isthmus_topology::switches::Apart>(())
/// ```
#[derive(Debug, Clone)]
pub struct Shortest {
    switches: u32,
    /// By the last switch and the present one; the last itself at itself.
    next: Vec<u32>,
    /// Whether packets come from and go to a switch.
    has_nodes: Vec<bool>,
    /// Which switches are beside which, ascending.
    beside: Neighbors,
    found: Found,
}

/// Where the ways come from.
#[derive(Debug, Clone)]
enum Found {
    /// They go dimension by dimension.
    Grid(Grid),
    /// A search; the places of all switches in a tree, of which up is towards the lower.
    Search(Vec<u32>),
}

impl Shortest {
    /// What results call it.
    pub const NAME: &str = "one of the shortest ways";

    /// The ways of a form with its wiring.
    ///
    /// # Errors
    /// The first two switches that no way joins.
    pub fn new(form: &Form, wiring: &Wiring) -> Result<Self, Apart> {
        let beside = Neighbors::new(wiring);
        let switches = beside.switches();
        let mut ways = Self {
            switches,
            next: vec![u32::MAX; (switches as usize).pow(2)],
            has_nodes: super::has_nodes(wiring),
            beside: beside.clone().sorted(),
            found: Found::Search(Vec::new()),
        };
        ways.found = match Grid::of(form) {
            Some(grid) => {
                ways.follow(&grid);
                Found::Grid(grid)
            }
            None => Found::Search(ways.search(form, &beside)?),
        };
        Ok(ways)
    }

    /// The ways of any form; the places of its switches in a tree.
    fn search(&mut self, form: &Form, beside: &Neighbors) -> Result<Vec<u32>, Apart> {
        let switches = self.switches;
        if let Some(apart) = beside.apart() {
            return Err(apart);
        }
        let mut distance = vec![u32::MAX; switches as usize];
        // Without branches: one more place, which is written but not counted.
        let mut queue = vec![0; switches as usize + 1];
        let mut nearer = vec![0; switches as usize + 1];
        for to in 0..switches {
            distance.fill(u32::MAX);
            distance[to as usize] = 0;
            queue[0] = to;
            let (mut done, mut found) = (0, 1);
            while done < found {
                let at = queue[done];
                let far = distance[at as usize] + 1;
                done += 1;
                for &other in beside.of(at) {
                    let known = &mut distance[other as usize];
                    queue[found] = other;
                    found += usize::from(*known == u32::MAX);
                    *known = far.min(*known);
                }
            }
            let row = to as usize * switches as usize;
            for at in (0..switches).filter(|&at| at != to) {
                let here = distance[at as usize];
                let mut count = 0;
                for &other in beside.of(at) {
                    nearer[count] = other;
                    count += usize::from(distance[other as usize] < here);
                }
                self.next[row + at as usize] = nearer[form.choice(at, to, &nearer[..count])];
            }
        }
        Ok(up_down::ranks(beside).places().to_vec())
    }

    /// The ways of a grid, which need no search.
    fn follow(&mut self, grid: &Grid) {
        let mut next = self.next.iter_mut();
        grid.pairs(|at, here, there| {
            if let Some(next) = next.next() {
                *next = grid.next(at, here, there);
            }
        });
    }

    /// The switch to go to at `at` on the way to `to`; `None` there.
    pub fn next(&self, at: u32, to: u32) -> Option<u32> {
        (at != to).then(|| self.next[(to * self.switches + at) as usize])
    }

    /// Layers of virtual channels such that packets of a layer cannot wait for one another in a circle.
    /// `channels`: virtual channels of a link. On grids all routes to a switch are in one layer, unless that takes
    /// more layers than there are channels, or leaves fewer channels to each layer than the two of
    /// [datelines](super::Change::Dateline) do. Elsewhere packets change layers where that takes fewer.
    pub fn layers(&self, channels: u32) -> Layers {
        let trees = Trees {
            beside: &self.beside,
            has_nodes: &self.has_nodes,
            next: &self.next,
        };
        let grid = match &self.found {
            Found::Search(places) => return Layers::fewest(&trees, places),
            Found::Grid(grid) => grid,
        };
        let whole = Layers::of_ends(&trees, u16::MAX).unwrap_or_else(|_| unreachable!());
        let count = u32::from(whole.count);
        match channels < count || channels / count < channels / DATELINE_LAYERS {
            true if count > DATELINE_LAYERS => Layers::datelines(grid, whole.circle),
            _ => whole,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean distance in a ring of n is n/4 for even n, self included; in a torus the sum.
    #[test]
    fn ways_are_as_long_as_rings_say() {
        let form = Form::Torus { sizes: vec![6, 4] };
        let ways = Shortest::new(&form, &form.wiring(1)).unwrap();
        let mut links = 0;
        for to in 0..24 {
            for from in 0..24 {
                let mut at = from;
                while let Some(next) = ways.next(at, to) {
                    (at, links) = (next, links + 1);
                }
            }
        }
        assert_eq!(links, 24 * 24 * (6 + 4) / 4);
    }

    /// Nearest first, and of several what the form chooses.
    #[test]
    fn ways_of_grids_are_those_that_a_search_finds() {
        for sizes in [
            vec![2],
            vec![7],
            vec![4, 2],
            vec![5, 4, 3],
            vec![3, 6],
            vec![2, 2, 2, 3],
        ] {
            let torus = Form::Torus {
                sizes: sizes.clone(),
            };
            for form in [torus, Form::Mesh { sizes }] {
                let ways = Shortest::new(&form, &form.wiring(1)).unwrap();
                let cables = Form::of_cables(form.cables());
                let found = Shortest::new(&cables, &cables.wiring(1)).unwrap();
                let links = |ways: &Shortest, from: u32, to: u32| {
                    std::iter::successors(Some(from), |&at| ways.next(at, to)).count()
                };
                let (wiring, switches) = (form.wiring(1), form.switch_count());
                for (at, to) in (0..switches).flat_map(|at| (0..switches).map(move |to| (at, to))) {
                    assert_eq!(links(&ways, at, to), links(&found, at, to), "{form}");
                    if at != to {
                        let mut nearer = Neighbors::new(&wiring).of(at).to_vec();
                        nearer.retain(|&n| links(&found, n, to) < links(&found, at, to));
                        let chosen = nearer[form.choice(at, to, &nearer)];
                        assert_eq!(ways.next(at, to), Some(chosen), "{form}: {at} to {to}");
                    }
                }
            }
        }
    }

    #[test]
    fn parts_that_nothing_joins_are_named() {
        let form = Form::of_cables(vec![(0, 1), (2, 3)]);
        let apart = Shortest::new(&form, &form.wiring(1)).unwrap_err();
        assert_eq!(apart, Apart { from: 2, to: 0 });
        assert_eq!(apart.to_string(), "no way leads from switch 2 to switch 0");
    }
}
