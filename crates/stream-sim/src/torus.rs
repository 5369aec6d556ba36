//! Numbers all links of the machine from 0, and computes the routes over them.
//!
//! Cell (x, y) has the number y * columns + x. First come the links of each cell to the next cell
//! in both directions of both dimensions. Then come the links to the interface, the memory bus of
//! the interface, and the processor of each cell, which counts as a link for the bytes that it
//! moves.

use crate::duration::SECOND_NS;
use crate::error::Error;
use crate::spec::{Machine, Routing};
use isthmus_flow::Rate;

/// Convert bytes per second to a rate of the flow engine. An error names the scenario field
/// `field`.
pub(crate) fn rate(field: &'static str, bytes_per_s: u64) -> Result<Rate, Error> {
    Rate::new(bytes_per_s, SECOND_NS).map_err(|_| {
        let problem = format!("{bytes_per_s} B/s is too slow to be counted");
        Error::new(field, problem, "give 60 B/s or more")
    })
}

/// Kind of a link of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    /// Link of the torus: the cell from which it leads, and the cell to which it leads.
    Torus(u32, u32),
    /// The link from this cell to the network interface.
    Interface(u32),
    /// The memory bus of the network interface.
    Bus,
    /// The processor of the cell with this number, which counts as a link for the bytes that it moves.
    Processor(u32),
}

/// Size and routing of a simulated torus of cells with links to a network interface. They determine
/// the number of links and the routes.
#[derive(Debug, Clone)]
pub(crate) struct Torus {
    rows: u32,
    columns: u32,
    links: u32,
    routing: Routing,
}

impl Torus {
    /// Return size and routing of the torus in `machine`.
    pub fn new(machine: &Machine) -> Self {
        Self {
            rows: machine.rows,
            columns: machine.columns,
            links: machine.links,
            routing: machine.routing,
        }
    }

    /// Return the number of cells of the machine.
    fn cells(&self) -> u32 {
        self.rows * self.columns
    }

    /// Return the number of the cell in column `x` and row `y`.
    pub fn cell(&self, x: u32, y: u32) -> u32 {
        y * self.columns + x
    }

    /// Return the column of the cell from which link number `link` to the network interface leads.
    pub fn column_of(&self, link: u32) -> u32 {
        link * (self.columns / self.links)
    }

    /// Return the number of link number `link` to the network interface among all links of the
    /// machine.
    fn interface(&self, link: u32) -> u32 {
        4 * self.cells() + link
    }

    /// Return the number of the link that stands for the memory bus of the network interface.
    fn bus(&self) -> u32 {
        self.interface(self.links)
    }

    /// Return the number of the link that stands for the processor of this cell.
    fn processor(&self, cell: u32) -> u32 {
        self.bus() + 1 + cell
    }

    /// Return the kind of each link, in the order of their numbers.
    pub fn kinds(&self) -> Vec<LinkKind> {
        let around = (0..self.cells()).flat_map(|cell| {
            let (x, y) = (cell % self.columns, cell / self.columns);
            let (right, left) = (
                (x + 1) % self.columns,
                (x + self.columns - 1) % self.columns,
            );
            let (down, up) = ((y + 1) % self.rows, (y + self.rows - 1) % self.rows);
            [
                self.cell(right, y),
                self.cell(left, y),
                self.cell(x, down),
                self.cell(x, up),
            ]
            .map(|to| LinkKind::Torus(cell, to))
        });
        let interface = (0..self.links).map(|link| LinkKind::Interface(self.column_of(link)));
        let processors = (0..self.cells()).map(LinkKind::Processor);
        around
            .chain(interface)
            .chain([LinkKind::Bus])
            .chain(processors)
            .collect()
    }

    /// Return the capacity of each link in the order of link numbers. It includes the bus and the
    /// processors, which count as links.
    pub fn capacities(&self, machine: &Machine) -> Result<Vec<Rate>, Error> {
        let link = rate("machine.bandwidth", machine.link_bytes_per_s)?;
        let interface = &machine.interface;
        let bus = interface
            .bus_bytes_per_s
            .saturating_mul(interface.processors.into())
            / u64::from(interface.crossings.max(1));
        let bus = rate("machine.interface.bus", bus)?;
        let copy = rate("machine.cell.copy", machine.cell.copy_bytes_per_s)?;
        let kinds = self.kinds().into_iter();
        Ok(kinds
            .map(|kind| match kind {
                LinkKind::Torus(..) | LinkKind::Interface(_) => link,
                LinkKind::Bus => bus,
                LinkKind::Processor(_) => copy,
            })
            .collect())
    }

    /// Append to `path` the links of row `y` from column `from` to column `to`, in the shorter
    /// direction. If both directions are equally long, the route leads to the right.
    fn along_row(&self, y: u32, from: u32, to: u32, path: &mut Vec<u32>) {
        let right = (to + self.columns - from) % self.columns;
        let mut x = from;
        while x != to {
            let rightwards = right <= self.columns - right;
            path.push(4 * self.cell(x, y) + u32::from(!rightwards));
            let step = if rightwards { 1 } else { self.columns - 1 };
            x = (x + step) % self.columns;
        }
    }

