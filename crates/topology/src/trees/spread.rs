//! Demands from each of some nodes to each of some nodes, without going through the pairs.
//!
//! Let a(s) be what source s sends to each destination other than itself, A(S) the sum over the
//! sources of a subtree S, D(S) the number of its destinations. Then A(S) (D - D(S)) leaves S and
//! (A - A(S)) D(S) enters it: no source outside is a destination inside. Under a deterministic
//! ascent the link over which it does depends only on the key, the number of the destination or of
//! the source, so that the same holds with D(S) or A(S) key by key.

use super::links::Crossing;
use super::tree::Level;
use super::{Ascent, Tree};

/// One demand of this kind.
pub(super) struct Spread<'a> {
    tree: &'a Tree,
    /// Each source with what it sends to each destination other than itself.
    sources: Vec<(u32, f64)>,
    destinations: &'a [u32],
    /// Sum over the sources.
    pub share: f64,
    /// How many destinations.
    pub destination_count: f64,
}

/// What a subtree has of them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Count {
    /// Sum over its sources.
    pub share: f64,
    /// Its destinations.
    pub ends: f64,
}

/// Which number decides the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyed {
    Source,
    Destination,
}

impl Keyed {
    pub(super) fn by(ascent: Ascent) -> Option<Self> {
        match ascent {
            Ascent::Adaptive | Ascent::Random => None,
            Ascent::Destination => Some(Self::Destination),
            Ascent::Source => Some(Self::Source),
        }
    }
}

impl<'a> Spread<'a> {
    pub(super) fn new(
        tree: &'a Tree,
        sources: &[u32],
        destinations: &'a [u32],
        amount: f64,
    ) -> Self {
        let mut listed = vec![0u32; tree.node_count() as usize];
        for &destination in destinations {
            listed[destination as usize] += 1;
        }
        let send = |&source: &u32| {
            let others = destinations.len() - listed[source as usize] as usize;
            (others > 0).then(|| (source, amount / others as f64))
        };
        let sources: Vec<_> = sources.iter().filter_map(send).collect();
        Self {
            tree,
            share: sources.iter().map(|(_, share)| share).sum(),
            sources,
            destinations,
            destination_count: destinations.len() as f64,
        }
    }

    /// By subtree of a level.
    pub(super) fn by_subtree(&self, level: usize) -> Vec<Count> {
        let size = self.tree.levels[level].subtree;
        let mut counts = vec![Count::default(); (self.tree.node_count() / size) as usize];
        for &(source, share) in &self.sources {
            counts[(source / size) as usize].share += share;
        }
        for &destination in self.destinations {
            counts[(destination / size) as usize].ends += 1.0;
        }
        counts
    }

    /// Adds what crosses each link.
    pub(super) fn add_links(&self, keyed: Keyed, links: &mut [f64]) {
        for level in 0..self.tree.levels.len() - 1 {
            self.add_level(keyed, level, links);
        }
    }

    fn add_level(&self, keyed: Keyed, level: usize, links: &mut [f64]) {
        let tree = self.tree;
        let Level {
            subtree: size,
            up_ports,
            first_up,
            ..
        } = tree.levels[level];
        let width = tree.width(level) as usize;
        let way = |key: u32| (tree.lane(level, key) * up_ports + tree.port(level, key)) as usize;
        let place = |node: u32, key: u32| (node / size) as usize * width + way(key);
        // By way out of the subtree, over all; and by subtree and way.
        let mut ways = vec![0.0; width];
        let mut inside = vec![0.0; (tree.node_count() / size) as usize * width];
        let mut add = |node: u32, amount: f64| {
            ways[way(node)] += amount;
            inside[place(node, node)] += amount;
        };
        match keyed {
            Keyed::Source => self
                .sources
                .iter()
                .for_each(|&(node, share)| add(node, share)),
            Keyed::Destination => self.destinations.iter().for_each(|&node| add(node, 1.0)),
        }
        for (subtree, count) in self.by_subtree(level).into_iter().enumerate() {
            for (way, &all) in ways.iter().enumerate() {
                let link = first_up as usize + subtree * width + way;
                let inside = inside[subtree * width + way];
                let outside = (all - inside).max(0.0);
                let (up, down) = match keyed {
                    Keyed::Source => (
                        inside * (self.destination_count - count.ends),
                        outside * count.ends,
                    ),
                    Keyed::Destination => (
                        count.share * outside,
                        (self.share - count.share).max(0.0) * inside,
                    ),
                };
                if up == 0.0 && down == 0.0 {
                    continue;
                }
                links[link] += up;
                let crossing = Crossing {
                    up: false,
                    ..tree.crossing(link as u32)
                };
                links[tree.number(crossing) as usize] += down;
            }
        }
    }
}
