//! The header of a packet, and its bytes.
//!
//! One form for all kinds of packet, [`Header::BYTES`] long, little-endian:
//!
//! | at | bytes | field | at | bytes | field |
//! |---|---|---|---|---|---|
//! | 0 | 2 | magic `IS` | 48 | 8 | first byte in the ADU |
//! | 2 | 1 | version, 1 | 56 | 4 | bytes of data |
//! | 3 | 1 | kind | 60 | 4 | checksum of the data |
//! | 4 | 1 | flags | 64 | 8 | acknowledged below |
//! | 5 | 3 | zero | 72 | 8 | acknowledged beyond, a bit each |
//! | 8 | 4 | channel | 80 | 8 | granted cost |
//! | 12 | 4 | stream | 88 | 8 | delivered below |
//! | 16 | 8 | sequence number | 96 | 4 | newest stream thrown away |
//! | 24 | 8 | floor | 100 | 4 | it and those before, a bit each |
//! | 32 | 8 | ADU | 104 | 4 | zero |
//! | 40 | 8 | bytes of the ADU | 108 | 4 | CRC32C of bytes 0 to 107 |
//!
//! The data follows. Decoding never panics and takes nothing that encoding would not give.

use crate::checksum::crc32c;
pub use crate::thrown::Thrown;
use std::fmt;

/// What a packet is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Data of a stream, or the mark of its end; it has a sequence number.
    Data,
    /// It acknowledges and grants, as all others do, and nothing else.
    Acknowledge,
    /// It asks for an acknowledgement, and says below which number nothing comes any more.
    Probe,
}

/// The header of a packet. Fields that a kind has no use for are 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// What it is for.
    pub kind: Kind,
    /// It is the last packet of its stream, and all ADUs before were whole.
    pub end: bool,
    /// It is the last packet of its stream, which was cut short; it carries no data.
    pub cut: bool,
    /// The number that both ends gave the connection.
    pub channel: u32,
    /// The stream: how many the sender registered on this connection before it.
    pub stream: u32,
    /// The sequence number in the connection and direction, from 0, one for each packet of data.
    pub sequence: u64,
    /// Packets below this number will not be sent again.
    pub floor: u64,
    /// The ADU, counted from 0 in the stream.
    pub adu: u64,
    /// Bytes of that ADU.
    pub adu_bytes: u64,
    /// The first byte of the data, counted in the ADU.
    pub offset: u64,
    /// Bytes of data after the header.
    pub bytes: u32,
    /// The checksum of the data, as the connection's `Checksum` says; 0 if it has none.
    pub sum: u32,
    /// All packets below this number have come.
    pub acknowledged: u64,
    /// Bit `i` is set if packet `acknowledged + 1 + i` has come.
    pub beyond: u64,
    /// The sender may spend this much since the connection was opened; see [`Header::cost`].
    pub granted: u64,
    /// All packets below this number have gone over links to their ranks, or were discarded.
    pub delivered: u64,
    /// Streams of which the receiver threw packets away.
    pub thrown: Thrown,
}

/// Why bytes are no header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Malformed {
    /// Fewer bytes than a header has: how many there are.
    Short(usize),
    /// It does not begin as a header does.
    Magic,
    /// A version that is not known here.
    Version(u8),
    /// The checksum of the header is not that of its bytes.
    Corrupted,
    /// A field says what it cannot say: its name.
    Field(&'static str),
}

const MAGIC: [u8; 2] = *b"IS";
const VERSION: u8 = 1;
const END: u8 = 1;
const CUT: u8 = 2;
const SUM_AT: usize = Header::BYTES - 4;

impl Header {
    /// Bytes of an encoded header.
    pub const BYTES: usize = 112;

    /// A header of this kind that says nothing yet.
    #[must_use]
    pub fn new(kind: Kind, channel: u32) -> Self {
        Self {
            kind,
            end: false,
            cut: false,
            channel,
            stream: 0,
            sequence: 0,
            floor: 0,
            adu: 0,
            adu_bytes: 0,
            offset: 0,
            bytes: 0,
            sum: 0,
            acknowledged: 0,
            beyond: 0,
            granted: 0,
            delivered: 0,
            thrown: Thrown::default(),
        }
    }

    /// What the packet costs of the window: its data and its header; a mark without data costs
    /// nothing, so that the end of a stream can always be told.
    #[must_use]
    pub fn cost(&self) -> u64 {
        match self.bytes {
            0 => 0,
            bytes => u64::from(bytes) + Self::BYTES as u64,
        }
    }

