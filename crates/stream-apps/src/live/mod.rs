//! The work that `stream-sim` simulates, done by this computer. It has the same description of the
//! machine and the work. Threads replace the cells (processors), and rings in shared memory the links. The
//! stream manager runs on a thread of its own and sends to a sink that verifies the data
//! (Steenkiste 1996, section 6).
//!
//! | module | content |
//! |---|---|
//! | `cells` | the data of the cells, and the exchange that combines small blocks into large ones |
//! | `links` | writers of the cells' data to the links, at a limited rate if one is set |
//! | `run` | runs: the manager, the writers, the sink, and the measurement of the time |
//!
//! The description determines the shape of the machine and the sizes of the work. The rates of its
//! links apply only with [`Pace::AsDescribed`]; all other times are those of this computer.

mod cells;
mod links;
mod run;

pub use run::{Pace, Report, missing, run};
