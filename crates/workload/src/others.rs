//! Uniform choice of an element of a set, other than a process's own one.

use isthmus_kernel::{Stream, Uniform};

/// A uniform choice among all elements except one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Others(Uniform);

impl Others {
    /// Return a uniform choice among `count` elements except one, or `None` if `count` is at most
    /// 1.
    pub(crate) fn among(count: u32) -> Option<Self> {
        (count > 1).then(|| Self(Uniform::below(count - 1)))
    }

    /// Draw at random an element other than number `own`.
    #[inline]
    pub(crate) fn draw(self, own: u32, stream: &mut Stream) -> u32 {
        let other = self.0.draw(stream);
        other + u32::from(other >= own)
    }
}
