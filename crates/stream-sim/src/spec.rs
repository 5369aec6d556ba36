//! Description of the simulated machine and of its work, as plain values.

use crate::duration::duration_ns;
use strum::{EnumString, IntoStaticStr, VariantNames};

/// The order in which data for the interface cross the dimensions of the torus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Routing {
    /// Down the column to the row at the edge, then along it to the column of the link.
    ColumnFirst,
    /// Along the row to the column of the link, then down that column.
    RowFirst,
}

/// A parallel machine and its network interface. Times are in nanoseconds, rates in bytes per
/// second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Number of rows of cells; row 0 is the edge of the torus at which the interface is.
    pub rows: u32,
    /// Number of columns of cells.
    pub columns: u32,
    /// Rate of each link of the torus in one direction, and of each link to the interface.
    pub link_bytes_per_s: u64,
    /// Number of links to the interface, spread evenly over the columns.
    pub links: u32,
    /// Order of the dimensions in which data for the interface cross the torus.
    pub routing: Routing,
    /// Properties of each cell.
    pub cell: Cell,
    /// Properties of the network interface.
    pub interface: Interface,
}

/// Properties of a cell: a processor with memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// Cycle time of the processor of a cell.
    pub cycle_ns: u64,
    /// Number of bytes of a word.
    pub word_bytes: u64,
    /// Rate at which the processor of a cell moves data if it moves every byte itself.
    pub copy_bytes_per_s: u64,
    /// Time to start a message between cells.
    pub message_ns: u64,
}

/// Properties of the transmit side of the network interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Number of processors of the interface, each with a memory bus of its own.
    pub processors: u32,
    /// Rate of the memory bus of one processor.
    pub bus_bytes_per_s: u64,
    /// Number of times that each byte crosses the memory bus of the interface.
    pub crossings: u32,
    /// Size of the staging memory of the interface in bytes.
    pub staging_bytes: u64,
    /// Size of the network memory of the interface in bytes.
    pub memory_bytes: u64,
    /// Number of DMA engines for links.
    pub engines: u32,
    /// Time of the interface's processor to set up the transfer of one message with a large block.
    pub message_ns: u64,
    /// Time of the interface's processor for each message with a small block, which it copies to
    /// the position of the block in the transfer unit.
    pub place_ns: u64,
    /// Rate of the engine that moves data from staging memory to network memory.
    pub store_bytes_per_s: u64,
    /// Time of the interface's processor to hand over a packet to the microcode.
    pub packet_ns: u64,
    /// Time of the interface's processor for the headers of a packet of UDP over IP.
    pub udp_ns: u64,
    /// Maximum number of packets that the microcode sends in a second.
    pub packets_per_s: u64,
    /// Rate of the external network.
    pub network_bytes_per_s: u64,
}

/// Origin of the data of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum From {
    /// The data come from the cells.
    Cells,
    /// The data are already in the staging memory of the interface.
    Interface,
}

/// Destination of the data of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum To {
    /// The data stay in the cells, which only reshuffle them.
    Cells,
    /// The data go to the memory of the interface.
    Interface,
    /// The data go to the external network.
    Network,
}

/// Method that combines small blocks into large ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Reshuffle {
    /// No reshuffling: each cell sends its data as one block, and the order of the data is lost.
    Streaming,
    /// No reshuffling: the interface copies each small block to its position.
    None,
    /// The cells exchange blocks, and their processors move every byte.
    Slow,
    /// The cells exchange blocks, and their communication agents move the bytes.
    Fast,
}

impl Reshuffle {
    /// Return whether the cells exchange blocks with this method.
    pub fn exchanges(self) -> bool {
        matches!(self, Self::Slow | Self::Fast)
    }
}

/// Protocol of the packets on the external network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Protocol {
    /// Packets of the external network without further headers.
    Raw,
    /// Packets of UDP over IP.
    Udp,
}

/// The work of a machine: a stream of application data units (ADUs), which consist of transfer
/// units (TUs).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// Where the data of the stream start.
    pub from: From,
    /// Where the data of the stream end.
    pub to: To,
    /// Method that combines small blocks into large ones.
    pub reshuffle: Reshuffle,
    /// Number of bytes of the blocks that are dealt cyclically to the cells of a row.
    pub block_bytes: u64,
    /// Number of bytes of an application data unit (ADU). An ADU is distributed over rows of cells,
    /// of which each has whole transfer units (TUs).
    pub adu_bytes: u64,
    /// Number of bytes of a transfer unit (TU), of which each cell of a row has an equal part.
    pub tu_bytes: u64,
    /// Number of bytes of a packet.
    pub packet_bytes: u64,
    /// Number of links over which a transfer unit is striped.
    pub links: u32,
    /// Number of application data units (ADUs) of the stream.
    pub adus: u64,
    /// Rate at which the application produces data, as application data units at equal intervals.
    /// `None`: an application data unit is available as soon as the previous one is sent.
    pub load_bytes_per_s: Option<u64>,
    /// Protocol of the packets on the external network.
    pub protocol: Protocol,
    /// Reserved rate for the data that one cell sends to the interface, in bytes per second.
    pub reservation_bytes_per_s: Option<u64>,
}

impl Work {
    /// Return the number of transfer units (TUs) of an application data unit (ADU).
    pub fn tus(&self) -> u64 {
        self.adu_bytes / self.tu_bytes
    }

    /// Return the number of transfer units of an application data unit that one row of `machine`
    /// holds; the last rows may hold fewer or none.
    pub fn tus_of_row(&self, machine: &Machine) -> u64 {
        self.tus().div_ceil(machine.rows.into())
    }

    /// Return the number of bytes of the blocks in which a cell of `machine` sends its part of a
    /// transfer unit to the interface.
    pub fn sent_bytes(&self, machine: &Machine) -> u64 {
        match self.reshuffle {
            Reshuffle::None => self.block_bytes,
            _ => self.share_bytes(machine),
        }
    }

    /// Return the time in nanoseconds that the processor of the interface needs for each message
    /// from a cell.
    pub fn set_up_ns(&self, machine: &Machine) -> u64 {
        match self.sent_bytes(machine) < self.share_bytes(machine) {
            true => machine.interface.place_ns,
            false => machine.interface.message_ns,
        }
    }

    /// Return the time in nanoseconds between two application data units; `None` if no rate is set.
    pub fn gap_ns(&self) -> Option<u64> {
        self.load_bytes_per_s
            .map(|load| duration_ns(self.adu_bytes, load).max(1))
    }

    /// Return the number of bytes of a transfer unit in each cell of `machine`.
    pub fn share_bytes(&self, machine: &Machine) -> u64 {
        self.tu_bytes / u64::from(machine.columns)
    }
}
