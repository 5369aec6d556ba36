//! Two processes, one of which is killed at some moment: the received data is correct, and the
//! other process detects the loss.
//!
//! The child process is this program again, with its socket as standard input.

use isthmus_ring::{Consumer, Error, Handles, Producer, ring};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const ROLE: &str = "ISTHMUS_RING_TEST_ROLE";
const CAPACITY: u64 = 1 << 16;

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

/// Pseudo-random numbers, the same for the same seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

/// Returns the bytes of a stream at a position.
fn fill(place: u64, bytes: &mut [u8]) {
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = ((place + at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 53) as u8;
    }
}

/// Starts this program as `role`.
fn other(role: &str) -> (Child, UnixStream) {
    let (near, far) = UnixStream::pair().unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::the_other_process", "--nocapture"])
        .env(ROLE, role)
        .stdin(Stdio::from(OwnedFd::from(far)))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    (child, near)
}

/// Runs in the child process. Without a role in the environment it does nothing.
#[test]
fn the_other_process() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let handles = Handles::receive(std::io::stdin(), soon()).unwrap();
    let (role, bytes) = role.split_once(' ').unwrap();
    let total: u64 = bytes.parse().unwrap();
    match role {
        "producer" => {
            let mut producer = Producer::attach(handles, CAPACITY).unwrap();
            // The consumer may end first, which is no error here.
            match produce(&mut producer, total, 7) {
                Ok(()) => producer.close(),
                Err(error) => panic!("{error}"),
            }
        }
        "consumer" => {
            let mut consumer = Consumer::attach(handles, CAPACITY).unwrap();
            consume(&mut consumer, 11).unwrap();
        }
        "silent" => std::thread::sleep(Duration::from_secs(60)),
        _ => panic!("{role}"),
    }
}

fn produce(producer: &mut Producer, total: u64, seed: u64) -> Result<(), Error> {
    let mut numbers = Numbers(seed);
    let mut bytes = vec![0; 200_000];
    while producer.written() < total {
        let most = if numbers.below(4) == 0 { 200_000 } else { 3000 };
        let len = numbers.below(most).min(total - producer.written()) as usize;
        fill(producer.written(), &mut bytes[..len]);
        if numbers.below(3) == 0 && len <= CAPACITY as usize / 2 {
            let mut reserved = producer.reserve(len, soon())?;
            reserved.put(len / 2, &bytes[len / 2..len]);
            reserved.put(0, &bytes[..len / 2]);
            reserved.commit(len);
        } else {
            producer.write_all(&bytes[..len], soon())?;
        }
    }
    Ok(())
}

/// Reads to the end, and checks that all bytes are those of the stream.
fn consume(consumer: &mut Consumer, seed: u64) -> Result<u64, Error> {
    let mut numbers = Numbers(seed);
    let (mut bytes, mut wanted) = (vec![0; 150_000], vec![0; 150_000]);
    loop {
        let place = consumer.read_so_far();
        let most = if numbers.below(4) == 0 { 150_000 } else { 3000 };
        let len = 1 + numbers.below(most - 1) as usize;
        let outcome = match numbers.below(2) {
            0 => consumer.read_exact(&mut bytes[..len], soon()).map(|()| len),
            _ => consumer.read(&mut bytes[..len], soon()),
        };
        let (read, over) = match outcome {
            Ok(0) => (0, Ok(place)),
            Ok(read) => (read, Err(None)),
            Err(Error::Closed { moved }) => (moved, Ok(place + moved as u64)),
            Err(Error::PeerGone { moved }) => (moved, Err(Some(Error::PeerGone { moved }))),
            Err(error) => return Err(error),
        };
        fill(place, &mut wanted[..read]);
        assert!(bytes[..read] == wanted[..read], "wrong bytes after {place}");
        match over {
            Ok(all) => return Ok(all),
            Err(Some(gone)) => return Err(gone),
            Err(None) => {}
        }
    }
}

#[test]
fn a_stream_crosses_between_processes() {
    let total = 60_000_000;
    let (mut child, socket) = other(&format!("producer {total}"));
    let (producer, mut consumer) = ring(CAPACITY).unwrap();
    producer.into_handles().send(&socket, soon()).unwrap();
    assert_eq!(consume(&mut consumer, 5).unwrap(), total);
    assert!(child.wait().unwrap().success());

    let (mut child, socket) = other("consumer 0");
    let (mut producer, consumer) = ring(CAPACITY).unwrap();
    consumer.into_handles().send(&socket, soon()).unwrap();
    produce(&mut producer, total, 3).unwrap();
    producer.close();
    assert!(child.wait().unwrap().success());
}

#[test]
fn who_is_killed_is_missed_and_what_it_wrote_is_whole() {
    let (mut read, mut written, mut numbers) = (0, 0, Numbers(20_001));
    for _ in 0..12 {
        let (mut child, socket) = other(&format!("producer {}", u64::MAX >> 8));
        let (producer, mut consumer) = ring(CAPACITY).unwrap();
        producer.into_handles().send(&socket, soon()).unwrap();
        let moment = Duration::from_micros(numbers.below(40_000));
        let killer = std::thread::spawn(move || {
            std::thread::sleep(moment);
            child.kill().unwrap();
            child.wait().unwrap();
        });
        let error = consume(&mut consumer, 1 + numbers.below(1000)).unwrap_err();
        assert!(matches!(error, Error::PeerGone { .. }), "{error}");
        killer.join().unwrap();
        read += consumer.read_so_far();

        let (mut child, socket) = other("consumer 0");
        let (mut producer, consumer) = ring(CAPACITY).unwrap();
        consumer.into_handles().send(&socket, soon()).unwrap();
        let moment = Duration::from_micros(numbers.below(40_000));
        let killer = std::thread::spawn(move || {
            std::thread::sleep(moment);
            child.kill().unwrap();
            child.wait().unwrap();
        });
        let seed = 1 + numbers.below(1000);
        let error = produce(&mut producer, u64::MAX >> 8, seed).unwrap_err();
        assert!(matches!(error, Error::PeerGone { .. }), "{error}");
        killer.join().unwrap();
        written += producer.written();
    }
    println!("{read} bytes read before producers died, {written} written before consumers did");
    assert!(read > 0 && written > 0);
}

#[test]
fn who_is_killed_asleep_or_stopped_holds_nobody() {
    let (mut child, mut socket) = other("silent 0");
    let (producer, mut consumer) = ring(CAPACITY).unwrap();
    producer.into_handles().send(&socket, soon()).unwrap();
    let start = Instant::now();
    let outcome = consumer.read(&mut [0; 8], start + Duration::from_millis(300));
    assert!(
        matches!(outcome, Err(Error::TimedOut { moved: 0, .. })),
        "it lives: {outcome:?}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    let outcome = consumer.read(&mut [0; 8], soon());
    assert!(
        matches!(outcome, Err(Error::PeerGone { moved: 0 })),
        "{outcome:?}"
    );
    assert!(start.elapsed() < Duration::from_secs(10));
    // The socket that it came through reports the death too.
    assert_eq!(socket.read(&mut [0; 1]).unwrap_or(0), 0);
    assert!(socket.write_all(&[1; 8]).is_err());
}
