//! Choices among links that are equally good.

use crate::readings::LinkTie;
use crate::routes::pick;
use isthmus_kernel::Cycles;

/// Chooses one of several equally good links by the rule for ties; `None` if there are no links.
/// `free` returns the time from which the transmitter of a link is free.
pub(super) fn choose_equal(
    rule: LinkTie,
    mut equals: impl Iterator<Item = u32> + Clone,
    free: impl Fn(u32) -> Cycles,
    random: impl FnOnce() -> u64,
) -> Option<u32> {
    let first = match rule {
        LinkTie::Lowest => return equals.next(),
        LinkTie::Random => None,
        LinkTie::LongestIdle => equals.clone().map(&free).min(),
    };
    let mut best = equals.filter(|&link| first.is_none_or(|first| free(link) == first));
    let at = match best.clone().count() {
        0 | 1 => 0,
        count => pick(count as u32, random()),
    };
    best.nth(at as usize)
}
