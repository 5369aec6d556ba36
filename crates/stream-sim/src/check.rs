//! Checks that the description of a machine is valid, and that the machine can do its work.

use crate::error::Error;
use crate::spec::{From, Machine, Reshuffle, To, Work};

/// Maximum number of cells (processors with memory) of a machine.
pub const CELLS_MAX: u32 = 4096;

/// Maximum number of messages to the interface and packets in one run.
const MESSAGES_MAX: u64 = 4_000_000;

/// Maximum number of striping units (SUs) in a transfer unit (TU); the stream manager has the same
/// limit.
const PIECES_MAX: u64 = 1 << 16;

/// Check that the description of a machine is valid.
///
/// # Errors
/// The first field that is invalid or contradicts other fields.
pub fn check_machine(machine: &Machine) -> Result<(), Error> {
    let (rows, columns, links) = (machine.rows, machine.columns, machine.links);
    let cells = u64::from(rows) * u64::from(columns);
    if cells == 0 || cells > u64::from(CELLS_MAX) {
        let problem = format!("{cells} cells");
        let hint = format!("give 1 to {CELLS_MAX} by machine.rows and machine.columns");
        return Err(Error::new("machine.rows", problem, hint));
    }
    if links == 0 || !columns.is_multiple_of(links) {
        let problem = format!("{links} links for {columns} columns");
        let hint = "give as many columns to each link: a divisor of their number";
        return Err(Error::new("machine.links", problem, hint));
    }
    let engines = machine.interface.engines;
    if engines == 0 {
        let problem = "no engine takes data from a link";
        let hint = "give 1 or more";
        return Err(Error::new("machine.interface.engines", problem, hint));
    }
    Ok(())
}

/// Check that a machine can do this work.
///
/// # Errors
/// The first field that is invalid or contradicts other fields.
pub fn check_work(machine: &Machine, work: &Work) -> Result<(), Error> {
    check_sizes(machine, work)?;
    check_links(machine, work)?;
    if work.from == From::Interface && work.to != To::Network {
        let problem = "data that lie in the interface already can only go to the network";
        let hint = "set workload.sink = \"network\"";
        return Err(Error::new("workload.sink", problem, hint));
    }
    if work.from == From::Interface && work.load_bytes_per_s.is_some() {
        let problem = "cells make no data where these lie in the interface already";
        let hint = "remove it, or set workload.origin = \"cells\"";
        return Err(Error::new("workload.load", problem, hint));
    }
    if work.to == To::Cells && !work.reshuffle.exchanges() {
        let problem = "nothing moves if data stay in the cells and are not reshuffled";
        let hint = "set workload.reshuffle = \"fast\" or \"slow\"";
        return Err(Error::new("workload.reshuffle", problem, hint));
    }
    let whole = machine.columns == 1 || work.block_bytes == work.share_bytes(machine);
    if work.to == To::Cells && whole {
        let problem = "nothing moves: each cell has its part of a TU in one block already";
        let hint = "give smaller ones, and several columns";
        return Err(Error::new("workload.block", problem, hint));
    }
    check_pieces(machine, work)?;
    check_length(machine, work)
}

/// Check the number of striping units (SUs) of a transfer unit (TU): the manager accepts at most
/// [`PIECES_MAX`].
fn check_pieces(machine: &Machine, work: &Work) -> Result<(), Error> {
    let sent = work.sent_bytes(machine);
    let rounds = work.tu_bytes / (sent * u64::from(machine.columns));
    let pieces = rounds.saturating_mul(u64::from(work.links));
    if work.to == To::Cells || pieces <= PIECES_MAX {
        return Ok(());
    }
    let problem = format!("{sent} B make {pieces} pieces of a TU for the links");
    let hint = format!("give larger ones: at most {PIECES_MAX} pieces can be, or a smaller TU");
    Err(Error::new("workload.block", problem, hint))
}

/// Path of the scenario field for the size of staging memory, for error messages.
const STAGING: &str = "machine.interface.staging";
/// Path of the scenario field for the size of network memory, for error messages.
const MEMORY: &str = "machine.interface.memory";

