//! Any but one's own.

use isthmus_kernel::{Stream, Uniform};

/// The others of a number of things, each as likely.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Others(Uniform);

impl Others {
    /// The others among so many; `None` if there are none.
    pub(crate) fn among(count: u32) -> Option<Self> {
        (count > 1).then(|| Self(Uniform::below(count - 1)))
    }

    /// One of those that are not number `own`.
    #[inline]
    pub(crate) fn draw(self, own: u32, stream: &mut Stream) -> u32 {
        let other = self.0.draw(stream);
        other + u32::from(other >= own)
    }
}
