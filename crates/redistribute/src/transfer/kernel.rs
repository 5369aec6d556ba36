//! The innermost loops: copying of evenly spaced runs of bytes.

/// Evenly spaced runs of bytes to copy: `count` runs of `len` bytes. The sources of consecutive
/// runs are `from_step` bytes apart, the destinations `to_step` bytes.
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    pub len: usize,
    pub count: usize,
    pub from_step: usize,
    pub to_step: usize,
}

/// Runs of bytes to copy from one source, with their position in the destination.
pub struct SourceRuns<'a> {
    pub runs: Runs,
    /// The bytes of the source, from the first run on.
    pub from: &'a [u8],
    /// Position in the destination slice, in bytes, to which the first run of this source is
    /// copied.
    pub to: usize,
}

impl SourceRuns<'_> {
    /// Return the position in the destination after the last byte that the copy writes.
    pub fn end(&self) -> usize {
        self.to + (self.runs.count - 1) * self.runs.to_step + self.runs.len
    }
}

/// Size of a cache line in bytes.
const LINE_BYTES: usize = 64;

/// Copy runs from the start of one slice to the start of the other slice.
pub fn copy(runs: Runs, from: &[u8], to: &mut [u8]) {
    if runs.count == 1 || (runs.from_step == runs.len && runs.to_step == runs.len) {
        let bytes = runs.len * runs.count;
        return to[..bytes].copy_from_slice(&from[..bytes]);
    }
    interleave(&[SourceRuns { runs, from, to: 0 }], to);
}

/// Copy runs from several sources alternately: the first run of each source, then the second run of
/// each, and so on. All runs have the same length and step. So memory is written in order, which
/// the processor predicts best.
pub fn interleave(sides: &[SourceRuns<'_>], to: &mut [u8]) {
    let len = sides[0].runs.len;
    if sides.iter().any(|side| side.runs.len != len) {
        return round_robin(sides, to, copy_by_lines);
    }
    // Choose a copy function by the length of runs: those of a constant length copy in registers.
    match len {
        1 => round_robin(sides, to, copy_fixed::<1>),
        2 => round_robin(sides, to, copy_fixed::<2>),
        4 => round_robin(sides, to, copy_fixed::<4>),
        8 => round_robin(sides, to, copy_fixed::<8>),
        12 => round_robin(sides, to, copy_fixed::<12>),
        16 => round_robin(sides, to, copy_fixed::<16>),
        24 => round_robin(sides, to, copy_fixed::<24>),
        32 => round_robin(sides, to, copy_fixed::<32>),
        48 => round_robin(sides, to, copy_fixed::<48>),
        64 => round_robin(sides, to, copy_fixed::<64>),
        _ => round_robin(sides, to, copy_by_lines),
    }
}

/// Copy the runs of all sources with function `one`, in turn over the sources.
#[inline(always)]
fn round_robin(sides: &[SourceRuns<'_>], to: &mut [u8], one: impl Fn(&[u8], &mut [u8], usize)) {
    let most = sides.iter().map(|side| side.runs.count).max();
    for number in 0..most.unwrap_or(0) {
        for SourceRuns { runs, from, to: at } in sides {
            if number < runs.count {
                let from = &from[number * runs.from_step..];
                one(from, &mut to[at + number * runs.to_step..], runs.len);
            }
        }
    }
}

/// Copy `LEN` bytes, a length known at compile time. The last argument is not used.
#[inline(always)]
fn copy_fixed<const LEN: usize>(from: &[u8], to: &mut [u8], _: usize) {
    let from: &[u8; LEN] = from[..LEN].try_into().expect("a slice of this length");
    let to: &mut [u8; LEN] = (&mut to[..LEN]).try_into().expect("a slice of this length");
    *to = *from;
}

/// Copy a run in pieces of a cache line. For runs of up to some thousand bytes this is twice as
/// fast as the copy of the standard library.
#[inline(always)]
fn copy_by_lines(from: &[u8], to: &mut [u8], len: usize) {
    let (mut from, mut to) = (
        from[..len].chunks_exact(LINE_BYTES),
        to[..len].chunks_exact_mut(LINE_BYTES),
    );
    for (from, to) in (&mut from).zip(&mut to) {
        copy_fixed::<LINE_BYTES>(from, to, LINE_BYTES);
    }
    to.into_remainder().copy_from_slice(from.remainder());
}
