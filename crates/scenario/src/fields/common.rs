//! Tables that scenario files of all kinds of machine share.

use crate::fields::control::{Measure, Stop, Verdict};
use crate::fields::field::{Default, Field};
use crate::fields::rows::{Describe, Rows, at};
use crate::file::settings::Settings;
use crate::value::{Held, LINE_MAX, Share, Text, Value, Whole};

/// Maximum length of the description of an experiment, in characters.
const DESCRIPTION_MAX: usize = 4_000;

/// The fields at the top of a scenario file, outside of all tables.
#[derive(Describe)]
pub(crate) struct HeadTable {
    /// Version of the file format.
    #[describe(holds = Whole::new(1, 1))]
    pub(crate) version: u32,
    /// Name of the experiment; names the folder of its results.
    pub(crate) name: String,
    /// Title of the report.
    #[describe(holds = Text { max: LINE_MAX }, derived = "the name")]
    pub(crate) title: Option<String>,
    /// What the experiment is for, in a sentence or two.
    #[describe(holds = Text { max: DESCRIPTION_MAX }, default = "")]
    pub(crate) description: String,
    /// Master seed; the same file and seed give the same results.
    #[describe(default = 1)]
    pub(crate) seed: u64,
}

/// The tables of a scenario file except machine and workload, common to all kinds of machine.
#[derive(Describe)]
pub(crate) struct ControlTable {
    #[describe(table)]
    pub(crate) measure: Measure,
    #[describe(table)]
    pub(crate) stop: Stop,
    #[describe(table)]
    pub(crate) verdict: Verdict,
    #[describe(table)]
    pub(crate) search: Option<SearchTable>,
}

/// The table `[search]` of a scenario file.
#[derive(Describe)]
pub(crate) struct SearchTable {
    /// The load to vary until the machine saturates.
    #[describe(label = "load", of_kind)]
    pub(crate) over: String,
    #[describe(flatten)]
    pub(crate) ends: Ends,
    /// Width, relative to its middle, of the interval around the knee at which to stop.
    #[describe(holds = Share::INSIDE, default = "2%")]
    pub(crate) resolution: f64,
}

/// The lowest and the highest offered load of a search. A load is a rate of messages or a bandwidth, as the
/// kind of machine (hypercube, SCI and so on) requires.
pub(crate) struct Ends {
    pub(crate) from: Value,
    pub(crate) to: Value,
}

impl Describe for Ends {
    /// Add the descriptions of the fields `from` and `to` of the table `path` to `rows`.
    fn rows(path: &str, rows: &mut Rows) {
        for (name, meaning) in [
            (
                "from",
                "One end of the search, in the dimension of search.over",
            ),
            ("to", "The other end of the search"),
        ] {
            let (key, holds) = (at(path, name), f64::TYPE);
            rows.push(Field::new(&key, holds, Default::OfKind, name, meaning));
        }
    }

    /// Return the values of the fields `from` and `to` of the table `path`.
    fn read(settings: &Settings, path: &str) -> Self {
        let end = |name| settings.value(&at(path, name)).clone();
        Self {
            from: end("from"),
            to: end("to"),
        }
    }
}
