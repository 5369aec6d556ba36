//! What a demand asks of each link, computed from the rule of ascent: expectations, no sampling.

use super::spread::{Keyed, Spread};
use super::{Ascent, Tree};

/// Part of what nodes ask of a tree, in any unit of traffic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Demand<'a> {
    /// Each of the sources sends the amount, in equal parts to each of the destinations other than
    /// itself; a source without such a destination sends nothing. A node that is listed twice counts
    /// twice.
    Spread {
        /// Nodes that send.
        sources: &'a [u32],
        /// Nodes that they send to.
        destinations: &'a [u32],
        /// What each source sends in all.
        amount: f64,
    },
    /// One node sends to one other.
    Pair {
        /// The node that sends.
        source: u32,
        /// The node that it sends to; what a node sends to itself crosses no link.
        destination: u32,
        /// What it sends.
        amount: f64,
    },
}

/// What a demand asks of a tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Loads {
    /// The amount that crosses each link, by number of the link.
    pub links: Vec<f64>,
    /// The amount that ascends to each level and no further, from level 0, where there is none.
    pub levels: Vec<f64>,
}

impl Loads {
    /// The whole amount.
    pub fn total(&self) -> f64 {
        self.levels.iter().sum()
    }

    /// Switches that a unit of it crosses on average; 0 when there is none.
    pub fn mean_switches(&self) -> f64 {
        let total = self.total();
        if total <= 0.0 {
            return 0.0;
        }
        let levels = (0u32..).zip(&self.levels).skip(1);
        let switches: f64 = levels
            .map(|(level, amount)| f64::from(2 * level - 1) * amount)
            .sum();
        switches / total
    }

    /// The most loaded link and its load; the lowest number of equals (to 1 part in 10^9).
    pub fn most_loaded(&self) -> (u32, f64) {
        let most = self.links.iter().copied().fold(0.0, f64::max);
        let link = self
            .links
            .iter()
            .position(|&load| load >= most * (1.0 - 1e-9));
        (link.unwrap_or(0) as u32, most)
    }
}

impl Tree {
    /// The expected load of every link under all these demands together. An adaptive ascent, like a
    /// random one, is taken to load all links up of a switch alike, and all parallel links down.
    ///
    /// Takes time in the number of demands times (nodes that it names + levels + subtrees), for
    /// [`Demand::Spread`] with a deterministic ascent links in place of subtrees; for
    /// [`Demand::Pair`] only in the number of levels.
    ///
    /// # Panics
    /// When a demand names a node that is not there.
    pub fn loads(&self, ascent: Ascent, demands: &[Demand]) -> Loads {
        let mut sums = Sums::new(self);
        let mut path = Vec::new();
        for demand in demands {
            match *demand {
                Demand::Spread {
                    sources,
                    destinations,
                    amount,
                } => {
                    let spread = Spread::new(self, sources, destinations, amount);
                    sums.add_spread(&spread);
                    if let Some(keyed) = Keyed::by(ascent) {
                        spread.add_links(keyed, &mut sums.links);
                    }
                }
                Demand::Pair {
                    source,
                    destination,
                    amount,
                } => {
                    sums.add_pair(source, destination, amount);
                    if Keyed::by(ascent).is_some() {
                        let mut never = |_| unreachable!("the rule says which");
                        self.route(ascent, source, destination, &mut never, &mut path);
                        for &link in &path {
                            sums.links[link as usize] += amount;
                        }
                    }
                }
            }
        }
        sums.into_loads(ascent)
    }
}

/// Amounts that cross the borders of subtrees, and links.
struct Sums<'a> {
    tree: &'a Tree,
    /// By level and subtree: what goes up from it.
    leaving: Vec<Vec<f64>>,
    /// By level and subtree: what comes down to it.
    entering: Vec<Vec<f64>>,
    /// By link, only for deterministic ascents.
    links: Vec<f64>,
}

impl<'a> Sums<'a> {
    fn new(tree: &'a Tree) -> Self {
        let below_top = &tree.levels[..tree.levels.len() - 1];
        let zeros = below_top
            .iter()
            .map(|level| vec![0.0; (tree.node_count() / level.subtree) as usize]);
        let leaving: Vec<Vec<f64>> = zeros.collect();
        Self {
            tree,
            entering: leaving.clone(),
            leaving,
            links: vec![0.0; tree.link_count() as usize],
        }
    }

    fn add_spread(&mut self, spread: &Spread) {
        for level in 0..self.leaving.len() {
            let counts = spread.by_subtree(level);
            for (subtree, count) in counts.into_iter().enumerate() {
                self.leaving[level][subtree] +=
                    count.share * (spread.destination_count - count.ends);
                self.entering[level][subtree] += (spread.share - count.share).max(0.0) * count.ends;
            }
        }
    }

    fn add_pair(&mut self, source: u32, destination: u32, amount: f64) {
        let top = self.tree.level_between(source, destination) as usize;
        for level in 0..top {
            let size = self.tree.levels[level].subtree;
            self.leaving[level][(source / size) as usize] += amount;
            self.entering[level][(destination / size) as usize] += amount;
        }
    }

    fn into_loads(mut self, ascent: Ascent) -> Loads {
        let tree = self.tree;
        let crossing = |level: usize| match self.leaving.get(level) {
            Some(leaving) => leaving.iter().sum::<f64>(),
            None => 0.0,
        };
        let mut levels = vec![0.0];
        for level in 1..tree.levels.len() {
            levels.push((crossing(level - 1) - crossing(level)).max(0.0));
        }
        if Keyed::by(ascent).is_none() {
            self.share_among_links();
        }
        Loads {
            links: self.links,
            levels,
        }
    }

    /// All links between a subtree and the rest alike.
    fn share_among_links(&mut self) {
        let tree = self.tree;
        for (level, (leaving, entering)) in self.leaving.iter().zip(&self.entering).enumerate() {
            let width = tree.width(level) as usize;
            let first = tree.levels[level].first_up as usize;
            for (subtree, (up, down)) in leaving.iter().zip(entering).enumerate() {
                for link in first + subtree * width..first + (subtree + 1) * width {
                    self.links[link] = up / width as f64;
                    let beside = tree.reverse(link as u32);
                    self.links[beside as usize] = down / width as f64;
                }
            }
        }
    }
}
