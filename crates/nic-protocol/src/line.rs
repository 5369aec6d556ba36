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

/// Bytes as they come, cut into lines. Holds no more than was pushed and not taken.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    bytes: Vec<u8>,
    /// Bytes in front that were taken.
    taken: usize,
    /// Bytes in front that were taken, or looked at and have no end of line.
    looked: usize,
}

impl Lines {
    /// Adds bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.taken);
        self.looked -= self.taken;
        self.taken = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes the next line, without its end. None: more is to come. [`Lines::rest`] has what is
    /// behind. All lines that are there are best taken before more is pushed.
    ///
    /// # Errors
    /// A line of more than [`LINE_BYTES`]. What comes after it cannot be read either.
    pub fn take(&mut self) -> Result<Option<Vec<u8>>, Garbled> {
        let end = self.bytes[self.looked..]
            .iter()
            .position(|byte| *byte == b'\n');
        let end_at = end.map_or(self.bytes.len(), |end| self.looked + end);
        if end_at - self.taken > LINE_BYTES {
            return Err(Garbled(format!("a line of more than {LINE_BYTES} bytes")));
        }
        self.looked = end_at;
        if end.is_none() {
            return Ok(None);
        }
        let line = self.bytes[self.taken..end_at].to_vec();
        self.taken = end_at + 1;
        self.looked = self.taken;
        Ok(Some(line))
    }

    /// What came behind the last line: the first bytes of a link, if the socket is one now.
    #[must_use]
    pub fn rest(mut self) -> Vec<u8> {
        self.bytes.split_off(self.taken)
    }
}

/// Reads a line: [`Asked`](crate::Asked) or [`Told`](crate::Told).
///
/// # Errors
/// [`Garbled`], with what is wrong first.
pub fn read<T: DeserializeOwned>(line: &[u8]) -> Result<T, Garbled> {
    serde_json::from_slice(line).map_err(|error| Garbled(error.to_string()))
}

/// The number of a request that cannot be read otherwise, if it has one: by it, it is refused.
#[must_use]
pub fn number(line: &[u8]) -> Option<u64> {
    #[derive(serde::Deserialize)]
    struct Numbered {
        id: u64,
    }
    let numbered: Option<Numbered> = serde_json::from_slice(line).ok();
    numbered.map(|numbered| numbered.id)
}

/// Writes a line, with its end.
///
/// # Errors
/// A line of more than [`LINE_BYTES`], which nobody would read: say it in several.
pub fn write<T: Serialize>(said: &T) -> Result<Vec<u8>, Garbled> {
    let mut line = serde_json::to_vec(said).map_err(|error| Garbled(error.to_string()))?;
    if line.len() > LINE_BYTES {
        let bytes = line.len();
        return Err(Garbled(format!(
            "a line of {bytes} bytes: {LINE_BYTES} are the most"
        )));
    }
    line.push(b'\n');
    Ok(line)
}
