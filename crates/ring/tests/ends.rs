//! Waiting, closing, ending: both ends in one process.

use isthmus_ring::{Consumer, Error, Producer, ring};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

/// Returns bytes that differ from all their neighbours.
fn pattern(from: usize, len: usize) -> Vec<u8> {
    let places = from as u64..(from + len) as u64;
    places
        .map(|place| (place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8)
        .collect()
}

#[test]
fn capacities_that_are_none_are_refused() {
    for capacity in [0, 1, 2048, 4097, 5000, 1 << 31, u64::MAX] {
        let Err(error) = ring(capacity) else {
            panic!("{capacity}");
        };
        assert_eq!(
            error.to_string(),
            format!(
                "a ring of {capacity} bytes: the capacity must be a power of two from 4096 to 2^30"
            )
        );
    }
}

#[test]
fn bytes_of_any_lengths_arrive_through_a_small_ring() {
    for (capacity, write, read) in [
        (4096, 1_000_000, 777),
        (4096, 1, 4096),
        (65536, 70_001, 200_003),
        (1 << 20, 4096, 1 << 20),
    ] {
        let (mut producer, mut consumer) = ring(capacity).unwrap();
        let all = pattern(0, 2_000_000.min(write * 100_000));
        let writer = {
            let all = all.clone();
            thread::spawn(move || {
                for piece in all.chunks(write) {
                    producer.write_all(piece, soon()).unwrap();
                }
            })
        };
        let mut got = Vec::new();
        loop {
            let mut bytes = vec![0; read];
            match consumer.read_exact(&mut bytes, soon()) {
                Ok(()) => got.extend(bytes),
                Err(Error::Closed { moved }) => {
                    got.extend(&bytes[..moved]);
                    break;
                }
                Err(error) => panic!("{error}"),
            }
        }
        writer.join().unwrap();
        assert!(got == all, "{capacity} {write} {read}");
    }
}

#[test]
fn who_writes_shows_what_it_writes() {
    let (mut producer, mut consumer) = ring(4096).unwrap();
    let all = pattern(5, 3000);
    let mut shown = Vec::new();
    let see = |piece: &[u8]| {
        assert!(piece.len() <= 1000);
        shown.extend_from_slice(piece);
    };
    producer.write_all_with(&all, soon(), 1000, see).unwrap();
    assert_eq!(shown, all);
    let mut got = vec![0; 3000];
    consumer.read_exact(&mut got, soon()).unwrap();
    assert_eq!(got, all);
}

#[test]
fn a_deadline_is_kept_and_reported() {
    let (mut producer, mut consumer) = ring(4096).unwrap();
    let start = Instant::now();
    let error = consumer
        .read(&mut [0; 10], start + Duration::from_millis(50))
        .unwrap_err();
    assert!(start.elapsed() >= Duration::from_millis(50));
    assert_eq!(
        error.to_string(),
        "timed out waiting for 1 bytes in the ring, after 0 bytes: 0 were ever written, 0 read"
    );
    let start = Instant::now();
    let deadline = start + Duration::from_millis(50);
    let error = producer.write_all(&[1; 6000], deadline).unwrap_err();
    assert!(start.elapsed() >= Duration::from_millis(50));
    assert_eq!(
        error.to_string(),
        "timed out waiting for 1904 bytes of room in the ring, after 4096 bytes: 4096 were ever \
         written, 0 read"
    );
    // Moved bytes count, and the ring continues.
    let mut all = [0; 4096];
    consumer.read_exact(&mut all, soon()).unwrap();
    producer.write_all(&[2; 10], soon()).unwrap();
    assert_eq!(consumer.read(&mut all, soon()).unwrap(), 10);
}

/// Returns the error of a waiting call, while the other end does `other` after 50 ms, and its
/// duration.
fn while_asleep<T: Send>(
    mut end: T,
    waits: impl FnOnce(&mut T) -> Result<usize, Error> + Send,
    other: impl FnOnce(),
) -> Result<usize, Error> {
    let start = Instant::now();
    let outcome = thread::scope(|scope| {
        let waiter = scope.spawn(move || waits(&mut end));
        thread::sleep(Duration::from_millis(50));
        assert!(!waiter.is_finished(), "it sleeps");
        other();
        waiter.join().unwrap()
    });
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "it was woken, not its deadline"
    );
    outcome
}

#[test]
fn a_close_wakes_who_sleeps() {
    let (producer, consumer) = ring(4096).unwrap();
    let outcome = while_asleep(
        consumer,
        |end| end.read(&mut [0; 9], soon()),
        || producer.close(),
    );
    assert_eq!(outcome.unwrap(), 0);
    let (mut producer, consumer) = ring(4096).unwrap();
    assert_eq!(producer.try_write(&[1; 5000]).unwrap(), 4096);
    let write = |end: &mut Producer| end.write_all(&[1; 9], soon()).map(|()| 9);
    let outcome = while_asleep(producer, write, || consumer.close());
    assert!(matches!(outcome, Err(Error::Closed { moved: 0 })));
}

