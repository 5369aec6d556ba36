//! Models of both sides of a ring, which loom runs in all interleavings, with all values that loads
//! may return. Bytes are atomic and relaxed: only the order of the words prevents reading an old
//! byte. A model of the pair of sockets remembers a wake-up until it is received. Loom reports a
//! sleeping side that is never woken.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p isthmus-ring --lib --release`

use crate::reader::Reader;
use crate::words::{AWAKE, AtomicU64, Memory, Ordering, Word};
use crate::writer::Writer;
use loom::sync::atomic::AtomicU8;
use loom::sync::{Arc, Notify};
use loom::thread;

/// The memory of a ring in a loom model.
struct Heap {
    words: [AtomicU64; 6],
    bytes: Vec<AtomicU8>,
}

impl Heap {
    /// Creates the memory of an empty ring.
    fn new(capacity: usize) -> Arc<Self> {
        let words = Word::ALL.map(|word| {
            let wants = matches!(word, Word::ReaderWants | Word::WriterWants);
            AtomicU64::new(if wants { AWAKE } else { 0 })
        });
        let bytes = (0..capacity).map(|_| AtomicU8::new(0)).collect();
        Arc::new(Self { words, bytes })
    }
}

impl Memory for Arc<Heap> {
    /// Returns the capacity of the ring in bytes.
    fn capacity(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Returns one of the words that both sides share.
    fn word(&self, word: Word) -> &AtomicU64 {
        &self.words[word as usize]
    }

    /// Copies `bytes` into the ring from byte `at` of the ring.
    fn copy_in(&self, at: usize, bytes: &[u8]) {
        for (cell, byte) in self.bytes[at..].iter().zip(bytes) {
            cell.store(*byte, Ordering::Relaxed);
        }
    }

    /// Copies from byte `at` of the ring into `bytes`.
    fn copy_out(&self, at: usize, bytes: &mut [u8]) {
        for (cell, byte) in self.bytes[at..].iter().zip(bytes) {
            *byte = cell.load(Ordering::Relaxed);
        }
    }
}

/// Runs a model in all interleavings with at most three preemptions, which takes seconds. With
/// `LOOM_MAX_PREEMPTIONS=4` it takes minutes.
fn model(run: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(3));
    builder.check(run);
}

/// One side's handle of a ring in a loom model, with the wake-ups of both sides.
struct Link {
    memory: Arc<Heap>,
    for_reader: Arc<Notify>,
    for_writer: Arc<Notify>,
}

impl Link {
    /// Creates an empty ring.
    fn new(capacity: usize) -> Self {
        Self {
            memory: Heap::new(capacity),
            for_reader: Arc::new(Notify::new()),
            for_writer: Arc::new(Notify::new()),
        }
    }

    /// Returns the other side's handle of the ring.
    fn other(&self) -> Self {
        Self {
            memory: self.memory.clone(),
            for_reader: self.for_reader.clone(),
            for_writer: self.for_writer.clone(),
        }
    }

    /// Writes the bytes 1, 2, ... up to `last` to the ring, `step` at a time, and closes. Ends
    /// early if the reader closes.
    fn write(self, last: u8, step: usize) {
        let mut writer = Writer::new(self.memory).unwrap();
        let bytes: Vec<u8> = (1..=last).collect();
        'pieces: for piece in bytes.chunks(step) {
            while writer.refresh().unwrap() < piece.len() as u64 {
                if writer.reader_closed() {
                    break 'pieces;
                }
                if writer.sleep(piece.len() as u64).unwrap() {
                    self.for_writer.wait();
                    writer.mark_awake();
                }
            }
            assert_eq!(writer.put(0, piece), piece.len());
            if writer.publish(piece.len()) {
                self.for_reader.notify();
            }
        }
        if writer.close() {
            self.for_reader.notify();
        }
    }

    /// Reads at most `most` bytes from the ring, checks that they are 1, 2, ..., and closes.
    /// Returns the number of bytes read.
    fn read(self, most: usize, wanted: u64) -> usize {
        let mut reader = Reader::new(self.memory).unwrap();
        let mut read = 0;
        while read < most {
            let there = reader.refresh().unwrap();
            if there == 0 && reader.ended() {
                break;
            }
            if there < wanted && !reader.ended() {
                if reader.sleep(wanted).unwrap() {
                    self.for_reader.wait();
                    reader.mark_awake();
                }
                continue;
            }
            let mut bytes = [0; 4];
            let len = reader.get(0, &mut bytes);
            for byte in &bytes[..len] {
                read += 1;
                assert_eq!(usize::from(*byte), read, "an old byte");
            }
            if reader.release(len) {
                self.for_writer.notify();
            }
        }
        if reader.close() {
            self.for_writer.notify();
        }
        read
    }
}

/// Checks that `bytes` bytes arrive through a ring of `capacity`, written `step` at a time and read
/// `wanted` at a time.
fn all_arrive(capacity: usize, bytes: u8, step: usize, wanted: u64) {
    model(move || {
        let link = Link::new(capacity);
        let other = link.other();
        let writer = thread::spawn(move || other.write(bytes, step));
        assert_eq!(link.read(usize::MAX, wanted), usize::from(bytes));
        writer.join().unwrap();
    });
}

/// Checks that single bytes arrive in every interleaving of writer and reader.
#[test]
fn bytes_arrive_whatever_the_order() {
    all_arrive(1, 2, 1, 1);
    all_arrive(2, 3, 1, 1);
}

/// Checks that pieces of several bytes arrive in every interleaving of writer and reader.
#[test]
fn pieces_arrive_whatever_the_order() {
    all_arrive(2, 4, 2, 1);
    all_arrive(2, 3, 1, 2);
}

/// Checks that held bytes are not overwritten: a reader holds one byte while it reads the next one,
/// checks both bytes again, and releases them.
#[test]
fn held_bytes_are_not_overwritten() {
    model(|| {
        let link = Link::new(2);
        let other = link.other();
        let writer = thread::spawn(move || other.write(3, 1));
        let mut reader = Reader::new(link.memory.clone()).unwrap();
        let mut read = 0;
        loop {
            let there = reader.refresh().unwrap();
            if there == 0 && reader.ended() {
                break;
            }
            if there == 0 {
                if reader.sleep(1).unwrap() {
                    link.for_reader.wait();
                    reader.mark_awake();
                }
                continue;
            }
            reader.hold(1);
            let held = reader.held();
            // The byte that was just held is the last one before the cursor.
            let mut byte = [0];
            let at = (reader.cursor() - 1) % 2;
            link.memory.copy_out(at as usize, &mut byte);
            read += 1;
            assert_eq!(
                usize::from(byte[0]),
                read,
                "an old byte, or one written too early"
            );
            // Hold the first byte alone, and release both bytes when the second is read.
            if (held == 2 || reader.ended() || read == 3) && reader.release_held(held) {
                link.for_writer.notify();
            }
        }
        assert_eq!(read, 3);
        writer.join().unwrap();
    });
}

/// Checks that a writer which waits for room is woken when its reader closes.
#[test]
fn a_writer_is_notified_when_its_reader_closes() {
    model(|| {
        let link = Link::new(1);
        let other = link.other();
        let writer = thread::spawn(move || other.write(3, 1));
        assert_eq!(link.read(1, 1), 1);
        writer.join().unwrap();
    });
}
