//! Walk through the runs of a section, to copy them from one array to another.

use super::kernel::{Runs, copy};
use crate::family::{At, Family, Steps};
use std::ops::Range;

/// Iteration over the contiguous runs of bytes of a section that are copied from one array to
/// another, in the order of their destinations.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    /// Number of bytes that are copied as one piece: one element, or a block of elements that is
    /// contiguous in both arrays.
    unit: usize,
    /// Dimensions of the section, in descending order of their strides in the destination array.
    dims: Vec<DimWalk>,
    /// Index in `dims` of the dimension with the largest stride in the destination array, among
    /// those with several indices. The destination is cut into tiles along it.
    slowest: usize,
}

/// One dimension of a walk through a section of an array: the regular sets of indices that belong
/// to the section, and the strides of the dimension in both arrays.
#[derive(Clone, Debug)]
struct DimWalk {
    families: Vec<Family>,
    /// Stride of the dimension in the source array, in bytes.
    from: usize,
    /// Stride of the dimension in the destination array, in bytes.
    to: usize,
}

/// Evenly spaced runs of indices of one dimension, with their positions in both arrays.
struct EvenRuns {
    from: u64,
    to: u64,
    len: u64,
    count: u64,
    from_step: u64,
    to_step: u64,
}

impl Walk {
    /// Create a walk for elements of `element` bytes, between arrays with these strides.
    pub fn new(dims: &[Vec<Family>], element: u64, from: &[u64], to: &[u64]) -> Self {
        let mut along: Vec<DimWalk> = dims
            .iter()
            .zip(from.iter().zip(to))
            .map(|(families, (&from, &to))| DimWalk {
                families: families.iter().map(contiguous).collect(),
                from: from as usize,
                to: to as usize,
            })
            .collect();
        along.sort_by_key(|dim| std::cmp::Reverse(dim.to));
        // Find the slowest dimension, that with the largest stride. Skip dimensions with a single
        // index: they may have the same stride as the only dimension with several indices.
        let stays = |family: &Family| family.len == 1 && family.runs() == 1 && family.first.to == 0;
        let widest = along.first().map_or(0, |dim| dim.to);
        let slowest = along
            .iter()
            .take_while(|dim| dim.to == widest)
            .position(|dim| !dim.families.iter().all(stays));
        let mut walk = Self {
            unit: element as usize,
            dims: along,
            slowest: slowest.unwrap_or(0),
        };
        walk.merge_dims();
        // Keep `slowest` a valid index: `merge_dims` may have removed dimensions from the end of
        // `dims`.
        walk.slowest = walk.slowest.min(walk.dims.len().saturating_sub(1));
        walk
    }

    /// Merge the dimensions with the smallest strides into `unit`, as long as the indices of each
    /// form one run without gaps in source and destination.
    fn merge_dims(&mut self) {
        while self.dims.len() > 1 {
            let [.., next, last] = self.dims.as_slice() else {
                return;
            };
            let [family] = last.families.as_slice() else {
                return;
            };
            let len = family.len as usize;
            let is_one = family.runs() == 1 && family.first.from == 0 && family.first.to == 0;
            let is_dense = last.from == self.unit && last.to == self.unit;
            let all = self.unit * len;
            let is_joined = is_dense && next.from == all && next.to == all;
            if !is_one || !(is_joined || len == 1) {
                return;
            }
            self.unit = all;
            self.dims.pop();
        }
    }

    /// Return two positions: that after the last byte read from the source, and that after the last
    /// byte written to the destination.
    pub fn ends(&self) -> (u64, u64) {
        let mut ends = (self.unit as u64, self.unit as u64);
        for dim in &self.dims {
            let lasts = dim.families.iter().map(last_of);
            let (from, to) = lasts.fold((0, 0), |most, last| {
                (most.0.max(last.0), most.1.max(last.1))
            });
            ends.0 += from * dim.from as u64;
            ends.1 += to * dim.to as u64;
        }
        ends
    }

