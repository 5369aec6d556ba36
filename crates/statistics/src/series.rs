//! Series: one stream of observations in fixed memory.

use serde::{Deserialize, Serialize};

/// Number of observations per batch before the first merge, as in MSER-5.
const FIRST_BATCH: u64 = 5;

/// A recorder of one stream of observations that stores at most `capacity` sums of batches.
///
/// Batches have equal sizes, at first 5. When the memory is full, neighbouring batches are merged
/// and the batch size doubles. So n observations give between `capacity / 2` and `capacity` batches
/// of size 5 * 2^j for any n, and [`push`](Self::push) is an addition and a countdown. Sums of
/// integers are exact up to 2^53. Series of different streams cannot be merged, since observations
/// of different streams have no common order.
///
/// A NaN makes its batch a NaN; the functions that use the batches report it as an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    open_sum: f64,
    open_left: u64,
    batch_size: u64,
    sums: Vec<f64>,
    capacity: usize,
    mark: Option<Mark>,
}

/// End of the warm-up by a rule of the caller: number and sum of the observations before it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Mark {
    observations: u64,
    sum: f64,
}

impl Default for Series {
    /// Return an empty series of at most 1024 batches.
    fn default() -> Self {
        Self::new()
    }
}

impl Series {
    /// Maximum number of batches of [`Series::new`].
    pub const DEFAULT_CAPACITY: usize = 1024;

    /// Return an empty series of at most 1024 batches (8 KiB).
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(Self::DEFAULT_CAPACITY)
    }

    /// Return an empty series of at most `capacity` batches, rounded up to an even number of at
    /// least 2.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        let capacity = capacity.max(2).next_multiple_of(2);
        Self {
            open_sum: 0.0,
            open_left: FIRST_BATCH,
            batch_size: FIRST_BATCH,
            sums: Vec::with_capacity(capacity),
            capacity,
            mark: None,
        }
    }

    /// Record one observation.
    #[inline]
    pub fn push(&mut self, value: f64) {
        self.open_sum += value;
        self.open_left -= 1;
        if self.open_left == 0 {
            self.close_batch();
        }
    }

    /// Close the complete batch of observations: store its sum, and merge batches in pairs if the
    /// memory is full.
    #[cold]
    #[inline(never)]
    fn close_batch(&mut self) {
        self.sums.push(self.open_sum);
        self.open_sum = 0.0;
        if self.sums.len() == self.capacity {
            for merged in 0..self.capacity / 2 {
                self.sums[merged] = self.sums[2 * merged] + self.sums[2 * merged + 1];
            }
            self.sums.truncate(self.capacity / 2);
            self.batch_size *= 2;
        }
        self.open_left = self.batch_size;
    }

    /// Record that the warm-up ends now, by a rule of the caller such as a count over several
    /// streams. The series stores the exact sum up to this point for [`crate::WarmUp::Marked`]. A
    /// later mark replaces an earlier one.
    pub fn mark(&mut self) {
        self.mark = Some(Mark {
            observations: self.count(),
            sum: self.sum(),
        });
    }

    /// Return the number of observations before the mark, or `None` if no mark was set.
    #[must_use]
    pub fn marked_at(&self) -> Option<u64> {
        self.mark.map(|mark| mark.observations)
    }

    /// Return the number of observations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.sums.len() as u64 * self.batch_size + (self.batch_size - self.open_left)
    }

    /// Return the sum of all observations, in their unit.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.sums.iter().sum::<f64>() + self.open_sum
    }

    /// Return the mean of all observations, in their unit; `None` for an empty series.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum() / self.count() as f64)
    }

    /// Return the number of observations in each full batch: 5 * 2^j.
    #[must_use]
    pub fn batch_size(&self) -> u64 {
        self.batch_size
    }

    /// Return the means of full batches of `size` observations, which must be a multiple of
    /// [`batch_size`](Self::batch_size).
    pub(crate) fn batch_means_of(&self, size: u64) -> Vec<f64> {
        debug_assert!(size.is_multiple_of(self.batch_size));
        let group = (size / self.batch_size) as usize;
        self.sums
            .chunks_exact(group)
            .map(|sums| sums.iter().sum::<f64>() / size as f64)
            .collect()
    }

    /// Return the means of the full batches in order of time, starting at the first batch boundary
    /// at or after the first `observations` ones. Observations after the last full batch are
    /// omitted.
    #[must_use]
    pub fn batch_means_after(&self, observations: u64) -> Vec<f64> {
        let first = usize::try_from(self.boundary_at(observations) / self.batch_size);
        let sums = first.ok().and_then(|first| self.sums.get(first..));
        let size = self.batch_size as f64;
        sums.unwrap_or_default()
            .iter()
            .map(|sum| sum / size)
            .collect()
    }

    /// Return the first batch boundary at or after `observations`, as a number of observations.
    #[must_use]
    pub fn boundary_at(&self, observations: u64) -> u64 {
        observations.next_multiple_of(self.batch_size)
    }

    /// Return the number and mean of the observations from the first batch boundary at or after
    /// `observations` on, including the incomplete batch; `None` if there are none.
    #[must_use]
    pub fn after(&self, observations: u64) -> Option<(u64, f64)> {
        let boundary = self.boundary_at(observations);
        let first = usize::try_from(boundary / self.batch_size).ok()?;
        let used = self.count().checked_sub(boundary)?;
        let closed = self.sums.get(first..).unwrap_or_default();
        let sum = closed.iter().sum::<f64>() + self.open_sum;
        (used > 0).then(|| (used, sum / used as f64))
    }

    /// Return the exact number and mean of the observations after the mark; `None` without a mark
    /// or without observations after it.
    #[must_use]
    pub fn after_mark(&self) -> Option<(u64, f64)> {
        let mark = self.mark?;
        let used = self.count() - mark.observations;
        (used > 0).then(|| (used, (self.sum() - mark.sum) / used as f64))
    }
}

