//! A sink: takes packets outside, checks sums and order by itself, and confirms.
//!
//! It shares the form of headers with the manager and nothing else: what it says is a second
//! opinion. Faults are made by who looks at packets before they are taken: [`Action`].

use crate::error::{Error, Result};
use crate::sum::Sum;
use isthmus_ring::{Consumer, Producer};
use isthmus_stream::checksum::Checksum;
use isthmus_stream::wire::{Header, Kind};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

/// Bytes that are read before they are summed, while they are in the second cache.
const STEP: usize = 256 << 10;

/// What a sink expects.
#[derive(Clone, Debug)]
pub struct Sink {
    /// The channel of the connection.
    pub channel: u32,
    /// The checksum of its data.
    pub checksum: Checksum,
    /// What the sender may send before it is confirmed, in bytes with headers.
    pub window: u64,
    /// Whether the sender repairs: a corrupted packet is waited for again. If not, it is an error.
    pub repair: bool,
}

/// What is done with a packet before it is looked at. Who wants the sink to be slow or to stop
/// waits where it is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Take it.
    Take,
    /// Flip a bit of this byte of its data first, as a network might.
    Flip(u32),
    /// Leave: the connection is closed.
    Leave,
}

/// What a sink has seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Packets with data that were right, in order.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// ADUs that came whole.
    pub adus: u64,
    /// Streams that ended whole.
    pub ended: u64,
    /// Streams that were cut short: by a mark, or as the sender left in their midst.
    pub cut: u64,
    /// Where the first of them was cut: stream, ADU, byte of that ADU.
    pub cut_at: Option<(u32, u64, u64)>,
    /// Packets whose data was not what was sent.
    pub corrupted: u64,
    /// Packets that had come before.
    pub duplicates: u64,
    /// Packets that came before one that is missing, and were kept.
    pub early: u64,
}

/// Where a sender is.
#[derive(Default)]
struct State {
    counts: Counts,
    expected: u64,
    freed: u64,
    /// The next byte: stream, ADU, offset.
    next: (u32, u64, u64),
    early: BTreeMap<u64, (Header, Vec<u8>)>,
    /// Of `freed`, what the sender has been told.
    told: u64,
}

impl Sink {
    /// A sink for CRC32C on channel 0 with this window.
    #[must_use]
    pub fn new(window: u64) -> Self {
        Self {
            channel: 0,
            checksum: Checksum::Crc32c,
            window,
            repair: false,
        }
    }

    /// Takes packets until the sender closes the connection. `before` is asked for each packet with
    /// data, by how many came before it; `taken` is shown those that are right, in order.
    ///
    /// # Errors
    /// [`Error::Garbled`] with the place of what is wrong; what the system says of the socket.
    pub fn serve<S: Read + Write>(
        &self,
        socket: &mut S,
        mut before: impl FnMut(u64) -> Action,
        mut taken: impl FnMut(&Header, &[u8]),
    ) -> Result<Counts> {
        let mut state = State::default();
        let mut data = Vec::new();
        let mut came = 0;
        self.confirm(socket, &state)?;
        while let Some(header) = read_head(socket)? {
            if header.channel != self.channel {
                return Err(Error::Garbled(format!(
                    "a packet of channel {}",
                    header.channel
                )));
            }
            if header.kind != Kind::Data {
                if header.kind == Kind::Probe {
                    self.confirm(socket, &state)?;
                }
                continue;
            }
            let bytes = header.bytes as usize;
            let action = if bytes > 0 {
                before(came)
            } else {
                Action::Take
            };
            came += u64::from(bytes > 0);
            if action == Action::Leave {
                return Ok(state.counts);
            }
            if data.len() < bytes {
                data.resize(bytes, 0);
            }
            let flip = match action {
                Action::Flip(at) => Some(at as usize),
                _ => None,
            };
            let sum = read_data(socket, &mut data[..bytes], self.checksum, flip)?;
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
                continue;
            }
            if header.sequence < state.expected || state.early.contains_key(&header.sequence) {
                state.counts.duplicates += 1;
            } else if header.sequence > state.expected {
                state.counts.early += 1;
                state
                    .early
                    .insert(header.sequence, (header, data[..bytes].to_vec()));
            } else {
                state.take(&header, &data[..bytes], &mut taken)?;
                while let Some((header, data)) = state.early.remove(&state.expected) {
                    state.take(&header, &data, &mut taken)?;
                }
            }
            // Within an ADU nobody waits for more than room.
            let between = state.next.2 == 0;
            let room = state.freed - state.told >= self.window / 4;
            if between || room || !state.early.is_empty() || header.sequence + 1 != state.expected {
                self.confirm(socket, &state)?;
                state.told = state.freed;
            }
        }
        let (_, adu, offset) = state.next;
        if (adu, offset) != (0, 0) {
            state.cut();
        }
        Ok(state.counts)
    }

    fn confirm<S: Write>(&self, socket: &mut S, state: &State) -> Result<()> {
        let mut header = Header::new(Kind::Acknowledge, self.channel);
        header.acknowledged = state.expected;
        header.delivered = state.expected;
        header.granted = self.window.saturating_add(state.freed);
        for sequence in state.early.keys() {
            let ahead = sequence - state.expected - 1;
            if ahead < 64 {
                header.beyond |= 1 << ahead;
            }
        }
        match socket.write_all(&header.encode()) {
            // A sender that is through may have gone before it heard of it.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other.map_err(|error| Error::system("confirming packets", error)),
        }
    }
}

