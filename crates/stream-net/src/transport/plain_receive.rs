//! Divides received plain bytes into the ADUs of the streams that receive them.
//!
//! Plain bytes have neither bounds nor numbers: the first bytes of the connection are the first ADU
//! of the first receiving stream that was registered on it, and so on. Before such a stream is
//! registered, nothing is read, and never more than its ADUs need, so that TCP slows the sender
//! down. Bytes of a cancelled stream are skipped, so that the next stream begins at its own first
//! byte. A stream without a number of ADUs ends when the peer closes the connection.

use super::Incoming;
use isthmus_stream::wire::{Header, Kind};
use isthmus_stream::{Adu, Direction, Format, Offer, PacketId, StreamId, StreamSpec};
use isthmus_wire::{Moved, Socket};
use std::collections::VecDeque;

/// Maximum number of bytes read from a socket per call, so that other connections are served too.
const TURN: usize = 1 << 20;

/// A stream that expects plain bytes.
#[derive(Debug)]
pub(crate) struct Expected {
    stream: StreamId,
    format: Format,
    adu_bytes: u64,
    adus: Option<u64>,
}

impl Expected {
    /// Returns the record of a registered stream that receives plain bytes; `None` if the stream
    /// sends.
    pub fn of(stream: StreamId, spec: &StreamSpec) -> Option<Self> {
        match (spec.direction, spec.format.adu) {
            (Direction::Receive, Adu::Fixed(adu_bytes)) => Some(Self {
                stream,
                format: spec.format.clone(),
                adu_bytes,
                adus: spec.adus,
            }),
            _ => None,
        }
    }
}

/// Returns the reason for which a stream cannot receive plain bytes with this window. None if it
/// can.
pub(crate) fn refused(spec: &StreamSpec, window: u64) -> Option<String> {
    if spec.direction != Direction::Receive {
        return None;
    }
    let packet = spec.format.packet_bytes;
    if spec.format.adu == Adu::Variable {
        return Some("ADUs of any size: plain bytes do not say where one ends".into());
    }
    if packet.saturating_add(Header::BYTES as u64) > window {
        return Some(format!(
            "packets of {packet} bytes: the connection's window of {window} takes none of them"
        ));
    }
    None
}

/// The stream whose plain bytes are being received, and the position in its data.
#[derive(Debug)]
struct Current {
    expected: Expected,
    adu: u64,
    tu: u64,
    /// First byte of the next packet, counted from the start of the transfer unit.
    at: u64,
    /// Whether all packets of the stream have slots in network memory. Only the last packet may
    /// still be arriving.
    complete: bool,
}

impl Current {
    /// Returns the next packet of the stream: its application data unit, first byte, length, and
    /// whether it is the last of the stream.
    fn next(&self) -> Option<(u64, u64, u32, bool)> {
        let Expected {
            format,
            adu_bytes,
            adus,
            ..
        } = &self.expected;
        let tu = format.tu(self.adu, *adu_bytes, self.tu)?;
        let bytes = (tu.bytes - self.at).min(format.packet_bytes);
        let last = tu.last && self.at + bytes == tu.bytes && *adus == Some(self.adu + 1);
        Some((self.adu, tu.offset + self.at, bytes as u32, last))
    }

    /// Advances the position to the packet after the next one.
    fn advance(&mut self) {
        let format = &self.expected.format;
        let Some(tu) = format.tu(self.adu, self.expected.adu_bytes, self.tu) else {
            return;
        };
        self.at += (tu.bytes - self.at).min(format.packet_bytes);
        if self.at == tu.bytes {
            (self.at, self.tu) = (0, self.tu + 1);
            if tu.last {
                (self.adu, self.tu) = (self.adu + 1, 0);
            }
        }
    }
}

/// A packet whose bytes are being received.
#[derive(Debug)]
struct Reading {
    packet: PacketId,
    bytes: usize,
    done: usize,
}

