//! Random calls of both ends, compared with a plain queue without positions, words and sockets.

use isthmus_ring::{Consumer, Error, Producer, ring};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

const CAPACITY: usize = 4096;
const HALF: u64 = CAPACITY as u64 / 2;

#[derive(Debug, Clone)]
enum Call {
    TryWrite(usize),
    WriteAll(usize),
    /// Room for this many bytes, of which this many are committed.
    Reserve(usize, usize),
    TryRead(usize),
    Read(usize),
    ReadExact(usize),
    ArmProducer(u64),
    ArmConsumer(u64),
    HandProducerOver,
    HandConsumerOver,
    CloseProducer,
    CloseConsumer,
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let len = || prop_oneof![3 => 0..200_usize, 2 => 0..=CAPACITY, 1 => Just(CAPACITY / 2)];
    let half = || 0..=HALF;
    let call = prop_oneof![
        8 => len().prop_map(Call::TryWrite),
        6 => len().prop_map(Call::WriteAll),
        5 => (0..=CAPACITY / 2, 0..=CAPACITY / 2).prop_map(|(a, b)| Call::Reserve(a, b)),
        8 => len().prop_map(Call::TryRead),
        6 => len().prop_map(Call::Read),
        5 => len().prop_map(Call::ReadExact),
        4 => half().prop_map(Call::ArmProducer),
        4 => half().prop_map(Call::ArmConsumer),
        1 => Just(Call::HandProducerOver),
        1 => Just(Call::HandConsumerOver),
        1 => Just(Call::CloseProducer),
        1 => Just(Call::CloseConsumer),
    ];
    prop::collection::vec(call, 1..120)
}

/// The model of a ring: a bounded queue of bytes, and the sides that sleep.
#[derive(Default)]
struct Queue {
    bytes: VecDeque<u8>,
    /// The next byte to write, different from its neighbours.
    next: u32,
    /// Total bytes read.
    read: u64,
    /// Total bytes that must be read before the producer is woken, or written before the consumer
    /// is.
    sleeps: [Option<u64>; 2],
    /// Whether each side was woken since its last check.
    woken: [bool; 2],
    closed: [bool; 2],
}

impl Queue {
    fn room(&self) -> usize {
        CAPACITY - self.bytes.len()
    }

    fn fresh(&self, len: usize) -> Vec<u8> {
        let numbers = self.next..;
        numbers
            .take(len)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect()
    }

    fn write(&mut self, bytes: &[u8]) {
        self.next += bytes.len() as u32;
        self.bytes.extend(bytes);
        self.wake(1, u64::from(self.next), bytes.len());
    }

    fn read(&mut self, len: usize) -> Vec<u8> {
        let bytes: Vec<u8> = self.bytes.drain(..len).collect();
        self.read += len as u64;
        self.wake(0, self.read, len);
        bytes
    }

    /// `moved` bytes were moved by the other side, `ever` in total.
    fn wake(&mut self, side: usize, ever: u64, moved: usize) {
        if moved > 0 && self.sleeps[side].is_some_and(|wants| ever >= wants) {
            self.sleeps[side] = None;
            self.woken[side] = true;
        }
    }

    fn close(&mut self, side: usize) {
        self.closed[side] = true;
        if self.sleeps[1 - side].take().is_some() {
            self.woken[1 - side] = true;
        }
    }
}

/// Counts of events, which show that the cases cover enough.
#[derive(Default, Debug)]
struct Counts {
    calls: usize,
    bytes: usize,
    full: usize,
    empty: usize,
    partial: usize,
    wrapped: usize,
    timed_out: usize,
    slept: usize,
    woken: usize,
    handed_over: usize,
    read_after_close: usize,
    ended: usize,
    refused: usize,
}

/// Whether a descriptor is readable, so that its owner was woken. If it should be, this waits: a
/// child process of another test may hold the other end for a moment, so that its close is detected
/// late.
/// close is seen late.
fn rung(end: &impl AsFd, wanted: bool) -> bool {
    let mut polled = [PollFd::new(end, PollFlags::IN)];
    let patience = Timespec {
        tv_sec: if wanted { 60 } else { 0 },
        tv_nsec: 0,
    };
    poll(&mut polled, Some(&patience)).unwrap() > 0
}

fn now() -> Instant {
    Instant::now()
}

