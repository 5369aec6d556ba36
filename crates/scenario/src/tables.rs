//! The tables that files of all kinds of machine have.

use crate::control::{Measure, StopTable, Verdict};
use crate::describe::Describe;
use crate::value::{Kind, LINE_MAX, Value};

/// Characters of a description at most.
const DESCRIPTION_MAX: usize = 4_000;

/// The top of the file.
#[derive(Describe)]
pub(crate) struct HeadTable {
    /// Version of the file format.
    #[describe(kind = Kind::whole(1, 1))]
    pub(crate) version: u32,
    /// Name of the experiment; names the folder of its results.
    pub(crate) name: String,
    /// Title of the report.
    #[describe(kind = Kind::Text { max: LINE_MAX }, derived = "the name")]
    pub(crate) title: Option<String>,
    /// What the experiment is for, in a sentence or two.
    #[describe(kind = Kind::Text { max: DESCRIPTION_MAX }, default = "")]
    pub(crate) description: String,
    /// Master seed; the same file and seed give the same results.
    #[describe(default = 1)]
    pub(crate) seed: u64,
}

/// What files of all kinds may say beside the machine and its work.
#[derive(Describe)]
pub(crate) struct ControlTable {
    #[describe(table)]
    pub(crate) measure: Measure,
    #[describe(table)]
    pub(crate) stop: StopTable,
    #[describe(table)]
    pub(crate) verdict: Verdict,
    #[describe(table)]
    pub(crate) search: Option<SearchTable>,
}

/// `[search]`.
#[derive(Describe)]
pub(crate) struct SearchTable {
    /// The load to vary until the machine saturates.
    #[describe(label = "load", of_kind)]
    pub(crate) over: String,
    /// One end of the search, in the dimension of search.over.
    #[describe(of_kind)]
    pub(crate) from: Value,
    /// The other end of the search.
    #[describe(of_kind)]
    pub(crate) to: Value,
    /// Width, relative to its middle, of the interval around the knee at which to stop.
    #[describe(kind = Kind::INSIDE, default = "2%")]
    pub(crate) resolution: f64,
}
