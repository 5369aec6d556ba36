//! The end that reads.

use crate::CHUNK;
use crate::claim::{Back, Claim};
use crate::error::{Error, Wanted, refused};
use crate::handles::Handles;
use crate::line::Line;
use crate::mapping::Mapping;
use crate::producer::{STEP, at_most_half};
use crate::reader::Reader;
use crate::wait::spin;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;
use vm_memory::WriteVolatile;

/// Reads from a ring. Dropped, it is closed.
///
/// Its descriptor becomes readable when the producer wakes it or is gone: a driver of many rings
/// calls [`Consumer::arm`], polls all, and calls [`Consumer::mark_ready`] of those that are readable.
#[derive(Debug)]
pub struct Consumer {
    /// Nothing only while it is handed over or dropped.
    parts: Option<Parts>,
}

#[derive(Debug)]
struct Parts {
    reader: Reader<Arc<Mapping>>,
    /// What was claimed and is wanted no more.
    back: Arc<Back>,
    line: Line,
    memory: OwnedFd,
}

impl Consumer {
    /// The consumer's end of the ring that was received, of at most `most` bytes; there must be one
    /// only. The memory of a ring is counted for the process that touches it first, all of it here.
    ///
    /// # Errors
    /// [`Error::NoRing`] if it is none or too large, or its memory could be taken away by the other
    /// side; [`Error::Corrupt`] if its positions are none.
    pub fn attach(handles: Handles, most: u64) -> Result<Self, Error> {
        let line = Line::new(handles.line)?;
        let reader = Reader::new(Mapping::attach(&handles.memory, most)?)?;
        let memory = handles.memory;
        let parts = Some(Parts {
            reader,
            back: Arc::default(),
            line,
            memory,
        });
        Ok(Self { parts })
    }

    /// This end for another process, as it is: what was not released is there still, and what is
    /// claimed still as well.
    pub fn into_handles(mut self) -> Handles {
        let parts = self.parts.take().expect("only dropped ends have no parts");
        parts.reader.awake();
        Handles::new(parts.memory, parts.line.into_socket())
    }

    fn parts(&mut self) -> &mut Parts {
        self.parts
            .as_mut()
            .expect("only dropped ends have no parts")
    }

    /// Bytes of the ring.
    pub fn capacity(&self) -> u64 {
        let parts = self.parts.as_ref();
        parts.map_or(0, |parts| parts.reader.capacity())
    }

    /// Bytes ever read.
    pub fn read_so_far(&self) -> u64 {
        let parts = self.parts.as_ref();
        parts.map_or(0, |parts| parts.reader.cursor())
    }

    /// Bytes that can be read now; nothing once there will be no more, after the producer closed.
    ///
    /// # Errors
    /// [`Error::Corrupt`]; [`Error::PeerGone`] once there will be no more, as the producer's
    /// process ended.
    pub fn available(&mut self) -> Result<Option<u64>, Error> {
        let there = self.parts().look()?;
        let over = there == 0 && self.parts().reader.ended();
        Ok((!over).then_some(there))
    }

    /// Whether no more comes than what was there when last looked: the producer has closed, or is
    /// gone.
    pub fn is_over(&mut self) -> bool {
        let parts = self.parts();
        parts.reader.ended() || parts.line.gone()
    }

    /// Reads what is there now into `bytes`, as much as fits.
    ///
    /// # Returns
    /// How many bytes that are, 0 if there are none now; nothing once there will be no more.
    ///
    /// # Errors
    /// As [`Consumer::available`].
    pub fn try_read(&mut self, bytes: &mut [u8]) -> Result<Option<usize>, Error> {
        if self.available()?.is_none() {
            return Ok(None);
        }
        let parts = self.parts();
        let len = parts.reader.get(0, bytes);
        parts.release(len);
        Ok(Some(len))
    }

