//! The consumer: the reading end of a ring.

use crate::claim::{Claim, DroppedClaims};
use crate::error::{Error, Wanted};
use crate::handles::Handles;
use crate::line::Line;
use crate::mapping::Mapping;
use crate::producer::{STEP, at_most_half};
use crate::reader::Reader;
use crate::wait::spin;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

/// The end of a ring that reads. Dropping it closes the end.
///
/// The descriptor of the consumer becomes readable when the producer wakes the consumer or is gone.
/// A driver of many rings calls [`Consumer::arm`], polls all descriptors, and calls
/// [`Consumer::mark_ready`] for the readable ones.
#[derive(Debug)]
pub struct Consumer {
    /// The reader, dropped claims, socket and memory of this end. None only while the end is handed
    /// to another process or dropped.
    parts: Option<Parts>,
}

/// The contents of an open consumer: the reader, the dropped claims, the socket and the memory.
#[derive(Debug)]
struct Parts {
    reader: Reader<Arc<Mapping>>,
    /// The pieces of the ring whose claims were dropped, but which are not released yet.
    back: Arc<DroppedClaims>,
    line: Line,
    memory: OwnedFd,
}

impl Consumer {
    /// Attaches the consumer's end of a received ring of at most `most` bytes. A ring must have
    /// only one consumer. The whole memory of the ring is charged to this process, which accesses
    /// it first.
    ///
    /// # Errors
    /// [`Error::NoRing`] if it is not a ring, is too large, or its memory could be shrunk by the
    /// other side; [`Error::Corrupt`] if its positions are invalid.
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

    /// Converts this end of the ring to handles, through which another process can take it over.
    /// Data that is unread or claimed stays in the ring.
    pub fn into_handles(mut self) -> Handles {
        let parts = self.parts.take().expect("only dropped ends have no parts");
        parts.reader.mark_awake();
        Handles::new(parts.memory, parts.line.into_socket())
    }

    /// Returns the parts of the consumer, which exist until the consumer is dropped or passed to
    /// another process.
    fn parts(&mut self) -> &mut Parts {
        self.parts
            .as_mut()
            .expect("only dropped ends have no parts")
    }

    /// Returns the capacity of the ring in bytes.
    pub fn capacity(&self) -> u64 {
        let parts = self.parts.as_ref();
        parts.map_or(0, |parts| parts.reader.capacity())
    }

    /// Returns the total number of bytes read from the ring.
    pub fn read_so_far(&self) -> u64 {
        let parts = self.parts.as_ref();
        parts.map_or(0, |parts| parts.reader.cursor())
    }

    /// Returns the number of readable bytes. None if no more bytes will come because the producer
    /// has closed.
    ///
    /// # Errors
    /// [`Error::Corrupt`]; [`Error::PeerGone`] if no more bytes will come because the producer's
    /// process ended.
    pub fn available(&mut self) -> Result<Option<u64>, Error> {
        let there = self.parts().refresh()?;
        let over = there == 0 && self.parts().reader.ended();
        Ok((!over).then_some(there))
    }

    /// Returns whether the producer has closed the ring or is gone, so that no more data will
    /// arrive than the last check found.
    pub fn is_over(&mut self) -> bool {
        let parts = self.parts();
        parts.reader.ended() || parts.line.gone()
    }

    /// Reads available data into `bytes`, as much as fits.
    ///
    /// # Returns
    /// The number of bytes, 0 if none are available. None if no more bytes will come.
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

    /// Waits for data and reads available data into `bytes`, as much as fits.
    ///
    /// # Returns
    /// The number of bytes. 0 if no more bytes will come, or if `bytes` is empty.
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

    /// Fills `bytes`, which may be larger than the ring.
    ///
    /// # Errors
    /// [`Error::TimedOut`] at `deadline`; [`Error::Closed`] or [`Error::PeerGone`] if no more bytes
    /// will come. Each of these contains the number of bytes that were read, at the start of
    /// `bytes`. [`Error::Corrupt`].
    pub fn read_exact(&mut self, bytes: &mut [u8], deadline: Instant) -> Result<(), Error> {
        let parts = self.parts();
        let half = parts.reader.capacity() / 2;
        let mut read = 0;
        while read < bytes.len() {
            let rest = bytes.len() - read;
            let wanted = (rest.min(STEP) as u64).min(half);
            // The more bytes a sleeping consumer waits for, the less often it is woken: wait for
            // all the rest, but at most half of the ring.
            let worth = (rest as u64).min(half);
            let there = parts.wait(wanted, worth, deadline);
            let there = there.map_err(|error| error.after(read))?;
            if there == 0 {
                return Err(Error::Closed { moved: read });
            }
            let len = rest.min(STEP).min(there as usize);
            parts.reader.get(0, &mut bytes[read..read + len]);
            parts.release(len);
            read += len;
        }
        Ok(())
    }

