//! Lines: cut from bytes as they come, read, and written.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;

/// Bytes of a line at most, its end not counted. A submission of 64 streams with 1,000 SUs each fits.
pub const LINE_BYTES: usize = 1 << 20;

/// What came is no line of this language.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Garbled(
    /// What is wrong, and what would do.
    pub String,
);

impl fmt::Display for Garbled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Garbled {}

/// Bytes as they come, cut into lines. Holds no more than a line.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    bytes: Vec<u8>,
    /// Bytes that were looked at and have no end of line.
    looked: usize,
}

impl Lines {
    /// Adds bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next line, without its end. None: more is to come. [`Lines::rest`] has what is behind.
    ///
    /// # Errors
    /// A line of more than [`LINE_BYTES`]. What comes after it cannot be read either.
    pub fn next(&mut self) -> Result<Option<Vec<u8>>, Garbled> {
        let end = self.bytes[self.looked..]
            .iter()
            .position(|byte| *byte == b'\n');
        let length = end.map_or(self.bytes.len(), |end| self.looked + end);
        if length > LINE_BYTES {
            return Err(Garbled(format!("a line of more than {LINE_BYTES} bytes")));
        }
        self.looked = length;
        if end.is_none() {
            return Ok(None);
        }
        let behind = self.bytes.split_off(length + 1);
        let mut line = std::mem::replace(&mut self.bytes, behind);
        self.looked = 0;
        line.pop();
        Ok(Some(line))
    }

    /// What came behind the last line: the first bytes of a link, if the socket is one now.
    #[must_use]
    pub fn rest(self) -> Vec<u8> {
        self.bytes
    }
}

/// Reads a line: [`Asked`](crate::Asked) or [`Told`](crate::Told).
///
/// # Errors
/// [`Garbled`], with what is wrong first.
pub fn read<T: DeserializeOwned>(line: &[u8]) -> Result<T, Garbled> {
    serde_json::from_slice(line).map_err(|error| Garbled(error.to_string()))
}

/// Writes a line, with its end.
///
/// # Panics
/// Never: all that this language can say can be written.
#[must_use]
pub fn write<T: Serialize>(said: &T) -> Vec<u8> {
    let mut line = serde_json::to_vec(said).unwrap_or_default();
    line.push(b'\n');
    line
}