/// Return the error for a transfer unit (TU) that is too large for a memory. `most` is the maximum
/// size of a TU in the memory, and the memory must have room for `times` TUs. The hint is a smaller
/// TU with a part for each column, or a larger memory.
fn too_long(
    tu: u64,
    problem: String,
    most: u64,
    columns: u64,
    (memory, times): (&'static str, u64),
) -> Error {
    let needed = tu.saturating_mul(times);
    match most / columns * columns {
        0 => Error::new(memory, problem, format!("give {needed} B or more")),
        fits => {
            let hint = format!("give at most {fits} B, or set {memory} to {needed} B or more");
            Error::new("workload.tu", problem, hint)
        }
    }
}

/// Check the sizes of the units of data: transfer unit (TU), application data unit (ADU), block and
/// packet.
fn check_sizes(machine: &Machine, work: &Work) -> Result<(), Error> {
    let (tu, columns) = (work.tu_bytes, u64::from(machine.columns));
    if tu == 0 || !tu.is_multiple_of(columns) {
        let problem = format!("{tu} B over {columns} columns");
        let hint = "give a multiple of the columns: each cell of a row has a part of it";
        return Err(Error::new("workload.tu", problem, hint));
    }
    let (staging, memory) = (
        machine.interface.staging_bytes,
        machine.interface.memory_bytes,
    );
    if tu.saturating_mul(2) > staging {
        let problem = format!("two buffers of {tu} B and {staging} B of staging memory");
        return Err(too_long(tu, problem, staging / 2, columns, (STAGING, 2)));
    }
    if tu > memory {
        let problem = format!("{tu} B and {memory} B of network memory");
        return Err(too_long(tu, problem, memory, columns, (MEMORY, 1)));
    }
    let adu = work.adu_bytes;
    if adu == 0 || !adu.is_multiple_of(tu) {
        let problem = format!("{adu} B are not whole TUs of {tu} B");
        let hint = "give a multiple of workload.tu";
        return Err(Error::new("workload.adu", problem, hint));
    }
    let (share, block) = (work.share_bytes(machine), work.block_bytes);
    let in_blocks = match work.reshuffle {
        Reshuffle::Streaming => false,
        Reshuffle::None => true,
        Reshuffle::Slow | Reshuffle::Fast => work.from == From::Cells,
    };
    if in_blocks && (block == 0 || !share.is_multiple_of(block)) {
        let problem = format!("{block} B do not divide the {share} B that a cell has of a TU");
        let hint = format!("give a divisor of {share} B");
        return Err(Error::new("workload.block", problem, hint));
    }
    if work.packet_bytes == 0 || work.packet_bytes > tu {
        let problem = format!("{} B with TUs of {tu} B", work.packet_bytes);
        let hint = "give a TU or a part of it";
        return Err(Error::new("workload.packet", problem, hint));
    }
    Ok(())
}

/// Check the number of links of the stream and its reservation on them.
fn check_links(machine: &Machine, work: &Work) -> Result<(), Error> {
    let (links, there) = (work.links, machine.links);
    if links == 0 || links > there || !there.is_multiple_of(links) {
        let problem = format!("{links} of {there} links");
        let hint = "give a divisor of machine.links, so that columns divide evenly";
        return Err(Error::new("workload.stripes", problem, hint));
    }
    if work.to != To::Cells && links > machine.interface.engines {
        let problem = format!("{links} links and {} engines", machine.interface.engines);
        let hint = "give no more links than machine.interface.engines";
        return Err(Error::new("workload.stripes", problem, hint));
    }
    let Some(reserved) = work.reservation_bytes_per_s else {
        return Ok(());
    };
    // Number of cells that send over one link at a time: those that hold the parts of one striping
    // unit.
    let together = u64::from(machine.columns / links);
    let most = machine.link_bytes_per_s / together;
    if reserved == 0 {
        let hint = "give more, or leave it out: links are shared evenly then";
        let problem = "nothing is reserved";
        return Err(Error::new("workload.reservation", problem, hint));
    }
    if reserved > most {
        let problem = format!("{reserved} B/s for each of {together} cells that share a link");
        let hint = format!("give at most {most} B/s");
        return Err(Error::new("workload.reservation", problem, hint));
    }
    let bus = machine.interface.bus_bytes_per_s / u64::from(machine.interface.crossings.max(1))
        * u64::from(machine.interface.processors);
    if reserved.saturating_mul(together * u64::from(links)) > bus {
        let problem = format!("{reserved} B/s on {links} links and a bus of {bus} B/s");
        return Err(Error::new("workload.reservation", problem, "give less"));
    }
    Ok(())
}

/// Check that the run has not too many messages and packets for a simulation.
fn check_length(machine: &Machine, work: &Work) -> Result<(), Error> {
    let tus = work.tus().saturating_mul(work.adus);
    let blocks = match work.reshuffle {
        Reshuffle::None => work.tu_bytes / work.block_bytes,
        Reshuffle::Streaming => u64::from(machine.columns),
        Reshuffle::Slow | Reshuffle::Fast => u64::from(machine.columns).pow(2),
    };
    let packets = work.tu_bytes.div_ceil(work.packet_bytes);
    let all = tus.saturating_mul(blocks.saturating_add(packets));
    if work.adus == 0 || all > MESSAGES_MAX {
        let problem = format!("{} ADUs with {all} messages and packets", work.adus);
        let hint = format!("give so many that there are 1 to {MESSAGES_MAX} of these");
        return Err(Error::new("workload.adus", problem, hint));
    }
    Ok(())
}
