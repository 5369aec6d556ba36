//! What goes over a link between a rank and the interface: frames, on all kinds of link the same.
//!
//! A frame is a header of [`Frame::BYTES`], little-endian, and for `Data` and `Void` its data; for
//! `Crc32c` and `Internet` its data and [`Frame::sums_bytes`] of sums, a word for each
//! [`BLOCK_BYTES`] of the data and one for what is left:
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
//! An SU that says where it belongs costs 32 bytes, and a rank that is out of step is found by the
//! first frame of it. A link is memory, or a socket of one machine, and needs no checksum of its
//! own: sums are those of the connection, which ranks may make instead of the interface (paper,
//! 4.1). The interface combines those of a packet, and need not look at its bytes.

use crate::error::{Error, Result};
use isthmus_stream::checksum::{Checksum, crc32c};
use isthmus_stream::{StreamId, Su, Tu};

/// What a frame is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An SU, with its data.
    Data,
    /// To ranks: an SU of which not all bytes came. As many follow, and none is good.
    Void,
    /// The rest does not come: from ranks, they give the stream up, in mid-ADU or not; to ranks,
    /// the stream failed or was cancelled.
    Cut,
    /// To ranks: the stream is done; `adu` is how many ADUs it had.
    End,
    /// To ranks that come back after a cut link: of this stream, `offset` bytes on this link are
    /// taken. What follows them is written again.
    Resume,
    /// From ranks: an SU with its data and the CRC32C of each block of them.
    Crc32c,
    /// From ranks: an SU with its data and the Internet checksum of each block, not inverted.
    Internet,
}

/// Bytes that ranks sum by themselves, the larger of the paper's sizes (4.1): a block stays in the
/// first cache from its sum to its copy.
pub const BLOCK_BYTES: usize = 16 << 10;

/// The header of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    /// What it is for.
    pub kind: Kind,
    /// The stream.
    pub stream: StreamId,
    /// The ADU, counted from 0 in the stream.
    pub adu: u64,
    /// The first byte of the SU, counted in the ADU.
    pub offset: u64,
    /// Bytes of data.
    pub bytes: u32,
}

const MAGIC: [u8; 2] = *b"IL";
const VERSION: u8 = 1;
const SUM_AT: usize = Frame::BYTES - 4;

impl Frame {
    /// Bytes of an encoded header.
    pub const BYTES: usize = 32;

    /// The frame of an SU. SUs are below 4 GiB: one of more says 0 bytes, which decoding refuses.
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

    /// A frame without data.
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

    /// The checksum of the sums that follow the data; none if there are none.
    #[must_use]
    pub fn sums(&self) -> Checksum {
        match self.kind {
            Kind::Crc32c => Checksum::Crc32c,
            Kind::Internet => Checksum::Internet,
            _ => Checksum::None,
        }
    }

    /// Bytes of the sums that follow the data.
    #[must_use]
    pub fn sums_bytes(&self) -> usize {
        match self.sums() {
            Checksum::None => 0,
            _ => 4 * (self.bytes as usize).div_ceil(BLOCK_BYTES),
        }
    }

    /// Bytes that follow the header.
    #[must_use]
    pub fn follow(&self) -> u64 {
        u64::from(self.bytes) + self.sums_bytes() as u64
    }

    /// The bytes of the header.
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

    /// The header that these bytes are.
    ///
    /// # Errors
    /// [`Error::Garbled`], with what is wrong first.
    pub fn decode(bytes: &[u8; Self::BYTES]) -> Result<Self> {
        let refuse = |what: &str| Err(Error::Garbled(format!("a frame of a link: {what}")));
        if bytes[..2] != MAGIC {
            return refuse("it begins with the letters IL, these bytes do not");
        }
        if bytes[2] != VERSION {
            return refuse(&format!("version {}: {VERSION} is known", bytes[2]));
        }
        let short = |at: usize| {
            let mut word = [0; 4];
            word.copy_from_slice(&bytes[at..at + 4]);
            u32::from_le_bytes(word)
        };
        let long = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
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
