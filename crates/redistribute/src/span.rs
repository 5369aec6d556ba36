//! Among which bytes of an array elements lie: what has to be there before they are moved.

use crate::family::{At, Family, Steps};
use crate::plan::Section;
use std::iter;
use std::ops::Range;

/// A side of an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Where data come from.
    From,
    /// Where data go to.
    To,
}

/// The bytes among which elements lie in the memory of a side, an array of elements of so many bytes with these
/// strides: stretches with more than `gap` bytes between them, from the first on.
pub fn spans(
    sections: &[Section],
    side: Side,
    element: u64,
    strides: &[u64],
    gap: u64,
) -> Vec<Range<u64>> {
    let mut fastest_first: Vec<usize> = (0..strides.len()).collect();
    fastest_first.sort_by_key(|&dim| strides[dim]);
    let mut found = Vec::new();
    for section in sections {
        let element: Vec<_> = iter::once(0..element).collect();
        found.extend(fastest_first.iter().fold(element, |row, &dim| {
            let families = section.dims[dim].iter();
            joined(
                families.flat_map(|family| along(family, side, &row, strides[dim], gap)),
                gap,
            )
        }));
    }
    found.sort_by_key(|span| span.start);
    joined(found, gap)
}

/// The stretches of all indices of a family, each of which has a row.
fn along(
    family: &Family,
    side: Side,
    row: &[Range<u64>],
    stride: u64,
    gap: u64,
) -> Vec<Range<u64>> {
    let of = |at: At| match side {
        Side::From => at.from * stride,
        Side::To => at.to * stride,
    };
    let Family {
        len,
        first,
        inner,
        outer,
    } = *family;
    let run = repeated(row, len, stride, gap);
    let level = |row: &[Range<u64>], steps: Steps| repeated(row, steps.count, of(steps.by), gap);
    let mut all = level(&level(&run, inner), outer);
    for span in &mut all {
        *span = span.start + of(first)..span.end + of(first);
    }
    all
}

fn repeated(row: &[Range<u64>], count: u64, by: u64, gap: u64) -> Vec<Range<u64>> {
    match row {
        // In closed form, however many there are.
        [one] if by <= one.end - one.start + gap => {
            iter::once(one.start..one.end + by * (count - 1)).collect()
        }
        _ => joined(
            (0..count).flat_map(|time| {
                row.iter()
                    .map(move |span| span.start + by * time..span.end + by * time)
            }),
            gap,
        ),
    }
}

/// Stretches that begin close behind the one before are one with it.
pub(crate) fn joined(spans: impl IntoIterator<Item = Range<u64>>, gap: u64) -> Vec<Range<u64>> {
    let mut found: Vec<Range<u64>> = Vec::new();
    for span in spans {
        match found.last_mut() {
            Some(last) if last.start <= span.start && span.start <= last.end + gap => {
                last.end = last.end.max(span.end)
            }
            _ => found.push(span),
        }
    }
    found
}
