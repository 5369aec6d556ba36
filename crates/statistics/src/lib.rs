//! Statistics of simulation runs: warm-up, confidence intervals, saturation verdict, histograms.
//!
//! Input is plain slices and numbers, output is numbers: this crate depends on no engines, files or threads. Every
//! result is a pure function of ordered input, so it does not depend on which thread finished first.
//!
//! | question | where |
//! |---|---|
//! | keep a stream of observations in fixed memory | [`Series`], [`Recorder`], [`Histogram`] |
//! | where does the warm-up end? | [`WarmUp`], [`mser`] |
//! | how precise is a mean, or a rate of rare events? | [`Estimate`], [`batch_means`], [`ReplicationMeans`] |
//! | how do two results compare? | [`compare`] |
//! | may the run stop? | [`more_work`] |
//! | is the system saturated? | [`Backlog`], [`SaturationTest`] |
//! | where is the knee? | [`KneeSearch`] |
//! | all results of one measure | [`Summary`] |
//!
//! A typical round of an experiment keeps one [`Recorder`] per measure and one [`Backlog`] in
//! each replication. Then [`Summary::of`] returns means and percentiles, [`more_work`] returns whether
//! they are precise enough, and [`SaturationTest::judge`] returns whether the point has a steady
//! state at all.
//!
//! ```
//! use isthmus_statistics::{Recorder, Summary, WarmUp};
//!
//! let replications: Vec<Recorder> = (0..5u64)
//!     .map(|replication| {
//!         let mut latency = Recorder::new();
//!         for step in 0..10_000u64 {
//!             latency.push(40 + (step * 7919 + replication * 104_729) % 11);
//!         }
//!         latency
//!     })
//!     .collect();
//! let latency = Summary::of(&replications, WarmUp::Mser, &[50.0, 99.0], 0.95, 1.0)?;
//! assert!((latency.mean.mean - 45.0).abs() < 0.1);
//! assert_eq!(latency.percentiles[0].value, 45.0);
//! # Ok::<(), isthmus_statistics::Error>(())
//! ```

mod backlog;
mod batch_means;
mod count;
mod error;
mod estimate;
mod histogram;
mod knee;
mod percentile;
mod precision;
mod quantile;
mod quantity;
mod recorder;
mod replications;
mod saturation;
mod sections;
mod series;
mod share;
mod warm_up;

pub use backlog::Backlog;
pub use batch_means::batch_means;
pub use count::Events;
pub use error::Error;
pub use estimate::Estimate;
pub use histogram::{Bucket, Histogram};
pub use knee::{Bracket, KneeSearch};
pub use percentile::{PercentileEstimate, percentile_estimates};
pub use precision::more_work;
pub use quantile::{f_quantile, normal_quantile, t_quantile};
pub use quantity::{Operation, Quantity, compare};
pub use recorder::Recorder;
pub use replications::{ReplicationMeans, Summary};
pub use saturation::{Judgement, SaturationTest, Verdict};
pub use series::Series;
pub use warm_up::{Truncation, WarmUp, mser};
