//! Evenly spaced runs of indices: the indices of one dimension at one coordinate of a process grid.

/// Comb: `count` runs of `len` indices. The first run starts at index `start`, and each other run
/// `stride` indices after the previous one. The last run has only the first `last` of its `len`
/// indices.
///
/// In the memory of the rank that has them, the runs follow one another without gaps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Comb {
    start: u64,
    len: u64,
    stride: u64,
    count: u64,
    last: u64,
}

impl Comb {
    /// Return a comb of one run, from index `from` to before `to`.
    pub fn run(from: u64, to: u64) -> Self {
        let len = to.saturating_sub(from);
        Self {
            start: from,
            len: len.max(1),
            stride: len.max(1),
            count: u64::from(len > 0),
            last: len,
        }
    }

    /// Return the indices, below `extent`, at the coordinate `at` of an axis of `over` coordinates.
    /// Blocks of `block` indices are dealt cyclically to the coordinates, starting with coordinate
    /// 0.
    pub fn cyclic(extent: u64, block: u64, over: u64, at: u64) -> Self {
        if over == 1 {
            // Merge consecutive blocks into one run: its intersection with a block of another
            // layout is then one piece.
            return Self::run(0, extent);
        }
        let (start, stride) = (at.saturating_mul(block), over.saturating_mul(block));
        if start >= extent {
            return Self::run(0, 0);
        }
        let count = (extent - start).div_ceil(stride);
        let rest = extent - start - (count - 1) * stride;
        Self {
            start,
            len: block,
            stride,
            count,
            last: rest.min(block),
        }
    }

    /// Return the total number of indices in all runs of the comb.
    pub fn size(&self) -> u64 {
        match self.count {
            0 => 0,
            count => (count - 1) * self.len + self.last,
        }
    }

    /// Return the comb as a tuple: the first index, the length of a run, the stride, the number of runs, and the length
    /// of the last run.
    pub fn runs(&self) -> (u64, u64, u64, u64, u64) {
        (self.start, self.len, self.stride, self.count, self.last)
    }

    /// Split the comb (runs at equal distances, of which the last may be shorter) into two combs, in each of which all
    /// runs have the same length. The second may be empty.
    pub(crate) fn uniform_parts(&self) -> [UniformRuns; 2] {
        let at = |run: u64, len: u64, count: u64| UniformRuns {
            start: (self.start + run * self.stride) as i64,
            len: len as i64,
            stride: self.stride as i64,
            count: count as i64,
            position: (run * self.len) as i64,
            pitch: self.len as i64,
        };
        if self.count == 0 || self.last == self.len {
            return [at(0, self.len, self.count), at(0, self.len, 0)];
        }
        let whole = self.count - 1;
        [at(0, self.len, whole), at(whole, self.last, 1)]
    }
}

/// Evenly spaced runs of the same length, for the arithmetic of [`crate::family`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct UniformRuns {
    pub start: i64,
    pub len: i64,
    pub stride: i64,
    pub count: i64,
    /// Position of the first run in the memory of its rank, and distance there from each run to the
    /// next.
    pub position: i64,
    pub pitch: i64,
}

impl UniformRuns {
    /// Keep only the runs that overlap the indices from `low` (inclusive) to `high` (exclusive).
    pub fn clipped(mut self, low: i64, high: i64) -> Self {
        let skipped = (low - self.start - self.len).div_euclid(self.stride) + 1;
        let skipped = skipped.clamp(0, self.count);
        let kept = (high - 1 - self.start).div_euclid(self.stride) + 1;
        self.count = (kept.min(self.count) - skipped).max(0);
        self.start += skipped * self.stride;
        self.position += skipped * self.pitch;
        self
    }

    /// Return the index after the last index of the last run.
    pub fn end(&self) -> i64 {
        self.start + (self.count - 1) * self.stride + self.len
    }
}
