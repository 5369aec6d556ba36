//! The interface through which a driver draws on the screen `framebuffer:NAME`. The owner of the
//! screens implements it.

use std::fmt::Debug;

/// The screens of a frame buffer, by name.
pub trait Screens: Debug + Send {
    /// Starts to draw on the screen with this name. The call must not block.
    ///
    /// # Errors
    /// The reason: no screen has this name, or another connection draws on it.
    fn draw(&self, name: &str) -> Result<Box<dyn Screen>, String>;
}

/// A screen on which a connection draws. Dropping it allows another connection to draw.
pub trait Screen: Debug + Send {
    /// Returns the size in bytes of each application data unit that is drawn: a frame or a field of
    /// the screen.
    fn adu_bytes(&self) -> u64;

    /// Draws bytes of application data unit (ADU) number `adu` of a stream, from byte `at` of the
    /// ADU. The bytes arrive in order. The call must not block.
    ///
    /// # Errors
    /// The reason for which the screen refuses the bytes.
    fn put(&mut self, adu: u64, at: u64, data: &[u8]) -> Result<(), String>;
}
