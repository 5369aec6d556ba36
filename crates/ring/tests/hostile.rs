//! A peer that writes arbitrary values to shared memory, and passes on descriptors that are not a
//! ring.

use isthmus_ring::{Consumer, Error, Handles, Producer, ring};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use std::cell::Cell;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

const CAPACITY: u64 = 4096;
/// Offsets of the words, see `mapping`.
const WORDS: [u64; 8] = [128, 256, 384, 512, 640, 768, 896, 1024];

fn write(memory: &OwnedFd, at: u64, value: u64) {
    let bytes = value.to_ne_bytes();
    assert_eq!(rustix::io::pwrite(memory, &bytes, at).unwrap(), bytes.len());
}

/// Both ends as descriptors, and the memory once more.
fn handles() -> (Handles, Handles, OwnedFd) {
    let (producer, consumer) = ring(CAPACITY).unwrap();
    let (memory, line) = producer.into_handles().into_descriptors();
    let again = memory.try_clone().unwrap();
    (Handles::new(memory, line), consumer.into_handles(), again)
}

/// A number that a misbehaving peer might choose: near valid ones.
fn lie() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..3 * CAPACITY,
        Just(u64::MAX),
        Just(1 << 62),
        u64::MAX - 2 * CAPACITY..=u64::MAX,
        (1_u64 << 62) - CAPACITY..(1 << 62) + 2 * CAPACITY,
        any::<u64>(),
    ]
}

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    })
}

#[test]
fn a_header_that_lies_is_refused() {
    let (refused, corrupt, taken) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let places = prop_oneof![
        3 => 0..4_u64,
        4 => (0..WORDS.len()).prop_map(|word| WORDS[word] / 8),
        1 => 0..512_u64
    ];
    let lies = prop::collection::vec((places, lie()), 1..4);
    let outcome = runner(2000).run(&lies, |lies| {
        let (first, second, memory) = handles();
        let (mut head, mut tail, mut fixed) = (0, 0, true);
        for (place, value) in lies {
            let at = place * 8;
            write(&memory, at, value);
            head = if at == WORDS[1] { value } else { head };
            tail = if at == WORDS[0] { value } else { tail };
            fixed &= at >= 24;
        }
        // Unchanged values are avoided: these are not the magic, version and capacity.
        let possible = tail <= 1 << 62 && head <= tail && tail - head <= CAPACITY;
        let far = 1 << 62;
        let outcomes = [
            (Producer::attach(first, CAPACITY).map(drop), tail <= far),
            (Consumer::attach(second, CAPACITY).map(drop), head <= far),
        ];
        for (outcome, near) in outcomes {
            match outcome {
                Ok(()) => {
                    prop_assert!(near && head <= tail && tail - head <= CAPACITY);
                    taken.set(taken.get() + 1);
                }
                Err(Error::NoRing(_)) => {
                    prop_assert!(!fixed);
                    refused.set(refused.get() + 1);
                }
                Err(Error::Corrupt(_)) => {
                    prop_assert!(!possible);
                    corrupt.set(corrupt.get() + 1);
                }
                Err(error) => prop_assert!(false, "{error}"),
            }
        }
        Ok(())
    });
    outcome.unwrap();
    let counts = (refused.get(), corrupt.get(), taken.get());
    println!("no ring, no positions, taken: {counts:?}");
    assert!(counts.0 > 300 && counts.1 > 300 && counts.2 > 100);
}

#[test]
fn words_that_lie_give_errors_and_nothing_else() {
    let (lied, corrupt, moved) = (Cell::new(0_usize), Cell::new(0_usize), Cell::new(0_usize));
    let steps = prop::collection::vec((0..WORDS.len(), lie(), 0..6_u8, 0..5000_usize), 1..60);
    let outcome = runner(500).run(&steps, |steps| {
        let (first, second, memory) = handles();
        let mut producer = Producer::attach(first, CAPACITY).unwrap();
        let mut consumer = Consumer::attach(second, CAPACITY).unwrap();
        for (word, value, call, len) in steps {
            if value % 3 == 0 {
                write(&memory, WORDS[word], value);
                lied.set(lied.get() + 1);
            }
            let (mut bytes, now) = (vec![0; len], Instant::now());
            let outcome = match call {
                0 => producer.try_write(&bytes),
                1 => consumer.try_read(&mut bytes).map(Option::unwrap_or_default),
                2 => producer.write_all(&bytes, now).map(|()| len),
                3 => consumer.read_exact(&mut bytes, now).map(|()| len),
                4 => producer.arm(len as u64 % 2048).map(usize::from),
                _ => consumer.arm(len as u64 % 2048).map(usize::from),
            };
            match outcome {
                Ok(count) => {
                    prop_assert!(count <= len.max(1));
                    moved.set(moved.get() + count);
                }
                Err(Error::Corrupt(found)) => {
                    prop_assert!(found.found < found.least || found.found > found.most);
                    corrupt.set(corrupt.get() + 1);
                }
                Err(Error::TimedOut { .. } | Error::Closed { .. }) => {}
                Err(error) => prop_assert!(false, "{error}"),
            }
        }
        Ok(())
    });
    outcome.unwrap();
    let counts = (lied.get(), corrupt.get(), moved.get());
    println!("lies, errors, bytes moved: {counts:?}");
    assert!(counts.0 > 1000 && counts.1 > 1000 && counts.2 > 1000);
}

