//! A driver with sinks on threads and ranks on large rings.

use super::content;
use super::ranks::soon;
use isthmus_ring::ring;
use isthmus_stream::checksum::Checksum;
use isthmus_stream::{
    AppId, ConnectionId, ConnectionSpec, Direction, Format, LinkId, Protocol, StreamId, StreamSpec,
};
use isthmus_stream_net::rank::{Pipe, Sender};
use isthmus_stream_net::sink::{Action, Counts, Sink};
use isthmus_stream_net::{Driver, Ends};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub const KB: u64 = 1 << 10;
pub const ADU: u64 = 256 * KB;
pub const WINDOW: u64 = 64 << 20;
/// Size of a rank's ring in bytes.
pub const LARGE: u64 = 2 << 20;

/// The counters of a sink, or its error, and the received bytes.
pub type Taken = JoinHandle<(isthmus_stream_net::Result<Counts>, Vec<u8>)>;

/// Opens a connection over a Unix socket to a sink on a thread.
pub fn sink(
    (driver, app): (&mut Driver, AppId),
    name: &str,
    before: impl FnMut(u64) -> Action + Send + 'static,
) -> (ConnectionId, Taken) {
    let (driver_end, mut sink_end) = UnixStream::pair().unwrap();
    driver.provide_socket(name, driver_end);
    let thread = std::thread::spawn(move || {
        let mut all = Vec::new();
        let taken = |_: &_, data: &[u8]| all.extend_from_slice(data);
        let counts = Sink::new(WINDOW).serve(&mut sink_end, before, taken);
        (counts, all)
    });
    (open(driver, app, name), thread)
}

pub fn open(driver: &mut Driver, app: AppId, name: &str) -> ConnectionId {
    let words = format!("raw:given:{name}");
    let spec = ConnectionSpec::new(&words, Protocol::Stream, 0);
    driver.open(app, spec).unwrap()
}

pub fn format(adu: u64, links: &[u16]) -> Format {
    let links: Vec<_> = links.iter().map(|link| LinkId(*link)).collect();
    Format::fixed(adu, adu, &links)
}

pub fn submit(
    (driver, app): (&mut Driver, AppId),
    connection: ConnectionId,
    format: &Format,
    adus: u64,
) -> StreamId {
    let spec = StreamSpec::new(connection, Direction::Transmit, format.clone(), adus);
    driver.submit(app, &spec).unwrap()
}

/// Starts the ranks of a link on a thread: they write all ADUs of the first stream, then all of the
/// next.
pub fn rank(
    driver: &mut Driver,
    link: LinkId,
    streams: &[(StreamId, Format, u64)],
) -> JoinHandle<Sender> {
    let (producer, consumer) = ring(LARGE).unwrap();
    let ends = Ends::rings(Some(consumer), None);
    driver.attach(link, ends).unwrap();
    let streams = streams.to_vec();
    std::thread::spawn(move || {
        let mut sender = Sender::new(link, Pipe::Producer(producer)).summing(Checksum::Crc32c);
        for (stream, format, adus) in streams {
            let mut before = 0;
            for adu in 0..adus {
                let bytes = super::memory::adu_bytes(&format);
                let data = content(stream.0 as usize, adu, bytes);
                let place = (before, 0);
                before = sender
                    .send_adu(stream, &format, (adu, &data), place, soon())
                    .unwrap();
            }
        }
        sender
    })
}

pub fn right(stream: StreamId, adus: u64, bytes: u64) -> Vec<u8> {
    let all = (0..adus).flat_map(|adu| content(stream.0 as usize, adu, bytes));
    all.collect()
}

/// Closes a connection, and returns the counters and data of its sink.
pub fn close(driver: &mut Driver, connection: ConnectionId, thread: Taken) -> (Counts, Vec<u8>) {
    driver.close(connection).unwrap();
    until(driver, "the sink leaves", |_| thread.is_finished());
    let (counts, all) = thread.join().unwrap();
    (counts.unwrap(), all)
}

pub fn until(driver: &mut Driver, what: &str, mut wanted: impl FnMut(&mut Driver) -> bool) {
    let deadline = soon();
    while !wanted(driver) {
        let moment = Instant::now() + Duration::from_millis(2);
        driver.turn(Some(moment)).unwrap();
        assert!(Instant::now() < deadline, "{what}: {:?}", driver.figures());
    }
}