#[test]
fn the_end_of_the_other_side_wakes_who_sleeps() {
    // Dropped handles count as a dead process.
    let (producer, consumer) = ring(4096).unwrap();
    let handles = producer.into_handles();
    let outcome = while_asleep(
        consumer,
        |end| end.read(&mut [0; 9], soon()),
        || drop(handles),
    );
    assert!(matches!(outcome, Err(Error::PeerGone { moved: 0 })));
    let (mut producer, consumer) = ring(4096).unwrap();
    assert_eq!(producer.try_write(&[1; 4096]).unwrap(), 4096);
    let handles = consumer.into_handles();
    let write = |end: &mut Producer| end.write_all(&[1; 9], soon()).map(|()| 9);
    let outcome = while_asleep(producer, write, || drop(handles));
    assert!(matches!(outcome, Err(Error::PeerGone { moved: 0 })));
}

#[test]
fn data_or_room_wake_who_sleeps() {
    let (mut producer, consumer) = ring(4096).unwrap();
    let other = || producer.write_all(&[1; 7], soon()).unwrap();
    let outcome = while_asleep(consumer, |end| end.read(&mut [0; 9], soon()), other);
    assert_eq!(outcome.unwrap(), 7);
    let (mut producer, mut consumer) = ring(4096).unwrap();
    assert_eq!(producer.try_write(&[1; 4096]).unwrap(), 4096);
    let write = |end: &mut Producer| end.write_all(&[1; 9], soon()).map(|()| 9);
    let other = || assert_eq!(consumer.read(&mut [0; 20], soon()).unwrap(), 20);
    assert_eq!(while_asleep(producer, write, other).unwrap(), 9);
}

#[test]
fn what_was_written_is_read_after_the_end_of_the_producer() {
    for closes in [true, false] {
        let (mut producer, mut consumer) = ring(4096).unwrap();
        producer.write_all(&pattern(0, 3000), soon()).unwrap();
        if closes {
            producer.close();
        } else {
            drop(producer.into_handles());
        }
        let mut bytes = vec![0; 2000];
        consumer.read_exact(&mut bytes, soon()).unwrap();
        assert_eq!(bytes, pattern(0, 2000));
        assert_eq!(consumer.available().unwrap(), Some(1000));
        let error = consumer.read_exact(&mut bytes, soon()).unwrap_err();
        assert_eq!(bytes[..1000], pattern(2000, 1000));
        match error {
            Error::Closed { moved: 1000 } => assert!(closes),
            Error::PeerGone { moved: 1000 } => assert!(!closes),
            error => panic!("{error}"),
        }
    }
}

#[test]
fn an_end_is_handed_over_with_what_is_in_it() {
    let (producer, consumer) = ring(4096).unwrap();
    let (mut producer, mut consumer) = (producer, consumer);
    let mut done = 0;
    for round in 0..40 {
        producer
            .write_all(&pattern(round * 1000, 1000), soon())
            .unwrap();
        producer = Producer::attach(producer.into_handles(), 4096).unwrap();
        let mut bytes = vec![0; 333 + round % 700];
        let len = consumer.read(&mut bytes, soon()).unwrap();
        assert_eq!(bytes[..len], pattern(done, len));
        done += len;
        let left = (round + 1) * 1000 - done;
        let mut rest = vec![0; left];
        consumer = Consumer::attach(consumer.into_handles(), 4096).unwrap();
        consumer.read_exact(&mut rest, soon()).unwrap();
        assert_eq!(rest, pattern(done, left));
        done += left;
    }
    assert_eq!(
        (producer.written(), consumer.read_so_far()),
        (40_000, 40_000)
    );
}

/// Like a stream manager: one thread that reads sixteen rings, and sleeps only when all are empty.
#[test]
fn one_poll_waits_for_sixteen_rings() {
    const RINGS: usize = 16;
    const BYTES: usize = 100_000;
    let (mut consumers, mut writers) = (Vec::new(), Vec::new());
    for number in 0..RINGS {
        let (mut producer, consumer) = ring(4096 << (number % 3)).unwrap();
        consumers.push((consumer, Vec::new(), true));
        writers.push(thread::spawn(move || {
            for (count, piece) in pattern(number, BYTES).chunks(1111 + number).enumerate() {
                producer.write_all(piece, soon()).unwrap();
                if count % 10 == number % 10 {
                    thread::sleep(Duration::from_micros(200));
                }
            }
        }));
    }
    let (mut sleeps, mut bytes) = (0, vec![0; 3000]);
    while consumers.iter().any(|(.., open)| *open) {
        let mut all_sleep = true;
        for (consumer, got, open) in consumers.iter_mut().filter(|(.., open)| *open) {
            match consumer.try_read(&mut bytes).unwrap() {
                Some(len) => got.extend_from_slice(&bytes[..len]),
                None => *open = false,
            }
            all_sleep &= *open && consumer.arm(1).unwrap();
        }
        if all_sleep {
            let mut polled: Vec<PollFd<'_>> = consumers
                .iter()
                .filter(|(.., open)| *open)
                .map(|(consumer, ..)| PollFd::from_borrowed_fd(consumer.as_fd(), PollFlags::IN))
                .collect();
            let limit: Timespec = Duration::from_secs(10).try_into().unwrap();
            assert!(
                poll(&mut polled, Some(&limit)).unwrap() > 0,
                "nobody woke it"
            );
            sleeps += 1;
        }
        for (consumer, _, open) in &mut consumers {
            if *open {
                consumer.mark_ready().unwrap();
            }
        }
    }
    for (number, (_, got, _)) in consumers.iter().enumerate() {
        assert!(*got == pattern(number, BYTES), "ring {number}");
    }
    assert!(sleeps > 10, "{sleeps} sleeps");
    for writer in writers {
        writer.join().unwrap();
    }
}
