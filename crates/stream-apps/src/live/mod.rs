//! What `stream-sim` simulates, carried out on the machine at hand: the same description of a
//! machine and of its work, with threads for cells, rings in shared memory for links, and the
//! stream manager on a thread of its own, which sends to a sink that checks (Steenkiste 1996,
//! section 6).
//!
//! | module | what it does |
//! |---|---|
//! | `cells` | the data of the cells, and how small blocks become large ones |
//! | `links` | what the cells of a link write to it, at the link's pace if it has one |
//! | `run` | manager, links, sink, and the time it takes |
//!
//! Of the description the form of the machine and the sizes of the work count. Rates count where
//! they are asked for ([`Pace`]); what is measured is how long the rest takes here.

mod cells;
mod links;
mod run;

pub use run::{Pace, Report, missing, run};
