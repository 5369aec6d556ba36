//! Channels on the path of each message class, in a hypercube with I/O nodes.
//!
//! Each channel costs one cycle, so without contention the header of a message needs as many
//! cycles as its path has channels. Lanes: k between PE and router, m between router and I/O node,
//! r between I/O node and I/O router, n from I/O router to router.
//!
//! | class | path |
//! |---|---|
//! | PE-PE | k, e-cube, k |
//! | request, write | k, e-cube to the own class I PE, m |
//! | forward | r, I/O e-cube, r (without an I/O network: m, e-cube, m) |
//! | local reply | m, e-cube, k |
//! | remote reply | r, I/O e-cube, n, e-cube, k (without an I/O network: m, e-cube, k) |

use serde::{Deserialize, Serialize};

/// Purpose of a message in a hypercube with I/O nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageClass {
    /// A message between two PEs.
    PePe,
    /// A read request from a PE to its local I/O node.
    Request,
    /// A write request, data included, from a PE to its local I/O node.
    Write,
    /// A read request that the local I/O node forwards to the remote I/O node that stores the block.
    Forward,
    /// A block that the local I/O node sends to the PE.
    ReplyLocal,
    /// A block that a remote I/O node sends to the PE.
    ReplyRemote,
}

impl MessageClass {
    /// All message classes, in the order of results.
    pub const ALL: [Self; 6] = [
        Self::PePe,
        Self::Request,
        Self::Write,
        Self::Forward,
        Self::ReplyLocal,
        Self::ReplyRemote,
    ];

    /// Return the name of the class in scenarios and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PePe => "pe_pe",
            Self::Request => "request",
            Self::Write => "write",
            Self::Forward => "forward",
            Self::ReplyLocal => "reply_local",
            Self::ReplyRemote => "reply_remote",
        }
    }
}