fn drive(calls: &[Call], counts: &mut Counts) {
    let (producer, consumer) = ring(CAPACITY as u64).unwrap();
    let (mut producer, mut consumer) = (Some(producer), Some(consumer));
    let mut queue = Queue::default();
    for call in calls {
        counts.calls += 1;
        let before = queue.bytes.len();
        step(call, &mut producer, &mut consumer, &mut queue, counts);
        counts.bytes += queue.bytes.len().saturating_sub(before);
        // Both ends match the queue, and each was woken as often as it should be.
        if let Some(producer) = &mut producer {
            let wanted = queue.woken[0] || queue.closed[1];
            assert_eq!(rung(producer, wanted), wanted, "{call:?}");
            assert_eq!(u64::from(queue.next), producer.written());
            match producer.room() {
                Ok(room) => assert_eq!(room as usize, queue.room()),
                Err(error) => assert!(queue.closed[1], "{error}"),
            }
        }
        if let Some(consumer) = &mut consumer {
            let wanted = queue.woken[1] || queue.closed[0];
            assert_eq!(rung(consumer, wanted), wanted, "{call:?}");
            let there = consumer.available().unwrap();
            let over = queue.closed[0] && queue.bytes.is_empty();
            assert_eq!(there, (!over).then_some(queue.bytes.len() as u64));
            assert_eq!(queue.read, consumer.read_so_far());
        }
    }
}

fn step(
    call: &Call,
    producer: &mut Option<Producer>,
    consumer: &mut Option<Consumer>,
    queue: &mut Queue,
    counts: &mut Counts,
) {
    match call {
        Call::TryWrite(_) | Call::WriteAll(_) | Call::Reserve(..) | Call::ArmProducer(_) => {
            if let Some(producer) = producer {
                write(call, producer, queue, counts);
            }
        }
        Call::TryRead(_) | Call::Read(_) | Call::ReadExact(_) | Call::ArmConsumer(_) => {
            if let Some(consumer) = consumer {
                read(call, consumer, queue, counts);
            }
        }
        Call::HandProducerOver => {
            if let Some(end) = producer.take() {
                *producer = Some(Producer::attach(end.into_handles(), CAPACITY as u64).unwrap());
                queue.sleeps[0] = None;
                counts.handed_over += 1;
            }
        }
        Call::HandConsumerOver => {
            if let Some(end) = consumer.take() {
                *consumer = Some(Consumer::attach(end.into_handles(), CAPACITY as u64).unwrap());
                queue.sleeps[1] = None;
                counts.handed_over += 1;
            }
        }
        Call::CloseProducer => {
            if let Some(end) = producer.take() {
                end.close();
                queue.close(0);
            }
        }
        Call::CloseConsumer => {
            if let Some(end) = consumer.take() {
                end.close();
                queue.close(1);
            }
        }
    }
}

fn write(call: &Call, producer: &mut Producer, queue: &mut Queue, counts: &mut Counts) {
    let room = queue.room();
    if queue.closed[1] {
        let refused = match *call {
            Call::TryWrite(len) => producer.try_write(&queue.fresh(len)).map(drop),
            Call::WriteAll(len) => producer.write_all(&queue.fresh(len.max(1)), now()),
            Call::Reserve(len, _) => producer.reserve(len, now()).map(drop),
            _ => {
                assert!(!producer.arm(1).unwrap());
                return;
            }
        };
        assert!(matches!(refused, Err(Error::Closed { moved: 0 })));
        counts.refused += 1;
        return;
    }
    match *call {
        Call::TryWrite(len) => {
            let bytes = queue.fresh(len);
            let fits = producer.try_write(&bytes).unwrap();
            assert_eq!(fits, len.min(room));
            counts.full += usize::from(room == 0 && len > 0);
            counts.partial += usize::from(fits > 0 && fits < len);
            queue.write(&bytes[..fits]);
        }
        Call::WriteAll(len) => {
            let bytes = queue.fresh(len);
            // No time to wait: only as much as fits is written.
            let written = match producer.write_all(&bytes, now()) {
                Ok(()) => len,
                Err(Error::TimedOut { moved, .. }) => {
                    counts.timed_out += 1;
                    awake(queue, 0, || producer.mark_ready().unwrap());
                    moved
                }
                Err(error) => panic!("{error}"),
            };
            assert!(written == len || len > room, "{len} of {room}");
            assert!(written <= room && (written == len || room - written < CAPACITY / 2));
            queue.write(&bytes[..written]);
        }
        Call::Reserve(len, committed) => {
            let bytes = queue.fresh(len);
            match producer.reserve(len, now()) {
                Ok(mut reserved) => {
                    assert!(len <= room);
                    // In two pieces, the second first. Bytes beyond the room are left out.
                    let middle = len / 3;
                    assert_eq!(reserved.put(middle, &bytes[middle..]), len - middle);
                    assert_eq!(reserved.put(0, &bytes[..middle]), middle);
                    assert_eq!(reserved.put(len, b"beyond"), 0);
                    let committed = committed.min(len);
                    counts.partial += usize::from(committed < len);
                    reserved.commit(committed);
                    queue.write(&bytes[..committed]);
                }
                Err(Error::TimedOut { moved: 0, .. }) => {
                    assert!(len > room);
                    counts.timed_out += 1;
                    awake(queue, 0, || producer.mark_ready().unwrap());
                }
                Err(error) => panic!("{error}"),
            }
        }
        Call::ArmProducer(len) => {
            let sleeps = producer.arm(len).unwrap();
            assert_eq!(sleeps, (room as u64) < len);
            let until = u64::from(queue.next) + len;
            queue.sleeps[0] = sleeps.then(|| until - CAPACITY as u64);
            counts.slept += usize::from(sleeps);
            if queue.woken[0] {
                counts.woken += 1;
                awake(queue, 0, || producer.mark_ready().unwrap());
            }
        }
        _ => unreachable!("a producer's call"),
    }
}

