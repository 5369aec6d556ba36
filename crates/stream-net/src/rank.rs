//! The ranks' end of links: it writes the striping units (SUs) of a stream in the order of the data
//! format.
//!
//! Each call has a deadline. It writes all its data before the deadline, or fails. A sender owns
//! its data until the ADU is reported as moved: after a cut, it writes SUs again from the position
//! in [`Kind::Resume`].

use crate::error::{Error, Result};
use crate::frame::{BLOCK_BYTES, Frame, Kind};
use crate::sum::Sum;
use isthmus_ring::Producer;
use isthmus_stream::checksum::Checksum;
use isthmus_stream::{Format, LinkId, StreamId, Su, Tu};
use std::io::{self, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Maximum size in bytes of the first write of a frame to a ring: the header and the first data.
const FIRST_WRITE: usize = 32 << 10;

/// The pipe that a rank writes to: a ring or a blocking socket.
#[derive(Debug)]
pub enum Pipe {
    /// The writing end of a ring.
    Producer(Producer),
    /// A Unix socket.
    Unix(UnixStream),
    /// A TCP connection.
    Tcp(TcpStream),
}

/// Returns the time until the deadline. Fails if the deadline has passed.
fn time_left(deadline: Instant) -> io::Result<Duration> {
    let remaining = deadline.saturating_duration_since(Instant::now());
    match remaining.is_zero() {
        true => Err(io::ErrorKind::TimedOut.into()),
        false => Ok(remaining),
    }
}

impl Pipe {
    /// Writes bytes unchanged, for a caller that builds frames itself.
    ///
    /// # Errors
    /// The link is closed, or does not accept all bytes before `deadline`.
    pub fn write_all(&mut self, mut bytes: &[u8], deadline: Instant) -> Result<()> {
        let refused = |error: io::Error| Error::system("writing to a link", error);
        while !bytes.is_empty() {
            let remaining = time_left(deadline).map_err(refused)?;
            let written = match self {
                Self::Producer(ring) => return Ok(ring.write_all(bytes, deadline)?),
                Self::Unix(socket) => socket
                    .set_write_timeout(Some(remaining))
                    .and_then(|()| socket.write(bytes)),
                Self::Tcp(socket) => socket
                    .set_write_timeout(Some(remaining))
                    .and_then(|()| socket.write(bytes)),
            };
            match written {
                Ok(0) => return Err(refused(io::ErrorKind::WriteZero.into())),
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(refused(error)),
            }
        }
        Ok(())
    }

    /// Writes the header of a frame, its data and its checksums. A ring gets the header and the
    /// first data together, so that its reader is not woken for the header alone. The checksum of
    /// each block is computed right before the block is copied.
    fn write_frame(
        &mut self,
        head: &[u8],
        data: &[u8],
        sums: &mut Sums,
        deadline: Instant,
    ) -> Result<()> {
        if let Self::Producer(ring) = self {
            let most = (ring.capacity() / 2).min(FIRST_WRITE as u64) as usize;
            let first = data.len().min(most - head.len());
            let (first, rest) = data.split_at(sums.whole_blocks(first));
            sums.add(first);
            let mut room = ring.reserve(head.len() + first.len(), deadline)?;
            room.put(0, head);
            room.put(head.len(), first);
            room.commit(head.len() + first.len());
            if sums.checksum == Checksum::None {
                ring.write_all(rest, deadline)?;
            } else {
                ring.write_all_with(rest, deadline, BLOCK_BYTES, |piece| sums.add(piece))?;
            }
        } else {
            sums.add(data);
            self.write_all(head, deadline)?;
            self.write_all(data, deadline)?;
        }
        self.write_all(sums.words(), deadline)
    }
}

/// The checksums of a striping unit, one per block, in the form in which they follow its data.
#[derive(Debug)]
pub struct Sums {
    checksum: Checksum,
    /// Checksum of the incomplete block, and number of bytes in that block.
    sum: Sum,
    bytes: usize,
    words: Vec<u8>,
}

impl Sums {
    /// Creates the checksums of an empty striping unit.
    #[must_use]
    pub fn new(checksum: Checksum) -> Self {
        Self {
            checksum,
            sum: Sum::new(checksum),
            bytes: 0,
            words: Vec::new(),
        }
    }

    /// Returns the kind of the frames that carry these checksums.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.checksum {
            Checksum::None => Kind::Data,
            Checksum::Crc32c => Kind::Crc32c,
            Checksum::Internet => Kind::Internet,
        }
    }

    /// Clears the checksums of the previous striping unit before the next one starts.
    fn begin(&mut self) {
        self.words.clear();
        (self.sum, self.bytes) = (Sum::new(self.checksum), 0);
    }

    /// Returns the length of the whole blocks in the next `bytes` bytes of data, or `bytes` if
    /// there is no whole block or no checksum is computed.
    fn whole_blocks(&self, bytes: usize) -> usize {
        match bytes - bytes % BLOCK_BYTES {
            0 => bytes,
            _ if self.checksum == Checksum::None => bytes,
            whole => whole,
        }
    }

    /// Adds the next `data` of the striping unit to the checksums.
    pub fn add(&mut self, mut data: &[u8]) {
        if self.checksum == Checksum::None {
            return;
        }
        while !data.is_empty() {
            let (piece, rest) = data.split_at(data.len().min(BLOCK_BYTES - self.bytes));
            self.sum.add(piece);
            self.bytes += piece.len();
            data = rest;
            if self.bytes == BLOCK_BYTES {
                self.end_block();
            }
        }
    }

    /// Appends the checksum of the current block.
    fn end_block(&mut self) {
        self.words.extend(self.sum.rank_word().to_le_bytes());
        (self.sum, self.bytes) = (Sum::new(self.checksum), 0);
    }

    /// Returns the checksums of all blocks as bytes; the last block may be shorter. No data may be
    /// added after this call.
    pub fn words(&mut self) -> &[u8] {
        if self.bytes > 0 {
            self.end_block();
        }
        &self.words
    }
}

