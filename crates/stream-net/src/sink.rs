//! A sink receives packets, checks their checksums and their order, and confirms them.
//!
//! It shares only the header format with the manager, so that its checks are independent. A caller
//! injects faults with [`Action`] before a packet is checked.

use crate::error::{Error, Result};
pub use crate::peer::Peer;
use crate::sum::Sum;
use isthmus_stream::checksum::Checksum;
use isthmus_stream::wire::{Header, Kind};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

/// Number of bytes that the sink reads before it computes their checksum, while they are in the L2
/// cache.
const STEP: usize = 256 << 10;
/// Number of bytes that the sink reads ahead, so that one read returns several small packets.
const READ_AHEAD: usize = 4 << 10;
/// Maximum number of application data units that the sink confirms together.
const CONFIRM_ADUS_MAX: u64 = 64;
/// Maximum time for which a received application data unit waits to be confirmed together with others. It
/// may be longer while the sink receives a packet.
const CONFIRM_DELAY: Duration = Duration::from_millis(1);

/// The settings of a sink, which receives packets and checks them.
#[derive(Clone, Debug)]
pub struct Sink {
    /// The channel number that received packets must have in their headers.
    pub channel: u32,
    /// The kind of checksum of the packets' data.
    pub checksum: Checksum,
    /// Number of bytes, headers included, that the sender may send before they are confirmed.
    pub window: u64,
    /// Whether the sender sends lost packets again. The sink then waits for the repetition of a
    /// corrupted packet; otherwise such a packet is an error.
    pub repair: bool,
}

/// The treatment of a packet before a sink checks it, to inject faults. A caller can block in its
/// callback to slow the sink down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Receive the packet as it is.
    Take,
    /// Flip a bit in this byte of the packet's data before the check, as a network might.
    Flip(u32),
    /// Close the connection to the sender instead of taking the packet.
    Leave,
}

/// The counters of a sink.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Counts {
    /// Number of correct packets with data, in order.
    pub packets: u64,
    /// Number of data bytes in the correct packets.
    pub bytes: u64,
    /// Number of complete application data units.
    pub adus: u64,
    /// Number of streams that ended completely.
    pub ended: u64,
    /// Number of streams that were cut short, by a cut mark in a header or because the sender left.
    pub cut: u64,
    /// Position at which the first stream was cut short: stream, application data unit (ADU), byte
    /// of that ADU.
    pub cut_at: Option<(u32, u64, u64)>,
    /// Number of received packets whose data did not match their checksum.
    pub corrupted: u64,
    /// Number of packets that had been received before.
    pub duplicates: u64,
    /// Number of packets that arrived before a missing one, and were stored until it arrived.
    pub early: u64,
}

/// The state of a sink while it receives from one sender.
#[derive(Default)]
struct State {
    counts: Counts,
    expected: u64,
    freed: u64,
    /// Position of the next expected byte: stream, application data unit (ADU), byte of that ADU.
    next: (u32, u64, u64),
    early: BTreeMap<u64, (Header, Vec<u8>)>,
    /// Number of bytes of the receive window that packets use which arrived before a missing packet.
    early_cost: u64,
    /// Packets that the sink did not accept and that the sender will send again: maps the sequence
    /// number of a packet to the number of its stream.
    resent: BTreeMap<u64, u32>,
    /// Total number of received bytes that were confirmed to the sender, which may then send as many more.
    confirmed: u64,
    /// Bytes that were read from the socket beyond the current packet.
    read_ahead: VecDeque<u8>,
    /// Whether data was received that the sink has not confirmed.
    has_unconfirmed: bool,
    /// Number of application data units and ends of streams that have arrived and are not confirmed.
    /// `since` is the arrival time of the first of them.
    delayed: u64,
    since: Option<Instant>,
}

/// A caller's function that takes the data of the packets in order.
type Taken<'t> = dyn FnMut(&Header, &[u8]) -> Result<()> + 't;

impl Sink {
    /// Creates the settings of a sink: CRC32C checksums, channel 0, and `window`, the number of
    /// bytes that a sender may send before they are confirmed.
    #[must_use]
    pub fn new(window: u64) -> Self {
        Self {
            channel: 0,
            checksum: Checksum::Crc32c,
            window,
            repair: false,
        }
    }

    /// Receives packets until the sender closes the connection. The sink calls `before` for each
    /// packet with data, with the number of packets before it. It passes the correct packets to
    /// `taken` in order.
    ///
    /// The sink delays confirmations while more bytes can be read, up to a quarter of the window,
    /// 64 application data units or 1 ms. It confirms everything before it waits for bytes and
    /// before it returns. It confirms a packet only after `taken` has returned.
    ///
    /// # Errors
    /// [`Error::Garbled`] with the position of invalid data; errors of the socket.
    pub fn serve<S: Peer>(
        &self,
        socket: &mut S,
        before: impl FnMut(u64) -> Action,
        mut taken: impl FnMut(&Header, &[u8]),
    ) -> Result<Counts> {
        self.serve_while(socket, before, |header, data| {
            taken(header, data);
            Ok(())
        })
    }