    /// Append to `path` the links of column `x` from row `from` to row `to`, in the shorter
    /// direction. If both directions are equally long, the route leads towards row 0.
    fn along_column(&self, x: u32, from: u32, to: u32, path: &mut Vec<u32>) {
        let down = (to + self.rows - from) % self.rows;
        let mut y = from;
        while y != to {
            let downwards = down < self.rows - down;
            path.push(4 * self.cell(x, y) + 2 + u32::from(!downwards));
            let step = if downwards { 1 } else { self.rows - 1 };
            y = (y + step) % self.rows;
        }
    }

    /// Return the links of the route from cell (x, y) over link `link` to the network interface,
    /// and through its memory bus.
    pub fn to_interface(&self, x: u32, y: u32, link: u32) -> Vec<u32> {
        let (mut path, at) = (Vec::new(), self.column_of(link));
        match self.routing {
            Routing::ColumnFirst => {
                self.along_column(x, y, 0, &mut path);
                self.along_row(0, x, at, &mut path);
            }
            Routing::RowFirst => {
                self.along_row(y, x, at, &mut path);
                self.along_column(at, y, 0, &mut path);
            }
        }
        path.extend([self.interface(link), self.bus()]);
        path
    }

    /// Return the links of the route from a cell to another cell of its row. If `by_processors`,
    /// the route includes the processors of all cells on it.
    pub fn in_row(&self, y: u32, from: u32, to: u32, by_processors: bool) -> Vec<u32> {
        let mut path = Vec::new();
        self.along_row(y, from, to, &mut path);
        if by_processors {
            let begins: Vec<u32> = path.iter().map(|link| link / 4).collect();
            let cells = begins.into_iter().chain([self.cell(to, y)]);
            path.extend(cells.map(|cell| self.processor(cell)).collect::<Vec<_>>());
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that a bandwidth that is too low for the engine is refused, and that the lowest and
    /// the highest possible one are not.
    #[test]
    fn too_slow_links_cause_an_error_with_a_hint() {
        assert!(rate("machine.bandwidth", 59).is_err());
        assert!(rate("machine.bandwidth", 60).is_ok());
        assert!(rate("machine.bandwidth", u64::MAX).is_ok());
    }

    /// Return a torus of 8 x 8 cells with 4 links to the network interface and this routing.
    fn torus(routing: Routing) -> Torus {
        Torus {
            rows: 8,
            columns: 8,
            links: 4,
            routing,
        }
    }

    /// Return the kinds of the links of a path, in the order of the path.
    fn kinds_of_path(torus: &Torus, path: &[u32]) -> Vec<LinkKind> {
        let kinds = torus.kinds();
        path.iter().map(|&link| kinds[link as usize]).collect()
    }

    /// Checks that a route from column 3 of row 2 crosses the dimensions in the right order: two
    /// rows up, and one column to the left, to link 1.
    #[test]
    fn routes_follow_the_order_of_dimensions() {
        let first = torus(Routing::ColumnFirst);
        let way = kinds_of_path(&first, &first.to_interface(3, 2, 1));
        let expected = [
            LinkKind::Torus(19, 11),
            LinkKind::Torus(11, 3),
            LinkKind::Torus(3, 2),
            LinkKind::Interface(2),
            LinkKind::Bus,
        ];
        assert_eq!(way, expected);
        let other = torus(Routing::RowFirst);
        let way = kinds_of_path(&other, &other.to_interface(3, 2, 1));
        assert_eq!(way[0], LinkKind::Torus(19, 18));
        assert_eq!(way[1], LinkKind::Torus(18, 10));
    }

    /// Checks that routes take the shorter direction: on a torus of 8 rows, row 7 is next to row 0.
    #[test]
    fn routes_take_the_shorter_direction() {
        let torus = torus(Routing::ColumnFirst);
        let way = kinds_of_path(&torus, &torus.to_interface(0, 7, 0));
        assert_eq!(way[0], LinkKind::Torus(56, 0));
        assert_eq!(way.len(), 3);
        assert_eq!(torus.in_row(3, 1, 7, false).len(), 2);
        assert_eq!(torus.in_row(3, 1, 5, false).len(), 4);
    }

    /// Checks that a route includes, beside its two links, the processors of the three cells at
    /// their ends.
    #[test]
    fn routes_include_the_processor_of_every_cell() {
        let torus = torus(Routing::ColumnFirst);
        let way = kinds_of_path(&torus, &torus.in_row(1, 0, 2, true));
        let cells = [8, 9, 10].map(LinkKind::Processor);
        assert_eq!(way[..2], [LinkKind::Torus(8, 9), LinkKind::Torus(9, 10)]);
        assert_eq!(way[2..], cells);
    }
}