impl State {
    /// Takes the next packet in order.
    fn take(
        &mut self,
        header: &Header,
        data: &[u8],
        taken: &mut impl FnMut(&Header, &[u8]),
    ) -> Result<()> {
        self.expected += 1;
        self.freed += header.cost();
        if header.bytes > 0 {
            self.take_data(header)?;
            taken(header, data);
        }
        if header.end {
            // The mark of the end may stand in the last packet of data or in one of its own.
            let (stream, adu, offset) = self.next;
            let told = header.adu + u64::from(header.bytes > 0);
            if header.stream != stream || offset != 0 || told != adu {
                return Err(Error::Garbled(format!(
                    "stream {} ends after {told} ADUs, byte {offset} of ADU {adu} of stream \
                     {stream} was next",
                    header.stream
                )));
            }
        }
        if header.cut {
            // One of which nothing came has a number of its own.
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

    /// Counts the stream that is next as cut short there.
    fn cut(&mut self) {
        self.counts.cut += 1;
        self.counts.cut_at.get_or_insert(self.next);
    }

    fn take_data(&mut self, header: &Header) -> Result<()> {
        let (stream, adu, offset) = self.next;
        if (header.stream, header.adu, header.offset) != self.next {
            return Err(Error::Garbled(format!(
                "byte {} of ADU {} of stream {} came where byte {offset} of ADU {adu} of stream \
                 {stream} was next",
                header.offset, header.adu, header.stream
            )));
        }
        let end = offset + u64::from(header.bytes);
        self.next = match end == header.adu_bytes {
            true => (stream, adu + 1, 0),
            false => (stream, adu, end),
        };
        self.counts.packets += 1;
        self.counts.bytes += u64::from(header.bytes);
        self.counts.adus += u64::from(end == header.adu_bytes);
        Ok(())
    }
}

/// Two rings as one stream, for [`Sink::serve`] in a process of the same machine.
#[derive(Debug)]
pub struct Rings {
    /// The ring that the sender writes.
    pub from: Consumer,
    /// The ring that the sender reads.
    pub to: Producer,
    /// How long each read or write may take.
    pub patience: Duration,
}

fn as_io(error: isthmus_ring::Error) -> io::Error {
    match error {
        isthmus_ring::Error::PeerGone { .. } => io::ErrorKind::ConnectionReset.into(),
        isthmus_ring::Error::Closed { .. } => io::ErrorKind::BrokenPipe.into(),
        other => io::Error::other(other),
    }
}

impl Read for Rings {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let deadline = Instant::now() + self.patience;
        self.from.read(bytes, deadline).map_err(as_io)
    }

    fn read_exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        let deadline = Instant::now() + self.patience;
        self.from.read_exact(bytes, deadline).map_err(as_io)
    }
}

impl Write for Rings {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let deadline = Instant::now() + self.patience;
        self.to.write_all(bytes, deadline).map_err(as_io)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn refused(error: io::Error) -> Error {
    Error::system("reading packets", error)
}

/// The next header; none at the end of the connection.
fn read_head(socket: &mut impl Read) -> Result<Option<Header>> {
    let mut head = [0; Header::BYTES];
    let mut got = 0;
    while got < head.len() {
        match socket.read(&mut head[got..]) {
            Ok(0) if got == 0 => return Ok(None),
            Ok(0) => return Err(refused(io::ErrorKind::UnexpectedEof.into())),
            Ok(read) => got += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // A sender that was killed.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
            Err(error) => return Err(refused(error)),
        }
    }
    let header = Header::decode(&head);
    header
        .map(Some)
        .map_err(|why| Error::Garbled(why.to_string()))
}

/// Fills `data` and sums it.
fn read_data(
    socket: &mut impl Read,
    data: &mut [u8],
    checksum: Checksum,
    flip: Option<usize>,
) -> Result<u32> {
    let mut sum = Sum::new(checksum);
    let mut done = 0;
    while done < data.len() {
        // What there is, and no call more for what is not.
        let end = data.len().min(done + STEP);
        let piece = &mut data[done..end];
        let read = match socket.read(piece) {
            Ok(0) => return Err(refused(io::ErrorKind::UnexpectedEof.into())),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(refused(error)),
        };
        if let Some(byte) = flip.and_then(|at| piece[..read].get_mut(at.checked_sub(done)?)) {
            *byte ^= 1;
        }
        sum.add(&piece[..read]);
        done += read;
    }
    Ok(sum.word())
}
