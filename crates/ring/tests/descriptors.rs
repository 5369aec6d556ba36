//! Descriptors through sockets: random messages, truncated ones, and invalid ones.

use isthmus_ring::{Consumer, Error, Handles, recv_fds, ring, send_fds};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::cell::Cell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

fn pair(kind: SocketType) -> (OwnedFd, OwnedFd) {
    socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).unwrap()
}

/// Pipes whose reading ends are sent. The other ends report whether all copies are closed.
fn pipes(count: usize) -> (Vec<OwnedFd>, Vec<OwnedFd>) {
    let flags = rustix::pipe::PipeFlags::CLOEXEC;
    (0..count)
        .map(|_| rustix::pipe::pipe_with(flags).unwrap())
        .unzip()
}

fn all_closed(others: &[OwnedFd]) -> bool {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    others.iter().all(|other| {
        let mut polled = [PollFd::new(other, PollFlags::OUT)];
        poll(&mut polled, Some(&now)).unwrap();
        polled[0].revents().contains(PollFlags::ERR)
    })
}

#[test]
fn messages_arrive_whole_or_are_reported_as_truncated() {
    #[derive(Default)]
    struct Counts {
        whole: Cell<usize>,
        cut: Cell<usize>,
        without: Cell<usize>,
        descriptors: Cell<usize>,
    }
    let count = |cell: &Cell<usize>, more: usize| cell.set(cell.get() + more);
    let counts = Counts::default();
    // Bytes sent, room for bytes, descriptors sent, room for descriptors, stream or messages.
    let message = (
        1..200_usize,
        1..200_usize,
        0..7_usize,
        0..7_usize,
        any::<bool>(),
    );
    let config = Config {
        cases: 400,
        failure_persistence: None,
        ..Config::default()
    };
    let outcome = TestRunner::new(config).run(&message, |(len, room, fds, most, stream)| {
        let kind = if stream {
            SocketType::STREAM
        } else {
            SocketType::SEQPACKET
        };
        let (near, far) = pair(kind);
        let (sent, others) = pipes(fds);
        let bytes: Vec<u8> = (0..len).map(|at| at as u8).collect();
        let borrowed: Vec<BorrowedFd<'_>> = sent.iter().map(AsFd::as_fd).collect();
        send_fds(&near, &bytes, &borrowed, soon()).unwrap();
        drop(sent);
        prop_assert!(fds == 0 || !all_closed(&others), "they are on their way");
        let mut got = vec![0; room];
        let fits = fds <= most && (stream || len <= room);
        match recv_fds(&far, &mut got, most, soon()) {
            Ok(received) => {
                prop_assert!(fits);
                prop_assert_eq!(received.bytes, len.min(room));
                prop_assert_eq!(&got[..received.bytes], &bytes[..received.bytes]);
                prop_assert_eq!(received.descriptors.len(), fds);
                for (number, (end, other)) in received.descriptors.iter().zip(&others).enumerate() {
                    let flags = rustix::io::fcntl_getfd(end).unwrap();
                    prop_assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
                    // Each is the descriptor that was sent at its position.
                    rustix::io::write(other, &[number as u8]).unwrap();
                    let mut byte = [0xff];
                    rustix::io::read(end, &mut byte).unwrap();
                    prop_assert_eq!(byte[0], number as u8);
                }
                count(&counts.whole, 1);
                count(&counts.without, usize::from(fds == 0));
                count(&counts.descriptors, fds);
                if stream && len > room {
                    // The rest comes next, without descriptors.
                    let mut rest = vec![0; len - room];
                    let next = recv_fds(&far, &mut rest, 0, soon()).unwrap();
                    prop_assert_eq!(&rest[..next.bytes], &bytes[room..]);
                }
            }
            Err(Error::Truncated) => {
                prop_assert!(!fits);
                count(&counts.cut, 1);
            }
            Err(error) => prop_assert!(false, "{error}"),
        }
        // In every case no descriptor stays open.
        prop_assert!(all_closed(&others));
        Ok(())
    });
    outcome.unwrap();
    let counts = [
        &counts.whole,
        &counts.cut,
        &counts.without,
        &counts.descriptors,
    ]
    .map(Cell::get);
    println!("whole, cut, without descriptors, descriptors: {counts:?}");
    assert!(counts[0] > 80 && counts[1] > 80 && counts[2] > 10 && counts[3] > 100);
}

#[test]
fn a_message_longer_than_a_socket_holds_arrives() {
    let (near, far) = pair(SocketType::STREAM);
    let (sent, others) = pipes(3);
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let borrowed: Vec<BorrowedFd<'_>> = sent.iter().map(AsFd::as_fd).collect();
            send_fds(&near, &bytes, &borrowed, soon()).unwrap();
        });
        let (mut got, mut descriptors, mut buffer) = (Vec::new(), Vec::new(), vec![0; 70_000]);
        while got.len() < bytes.len() {
            let received = recv_fds(&far, &mut buffer, 3, soon()).unwrap();
            got.extend_from_slice(&buffer[..received.bytes]);
            descriptors.extend(received.descriptors);
        }
        assert!(got == bytes && descriptors.len() == 3);
    });
    drop(sent);
    assert!(all_closed(&others));
}

