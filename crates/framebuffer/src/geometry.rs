//! The geometry of a screen: its lines, pixels and fields.

use crate::error::Error;

/// Maximum number of pixels in a line of a screen, and of lines in a frame.
const SIDE_MOST: u32 = 1 << 14;
/// Maximum size of a frame of a screen in bytes.
const FRAME_MOST: u64 = 64 << 20;

/// The format of a pixel of a screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pixel {
    /// One byte of grey.
    Grey,
    /// Four bytes: red, green, blue, and an ignored one.
    Color,
}

impl Pixel {
    /// Return the number of bytes of a pixel.
    #[must_use]
    pub fn bytes(self) -> u32 {
        match self {
            Self::Grey => 1,
            Self::Color => 4,
        }
    }
}

/// The geometry of a screen. The data of a frame is its lines from the top, without gaps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Number of pixels in a line.
    pub width: u32,
    /// Number of lines in a frame.
    pub height: u32,
    /// The format of a pixel.
    pub pixel: Pixel,
    /// Whether the screen is interlaced: each application data unit (ADU) is a field of every
    /// second line. The field with the first line comes first, and two fields are a frame.
    pub interlaced: bool,
}

impl Geometry {
    /// Check that the geometry of the screen is valid.
    ///
    /// # Errors
    /// [`Error::Geometry`]: no pixels, too many, or fields of different size.
    pub fn check(&self) -> Result<(), Error> {
        let (width, height) = (self.width, self.height);
        let refuse = |what: String| Err(Error::Geometry(what));
        if !(1..=SIDE_MOST).contains(&width) || !(1..=SIDE_MOST).contains(&height) {
            return refuse(format!(
                "a screen of {width} x {height} pixels: each side has 1 to {SIDE_MOST}"
            ));
        }
        if self.frame_bytes() > FRAME_MOST {
            let bytes = self.frame_bytes();
            return refuse(format!(
                "a frame of {bytes} bytes: it has at most {FRAME_MOST}"
            ));
        }
        if self.interlaced && height % 2 == 1 {
            return refuse(format!(
                "an interlaced screen of {height} lines: both fields have as many, so it is even"
            ));
        }
        Ok(())
    }

    /// Return the number of bytes of a line of the screen.
    #[must_use]
    pub fn line_bytes(&self) -> u64 {
        u64::from(self.width) * u64::from(self.pixel.bytes())
    }

    /// Return the number of bytes of a frame of the screen.
    #[must_use]
    pub fn frame_bytes(&self) -> u64 {
        self.line_bytes() * u64::from(self.height)
    }

    /// Return the number of bytes of an application data unit (ADU), the unit in which streams
    /// draw: a frame, or a field of an interlaced screen.
    #[must_use]
    pub fn adu_bytes(&self) -> u64 {
        self.frame_bytes() / self.fields()
    }

    /// Return the number of application data units (ADUs) of a frame: 2 fields if interlaced,
    /// otherwise 1.
    #[must_use]
    pub fn fields(&self) -> u64 {
        1 + u64::from(self.interlaced)
    }

    /// Copy bytes of an interlaced field (every second line) to their positions in a frame. `at` is
    /// the position of the first byte in the field.
    pub(crate) fn weave(&self, field: u64, at: u64, mut data: &[u8], frame: &mut [u8]) {
        if !self.interlaced {
            let at = at as usize;
            frame[at..at + data.len()].copy_from_slice(data);
            return;
        }
        let line = self.line_bytes() as usize;
        let mut at = at as usize;
        while !data.is_empty() {
            let (row, column) = (at / line, at % line);
            let piece = data.len().min(line - column);
            let to = (2 * row + field as usize) * line + column;
            frame[to..to + piece].copy_from_slice(&data[..piece]);
            data = &data[piece..];
            at += piece;
        }
    }
}
