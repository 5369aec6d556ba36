//! The header of packets, and its encoding as bytes.
//!
//! All kinds of packet share one format, [`Header::BYTES`] long, little-endian:
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
//! The data follows. Decoding never panics, and accepts only headers that encoding can produce.

use crate::checksum::crc32c;
pub use crate::discarded::DiscardedStreams;

/// The kind of a packet between two managers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Kind {
    /// Data of a stream, or its end mark, with a sequence number.
    #[default]
    Data,
    /// A packet without data: only acknowledgements and credit, which packets of all other kinds
    /// carry, too.
    Acknowledge,
    /// A request for an acknowledgement. `floor` is the number below which no packets will come.
    Probe,
}

/// The header of a packet. Fields that its kind of packet does not use are 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Header {
    /// The kind of the packet.
    pub kind: Kind,
    /// Whether this is the last packet of its stream, and all application data units (ADUs) of the
    /// stream are complete.
    pub end: bool,
    /// Whether this is the last packet of a stream that was cut short. It carries no data.
    pub cut: bool,
    /// The channel number of the connection, equal at both ends.
    pub channel: u32,
    /// Number of the packet's stream: the number of streams that the sender registered earlier on
    /// this connection.
    pub stream: u32,
    /// The sequence number of the packet, which counts the data packets of the connection and
    /// direction from 0.
    pub sequence: u64,
    /// The sender will not send packets below this sequence number again.
    pub floor: u64,
    /// Number of the packet's application data unit (ADU), counted from 0 in the stream.
    pub adu: u64,
    /// Size of the packet's application data unit (ADU) in bytes.
    pub adu_bytes: u64,
    /// First byte of the packet's data, counted from the start of the application data unit (ADU).
    pub offset: u64,
    /// Number of data bytes after the header.
    pub bytes: u32,
    /// The checksum of the data, of the connection's kind. 0 if the connection has none.
    pub sum: u32,
    /// All packets below this sequence number have arrived at the sender of this header.
    pub acknowledged: u64,
    /// Bit `i` is set if packet `acknowledged + 1 + i` has arrived at the sender of this header.
    pub beyond: u64,
    /// Total cost in bytes that the peer may send since the connection was opened; see
    /// [`Header::cost`].
    pub granted: u64,
    /// All packets below this sequence number were delivered to ranks or discarded.
    pub delivered: u64,
    /// Streams of which the sender of this header discarded packets.
    pub discarded: DiscardedStreams,
}

/// The reason for which bytes are not a valid packet header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Malformed {
    /// There are fewer bytes than a header has. The field is the number of bytes.
    #[error("{} bytes: a header has {}", .0, Header::BYTES)]
    Short(usize),
    /// The first two bytes are not `IS`.
    #[error("no header begins so: it begins with the letters IS")]
    Magic,
    /// The version of the header format is unknown.
    #[error("version {0} of headers: {VERSION} is known")]
    Version(u8),
    /// The checksum of the header is wrong.
    #[error("the header's checksum is not that of its bytes")]
    Corrupted,
    /// The field with this name has an invalid value.
    #[error("the header's field `{0}` says what cannot be")]
    Field(&'static str),
}

/// The first two bytes of every packet header.
const MAGIC: [u8; 2] = *b"IS";
/// The version of the format of packet headers.
const VERSION: u8 = 1;
/// The bit in the header's flags that marks the last packet of a complete stream.
const END: u8 = 1;
/// The bit in the header's flags that marks the last packet of a stream that was cut short.
const CUT: u8 = 2;
/// Position of the header's checksum in the header.
const SUM_AT: usize = Header::BYTES - 4;

impl Header {
    /// Size of an encoded packet header in bytes.
    pub const BYTES: usize = 112;

    /// Creates a header of this kind with all other fields 0 or false.
    #[must_use]
    pub fn new(kind: Kind, channel: u32) -> Self {
        Self {
            kind,
            channel,
            ..Self::default()
        }
    }

    /// Returns the number of bytes that the packet uses of the receive window: its data and its
    /// header. An end mark without data uses nothing, so that the end of a stream can always be
    /// sent.
    #[must_use]
    pub fn cost(&self) -> u64 {
        match self.bytes {
            0 => 0,
            bytes => u64::from(bytes) + Self::BYTES as u64,
        }
    }

    /// Encodes the header as bytes, with its checksum.
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
            self.discarded.word(),
        ] {
            put(&word.to_le_bytes());
        }
        let sum = crc32c(&out[..SUM_AT]);
        out[SUM_AT..].copy_from_slice(&sum.to_le_bytes());
        out
    }

    /// Decodes the header at the start of `bytes`.
    ///
    /// # Errors
    /// The first problem of invalid bytes.
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
        let short = |at| u32::from_le_bytes(head[at..at + 4].try_into().expect("4 bytes"));
        let long = |at| u64::from_le_bytes(head[at..at + 8].try_into().expect("8 bytes"));
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
        let discarded = DiscardedStreams::of(long(96)).ok_or(Malformed::Field("thrown"))?;
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
            discarded,
        };
        header.check()?;
        Ok(header)
    }

    /// Checks that the fields of the header are consistent.
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
        // With numbers below this bound, adding a window to a number cannot overflow.
        if self.sequence >= 1 << 62 || self.adu >= 1 << 62 {
            return Err(Malformed::Field("sequence or ADU"));
        }
        match self.offset.checked_add(u64::from(self.bytes)) {
            Some(end) if end <= self.adu_bytes || self.bytes == 0 => Ok(()),
            _ => Err(Malformed::Field("offset")),
        }
    }
}
