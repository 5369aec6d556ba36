//! Recorder of one measure in one replication: its series and its distribution over time.

use crate::histogram::Histogram;
use crate::series::Series;
use serde::{Deserialize, Serialize};

/// Maximum number of parts of the run that have their own histogram.
const SEGMENTS: usize = 16;
/// Number of batches of the series per segment, so that segments end where batches end.
const BATCHES_PER_SEGMENT: u64 = (Series::DEFAULT_CAPACITY / SEGMENTS) as u64;

/// A [`Series`] and a [`Histogram`] of the same stream of integer observations.
///
/// The end of the warm-up is known only after the run. So the recorder has a histogram for each of
/// at most 16 consecutive segments of equal length, which it merges as the run grows.
/// [`histogram_after`](Self::histogram_after) omits the early segments. To record an observation
/// takes about 4 ns.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Recorder {
    series: Series,
    current: Histogram,
    current_left: u64,
    segment_size: u64,
    closed: Vec<Histogram>,
    /// Number of observations before the marked end of the warm-up; 0 if none was marked. The
    /// series contains them, the histograms do not.
    forgotten: u64,
}

impl Default for Recorder {
    /// Return a recorder without observations.
    fn default() -> Self {
        Self::new()
    }
}

impl Recorder {
    /// Return a recorder without observations.
    #[must_use]
    pub fn new() -> Self {
        let series = Series::new();
        let segment_size = series.batch_size() * BATCHES_PER_SEGMENT;
        Self {
            series,
            current: Histogram::new(),
            current_left: segment_size,
            segment_size,
            closed: Vec::with_capacity(SEGMENTS),
            forgotten: 0,
        }
    }

    /// Record one observation, such as a latency in cycles.
    #[inline]
    pub fn push(&mut self, value: u64) {
        self.series.push(value as f64);
        self.current.record(value);
        self.current_left -= 1;
        if self.current_left == 0 {
            self.close_segment();
        }
    }

    /// Append the histogram of the complete segment, and merge segments in pairs if there are too
    /// many.
    #[cold]
    #[inline(never)]
    fn close_segment(&mut self) {
        self.closed.push(std::mem::take(&mut self.current));
        if self.closed.len() == SEGMENTS {
            let mut segments = std::mem::take(&mut self.closed).into_iter();
            while let (Some(mut merged), Some(next)) = (segments.next(), segments.next()) {
                merged.merge(&next);
                self.closed.push(merged);
            }
            self.segment_size *= 2;
        }
        self.current_left = self.segment_size;
    }

    /// Record that the warm-up ends now, by a rule of the caller for [`crate::WarmUp::Marked`]. The
    /// series still contains all observations; the histogram drops the earlier ones. Callers that
    /// use other warm-up rules should not call this method.
    pub fn mark(&mut self) {
        self.series.mark();
        self.closed.clear();
        self.current = Histogram::new();
        self.segment_size = Series::new().batch_size() * BATCHES_PER_SEGMENT;
        self.current_left = self.segment_size;
        self.forgotten = self.series.count();
    }

    /// Return the observations in order of time, in batches.
    #[must_use]
    pub fn series(&self) -> &Series {
        &self.series
    }

    /// Return the distribution of the observations from the first segment boundary at or after the
    /// first `observations` ones. In addition, this omits up to an eighth of the run. If no segment
    /// starts there or later, return the last segment.
    #[must_use]
    pub fn histogram_after(&self, observations: u64) -> Histogram {
        let skipped = observations
            .saturating_sub(self.forgotten)
            .div_ceil(self.segment_size);
        let first = usize::try_from(skipped)
            .map_or(self.closed.len(), |first| first.min(self.closed.len()));
        let mut histogram = self.current.clone();
        for segment in &self.closed[first..] {
            histogram.merge(segment);
        }
        if histogram.count() == 0
            && let Some(last) = self.closed.last()
        {
            histogram = last.clone();
        }
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Checks that the histogram after a warm-up leaves out the observations of the warm-up, up
        /// to the size of one segment.
        #[test]
        fn histograms_leave_out_the_warm_up(count in 0u64..40_000, cut in 0u64..40_000) {
            let mut recorder = Recorder::new();
            (0..count).for_each(|value| recorder.push(value % 200));
            prop_assert_eq!(recorder.series().count(), count);
            prop_assert_eq!(recorder.histogram_after(0).count(), count);
            let cut = cut.min(count);
            let kept = recorder.histogram_after(cut).count();
            let slack = recorder.segment_size;
            prop_assert!(count < SEGMENTS as u64 * 320 || slack <= count / 8);
            prop_assert!(kept + slack > count - cut, "{kept} of {}", count - cut);
            prop_assert!(kept <= (count - cut).max(slack));
        }

        /// Checks that the histogram after a mark contains exactly the observations after the mark.
        #[test]
        fn a_mark_is_exact(before in 0u64..9000, after in 1u64..9000) {
            let mut recorder = Recorder::new();
            (0..before).for_each(|_| recorder.push(7));
            recorder.mark();
            (0..after).for_each(|_| recorder.push(9));
            let histogram = recorder.histogram_after(before);
            prop_assert_eq!((histogram.count(), histogram.min()), (after, Some(9)));
            prop_assert_eq!(recorder.series().after_mark(), Some((after, 9.0)));
        }
    }
}