/// State of dividing the received plain bytes of a connection into application data units.
#[derive(Debug, Default)]
pub(crate) struct PlainReceive {
    channel: u32,
    /// The number of the next stream on the connection. `sequence` is the sequence number of the
    /// next packet.
    ordinal: u32,
    sequence: u64,
    current: Option<Current>,
    /// The first byte of the next packet. A slot for the packet is requested only when this byte
    /// has arrived.
    first: Option<u8>,
    reading: Option<Reading>,
    /// Number of bytes of a packet without a slot that are still to be skipped.
    skip: u64,
    /// The reason for the end of the connection, set when the peer has closed it.
    over: Option<String>,
}

impl PlainReceive {
    /// Creates the state of the receiver before the first byte of the connection arrives. `channel`
    /// is the channel number of the connection.
    pub fn new(channel: u32) -> Self {
        Self {
            channel,
            ..Self::default()
        }
    }

    /// Returns whether bytes should be read from the socket as soon as they arrive: part of a
    /// packet is missing, or a stream expects its next packet.
    pub fn wants_read(&self, expects: &VecDeque<Expected>) -> bool {
        let half = self.reading.is_some() || self.skip > 0;
        let next = self.first.is_none() && (self.current.is_some() || !expects.is_empty());
        self.over.is_none() && (half || next)
    }

    /// Reads bytes and passes packets to the manager. Returns whether data moved.
    ///
    /// # Errors
    /// The reason for which the connection is lost.
    pub fn read(
        &mut self,
        socket: &Socket,
        incoming: &mut Incoming<'_>,
        expects: &mut VecDeque<Expected>,
        moved: &dyn Fn(StreamId) -> Option<u64>,
    ) -> Result<bool, String> {
        let (mut remaining, mut any) = (TURN, false);
        while remaining > 0 {
            if self.current.is_none() {
                let Some(expected) = expects.pop_front() else {
                    return Ok(any);
                };
                let (adu, tu, at) = (0, 0, 0);
                self.current = Some(Current {
                    expected,
                    adu,
                    tu,
                    at,
                    complete: false,
                });
            }
            if self.over.is_some() {
                if !self.is_moved(moved) {
                    return Ok(any);
                }
                return self.end(incoming).map(|moved| moved | any);
            }
            let moved = if self.skip > 0 {
                self.skip_bytes(socket)?
            } else if self.reading.is_some() {
                self.read_data(socket, incoming)?
            } else if self.first.is_some() {
                if !self.request_slot(incoming) {
                    return Ok(any);
                }
                any = true;
                continue;
            } else {
                self.read_first(socket)?
            };
            match moved {
                Moved::Some(bytes) => remaining = remaining.saturating_sub(bytes),
                Moved::None => return Ok(any),
                Moved::End => self.over = Some(self.closed()),
            }
            any = true;
        }
        Ok(any)
    }

    /// Reads the first byte of the next packet.
    fn read_first(&mut self, socket: &Socket) -> Result<Moved, String> {
        let mut byte = [0];
        let moved = socket.read(&mut byte).map_err(|error| error.to_string())?;
        if let Moved::Some(_) = moved {
            self.first = Some(byte[0]);
        }
        Ok(moved)
    }

    /// Requests a slot for the next packet. Returns false if the packet has to wait.
    fn request_slot(&mut self, incoming: &mut Incoming<'_>) -> bool {
        let Some(current) = &mut self.current else {
            return false;
        };
        let Some((adu, offset, bytes, last)) = current.next() else {
            return false;
        };
        let mut header = Header::new(Kind::Data, self.channel);
        (header.stream, header.sequence) = (self.ordinal, self.sequence);
        (header.adu, header.adu_bytes) = (adu, current.expected.adu_bytes);
        (header.offset, header.bytes, header.end) = (offset, bytes, last);
        match incoming.offer(&header) {
            Offer::Take(packet) => {
                incoming.memory.allocate(packet, bytes as usize);
                self.reading = Some(Reading {
                    packet,
                    bytes: bytes as usize,
                    done: 0,
                });
            }
            Offer::Later => return false,
            Offer::Taken | Offer::Drop(_) => self.skip = u64::from(bytes),
        }
        self.sequence += 1;
        current.advance();
        current.complete = last;
        true
    }

