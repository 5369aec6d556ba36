//! Numbers of lanes of the links of a hypercube with I/O nodes.

/// Number of lanes of each kind of link in Fig. 2 of the hypercube paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lanes {
    /// Number of lanes from a PE (processing element) to its router and back; k in the paper.
    pub pe: u32,
    /// Number of lanes of each link between PE routers; 1 in the paper.
    pub link: u32,
    /// Number of lanes from a PE router to its I/O node and back; m in the paper.
    pub io_node: u32,
    /// Number of lanes from an I/O node to its I/O router and back; r in the paper.
    pub io_source: u32,
    /// Number of lanes of each link between I/O routers, b in the paper; 0 means no I/O network.
    pub io_link: u32,
    /// Number of lanes from an I/O router to a PE router; n in the paper.
    pub io_to_pe: u32,
}

impl Lanes {
    /// Return the numbers of lanes in section 5.1 of the hypercube paper, for a cube of `dimension`
    /// dimensions and I/O links of `b` lanes: k = d+2, m = d+1, r = n = 4b.
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
