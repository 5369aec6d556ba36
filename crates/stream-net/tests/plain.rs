//! Plain bytes that come over TCP are the ADUs of receiving streams.

use crate::rig::content;
use crate::rig::ranks::{Links, Log, reader, soon, tcp_pair};
use isthmus_stream::{
    AppId, Config, ConnectionId, ConnectionSpec, Direction, End, Event, Format, Limits, LinkId,
    Protocol, Reason, StreamId, StreamSpec,
};
use isthmus_stream_net::{Driver, Event as DriverEvent, Service};
use proptest::prelude::*;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const KB: u64 = 1 << 10;
const WINDOW: u64 = 128 * KB;

struct Takes {
    service: Service,
    events: Receiver<DriverEvent>,
    app: AppId,
    log: Log,
    connection: ConnectionId,
    received: Vec<DriverEvent>,
}

fn call<T: Send + 'static>(
    service: &Service,
    what: impl FnOnce(&mut Driver) -> T + Send + 'static,
) -> T {
    service.client().call(what).unwrap()
}

impl Takes {
    /// Creates a driver that receives plain bytes on one link, from this destination.
    fn new(destination: &str) -> Self {
        let config = Config {
            staging_bytes: 256 * KB,
            engines: 8,
            network_bytes: 256 * KB,
            ..Config::default()
        };
        let mut driver = Driver::new(config).unwrap();
        let app = driver.add_application(Limits::NONE);
        let (log, ends) = reader(Links::Ring, usize::MAX);
        driver.attach(LinkId(1), ends).unwrap();
        let protocol = Protocol::Unconfirmed { reorder: 0 };
        let spec = ConnectionSpec::new(destination, protocol, WINDOW);
        let connection = driver.open(app, spec).unwrap();
        let (send, events) = channel();
        let service = Service::start(driver, move |event| {
            // The test may have failed.
            let _ = send.send(event);
        });
        Self {
            service: service.unwrap(),
            events,
            app,
            log,
            connection,
            received: Vec::new(),
        }
    }

    fn given() -> (Self, TcpStream) {
        let takes = Self::new("tcp:given:outside");
        let (peer_end, driver_end) = tcp_pair();
        call(&takes.service, move |driver| {
            driver.provide_socket("outside", driver_end)
        });
        (takes, peer_end)
    }

    fn receive(&self, adu: u64, tu: u64, packet: u64, adus: Option<u64>) -> StreamId {
        let format = Format {
            packet_bytes: packet,
            ..Format::fixed(adu, tu, &[LinkId(1)])
        };
        let mut spec = StreamSpec::new(self.connection, Direction::Receive, format, 0);
        spec.adus = adus;
        let app = self.app;
        call(&self.service, move |driver| driver.submit(app, &spec)).unwrap()
    }

    fn wait<T>(&mut self, what: &str, wanted: impl Fn(&DriverEvent) -> Option<T>) -> T {
        if let Some(found) = self.received.iter().find_map(&wanted) {
            return found;
        }
        let until = soon();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let event = self.events.recv_timeout(left);
            let Ok(event) = event else {
                let waits = call(&self.service, |driver| {
                    let streams = (0..4).map(StreamId);
                    let waits = streams.map(|id| driver.manager().waits(id));
                    format!("{:?}", waits.collect::<Vec<_>>())
                });
                panic!("no {what} in {:#?}: {waits}", self.received);
            };
            self.received.push(event.clone());
            if let Some(found) = wanted(&event) {
                return found;
            }
        }
    }

    fn end(&mut self, of: StreamId) -> End {
        self.wait("end", |event| match event {
            DriverEvent::Stream(Event::Ended { stream, end }) if *stream == of => Some(end.clone()),
            _ => None,
        })
    }

    /// Returns the bytes of a stream that ranks received, once there are this many.
    fn had(&self, of: StreamId, bytes: usize) -> Vec<u8> {
        let until = soon();
        loop {
            let log = self.log.lock().unwrap();
            let peer_end = log.iter().filter(|(stream, ..)| *stream == of);
            let data: Vec<u8> = peer_end
                .filter_map(|(_, had, _)| had.as_ref())
                .flat_map(|had| had.data.clone())
                .collect();
            drop(log);
            if data.len() >= bytes {
                return data;
            }
            assert!(Instant::now() < until, "{} of {bytes} bytes", data.len());
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn bytes(stream: usize, adus: u64, each: u64) -> Vec<u8> {
    (0..adus)
        .flat_map(|adu| content(stream, adu, each))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40,
        failure_persistence: None,
        // Each failure waits for its deadline.
        max_shrink_iters: 0,
        ..Default::default()
    })]

    /// However the bytes are split and divided, ranks receive them stream by stream.
    #[test]
    fn bytes_are_the_adus_of_streams_in_order(
        streams in prop::collection::vec((1..90 * KB, 1..64 * KB, 1..64 * KB, 1..4_u64), 1..4),
        pieces in prop::collection::vec(1..50_000_usize, 1..20),
        posted_first: bool,
    ) {
        let (mut takes, mut socket) = Takes::given();
        let all: Vec<_> = streams
            .iter()
            .enumerate()
            .map(|(key, (adu, _, _, adus))| bytes(key, *adus, *adu))
            .collect();
        let post = |takes: &Takes| -> Vec<_> {
            let posts = streams.iter().map(|(adu, a, b, adus)| {
                takes.receive(*adu, *a.max(b), *a.min(b), Some(*adus))
            });
            posts.collect()
        };
        let early = posted_first.then(|| post(&takes));
        let flat = all.concat();
        let writer = std::thread::spawn(move || {
            let mut rest = &flat[..];
            for piece in pieces.into_iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (now, later) = rest.split_at(piece.min(rest.len()));
                socket.write_all(now).unwrap();
                rest = later;
            }
            socket
        });
        let ids = early.unwrap_or_else(|| post(&takes));
        for (id, right) in ids.iter().zip(&all) {
            prop_assert_eq!(takes.end(*id), End::Done);
            prop_assert!(takes.had(*id, right.len()) == *right);
        }
        drop(writer.join().unwrap());
    }
}

