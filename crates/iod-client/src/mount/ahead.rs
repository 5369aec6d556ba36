//! Reads ahead of processes that read a file from start to end: the kernel asks for at most 128 KiB at a time,
//! and for little more before the process has read it.

use super::convert::error;
use crate::link::Link;
use fuser::{Errno as KernelError, ReplyData};
use isthmus_forward::Errno;
use isthmus_forward::message::{Reply, Request};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Size in bytes of the pieces that are read ahead: those that the kernel asks for. Larger ones leave the caches of the processor on
/// their way.
const PIECE: u64 = 128 << 10;

/// The number of bytes that are read ahead.
const WINDOW: u64 = 2 << 20;

/// The distance in bytes between two reads that still count as one after the other: several threads of the kernel
/// and of the mount may have changed their order.
const NEAR: u64 = 512 << 10;

/// The time for which bytes wait for a process to read them.
const AGE: Duration = Duration::from_secs(1);

/// Maximum number of files that are read ahead at a time.
const READERS: usize = 64;

/// A read of the kernel.
pub(super) struct Wanted {
    pub offset: u64,
    pub count: u32,
    pub reply: ReplyData,
}

impl Wanted {
    /// Return the end of the bytes.
    fn end(&self) -> u64 {
        self.offset.saturating_add(self.count.into())
    }

    /// Answer with those of the bytes that a piece has which starts at `start`.
    fn answer(self, start: u64, data: &[u8]) {
        let at = |offset: u64| {
            let at = usize::try_from(offset - start).unwrap_or(usize::MAX);
            at.min(data.len())
        };
        let bytes = at(self.offset)..at(self.end());
        self.reply.data(&data[bytes]);
    }
}

/// Bytes that are read ahead.
struct Piece {
    start: u64,
    bytes: u64,
    state: Mutex<State>,
}

/// The state of a piece.
enum State {
    /// The daemon was asked for it, and these reads wait.
    Asked(Vec<Wanted>),
    /// It has arrived. It is shorter than was asked for if the file ends there.
    Arrived(Vec<u8>, Instant),
    /// It could not be read.
    Failed,
}

impl Piece {
    /// Return the end of the bytes.
    fn end(&self) -> u64 {
        self.start + self.bytes
    }

    /// Return the state, locked.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Return whether the piece has, or will have, the bytes of a read.
    fn has(&self, wanted: &Wanted) -> bool {
        let is_within = self.start <= wanted.offset && wanted.end() <= self.end();
        is_within
            && match &*self.state() {
                State::Asked(_) => true,
                // Where it ends, the file may have grown since.
                State::Arrived(data, at) => {
                    wanted.end() <= self.start + data.len() as u64 && at.elapsed() < AGE
                }
                State::Failed => false,
            }
    }

    /// Return whether the file ended in this piece a short time ago.
    fn is_end(&self) -> bool {
        match &*self.state() {
            State::Arrived(data, at) => (data.len() as u64) < self.bytes && at.elapsed() < AGE,
            _ => false,
        }
    }

    /// Answer a read, now or when the piece arrives.
    fn answer(&self, wanted: Wanted) {
        match &mut *self.state() {
            State::Asked(waiting) => waiting.push(wanted),
            State::Arrived(data, _) => wanted.answer(self.start, data),
            State::Failed => wanted.reply.error(KernelError::EIO),
        }
    }

    /// Answer the reads that wait, and keep the bytes.
    fn arrived(&self, result: Result<Reply<'_>, Errno>) {
        let waiting = match &mut *self.state() {
            State::Asked(waiting) => std::mem::take(waiting),
            _ => Vec::new(),
        };
        let (state, failed) = match result {
            Ok(Reply::Read { data }) => {
                waiting
                    .into_iter()
                    .for_each(|wanted| wanted.answer(self.start, data.0));
                (State::Arrived(data.0.to_vec(), Instant::now()), None)
            }
            Ok(_) => (State::Failed, Some((waiting, KernelError::EIO))),
            Err(errno) => (State::Failed, Some((waiting, error(errno)))),
        };
        let before = std::mem::replace(&mut *self.state(), state);
        let (waiting, why) = failed.unwrap_or((Vec::new(), KernelError::EIO));
        waiting
            .into_iter()
            .for_each(|wanted| wanted.reply.error(why));
        if let State::Asked(late) = before {
            // Those that came while the others were answered.
            late.into_iter().for_each(|wanted| self.answer(wanted));
        }
    }
}