    /// Waits for data and reads what is there into `bytes`, as much as fits.
    ///
    /// # Returns
    /// How many bytes that are; 0 once there will be no more, or if nothing fits.
    ///
    /// # Errors
    /// [`Error::TimedOut`] at `deadline`; otherwise as [`Consumer::available`].
    pub fn read(&mut self, bytes: &mut [u8], deadline: Instant) -> Result<usize, Error> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let parts = self.parts();
        parts.wait(1, 1, deadline)?;
        let len = parts.reader.get(0, bytes);
        parts.release(len);
        Ok(len)
    }

    /// Fills `bytes`, of any length.
    ///
    /// # Errors
    /// [`Error::TimedOut`] at `deadline`; [`Error::Closed`] or [`Error::PeerGone`] if there will be
    /// no more. Each says how many bytes were read nevertheless, the first of `bytes`.
    /// [`Error::Corrupt`].
    pub fn read_exact(&mut self, bytes: &mut [u8], deadline: Instant) -> Result<(), Error> {
        self.read_in_steps(bytes, deadline, STEP, |_| ())
    }

    /// The same, and shows to `seen` what was read, piece by piece, each of at most
    /// [`CHUNK`](crate::CHUNK) bytes and just copied: sums of it cost little then. It sees what
    /// is in `bytes` afterwards, whatever the producer does meanwhile.
    ///
    /// # Errors
    /// As [`Consumer::read_exact`].
    pub fn read_seen(
        &mut self,
        bytes: &mut [u8],
        deadline: Instant,
        seen: impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        self.read_in_steps(bytes, deadline, CHUNK, seen)
    }

    fn read_in_steps(
        &mut self,
        bytes: &mut [u8],
        deadline: Instant,
        step: usize,
        mut seen: impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        let parts = self.parts();
        let half = parts.reader.capacity() / 2;
        let mut read = 0;
        while read < bytes.len() {
            let rest = bytes.len() - read;
            let wanted = (rest.min(step) as u64).min(half);
            // Who must sleep sleeps for more, so that it is not woken for each piece.
            let worth = (rest as u64).min(half);
            let there = parts.wait(wanted, worth, deadline);
            let there = there.map_err(|error| error.after(read))?;
            if there == 0 {
                return Err(Error::Closed { moved: read });
            }
            let len = rest.min(step).min(there as usize);
            let piece = &mut bytes[read..read + len];
            parts.reader.get(0, piece);
            parts.release(len);
            seen(piece);
            read += len;
        }
        Ok(())
    }

    /// Claims the next `len` bytes, if all of them are there: they stay in the ring as long as the
    /// claim, and what follows them can be read, claimed and dropped in any order meanwhile.
    ///
    /// # Returns
    /// Nothing if fewer are there.
    ///
    /// # Errors
    /// [`Error::TooMuch`] if more than half of the ring would be claimed; otherwise as
    /// [`Consumer::available`].
    pub fn claim(&mut self, len: usize) -> Result<Option<Claim>, Error> {
        let parts = self.parts();
        parts.settle();
        let held = parts.reader.held();
        at_most_half(held.saturating_add(len as u64), parts.reader.capacity())?;
        if parts.look()? < len as u64 {
            return Ok(None);
        }
        let position = parts.reader.cursor();
        parts.reader.hold(len);
        let memory = Arc::clone(parts.reader.memory());
        Ok(Some(Claim::new(
            memory,
            Arc::clone(&parts.back),
            position,
            len,
        )))
    }

    /// Bytes that cannot be written anew, as they are claimed, or lie behind such. Gives those that
    /// are claimed no more back to the producer, as all calls that read do.
    pub fn held(&mut self) -> u64 {
        let parts = self.parts();
        parts.settle();
        parts.reader.held()
    }

    /// Whether the producer asked to be woken: it has too little room.
    pub fn producer_sleeps(&self) -> bool {
        let parts = self.parts.as_ref();
        parts.is_some_and(|parts| parts.reader.writer_sleeps())
    }

    /// Waits for `len` bytes, to be copied in any order and given back together.
    ///
    /// # Returns
    /// Fewer, all that there are, if there will be no more.
    ///
    /// # Errors
    /// [`Error::TooMuch`] for more than half of the ring; [`Error::TimedOut`] at `deadline`;
    /// otherwise as [`Consumer::available`].
    pub fn peek(&mut self, len: usize, deadline: Instant) -> Result<Peeked<'_>, Error> {
        let parts = self.parts();
        at_most_half(len as u64, parts.reader.capacity())?;
        let there = parts.wait(len as u64, len as u64, deadline)?;
        let len = len.min(there as usize);
        Ok(Peeked { parts, len })
    }

    /// Writes once from the ring straight to a file or socket: at most `most` bytes, what is there
    /// now and in one piece. What the file took is read. There is no copy to look at: sums belong
    /// to the other ways. It waits as long as the file does: one that blocks, for ever.
    ///
    /// # Returns
    /// The bytes that it took, 0 if there are none now; nothing once there will be no more.
    ///
    /// # Errors
    /// As [`Consumer::available`]; [`Error::System`] with what the file says, such as that it would
    /// block.
    pub fn drain_to(&mut self, file: impl AsFd, most: usize) -> Result<Option<usize>, Error> {
        if self.available()?.is_none() {
            return Ok(None);
        }
        let parts = self.parts();
        let (memory, at, len) = parts.reader.place(most);
        if len == 0 {
            return Ok(Some(0));
        }
        let written = file.as_fd().write_volatile(&memory.bytes(at, len));
        let written = written.map_err(|error| refused("writing from a ring", error))?;
        parts.release(written);
        Ok(Some(written))
    }

    /// Before a driver polls the descriptor of this end: asks to be woken once there are `len`
    /// bytes, at most half of the ring, or the producer closes.
    ///
    /// # Returns
    /// Whether it may sleep. If not, there is something to do now.
    ///
    /// # Errors
    /// [`Error::TooMuch`], [`Error::Corrupt`].
    pub fn arm(&mut self, len: u64) -> Result<bool, Error> {
        let parts = self.parts();
        at_most_half(len, parts.reader.capacity())?;
        parts.settle();
        Ok(!parts.line.gone() && parts.reader.sleep(len)?)
    }

    /// After a driver found the descriptor readable: takes what woke it, and sees whether the
    /// producer is gone.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn mark_ready(&mut self) -> Result<(), Error> {
        let parts = self.parts();
        parts.reader.awake();
        parts.line.mark_ready()
    }

    /// Says that no more will be read. The producer is told when it wants to write.
    pub fn close(self) {
        drop(self);
    }
}