#[cfg(test)]
impl Extend<f64> for Series {
    /// Record all values, in order.
    fn extend<T: IntoIterator<Item = f64>>(&mut self, values: T) {
        for value in values {
            self.push(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Checks that all results of a series agree with the recorded observations. Compares the
        /// series with the plain vector of observations. They are integers, so every sum is exact.
        #[test]
        fn agrees_with_a_plain_vector(
            values in prop::collection::vec(0u32..1_000_000, 0..3000),
            capacity in 2usize..40,
            cut in 0u64..3500,
            mark in 0usize..3000,
        ) {
            let mut series = Series::with_capacity(capacity);
            for (index, value) in values.iter().enumerate() {
                if index == mark {
                    series.mark();
                }
                series.push(f64::from(*value));
            }
            let values: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
            prop_assert_eq!(series.count(), values.len() as u64);
            prop_assert_eq!(series.sum(), values.iter().sum::<f64>());

            let size = series.batch_size();
            prop_assert!((size / 5).is_power_of_two() && size.is_multiple_of(5));
            prop_assert!(series.batch_means_after(0).len() < capacity.next_multiple_of(2));
            if size > 5 {
                prop_assert!(series.batch_means_after(0).len() >= capacity / 2, "merged too early");
            }
            let naive: Vec<f64> = values
                .chunks_exact(size as usize)
                .map(|chunk| chunk.iter().sum::<f64>() / size as f64)
                .collect();
            prop_assert_eq!(series.batch_means_after(0), naive);

            let boundary = series.boundary_at(cut);
            prop_assert!(boundary >= cut && boundary < cut + size);
            let rest = values.get(boundary as usize..).unwrap_or_default();
            let expected = (!rest.is_empty())
                .then(|| (rest.len() as u64, rest.iter().sum::<f64>() / rest.len() as f64));
            prop_assert_eq!(series.after(cut), expected);

            let marked = (mark < values.len()).then(|| &values[mark..]);
            let expected = marked
                .map(|rest| (rest.len() as u64, rest.iter().sum::<f64>() / rest.len() as f64));
            prop_assert_eq!(series.after_mark(), expected);
        }
    }

    /// Checks that an empty series has no mean and no mark.
    #[test]
    fn an_empty_series_has_no_mean() {
        let series = Series::new();
        assert_eq!(
            (series.count(), series.mean(), series.after(0)),
            (0, None, None)
        );
        assert_eq!((series.after_mark(), series.marked_at()), (None, None));
    }

    /// Checks that the series uses constant memory for 3,000,000 observations, and its mean stays
    /// exact.
    #[test]
    fn memory_stays_fixed() {
        let mut series = Series::new();
        series.extend((0..3_000_000).map(f64::from));
        assert_eq!(series.sums.capacity(), Series::DEFAULT_CAPACITY);
        assert_eq!(series.mean(), Some(2_999_999.0 / 2.0));
    }
}
