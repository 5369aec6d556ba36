//! Computation of the rings of a fabric from its shape.

use super::grid::{Grid, Kind};
use super::{MAX_NODES, RingsError, Shape};

/// The rings of a fabric, each as a list of node numbers, with the fabric's name and its number of nodes per
/// dimension.
pub(super) struct Layout {
    pub name: String,
    pub sizes: Option<Vec<u32>>,
    pub grid: Option<Grid>,
    pub rings: Vec<Vec<u32>>,
}

/// Compute the rings of a fabric of this shape, or report why the shape is impossible.
pub(super) fn layout_of(shape: &Shape) -> Result<Layout, RingsError> {
    match shape {
        Shape::Ring { nodes } => {
            check_ring(*nodes)?;
            Ok(torus(Kind::OneWay, &[*nodes], format!("{nodes}-node ring")))
        }
        Shape::CounterRotating { nodes } => {
            check_ring(*nodes)?;
            let name = format!("{nodes}-node counter-rotating rings");
            Ok(torus(Kind::TwoWay, &[*nodes], name))
        }
        Shape::Torus { sizes } => {
            check_sizes("a torus", sizes, 2)?;
            let name = format!("{} unidirectional torus", product(sizes));
            Ok(torus(Kind::OneWay, sizes, name))
        }
        Shape::BidirectionalTorus { sizes } => {
            check_sizes("a bidirectional torus", sizes, 2)?;
            let name = format!("{} bidirectional torus", product(sizes));
            Ok(torus(Kind::TwoWay, sizes, name))
        }
        Shape::UniformRingTorus { sizes } => {
            check_sizes("a uniform-ring torus", sizes, 3)?;
            let name = format!("{} uniform-ring torus", product(sizes));
            Ok(torus(Kind::Faces, sizes, name))
        }
        Shape::Manhattan { sizes } => manhattan(*sizes),
        Shape::Rings(rings) => from_lists(rings),
    }
}

/// Check the number of nodes of a single ring.
fn check_ring(nodes: u32) -> Result<(), RingsError> {
    match nodes {
        0 | 1 => Err(RingsError::ShortRing { ring: 0, nodes }),
        _ => check_count(nodes.into()),
    }
}

/// Check that each dimension of a torus has at least `least` nodes and the torus at most
/// [`MAX_NODES`].
fn check_sizes(fabric: &'static str, sizes: &[u32], least: u32) -> Result<(), RingsError> {
    if sizes.is_empty() {
        return Err(RingsError::NoSizes);
    }
    for (dimension, &size) in (0..).zip(sizes) {
        if size < least {
            return Err(RingsError::SmallSize {
                fabric,
                dimension,
                size,
                least,
            });
        }
    }
    let count = sizes
        .iter()
        .fold(1u64, |count, &size| count.saturating_mul(size.into()));
    check_count(count)
}

/// Check that there are at most [`MAX_NODES`] nodes.
fn check_count(nodes: u64) -> Result<(), RingsError> {
    if nodes > MAX_NODES.into() {
        return Err(RingsError::TooManyNodes { nodes });
    }
    Ok(())
}

/// Return the sizes as text, such as "4 x 4".
fn product(sizes: &[u32]) -> String {
    let sizes: Vec<_> = sizes.iter().map(u32::to_string).collect();
    match &sizes[..] {
        [size] => format!("{size}-node"),
        sizes => sizes.join(" x "),
    }
}

/// Return the rings of a torus.
fn torus(kind: Kind, sizes: &[u32], name: String) -> Layout {
    let grid = Grid::new(kind, sizes);
    Layout {
        name,
        sizes: Some(sizes.to_vec()),
        rings: grid.rings(),
        grid: Some(grid),
    }
}

/// Return the rings of a Manhattan street network. The rows are first: even ones to the right, odd
/// ones to the left. The columns follow: even ones up, odd ones down. (Reference 7 of the SCI paper
/// compares this network with tori.)
fn manhattan(sizes: [u32; 2]) -> Result<Layout, RingsError> {
    check_sizes("a Manhattan street network", &sizes, 2)?;
    for (dimension, size) in (0..).zip(sizes) {
        if size % 2 == 1 {
            return Err(RingsError::OddSize { dimension, size });
        }
    }
    let two_way = Grid::new(Kind::TwoWay, &sizes);
    // A bidirectional torus has two rings with opposite directions on each line of the grid. Keep one
    // ring per line, with the direction alternating from line to line.
    let lines = two_way.rings().into_iter().enumerate();
    let kept = lines.filter(|(ring, _)| matches!(ring % 4, 0 | 3));
    Ok(Layout {
        name: format!("{} Manhattan street network", product(&sizes)),
        sizes: Some(sizes.to_vec()),
        grid: None,
        rings: kept.map(|(_, nodes)| nodes).collect(),
    })
}

/// Return the layout of a fabric whose rings are given as lists of nodes, or an error if they form no fabric.
fn from_lists(rings: &[Vec<u32>]) -> Result<Layout, RingsError> {
    let mut highest = 0;
    for (ring, nodes) in (0..).zip(rings) {
        if nodes.len() < 2 {
            return Err(RingsError::ShortRing {
                ring,
                nodes: nodes.len() as u32,
            });
        }
        let mut sorted = nodes.clone();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(RingsError::RepeatedNode {
                ring,
                node: pair[0],
            });
        }
        highest = highest.max(sorted[sorted.len() - 1]);
    }
    if rings.is_empty() {
        return Err(RingsError::NoRings);
    }
    check_count(u64::from(highest) + 1)?;
    let mut named = vec![false; highest as usize + 1];
    for &node in rings.iter().flatten() {
        named[node as usize] = true;
    }
    if let Some(missing) = named.iter().position(|&named| !named) {
        return Err(RingsError::NodeOnNoRing {
            node: missing as u32,
            highest,
        });
    }
    Ok(Layout {
        name: match rings.len() {
            1 => format!("ring over {} nodes", named.len()),
            count => format!("{count} rings over {} nodes", named.len()),
        },
        sizes: None,
        grid: None,
        rings: rings.to_vec(),
    })
}
