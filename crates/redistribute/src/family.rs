//! Intersection of two combs (runs of indices at equal distances), in closed form. It contains the indices of a
//! dimension that go from one rank to another.
//!
//! Shared runs repeat on two levels. A run of a coarse comb contains many runs of a fine one (steps of an inner level).
//! The whole pattern repeats with the least common multiple of both strides (steps of an outer level). This is the idea
//! of nested families of line segments (Ramaswamy and Banerjee, "Automatic generation of efficient array redistribution
//! routines for distributed memory multicomputers", Frontiers '95). The number of families does not depend on the
//! number of indices.

use crate::comb::{Comb, UniformRuns};

/// An array index with its positions in the memory of the source and of the destination rank; or
/// the difference of two such values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct At {
    /// Index in the whole array, along one dimension.
    pub index: u64,
    /// Position along the dimension in the memory of the source.
    pub from: u64,
    /// Position along the dimension in the memory of the destination.
    pub to: u64,
}

/// Repetition at equal distances of a run of indices or of a group of runs: one of the two levels
/// of a [`Family`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Steps {
    /// Number of repetitions, at least 1.
    pub count: u64,
    /// Differences of the index and of the positions from one repetition to the next.
    pub by: At,
}

impl Steps {
    /// No repetition: a single run.
    pub(crate) const ONCE: Self = Self {
        count: 1,
        by: At {
            index: 0,
            from: 0,
            to: 0,
        },
    };
}

/// Runs of array indices, all of the same length, that source and destination rank both have:
/// `outer.count` groups of `inner.count` runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Family {
    /// Number of indices of each run.
    pub len: u64,
    /// Index and positions at the start of the first run.
    pub first: At,
    /// Number of runs in a group of runs, and the distance from each run to the next.
    pub inner: Steps,
    /// Number of groups of runs, and the distance from each group to the next.
    pub outer: Steps,
}

impl Family {
    /// Return the number of indices in all runs of the family.
    pub fn size(&self) -> u64 {
        self.len * self.runs()
    }

    /// Return the number of runs in all groups of the family together.
    pub fn runs(&self) -> u64 {
        self.inner.count * self.outer.count
    }
}

/// Return the number of indices that are in both combs (sets of evenly spaced runs).
pub fn shared_size(from: &Comb, to: &Comb) -> u64 {
    let mut size = 0;
    intersect(from, to, &mut |family| size += family.size());
    size
}

/// Return the indices that are in both combs, as families of runs. Each index is in exactly one
/// family.
pub fn shared(from: &Comb, to: &Comb) -> Vec<Family> {
    let mut families = Vec::new();
    intersect(from, to, &mut |family| families.push(family));
    families
}

/// Call `emit` with each [`Family`] of runs in the intersection of two combs.
fn intersect(from: &Comb, to: &Comb, emit: &mut impl FnMut(Family)) {
    for from in from.uniform_parts() {
        for to in to.uniform_parts() {
            if from.count == 0 || to.count == 0 {
                continue;
            }
            let (low, high) = (from.start.max(to.start), from.end().min(to.end()));
            let (from, to) = (from.clipped(low, high), to.clipped(low, high));
            if from.count > 0 && to.count > 0 {
                intersect_uniform(from, to, emit);
            }
        }
    }
}

/// Two combs (sets of evenly spaced runs) to intersect. The fine comb has the smaller stride.
#[derive(Clone, Copy)]
struct Pair {
    fine: UniformRuns,
    coarse: UniformRuns,
    /// Whether the fine comb is that of the source rank.
    fine_is_from: bool,
    /// Number of runs of the fine comb, and of the coarse comb, after which the pattern of both
    /// repeats.
    fine_period: i64,
    coarse_period: i64,
}

