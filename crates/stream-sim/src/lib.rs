//! The stream manager of a network interface on a simulated machine (P. Steenkiste, *A High-Speed
//! Network Interface for Distributed-Memory Systems*, 1996): cells of a torus, the interface with
//! its links, memories and engines, and the external network.
//!
//! The stream manager is that of the crate `stream`, the same state machine that runs on sockets.
//! Here each of its orders becomes a transfer of the engine of the crate `flow`, in which transfers
//! share links max-min fairly, or a task with a duration. A plan of the crate `redistribute`
//! determines the messages between cells. Nothing is random.
//!
//! # Units of data
//! An application data unit (ADU) is the data that the application sends at a time, such as an image. It
//! consists of transfer units (TUs), which a row of cells sends as a whole. A TU consists of striping
//! units (SUs), each of which crosses one link to the interface.
//!
//! # Rules
//! 1. An ADU is distributed over the rows of cells one after another; each row has whole TUs of it.
//!    Each cell of a row has a part of each TU, in blocks that are dealt cyclically to the cells
//!    (section 6.2.1, Table 1).
//! 2. A row can start with an ADU when the application has produced it and the row has sent all of
//!    its data of the previous ADU. Then the cells of the row reshuffle TU by TU, independently of
//!    other rows. Each cell sends one message after another, first to the next cell to the right. A
//!    TU that is ready waits until it can be sent (section 6.3).
//! 3. A message between cells occupies the links between them. In slow reshuffling it also occupies
//!    the processor of every cell on its route, including those at both ends. Messages share
//!    processors as they share links. Each contiguous block of a message costs the time to start a
//!    message.
//! 4. An SU is a contiguous part of a TU that crosses one link (section 5.2). It consists of one
//!    block from each cell of a row in the columns that share the link, and these cells send at the
//!    same time. With reshuffling, blocks are those of the I/O distribution (section 6.2.2);
//!    without it, those of the application. Each block is one message. The processor of the
//!    interface sets up the messages, one SU after another, in the order of the manager. A link
//!    moves one SU at a time. All SUs cross the memory bus of the interface.
//! 5. Data for the interface cross the dimensions of the torus one after another. Messages between
//!    cells take the shorter direction along their row, or to the right if both are equally long.
//! 6. The processor of the interface does one task at a time, in order of request: it sets up SUs,
//!    writes headers of UDP and IP (while data move), and hands over packets. After the hand-over,
//!    the microcode takes the same time for each packet, and then the external network takes a time
//!    for each byte. Microcode and network each process one packet at a time (sections 4.2 and
//!    4.3).
//!
//! The crate has no files, statistics or command line, and never decides how long to run.

mod check;
mod duration;
mod error;
mod rows;
mod servers;
pub mod shuffle;
mod simulation;
pub mod spec;
mod torus;
mod world;

pub use check::{CELLS_MAX, check_machine, check_work};
pub use error::Error;
pub use simulation::{Figures, Part, RowFigures, Simulation, Use, parts};
pub use torus::LinkKind;
