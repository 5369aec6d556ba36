//! The interface through which a driver draws on `framebuffer:NAME`. The owner of the screens
//! implements it.

use std::fmt::Debug;

/// The screens of a frame buffer, by name.
pub trait Screens: Debug + Send {
    /// Starts to draw on the screen with this name. It must not block.
    ///
    /// # Errors
    /// The reason: no screen has this name, or another connection draws on it.
    fn draw(&self, name: &str) -> Result<Box<dyn Screen>, String>;
}

/// A screen that a connection draws on. Dropping it allows another connection to draw.
pub trait Screen: Debug + Send {
    /// Returns the size in bytes of each ADU.
    fn adu_bytes(&self) -> u64;

    /// Draws bytes of an ADU of a stream, from byte `at`. The bytes come in order. It must not
    /// block.
    ///
    /// # Errors
    /// The reason for which the screen refuses the bytes.
    fn put(&mut self, adu: u64, at: u64, data: &[u8]) -> Result<(), String>;
}
