//! The machine and its work, as plain values.

use crate::duration::duration_ns;
use strum::{EnumString, IntoStaticStr, VariantNames};

/// The order in which data for the interface take the dimensions of the torus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Routing {
    /// Down the column to the row at the edge, then along it to the column of the link.
    ColumnFirst,
    /// Along the row to the column of the link, then down that.
    RowFirst,
}

/// A parallel machine and its network interface. Times are in nanoseconds, rates in bytes per
/// second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Rows of cells; row 0 is the edge at which the interface is.
    pub rows: u32,
    /// Columns of cells.
    pub columns: u32,
    /// What a link of the torus carries one way, and each link to the interface.
    pub link_bytes_per_s: u64,
    /// Links to the interface, spread evenly over the columns.
    pub links: u32,
    /// How data find the interface.
    pub routing: Routing,
    /// The cells.
    pub cell: Cell,
    /// The interface.
    pub interface: Interface,
}

/// One cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// Time of a cycle of its processor.
    pub cycle_ns: u64,
    /// Bytes of a word.
    pub word_bytes: u64,
    /// What its processor moves if it moves every byte itself.
    pub copy_bytes_per_s: u64,
    /// Time to begin a message.
    pub message_ns: u64,
}

/// The transmit pipe of the interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its processors, each with a memory bus of its own.
    pub processors: u32,
    /// What the memory bus of one carries.
    pub bus_bytes_per_s: u64,
    /// How often data cross it.
    pub crossings: u32,
    /// Bytes of staging memory.
    pub staging_bytes: u64,
    /// Bytes of network memory.
    pub memory_bytes: u64,
    /// DMA engines for links.
    pub engines: u32,
    /// Time of its processor to set up the transfer of one message from a link, of a large block.
    pub message_ns: u64,
    /// Time of its processor for each message of a small block, which it takes to its place.
    pub place_ns: u64,
    /// What moves from staging to network memory.
    pub store_bytes_per_s: u64,
    /// Time of its processor to hand over a packet.
    pub packet_ns: u64,
    /// Time of its processor for the headers of a packet of UDP over IP.
    pub udp_ns: u64,
    /// Packets that it sends in a second at most.
    pub packets_per_s: u64,
    /// What the external network carries.
    pub network_bytes_per_s: u64,
}

/// Where data come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum From {
    /// From the cells.
    Cells,
    /// They lie in staging memory already.
    Interface,
}

/// Where data go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum To {
    /// Other cells: they are reshuffled, and that is all.
    Cells,
    /// The memory of the interface.
    Interface,
    /// The external network.
    Network,
}

/// How small blocks become large ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Reshuffle {
    /// They do not: each cell sends what it holds, and its order is lost.
    Streaming,
    /// They do not: the interface takes each block to its place.
    None,
    /// The cells exchange them, and their processors move every byte.
    Slow,
    /// The cells exchange them, and their communication agents do.
    Fast,
}

impl Reshuffle {
    /// Whether cells exchange anything.
    pub fn exchanges(self) -> bool {
        matches!(self, Self::Slow | Self::Fast)
    }
}

/// What makes packets of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Protocol {
    /// Packets of the network itself.
    Raw,
    /// UDP over IP.
    Udp,
}

/// A stream of application data units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// Where data come from.
    pub from: From,
    /// Where they go to.
    pub to: To,
    /// How small blocks become large ones.
    pub reshuffle: Reshuffle,
    /// Bytes of the blocks that go round the cells of a row.
    pub block_bytes: u64,
    /// Bytes of an ADU: rows one after another, each of whole TUs.
    pub adu_bytes: u64,
    /// Bytes of a TU: a part of each cell of a row.
    pub tu_bytes: u64,
    /// Bytes of a packet.
    pub packet_bytes: u64,
    /// Links that a TU is striped over.
    pub links: u32,
    /// How many ADUs.
    pub adus: u64,
    /// Data that the application makes in a second, in ADUs at equal gaps; none if an ADU is there
    /// as soon as the one before has gone.
    pub load_bytes_per_s: Option<u64>,
    /// What makes packets of them.
    pub protocol: Protocol,
    /// The rate that is reserved for what one cell sends to the interface, in bytes per second.
    pub reservation_bytes_per_s: Option<u64>,
}

impl Work {
    /// TUs of an ADU.
    pub fn tus(&self) -> u64 {
        self.adu_bytes / self.tu_bytes
    }

    /// TUs of an ADU that one row of `machine` holds; the last rows may hold fewer or none.
    pub fn tus_of_row(&self, machine: &Machine) -> u64 {
        self.tus().div_ceil(machine.rows.into())
    }

    /// Bytes of the blocks in which a cell of `machine` sends its part of a TU to the interface.
    pub fn sent_bytes(&self, machine: &Machine) -> u64 {
        match self.reshuffle {
            Reshuffle::None => self.block_bytes,
            _ => self.share_bytes(machine),
        }
    }

    /// Time of the interface's processor for each message from a cell.
    pub fn set_up_ns(&self, machine: &Machine) -> u64 {
        match self.sent_bytes(machine) < self.share_bytes(machine) {
            true => machine.interface.place_ns,
            false => machine.interface.message_ns,
        }
    }

    /// Time between two ADUs that the application makes.
    pub fn gap_ns(&self) -> Option<u64> {
        self.load_bytes_per_s
            .map(|load| duration_ns(self.adu_bytes, load).max(1))
    }

    /// Bytes that a cell of `machine` has of a TU.
    pub fn share_bytes(&self, machine: &Machine) -> u64 {
        self.tu_bytes / u64::from(machine.columns)
    }
}