/// Call `emit` with each family of the intersection of two combs whose runs have the same length.
fn intersect_uniform(from: UniformRuns, to: UniformRuns, emit: &mut impl FnMut(Family)) {
    // Treat a comb with a single run as the coarse one, so that its run selects among many runs of
    // the other comb.
    let reach = |runs: &UniformRuns| match runs.count {
        1 => i64::MAX,
        _ => runs.stride,
    };
    let fine_is_from = reach(&from) <= reach(&to);
    let (fine, coarse) = if fine_is_from { (from, to) } else { (to, from) };
    let mut pair = Pair {
        fine,
        coarse,
        fine_is_from,
        fine_period: 1,
        coarse_period: 1,
    };
    if coarse.count == 1 {
        return pair.windows(1, emit);
    }
    let common = gcd(fine.stride, coarse.stride);
    pair.fine_period = coarse.stride / common;
    pair.coarse_period = fine.stride / common;
    let windows = pair.coarse_period.min(coarse.count);
    if (fine.len + coarse.len) / common + 1 < windows {
        pair.offsets(common, emit);
    } else {
        pair.windows(windows, emit);
    }
}

impl Pair {
    /// Call `emit` with the families of shared runs in each of the first `windows` runs of the coarse comb, which are
    /// one period of the pattern of both combs.
    fn windows(&self, windows: i64, emit: &mut impl FnMut(Family)) {
        let Self { fine, coarse, .. } = *self;
        for j in 0..windows {
            let times = (coarse.count - j + self.coarse_period - 1) / self.coarse_period;
            let low = coarse.start + j * coarse.stride;
            let high = low + coarse.len;
            let first = (low - fine.start - fine.len).div_euclid(fine.stride) + 1;
            let last = (high - 1 - fine.start).div_euclid(fine.stride);
            if first > last {
                continue;
            }
            let start = |i: i64| fine.start + i * fine.stride;
            let whole = |i: i64| start(i) >= low && start(i) + fine.len <= high;
            // For fine run `i`, compute the interval of its indices that are in the window, relative to the start of
            // the run.
            let part = |i: i64| ((low - start(i)).max(0), fine.len.min(high - start(i)));
            let (mut body, mut end) = (first, last);
            let mut group = |i, runs, part| self.group(j, times, i, runs, part, emit);
            if !whole(first) {
                group(first, 1, part(first));
                body += 1;
            }
            if last >= body && !whole(last) {
                group(last, 1, part(last));
                end -= 1;
            }
            if end >= body {
                group(body, end - body + 1, (0, fine.len));
            }
        }
    }

    /// Call `emit` with the families of `runs` consecutive runs of the fine comb, from run `i` on, in run `j` of the
    /// coarse comb. All of them repeat `times` times, as far as the fine runs exist. `part` is the interval of shared
    /// indices in each fine run.
    fn group(
        &self,
        j: i64,
        times: i64,
        i: i64,
        runs: i64,
        part: (i64, i64),
        emit: &mut impl FnMut(Family),
    ) {
        let (count, period) = (self.fine.count, self.fine_period);
        let up = |above: i64| -(-above).div_euclid(period);
        // Compute two ranges of repetitions of a group of runs: those in which at least one run of the group exists
        // (`any`), and those in which all of its runs exist (`all`).
        let any = (
            up(-i - runs + 1).max(0),
            ((count - 1 - i).div_euclid(period) + 1).min(times),
        );
        let all = (
            up(-i).max(any.0),
            ((count - i - runs).div_euclid(period) + 1).min(any.1),
        );
        let mut one = |time: i64, times: i64| {
            let begin = (i + time * period).max(0);
            let end = (i + time * period + runs).min(count);
            if begin < end && times > 0 {
                let coarse = j + time * self.coarse_period;
                emit(self.family(begin, end - begin, coarse, part, times));
            }
        };
        if all.0 >= all.1 {
            return (any.0..any.1).for_each(|time| one(time, 1));
        }
        (any.0..all.0).for_each(|time| one(time, 1));
        one(all.0, all.1 - all.0);
        (all.1..any.1).for_each(|time| one(time, 1));
    }