/// A driver's check: the wake-up is consumed.
fn awake(queue: &mut Queue, side: usize, mark_ready: impl FnOnce()) {
    mark_ready();
    queue.woken[side] = false;
    queue.sleeps[side] = None;
}

fn read(call: &Call, consumer: &mut Consumer, queue: &mut Queue, counts: &mut Counts) {
    let there = queue.bytes.len();
    let over = there == 0 && queue.closed[0];
    counts.read_after_close += usize::from(there > 0 && queue.closed[0]);
    counts.ended += usize::from(over);
    match *call {
        Call::TryRead(len) => {
            let mut bytes = vec![0; len];
            let read = consumer.try_read(&mut bytes).unwrap();
            assert_eq!(read, (!over).then_some(len.min(there)));
            counts.empty += usize::from(there == 0);
            let read = read.unwrap_or(0);
            assert_eq!(bytes[..read], queue.read(read));
        }
        Call::Read(len) => {
            let mut bytes = vec![0; len];
            match consumer.read(&mut bytes, now()) {
                Ok(read) => {
                    assert_eq!(read, len.min(there));
                    assert!(read > 0 || over || len == 0);
                    assert_eq!(bytes[..read], queue.read(read));
                }
                Err(Error::TimedOut { moved: 0, .. }) => {
                    assert!(there == 0 && !over);
                    counts.timed_out += 1;
                    awake(queue, 1, || consumer.mark_ready().unwrap());
                }
                Err(error) => panic!("{error}"),
            }
        }
        Call::ReadExact(len) => {
            let mut bytes = vec![0; len];
            let read = match consumer.read_exact(&mut bytes, now()) {
                Ok(()) => len,
                Err(Error::Closed { moved }) => {
                    assert!(queue.closed[0] && moved == there && moved < len);
                    moved
                }
                Err(Error::TimedOut { moved, .. }) => {
                    assert!(moved <= there && there < len && there - moved < CAPACITY / 2);
                    counts.timed_out += 1;
                    awake(queue, 1, || consumer.mark_ready().unwrap());
                    moved
                }
                Err(error) => panic!("{error}"),
            };
            assert_eq!(bytes[..read], queue.read(read));
        }
        Call::ArmConsumer(len) => {
            let sleeps = consumer.arm(len).unwrap();
            assert_eq!(sleeps, (there as u64) < len && !queue.closed[0]);
            queue.sleeps[1] = sleeps.then_some(queue.read + len);
            counts.slept += usize::from(sleeps);
            if queue.woken[1] {
                counts.woken += 1;
                awake(queue, 1, || consumer.mark_ready().unwrap());
            }
        }
        _ => unreachable!("a consumer's call"),
    }
    let read = queue.read as usize;
    let before = read - (there - queue.bytes.len());
    counts.wrapped +=
        usize::from(before / CAPACITY < read / CAPACITY && !read.is_multiple_of(CAPACITY));
}

#[test]
fn both_ends_do_what_a_queue_does() {
    let counts = RefCell::new(Counts::default());
    let config = Config {
        cases: 600,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&calls(), |calls| {
            drive(&calls, &mut counts.borrow_mut());
            Ok(())
        })
        .unwrap();
    let counts = counts.into_inner();
    println!("{counts:?}");
    for (what, count, least) in [
        ("bytes", counts.bytes, 1_000_000),
        ("a full ring", counts.full, 20),
        ("an empty ring", counts.empty, 100),
        ("less than asked", counts.partial, 100),
        ("a wrap inside of a copy", counts.wrapped, 50),
        ("deadlines", counts.timed_out, 100),
        ("sleeps", counts.slept, 100),
        ("wakes", counts.woken, 30),
        ("ends handed over", counts.handed_over, 50),
        ("data read after a close", counts.read_after_close, 50),
        ("ends of the data", counts.ended, 50),
        ("writes to a closed ring", counts.refused, 50),
    ] {
        assert!(
            count >= least,
            "{what}: only {count} in {} calls",
            counts.calls
        );
    }
}

#[test]
fn more_than_half_is_refused() {
    let (mut producer, mut consumer) = ring(CAPACITY as u64).unwrap();
    let deadline = Instant::now() + Duration::from_secs(5);
    let wanted = HALF as usize + 1;
    for refused in [
        producer.reserve(wanted, deadline).map(drop),
        consumer.claim(wanted).map(drop),
        producer.arm(HALF + 1).map(drop),
        consumer.arm(HALF + 1).map(drop),
    ] {
        assert!(matches!(
            refused,
            Err(Error::TooMuch {
                wanted: 2049,
                most: HALF
            })
        ));
    }
}
