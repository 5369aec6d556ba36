//! Shortest routes: one of the shortest routes from every switch to every other.

use super::layers::{DATELINE_LAYERS, Trees};
use super::neighbors::{Apart, Neighbors};
use super::{Form, Grid, Layers, up_down};
use crate::Wiring;

/// For every pair of switches, the next switch of one of the shortest routes. All routes to a switch form a tree.
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
    /// Next switch, by destination switch and current switch; at the destination it is the switch itself.
    next: Vec<u32>,
    /// For each switch, whether it has nodes.
    has_nodes: Vec<bool>,
    /// Neighbours of each switch, ascending.
    neighbors: Neighbors,
    found: Source,
}

/// How the shortest routes were found: dimension by dimension on a grid, or by a search.
#[derive(Debug, Clone)]
enum Source {
    /// The routes go dimension by dimension on this grid.
    Grid(Grid),
    /// A search found the routes. The list has the rank of each switch in a spanning tree; a step to a lower rank goes
    /// up.
    Search(Vec<u32>),
}

impl Shortest {
    /// Name of this routing in results.
    pub const NAME: &str = "one of the shortest ways";

    /// Return the shortest routes of a network of this form and wiring.
    ///
    /// # Errors
    /// The first two switches that no path joins.
    pub fn new(form: &Form, wiring: &Wiring) -> Result<Self, Apart> {
        let neighbors = Neighbors::new(wiring);
        let switches = neighbors.switches();
        let mut ways = Self {
            switches,
            next: vec![u32::MAX; (switches as usize).pow(2)],
            has_nodes: super::has_nodes(wiring),
            neighbors: neighbors.clone().sorted(),
            found: Source::Search(Vec::new()),
        };
        ways.found = match Grid::of(form) {
            Some(grid) => {
                ways.follow(&grid);
                Source::Grid(grid)
            }
            None => Source::Search(ways.search(form, &neighbors)?),
        };
        Ok(ways)
    }

    /// Find the routes of any form by a search; return the ranks of the switches in a tree.
    fn search(&mut self, form: &Form, neighbors: &Neighbors) -> Result<Vec<u32>, Apart> {
        let switches = self.switches;
        if let Some(apart) = neighbors.apart() {
            return Err(apart);
        }
        let mut distance = vec![u32::MAX; switches as usize];
        // The loop below has no branch: it always writes the next entry, and counts it only if it is valid. So the
        // arrays need one entry more than there are switches.
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
                for &other in neighbors.of(at) {
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
                for &other in neighbors.of(at) {
                    nearer[count] = other;
                    count += usize::from(distance[other as usize] < here);
                }
                self.next[row + at as usize] = nearer[form.choice(at, to, &nearer[..count])];
            }
        }
        Ok(up_down::ranks(neighbors).places().to_vec())
    }

    /// Compute the routes of a grid without a search: they follow the dimensions of the grid.
    fn follow(&mut self, grid: &Grid) {
        let mut next = self.next.iter_mut();
        grid.pairs(|at, here, there| {
            if let Some(next) = next.next() {
                *next = grid.next(at, here, there);
            }
        });
    }

    /// Return the next switch after `at` for destination `to`; `None` at the destination.
    pub fn next(&self, at: u32, to: u32) -> Option<u32> {
        (at != to).then(|| self.next[(to * self.switches + at) as usize])
    }

    /// Return layers of virtual channels such that packets of a layer cannot deadlock. `channels` is the number of
    /// virtual channels per link. On grids all routes to a switch are in one layer, unless this needs more layers than
    /// channels, or leaves fewer channels per layer than the two layers of [datelines](super::Change::Dateline). In
    /// other networks packets change layers if this needs fewer layers.
    pub fn layers(&self, channels: u32) -> Layers {
        let trees = Trees {
            neighbors: &self.neighbors,
            has_nodes: &self.has_nodes,
            next: &self.next,
        };
        let grid = match &self.found {
            Source::Search(places) => return Layers::minimum_layers(&trees, places),
            Source::Grid(grid) => grid,
        };
        let whole = Layers::by_destination(&trees, u16::MAX).unwrap_or_else(|_| unreachable!());
        let count = u32::from(whole.count);
        match channels < count || channels / count < channels / DATELINE_LAYERS {
            true if count > DATELINE_LAYERS => Layers::datelines(grid, whole.circle),
            _ => whole,
        }
    }
}
