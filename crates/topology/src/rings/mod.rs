//! Fabrics of directed rings joined by switch nodes, such as those of SCI and other
//! register-insertion networks.

mod averages;
mod error;
mod fabric;
mod failures;
mod flows;
mod grid;
mod layout;
mod pairs;
mod results;
mod routes;
mod shape;
mod symmetry;
mod table;
mod tori;
mod waiting;

pub use error::{MAX_NODES, RingsError, RoutesError};
pub use fabric::{Fabric, Link};
pub use failures::{Cause, Failure, pair, pair_count, sample_pairs};
pub use results::{Averages, LinkUse, WaitCycle};
pub use routes::{MAX_TABLE_NODES, Routes};
pub use shape::{Faults, Routing, Segment, Shape};
