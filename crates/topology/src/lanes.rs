//! Numbers of lanes of the links of a hypercube with I/O nodes.

/// Number of lanes of each kind of link in Fig. 2 of the hypercube paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lanes {
    /// k: lanes from a PE to its router and back.
    pub pe: u32,
    /// Lanes of the links between PE routers (the paper has 1).
    pub link: u32,
    /// m: lanes from a PE router to its I/O node and back.
    pub io_node: u32,
    /// r: lanes from an I/O node to its I/O router and back.
    pub io_source: u32,
    /// b: lanes of the links between I/O routers; 0 means that there is no I/O network.
    pub io_link: u32,
    /// n: lanes from an I/O router to a PE router.
    pub io_to_pe: u32,
}

impl Lanes {
    /// Return the numbers of lanes of section 5.1 for a `dimension`-cube and I/O links of `b`
    /// lanes: k = d+2, m = d+1, r = n = 4b.
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
