//! Pieces of messages, for long messages that are sent through memory of a bounded size.

use crate::family::{At, Family, Steps};
use crate::plan::Section;
use std::ops::Range;

impl Section {
    /// Return the number of elements of the section along each dimension.
    pub fn extents(&self) -> Vec<u64> {
        let dims = self.dims.iter();
        dims.map(|families| families.iter().map(Family::size).sum())
            .collect()
    }

    /// Cut a range of the section's elements out as smaller sections, and append these to `pieces`.
    /// Packed one after another, they equal that range of the message. `slowest_first` lists the
    /// dimensions in the order of the message.
    fn piece(&self, range: Range<u64>, slowest_first: &[usize], pieces: &mut Vec<Self>) {
        let extents = self.extents();
        let sizes: Vec<u64> = slowest_first.iter().map(|&dim| extents[dim]).collect();
        each_box(&sizes, range, &mut Vec::new(), &mut |block| {
            let mut piece = self.clone();
            for (&dim, along) in slowest_first.iter().zip(block) {
                if *along != (0..extents[dim]) {
                    piece.dims[dim] = select(&self.dims[dim], along);
                }
            }
            pieces.push(piece);
        });
    }
}

/// Cut a range of elements out of a message, and return it as sections. `first_is_fastest` is true
/// if the first index counts fastest in the message.
///
/// Packed one after another, consecutive pieces equal the message.
pub fn piece(sections: &[Section], range: Range<u64>, first_is_fastest: bool) -> Vec<Section> {
    let mut pieces = Vec::new();
    let mut before = 0;
    for section in sections {
        let size = section.size();
        let low = range.start.saturating_sub(before).min(size);
        let high = range.end.saturating_sub(before).min(size);
        before += size;
        if low == 0 && high == size {
            pieces.push(section.clone());
        } else if low < high {
            section.piece(
                low..high,
                &slowest_first(section, first_is_fastest),
                &mut pieces,
            );
        }
    }
    pieces
}

/// Return the number of elements of a piece of a message: at most `most`, but at least 1. A piece
/// has whole rows if `most` allows one row, so that interleaved pieces from several ranks start and
/// end together.
pub fn piece_size(sections: &[Section], most: u64, first_is_fastest: bool) -> u64 {
    let most = most.max(1);
    let Some(first) = sections.first() else {
        return most;
    };
    let (extents, dims) = (first.extents(), slowest_first(first, first_is_fastest));
    let rows = dims.iter().skip(1).map(|&dim| extents[dim]);
    let row: u64 = rows.product();
    let is_whole = sections.iter().map(Section::size).sum::<u64>() <= most;
    if row <= most && !is_whole {
        most / row * row
    } else {
        most
    }
}

/// Return the dimension numbers of a section, in the order from the one whose index changes slowest
/// in the message to the fastest.
fn slowest_first(section: &Section, first_is_fastest: bool) -> Vec<usize> {
    let dims = 0..section.dims.len();
    if first_is_fastest {
        dims.rev().collect()
    } else {
        dims.collect()
    }
}

/// Return the elements in a range of an array, in the order of memory, as consecutive boxes, each
/// of them contiguous. The number of boxes is less than twice the number of dimensions. `sizes`
/// lists the dimensions, the slowest first.
pub fn boxes_of_range(sizes: &[u64], range: Range<u64>) -> Vec<Vec<Range<u64>>> {
    let mut found = Vec::new();
    if !range.is_empty() {
        each_box(sizes, range, &mut Vec::new(), &mut |block| {
            found.push(block.to_vec());
        });
    }
    found
}