    /// Return the range of indices in the destination array that the walk writes, along the slowest
    /// dimension (that with the largest stride).
    pub fn index_range(&self) -> Range<u64> {
        let families = || self.dims[self.slowest].families.iter();
        let first = families().map(|family| family.first.to).min();
        let last = families().map(|family| last_of(family).1).max();
        first
            .zip(last)
            .map_or(0..0, |(first, last)| first..last + 1)
    }

    /// Return the sizes in bytes of the runs that are contiguous in both arrays, each with the
    /// number of runs of this size.
    pub fn runs(&self) -> Vec<(u64, u64)> {
        let Some((last, slower)) = self.dims.split_last() else {
            return Vec::new();
        };
        let size = |dim: &DimWalk| -> u64 { dim.families.iter().map(Family::size).sum() };
        let rows: u64 = slower.iter().map(size).product();
        let unit = self.unit as u64;
        if last.from != self.unit || last.to != self.unit {
            return vec![(unit, rows * size(last))];
        }
        let families = last.families.iter();
        families
            .map(|family| (family.len * unit, family.runs() * rows))
            .collect()
    }

    /// Copy all runs from the source to the destination.
    pub fn copy(&self, from: &[u8], to: &mut [u8]) {
        self.visit_dim(0, None, (0, 0), &mut |runs, at| {
            copy(runs, &from[at.0..], &mut to[at.1..]);
        });
    }

    /// Call `emit` with the runs whose destinations are within a range of indices of the slowest
    /// dimension. Its second argument is the start of the first run: the position in the source,
    /// and the position in the destination relative to the first index of the range.
    pub fn runs_within(&self, slowest: (u64, u64), emit: &mut impl FnMut(Runs, (usize, usize))) {
        self.visit_dim(0, Some(slowest), (0, 0), emit);
    }

    /// Visit the runs of dimension `number` and of all dimensions with smaller strides, and call
    /// `emit` with them. `at` is the position in source and destination, and `clip` the range of
    /// indices of the dimension with the largest stride.
    fn visit_dim(
        &self,
        number: usize,
        clip: Option<(u64, u64)>,
        at: (usize, usize),
        emit: &mut impl FnMut(Runs, (usize, usize)),
    ) {
        let dim = &self.dims[number];
        let is_last = number + 1 == self.dims.len();
        let is_dense = dim.from == self.unit && dim.to == self.unit;
        let here = clip.filter(|_| number == self.slowest);
        for family in &dim.families {
            each_runs(family, here, &mut |runs| {
                let from_step = runs.from_step as usize * dim.from;
                let to_step = runs.to_step as usize * dim.to;
                let mut at_from = at.0 + runs.from as usize * dim.from;
                let mut at_to = at.1 + runs.to as usize * dim.to;
                if is_last && is_dense {
                    let runs = Runs {
                        len: runs.len as usize * self.unit,
                        count: runs.count as usize,
                        from_step,
                        to_step,
                    };
                    return emit(runs, (at_from, at_to));
                }
                for _ in 0..runs.count {
                    if is_last {
                        let runs = Runs {
                            len: self.unit,
                            count: runs.len as usize,
                            from_step: dim.from,
                            to_step: dim.to,
                        };
                        emit(runs, (at_from, at_to));
                    } else {
                        for index in 0..runs.len as usize {
                            let at = (at_from + index * dim.from, at_to + index * dim.to);
                            self.visit_dim(number + 1, clip, at, emit);
                        }
                    }
                    at_from += from_step;
                    at_to += to_step;
                }
            });
        }
    }
}

/// Return the position of the last index of a family (a regular set of indices) in the source and
/// in the destination.
fn last_of(family: &Family) -> (u64, u64) {
    let Family {
        len,
        first,
        inner,
        outer,
    } = *family;
    let times = |level: Steps, by: u64| by * (level.count - 1);
    let from = times(inner, inner.by.from) + times(outer, outer.by.from);
    let to = times(inner, inner.by.to) + times(outer, outer.by.to);
    (first.from + from + len - 1, first.to + to + len - 1)
}

