//! Receiving streams from another stream manager, over links of one process or of several.

use crate::fake::soon;
use crate::rig::{CARRIERS, RINGS, Rig, content, links, spec};
use isthmus_nic_client::protocol::{Direction, Spec};
use isthmus_nic_client::{ConnectionOptions, Error, Received, Session, Timeout};
use isthmus_stream::{
    self as stream, ConnectionSpec, Event, Format, Limits, LinkId, Protocol, StreamSpec,
};
use isthmus_stream_net::rank::{Pipe, Sender};
use isthmus_stream_net::{Driver, Ends, Event as NetEvent, Service};
use std::net::TcpListener;
use std::sync::mpsc::{self, Receiver, channel};
use std::time::{Duration, Instant};

const ADU: u64 = 50_001;
const TU: u64 = 16 << 10;
const WINDOW: u64 = 256 << 10;

/// Another stream manager that sends to any peer that connects.
struct Source {
    service: Service,
    app: stream::AppId,
    connection: stream::ConnectionId,
    ranks: Sender,
    events: Receiver<NetEvent>,
}

/// Start a source. Returns its address, and the source once a peer has connected.
fn source() -> (ConnectionOptions, Receiver<Source>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut options = ConnectionOptions::to(&format!("raw:tcp:{}", listener.local_addr().unwrap()));
    options.window_bytes = WINDOW;
    let (give, made) = channel();
    std::thread::spawn(move || {
        let socket = listener.accept().unwrap().0;
        let mut driver = Driver::new(Driver::config()).unwrap();
        let app = driver.add_application(Limits::NONE);
        let spec = ConnectionSpec::new("raw:given:peer", Protocol::Stream, 0);
        let connection = driver.open(app, spec).unwrap();
        driver.provide_socket("peer", socket);
        let (producer, consumer) = isthmus_ring::ring(1 << 16).unwrap();
        driver
            .attach(LinkId(0), Ends::rings(Some(consumer), None))
            .unwrap();
        let (sender, events): (mpsc::Sender<NetEvent>, _) = channel();
        let service = Service::start(driver, move |event| {
            // The test may have ended.
            let _ = sender.send(event);
        });
        let source = Source {
            service: service.unwrap(),
            app,
            connection,
            ranks: Sender::new(LinkId(0), Pipe::Producer(producer)),
            events,
        };
        // The test may have ended.
        let _ = give.send(source);
    });
    (options, made)
}

impl Source {
    /// Send a stream of `adus` ADUs, or a part of it.
    fn begin(&mut self, key: u64, adu: u64, adus: u64, written: u64) -> stream::StreamId {
        let format = Format::fixed(adu, TU.min(adu), &[LinkId(0)]);
        let (app, connection) = (self.app, self.connection);
        let spec = StreamSpec::new(
            connection,
            stream::Direction::Transmit,
            format.clone(),
            adus,
        );
        let id = self
            .service
            .client()
            .call(move |driver| driver.submit(app, &spec));
        let id = id.unwrap().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        for number in 0..written {
            let data = content(key, number, adu);
            let what = (number, &*data);
            self.ranks
                .send_adu(id, &format, what, (0, 0), deadline)
                .unwrap();
        }
        id
    }

    fn ended(&self, wanted: stream::StreamId) -> stream::End {
        loop {
            let event = self.events.recv_timeout(Duration::from_secs(60)).unwrap();
            if let NetEvent::Stream(Event::Ended { stream, end }) = event
                && stream == wanted
            {
                return end;
            }
        }
    }
}

fn receive(connection: u32, adu: u64, links: u16, adus: Option<u64>) -> Spec {
    let mut spec = spec(connection, Direction::Receive, (adu, TU.min(adu)), links, 0);
    spec.adus = adus;
    spec
}

