//! Tori: computes the positions of rings and the directions of links from the numbers of nodes.

use std::hint::select_unpredictable;

/// Arrangement of the rings of a torus: along its lines, one or two per line, or around its faces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Each line has one ring, in the direction of increasing coordinates.
    OneWay,
    /// Each line has two rings. The one with the lower number is in the direction of increasing
    /// coordinates.
    TwoWay,
    /// Each unit square of a plane has one ring: right, up, left, down.
    Faces,
}

/// Direction along a dimension: up to higher coordinates (and from the last to the first), or down
/// to lower ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Direction {
    Up,
    Down,
}

/// The nodes and rings of a torus and how they are numbered. Node numbers count along dimension 0 first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Grid {
    kind: Kind,
    axes: Vec<Axis>,
    node_count: u32,
}

/// One dimension of a torus: its size, and how nodes and rings are numbered along it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Axis {
    size: u32,
    /// Difference between the numbers of two neighbouring nodes along this axis.
    stride: u32,
    /// Number of the first ring along this axis; not used if rings go round the faces of the torus.
    first_ring: u32,
}

/// Shortest path between two nodes along one dimension, without its links: its direction and number of hops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Offset {
    /// Number of links on a shortest path.
    pub hops: u32,
    /// Direction of the shortest path; if both directions are equally long, that of increasing coordinates.
    pub direction: Direction,
    /// Whether the path in the other direction is equally long.
    pub tie: bool,
}

/// Shortest path between two nodes along one line of a torus, with its last node and its ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LinePath {
    pub offset: Offset,
    /// Number of the node at the end of the path.
    pub end: u32,
    /// Number of the ring along this line with links in the direction of increasing coordinates.
    ring: u32,
}

impl LinePath {
    /// Return the number of the line's ring in a direction.
    pub fn ring(&self, direction: Direction) -> u32 {
        self.ring + u32::from(direction == Direction::Down)
    }
}

impl Grid {
    /// Return a torus with rings of this kind. The sizes must be 1 or more, and their product must be below 2^32.
    pub fn new(kind: Kind, sizes: &[u32]) -> Self {
        let node_count = sizes.iter().product();
        let rings_per_line = if kind == Kind::TwoWay { 2 } else { 1 };
        let (mut stride, mut first_ring) = (1, 0);
        let mut axes = Vec::new();
        for &size in sizes {
            axes.push(Axis {
                size,
                stride,
                first_ring,
            });
            stride *= size;
            first_ring += node_count / size * rings_per_line;
        }
        Self {
            kind,
            axes,
            node_count,
        }
    }

    /// Return how the rings of the torus are arranged.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Return the number of dimensions.
    pub fn dimensions(&self) -> usize {
        self.axes.len()
    }

    /// Return the nodes of each ring, ordered by the numbers of the rings.
    pub fn rings(&self) -> Vec<Vec<u32>> {
        if self.kind == Kind::Faces {
            let corners = |corner| {
                let right = self.step(corner, 0, Direction::Up);
                let across = self.step(right, 1, Direction::Up);
                vec![corner, right, across, self.step(corner, 1, Direction::Up)]
            };
            return (0..self.node_count).map(corners).collect();
        }
        let mut rings = Vec::new();
        for (dimension, axis) in self.axes.iter().enumerate() {
            let first = |&node: &u32| self.coordinate(node, dimension) == 0;
            for node in (0..self.node_count).filter(first) {
                let along = |place| node + place * axis.stride;
                rings.push((0..axis.size).map(along).collect());
                if self.kind == Kind::TwoWay {
                    let back = (0..axis.size).map(|place| along((axis.size - place) % axis.size));
                    rings.push(back.collect());
                }
            }
        }
        rings
    }

    /// Return the class of the link at a position of a ring. Translations of the torus map links onto links of the same
    /// class. On a ring around a square, the class is the position; on other rings it follows from the dimension and
    /// direction.
    pub fn link_class(&self, ring: u32, position: u32) -> usize {
        if self.kind == Kind::Faces {
            return position as usize;
        }
        let begins = |axis: &&Axis| axis.first_ring <= ring;
        let dimension = self.axes.iter().take_while(begins).count() - 1;
        match self.kind {
            Kind::TwoWay => {
                let down = (ring - self.axes[dimension].first_ring) % 2;
                2 * dimension + down as usize
            }
            _ => dimension,
        }
    }

    /// Return the node whose coordinates are the sums of those of `node` and `offset`, each modulo the size of its
    /// dimension.
    pub fn sum(&self, node: u32, offset: u32) -> u32 {
        self.combine_coordinates(node, offset, |node, offset, size| (node + offset) % size)
    }

