//! Widths of the links of a hypercube with I/O nodes.

/// Lanes of each kind of link of the interface of Fig. 2 of the hypercube paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lanes {
    /// k: PE to router and back.
    pub pe: u32,
    /// Router dimension links (the paper has 1).
    pub link: u32,
    /// m: PE router to I/O node and back.
    pub io_node: u32,
    /// r: I/O node to I/O router and back.
    pub io_source: u32,
    /// b: I/O router dimension links; 0 means that there is no I/O network.
    pub io_link: u32,
    /// n: I/O router to PE router.
    pub io_to_pe: u32,
}

impl Lanes {
    /// Return the widths of section 5.1 for a `dimension`-cube and I/O links of width `b`:
    /// k = d+2, m = d+1, r = n = 4b.
    pub const fn paper(dimension: u32, b: u32) -> Self {
        Self {
            pe: dimension + 2,
            link: 1,
            io_node: dimension + 1,
            io_source: 4 * b,
            io_link: b,
            io_to_pe: 4 * b,
        }
    }
}
