//! When a sink confirms: several ADUs together while more bytes are readable, and always before it
//! waits.

use crate::outsides::{Sends, all, sink};
use isthmus_stream::checksum::crc32c;
use isthmus_stream::wire::{Header, Kind};
use isthmus_stream::{End, Protocol};
use isthmus_stream_net::Error;
use isthmus_stream_net::sink::{Action, Counts, Sink};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
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

/// Reads the sink's next header. None when it has left.
fn next_header(socket: &mut UnixStream) -> Option<Header> {
    let mut head = [0; Header::BYTES];
    match socket.read_exact(&mut head) {
        Ok(()) => Some(Header::decode(&head).unwrap()),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => None,
        Err(error) => panic!("no confirmation: {error}"),
    }
}

struct Rig {
    socket: UnixStream,
    /// Number of packets for which `taken` has returned.
    taken: Arc<AtomicU64>,
    thread: JoinHandle<isthmus_stream_net::Result<Counts>>,
}

/// Starts a sink that spends `slow` on each packet, with these bytes readable at the start.
fn rig(window: u64, slow: Duration, first: &[u8]) -> Rig {
    let (mut socket, mut sink_end) = UnixStream::pair().unwrap();
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    socket.write_all(first).unwrap();
    let taken = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&taken);
    let thread = std::thread::spawn(move || {
        Sink::new(window).serve(
            &mut sink_end,
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
    /// Counts the confirmations until this many packets are confirmed. Confirmed packets must have
    /// been taken.
    fn until(&mut self, packets: u64) -> u64 {
        for confirmations in 1.. {
            let header = next_header(&mut self.socket).expect("the sink has left");
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
        // A sink whose sender leaves in mid-packet has also confirmed the packets before.
        rig.socket.write_all(&packet(4)).unwrap();
        rig.socket.write_all(&packet(5)[..cut]).unwrap();
        rig.socket.shutdown(Shutdown::Write).unwrap();
        rig.until(5);
        let counts = rig.thread.join().unwrap().unwrap();
        assert_eq!((counts.adus, counts.cut), (5, 1));
        assert_eq!(counts.cut_at, Some((0, 5, 0)));
    }
}

/// Returns the result of a sink whose sender leaves after these bytes, in mid-packet.
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
    // The second stream of the connection: the first has no ADU.
    let mut end = Header::new(Kind::Data, 0);
    end.end = true;
    (head.sequence, head.stream) = (1, 1);
    let second = [&end.encode()[..], &head.encode(), &data[..1]].concat();
    for (bytes, stream) in [(&first, 0), (&second, 1)] {
        let counts = after(bytes).unwrap();
        assert_eq!((counts.cut, counts.cut_at), (1, Some((stream, 0, 0))));
    }
    // The stream of an incomplete header is unknown.
    let error = after(&first[..Header::BYTES - 1]).unwrap_err().to_string();
    assert!(
        error.contains("in the midst of a header: 0 packets"),
        "{error}"
    );
}

/// Returns the packets of stream 0, with one ADU and its end, and of stream 1, with two.
fn of_two_streams() -> [Vec<u8>; 3] {
    let data = [1; BYTES];
    [0, 1, 2].map(|sequence: u32| {
        let mut header = Header::new(Kind::Data, 0);
        header.sequence = u64::from(sequence);
        (header.stream, header.adu) = (sequence.min(1), u64::from(sequence / 2));
        (header.adu_bytes, header.bytes) = (BYTES as u64, BYTES as u32);
        (header.end, header.sum) = (sequence == 0, crc32c(&data));
        [&header.encode()[..], &data].concat()
    })
}

#[test]
fn early_and_repeated_packets_show_where_a_stream_is_cut() {
    let [whole, first, second] = of_two_streams();
    let cut = |bytes: &[&[u8]]| {
        let counts = after(&bytes.concat()).unwrap();
        (counts.ended, counts.cut, counts.cut_at)
    };
    assert_eq!(cut(&[&whole]), (1, 0, None));
    // A copy of a taken packet belongs to no stream.
    let most = BYTES + Header::BYTES - 1;
    assert_eq!(cut(&[&whole, &whole[..most]]), (1, 0, None));
    // A stream without its first packet is cut there, regardless of the stream of the torn packet.
    assert_eq!(cut(&[&whole, &second]), (1, 1, Some((1, 0, 0))));
    assert_eq!(cut(&[&first, &second[..most]]), (0, 1, Some((1, 0, 0))));
    assert_eq!(cut(&[&first, &whole[..most]]), (0, 1, Some((0, 0, 0))));
    assert_eq!(
        cut(&[&whole, &first, &second[..most]]),
        (1, 1, Some((1, 1, 0)))
    );
}

#[test]
fn a_stream_is_cut_where_a_packet_was_to_come_again() {
    let [mut whole, first, _] = of_two_streams();
    *whole.last_mut().unwrap() ^= 1;
    let (mut socket, mut sink_end) = UnixStream::pair().unwrap();
    socket.write_all(&[whole, first].concat()).unwrap();
    socket.shutdown(Shutdown::Write).unwrap();
    let mut sink = Sink::new(1 << 20);
    sink.repair = true;
    let counts = sink.serve(&mut sink_end, |_| Action::Take, |_, _| ());
    let counts = counts.unwrap();
    assert_eq!((counts.corrupted, counts.early, counts.cut), (1, 1, 1));
    assert_eq!(counts.cut_at, Some((0, 0, 0)));
}

/// A killed sender resets the connection: it did not read its confirmation.
#[test]
fn a_sender_that_is_killed_in_mid_packet_cut_its_stream_there() {
    for sent in 1..40 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut sink_end = listener.accept().unwrap().0;
        let thread = std::thread::spawn(move || {
            Sink::new(1 << 20).serve(&mut sink_end, |_| Action::Take, |_, _| ())
        });
        let torn = &packet(sent)[..Header::BYTES + 50];
        socket.write_all(&[&packets(sent), torn].concat()).unwrap();
        // Some confirmations are still unread.
        socket.read_exact(&mut [0]).unwrap();
        drop(socket);
        let counts = thread.join().unwrap().unwrap();
        assert_eq!((counts.adus, counts.cut), (sent, 1));
        assert_eq!(counts.cut_at, Some((0, sent, 0)));
    }
}

#[test]
fn data_that_cannot_be_stored_is_not_confirmed() {
    let (mut socket, mut sink_end) = UnixStream::pair().unwrap();
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    socket.write_all(&packets(4)).unwrap();
    socket.shutdown(Shutdown::Write).unwrap();
    let taken = |header: &Header, _: &[u8]| match header.adu {
        3 => Err(Error::Garbled("no room".into())),
        _ => Ok(()),
    };
    let counts = Sink::new(1 << 20).serve_while(&mut sink_end, |_| Action::Take, taken);
    assert_eq!(counts.unwrap_err().to_string(), "no room");
    drop(sink_end);
    let last = std::iter::from_fn(|| next_header(&mut socket))
        .last()
        .unwrap();
    assert_eq!((last.acknowledged, last.delivered), (3, 3));
}

/// A sink never keeps more than the window that it grants, whatever the sender does.
#[test]
fn more_than_the_window_is_refused() {
    let refused = |window: u64, bytes: &[u8]| {
        let (mut socket, mut sink_end) = UnixStream::pair().unwrap();
        socket.write_all(bytes).unwrap();
        let served = Sink::new(window).serve(&mut sink_end, |_| Action::Take, |_, _| ());
        served.unwrap_err().to_string()
    };
    let mut huge = Header::new(Kind::Data, 0);
    (huge.adu_bytes, huge.bytes) = (u64::from(u32::MAX), u32::MAX);
    let error = refused(1 << 20, &huge.encode());
    let begin = "packet 0: its 4294967407 bytes are more than a sender may have under way, 1048576";
    assert!(error.starts_with(begin), "{error}");
    // The first packet is missing, and three fit.
    let cost = (BYTES + Header::BYTES) as u64;
    let error = refused(3 * cost + 1, &packets(6)[cost as usize..]);
    assert!(error.starts_with("packet 4: its 212 bytes"), "{error}");
}

/// The number of remembered corrupted packets is bounded.
#[test]
fn more_packets_to_come_again_than_the_window_holds_are_refused() {
    let (mut socket, mut sink_end) = UnixStream::pair().unwrap();
    for adu in 0..50 {
        let mut wrong = packet(adu);
        wrong[Header::BYTES] ^= 1;
        socket.write_all(&wrong).unwrap();
    }
    let sink = Sink {
        repair: true,
        ..Sink::new(40 * Header::BYTES as u64)
    };
    let refused = sink.serve(&mut sink_end, |_| Action::Take, |_, _| ());
    let refused = refused.unwrap_err().to_string();
    let expected = "to come again than there is room for";
    assert!(refused.contains(expected), "{refused}");
}

#[test]
fn waiting_packets_are_confirmed_together() {
    let begin = Instant::now();
    let mut rig = rig(1 << 30, Duration::ZERO, &packets(256));
    rig.socket.shutdown(Shutdown::Write).unwrap();
    let confirmations = rig.until(256);
    // One for the window, one per 64 ADUs, and one per elapsed ms.
    let most = 1 + 256 / 64 + begin.elapsed().as_millis() as u64;
    assert!(confirmations <= most, "{confirmations} of {most}");
    assert_eq!(rig.thread.join().unwrap().unwrap().adus, 256);
}

#[test]
fn a_quarter_of_the_window_is_confirmed_at_once() {
    let cost = (Header::BYTES + BYTES) as u64;
    let mut rig = rig(16 * cost, Duration::ZERO, &packets(32));
    let confirmations = rig.until(32);
    assert!(confirmations >= 32 / 4, "{confirmations}");
}

#[test]
fn a_slow_sink_does_not_keep_an_adu_for_others() {
    let mut rig = rig(1 << 30, Duration::from_millis(3), &packets(20));
    // Every second packet, since 1 ms has passed since the one before.
    let confirmations = rig.until(20);
    assert!(confirmations >= 10, "{confirmations}");
}

#[test]
fn a_window_of_one_packet_is_enough() {
    // For a TU of 65,536 B the second packet has less than a quarter of the window, and the rest of
    // the window is too small for the first packet of the next TU.
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
