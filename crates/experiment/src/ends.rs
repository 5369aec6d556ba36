//! The reasons for the end of results in journals, parsed without the rest of the results.

use crate::result::EndedBy;
use serde::Deserialize;

/// The part of a `PointResult` that says whether a lack of memory ended the point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct PointEnd {
    #[serde(deserialize_with = "Option::deserialize")]
    ended_by: Option<EndedBy>,
}

impl PointEnd {
    /// Return whether the result is complete, by the same rule as `PointResult::is_whole`.
    pub fn is_whole(&self) -> bool {
        self.ended_by != Some(EndedBy::Memory)
    }
}

/// The part of a `SearchResult` that says why each trial ended.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct SearchEnd {
    trials: Vec<PointEnd>,
}

impl SearchEnd {
    /// Return whether the result is complete, by the same rule as `SearchResult::is_whole`.
    pub fn is_whole(&self) -> bool {
        self.trials.iter().all(PointEnd::is_whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the part of a result that says why it ended is parsed from JSON with other fields, and that a result
    /// without it is an error.
    #[test]
    fn the_reason_for_the_end_of_a_result_is_parsed() {
        let ends = [("null", true), ("\"backlog\"", true), ("\"memory\"", false)];
        for (end, whole) in ends {
            let trial = format!("{{\"load\":1.5,\"verdict\":\"stable\",\"ended_by\":{end}}}");
            let read: PointEnd = serde_json::from_str(&trial).expect(end);
            assert_eq!(read.is_whole(), whole, "{end}");
            let other = "{\"ended_by\":null}";
            let search = format!("{{\"machine\":0,\"trials\":[{other},{trial},{other}]}}");
            let read: SearchEnd = serde_json::from_str(&search).expect(end);
            assert_eq!(read.is_whole(), whole, "{end}");
        }
        for bad in ["{}", "{\"ended_by\":3}", "[1]", "{\"ended_by\":\"night\"}"] {
            assert!(serde_json::from_str::<PointEnd>(bad).is_err(), "{bad}");
        }
        assert!(serde_json::from_str::<SearchEnd>("{\"ended_by\":null}").is_err());
    }
}