    /// Claims the next `len` bytes, if all of them have come. They stay in the ring until the claim
    /// is dropped. Later bytes can be read, claimed and released in any order in the meantime.
    ///
    /// # Returns
    /// None if fewer bytes have come.
    ///
    /// # Errors
    /// [`Error::TooMuch`] if more than half of the ring would be claimed; otherwise as
    /// [`Consumer::available`].
    pub fn claim(&mut self, len: usize) -> Result<Option<Claim>, Error> {
        let parts = self.parts();
        parts.settle();
        let held = parts.reader.held();
        at_most_half(held.saturating_add(len as u64), parts.reader.capacity())?;
        if parts.refresh()? < len as u64 {
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

    /// Returns the number of bytes that the producer cannot overwrite, because they are claimed or
    /// follow claimed bytes. Releases the bytes of dropped claims to the producer, as all reading
    /// calls do.
    pub fn held(&mut self) -> u64 {
        let parts = self.parts();
        parts.settle();
        parts.reader.held()
    }

    /// Returns whether the producer sleeps because it has too little room.
    pub fn producer_sleeps(&self) -> bool {
        let parts = self.parts.as_ref();
        parts.is_some_and(|parts| parts.reader.writer_sleeps())
    }

    /// Prepares for polling the descriptor: requests a wake-up when `len` bytes are available, at
    /// most half of the ring, or when the producer closes.
    ///
    /// # Returns
    /// Whether the caller may sleep. If not, the condition holds already.
    ///
    /// # Errors
    /// [`Error::TooMuch`], [`Error::Corrupt`].
    pub fn arm(&mut self, len: u64) -> Result<bool, Error> {
        let parts = self.parts();
        at_most_half(len, parts.reader.capacity())?;
        parts.settle();
        Ok(!parts.line.gone() && parts.reader.sleep(len)?)
    }

    /// Must be called when the descriptor is readable: consumes the wake-up, and checks whether the
    /// producer is gone.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn mark_ready(&mut self) -> Result<(), Error> {
        let parts = self.parts();
        parts.reader.mark_awake();
        parts.line.mark_ready()
    }

    /// Closes the reading end, so that no more bytes are read. The producer gets an error on its
    /// next write.
    pub fn close(self) {
        drop(self);
    }
}

impl Parts {
    /// Releases the next `len` bytes of the ring to the producer, or later, when all claims before
    /// them are dropped.
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
        // Keep these bytes in the ring until all earlier claims are dropped: the head of the ring
        // must not pass claimed bytes.
        self.back.put(self.reader.cursor(), len as u64);
        self.reader.hold(len);
        self.settle();
    }

    /// Releases to the producer the bytes at the head of the ring that have been read and are not
    /// claimed.
    fn settle(&mut self) {
        if self.reader.held() == 0 {
            return;
        }
        let len = self.back.take(self.reader.head());
        if len > 0 && self.reader.release_held(len) {
            self.line.wake();
        }
    }

    /// Loads the producer's position, and returns the number of readable bytes. Fails if there are
    /// none and no producer is left.
    fn refresh(&mut self) -> Result<u64, Error> {
        self.settle();
        // Check whether the producer is gone before its position is loaded: then this position is
        // the final one.
        let gone = self.line.gone();
        let there = self.reader.refresh()?;
        if there == 0 && gone && !self.reader.ended() {
            return Err(Error::PeerGone { moved: 0 });
        }
        Ok(there)
    }

    /// Waits for `wanted` bytes of data. If the thread must sleep, it waits for `worth` bytes.
    ///
    /// # Returns
    /// The number of available bytes: fewer than `wanted` only if no more will come.
    fn wait(&mut self, wanted: u64, worth: u64, deadline: Instant) -> Result<u64, Error> {
        let mut in_time = true;
        loop {
            let mut there = self.refresh()?;
            let mut over = self.reader.ended() || self.line.gone();
            if there < wanted && in_time && !over {
                let reader = &mut self.reader;
                spin(|| {
                    there = reader.refresh()?;
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
                self.reader.mark_awake();
                in_time?
            } else {
                // Check the deadline here, too: a misbehaving producer may cause endless wake-ups
                // without data.
                Instant::now() < deadline
            };
        }
    }
}

impl AsFd for Consumer {
    /// Returns the descriptor that becomes readable when the producer wakes the consumer or is
    /// gone.
    fn as_fd(&self) -> BorrowedFd<'_> {
        let parts = self.parts.as_ref();
        parts.expect("only dropped ends have no parts").line.as_fd()
    }
}

impl Drop for Consumer {
    /// Closes the reading end, so that the producer gets an error on its next write.
    fn drop(&mut self) {
        if let Some(parts) = &mut self.parts
            && parts.reader.close()
        {
            parts.line.wake();
        }
    }
}