    /// A run of the fine comb and a run of the coarse comb can overlap at several distances between their starts. For
    /// each distance, call `emit` with the family of the shared runs.
    fn offsets(&self, common: i64, emit: &mut impl FnMut(Family)) {
        let Self { fine, coarse, .. } = *self;
        let start_distance = coarse.start - fine.start;
        let (fines, coarses) = (i128::from(self.fine_period), i128::from(self.coarse_period));
        let inverse = inverse(i128::from(fine.stride / common), fines);
        // Start with the smallest distance above `-coarse.len` that differs from `start_distance`
        // by a multiple of `common`.
        let mut distance = 1 - coarse.len + (start_distance + coarse.len - 1).rem_euclid(common);
        while distance < fine.len {
            // Solve i * fine.stride - j * coarse.stride = wanted for the run numbers i and j.
            let wanted = i128::from(start_distance - distance);
            let mut i = (wanted / i128::from(common) * inverse).rem_euclid(fines);
            let mut j = (i * i128::from(fine.stride) - wanted) / i128::from(coarse.stride);
            if j < 0 {
                let later = (coarses - 1 - j) / coarses;
                (i, j) = (i + later * fines, j + later * coarses);
            }
            if i < i128::from(fine.count) && j < i128::from(coarse.count) {
                let (i, j) = (i as i64, j as i64);
                let more = ((fine.count - 1 - i) / self.fine_period)
                    .min((coarse.count - 1 - j) / self.coarse_period);
                let part = (distance.max(0), fine.len.min(distance + coarse.len));
                emit(self.family(i, 1, j, part, more + 1));
            }
            distance += common;
        }
    }

    /// Return a family of equal runs: `runs` fine runs from number `i` on, which lie in the coarse run `j`, and `times`
    /// repetitions of them. `part` is the interval of each fine run that belongs to the family.
    fn family(&self, i: i64, runs: i64, j: i64, part: (i64, i64), times: i64) -> Family {
        let Self { fine, coarse, .. } = *self;
        let index = fine.start + i * fine.stride + part.0;
        let in_fine = fine.position + i * fine.pitch + part.0;
        let in_coarse =
            coarse.position + j * coarse.pitch + (index - coarse.start - j * coarse.stride);
        let first = self.at(index, in_fine, in_coarse);
        // Do not compute the distance to the next repetition if there is none: it might overflow.
        let steps = |count: i64, by: &dyn Fn() -> At| match count {
            1 => Steps::ONCE,
            _ => Steps {
                count: count as u64,
                by: by(),
            },
        };
        Family {
            len: (part.1 - part.0) as u64,
            first,
            inner: steps(runs, &|| self.at(fine.stride, fine.pitch, fine.stride)),
            outer: steps(times, &|| {
                self.at(
                    self.fine_period * fine.stride,
                    self.fine_period * fine.pitch,
                    self.coarse_period * coarse.pitch,
                )
            }),
        }
    }

    /// Return an index with its positions in the memories of source and destination rank, given those in the memories
    /// of the ranks with the fine and the coarse comb.
    fn at(&self, index: i64, fine: i64, coarse: i64) -> At {
        let (from, to) = if self.fine_is_from {
            (fine, coarse)
        } else {
            (coarse, fine)
        };
        At {
            index: index as u64,
            from: from as u64,
            to: to as u64,
        }
    }
}

/// Return the greatest common divisor of two numbers.
fn gcd(mut a: i64, mut b: i64) -> i64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Return the inverse of `a` modulo `modulus`; they must be coprime.
fn inverse(a: i128, modulus: i128) -> i128 {
    let (mut r, mut next) = (modulus, a.rem_euclid(modulus));
    let (mut t, mut next_t) = (0, 1);
    while next != 0 {
        let quotient = r / next;
        (r, next) = (next, r - quotient * next);
        (t, next_t) = (next_t, t - quotient * next_t);
    }
    t.rem_euclid(modulus)
}