    /// Return the node whose coordinates are those of `to` minus those of `from`, each modulo the size of its
    /// dimension.
    pub fn difference(&self, from: u32, to: u32) -> u32 {
        self.combine_coordinates(from, to, |from, to, size| (to + size - from) % size)
    }

    /// Return a node by its coordinates: in each dimension, `of` computes the coordinate from those of the two nodes
    /// and the size of the dimension.
    fn combine_coordinates(&self, one: u32, other: u32, of: impl Fn(u32, u32, u32) -> u32) -> u32 {
        let coordinate = |(dimension, axis): (usize, &Axis)| {
            let [one, other] = [one, other].map(|node| self.coordinate(node, dimension));
            of(one, other, axis.size) * axis.stride
        };
        self.axes.iter().enumerate().map(coordinate).sum()
    }

    /// Return the coordinate of a node in a dimension.
    pub fn coordinate(&self, node: u32, dimension: usize) -> u32 {
        let axis = &self.axes[dimension];
        node / axis.stride % axis.size
    }

    /// Return the neighbour of `node` in this direction of a dimension.
    pub fn step(&self, node: u32, dimension: usize, direction: Direction) -> u32 {
        self.node_after(node, dimension, direction, 1)
    }

    /// Return the node that is reached from `node` over `hops` links along a dimension. `hops` must not exceed the size
    /// of the dimension.
    pub fn node_after(&self, node: u32, dimension: usize, direction: Direction, hops: u32) -> u32 {
        let axis = &self.axes[dimension];
        let from = self.coordinate(node, dimension);
        let forward = match direction {
            Direction::Up => hops,
            Direction::Down => axis.size - hops,
        };
        let mut to = from + forward;
        if to >= axis.size {
            to -= axis.size;
        }
        node - from * axis.stride + to * axis.stride
    }

    /// Return the shortest path between two nodes along a dimension; `None` if their coordinates
    /// are equal.
    pub fn offset(&self, from: u32, to: u32, dimension: usize) -> Option<Offset> {
        let size = self.axes[dimension].size;
        let (from, to) = (
            self.coordinate(from, dimension),
            self.coordinate(to, dimension),
        );
        self.shortest_offset(from, to, size)
    }

    /// Return the shortest path from coordinate `from` to coordinate `to` along an axis with `size` nodes; `None` if
    /// the two are equal.
    fn shortest_offset(&self, from: u32, to: u32, size: u32) -> Option<Offset> {
        if from == to {
            return None;
        }
        let around = if to > from { 0 } else { size };
        let up = to + around - from;
        let down = size - up;
        let both = self.kind != Kind::OneWay;
        // Select without a branch: which direction is shorter is unpredictable for the processor.
        let back = both & (down < up);
        Some(Offset {
            hops: select_unpredictable(back, down, up),
            direction: select_unpredictable(back, Direction::Down, Direction::Up),
            tie: both & (up == down),
        })
    }

    /// Return the shortest path from a node to the coordinate of `to` in a dimension; `None` if the
    /// coordinates are equal. The result is that of [`offset`](Self::offset), [`ring`](Self::ring)
    /// and [`node_after`](Self::node_after), but with the fewest divisions. The torus must consist
    /// of lines.
    pub fn line_path(&self, from: u32, to: u32, dimension: usize) -> Option<LinePath> {
        let axis = &self.axes[dimension];
        let begin = from / axis.stride;
        let lines = begin / axis.size;
        let place = begin - lines * axis.size;
        let end = self.coordinate(to, dimension);
        let offset = self.shortest_offset(place, end, axis.size)?;
        let line = lines * axis.stride + (from - begin * axis.stride);
        let rings_per_line = 1 + u32::from(self.kind == Kind::TwoWay);
        Some(LinePath {
            offset,
            end: from - place * axis.stride + end * axis.stride,
            ring: axis.first_ring + line * rings_per_line,
        })
    }

    /// Return the number of the ring of the link that leads from a node along a dimension.
    pub fn ring(&self, node: u32, dimension: usize, direction: Direction) -> u32 {
        let axis = &self.axes[dimension];
        let below = |node, dimension| self.step(node, dimension, Direction::Down);
        match (self.kind, dimension, direction) {
            // A ring goes round a square of four nodes (a face). The face whose lower left corner is node f has the
            // number f.
            (Kind::Faces, 0, Direction::Up) => node,
            (Kind::Faces, 0, Direction::Down) => below(below(node, 0), 1),
            (Kind::Faces, _, Direction::Up) => below(node, 0),
            (Kind::Faces, _, Direction::Down) => below(node, 1),
            (kind, ..) => {
                // Lines are numbered by the coordinates of their nodes without the one along the line.
                let line = node / (axis.stride * axis.size) * axis.stride + node % axis.stride;
                match (kind, direction) {
                    (Kind::TwoWay, Direction::Up) => axis.first_ring + 2 * line,
                    (Kind::TwoWay, Direction::Down) => axis.first_ring + 2 * line + 1,
                    _ => axis.first_ring + line,
                }
            }
        }
    }
}