/// A file that a process reads.
#[derive(Default)]
struct Reader {
    node: u64,
    /// The end of what was read.
    end: u64,
    /// Whether the last reads followed one another.
    is_in_order: bool,
    pieces: VecDeque<Arc<Piece>>,
}

impl Reader {
    /// Record a read, and return whether it follows those before.
    fn note(&mut self, wanted: &Wanted) -> bool {
        let end = wanted.end();
        let is_near = wanted.offset <= self.end + NEAR && end + NEAR > self.end;
        let was_in_order = std::mem::replace(&mut self.is_in_order, is_near);
        self.end = if is_near { end.max(self.end) } else { end };
        if !is_near {
            self.pieces.clear();
        }
        was_in_order && is_near
    }

    /// Add the pieces that are to be asked for, now that a process reads from `offset` to `end`. Return them.
    fn extend(&mut self, offset: u64, end: u64, most: u64) -> Vec<Arc<Piece>> {
        let mut asked = Vec::new();
        let is_enough = |last: &Arc<Piece>| last.end() >= end + WINDOW / 2;
        if self.pieces.back().is_some_and(is_enough) {
            return asked;
        }
        loop {
            let start = match self.pieces.back() {
                None => offset,
                Some(last) if last.is_end() || last.end() >= end + WINDOW => return asked,
                Some(last) => last.end(),
            };
            let piece = Arc::new(Piece {
                start,
                bytes: PIECE.min(most),
                state: Mutex::new(State::Asked(Vec::new())),
            });
            self.pieces.push_back(Arc::clone(&piece));
            asked.push(piece);
        }
    }
}

/// The files that processes read, by fid.
#[derive(Default)]
pub(super) struct Ahead(Mutex<HashMap<u32, Reader>>);

impl Ahead {
    /// Return the files, locked.
    fn readers(&self) -> MutexGuard<'_, HashMap<u32, Reader>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answer a read of an open file from what was read ahead, and read ahead of it. Return the read if that is
    /// not possible.
    pub fn read(&self, link: &Link, (fid, node): (u32, u64), wanted: Wanted) -> Option<Wanted> {
        let most = u64::from(link.data_bytes() & !4095);
        let mut readers = self.readers();
        if readers.len() >= READERS && !readers.contains_key(&fid) {
            return Some(wanted);
        }
        let reader = readers.entry(fid).or_default();
        reader.node = node;
        if !reader.note(&wanted) || u64::from(wanted.count) > most {
            return Some(wanted);
        }
        let (offset, end) = (wanted.offset, wanted.end());
        while let Some(first) = reader.pieces.front()
            && first.end() + NEAR < offset
        {
            reader.pieces.pop_front();
        }
        let mut has = reader
            .pieces
            .iter()
            .find(|piece| piece.has(&wanted))
            .cloned();
        if has.is_none() {
            if reader.pieces.back().is_some_and(|last| last.is_end()) {
                return Some(wanted);
            }
            reader.pieces.clear();
        }
        let asked = reader.extend(offset, end, most);
        has = has.or_else(|| asked.first().filter(|piece| piece.has(&wanted)).cloned());
        drop(readers);
        let rest = match has {
            Some(piece) => {
                piece.answer(wanted);
                None
            }
            None => Some(wanted),
        };
        for piece in asked {
            let (offset, count) = (piece.start, u32::try_from(piece.bytes).unwrap_or(u32::MAX));
            let request = Request::Read { fid, offset, count };
            link.send(&request, Box::new(move |reply| piece.arrived(reply)));
        }
        rest
    }

    /// Drop what was read ahead of a file: it has changed.
    pub fn drop_file(&self, node: u64) {
        let mut readers = self.readers();
        readers.retain(|_, reader| reader.node != node);
    }

    /// Drop what was read ahead of an open file: it is closed.
    pub fn close(&self, fid: u32) {
        self.readers().remove(&fid);
    }
}
