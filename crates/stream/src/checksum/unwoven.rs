//! What stands for [`Woven`] on processors that cannot have it.

/// The proof that the processor has what the woven way of summing takes. None has.
#[derive(Clone, Copy, Debug)]
pub enum Woven {}

impl Woven {
    /// The proof, which there is not.
    #[must_use]
    pub fn here() -> Option<Self> {
        None
    }

    /// The CRC32C of `data`.
    #[must_use]
    pub fn crc32c(self, _: &[u8]) -> u32 {
        match self {}
    }
}
