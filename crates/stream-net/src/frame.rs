//! The frames on a link between a rank and the interface, the same on all kinds of links.
//!
//! A frame is a header of [`Frame::BYTES`], little-endian. `Data` and `Void` add their data.
//! `Crc32c` and `Internet` add their data and [`Frame::sums_bytes`] of checksums: a word for each
//! [`BLOCK_BYTES`] of the data and one for the rest.
//!
//! | at | bytes | field |
//! |---|---|---|
//! | 0 | 2 | the letters `IL` |
//! | 2 | 1 | version, 1 |
//! | 3 | 1 | kind |
//! | 4 | 4 | stream, as the manager numbers it |
//! | 8 | 8 | ADU |
//! | 16 | 8 | first byte of the SU, counted in the ADU |
//! | 24 | 4 | bytes of the SU |
//! | 28 | 4 | CRC32C of bytes 0 to 27 |
//!
//! The stream manager divides a stream into application data units (ADUs), and these into striping
//! units (SUs) for the links. Each SU carries its position, so the interface detects a rank that sends
//! other data than expected. A link is memory or a socket of one machine, and needs no checksum of its
//! own. The checksums are those of the connection's packets: ranks may compute them for the interface,
//! which combines them without reading the data (Steenkiste 1996, section 4.1).

use crate::error::{Error, Result};
use isthmus_stream::checksum::{Checksum, crc32c};
use isthmus_stream::{StreamId, Su, Tu};

/// The kind of a frame on a link: data with or without checksums, or a control message such as the
/// end of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A striping unit (piece of a data unit) with its data, without checksums.
    Data,
    /// To ranks: replaces a striping unit (piece of a data unit) that did not arrive completely. As many
    /// bytes follow as the unit has, none of them valid.
    Void,
    /// The rest of the stream is missing. From ranks: they abandon the stream, even within an
    /// application data unit. To ranks: the stream failed or was cancelled.
    Cut,
    /// To ranks: the stream is done; `adu` is its number of application data units.
    End,
    /// To ranks after a cut: `offset` bytes of this stream on this link were received. The rank
    /// must write all later bytes again.
    Resume,
    /// A striping unit (piece of a data unit) from a rank: its data and the CRC32C of each block of the data.
    Crc32c,
    /// A striping unit (piece of a data unit) from a rank: its data and the Internet checksum of each block of
    /// the data. The checksum is the ones' complement sum without the final inversion.
    Internet,
}

/// Size in bytes of the blocks for which ranks compute checksums: the larger size in Steenkiste 1996, section
/// 4.1. A block stays in the L1 cache from the computation of its checksum until it is copied.
pub const BLOCK_BYTES: usize = 16 << 10;

/// The header of a frame on a link: the kind, and the stream and position of the data that follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    /// The kind of the frame.
    pub kind: Kind,
    /// The stream to which the frame belongs.
    pub stream: StreamId,
    /// Number of the frame's application data unit, counted from 0 in the stream.
    pub adu: u64,
    /// First byte of the frame's striping unit, counted from the start of the application data
    /// unit.
    pub offset: u64,
    /// Number of data bytes after the header.
    pub bytes: u32,
}

/// The first two bytes of every frame header.
const MAGIC: [u8; 2] = *b"IL";
/// The version of the format of frame headers.
const VERSION: u8 = 1;
/// Position of the header's checksum in the header.
const SUM_AT: usize = Frame::BYTES - 4;

impl Frame {
    /// Size of an encoded frame header in bytes.
    pub const BYTES: usize = 32;

    /// Creates the header of a frame with the data of the striping unit `su`, which must be smaller
    /// than 4 GiB. For a larger one the header says 0 bytes, and the decoder refuses it.
    #[must_use]
    pub fn su(kind: Kind, stream: StreamId, tu: &Tu, su: &Su) -> Self {
        Self {
            kind,
            stream,
            adu: tu.adu,
            offset: tu.offset + su.offset,
            bytes: u32::try_from(su.bytes).unwrap_or(0),
        }
    }

    /// Creates a frame without data, such as the end of a stream.
    #[must_use]
    pub fn mark(kind: Kind, stream: StreamId, adu: u64, offset: u64) -> Self {
        Self {
            kind,
            stream,
            adu,
            offset,
            bytes: 0,
        }
    }

    /// Returns the kind of the checksums that follow the data of this frame.
    #[must_use]
    pub fn sums(&self) -> Checksum {
        match self.kind {
            Kind::Crc32c => Checksum::Crc32c,
            Kind::Internet => Checksum::Internet,
            _ => Checksum::None,
        }
    }

    /// Returns the size in bytes of the checksums that follow the data of this frame: 4 bytes for each block of
    /// the data, 0 without checksums.
    #[must_use]
    pub fn sums_bytes(&self) -> usize {
        match self.sums() {
            Checksum::None => 0,
            _ => 4 * (self.bytes as usize).div_ceil(BLOCK_BYTES),
        }
    }

    /// Returns the number of bytes that follow the header of the frame: those of the data and of the checksums.
    #[must_use]
    pub fn follow(&self) -> u64 {
        u64::from(self.bytes) + self.sums_bytes() as u64
    }

    /// Encodes the header of the frame as bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut out = [0; Self::BYTES];
        out[..2].copy_from_slice(&MAGIC);
        out[2] = VERSION;
        out[3] = self.kind as u8;
        out[4..8].copy_from_slice(&self.stream.0.to_le_bytes());
        out[8..16].copy_from_slice(&self.adu.to_le_bytes());
        out[16..24].copy_from_slice(&self.offset.to_le_bytes());
        out[24..28].copy_from_slice(&self.bytes.to_le_bytes());
        let sum = crc32c(&out[..SUM_AT]);
        out[SUM_AT..].copy_from_slice(&sum.to_le_bytes());
        out
    }

    /// Decodes the header of a frame.
    ///
    /// # Errors
    /// [`Error::Garbled`] with the first problem.
    pub fn decode(bytes: &[u8; Self::BYTES]) -> Result<Self> {
        let refuse = |what: &str| Err(Error::Garbled(format!("a frame of a link: {what}")));
        if bytes[..2] != MAGIC {
            return refuse("it begins with the letters IL, these bytes do not");
        }
        if bytes[2] != VERSION {
            return refuse(&format!("version {}: {VERSION} is known", bytes[2]));
        }
        let short = |at| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let long = |at| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        if crc32c(&bytes[..SUM_AT]) != short(SUM_AT) {
            return refuse("its checksum is not that of its bytes");
        }
        let kind = match bytes[3] {
            0 => Kind::Data,
            1 => Kind::Void,
            2 => Kind::Cut,
            3 => Kind::End,
            4 => Kind::Resume,
            5 => Kind::Crc32c,
            6 => Kind::Internet,
            other => return refuse(&format!("kind {other}: 0 to 6 are known")),
        };
        let frame = Self {
            kind,
            stream: StreamId(short(4)),
            adu: long(8),
            offset: long(16),
            bytes: short(24),
        };
        let carries = !matches!(kind, Kind::Cut | Kind::End | Kind::Resume);
        if carries != (frame.bytes > 0) {
            return refuse(&format!("{kind:?} with {} bytes of data", frame.bytes));
        }
        if frame.offset.checked_add(u64::from(frame.bytes)).is_none() {
            return refuse("its SU ends beyond 2^64 bytes");
        }
        Ok(frame)
    }
}
