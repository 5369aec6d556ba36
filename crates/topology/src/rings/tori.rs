//! Routes on tori of any size, computed from the numbers of the nodes without a table.

use super::Segment;
use super::grid::{Direction, Grid, Kind, Offset};

/// Maximum number of dimensions of a torus. The largest torus has 2^16 nodes, and two along each
/// dimension.
const MAX_DIMENSIONS: usize = 16;

impl Grid {
    /// Append the path dimension by dimension over rings for which `works` returns true. Of two
    /// equally long directions, use one at random, or the intact one. If both are broken in some
    /// dimension, return `None` and leave an incomplete path in `out`.
    pub fn dimension_order(
        &self,
        source: u32,
        destination: u32,
        works: impl Fn(u32) -> bool,
        choose: &mut impl FnMut(u32) -> u32,
        out: &mut Vec<Segment>,
    ) -> Option<()> {
        let mut node = source;
        for dimension in 0..self.dimensions() {
            node = match self.kind() {
                Kind::OneWay | Kind::TwoWay => {
                    let Some(path) = self.line_path(node, destination, dimension) else {
                        continue;
                    };
                    let intact = |direction| works(path.ring(direction));
                    let direction = intact_direction(path.offset, intact, choose)?;
                    // The links along this dimension are one segment, because no ring has links of
                    // two dimensions.
                    out.push(Segment {
                        ring: path.ring(direction),
                        hops: path.offset.hops,
                    });
                    path.end
                }
                Kind::Faces => {
                    let Some(offset) = self.offset(node, destination, dimension) else {
                        continue;
                    };
                    let intact = |direction| {
                        (0..offset.hops).all(|hops| {
                            let node = self.node_after(node, dimension, direction, hops);
                            works(self.ring(node, dimension, direction))
                        })
                    };
                    let direction = intact_direction(offset, intact, choose)?;
                    self.append(node, dimension, direction, offset.hops, out)
                }
            };
        }
        Some(())
    }

    /// Append the links of `hops` hops along one dimension to `out`, and return the node at their
    /// end.
    fn append(
        &self,
        node: u32,
        dimension: usize,
        direction: Direction,
        hops: u32,
        out: &mut Vec<Segment>,
    ) -> u32 {
        match self.kind() {
            Kind::OneWay | Kind::TwoWay => {
                let ring = self.ring(node, dimension, direction);
                extend(out, ring, hops);
            }
            Kind::Faces => {
                let mut at = node;
                for _ in 0..hops {
                    extend(out, self.ring(at, dimension, direction), 1);
                    at = self.step(at, dimension, direction);
                }
            }
        }
        self.node_after(node, dimension, direction, hops)
    }

    /// Append the shortest path whose links along each dimension follow one another. Of two equally
    /// long directions, use the one whose ring has the lower number. The result is that of
    /// [`Routing::Fixed`](super::Routing::Fixed), since rings of lower dimensions have lower
    /// numbers. The torus must consist of lines.
    pub fn lowest_rings(&self, source: u32, destination: u32, out: &mut Vec<Segment>) {
        let mut node = source;
        for dimension in 0..self.dimensions() {
            if let Some(offset) = self.offset(node, destination, dimension) {
                node = self.append(node, dimension, offset.direction, offset.hops, out);
            }
        }
    }

    /// Append a path with the fewest ring changes: one ring for each dimension, in random order.
    /// The torus must consist of lines.
    pub fn random_dimension_order(
        &self,
        source: u32,
        destination: u32,
        choose: &mut impl FnMut(u32) -> u32,
        out: &mut Vec<Segment>,
    ) {
        let mut legs = Legs::between(self, source, destination, choose);
        let mut node = source;
        for first in 0..legs.count {
            let left = (legs.count - first) as u32;
            if left > 1 {
                legs.legs.swap(first, first + choose(left) as usize);
            }
            let leg = legs.legs[first];
            node = self.append(node, leg.dimension, leg.direction, leg.hops, out);
        }
    }

    /// Append a random shortest path: links along all dimensions in random order. The torus must
    /// consist of lines.
    pub fn random_shortest_path(
        &self,
        source: u32,
        destination: u32,
        choose: &mut impl FnMut(u32) -> u32,
        out: &mut Vec<Segment>,
    ) {
        let mut legs = Legs::between(self, source, destination, choose);
        let mut node = source;
        let mut left: u32 = legs.legs[..legs.count].iter().map(|leg| leg.hops).sum();
        while legs.count > 1 {
            // Choose the dimension of the next link with a probability proportional to the number
            // of links that remain along it.
            let mut drawn = choose(left);
            let mut next = 0;
            while drawn >= legs.legs[next].hops {
                drawn -= legs.legs[next].hops;
                next += 1;
            }
            let leg = &mut legs.legs[next];
            node = self.append(node, leg.dimension, leg.direction, 1, out);
            left -= 1;
            leg.hops -= 1;
            if leg.hops == 0 {
                legs.count -= 1;
                legs.legs.swap(next, legs.count);
            }
        }
        if legs.count == 1 {
            let leg = legs.legs[0];
            self.append(node, leg.dimension, leg.direction, leg.hops, out);
        }
    }
}

/// Append `hops` links on a ring to a path. If the last segment of the path is on this ring,
/// lengthen it.
pub(super) fn extend(path: &mut Vec<Segment>, ring: u32, hops: u32) {
    match path.last_mut() {
        Some(last) if last.ring == ring => last.hops += hops,
        _ => path.push(Segment { ring, hops }),
    }
}

/// Return the direction in which the path continues. Of two equally long directions without faults,
/// it is one at random; otherwise it is the one without faults. `None` if there is none.
fn intact_direction(
    offset: Offset,
    intact: impl Fn(Direction) -> bool,
    choose: &mut impl FnMut(u32) -> u32,
) -> Option<Direction> {
    let (first, other) = (offset.direction, offset.direction.opposite());
    match (intact(first), offset.tie && intact(other)) {
        (true, true) => Some(pick_direction([first, other], choose)),
        (true, false) => Some(first),
        (false, true) => Some(other),
        (false, false) => None,
    }
}

/// Return one of two directions at random; `choose` returns a random number below its argument.
fn pick_direction(directions: [Direction; 2], choose: &mut impl FnMut(u32) -> u32) -> Direction {
    directions[choose(2) as usize]
}

/// The links of a path that are still to come along one dimension.
#[derive(Clone, Copy)]
struct Leg {
    dimension: usize,
    direction: Direction,
    hops: u32,
}

/// The links of a path that are still to come, along each dimension in which two nodes differ.
struct Legs {
    legs: [Leg; MAX_DIMENSIONS],
    count: usize,
}

impl Legs {
    /// Return the links of a path between two nodes, by dimension. Of two equally long directions,
    /// one is chosen at random.
    fn between(
        grid: &Grid,
        source: u32,
        destination: u32,
        choose: &mut impl FnMut(u32) -> u32,
    ) -> Self {
        let none = Leg {
            dimension: 0,
            direction: Direction::Up,
            hops: 0,
        };
        let mut legs = Self {
            legs: [none; MAX_DIMENSIONS],
            count: 0,
        };
        for dimension in 0..grid.dimensions() {
            if let Some(offset) = grid.offset(source, destination, dimension) {
                let direction = match offset.tie {
                    true => pick_direction([offset.direction, offset.direction.opposite()], choose),
                    false => offset.direction,
                };
                legs.legs[legs.count] = Leg {
                    dimension,
                    direction,
                    hops: offset.hops,
                };
                legs.count += 1;
            }
        }
        legs
    }
}