    /// The bytes of the header.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut out = [0; Self::BYTES];
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            out[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(&MAGIC);
        let flags = u8::from(self.end) * END + u8::from(self.cut) * CUT;
        put(&[VERSION, self.kind as u8, flags, 0, 0, 0]);
        put(&self.channel.to_le_bytes());
        put(&self.stream.to_le_bytes());
        for word in [
            self.sequence,
            self.floor,
            self.adu,
            self.adu_bytes,
            self.offset,
        ] {
            put(&word.to_le_bytes());
        }
        put(&self.bytes.to_le_bytes());
        put(&self.sum.to_le_bytes());
        for word in [
            self.acknowledged,
            self.beyond,
            self.granted,
            self.delivered,
            self.thrown.word(),
        ] {
            put(&word.to_le_bytes());
        }
        let sum = crc32c(&out[..SUM_AT]);
        out[SUM_AT..].copy_from_slice(&sum.to_le_bytes());
        out
    }

    /// The header that `bytes` begin with.
    ///
    /// # Errors
    /// Bytes that no header begins with, each with what is wrong first.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let Some(head) = bytes.first_chunk::<{ Self::BYTES }>() else {
            return Err(Malformed::Short(bytes.len()));
        };
        if head[..2] != MAGIC {
            return Err(Malformed::Magic);
        }
        if head[2] != VERSION {
            return Err(Malformed::Version(head[2]));
        }
        let (short, long) = (
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]),
            |at: usize| {
                let mut word = [0; 8];
                word.copy_from_slice(&head[at..at + 8]);
                u64::from_le_bytes(word)
            },
        );
        if crc32c(&head[..SUM_AT]) != short(SUM_AT) {
            return Err(Malformed::Corrupted);
        }
        let kind = match head[3] {
            0 => Kind::Data,
            1 => Kind::Acknowledge,
            2 => Kind::Probe,
            _ => return Err(Malformed::Field("kind")),
        };
        let flags = head[4];
        if flags & !(END | CUT) != 0 || flags == END | CUT {
            return Err(Malformed::Field("flags"));
        }
        if head[5..8] != [0; 3] || short(104) != 0 {
            return Err(Malformed::Field("zero"));
        }
        let thrown = Thrown::of(long(96)).ok_or(Malformed::Field("thrown"))?;
        let header = Self {
            kind,
            end: flags & END != 0,
            cut: flags & CUT != 0,
            channel: short(8),
            stream: short(12),
            sequence: long(16),
            floor: long(24),
            adu: long(32),
            adu_bytes: long(40),
            offset: long(48),
            bytes: short(56),
            sum: short(60),
            acknowledged: long(64),
            beyond: long(72),
            granted: long(80),
            delivered: long(88),
            thrown,
        };
        header.check()?;
        Ok(header)
    }

    /// Whether the fields go together.
    fn check(&self) -> Result<(), Malformed> {
        if self.kind != Kind::Data {
            let unused = [self.sequence, self.adu, self.adu_bytes, self.offset];
            let marks = self.end || self.cut;
            if marks || self.bytes != 0 || self.stream != 0 || unused != [0; 4] {
                return Err(Malformed::Field("data in a packet without data"));
            }
            return Ok(());
        }
        if self.bytes == 0 && !self.end && !self.cut || self.bytes != 0 && self.cut {
            return Err(Malformed::Field("bytes"));
        }
        // Below this, sums of a number and a window cannot overflow.
        if self.sequence >= 1 << 62 || self.adu >= 1 << 62 {
            return Err(Malformed::Field("sequence or ADU"));
        }
        match self.offset.checked_add(u64::from(self.bytes)) {
            Some(end) if end <= self.adu_bytes || self.bytes == 0 => Ok(()),
            _ => Err(Malformed::Field("offset")),
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short(found) => write!(f, "{found} bytes: a header has {}", Header::BYTES),
            Self::Magic => f.write_str("no header begins so: it begins with the letters IS"),
            Self::Version(found) => write!(f, "version {found} of headers: {VERSION} is known"),
            Self::Corrupted => f.write_str("the header's checksum is not that of its bytes"),
            Self::Field(name) => write!(f, "the header's field `{name}` says what cannot be"),
        }
    }
}

impl std::error::Error for Malformed {}