#[test]
fn a_peer_that_scribbles_all_the_time_ends_nothing_but_the_link() {
    let (first, second, memory) = handles();
    let mut producer = Producer::attach(first, CAPACITY).unwrap();
    let mut consumer = Consumer::attach(second, CAPACITY).unwrap();
    let until = Instant::now() + Duration::from_millis(300);
    let (mut corrupt, mut fine) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut value = 1_u64;
            while Instant::now() < until {
                for word in WORDS {
                    value = value
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    write(&memory, word, value >> (value % 64));
                }
            }
        });
        let mut bytes = vec![1; 5000];
        while Instant::now() < until {
            let soon = Instant::now() + Duration::from_micros(200);
            for outcome in [
                producer.write_all(&bytes.clone(), soon),
                consumer.read_exact(&mut bytes, soon),
            ] {
                match outcome {
                    Err(Error::Corrupt(_)) => corrupt += 1,
                    Ok(()) | Err(Error::TimedOut { .. } | Error::Closed { .. }) => fine += 1,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    });
    assert!(corrupt > 0, "{fine} calls saw nothing of it");
}

fn sealed(size: u64, flags: MemfdFlags, seals: SealFlags) -> Option<OwnedFd> {
    let flags = flags | MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memory = rustix::fs::memfd_create("test", flags).ok()?;
    rustix::fs::ftruncate(&memory, size).ok()?;
    rustix::fs::fcntl_add_seals(&memory, seals).ok()?;
    Some(memory)
}

#[test]
fn what_is_no_ring_is_refused() {
    let all = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    let size = 4096 + CAPACITY;
    let none = MemfdFlags::empty();
    let (pipe, _other) = rustix::pipe::pipe().unwrap();
    let file = OwnedFd::from(std::fs::File::open("/proc/self/exe").unwrap());
    let mut wrong = vec![
        (pipe, "no file in memory"),
        (file, "no file in memory"),
        (sealed(size, none, SealFlags::SHRINK).unwrap(), "not sealed"),
        (
            sealed(size, none, SealFlags::SHRINK | SealFlags::SEAL).unwrap(),
            "not sealed",
        ),
        (
            sealed(size, none, all).unwrap(),
            "what it begins with is 0x0",
        ),
        (sealed(size + 1, none, all).unwrap(), "the size of none"),
        (sealed(100, none, all).unwrap(), "the size of none"),
        (sealed(0, none, all).unwrap(), "the size of none"),
        (sealed(4096 + 2048, none, all).unwrap(), "the size of none"),
        (
            sealed(4096 + 2 * CAPACITY, none, all).unwrap(),
            "more than the 4096 wanted",
        ),
    ];
    // Where the system supports them.
    let huge = sealed(2 << 20, MemfdFlags::HUGETLB, all);
    wrong.extend(huge.map(|huge| (huge, "ordinary pages")));
    for (memory, said) in wrong {
        let (first, _second, _) = handles();
        let (_, line) = first.into_descriptors();
        match Consumer::attach(Handles::new(memory, line), CAPACITY) {
            Err(Error::NoRing(why)) => assert!(why.contains(said), "{why} instead of {said}"),
            other => panic!("{said}: {other:?}"),
        }
    }
    let (first, _second, memory) = handles();
    let (_, line) = first.into_descriptors();
    let pair = Handles::new(memory.try_clone().unwrap(), memory);
    match Producer::attach(pair, CAPACITY) {
        Err(Error::NoRing(why)) => assert!(why.contains("no Unix socket"), "{why}"),
        other => panic!("{other:?}"),
    }
    drop(line);
}

#[test]
fn the_memory_of_a_ring_cannot_be_taken_away() {
    let (first, second, memory) = handles();
    for size in [0, 4096, 4096 + CAPACITY - 1, 4096 + 2 * CAPACITY] {
        assert_eq!(
            rustix::fs::ftruncate(&memory, size),
            Err(rustix::io::Errno::PERM)
        );
    }
    let mut producer = Producer::attach(first, CAPACITY).unwrap();
    let mut consumer = Consumer::attach(second, CAPACITY).unwrap();
    assert_eq!(producer.try_write(&[7; 100]).unwrap(), 100);
    // Pages can be removed. They come back, full of zeros, when they are touched.
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    rustix::fs::fallocate(&memory, hole, 4096, CAPACITY).unwrap();
    let mut bytes = [1; 100];
    assert_eq!(consumer.try_read(&mut bytes).unwrap(), Some(100));
    assert_eq!(bytes, [0; 100]);
}

#[test]
fn wakes_without_number_are_no_reason_to_stay() {
    let (first, second, _) = handles();
    let (memory, line) = second.into_descriptors();
    let mut producer = Producer::attach(first, CAPACITY).unwrap();
    assert_eq!(producer.try_write(&[1; 4096]).unwrap(), 4096);
    let start = Instant::now();
    std::thread::scope(|scope| {
        let flood = scope.spawn(|| {
            let mut sent = 0;
            while start.elapsed() < Duration::from_millis(400) {
                let flags = rustix::net::SendFlags::DONTWAIT | rustix::net::SendFlags::NOSIGNAL;
                sent += rustix::net::send(line.as_fd(), &[1; 512], flags).unwrap_or(0);
            }
            sent
        });
        let outcome = producer.write_all(&[1], start + Duration::from_millis(100));
        let took = start.elapsed();
        assert!(
            matches!(outcome, Err(Error::TimedOut { moved: 0, .. })),
            "{outcome:?}"
        );
        assert!(took >= Duration::from_millis(100) && took < Duration::from_millis(390));
        assert!(flood.join().unwrap() > 10_000);
    });
    drop(memory);
}