/// Call `emit` with each non-empty box of those into which [`boxes_of_range`] divides `range`.
fn each_box(
    sizes: &[u64],
    range: Range<u64>,
    at: &mut Vec<Range<u64>>,
    emit: &mut impl FnMut(&[Range<u64>]),
) {
    let Some(dim) = (at.len() + 1 < sizes.len()).then_some(at.len()) else {
        at.push(range);
        emit(at);
        at.pop();
        return;
    };
    let row: u64 = sizes[dim + 1..].iter().product();
    cut_evenly(range, row, |number, covered| match covered {
        Covered::Whole(count) => {
            let faster = sizes[dim + 1..].iter().map(|&size| 0..size);
            let mut all = at.clone();
            all.push(number..number + count);
            all.extend(faster);
            emit(&all);
        }
        Covered::Part(within) => {
            at.push(number..number + 1);
            each_box(sizes, within, at, emit);
            at.pop();
        }
    });
}

/// Select some of the indices that both ranks have in a dimension: those whose positions in the
/// sequence of these indices are in `range`.
fn select(families: &[Family], range: &Range<u64>) -> Vec<Family> {
    let mut found = Vec::new();
    let mut before = 0;
    for family in families {
        let size = family.size();
        let low = range.start.saturating_sub(before).min(size);
        let high = range.end.saturating_sub(before).min(size);
        before += size;
        if low < high {
            select_in_family(family, low..high, &mut found);
        }
    }
    found
}

/// Append to `found` those indices of a family whose positions in the family are in `range`. If the
/// range starts or ends within a group of the family, that part of the group becomes a family of
/// its own.
fn select_in_family(family: &Family, range: Range<u64>, found: &mut Vec<Family>) {
    let group = family.len * family.inner.count;
    cut_evenly(range, group, |number, covered| {
        let first = advance(family.first, family.outer.by, number);
        match covered {
            Covered::Whole(count) => found.push(Family {
                first,
                outer: steps(count, family.outer.by),
                ..*family
            }),
            Covered::Part(within) => cut_evenly(within, family.len, |number, covered| {
                let first = advance(first, family.inner.by, number);
                let alone = Family {
                    first,
                    outer: Steps::ONCE,
                    ..*family
                };
                found.push(match covered {
                    Covered::Whole(count) => Family {
                        inner: steps(count, family.inner.by),
                        ..alone
                    },
                    Covered::Part(within) => Family {
                        len: within.end - within.start,
                        first: advance(first, ONE_INDEX, within.start),
                        inner: Steps::ONCE,
                        ..alone
                    },
                });
            }),
        }
    });
}

/// Distance from an index to the next one if all indices are contiguous: 1 in the array and in the
/// memory of both ranks.
const ONE_INDEX: At = At {
    index: 1,
    from: 1,
    to: 1,
};

/// The equal intervals that a range covers: several as a whole, or one in part.
enum Covered {
    /// This number of consecutive intervals, which the range covers completely.
    Whole(u64),
    /// Some positions of a single interval, which are all that the range covers.
    Part(Range<u64>),
}

/// Divide a range at the multiples of `len` into intervals. Call `emit` once for all intervals that
/// are wholly in the range, and once for each that is partly in it, with the number of the first
/// interval.
fn cut_evenly(range: Range<u64>, len: u64, mut emit: impl FnMut(u64, Covered)) {
    let (low, high) = (range.start / len, range.end / len);
    let (head, tail) = (range.start % len, range.end % len);
    if low == high {
        return emit(low, Covered::Part(head..tail));
    }
    if head > 0 {
        emit(low, Covered::Part(head..len));
    }
    let whole = low + u64::from(head > 0);
    if whole < high {
        emit(whole, Covered::Whole(high - whole));
    }
    if tail > 0 {
        emit(high, Covered::Part(0..tail));
    }
}

/// Return the repetition of a step `by`, `count` times. A single step has no distance.
fn steps(count: u64, by: At) -> Steps {
    match count {
        1 => Steps::ONCE,
        count => Steps { count, by },
    }
}

/// Return the position (an index, and its places in the memory of both ranks) after `times` steps
/// of `by` from `at`.
fn advance(at: At, by: At, times: u64) -> At {
    At {
        index: at.index + by.index * times,
        from: at.from + by.from * times,
        to: at.to + by.to * times,
    }
}
