//! Byte ranges of an array that contain some elements. These bytes must be in memory before the
//! elements can be sent or received.

use crate::family::{At, Family, Steps};
use crate::plan::Section;
use std::iter;
use std::ops::Range;

/// The sending or the receiving end of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The end that sends the message.
    From,
    /// The end that receives the message.
    To,
}

/// Return the byte ranges, in ascending order, that contain the elements of sections in the array
/// at one end of a message. The array has elements of `element` bytes and these strides. Ranges
/// with at most `gap` bytes between them are merged.
pub fn spans(
    sections: &[Section],
    end: End,
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
            merged(
                families.flat_map(|family| family_spans(family, end, &row, strides[dim], gap)),
                gap,
            )
        }));
    }
    found.sort_by_key(|span| span.start);
    merged(found, gap)
}

/// Return the byte ranges of all indices in a family of equal, equally spaced runs of indices.
/// `row` has the byte ranges of one index.
fn family_spans(
    family: &Family,
    end: End,
    row: &[Range<u64>],
    stride: u64,
    gap: u64,
) -> Vec<Range<u64>> {
    let of = |at: At| match end {
        End::From => at.from * stride,
        End::To => at.to * stride,
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

/// Return `count` copies of the byte ranges of `row`, each `by` bytes after the previous copy.
/// Ranges with at most `gap` bytes between them are merged.
fn repeated(row: &[Range<u64>], count: u64, by: u64, gap: u64) -> Vec<Range<u64>> {
    match row {
        // Merge a single range that repeats without large gaps into one range, in constant time for
        // any count.
        [one] if by <= one.end - one.start + gap => {
            iter::once(one.start..one.end + by * (count - 1)).collect()
        }
        _ => merged(
            (0..count).flat_map(|time| {
                row.iter()
                    .map(move |span| span.start + by * time..span.end + by * time)
            }),
            gap,
        ),
    }
}

/// Merge each range with the previous one if at most `gap` bytes lie between them.
pub(crate) fn merged(spans: impl IntoIterator<Item = Range<u64>>, gap: u64) -> Vec<Range<u64>> {
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