    /// Receives packets as [`Sink::serve`] does, but ends if the caller's function `taken` returns an error.
    /// The packet for which it did is not confirmed.
    ///
    /// # Errors
    /// As [`Sink::serve`]; the first error of `taken`.
    pub fn serve_while<S: Peer>(
        &self,
        socket: &mut S,
        mut before: impl FnMut(u64) -> Action,
        mut taken: impl FnMut(&Header, &[u8]) -> Result<()>,
    ) -> Result<Counts> {
        self.receive(socket, &mut before, &mut taken)
    }

    /// Receives packets as [`Sink::serve_while`] does. All callers share this code.
    fn receive<S: Peer>(
        &self,
        socket: &mut S,
        before: &mut dyn FnMut(u64) -> Action,
        taken: &mut Taken<'_>,
    ) -> Result<Counts> {
        let mut state = State::default();
        self.confirm(socket, &mut state)?;
        let served = self.receive_all(socket, &mut state, before, taken);
        if state.has_unconfirmed {
            let confirmed = self.confirm(socket, &mut state);
            served.and(confirmed)?;
        } else {
            served?;
        }
        Ok(state.counts)
    }

    /// Receives packets until the sender closes the connection or an error occurs.
    fn receive_all<S: Peer>(
        &self,
        socket: &mut S,
        state: &mut State,
        before: &mut dyn FnMut(u64) -> Action,
        taken: &mut Taken<'_>,
    ) -> Result<()> {
        let mut buffer = Buffer {
            data: Vec::new(),
            head: [0; Header::BYTES],
            got: 0,
        };
        let mut came = 0;
        while let Some(header) = self.next_head(socket, state, &mut buffer)? {
            if header.channel != self.channel {
                return Err(Error::Garbled(format!(
                    "a packet of channel {}",
                    header.channel
                )));
            }
            if header.kind != Kind::Data {
                if header.kind == Kind::Probe {
                    self.confirm(socket, state)?;
                }
                continue;
            }
            self.has_room(state, &header)?;
            let bytes = header.bytes as usize;
            state.resent.remove(&header.sequence);
            let action = if bytes > 0 {
                came += 1;
                before(came - 1)
            } else {
                Action::Take
            };
            if action == Action::Leave {
                return Ok(());
            }
            let flip = match action {
                Action::Flip(at) => Some(at as usize),
                _ => None,
            };
            let Some(sum) = self.read_data(socket, state, &mut buffer, bytes, flip)? else {
                self.expect_again(state, &header)?;
                break;
            };
            let data = &buffer.data[..bytes];
            if sum != header.sum && self.checksum != Checksum::None && bytes > 0 {
                state.counts.corrupted += 1;
                if !self.repair {
                    return Err(Error::Garbled(format!(
                        "packet {}: its data is not what was sent: bytes {} to {} of ADU {} of \
                         stream {}",
                        header.sequence,
                        header.offset,
                        header.offset + u64::from(header.bytes),
                        header.adu,
                        header.stream
                    )));
                }
                self.expect_again(state, &header)?;
                continue;
            }
            let out_of_order = header.sequence != state.expected;
            if header.sequence < state.expected || state.early.contains_key(&header.sequence) {
                state.counts.duplicates += 1;
            } else if out_of_order {
                state.counts.early += 1;
                state.early_cost += header.cost();
                state.early.insert(header.sequence, (header, data.to_vec()));
            } else {
                state.take(&header, data, taken)?;
                while let Some((header, data)) = state.early.remove(&state.expected) {
                    state.early_cost -= header.cost();
                    state.take(&header, &data, taken)?;
                }
            }
            if out_of_order || !state.early.is_empty() || self.is_due(state) {
                self.confirm(socket, state)?;
            }
        }
        state.sender_left();
        Ok(())
    }

    /// Checks that the sender was allowed to send this packet: its bytes, and those of packets that arrived too
    /// early, must fit into the receive window.
    fn has_room(&self, state: &State, header: &Header) -> Result<()> {
        let (cost, other) = (header.cost(), state.early_cost);
        let is_known = header.sequence < state.expected;
        let is_known = is_known || state.early.contains_key(&header.sequence);
        if cost <= self.window && (is_known || cost <= self.window - other) {
            return Ok(());
        }
        Err(Error::Garbled(format!(
            "packet {}: its {cost} bytes are more than a sender may have under way, {} with {other} \
             that came before their turn",
            header.sequence, self.window
        )))
    }