#[test]
fn streams_of_another_manager_are_received_completely_and_in_order() {
    let rig = Rig::new();
    for (carrier, count) in CARRIERS.into_iter().flat_map(|c| [(c, 1), (c, 3)]) {
        let session = rig.session();
        links(&session, count, carrier);
        let (options, source) = source();
        let connection = session.open(&options, soon()).unwrap();
        let stream = session
            .stream(receive(connection, ADU, count, None), soon())
            .unwrap();
        let mut source = source.recv().unwrap();
        let sender = std::thread::spawn(move || {
            let id = source.begin(3, ADU, 7, 7);
            source.ended(id)
        });
        let mut room = vec![0; ADU as usize];
        for adu in 0..7 {
            let received = stream.recv(&mut room, soon()).unwrap();
            let missing = Vec::new();
            assert_eq!(received, Received::Adu { adu, missing });
            assert!(room == content(3, adu, ADU), "ADU {adu} over {carrier:?}");
        }
        assert_eq!(stream.recv(&mut room, soon()), Ok(Received::End));
        assert_eq!(stream.recv(&mut room, soon()), Ok(Received::End), "again");
        assert_eq!(stream.wait(soon()).unwrap().done, 7);
        assert_eq!(sender.join().unwrap(), stream::End::Done);
    }
}

#[test]
fn ranks_receive_the_units_of_their_own_links() {
    let rig = Rig::new();
    let first = rig.session();
    let (options, source) = source();
    let connection = first.open(&options, soon()).unwrap();
    let spec = receive(connection, ADU, 4, Some(5));
    let number = first.stream(spec.clone(), soon()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut source = source.recv().unwrap();
            let id = source.begin(3, ADU, 5, 5);
            assert_eq!(source.ended(id), stream::End::Done);
        });
        for rank in 0..4_u16 {
            let (rig, spec, ticket) = (&rig, &spec, &first.welcome().ticket);
            let number = number.number();
            scope.spawn(move || {
                let session = Session::join(&rig.unix, ticket, false, soon()).unwrap();
                session
                    .link(rank, CARRIERS[rank as usize % 2], soon())
                    .unwrap();
                let stream = session.adopt(number, spec, soon()).unwrap();
                let format = stream.format().clone();
                let mut own = vec![0; stream.own_bytes(ADU) as usize];
                for adu in 0..5 {
                    stream.recv_own(ADU, &mut own, soon()).unwrap();
                    let whole = content(3, adu, ADU);
                    let mut left = &own[..];
                    for index in 0..format.tus(ADU) {
                        let tu = format.tu(adu, ADU, index).unwrap();
                        for su in format.sus(tu.bytes).filter(|su| su.link.0 == rank) {
                            let at = (tu.offset + su.offset) as usize;
                            let (now, rest) = left.split_at(su.bytes as usize);
                            assert!(now == &whole[at..at + now.len()]);
                            left = rest;
                        }
                    }
                    assert!(left.is_empty());
                }
                assert_eq!(stream.recv_own(ADU, &mut own, soon()), Ok(Received::End));
            });
        }
    });
}

#[test]
fn adus_can_be_received_in_parts_and_several_at_once() {
    let rig = Rig::new();
    let session = rig.session();
    links(&session, 2, RINGS);
    let (options, source) = source();
    let connection = session.open(&options, soon()).unwrap();
    let stream = session
        .stream(receive(connection, ADU, 2, None), soon())
        .unwrap();
    let mut source = source.recv().unwrap();
    let sender = std::thread::spawn(move || {
        let id = source.begin(3, ADU, 6, 6);
        source.ended(id)
    });
    let mut room = vec![0; 6 * ADU as usize];
    let (tu, adu) = (TU as usize, ADU as usize);
    let cuts = [0, 2 * tu, 3 * adu, 3 * adu + tu, 6 * adu];
    for cut in cuts.windows(2) {
        let missing = stream.recv_run(&mut room[cut[0]..cut[1]], soon()).unwrap();
        assert!(missing.is_empty());
    }
    assert!(room == crate::rig::all(3, ADU, 6));
    let said = stream
        .recv_run(&mut room[..tu], soon())
        .unwrap_err()
        .to_string();
    assert!(
        said.ends_with("it is done after 6 ADUs, more is waited for"),
        "{said}"
    );
    assert_eq!(sender.join().unwrap(), stream::End::Done);
}