#[test]
fn a_stream_of_unknown_length_ends_when_the_peer_closes() {
    // The driver connects, here.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut takes = Takes::new(&format!("tcp:{}", listener.local_addr().unwrap()));
    let mut socket = listener.accept().unwrap().0;
    let stream = takes.receive(10_000, 4_096, 4_096, None);
    socket.write_all(&bytes(0, 7, 10_000)).unwrap();
    drop(socket);
    assert_eq!(takes.end(stream), End::Done);
    assert!(takes.had(stream, 70_000) == bytes(0, 7, 10_000));
    let why = takes.wait("loss", |event| match event {
        DriverEvent::Stream(Event::Lost { reason, .. }) => Some(reason.clone()),
        _ => None,
    });
    assert_eq!(why, "the other side closed it");
}

#[test]
fn a_peer_that_closes_too_early_is_reported_with_the_position() {
    for (sent, adus, wanted) in [
        (
            25_000,
            Some(4),
            "the other side closed it in the middle of ADU 2",
        ),
        (
            25_000,
            None,
            "the other side closed it in the middle of ADU 2",
        ),
        (
            20_000,
            Some(4),
            "the other side closed it after 2 of 4 ADUs",
        ),
        (
            39_999,
            Some(4),
            "the other side closed it in the middle of ADU 3",
        ),
    ] {
        let (mut takes, mut socket) = Takes::given();
        let stream = takes.receive(10_000, 10_000, 10_000, adus);
        socket.write_all(&bytes(0, 4, 10_000)[..sent]).unwrap();
        drop(socket);
        let End::Failed(Reason::ConnectionLost(_, why)) = takes.end(stream) else {
            panic!("{sent} bytes of {adus:?} ADUs: {:?}", takes.received);
        };
        assert!(why.contains(wanted), "{why}");
        // The complete ADUs came.
        let whole = sent / 10_000 * 10_000;
        assert!(takes.had(stream, whole)[..whole] == bytes(0, 4, 10_000)[..whole]);
    }
}

#[test]
fn a_sender_waits_until_a_receive_is_registered() {
    let (mut takes, mut socket) = Takes::given();
    socket
        .set_write_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    let piece = content(0, 0, 64 * KB);
    let mut sent = 0;
    // The sockets hold some of it; the driver reads none.
    while let Ok(written) = socket.write(&piece[sent % piece.len()..]) {
        sent += written;
        assert!(sent < 256 << 20, "nobody holds it back");
    }
    let held = call(&takes.service, |driver| driver.figures().memory_bytes);
    assert_eq!(held, 0);
    let stream = takes.receive(64 * KB, 32 * KB, 32 * KB, Some(3));
    assert_eq!(takes.end(stream), End::Done);
    assert!(takes.had(stream, 3 * piece.len()) == [&piece[..]; 3].concat());
}

#[test]
fn bytes_of_a_cancelled_stream_are_skipped() {
    let (mut takes, mut socket) = Takes::given();
    let first = takes.receive(50_000, 20_000, 20_000, Some(3));
    let second = takes.receive(30_000, 30_000, 30_000, Some(2));
    socket.write_all(&bytes(0, 1, 50_000)).unwrap();
    takes.wait("the first ADU", |event| match event {
        DriverEvent::Stream(Event::AduMoved { adu: 0, .. }) => Some(()),
        _ => None,
    });
    call(&takes.service, move |driver| driver.cancel(first)).unwrap();
    assert_eq!(takes.end(first), End::Cancelled);
    socket.write_all(&bytes(0, 3, 50_000)[50_000..]).unwrap();
    socket.write_all(&bytes(1, 2, 30_000)).unwrap();
    assert_eq!(takes.end(second), End::Done);
    assert!(takes.had(second, 60_000) == bytes(1, 2, 30_000));
}

#[test]
fn formats_that_plain_bytes_cannot_carry_are_refused() {
    let (takes, _socket) = Takes::given();
    let (app, connection) = (takes.app, takes.connection);
    let refused = |format: Format| {
        let spec = StreamSpec::new(connection, Direction::Receive, format, 1);
        let outcome = call(&takes.service, move |driver| driver.submit(app, &spec));
        outcome.unwrap_err().to_string()
    };
    let why = refused(Format::variable(4 * KB, &[LinkId(1)]));
    assert!(
        why.contains("plain bytes do not say where one ends"),
        "{why}"
    );
    let why = refused(Format::fixed(WINDOW, WINDOW, &[LinkId(1)]));
    assert!(
        why.contains("the connection's window of 131072 takes none"),
        "{why}"
    );
    let only_sends = call(&takes.service, move |driver| {
        let protocol = Protocol::Unconfirmed { reorder: 0 };
        let spec = ConnectionSpec::new("tcp:given:other", protocol, 0);
        let connection = driver.open(app, spec).unwrap();
        let format = Format::fixed(4 * KB, 4 * KB, &[LinkId(1)]);
        let spec = StreamSpec::new(connection, Direction::Receive, format, 1);
        driver.submit(app, &spec).unwrap_err().to_string()
    });
    assert!(
        only_sends.contains("window of 0 takes none"),
        "{only_sends}"
    );
}