    /// Records a packet that the sink did not accept, such as a corrupted one, and that the sender must send
    /// again. Returns an error if there are more such packets than fit into the receive window.
    fn expect_again(&self, state: &mut State, header: &Header) -> Result<()> {
        let expected = state.expected;
        state.resent.retain(|sequence, _| *sequence >= expected);
        state.resent.insert(header.sequence, header.stream);
        if state.resent.len() as u64 > self.window / Header::BYTES as u64 {
            let what = "more packets are to come again than there is room for";
            return Err(Error::Garbled(what.into()));
        }
        Ok(())
    }

    /// Returns whether the sink must confirm received data now, although more bytes may be
    /// readable.
    fn is_due(&self, state: &mut State) -> bool {
        // Count only the packet that ends an application data unit (ADU). After other packets the
        // sender waits for a confirmation only when its window is full.
        state.delayed += u64::from(state.next.2 == 0);
        let unconfirmed = state.freed - state.confirmed;
        let most = self.window / 4;
        if unconfirmed >= most || state.delayed >= CONFIRM_ADUS_MAX {
            return true;
        }
        if state.delayed == 0 {
            return false;
        }
        let now = Instant::now();
        now - *state.since.get_or_insert(now) >= CONFIRM_DELAY
    }

    /// Reads bytes. Returns None if the sender has left or was killed. If no bytes are available,
    /// confirms all received data and then waits.
    fn read<S: Peer>(
        &self,
        socket: &mut S,
        state: &mut State,
        bytes: &mut [u8],
    ) -> Result<Option<usize>> {
        let mut buffer = [0; READ_AHEAD];
        loop {
            if !state.read_ahead.is_empty() {
                return state.read_ahead.read(bytes).map(Some).map_err(refused);
            }
            let is_small = bytes.len() < READ_AHEAD;
            let into = if is_small { &mut buffer } else { &mut *bytes };
            let read = match state.has_unconfirmed {
                true => socket.read_now(into),
                false => socket.read(into).map(Some),
            };
            return match read {
                Ok(Some(0)) => Ok(None),
                Ok(Some(read)) if is_small => {
                    state.read_ahead.extend(&buffer[..read]);
                    continue;
                }
                Ok(Some(read)) => Ok(Some(read)),
                Ok(None) => {
                    self.confirm(socket, state)?;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if is_gone(&error) => Ok(None),
                Err(error) => Err(refused(error)),
            };
        }
    }

    /// Reads the header of the next packet. None at the end of the connection.
    fn next_head<S: Peer>(
        &self,
        socket: &mut S,
        state: &mut State,
        buffer: &mut Buffer,
    ) -> Result<Option<Header>> {
        while buffer.got < Header::BYTES {
            match self.read(socket, state, &mut buffer.head[buffer.got..])? {
                Some(read) => buffer.got += read,
                None if buffer.got > 0 && state.first_cut().is_none() => {
                    // Report that the connection ended within a header. The header is incomplete, so its stream is
                    // unknown.
                    return Err(Error::Garbled(format!(
                        "the sender left in the midst of a header: {} packets were taken before",
                        state.expected
                    )));
                }
                None => return Ok(None),
            }
        }
        buffer.got = 0;
        let header = Header::decode(&buffer.head);
        header
            .map(Some)
            .map_err(|why| Error::Garbled(why.to_string()))
    }

    /// Fills the first `bytes` bytes of the buffer with data from the socket, and computes their
    /// checksum. The last read includes bytes of the next header. Returns None if the sender left
    /// before all bytes arrived.
    fn read_data<S: Peer>(
        &self,
        socket: &mut S,
        state: &mut State,
        buffer: &mut Buffer,
        bytes: usize,
        flip: Option<usize>,
    ) -> Result<Option<u32>> {
        if buffer.data.len() < bytes + Header::BYTES {
            buffer.data.resize(bytes + Header::BYTES, 0);
        }
        let mut sum = Sum::new(self.checksum);
        let mut done = 0;
        while done < bytes {
            // Ask for the data and the header that follows it, to save the system call that would
            // read the header.
            let end = (bytes + Header::BYTES).min(done + STEP);
            let piece = &mut buffer.data[done..end];
            let Some(read) = self.read(socket, state, piece)? else {
                return Ok(None);
            };
            let piece = &mut piece[..read.min(bytes - done)];
            if let Some(byte) = flip.and_then(|at| piece.get_mut(at.checked_sub(done)?)) {
                *byte ^= 1;
            }
            sum.add(piece);
            done += read;
        }
        buffer.got = done - bytes;
        buffer.head[..buffer.got].copy_from_slice(&buffer.data[bytes..done]);
        Ok(Some(sum.word()))
    }

    /// Confirms all received data: sends an acknowledgement header to the sender.
    fn confirm<S: Write>(&self, socket: &mut S, state: &mut State) -> Result<()> {
        state.confirmed = state.freed;
        (state.has_unconfirmed, state.delayed, state.since) = (false, 0, None);
        let mut header = Header::new(Kind::Acknowledge, self.channel);
        header.acknowledged = state.expected;
        header.delivered = state.expected;
        header.granted = self.window.saturating_add(state.freed);
        for sequence in state.early.keys() {
            let distance = sequence - state.expected - 1;
            if distance < 64 {
                header.beyond |= 1 << distance;
            }
        }
        match socket.write_all(&header.encode()) {
            // Ignore that the sender has closed the connection before it read this header. The sink still
            // reads the data that the sender sent.
            Err(error) if is_gone(&error) => Ok(()),
            other => other.map_err(|error| Error::system("confirming packets", error)),
        }
    }
}

/// Received bytes: the data of a packet, and the part of the next header that was read with it.
struct Buffer {
    data: Vec<u8>,
    head: [u8; Header::BYTES],
    got: usize,
}

impl State {
    /// Accepts a packet that is the next in order, counts it, and passes its data to the caller's function.
    fn take(&mut self, header: &Header, data: &[u8], taken: &mut Taken<'_>) -> Result<()> {
        if header.bytes > 0 {
            self.is_next(header)?;
            taken(header, data)?;
            self.count(header);
        }
        self.expected += 1;
        self.freed += header.cost();
        self.has_unconfirmed = true;
        if header.end {
            // Check the announced number of ADUs. The end mark is in the last data packet or in a
            // packet without data.
            let (stream, adu, offset) = self.next;
            let announced = header.adu + u64::from(header.bytes > 0);
            if header.stream != stream || offset != 0 || announced != adu {
                return Err(Error::Garbled(format!(
                    "stream {} ends after {announced} ADUs, byte {offset} of ADU {adu} of stream \
                     {stream} was next",
                    header.stream
                )));
            }
        }
        if header.cut {
            // Move on to the number of a stream that was cut short before any of its data arrived.
            if header.stream > self.next.0 {
                self.next = (header.stream, 0, 0);
            }
            self.cut();
        }
        if header.cut || header.end {
            self.counts.ended += u64::from(header.end);
            self.next = (header.stream.saturating_add(1), 0, 0);
        }
        Ok(())
    }