#[test]
fn a_receive_without_data_times_out_and_can_be_repeated() {
    let rig = Rig::new();
    let session = rig.session();
    links(&session, 2, RINGS);
    let (options, source) = source();
    let connection = session.open(&options, soon()).unwrap();
    let stream = session
        .stream(receive(connection, ADU, 2, Some(2)), soon())
        .unwrap();
    let mut source = source.recv().unwrap();
    let id = source.begin(3, ADU, 2, 1);
    let mut room = vec![0; ADU as usize];
    stream.recv(&mut room, soon()).unwrap();
    let little = Timeout::after(Duration::from_millis(200));
    let said = stream.recv(&mut room, little).unwrap_err().to_string();
    assert!(
        said.contains("nothing of ADU 1 came for 200 ms; it is "),
        "{said}"
    );
    let format = Format::fixed(ADU, TU, &[LinkId(0)]);
    let data = content(3, 1, ADU);
    let deadline = Instant::now() + Duration::from_secs(60);
    source
        .ranks
        .send_adu(id, &format, (1, &data), (0, 0), deadline)
        .unwrap();
    stream.recv(&mut room, soon()).unwrap();
    assert!(room == data);
    let short = stream.recv(&mut room[1..], soon());
    assert_eq!(short, Ok(Received::End), "there is no third");
}

#[test]
fn a_blocking_stream_is_named_and_an_abandoned_one_is_discarded() {
    let rig = Rig::new();
    let session = rig.session();
    links(&session, 1, RINGS);
    let (options, source) = source();
    let connection = session.open(&options, soon()).unwrap();
    let spec = receive(connection, TU, 1, Some(1));
    let mut streams = session.submit(&[spec.clone(), spec], soon()).unwrap();
    let second = streams.pop().unwrap();
    let first = streams.pop().unwrap();
    let mut source = source.recv().unwrap();
    source.begin(1, TU, 1, 1);
    let mut room = vec![0; TU as usize];
    // The data of the first one arrives before it is requested.
    while first.status(soon()).unwrap().moved == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let little = Timeout::after(Duration::from_millis(300));
    let said = second.recv(&mut room, little).unwrap_err().to_string();
    let front = format!(
        "data of stream {} is in front of that of stream",
        first.number()
    );
    assert!(said.contains(&front), "{said}");
    drop(first);
    source.begin(2, TU, 1, 1);
    assert!(matches!(
        second.recv(&mut room, soon()),
        Ok(Received::Adu { .. })
    ));
    assert!(room == content(2, 0, TU));
}

#[test]
fn a_stream_that_was_cut_short_never_counts_as_complete() {
    let rig = Rig::new();
    let session = rig.session();
    links(&session, 2, RINGS);
    let (options, source) = source();
    let connection = session.open(&options, soon()).unwrap();
    let stream = session
        .stream(receive(connection, ADU, 2, None), soon())
        .unwrap();
    let mut source = source.recv().unwrap();
    let id = source.begin(3, ADU, 5, 2);
    let mut room = vec![0; ADU as usize];
    for _ in 0..2 {
        stream.recv(&mut room, soon()).unwrap();
    }
    let cancel = source
        .service
        .client()
        .call(move |driver| driver.cancel(id));
    cancel.unwrap().unwrap();
    let error = stream.recv(&mut room, soon()).unwrap_err();
    assert!(matches!(error, Error::Stream(..)), "{error:?}");
    assert_eq!(stream.wait(soon()).unwrap_err(), error);
}

#[test]
fn the_end_of_the_daemon_ends_a_receive() {
    for carrier in CARRIERS {
        let mut rig = Rig::new();
        let session = rig.session();
        links(&session, 1, carrier);
        let (options, source) = source();
        let connection = session.open(&options, soon()).unwrap();
        let stream = session
            .stream(receive(connection, ADU, 1, None), soon())
            .unwrap();
        let _source = source.recv().unwrap();
        std::thread::scope(|scope| {
            let receiver = scope.spawn(|| stream.recv(&mut vec![0; ADU as usize], soon()));
            drop(rig.daemon.take());
            let error = receiver.join().unwrap().unwrap_err();
            let ended = matches!(
                error,
                Error::Gone(..) | Error::Stream(..) | Error::Refused(_)
            );
            assert!(ended, "{carrier:?}: {error:?}");
        });
    }
}

#[test]
fn directions_are_not_mixed_up() {
    let rig = Rig::new();
    let session = rig.session();
    links(&session, 1, RINGS);
    let (options, _source) = source();
    let connection = session.open(&options, soon()).unwrap();
    let stream = session
        .stream(receive(connection, ADU, 1, None), soon())
        .unwrap();
    let said = stream.send(&[0; 8], soon()).unwrap_err().to_string();
    assert!(said.ends_with("receives: its ADUs are received"), "{said}");
    let said = stream.recv(&mut [0; 8], soon()).unwrap_err().to_string();
    assert!(said.ends_with("8 bytes: its ADUs have 50001"), "{said}");
}
