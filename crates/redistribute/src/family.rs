//! What two combs share, in closed form: the indices that go from one holder of a dimension to another.
//!
//! Shared runs repeat: a coarse comb's run holds many of a fine one (steps of an inner level), and the whole repeats
//! with the least common multiple of both strides (steps of an outer level). This is the idea of nested families of
//! line segments (Ramaswamy and Banerjee, "Automatic generation of efficient array redistribution routines for
//! distributed memory multicomputers", Frontiers '95); how many families there are does not depend on how many
//! indices there are.

use crate::comb::{Comb, Even};

/// An index, and where it lies in the memory of both sides; or the way between two such.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct At {
    /// Index in the dimension.
    pub index: u64,
    /// Place along the dimension in the memory that data come from.
    pub from: u64,
    /// Place along the dimension in the memory that data go to.
    pub to: u64,
}

/// A level of repetition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Steps {
    /// How often: at least once.
    pub count: u64,
    /// From one time to the next.
    pub by: At,
}

impl Steps {
    pub(crate) const ONCE: Self = Self {
        count: 1,
        by: At {
            index: 0,
            from: 0,
            to: 0,
        },
    };
}

/// Runs of one length that both sides hold: `outer.count` times `inner.count` of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Family {
    /// Indices of each run.
    pub len: u64,
    /// Where the first run begins.
    pub first: At,
    /// From run to run.
    pub inner: Steps,
    /// From one group of runs to the next.
    pub outer: Steps,
}

impl Family {
    /// Indices in all runs.
    pub fn size(&self) -> u64 {
        self.len * self.runs()
    }

    /// How many runs there are.
    pub fn runs(&self) -> u64 {
        self.inner.count * self.outer.count
    }
}

/// How many indices are in both combs.
pub fn shared_size(from: &Comb, to: &Comb) -> u64 {
    let mut size = 0;
    meet(from, to, &mut |family| size += family.size());
    size
}

/// The indices that are in both combs, each once.
pub fn shared(from: &Comb, to: &Comb) -> Vec<Family> {
    let mut families = Vec::new();
    meet(from, to, &mut |family| families.push(family));
    families
}

fn meet(from: &Comb, to: &Comb, tell: &mut impl FnMut(Family)) {
    for from in from.even() {
        for to in to.even() {
            if from.count == 0 || to.count == 0 {
                continue;
            }
            let (low, high) = (from.start.max(to.start), from.end().min(to.end()));
            let (from, to) = (from.within(low, high), to.within(low, high));
            if from.count > 0 && to.count > 0 {
                meet_even(from, to, tell);
            }
        }
    }
}

/// A fine and a coarse comb; making a family selects one of them.
#[derive(Clone, Copy)]
struct Pair {
    fine: Even,
    coarse: Even,
    /// Whether the fine one is where data come from.
    fine_is_from: bool,
    /// Runs of each after which the pattern of both repeats.
    fine_period: i64,
    coarse_period: i64,
}

fn meet_even(from: Even, to: Even, tell: &mut impl FnMut(Family)) {
    // A single run is as coarse as can be: it asks which of many runs lie in it.
    let reach = |even: &Even| match even.count {
        1 => i64::MAX,
        _ => even.stride,
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
        return pair.windows(1, tell);
    }
    let common = gcd(fine.stride, coarse.stride);
    pair.fine_period = coarse.stride / common;
    pair.coarse_period = fine.stride / common;
    let windows = pair.coarse_period.min(coarse.count);
    if (fine.len + coarse.len) / common + 1 < windows {
        pair.offsets(common, tell);
    } else {
        pair.windows(windows, tell);
    }
}

impl Pair {
    /// Each run of the coarse comb in one period, and the fine ones in it.
    fn windows(&self, windows: i64, tell: &mut impl FnMut(Family)) {
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
            // The part of run `i` that is in the window, counted from its own beginning.
            let part = |i: i64| ((low - start(i)).max(0), fine.len.min(high - start(i)));
            let (mut body, mut end) = (first, last);
            let mut group = |i, runs, part| self.group(j, times, i, runs, part, tell);
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

    /// `runs` fine runs from `i` on lie in the coarse run `j`, of each the indices from one to before another; so
    /// they do `times` times, if there are such fine runs.
    fn group(
        &self,
        j: i64,
        times: i64,
        i: i64,
        runs: i64,
        part: (i64, i64),
        tell: &mut impl FnMut(Family),
    ) {
        let (count, period) = (self.fine.count, self.fine_period);
        let up = |above: i64| -(-above).div_euclid(period);
        // Any run of the group exists from the first of these times to before the last, all in between.
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
                tell(self.family(begin, end - begin, coarse, part, times));
            }
        };
        if all.0 >= all.1 {
            return (any.0..any.1).for_each(|time| one(time, 1));
        }
        (any.0..all.0).for_each(|time| one(time, 1));
        one(all.0, all.1 - all.0);
        (all.1..any.1).for_each(|time| one(time, 1));
    }

    /// Each distance between the beginnings of two runs that overlap, and where it comes about.
    fn offsets(&self, common: i64, tell: &mut impl FnMut(Family)) {
        let Self { fine, coarse, .. } = *self;
        let apart = coarse.start - fine.start;
        let (fines, coarses) = (i128::from(self.fine_period), i128::from(self.coarse_period));
        let inverse = inverse(i128::from(fine.stride / common), fines);
        // The least distance above `-coarse.len` that is `apart` but for multiples of `common`.
        let mut distance = 1 - coarse.len + (apart + coarse.len - 1).rem_euclid(common);
        while distance < fine.len {
            // i * fine.stride - j * coarse.stride = wanted
            let wanted = i128::from(apart - distance);
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
                tell(self.family(i, 1, j, part, more + 1));
            }
            distance += common;
        }
    }

    /// The family of `runs` fine runs from `i` on in the coarse run `j`.
    fn family(&self, i: i64, runs: i64, j: i64, part: (i64, i64), times: i64) -> Family {
        let Self { fine, coarse, .. } = *self;
        let index = fine.start + i * fine.stride + part.0;
        let in_fine = fine.place + i * fine.pitch + part.0;
        let in_coarse =
            coarse.place + j * coarse.pitch + (index - coarse.start - j * coarse.stride);
        let first = self.at(index, in_fine, in_coarse);
        // What happens once has no way to the next time, which may be beyond all numbers.
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

fn gcd(mut a: i64, mut b: i64) -> i64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The number whose product with `a` is one more than a multiple of `modulus`; both share no divisor.
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
