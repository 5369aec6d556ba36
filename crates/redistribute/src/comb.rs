//! Evenly spaced runs of indices: what one coordinate of a process grid holds of one dimension.

/// `count` runs of `len` indices, of which the first begins at index `start` and each other `stride` after the one
/// before; the last has `last` of its `len` indices.
///
/// In the memory of who holds them the runs follow one another without gaps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Comb {
    start: u64,
    len: u64,
    stride: u64,
    count: u64,
    last: u64,
}

impl Comb {
    /// One run, from one index to before another.
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

    /// Those of `extent` indices that the coordinate `at` holds when blocks of `block` indices go round `over`
    /// coordinates, the first block to the first of them.
    pub fn cyclic(extent: u64, block: u64, over: u64, at: u64) -> Self {
        if over == 1 {
            // Blocks that follow one another are one run, which no other layout's blocks are cut by.
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

    /// How many indices there are.
    pub fn size(&self) -> u64 {
        match self.count {
            0 => 0,
            count => (count - 1) * self.len + self.last,
        }
    }

    /// The first index, the indices of a run, from run to run, how many runs, and the indices of the last.
    pub fn runs(&self) -> (u64, u64, u64, u64, u64) {
        (self.start, self.len, self.stride, self.count, self.last)
    }

    /// The same runs as at most two combs whose runs are all of one length.
    pub(crate) fn even(&self) -> [Even; 2] {
        let at = |run: u64, len: u64, count: u64| Even {
            start: (self.start + run * self.stride) as i64,
            len: len as i64,
            stride: self.stride as i64,
            count: count as i64,
            place: (run * self.len) as i64,
            pitch: self.len as i64,
        };
        if self.count == 0 || self.last == self.len {
            return [at(0, self.len, self.count), at(0, self.len, 0)];
        }
        let whole = self.count - 1;
        [at(0, self.len, whole), at(whole, self.last, 1)]
    }
}

/// Runs of one length: what the arithmetic of [`crate::family`] is done with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Even {
    pub start: i64,
    pub len: i64,
    pub stride: i64,
    pub count: i64,
    /// In memory the beginning of the first run, and how far each lies behind the one before.
    pub place: i64,
    pub pitch: i64,
}

impl Even {
    /// Those runs that reach into the indices from `low` to before `high`.
    pub fn within(mut self, low: i64, high: i64) -> Self {
        let skipped = (low - self.start - self.len).div_euclid(self.stride) + 1;
        let skipped = skipped.clamp(0, self.count);
        let kept = (high - 1 - self.start).div_euclid(self.stride) + 1;
        self.count = (kept.min(self.count) - skipped).max(0);
        self.start += skipped * self.stride;
        self.place += skipped * self.pitch;
        self
    }

    /// Behind the last index.
    pub fn end(&self) -> i64 {
        self.start + (self.count - 1) * self.stride + self.len
    }
}
