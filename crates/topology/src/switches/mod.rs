//! Switches joined in any form, and ways through them that cannot wait for one another in a circle.

mod layers;
mod shortest;
mod up_down;

pub use layers::Layers;
pub use shortest::{Apart, Shortest};
pub use up_down::UpDown;

use crate::Wiring;
use std::fmt;

/// How switches are joined: plain values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// Each with the next, and the last with the first.
    Ring {
        /// Number of switches.
        switches: u32,
    },
    /// A grid that is closed in every dimension.
    Torus {
        /// Switches in each dimension; dimension 0 varies fastest in their numbers.
        sizes: Vec<u32>,
    },
    /// A grid with borders.
    Mesh {
        /// Switches in each dimension; dimension 0 varies fastest in their numbers.
        sizes: Vec<u32>,
    },
    /// These pairs, each by a cable.
    Cables(Vec<(u32, u32)>),
}

impl Form {
    /// Number of switches: of listed cables, up to the highest that is named.
    pub fn switch_count(&self) -> u32 {
        match self {
            Self::Ring { switches } => *switches,
            Self::Torus { sizes } | Self::Mesh { sizes } => sizes.iter().product(),
            Self::Cables(cables) => {
                let ends = cables.iter().flat_map(|&(a, b)| [a, b]);
                ends.max().map_or(0, |last| last + 1)
            }
        }
    }

    /// The cables between switches; those of a grid dimension by dimension.
    pub fn cables(&self) -> Vec<(u32, u32)> {
        match self {
            Self::Ring { switches } => grid(&[*switches], true),
            Self::Torus { sizes } => grid(sizes, true),
            Self::Mesh { sizes } => grid(sizes, false),
            Self::Cables(cables) => cables.clone(),
        }
    }

    /// The network with so many nodes at each switch.
    ///
    /// # Panics
    /// If a listed cable joins a switch to itself.
    pub fn wiring(&self, nodes_per_switch: u32) -> Wiring {
        let switches = self.switch_count();
        let nodes = switches * nodes_per_switch;
        let of_nodes = (0..nodes).map(|node| (node, nodes + node / nodes_per_switch));
        let between = self.cables().into_iter();
        let between = between.map(|(a, b)| (nodes + a, nodes + b));
        Wiring::new(
            nodes,
            switches,
            &of_nodes.chain(between).collect::<Vec<_>>(),
        )
    }

    /// Which of equally short ways on a packet at `at` for `to` takes: its place among `ways`, switches in
    /// the order of their cables. On grids dimension by dimension, of two directions from even places
    /// the one, from odd places the other; elsewhere any by turns.
    pub fn choice(&self, at: u32, to: u32, ways: &[u32]) -> usize {
        let sizes = match self {
            Self::Ring { switches } => std::slice::from_ref(switches),
            Self::Torus { sizes } | Self::Mesh { sizes } => sizes,
            Self::Cables(_) => return (at as usize + to as usize) % ways.len().max(1),
        };
        let mut step = 1;
        for &size in sizes {
            let place = |switch: u32| switch / step % size;
            let here = place(at);
            let preferred = (here + if here % 2 == 0 { 1 } else { size - 1 }) % size;
            let mut along = (0..ways.len()).filter(|&way| place(ways[way]) != here);
            if let Some(first) = along.next() {
                return match along.next() {
                    Some(second) if place(ways[second]) == preferred => second,
                    _ => first,
                };
            }
            step *= size;
        }
        0
    }
}

/// The cables of a grid. Two switches that are the whole of a dimension have one.
fn grid(sizes: &[u32], closed: bool) -> Vec<(u32, u32)> {
    let switches: u32 = sizes.iter().product();
    let mut cables = Vec::new();
    let mut step = 1;
    for &size in sizes {
        for switch in 0..switches {
            let place = switch / step % size;
            if place + 1 < size {
                cables.push((switch, switch + step));
            } else if closed && size > 2 {
                cables.push((switch, switch - place * step));
            }
        }
        step *= size;
    }
    cables
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = |sizes: &[u32]| {
            let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
            sizes.join(" x ")
        };
        match self {
            Self::Ring { switches } => write!(f, "ring of {switches} switches"),
            Self::Torus { sizes } => write!(f, "{} torus", by(sizes)),
            Self::Mesh { sizes } => write!(f, "{} mesh", by(sizes)),
            Self::Cables(cables) => {
                write!(
                    f,
                    "{} switches with {} cables",
                    self.switch_count(),
                    cables.len()
                )
            }
        }
    }
}

/// The switches beside one, in the order of their cables, each once.
fn neighbors(wiring: &Wiring, switch: u32) -> Vec<u32> {
    let nodes = wiring.node_count();
    let out = wiring.out_of(nodes + switch);
    let mut found: Vec<u32> = Vec::new();
    for target in out
        .map(|link| wiring.target(link))
        .filter(|&to| to >= nodes)
    {
        if !found.contains(&(target - nodes)) {
            found.push(target - nodes);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_have_their_cables() {
        let cables = |form: Form| form.cables().len();
        assert_eq!(cables(Form::Ring { switches: 8 }), 8);
        assert_eq!(cables(Form::Ring { switches: 2 }), 1);
        assert_eq!(cables(Form::Torus { sizes: vec![4, 4] }), 32);
        // Along a dimension of two there is one cable, not two.
        assert_eq!(cables(Form::Torus { sizes: vec![4, 2] }), 12);
        assert_eq!(
            cables(Form::Mesh {
                sizes: vec![4, 3, 2]
            }),
            18 + 16 + 12
        );
        let listed = Form::Cables(vec![(0, 3), (3, 1)]);
        assert_eq!(
            (listed.switch_count(), listed.to_string()),
            (4, "4 switches with 2 cables".to_owned())
        );
        assert_eq!(Form::Torus { sizes: vec![4, 2] }.to_string(), "4 x 2 torus");
    }
}
