//! When a sink confirms: together while more is there, and before it waits for anything.

use crate::outsides::{Sends, all, sink};
use isthmus_stream::checksum::crc32c;
use isthmus_stream::wire::{Header, Kind};
use isthmus_stream::{End, Protocol};
use isthmus_stream_net::sink::{Action, Counts, Sink};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const BYTES: usize = 100;
const DEADLINE: Duration = Duration::from_secs(60);

/// An ADU of one packet.
fn packet(adu: u64) -> Vec<u8> {
    let data = [adu.to_le_bytes()[0]; BYTES];
    let mut header = Header::new(Kind::Data, 0);
    (header.sequence, header.adu) = (adu, adu);
    (header.adu_bytes, header.bytes) = (BYTES as u64, BYTES as u32);
    header.sum = crc32c(&data);
    [&header.encode()[..], &data].concat()
}

fn packets(adus: u64) -> Vec<u8> {
    (0..adus).flat_map(packet).collect()
}

/// What a sink tells; none when it has left.
fn told(socket: &mut UnixStream) -> Option<Header> {
    let mut head = [0; Header::BYTES];
    match socket.read_exact(&mut head) {
        Ok(()) => Some(Header::decode(&head).unwrap()),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => None,
        Err(error) => panic!("no confirmation: {error}"),
    }
}

struct Rig {
    socket: UnixStream,
    /// Packets that `taken` has returned from.
    taken: Arc<AtomicU64>,
    thread: JoinHandle<isthmus_stream_net::Result<Counts>>,
}

/// A sink that takes `slow` for a packet and finds these bytes waiting.
fn rig(window: u64, slow: Duration, first: &[u8]) -> Rig {
    let (mut socket, mut theirs) = UnixStream::pair().unwrap();
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    socket.write_all(first).unwrap();
    let taken = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&taken);
    let thread = std::thread::spawn(move || {
        Sink::new(window).serve(
            &mut theirs,
            |_| Action::Take,
            |_, _| {
                std::thread::sleep(slow);
                count.fetch_add(1, Ordering::SeqCst);
            },
        )
    });
    Rig {
        socket,
        taken,
        thread,
    }
}

impl Rig {
    /// Confirmations until so many packets are confirmed; what is confirmed was taken.
    fn until(&mut self, packets: u64) -> u64 {
        for confirmations in 1.. {
            let header = told(&mut self.socket).expect("the sink has left");
            assert!(header.acknowledged <= self.taken.load(Ordering::SeqCst));
            if header.acknowledged == packets {
                return confirmations;
            }
        }
        0
    }
}

#[test]
fn an_adu_by_itself_is_confirmed_at_once() {
    let mut rig = rig(1 << 20, Duration::ZERO, &[]);
    for adu in 0..20 {
        rig.socket.write_all(&packet(adu)).unwrap();
        rig.until(adu + 1);
    }
}

#[test]
fn a_sender_that_stops_in_mid_packet_has_what_came_before_confirmed() {
    let next = packet(3);
    for cut in [1, Header::BYTES - 1, Header::BYTES, Header::BYTES + 50] {
        let mut rig = rig(1 << 20, Duration::ZERO, &packets(3));
        rig.socket.write_all(&next[..cut]).unwrap();
        rig.until(3);
        rig.socket.write_all(&next[cut..]).unwrap();
        rig.until(4);
        // And a sink that is left in mid-packet has said what it had.
        rig.socket.write_all(&packet(4)).unwrap();
        rig.socket.write_all(&packet(5)[..cut]).unwrap();
        rig.socket.shutdown(Shutdown::Write).unwrap();
        rig.until(5);
        let counts = rig.thread.join().unwrap().unwrap();
        assert_eq!((counts.adus, counts.cut), (5, 1));
        assert_eq!(counts.cut_at, Some((0, 5, 0)));
    }
}

/// What a sink says whose sender leaves after these bytes, in mid-packet.
fn after(bytes: &[u8]) -> isthmus_stream_net::Result<Counts> {
    let rig = rig(1 << 20, Duration::ZERO, bytes);
    rig.socket.shutdown(Shutdown::Write).unwrap();
    rig.thread.join().unwrap()
}

#[test]
fn a_stream_is_cut_where_its_first_packet_is_torn() {
    let mut head = Header::new(Kind::Data, 0);
    (head.adu_bytes, head.bytes) = (2 * BYTES as u64, BYTES as u32);
    let data = [1; BYTES];
    head.sum = crc32c(&data);
    let first = [&head.encode()[..], &data[..BYTES - 1]].concat();
    // The second of the connection: the first has no ADU.
    let mut end = Header::new(Kind::Data, 0);
    end.end = true;
    (head.sequence, head.stream) = (1, 1);
    let second = [&end.encode()[..], &head.encode(), &data[..1]].concat();
    for (bytes, stream) in [(&first, 0), (&second, 1)] {
        let counts = after(bytes).unwrap();
        assert_eq!((counts.cut, counts.cut_at), (1, Some((stream, 0, 0))));
    }
    // Of which stream it was to be is not known.
    let error = after(&first[..Header::BYTES - 1]).unwrap_err();
    assert!(
        error.to_string().starts_with("reading packets: "),
        "{error}"
    );
}

#[test]
fn what_waits_is_confirmed_together() {
    let begin = Instant::now();
    let mut rig = rig(1 << 30, Duration::ZERO, &packets(256));
    rig.socket.shutdown(Shutdown::Write).unwrap();
    let confirmations = rig.until(256);
    // The window, each 64 ADUs, and one for each ms that it took.
    let most = 1 + 256 / 64 + begin.elapsed().as_millis() as u64;
    assert!(confirmations <= most, "{confirmations} of {most}");
    assert_eq!(rig.thread.join().unwrap().unwrap().adus, 256);
}

#[test]
fn a_quarter_of_the_window_is_confirmed_whatever_waits() {
    let cost = (Header::BYTES + BYTES) as u64;
    let mut rig = rig(16 * cost, Duration::ZERO, &packets(32));
    let confirmations = rig.until(32);
    assert!(confirmations >= 32 / 4, "{confirmations}");
}

#[test]
fn a_slow_sink_does_not_keep_an_adu_for_others() {
    let mut rig = rig(1 << 30, Duration::from_millis(3), &packets(20));
    // Each second one, as 1 ms has passed since the one before.
    let confirmations = rig.until(20);
    assert!(confirmations >= 10, "{confirmations}");
}

#[test]
fn a_window_of_one_packet_is_enough() {
    // Of 65,536 B of a TU the second packet has less than a quarter of the window, and what is left
    // is too little for the first of the next.
    for (packet, window) in [(65_536, 65_536 + 112), (54_000, 60_000), (10_000, 10_112)] {
        let (address, thread) = sink(Sink::new(window), |_| Action::Take);
        let mut sends = Sends::new();
        let connection = sends.open(&address, Protocol::Stream);
        let stream = sends.send(connection, packet, 6);
        assert_eq!(sends.end(stream), End::Done);
        sends.call(move |driver| driver.close(connection)).unwrap();
        let (counts, data) = thread.join().unwrap();
        assert_eq!(counts.unwrap().adus, 6);
        assert!(data == all(6));
    }
}