#[test]
fn unusable_sockets_are_reported() {
    let (near, far) = pair(SocketType::STREAM);
    let in_time = || Instant::now() + Duration::from_millis(40);
    let silent = recv_fds(&far, &mut [0; 9], 1, in_time()).unwrap_err();
    assert_eq!(
        silent.to_string(),
        "timed out waiting for a message from a socket"
    );
    let full = send_fds(&near, &vec![1; 10 << 20], &[], in_time()).unwrap_err();
    assert_eq!(
        full.to_string(),
        "timed out waiting for a socket that takes a message"
    );
    assert!(matches!(full, Error::TimedOut { moved: 1000.., .. }));
    drop(far);
    let closed = send_fds(&near, b"x", &[], soon()).unwrap_err();
    assert!(closed.to_string().contains("Broken pipe"), "{closed}");
    let (near, far) = pair(SocketType::STREAM);
    drop(near);
    assert_eq!(recv_fds(&far, &mut [0; 9], 1, soon()).unwrap().bytes, 0);
    let (pipe, _other) = rustix::pipe::pipe().unwrap();
    assert!(matches!(
        recv_fds(&pipe, &mut [0; 9], 1, soon()),
        Err(Error::System { .. })
    ));
    for (bytes, most) in [(0, 1), (1, 254)] {
        let outcome = recv_fds(&far, &mut vec![0; bytes], most, soon());
        assert!(matches!(outcome, Err(Error::System { .. })));
    }
    assert!(matches!(
        send_fds(&far, b"", &[], soon()),
        Err(Error::System { .. })
    ));
}

#[test]
fn an_end_arrives_as_it_was_and_nothing_else_is_taken_for_one() {
    for kind in [SocketType::STREAM, SocketType::SEQPACKET] {
        let (near, far) = pair(kind);
        let (mut producer, consumer) = ring(4096).unwrap();
        producer.write_all(b"before", soon()).unwrap();
        consumer.into_handles().send(&near, soon()).unwrap();
        let handles = Handles::receive(&far, soon()).unwrap();
        let mut consumer = Consumer::attach(handles, 4096).unwrap();
        producer.write_all(b" and after", soon()).unwrap();
        let mut bytes = [0; 16];
        consumer.read_exact(&mut bytes, soon()).unwrap();
        assert_eq!(&bytes, b"before and after");
    }
}

#[test]
fn garbage_is_no_end() {
    let greeting = *b"isthmus ring 1\r\n";
    let (refused, taken) = (Cell::new(0), Cell::new(0));
    let garbage = (
        prop_oneof![
            2 => Just(greeting.to_vec()),
            2 => (0..16_usize, any::<u8>()).prop_map(move |(at, byte)| {
                let mut bytes = greeting.to_vec();
                bytes[at] = byte;
                bytes
            }),
            1 => (1..16_usize).prop_map(move |len| greeting[..len].to_vec()),
            1 => prop::collection::vec(any::<u8>(), 1..40),
        ],
        0..4_usize,
    );
    let config = Config {
        cases: 400,
        failure_persistence: None,
        ..Config::default()
    };
    let outcome = TestRunner::new(config).run(&garbage, |(bytes, fds)| {
        let (near, far) = pair(SocketType::STREAM);
        let (sent, others) = pipes(fds);
        let borrowed: Vec<BorrowedFd<'_>> = sent.iter().map(AsFd::as_fd).collect();
        send_fds(&near, &bytes, &borrowed, soon()).unwrap();
        drop((sent, near));
        match Handles::receive(&far, soon()) {
            Ok(handles) => {
                prop_assert!(bytes.starts_with(&greeting) && fds == 2);
                // Two pipes are not a ring, which is detected when they are checked.
                let attached = Consumer::attach(handles, 4096);
                prop_assert!(matches!(attached, Err(Error::NoRing(_))));
                taken.set(taken.get() + 1);
            }
            Err(Error::NoRing(_) | Error::Truncated) => {
                prop_assert!(!bytes.starts_with(&greeting) || fds != 2);
                refused.set(refused.get() + 1);
            }
            Err(error) => prop_assert!(false, "{error}"),
        }
        drop(far);
        prop_assert!(all_closed(&others));
        Ok(())
    });
    outcome.unwrap();
    let counts = (refused.get(), taken.get());
    println!("refused, taken: {counts:?}");
    assert!(counts.0 > 200 && counts.1 > 20);
}

/// The mode of a ring's memory lets no other user open it through `/proc`.
#[test]
fn the_memory_of_a_ring_belongs_to_its_user() {
    let (producer, _consumer) = isthmus_ring::ring(4096).unwrap();
    let (memory, _line) = producer.into_handles().into_descriptors();
    let mode = rustix::fs::fstat(&memory).unwrap().st_mode;
    assert_eq!(mode & 0o777, 0o600);
}
