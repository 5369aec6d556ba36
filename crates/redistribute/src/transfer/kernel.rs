//! The innermost loops: runs of bytes at even distances.

/// `count` runs of `len` bytes, from places `from_step` bytes apart to places `to_step` apart.
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    pub len: usize,
    pub count: usize,
    pub from_step: usize,
    pub to_step: usize,
}

/// Runs from one side, and where the first of them goes to.
pub struct Waiting<'a> {
    pub runs: Runs,
    pub from: &'a [u8],
    pub to: usize,
}

impl Waiting<'_> {
    /// Behind the last byte that is written.
    pub fn end(&self) -> usize {
        self.to + (self.runs.count - 1) * self.runs.to_step + self.runs.len
    }
}

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// Copies runs from the beginning of one slice to that of the other.
pub fn copy(runs: Runs, from: &[u8], to: &mut [u8]) {
    if runs.count == 1 || (runs.from_step == runs.len && runs.to_step == runs.len) {
        let bytes = runs.len * runs.count;
        return to[..bytes].copy_from_slice(&from[..bytes]);
    }
    alternate(&[Waiting { runs, from, to: 0 }], to);
}

/// Copies runs of several sides that lie between one another where they go to, all with the same steps there: the
/// first of each side, the second of each, and so on, so that memory is written in order, which is what processors
/// foresee best.
pub fn alternate(sides: &[Waiting<'_>], to: &mut [u8]) {
    let len = sides[0].runs.len;
    if sides.iter().any(|side| side.runs.len != len) {
        return in_turn(sides, to, by_lines);
    }
    // Lengths that are known when this is compiled are moved in registers.
    match len {
        1 => in_turn(sides, to, fixed::<1>),
        2 => in_turn(sides, to, fixed::<2>),
        4 => in_turn(sides, to, fixed::<4>),
        8 => in_turn(sides, to, fixed::<8>),
        12 => in_turn(sides, to, fixed::<12>),
        16 => in_turn(sides, to, fixed::<16>),
        24 => in_turn(sides, to, fixed::<24>),
        32 => in_turn(sides, to, fixed::<32>),
        48 => in_turn(sides, to, fixed::<48>),
        64 => in_turn(sides, to, fixed::<64>),
        _ => in_turn(sides, to, by_lines),
    }
}

#[inline(always)]
fn in_turn(sides: &[Waiting<'_>], to: &mut [u8], one: impl Fn(&[u8], &mut [u8], usize)) {
    let most = sides.iter().map(|side| side.runs.count).max();
    for number in 0..most.unwrap_or(0) {
        for Waiting { runs, from, to: at } in sides {
            if number < runs.count {
                let from = &from[number * runs.from_step..];
                one(from, &mut to[at + number * runs.to_step..], runs.len);
            }
        }
    }
}

#[inline(always)]
fn fixed<const LEN: usize>(from: &[u8], to: &mut [u8], _: usize) {
    let from: &[u8; LEN] = from[..LEN].try_into().expect("a slice of this length");
    let to: &mut [u8; LEN] = (&mut to[..LEN]).try_into().expect("a slice of this length");
    *to = *from;
}

/// Line by line, which for runs of up to some thousand bytes is twice as fast as the library's copy.
#[inline(always)]
fn by_lines(from: &[u8], to: &mut [u8], len: usize) {
    let (mut from, mut to) = (
        from[..len].chunks_exact(LINE),
        to[..len].chunks_exact_mut(LINE),
    );
    for (from, to) in (&mut from).zip(&mut to) {
        fixed::<LINE>(from, to, LINE);
    }
    to.into_remainder().copy_from_slice(from.remainder());
}
