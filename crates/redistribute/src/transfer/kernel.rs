//! The innermost loops: runs of bytes at even distances.

/// `count` runs of `len` bytes, from places `from_step` bytes apart to places `to_step` apart.
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    pub len: usize,
    pub count: usize,
    pub from_step: usize,
    pub to_step: usize,
}

/// Copies them from the beginning of one slice to that of the other.
pub fn copy(runs: Runs, from: &[u8], to: &mut [u8]) {
    let Runs {
        len,
        count,
        from_step,
        to_step,
    } = runs;
    if count == 1 || (from_step == len && to_step == len) {
        let bytes = len * count;
        return to[..bytes].copy_from_slice(&from[..bytes]);
    }
    // Lengths that are known when this is compiled are moved in registers.
    match len {
        1 => fixed::<1>(runs, from, to),
        2 => fixed::<2>(runs, from, to),
        4 => fixed::<4>(runs, from, to),
        8 => fixed::<8>(runs, from, to),
        12 => fixed::<12>(runs, from, to),
        16 => fixed::<16>(runs, from, to),
        24 => fixed::<24>(runs, from, to),
        32 => fixed::<32>(runs, from, to),
        48 => fixed::<48>(runs, from, to),
        64 => fixed::<64>(runs, from, to),
        96 => fixed::<96>(runs, from, to),
        128 => fixed::<128>(runs, from, to),
        256 => fixed::<256>(runs, from, to),
        _ => {
            let pairs = to.chunks_mut(to_step).zip(from.chunks(from_step));
            for (to, from) in pairs.take(count) {
                to[..len].copy_from_slice(&from[..len]);
            }
        }
    }
}

fn fixed<const LEN: usize>(runs: Runs, from: &[u8], to: &mut [u8]) {
    // The last run may end before a whole step does.
    let whole = runs.count - 1;
    let (last_from, last_to) = (whole * runs.from_step, whole * runs.to_step);
    let pairs = (to.chunks_exact_mut(runs.to_step)).zip(from.chunks_exact(runs.from_step));
    for (to, from) in pairs.take(whole) {
        one::<LEN>(from, to);
    }
    one::<LEN>(&from[last_from..], &mut to[last_to..]);
}

#[inline(always)]
fn one<const LEN: usize>(from: &[u8], to: &mut [u8]) {
    let from: &[u8; LEN] = from[..LEN].try_into().expect("a slice of this length");
    let to: &mut [u8; LEN] = (&mut to[..LEN]).try_into().expect("a slice of this length");
    *to = *from;
}
