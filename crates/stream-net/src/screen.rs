//! What stands behind `framebuffer:NAME`. Whoever has screens gives them to the driver, which knows
//! of them no more than this.

use std::fmt::Debug;

/// Screens by name.
pub trait Screens: Debug + Send {
    /// Begins to draw on a screen. It does not wait for anything.
    ///
    /// # Errors
    /// Why that cannot be, in words: no such screen, or one that is drawn on.
    fn draw(&self, name: &str) -> Result<Box<dyn Screen>, String>;
}

/// A screen that is drawn on. Dropped, another may draw on it.
pub trait Screen: Debug + Send {
    /// Bytes of each ADU that it takes.
    fn adu_bytes(&self) -> u64;

    /// Takes bytes of an ADU of a stream, from `at` on. They come in order. It waits for nothing.
    ///
    /// # Errors
    /// Why it takes none, in words.
    fn put(&mut self, adu: u64, at: u64, data: &[u8]) -> Result<(), String>;
}