impl Direction {
    /// Return the opposite direction along the same dimension.
    pub fn opposite(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the formulas for the ring and the two ends of a link agree with an explicit list of the rings.
    #[test]
    fn arithmetic_finds_the_ring_of_each_link() {
        let shapes: [(Kind, &[u32]); 9] = [
            (Kind::OneWay, &[5]),
            (Kind::OneWay, &[3, 4]),
            (Kind::OneWay, &[2, 3, 4]),
            (Kind::TwoWay, &[2]),
            (Kind::TwoWay, &[6]),
            (Kind::TwoWay, &[4, 3]),
            (Kind::TwoWay, &[3, 2, 2, 3]),
            (Kind::Faces, &[3, 3]),
            (Kind::Faces, &[5, 4]),
        ];
        for (kind, sizes) in shapes {
            let grid = Grid::new(kind, sizes);
            let mut links: Vec<(u32, u32, u32)> = Vec::new();
            for (ring, nodes) in grid.rings().iter().enumerate() {
                for (place, &node) in nodes.iter().enumerate() {
                    links.push((ring as u32, node, nodes[(place + 1) % nodes.len()]));
                }
            }
            let mut expected = Vec::new();
            for node in 0..grid.node_count {
                for dimension in 0..sizes.len() {
                    let mut add = |direction| {
                        let ring = grid.ring(node, dimension, direction);
                        expected.push((ring, node, grid.step(node, dimension, direction)));
                    };
                    add(Direction::Up);
                    if kind != Kind::OneWay {
                        add(Direction::Down);
                    }
                }
            }
            links.sort_unstable();
            expected.sort_unstable();
            assert_eq!(links, expected, "{kind:?} {sizes:?}");
        }
    }

    /// Checks that the combined computation of a path along one dimension agrees with the separate computations of
    /// its hops, its end and its ring.
    #[test]
    fn paths_along_a_dimension_agree_with_offset_end_and_ring() {
        let shapes: [(Kind, &[u32]); 4] = [
            (Kind::OneWay, &[5]),
            (Kind::OneWay, &[2, 3, 4]),
            (Kind::TwoWay, &[4, 3]),
            (Kind::TwoWay, &[3, 2, 1, 4]),
        ];
        for (kind, sizes) in shapes {
            let grid = Grid::new(kind, sizes);
            for from in 0..grid.node_count {
                for (to, dimension) in
                    (0..grid.node_count).flat_map(|to| (0..sizes.len()).map(move |at| (to, at)))
                {
                    let line_path = grid.line_path(from, to, dimension);
                    let offset = grid.offset(from, to, dimension);
                    assert_eq!(line_path.map(|line_path| line_path.offset), offset);
                    let Some((line_path, offset)) = line_path.zip(offset) else {
                        continue;
                    };
                    let direction = offset.direction;
                    let end = grid.node_after(from, dimension, direction, offset.hops);
                    assert_eq!(line_path.end, end);
                    let ring = grid.ring(from, dimension, direction);
                    assert_eq!(line_path.ring(direction), ring);
                    if offset.tie {
                        let other = direction.opposite();
                        let ring = grid.ring(from, dimension, other);
                        assert_eq!(line_path.ring(other), ring);
                    }
                }
            }
        }
    }

    /// Checks that the path between two nodes along a dimension takes the direction with fewer hops, and that equal
    /// distances are marked as ties.
    #[test]
    fn offsets_take_the_shorter_way_round() {
        let grid = Grid::new(Kind::TwoWay, &[6, 5]);
        let offset = |from, to, dimension| {
            let offset = grid.offset(from, to, dimension)?;
            Some((offset.hops, offset.direction, offset.tie))
        };
        assert_eq!(offset(0, 2, 0), Some((2, Direction::Up, false)));
        assert_eq!(offset(0, 3, 0), Some((3, Direction::Up, true)));
        assert_eq!(offset(0, 4, 0), Some((2, Direction::Down, false)));
        assert_eq!(offset(0, 4, 1), None);
        assert_eq!(offset(0, 18, 1), Some((2, Direction::Down, false)));
        let one_way = Grid::new(Kind::OneWay, &[6]);
        assert_eq!(one_way.offset(4, 3, 0).map(|offset| offset.hops), Some(5));
    }
}