    /// Returns the first incomplete stream, and the ADU and byte at which it ends if no more packets
    /// come; `None` if no stream is incomplete. An incomplete stream is the current one, or one with a
    /// packet that arrived too early or must be sent again.
    fn first_cut(&self) -> Option<(u32, u64, u64)> {
        let (_, adu, offset) = self.next;
        if (adu, offset) != (0, 0) {
            return Some(self.next);
        }
        let early = self.early.first_key_value();
        let early = early.map(|(sequence, (header, _))| (*sequence, header.stream));
        let resent = self.resent.range(self.expected..).next();
        let resent = resent.map(|(sequence, stream)| (*sequence, *stream));
        let (_, stream) = early.into_iter().chain(resent).min()?;
        Some((stream, 0, 0))
    }

    /// Handles the end of the connection: an incomplete stream counts as cut short.
    fn sender_left(&mut self) {
        if let Some(at) = self.first_cut() {
            self.next = at;
            self.cut();
        }
    }

    /// Counts the current stream as cut short at the current position.
    fn cut(&mut self) {
        self.counts.cut += 1;
        self.counts.cut_at.get_or_insert(self.next);
    }

    /// Checks that the packet starts at the next expected byte.
    fn is_next(&self, header: &Header) -> Result<()> {
        let (stream, adu, offset) = self.next;
        if (header.stream, header.adu, header.offset) != self.next {
            return Err(Error::Garbled(format!(
                "byte {} of ADU {} of stream {} came where byte {offset} of ADU {adu} of stream \
                 {stream} was next",
                header.offset, header.adu, header.stream
            )));
        }
        Ok(())
    }

    /// Counts the packet and its data as accepted.
    fn count(&mut self, header: &Header) {
        let (stream, adu, offset) = self.next;
        let end = offset + u64::from(header.bytes);
        self.next = match end == header.adu_bytes {
            true => (stream, adu + 1, 0),
            false => (stream, adu, end),
        };
        self.counts.packets += 1;
        self.counts.bytes += u64::from(header.bytes);
        self.counts.adus += u64::from(end == header.adu_bytes);
    }
}

/// Returns whether the error means that the peer has left or was killed.
fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset};
    matches!(error.kind(), BrokenPipe | ConnectionReset)
}

/// Converts an error of the operating system at the socket to an error of the sink.
fn refused(error: io::Error) -> Error {
    Error::system("reading packets", error)
}
