//! Uniform choice of another element than one's own.

use isthmus_kernel::{Stream, Uniform};

/// A uniform choice among all elements except one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Others(Uniform);

impl Others {
    /// Return the choice for `count` elements, or `None` if there is at most one element.
    pub(crate) fn among(count: u32) -> Option<Self> {
        (count > 1).then(|| Self(Uniform::below(count - 1)))
    }

    /// Draw an element other than number `own`.
    #[inline]
    pub(crate) fn draw(self, own: u32, stream: &mut Stream) -> u32 {
        let other = self.0.draw(stream);
        other + u32::from(other >= own)
    }
}
