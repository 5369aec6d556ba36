//! Random layouts defined by independent rules, and the owner of each element by enumeration.

use isthmus_redistribute::{Block, Dim, Grid, GridOrder, Layout, Spread};
use proptest::prelude::*;
use std::sync::Arc;

/// How a dimension is distributed.
#[derive(Clone, Debug)]
pub enum Rule {
    Whole,
    Cyclic { block: u64, source: u32 },
    Block,
    Cuts(Vec<u64>),
}

/// A layout as a test describes it.
#[derive(Clone, Debug)]
pub enum Spec {
    /// Extents of the process grid, whether its first axis counts fastest, by dimension rule and axis.
    Grid(Vec<u32>, bool, Vec<(Rule, usize)>),
    /// By rank the boxes: by dimension from and to.
    Boxes(Vec<Vec<Vec<(u64, u64)>>>),
}

impl Spec {
    pub fn layout(&self, shape: &[u64]) -> Layout {
        match self {
            Self::Grid(extents, first_is_fastest, rules) => {
                let dims = rules.iter().map(|(rule, axis)| {
                    let spread = match rule {
                        Rule::Whole => return Dim::WHOLE,
                        &Rule::Cyclic { block, source } => Spread::Cyclic { block, source },
                        Rule::Block => Spread::Block,
                        Rule::Cuts(cuts) => Spread::Cuts(Arc::from(cuts.as_slice())),
                    };
                    Dim(Some((*axis, spread)))
                });
                let grid = Grid::new(extents, &dims.collect::<Vec<_>>());
                let order = match first_is_fastest {
                    true => GridOrder::ColumnMajor,
                    false => GridOrder::RowMajor,
                };
                Layout::grid(shape, grid.in_order(order)).unwrap()
            }
            Self::Boxes(ranks) => {
                let block = |dims: &Vec<(u64, u64)>| Block {
                    from: dims.iter().map(|dim| dim.0).collect(),
                    to: dims.iter().map(|dim| dim.1).collect(),
                };
                let ranks = ranks.iter().map(|parts| parts.iter().map(block).collect());
                Layout::boxes(shape, ranks.collect()).unwrap()
            }
        }
    }

    /// How many parts each rank has.
    pub fn parts(&self) -> Vec<usize> {
        match self {
            Self::Grid(extents, ..) => vec![1; extents.iter().product::<u32>() as usize],
            Self::Boxes(ranks) => ranks.iter().map(Vec::len).collect(),
        }
    }

    /// Whether a part of a rank holds an element.
    pub fn holds(&self, shape: &[u64], rank: usize, part: usize, index: &[u64]) -> bool {
        match self {
            Self::Boxes(ranks) => {
                let dims = ranks[rank][part].iter().zip(index);
                dims.into_iter()
                    .all(|(&(from, to), &index)| (from..to).contains(&index))
            }
            Self::Grid(extents, first_is_fastest, rules) => {
                let mut left = rank as u32;
                let mut at = vec![0; extents.len()];
                let axes = 0..extents.len();
                let axes: Vec<usize> = if *first_is_fastest {
                    axes.collect()
                } else {
                    axes.rev().collect()
                };
                for axis in axes {
                    at[axis] = left % extents[axis];
                    left /= extents[axis];
                }
                (0..shape.len()).all(|dim| {
                    let (rule, axis) = &rules[dim];
                    let index = index[dim];
                    match rule {
                        Rule::Whole => true,
                        Rule::Block => {
                            let over = u64::from(extents[*axis]);
                            index / shape[dim].div_ceil(over) == u64::from(at[*axis])
                        }
                        Rule::Cuts(cuts) => {
                            let at = at[*axis] as usize;
                            cuts[at] <= index && index < cuts[at + 1]
                        }
                        Rule::Cyclic { block, source } => {
                            let turn = index / block + u64::from(*source);
                            turn % u64::from(extents[*axis]) == u64::from(at[*axis])
                        }
                    }
                })
            }
        }
    }
}

/// All indices of an array, in order of rows or of columns.
pub fn indices(shape: &[u64], columns: bool) -> Vec<Vec<u64>> {
    let dims: Vec<usize> = match columns {
        true => (0..shape.len()).rev().collect(),
        false => (0..shape.len()).collect(),
    };
    let mut all = vec![vec![0; shape.len()]];
    for dim in dims {
        let longer = all.iter().flat_map(|index| {
            (0..shape[dim]).map(|at| {
                let mut index = index.clone();
                index[dim] = at;
                index
            })
        });
        all = longer.collect();
    }
    all
}

/// A part in memory: what its bytes should be, the strides, and which bytes are of no element.
pub struct Held {
    pub bytes: Vec<u8>,
    pub strides: Vec<u64>,
    /// By element of the part its index and where it lies.
    pub elements: Vec<(Vec<u64>, usize)>,
}

/// The bytes of an element: the same number anywhere in the array gives the same ones.
pub fn element_bytes(shape: &[u64], index: &[u64], element: usize) -> Vec<u8> {
    let number = index
        .iter()
        .zip(shape)
        .fold(0, |number, (at, extent)| number * extent + at);
    let bytes = (0..element as u64).map(|byte| {
        let mixed = (number + 1)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .wrapping_add(byte * 0x2545_f491);
        (mixed >> 29) as u8
    });
    bytes.collect()
}