impl Parts {
    fn release(&mut self, len: usize) {
        if len == 0 {
            return;
        }
        if self.reader.held() == 0 {
            if self.reader.release(len) {
                self.line.wake();
            }
            return;
        }
        // The writer's head does not pass over what is claimed.
        self.back.put(self.reader.cursor(), len as u64);
        self.reader.hold(len);
        self.settle();
    }

    /// Gives back what nobody holds any more.
    fn settle(&mut self) {
        if self.reader.held() == 0 {
            return;
        }
        let len = self.back.take(self.reader.head());
        if len > 0 && self.reader.give_back(len) {
            self.line.wake();
        }
    }

    /// What is there; an error if nothing is and nobody is there to write more.
    fn look(&mut self) -> Result<u64, Error> {
        self.settle();
        // First, as the producer's last position is older than its end.
        let gone = self.line.gone();
        let there = self.reader.look()?;
        if there == 0 && gone && !self.reader.ended() {
            return Err(Error::PeerGone { moved: 0 });
        }
        Ok(there)
    }

    /// Waits for `wanted` bytes; who must sleep for it waits for `worth`.
    ///
    /// # Returns
    /// Fewer only if there will be no more.
    fn wait(&mut self, wanted: u64, worth: u64, deadline: Instant) -> Result<u64, Error> {
        let mut in_time = true;
        loop {
            let mut there = self.look()?;
            let mut over = self.reader.ended() || self.line.gone();
            if there < wanted && in_time && !over {
                let reader = &mut self.reader;
                spin(|| {
                    there = reader.look()?;
                    over = reader.ended();
                    Ok::<bool, Error>(there >= wanted || over)
                })?;
            }
            if there >= wanted || over {
                return Ok(there);
            }
            if !in_time {
                return Err(Error::TimedOut {
                    waited_for: Wanted::Data(wanted),
                    moved: 0,
                    written: self.reader.tail(),
                    read: self.reader.head(),
                });
            }
            in_time = if self.reader.sleep(worth.max(wanted))? {
                let in_time = self.line.sleep(deadline);
                self.reader.awake();
                in_time?
            } else {
                // Usually data are there now; a liar may say so again and again.
                Instant::now() < deadline
            };
        }
    }
}

impl AsFd for Consumer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        let parts = self.parts.as_ref();
        parts.expect("only dropped ends have no parts").line.as_fd()
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        if let Some(parts) = &mut self.parts
            && parts.reader.close()
        {
            parts.line.wake();
        }
    }
}

/// Data of a ring. What is not released when this is dropped is there still.
#[derive(Debug)]
pub struct Peeked<'c> {
    parts: &'c mut Parts,
    len: usize,
}

impl Peeked<'_> {
    /// Bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Copies from byte `at` of the data into `bytes`. A producer that breaks the rules may change
    /// what the next copy finds.
    ///
    /// # Returns
    /// The bytes copied: there is nothing beyond the data.
    pub fn get(&self, at: usize, bytes: &mut [u8]) -> usize {
        let len = bytes.len().min(self.len.saturating_sub(at));
        self.parts.reader.get(at, &mut bytes[..len])
    }

    /// Gives the first `len` bytes of the data back to the producer.
    pub fn release(self, len: usize) {
        self.parts.release(len.min(self.len));
    }
}
