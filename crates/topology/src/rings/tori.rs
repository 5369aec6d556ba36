//! Routes on tori by arithmetic: no table, whatever the size.

use super::Segment;
use super::grid::{Direction, Grid, Kind, Offset};

/// Most dimensions of a torus: 2^16 nodes with two along each.
const MAX_DIMENSIONS: usize = 16;

impl Grid {
    /// Dimension by dimension over rings that `works` says are in service. Of two equally long
    /// directions one at random, or the one that is left. `None`, and a broken path in `out`, when
    /// both are cut in some dimension.
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
                    let Some(way) = self.way(node, destination, dimension) else {
                        continue;
                    };
                    let intact = |direction| works(way.ring(direction));
                    let direction = in_service(way.offset, intact, choose)?;
                    // Lines of one dimension share no ring with those of another.
                    out.push(Segment {
                        ring: way.ring(direction),
                        hops: way.offset.hops,
                    });
                    way.end
                }
                Kind::Faces => {
                    let Some(offset) = self.offset(node, destination, dimension) else {
                        continue;
                    };
                    let intact = |direction| {
                        (0..offset.hops).all(|hops| {
                            let node = self.moved(node, dimension, direction, hops);
                            works(self.ring(node, dimension, direction))
                        })
                    };
                    let direction = in_service(offset, intact, choose)?;
                    self.go(node, dimension, direction, offset.hops, out)
                }
            };
        }
        Some(())
    }

    /// Appends the links along one dimension; gives the node where they end.
    fn go(
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
        self.moved(node, dimension, direction, hops)
    }

    /// Dimension by dimension, of two equally long directions the one with the lower ring: what
    /// [`Routing::Fixed`](super::Routing::Fixed) says, as the rings of lower dimensions have the
    /// lower numbers. For tori of lines only.
    pub fn lowest_rings(&self, source: u32, destination: u32, out: &mut Vec<Segment>) {
        let mut node = source;
        for dimension in 0..self.dimensions() {
            if let Some(offset) = self.offset(node, destination, dimension) {
                node = self.go(node, dimension, offset.direction, offset.hops, out);
            }
        }
    }

    /// One ring for each dimension, in any order of them: the paths with the fewest ring changes.
    /// For tori of lines only.
    pub fn any_dimension_order(
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
            node = self.go(node, leg.dimension, leg.direction, leg.hops, out);
        }
    }

    /// Any shortest path: the links along the dimensions in any mixture. For tori of lines only.
    pub fn any_mixture(
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
            // The paths whose next link is along a dimension are that share of all which its links
            // are of all links left.
            let mut drawn = choose(left);
            let mut next = 0;
            while drawn >= legs.legs[next].hops {
                drawn -= legs.legs[next].hops;
                next += 1;
            }
            let leg = &mut legs.legs[next];
            node = self.go(node, leg.dimension, leg.direction, 1, out);
            left -= 1;
            leg.hops -= 1;
            if leg.hops == 0 {
                legs.count -= 1;
                legs.legs.swap(next, legs.count);
            }
        }
        if legs.count == 1 {
            let leg = legs.legs[0];
            self.go(node, leg.dimension, leg.direction, leg.hops, out);
        }
    }
}

/// Adds links to a path; on the ring that it is on, they prolong the last stretch.
pub(super) fn extend(path: &mut Vec<Segment>, ring: u32, hops: u32) {
    match path.last_mut() {
        Some(last) if last.ring == ring => last.hops += hops,
        _ => path.push(Segment { ring, hops }),
    }
}

/// The direction to take: of two equally long ones that are intact one at random, or the one that
/// is intact.
fn in_service(
    offset: Offset,
    intact: impl Fn(Direction) -> bool,
    choose: &mut impl FnMut(u32) -> u32,
) -> Option<Direction> {
    let (first, other) = (offset.direction, offset.direction.opposite());
    match (intact(first), offset.tie && intact(other)) {
        (true, true) => Some(pick([first, other], choose)),
        (true, false) => Some(first),
        (false, true) => Some(other),
        (false, false) => None,
    }
}

fn pick(directions: [Direction; 2], choose: &mut impl FnMut(u32) -> u32) -> Direction {
    directions[choose(2) as usize]
}

/// What is to go along one dimension.
#[derive(Clone, Copy)]
struct Leg {
    dimension: usize,
    direction: Direction,
    hops: u32,
}

/// One leg for each dimension in which two nodes differ.
struct Legs {
    legs: [Leg; MAX_DIMENSIONS],
    count: usize,
}

impl Legs {
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
                    true => pick([offset.direction, offset.direction.opposite()], choose),
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