    /// Advances after the data of a packet is complete: after the last packet of a stream, the next
    /// stream begins.
    fn packet_done(&mut self) {
        if self
            .current
            .as_ref()
            .is_some_and(|current| current.complete)
        {
            self.current = None;
            self.ordinal += 1;
        }
    }

    /// Reads data of the current packet into its slot in network memory.
    fn read_data(&mut self, socket: &Socket, incoming: &mut Incoming<'_>) -> Result<Moved, String> {
        let Some(it) = &mut self.reading else {
            return Ok(Moved::None);
        };
        let Some(block) = incoming.memory.packet_mut(it.packet) else {
            // The manager released the memory of this packet while its data arrived, so skip its
            // remaining bytes.
            self.skip = (it.bytes - it.done) as u64;
            self.reading = None;
            return Ok(Moved::None);
        };
        let room = &mut block.bytes[it.done..it.bytes];
        let moved = match self.first.take() {
            Some(first) => {
                room[0] = first;
                Moved::Some(1)
            }
            None => socket.read(room).map_err(|error| error.to_string())?,
        };
        if let Moved::Some(bytes) = moved {
            it.done += bytes;
        }
        if it.done == it.bytes {
            let packet = it.packet;
            self.reading = None;
            self.packet_done();
            // Pass 0 as the checksum, because plain bytes carry none to compare with.
            incoming.arrived(packet, 0);
        }
        Ok(moved)
    }

    /// Reads and discards bytes of a packet that has no slot in network memory.
    fn skip_bytes(&mut self, socket: &Socket) -> Result<Moved, String> {
        let mut waste = [0; 16 << 10];
        let first = self.first.take().is_some();
        let most = self.skip.min(waste.len() as u64) as usize;
        let moved = match first {
            true => Moved::Some(1),
            false => {
                let moved = socket.read(&mut waste[..most]);
                moved.map_err(|error| error.to_string())?
            }
        };
        if let Moved::Some(bytes) = moved {
            self.skip -= bytes as u64;
            if self.skip == 0 {
                self.packet_done();
            }
        }
        Ok(moved)
    }

    /// Returns a text that says why the connection was closed, for a message.
    fn closed(&self) -> String {
        let half = self.reading.is_some() || self.skip > 0;
        let current = self.current.as_ref();
        match current.map(|it| (it.adu, it.expected.adus, it.tu > 0 || it.at > 0)) {
            Some((adu, _, started)) if started || half && adu > 0 => {
                let adu = if started { adu } else { adu - 1 };
                format!("the other side closed it in the middle of ADU {adu}")
            }
            Some((adu, Some(adus), _)) => {
                format!("the other side closed it after {adu} of {adus} ADUs")
            }
            _ => "the other side closed it".into(),
        }
    }

    /// Returns whether the ranks have received all complete application data units of the current
    /// stream; `moved` returns the number that they have. The loss of the connection is reported
    /// only after that.
    fn is_moved(&self, moved: &dyn Fn(StreamId) -> Option<u64>) -> bool {
        let Some(current) = &self.current else {
            return true;
        };
        let half = self.reading.is_some() || self.skip > 0;
        let between = (current.tu, current.at) == (0, 0);
        let whole = current.adu - u64::from(half && between && current.adu > 0);
        // A stream that has ended counts as moved: it no longer waits for its ranks.
        moved(current.expected.stream).is_none_or(|moved| moved >= whole)
    }

    /// Ends the current stream, if its number of application data units is not set, and then the
    /// connection.
    fn end(&mut self, incoming: &mut Incoming<'_>) -> Result<bool, String> {
        let why = self.over.clone().unwrap_or_default();
        let whole = self.reading.is_none() && self.skip == 0;
        if let Some(current) = self.current.as_ref().filter(|_| whole)
            && current.expected.adus.is_none()
            && (current.tu, current.at) == (0, 0)
        {
            let mut header = Header::new(Kind::Data, self.channel);
            (header.stream, header.sequence) = (self.ordinal, self.sequence);
            (header.adu, header.end) = (current.adu, true);
            if incoming.offer(&header) == Offer::Later {
                return Ok(false);
            }
        }
        Err(why)
    }
}
