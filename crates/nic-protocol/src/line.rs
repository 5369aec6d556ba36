//! Lines of the protocol: splits received bytes into lines, and parses and encodes lines.

use crate::{Connection, Link, Message, RequestLine, Stream};

/// Maximum size of a protocol line in bytes, without the newline. A submission of 64 streams with
/// 1,000 striping units (SUs) each fits.
pub const LINE_BYTES: usize = 1 << 20;

/// The error of an invalid protocol line: a message with the problem and the remedy.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Garbled(
    /// The problem of the line and the remedy.
    pub String,
);

/// A buffer that splits received bytes into lines.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    bytes: Vec<u8>,
    /// Number of bytes at the front of the buffer that were returned as lines.
    taken: usize,
    /// Number of bytes at the front of the buffer that were returned, or searched without finding
    /// the end of a line.
    looked: usize,
}

impl Lines {
    /// Add received bytes at the end of the buffer.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.taken);
        self.looked -= self.taken;
        self.taken = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Remove and return the next line, without its end. None if no line is complete.
    /// [`Lines::rest`] returns the bytes after it. Call this for all complete lines before the next
    /// push, which moves the rest.
    ///
    /// # Errors
    /// A line of more than [`LINE_BYTES`]. Nothing after it can be read either.
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

    /// Return the bytes after the last line. If the socket has become a link, they are its first
    /// bytes.
    #[must_use]
    pub fn rest(mut self) -> Vec<u8> {
        self.bytes.split_off(self.taken)
    }
}

/// What a line of the protocol can contain, read from JSON. The code is compiled here, and not in each crate that reads
/// lines.
pub trait Parse: Sized {
    /// Parse a line.
    ///
    /// # Errors
    /// [`Garbled`], with the first problem of the line.
    fn parse(line: &[u8]) -> Result<Self, Garbled>;
}

/// A line of the protocol, or an item of an [`Overview`](crate::Overview), written as JSON. The code is compiled here,
/// and not in each crate that writes lines.
pub trait Encode {
    /// Return the JSON, without a newline.
    ///
    /// # Errors
    /// JSON cannot express the values.
    fn encode(&self) -> Result<Vec<u8>, Garbled>;
}

/// Implement [`Parse`] for types.
macro_rules! parse {
    ($($type:ty),+) => {$(
        impl Parse for $type {
            fn parse(line: &[u8]) -> Result<Self, Garbled> {
                serde_json::from_slice(line).map_err(|error| Garbled(error.to_string()))
            }
        }
    )+};
}

/// Implement [`Encode`] for types.
macro_rules! encode {
    ($($type:ty),+) => {$(
        impl Encode for $type {
            fn encode(&self) -> Result<Vec<u8>, Garbled> {
                serde_json::to_vec(self).map_err(|error| Garbled(error.to_string()))
            }
        }
    )+};
}

parse!(RequestLine, Message);
encode!(RequestLine, Message, Link, Connection, Stream);

/// Parse a protocol line as a [`RequestLine`] or a [`Message`].
///
/// # Errors
/// [`Garbled`], with the first problem of the line.
pub fn read<T: Parse>(line: &[u8]) -> Result<T, Garbled> {
    T::parse(line)
}

/// Return the request number in an invalid line, if it contains one, so that the refusal can repeat
/// it.
#[must_use]
pub fn request_number(line: &[u8]) -> Option<u64> {
    /// The request number in the JSON of a request; all other fields are ignored.
    #[derive(serde::Deserialize)]
    struct Numbered {
        id: u64,
    }
    let numbered: Option<Numbered> = serde_json::from_slice(line).ok();
    numbered.map(|numbered| numbered.id)
}

/// Encode a message or request as a line of JSON that ends with a newline.
///
/// # Errors
/// A line of more than [`LINE_BYTES`], which no peer reads. Split it into several requests.
pub fn write<T: Encode>(said: &T) -> Result<Vec<u8>, Garbled> {
    let mut line = said.encode()?;
    if line.len() > LINE_BYTES {
        let bytes = line.len();
        return Err(Garbled(format!(
            "a line of {bytes} bytes: {LINE_BYTES} are the most"
        )));
    }
    line.push(b'\n');
    Ok(line)
}