/// Return a family (a regular set) of the same indices in which consecutive runs are merged if
/// there are no gaps between them in both arrays.
fn contiguous(family: &Family) -> Family {
    let mut joined = *family;
    let is_dense = |by: At, len: u64| by.from == len && by.to == len;
    if joined.inner.count > 1 && is_dense(joined.inner.by, joined.len) {
        joined.len *= joined.inner.count;
        joined.inner = Steps::ONCE;
    }
    if joined.inner.count == 1 && joined.outer.count > 1 && is_dense(joined.outer.by, joined.len) {
        joined.len *= joined.outer.count;
        joined.outer = Steps::ONCE;
    }
    joined
}

/// Call `emit` with the runs of a family (a regular set of indices) whose destinations are within
/// `clip`. The destinations are relative to the start of `clip`.
fn each_runs(family: &Family, clip: Option<(u64, u64)>, emit: &mut impl FnMut(EvenRuns)) {
    let (inner, outer) = (family.inner, family.outer);
    let whole = |from: u64, to: u64, count: u64| EvenRuns {
        from,
        to,
        len: family.len,
        count,
        from_step: inner.by.from,
        to_step: inner.by.to,
    };
    // Report all runs of a level in one call of `emit` if there is no range to clip to: they are
    // evenly spaced.
    let Some((low, high)) = clip else {
        if inner.count == 1 {
            return emit(EvenRuns {
                from_step: outer.by.from,
                to_step: outer.by.to,
                ..whole(family.first.from, family.first.to, outer.count)
            });
        }
        for group in 0..outer.count {
            let from = family.first.from + group * outer.by.from;
            let to = family.first.to + group * outer.by.to;
            emit(whole(from, to, inner.count));
        }
        return;
    };
    let group_span = inner.by.to * (inner.count - 1) + family.len;
    let (first_group, last_group) = overlapping(
        family.first.to,
        outer.by.to,
        outer.count,
        group_span,
        (low, high),
    );
    for group in first_group..last_group {
        let from = family.first.from + group * outer.by.from;
        let to = family.first.to + group * outer.by.to;
        let (first, last) = overlapping(to, inner.by.to, inner.count, family.len, (low, high));
        let mut run = first;
        while run < last {
            let (from, to) = (from + run * inner.by.from, to + run * inner.by.to);
            let (before, behind) = (
                low.saturating_sub(to),
                (to + family.len).saturating_sub(high),
            );
            if before > 0 || behind > 0 {
                emit(EvenRuns {
                    from: from + before,
                    to: to + before - low,
                    len: family.len - before - behind,
                    count: 1,
                    from_step: 0,
                    to_step: 0,
                });
                run += 1;
                continue;
            }
            // Report all whole runs in the range at once; only the last run may be cut off.
            let is_last_cut = to + (last - 1 - run) * inner.by.to + family.len > high;
            let count = last - run - u64::from(is_last_cut);
            emit(EvenRuns {
                to: to - low,
                ..whole(from, to, count)
            });
            run += count;
        }
    }
}

/// Return the range of the intervals that overlap the positions from `low` to before `high`. There
/// are `count` intervals of length `len`. The first interval starts at `first`, and each other
/// interval `step` after the previous one.
fn overlapping(first: u64, step: u64, count: u64, len: u64, (low, high): (u64, u64)) -> (u64, u64) {
    if count == 1 {
        let is_reached = first < high && first + len > low;
        return (0, u64::from(is_reached));
    }
    let begin = (low + 1)
        .saturating_sub(first + len)
        .div_ceil(step)
        .min(count);
    let end = high.saturating_sub(first).div_ceil(step).min(count);
    (begin, end.max(begin))
}
