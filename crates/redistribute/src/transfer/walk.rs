//! Through the runs of a section, from one array to another.

use super::kernel::{Runs, copy};
use crate::family::{At, Family, Steps};
use std::ops::Range;

/// The runs of a section between two arrays, in the order in which they lie where they go to.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    /// Bytes of what moves as one: an element, or all of those dimensions that are whole on both sides.
    unit: usize,
    /// The slowest first.
    dims: Vec<Along>,
    /// Which dimension tiles are cut along where the data go to.
    slowest: usize,
}

/// One dimension.
#[derive(Clone, Debug)]
struct Along {
    families: Vec<Family>,
    from: usize,
    to: usize,
}

/// A run of indices of one dimension: places in both arrays.
struct Stretch {
    from: u64,
    to: u64,
    len: u64,
    count: u64,
    from_step: u64,
    to_step: u64,
}

impl Walk {
    /// Elements of `element` bytes, between arrays with these strides.
    pub fn new(dims: &[Vec<Family>], element: u64, from: &[u64], to: &[u64]) -> Self {
        let mut along: Vec<Along> = dims
            .iter()
            .zip(from.iter().zip(to))
            .map(|(families, (&from, &to))| Along {
                families: families.iter().map(in_one_piece).collect(),
                from: from as usize,
                to: to as usize,
            })
            .collect();
        along.sort_by_key(|dim| std::cmp::Reverse(dim.to));
        // Dimensions of a single index have the stride of an element, and may stand before the only one that goes on.
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
        walk.join();
        // If it has become part of the unit, it was at index 0, as is whatever stands before it.
        walk.slowest = walk.slowest.min(walk.dims.len().saturating_sub(1));
        walk
    }

    /// Takes the fastest dimensions, as long as they are one run that lies without gaps on both sides, as part of
    /// the unit.
    fn join(&mut self) {
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

    /// Behind the last byte that is read, and the last that is written.
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

    /// From the first index of the slowest dimension that data go to to behind the last.
    pub fn reach(&self) -> Range<u64> {
        let families = || self.dims[self.slowest].families.iter();
        let first = families().map(|family| family.first.to).min();
        let last = families().map(|family| last_of(family).1).max();
        first
            .zip(last)
            .map_or(0..0, |(first, last)| first..last + 1)
    }

    /// Bytes of each run that lies in one piece on both sides, and how many such runs there are.
    pub fn runs(&self) -> Vec<(u64, u64)> {
        let Some((last, slower)) = self.dims.split_last() else {
            return Vec::new();
        };
        let size = |dim: &Along| -> u64 { dim.families.iter().map(Family::size).sum() };
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

    /// Moves all.
    pub fn copy(&self, from: &[u8], to: &mut [u8]) {
        self.dim(0, None, (0, 0), &mut |runs, at| {
            copy(runs, &from[at.0..], &mut to[at.1..]);
        });
    }

    /// Call `tell` with the runs whose destination lies within a range of indices of the slowest
    /// dimension, and with the start of the first run: its source and its destination, counted from
    /// the first of those indices.
    pub fn runs_within(&self, slowest: (u64, u64), tell: &mut impl FnMut(Runs, (usize, usize))) {
        self.dim(0, Some(slowest), (0, 0), tell);
    }

    fn dim(
        &self,
        number: usize,
        clip: Option<(u64, u64)>,
        at: (usize, usize),
        tell: &mut impl FnMut(Runs, (usize, usize)),
    ) {
        let dim = &self.dims[number];
        let is_last = number + 1 == self.dims.len();
        let is_dense = dim.from == self.unit && dim.to == self.unit;
        let here = clip.filter(|_| number == self.slowest);
        for family in &dim.families {
            each(family, here, &mut |stretch| {
                let from_step = stretch.from_step as usize * dim.from;
                let to_step = stretch.to_step as usize * dim.to;
                let mut at_from = at.0 + stretch.from as usize * dim.from;
                let mut at_to = at.1 + stretch.to as usize * dim.to;
                if is_last && is_dense {
                    let runs = Runs {
                        len: stretch.len as usize * self.unit,
                        count: stretch.count as usize,
                        from_step,
                        to_step,
                    };
                    return tell(runs, (at_from, at_to));
                }
                for _ in 0..stretch.count {
                    if is_last {
                        let runs = Runs {
                            len: self.unit,
                            count: stretch.len as usize,
                            from_step: dim.from,
                            to_step: dim.to,
                        };
                        tell(runs, (at_from, at_to));
                    } else {
                        for index in 0..stretch.len as usize {
                            let at = (at_from + index * dim.from, at_to + index * dim.to);
                            self.dim(number + 1, clip, at, tell);
                        }
                    }
                    at_from += from_step;
                    at_to += to_step;
                }
            });
        }
    }
}

/// The last places of a family: where it comes from, and where it goes to.
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

/// The same family with runs that follow one another without gaps on both sides taken as one.
fn in_one_piece(family: &Family) -> Family {
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

/// Call `tell` with the stretches of a family whose destinations are within `clip`, counted from
/// its beginning.
fn each(family: &Family, clip: Option<(u64, u64)>, tell: &mut impl FnMut(Stretch)) {
    let (inner, outer) = (family.inner, family.outer);
    let whole = |from: u64, to: u64, count: u64| Stretch {
        from,
        to,
        len: family.len,
        count,
        from_step: inner.by.from,
        to_step: inner.by.to,
    };
    // Runs that follow one another evenly are one stretch, of whichever level.
    let Some((low, high)) = clip else {
        if inner.count == 1 {
            return tell(Stretch {
                from_step: outer.by.from,
                to_step: outer.by.to,
                ..whole(family.first.from, family.first.to, outer.count)
            });
        }
        for group in 0..outer.count {
            let from = family.first.from + group * outer.by.from;
            let to = family.first.to + group * outer.by.to;
            tell(whole(from, to, inner.count));
        }
        return;
    };
    let group_span = inner.by.to * (inner.count - 1) + family.len;
    let (first_group, last_group) = reached(
        family.first.to,
        outer.by.to,
        outer.count,
        group_span,
        (low, high),
    );
    for group in first_group..last_group {
        let from = family.first.from + group * outer.by.from;
        let to = family.first.to + group * outer.by.to;
        let (first, last) = reached(to, inner.by.to, inner.count, family.len, (low, high));
        let mut run = first;
        while run < last {
            let (from, to) = (from + run * inner.by.from, to + run * inner.by.to);
            let (before, behind) = (
                low.saturating_sub(to),
                (to + family.len).saturating_sub(high),
            );
            if before > 0 || behind > 0 {
                tell(Stretch {
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
            // All but the last reached run are whole, and that one too unless it ends beyond.
            let is_last_cut = to + (last - 1 - run) * inner.by.to + family.len > high;
            let count = last - run - u64::from(is_last_cut);
            tell(Stretch {
                to: to - low,
                ..whole(from, to, count)
            });
            run += count;
        }
    }
}

/// Of `count` stretches of `len` places, the first at `first`, each `step` later than the one before, the numbers of
/// those that reach into the places from `low` to before `high`.
fn reached(first: u64, step: u64, count: u64, len: u64, (low, high): (u64, u64)) -> (u64, u64) {
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
