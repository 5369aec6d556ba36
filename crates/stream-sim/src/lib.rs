//! The stream manager of a network interface on a simulated machine (P. Steenkiste, *A High-Speed
//! Network Interface for Distributed-Memory Systems*, 1996): cells of a torus, the interface with
//! its links, memories and engines, and the external network.
//!
//! The manager is that of the crate `stream`, the same machine that runs on sockets; here its
//! orders become transfers of the engine of the crate `flow`, which share links max-min fairly, and
//! times. What moves inside the machine is a plan of the crate `redistribute`. Nothing is drawn at
//! random.
//!
//! # Rules
//! 1. An ADU lies on the rows of cells one after another, each of which has whole TUs of it; each
//!    cell of a row has a part of each TU, in blocks that go round the cells (section 6.2.1, Table
//!    1).
//! 2. The data of a row for an ADU are there when all of the row's data of the ADU before have
//!    gone. Then its cells reshuffle TU by TU, each sending one message after another, first to the
//!    next cell to the right, whatever other rows do; TUs that are ready wait for their turn
//!    (section 6.3).
//! 3. A message between cells takes the links between them; in slow reshuffling also the processor
//!    of every cell on its way, those at both ends included, which share it as links are shared.
//!    Each contiguous block of it costs the time to begin a message.
//! 4. An SU is a contiguous part of a TU over one link (section 5.2): a block of each of the cells
//!    of as many columns as there are for each link, which all send at once. Blocks are those of
//!    the I/O distribution (section 6.2.2), without reshuffling those of the application. Each is a
//!    message, which the interface's processor sets up, one SU after another, in the order in which
//!    the manager wants them; a link moves one SU at a time. All cross the memory bus of the
//!    interface.
//! 5. Data for the interface take the dimensions of the torus one after another; messages between
//!    cells the shorter way along their row, to the right of two equal ones.
//! 6. The processor of the interface serves one thing at a time, in the order in which it is asked:
//!    SUs to be set up, headers of UDP and IP, which are made while data flow, packets to be handed
//!    over. From there microcode takes the same time for each packet, then the external network one
//!    for each byte; each of the two has one packet at a time (sections 4.2 and 4.3).
//!
//! Knows nothing of files, statistics and the command line. It never decides how long to run.

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