/// What a part holds, in memory with `ghosts` unused elements before and behind those of each dimension.
pub fn held(
    spec: &Spec,
    shape: &[u64],
    (rank, part): (usize, usize),
    element: usize,
    columns: bool,
    ghosts: u64,
) -> Held {
    let all = indices(shape, columns);
    let mine: Vec<Vec<u64>> = all
        .into_iter()
        .filter(|index| spec.holds(shape, rank, part, index))
        .collect();
    let along = |dim: usize| {
        let mut along: Vec<u64> = mine.iter().map(|index| index[dim]).collect();
        along.sort_unstable();
        along.dedup();
        along
    };
    let along: Vec<Vec<u64>> = (0..shape.len()).map(along).collect();
    let mut strides = vec![0; shape.len()];
    let mut step = element as u64;
    let mut set = |dim: usize| {
        strides[dim] = step;
        step *= along[dim].len() as u64 + 2 * ghosts;
    };
    match columns {
        true => (0..shape.len()).for_each(&mut set),
        false => (0..shape.len()).rev().for_each(&mut set),
    }
    let place = |index: &Vec<u64>| {
        let dims = index.iter().enumerate();
        let places =
            dims.map(|(dim, at)| along[dim].binary_search(at).unwrap() as u64 * strides[dim]);
        places.sum::<u64>() as usize
    };
    let elements: Vec<(Vec<u64>, usize)> = mine
        .iter()
        .map(|index| (index.clone(), place(index)))
        .collect();
    // What is before the first element is not handed over.
    let end = elements
        .iter()
        .map(|(_, place)| place + element)
        .max()
        .unwrap_or(0);
    let mut bytes = vec![0xee; end];
    for (index, place) in &elements {
        bytes[*place..place + element].copy_from_slice(&element_bytes(shape, index, element));
    }
    Held {
        bytes,
        strides,
        elements,
    }
}

fn rule(extent: u64, over: u32) -> impl Strategy<Value = Rule> {
    let cuts = prop::collection::vec(0..=extent, over as usize - 1).prop_map(move |mut inner| {
        inner.sort_unstable();
        inner.insert(0, 0);
        inner.push(extent);
        Rule::Cuts(inner)
    });
    prop_oneof![
        1 => Just(Rule::Whole),
        4 => (1..extent + 3, 0..over).prop_map(|(block, source)| Rule::Cyclic { block, source }),
        2 => (1..4_u64, 0..over).prop_map(|(block, source)| Rule::Cyclic { block, source }),
        2 => Just(Rule::Block),
        1 => cuts,
    ]
}

fn grids(shape: Vec<u64>) -> impl Strategy<Value = Spec> {
    let axes = shape.len() + 1;
    let extents = prop::collection::vec(
        prop_oneof![3 => Just(1_u32), 4 => 2..4_u32, 1 => 4..6_u32],
        axes,
    );
    let order = Just((0..axes).collect::<Vec<usize>>()).prop_shuffle();
    (extents, order, any::<bool>()).prop_flat_map(move |(extents, axes, first_is_fastest)| {
        // At most 24 processes: the last axes that would make more are of one.
        let mut extents = extents;
        let mut all = 1;
        for extent in &mut extents {
            if all * *extent > 24 {
                *extent = 1;
            }
            all *= *extent;
        }
        let rules: Vec<_> = shape
            .iter()
            .zip(&axes)
            .map(|(&at, &axis)| rule(at, extents[axis]).boxed())
            .collect();
        (Just(extents), rules, Just(axes)).prop_map(move |(extents, rules, axes)| {
            Spec::Grid(
                extents,
                first_is_fastest,
                rules.into_iter().zip(axes).collect(),
            )
        })
    })
}

type Cuts = Vec<(
    prop::sample::Index,
    prop::sample::Index,
    prop::sample::Index,
)>;

/// The array, cut in two again and again, and the pieces dealt to ranks.
fn boxes(shape: Vec<u64>) -> impl Strategy<Value = Spec> {
    let index = any::<prop::sample::Index>;
    let cuts = prop::collection::vec((index(), index(), index()), 0..9);
    let deal = prop::collection::vec(0..5_usize, 10);
    (cuts, deal).prop_map(move |(cuts, deal): (Cuts, Vec<usize>)| {
        let mut pieces: Vec<Vec<(u64, u64)>> =
            vec![shape.iter().map(|&extent| (0, extent)).collect()];
        for (which, dim, at) in cuts {
            if pieces.is_empty() {
                break;
            }
            let which = which.index(pieces.len());
            let dim = dim.index(shape.len());
            let (from, to) = pieces[which][dim];
            let at = from + at.index((to - from) as usize + 1) as u64;
            let mut rest = pieces[which].clone();
            rest[dim] = (at, to);
            pieces[which][dim] = (from, at);
            // An empty piece is one that a rank may well have.
            pieces.push(rest);
            pieces.retain(|piece| piece.iter().any(|(from, to)| from < to));
        }
        let mut ranks = vec![Vec::new(); 5];
        for (piece, rank) in pieces.into_iter().zip(deal) {
            ranks[rank].push(piece);
        }
        Spec::Boxes(ranks)
    })
}

pub fn shapes() -> impl Strategy<Value = Vec<u64>> {
    (1..6_usize).prop_flat_map(|dims| {
        let most = [400_u64, 30, 12, 7, 5][dims - 1];
        // A few arrays have no elements.
        prop::collection::vec(prop_oneof![40 => 1..most, 1 => Just(0)], dims)
    })
}

pub fn specs(shape: &[u64]) -> impl Strategy<Value = Spec> + use<> {
    prop_oneof![3 => grids(shape.to_vec()).boxed(), 1 => boxes(shape.to_vec()).boxed()]
}