/// The writing end of a rank: it sends striping units (SUs) over one link.
#[derive(Debug)]
pub struct Sender {
    pipe: Pipe,
    link: LinkId,
    sums: Sums,
}

impl Sender {
    /// Creates a sender for the ranks' end of this link.
    #[must_use]
    pub fn new(link: LinkId, pipe: Pipe) -> Self {
        let sums = Sums::new(Checksum::None);
        Self { pipe, link, sums }
    }

    /// Makes the sender compute the checksums of the data, block by block, so that the interface
    /// need not read the data (paper, 4.1). For connections with another checksum, the interface
    /// computes its own.
    #[must_use]
    pub fn summing(mut self, checksum: Checksum) -> Self {
        self.sums = Sums::new(checksum);
        self
    }

    /// Writes one striping unit (SU) with this data.
    ///
    /// # Errors
    /// The data does not have the length of the SU; the link is closed, or does not accept all
    /// bytes before `deadline`.
    pub fn send_su(
        &mut self,
        stream: StreamId,
        tu: &Tu,
        su: &Su,
        data: &[u8],
        deadline: Instant,
    ) -> Result<()> {
        if data.len() as u64 != su.bytes || su.link != self.link {
            let (has, link, own) = (data.len(), su.link, self.link);
            let what = format!(
                "an SU of {} bytes for link {link}, given {has} on {own}",
                su.bytes
            );
            return Err(Error::Garbled(what));
        }
        let head = Frame::su(self.sums.kind(), stream, tu, su).encode();
        self.sums.begin();
        let sums = &mut self.sums;
        self.pipe.write_frame(&head, data, sums, deadline)
    }

    /// Writes the striping units of an application data unit (ADU) that go over this link. Writing
    /// starts at byte `from` of the stream on this link: 0, or the position in [`Kind::Resume`]
    /// after a cut. `before` is the number of bytes that all previous ADUs have on this link.
    ///
    /// # Returns
    /// `before` for the next ADU.
    ///
    /// # Errors
    /// As [`Sender::send_su`].
    pub fn send_adu(
        &mut self,
        stream: StreamId,
        format: &Format,
        (adu, data): (u64, &[u8]),
        (before, from): (u64, u64),
        deadline: Instant,
    ) -> Result<u64> {
        let mut at = before;
        let mut index = 0;
        while let Some(tu) = format.tu(adu, data.len() as u64, index) {
            let link = self.link;
            for su in format.sus(tu.bytes).filter(|su| su.link == link) {
                if at >= from {
                    let begin = (tu.offset + su.offset) as usize;
                    let data = &data[begin..begin + su.bytes as usize];
                    self.send_su(stream, &tu, &su, data, deadline)?;
                }
                at += su.bytes;
            }
            index += 1;
        }
        Ok(at)
    }
}
