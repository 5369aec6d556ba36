//! Transports of connections: a sink with faults, plain TCP, files.

use crate::rig::content;
use crate::rig::ranks::{Job, Links, Writer, soon};
use isthmus_stream::{
    AppId, Config, ConnectionId, ConnectionSpec, Direction, End, Event, Format, Limits, LinkId,
    Protocol, Reason, StreamId, StreamSpec, Wait,
};
use isthmus_stream_net::sink::{Action, Counts, Sink};
use isthmus_stream_net::{Driver, Event as DriverEvent, Service};
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub const ADU: u64 = 128 << 10;
pub const TU: u64 = 64 << 10;
pub const LINK: LinkId = LinkId(1);
const ROLE: &str = "ISTHMUS_STREAM_NET_OUTSIDE";

pub fn config() -> Config {
    Config {
        staging_bytes: 512 << 10,
        engines: 8,
        network_bytes: 1 << 20,
        stall_ns: 200_000_000,
        ..Config::default()
    }
}

/// An interface with one sending rank on one link.
pub struct Sends {
    service: Service,
    events: Receiver<DriverEvent>,
    writer: Writer,
    pub app: AppId,
    received: Vec<DriverEvent>,
}

impl Sends {
    pub fn new() -> Self {
        let mut driver = Driver::new(config()).unwrap();
        let app = driver.add_application(Limits::NONE);
        let (writer, ends) = Writer::start(Links::Ring, LINK);
        driver.attach(LINK, ends).unwrap();
        let (send, events) = channel();
        let service = Service::start(driver, move |event| {
            // The test may have failed.
            let _ = send.send(event);
        });
        Self {
            service: service.unwrap(),
            events,
            writer,
            app,
            received: Vec::new(),
        }
    }

    pub fn call<T: Send + 'static>(
        &self,
        what: impl FnOnce(&mut Driver) -> T + Send + 'static,
    ) -> T {
        self.service.client().call(what).unwrap()
    }

    pub fn open(&self, destination: &str, protocol: Protocol) -> ConnectionId {
        let spec = ConnectionSpec::new(destination, protocol, 0);
        let app = self.app;
        self.call(move |driver| driver.open(app, spec)).unwrap()
    }

    /// Submits a stream of this many ADUs, all of which the rank writes.
    pub fn send(&self, connection: ConnectionId, packet: u64, adus: u64) -> StreamId {
        let format = Format {
            packet_bytes: packet,
            ..Format::fixed(ADU, TU, &[LINK])
        };
        let spec = StreamSpec::new(connection, Direction::Transmit, format.clone(), adus);
        let app = self.app;
        let stream = self.call(move |driver| driver.submit(app, &spec)).unwrap();
        for adu in 0..adus {
            let job = Job {
                stream,
                key: 0,
                format: format.clone(),
                adu,
                from: 0,
            };
            self.writer.jobs.send(job).unwrap();
        }
        stream
    }

    pub fn wait<T>(&mut self, what: &str, wanted: impl Fn(&DriverEvent) -> Option<T>) -> T {
        if let Some(found) = self.received.iter().find_map(&wanted) {
            return found;
        }
        loop {
            let left = soon().saturating_duration_since(Instant::now()) / 2;
            let event = self.events.recv_timeout(left);
            let event = event.unwrap_or_else(|_| panic!("no {what} in {:#?}", self.received));
            self.received.push(event.clone());
            if let Some(found) = wanted(&event) {
                return found;
            }
        }
    }

    pub fn end(&mut self, wanted: StreamId) -> End {
        self.wait("end of the stream", |event| match event {
            DriverEvent::Stream(Event::Ended { stream, end }) if *stream == wanted => {
                Some(end.clone())
            }
            _ => None,
        })
    }

    fn done(&self) -> usize {
        let done = |event: &&DriverEvent| {
            matches!(
                event,
                DriverEvent::Stream(Event::AduDone { good: true, .. })
            )
        };
        self.received.iter().filter(done).count()
    }
}

/// The counters of a sink, or its error, and the received bytes.
pub type Taken = (isthmus_stream_net::Result<Counts>, Vec<u8>);

/// Starts a sink on a thread. Returns its address and its future counters and data.
pub fn sink(
    sink: Sink,
    before: impl FnMut(u64) -> Action + Send + 'static,
) -> (String, JoinHandle<Taken>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("raw:tcp:{}", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let mut socket = listener.accept().unwrap().0;
        let mut all = Vec::new();
        let counts = sink.serve(&mut socket, before, |_, data| all.extend_from_slice(data));
        if let Err(error) = &counts {
            eprintln!("the sink: {error}");
        }
        (counts, all)
    });
    (address, thread)
}

pub fn all(adus: u64) -> Vec<u8> {
    (0..adus).flat_map(|adu| content(0, adu, ADU)).collect()
}

#[test]
fn a_sink_receives_all_in_order_and_confirms_it() {
    let (address, thread) = sink(Sink::new(256 << 10), |_| Action::Take);
    let mut sends = Sends::new();
    let connection = sends.open(&address, Protocol::Stream);
    // Packets that are whole TUs are renumbered; smaller ones are copied.
    let first = sends.send(connection, TU, 6);
    assert_eq!(sends.end(first), End::Done);
    let second = sends.send(connection, 10_000, 6);
    assert_eq!(sends.end(second), End::Done);
    sends.call(move |driver| driver.close(connection)).unwrap();
    let (counts, data) = thread.join().unwrap();
    let counts = counts.unwrap();
    assert_eq!((counts.adus, counts.ended, counts.cut), (12, 2, 0));
    assert_eq!(counts.packets, 6 * 2 + 6 * 2 * TU.div_ceil(10_000));
    assert!(data == [all(6), all(6)].concat());
    let figures = sends.call(|driver| driver.figures());
    assert_eq!(
        (figures.handed_over, figures.copied),
        (12, 12 * TU.div_ceil(10_000))
    );
    assert_eq!(
        figures.summed_again, figures.copied,
        "no SU is such a packet"
    );
}

#[test]
fn a_sink_receives_all_through_a_unix_socket() {
    let (driver_end, mut sink_end) = UnixStream::pair().unwrap();
    let mut sends = Sends::new();
    let connection = sends.open("raw:given:socket", Protocol::Stream);
    sends.call(move |driver| driver.provide_socket("socket", driver_end));
    let thread = std::thread::spawn(move || {
        let mut all = Vec::new();
        let counts = Sink::new(256 << 10).serve(
            &mut sink_end,
            |_| Action::Take,
            |_, data| all.extend_from_slice(data),
        );
        (counts, all)
    });
    let stream = sends.send(connection, TU, 20);
    assert_eq!(sends.end(stream), End::Done);
    sends.call(move |driver| driver.close(connection)).unwrap();
    let (counts, data) = thread.join().unwrap();
    assert_eq!(counts.unwrap().adus, 20);
    assert!(data == all(20));
}

#[test]
fn a_sink_that_stops_reading_bounds_the_sender_and_is_named() {
    let (go, gate) = channel::<()>();
    let mut stopped = false;
    let (address, thread) = sink(Sink::new(200 << 10), move |came| {
        if came == 3 && !stopped {
            stopped = true;
            // Until the test has seen that the sender stopped.
            let _ = gate.recv_timeout(Duration::from_secs(60));
        }
        Action::Take
    });
    let mut sends = Sends::new();
    let connection = sends.open(&address, Protocol::Stream);
    let stream = sends.send(connection, TU, 40);
    sends.wait("stall that names the peer", |event| match event {
        DriverEvent::Stream(Event::Stalled { waits, .. }) => waits
            .iter()
            .any(|wait| matches!(wait, Wait::NotGranted(_) | Wait::Undelivered(..)))
            .then_some(()),
        _ => None,
    });
    let (used, memory) = sends.call(|driver| {
        let (staging, network) = driver.manager().used(Direction::Transmit);
        ((staging, network), driver.figures().memory_bytes)
    });
    assert!(used.0 <= 512 << 10 && used.1 <= 1 << 20, "{used:?}");
    assert!(memory <= 2 * ((512 << 10) + (1 << 20)), "{memory} bytes");
    go.send(()).unwrap();
    assert_eq!(sends.end(stream), End::Done);
    sends.call(move |driver| driver.close(connection)).unwrap();
    let (counts, data) = thread.join().unwrap();
    assert_eq!(counts.unwrap().adus, 40);
    assert!(data == all(40));
}

#[test]
fn a_byte_that_is_flipped_is_repaired_or_ends_the_connection() {
    for repair in [true, false] {
        let expects = Sink {
            repair,
            ..Sink::new(512 << 10)
        };
        let (address, thread) = sink(expects, |came| match came {
            5 => Action::Flip(40_000),
            _ => Action::Take,
        });
        let mut sends = Sends::new();
        let protocol = match repair {
            true => Protocol::Confirmed { repair: true },
            false => Protocol::Stream,
        };
        let connection = sends.open(&address, protocol);
        let stream = sends.send(connection, TU, 8);
        let end = sends.end(stream);
        if repair {
            assert_eq!(end, End::Done);
            sends.call(move |driver| driver.close(connection)).unwrap();
        } else {
            let lost = matches!(end, End::Failed(Reason::ConnectionLost(..)));
            assert!(lost, "{end:?}");
        }
        let (counts, data) = thread.join().unwrap();
        let good = if repair {
            all(8)
        } else {
            all(8)[..5 * TU as usize].to_vec()
        };
        assert!(data == good, "never delivered as good");
        match counts {
            Ok(counts) => assert_eq!((repair, counts.corrupted, counts.adus), (true, 1, 8)),
            Err(error) => {
                let error = error.to_string();
                assert!(!repair);
                // The position is reported: the sixth packet is the second half of ADU 2.
                let place = "packet 5: its data is not what was sent: bytes 65536 to 131072 of \
                             ADU 2 of stream 0";
                assert_eq!(error, place);
            }
        }
    }
}

/// Runs in a child process, as a sink that reports the data that it takes, or as a driver whose
/// files may not grow. Without a role in the environment it does nothing.
#[test]
fn the_other_process() {
    match std::env::var(ROLE).as_deref() {
        Ok("sink") => {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            println!("at {}", listener.local_addr().unwrap());
            let mut socket = listener.accept().unwrap().0;
            let mut adus = 0;
            let taken = Sink::new(256 << 10).serve(
                &mut socket,
                |_| Action::Take,
                |header, _| {
                    if header.offset + u64::from(header.bytes) == header.adu_bytes {
                        adus += 1;
                        println!("has {adus}");
                    }
                },
            );
            taken.unwrap();
        }
        Ok(folder) => {
            let path = std::path::Path::new(folder).join("out.raw");
            let mut sends = Sends::new();
            let destination = format!("file:{}", path.display());
            let connection = sends.open(&destination, Protocol::Unconfirmed { reorder: 0 });
            let stream = sends.send(connection, TU, 8);
            println!("ended {:?}", sends.end(stream));
            let reason = sends.wait("file that is not kept", |event| match event {
                DriverEvent::NotKept { reason, .. } => Some(reason.clone()),
                _ => None,
            });
            println!("not kept: {reason}");
        }
        Err(_) => {}
    }
}

fn other(role: &str, shell: &str) -> std::process::Child {
    Command::new("sh")
        .args(["-c", &format!("{shell} exec \"$0\" \"$@\"")])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "outsides::the_other_process", "--nocapture"])
        .env(ROLE, role)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn a_killed_sink_has_all_confirmed_data() {
    use std::io::{BufRead, BufReader};
    let mut child = other("sink", "");
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok);
    let address = lines
        .find_map(|line| line.strip_prefix("at ").map(str::to_owned))
        .unwrap();
    let mut sends = Sends::new();
    let connection = sends.open(&format!("raw:tcp:{address}"), Protocol::Stream);
    let stream = sends.send(connection, TU, 4000);
    sends.wait("ADU 20 done", |event| match event {
        DriverEvent::Stream(Event::AduDone { adu: 20, .. }) => Some(()),
        _ => None,
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let end = sends.end(stream);
    assert!(
        matches!(end, End::Failed(Reason::ConnectionLost(..))),
        "{end:?}"
    );
    // Lines that it had written before it was killed are still in the pipe.
    let has = lines
        .filter_map(|line| line.strip_prefix("has ")?.parse::<usize>().ok())
        .max();
    let (done, has) = (sends.done(), has.unwrap());
    assert!((21..4000).contains(&done), "{done}");
    // The sink takes an ADU, reports it, and then confirms it.
    assert!(
        done <= has,
        "{done} ADUs were reported as done, {has} were there"
    );
}

#[test]
fn plain_bytes_are_done_when_the_other_system_has_them() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut sends = Sends::new();
    let protocol = Protocol::Unconfirmed { reorder: 0 };
    let connection = sends.open(&format!("tcp:{address}"), protocol);
    let mut socket = listener.accept().unwrap().0;
    let adus = 160;
    let stream = sends.send(connection, TU, adus);
    // Nothing is read: 20 MB are more than the sockets hold, so not all packets can be done.
    sends.wait("stall", |event| match event {
        DriverEvent::Stream(Event::Stalled { .. }) => Some(()),
        _ => None,
    });
    let before = sends.done() as u64;
    assert!(
        before < adus,
        "{before} of {adus} are done and nobody reads"
    );
    let reader = std::thread::spawn(move || {
        let mut data = Vec::new();
        socket.read_to_end(&mut data).unwrap();
        data
    });
    assert_eq!(sends.end(stream), End::Done);
    sends.call(move |driver| driver.close(connection)).unwrap();
    assert!(reader.join().unwrap() == all(adus));
    let congestion = sends.call(|driver| driver.figures().congestion);
    assert!(congestion.is_empty(), "it is closed");
}

/// A program that reads all it wants and closes the connection at once has received everything.
#[test]
fn plain_bytes_are_done_when_the_other_side_has_read_them_and_closes() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut sends = Sends::new();
    for _ in 0..50 {
        let protocol = Protocol::Unconfirmed { reorder: 0 };
        let connection = sends.open(&format!("tcp:{address}"), protocol);
        let mut socket = listener.accept().unwrap().0;
        let stream = sends.send(connection, TU, 1);
        let mut data = vec![0; ADU as usize];
        socket.read_exact(&mut data).unwrap();
        drop(socket);
        assert_eq!(sends.end(stream), End::Done);
        assert!(data == all(1));
    }
}

#[test]
fn cubic_is_set_where_the_system_lets_it_and_shown() {
    let (address, thread) = sink(Sink::new(256 << 10), |_| Action::Take);
    let mut sends = Sends::new();
    let connection = sends.open(&address, Protocol::Stream);
    let stream = sends.send(connection, TU, 1);
    assert_eq!(sends.end(stream), End::Done);
    let shown = sends.call(|driver| driver.figures().congestion)[&connection].clone();
    let allowed = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    if allowed.is_ok_and(|allowed| allowed.split_whitespace().any(|name| name == "cubic")) {
        assert_eq!(shown, "cubic");
    }
    sends.call(move |driver| driver.close(connection)).unwrap();
    thread.join().unwrap().0.unwrap();
}

fn folder(name: &str) -> std::path::PathBuf {
    let name = format!("isthmus-stream-net-{name}-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn files(folder: &std::path::Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn a_file_is_complete_or_unchanged() {
    let folder = folder("file");
    let path = folder.join("out.raw");
    std::fs::write(&path, b"before").unwrap();
    let mut sends = Sends::new();
    let destination = format!("file:{}", path.display());
    let protocol = Protocol::Unconfirmed { reorder: 0 };
    // A cancelled stream leaves the previous file.
    let connection = sends.open(&destination, protocol);
    let stream = sends.send(connection, TU, 4);
    sends.wait("ADU 1 done", |event| match event {
        DriverEvent::Stream(Event::AduDone { adu: 1, .. }) => Some(()),
        _ => None,
    });
    let cancelled = sends.call(move |driver| driver.cancel(stream).is_ok());
    sends.call(move |driver| driver.close(connection)).unwrap();
    if cancelled {
        assert_eq!(sends.end(stream), End::Cancelled);
        sends.wait("file that is not kept", |event| match event {
            DriverEvent::NotKept { path: of, .. } if *of == path => Some(()),
            _ => None,
        });
        assert_eq!(std::fs::read(&path).unwrap(), b"before");
        assert_eq!(files(&folder), ["out.raw"]);
    }
    let connection = sends.open(&destination, protocol);
    let stream = sends.send(connection, TU, 4);
    assert_eq!(sends.end(stream), End::Done);
    sends.call(move |driver| driver.close(connection)).unwrap();
    let bytes = sends.wait("file that is kept", move |event| match event {
        DriverEvent::Kept {
            connection: of,
            bytes,
            ..
        } if *of == connection => Some(*bytes),
        _ => None,
    });
    assert_eq!(bytes, 4 * ADU);
    assert!(std::fs::read(&path).unwrap() == all(4));
    assert_eq!(files(&folder), ["out.raw"]);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A file that may not grow is refused where a full disk is: in the middle of a write.
#[test]
fn a_file_that_cannot_grow_is_reported() {
    let folder = folder("full");
    // 400 blocks of 512 bytes or, in some shells, 1024.
    let limit = "trap '' XFSZ; ulimit -f 400;";
    let child = other(folder.to_str().unwrap(), limit);
    let output = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let ended = output
        .lines()
        .find(|line| line.starts_with("ended Failed(ConnectionLost("));
    assert!(
        ended.is_some_and(|line| line.contains("at byte")),
        "{output}"
    );
    let reason = output
        .lines()
        .find(|line| line.starts_with("not kept: writing "));
    assert!(
        reason.is_some_and(|line| line.contains("too large")),
        "{output}"
    );
    assert!(files(&folder).is_empty(), "{:?}", files(&folder));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn an_unreachable_destination_is_reported() {
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let mut sends = Sends::new();
    for destination in [
        format!("raw:tcp:{free}"),
        "raw:unix:@isthmus-nobody-is-here".into(),
        "file:/nowhere/at/all".into(),
    ] {
        let connection = sends.open(&destination, Protocol::Stream);
        let reason = sends.wait("lost connection", |event| match event {
            DriverEvent::Stream(Event::Lost {
                connection: of,
                reason,
            }) if *of == connection => Some(reason.clone()),
            _ => None,
        });
        assert!(!reason.is_empty() && !reason.contains('\n'), "{reason}");
    }
}

/// Invalid formats are refused, and the driver continues.
#[test]
fn formats_without_links_or_granules_are_refused() {
    let sends = Sends::new();
    let connection = sends.open("raw:given:nobody", Protocol::Stream);
    let whole = Format::fixed(ADU, TU, &[LINK]);
    let no_granule = Format {
        granule_bytes: 0,
        ..whole.clone()
    };
    for format in [
        no_granule,
        Format::fixed(ADU, TU, &[]),
        Format::fixed(ADU, 0, &[LINK]),
    ] {
        let spec = StreamSpec::new(connection, Direction::Transmit, format, 1);
        let app = sends.app;
        let refused = sends
            .call(move |driver| driver.submit(app, &spec))
            .unwrap_err();
        assert!(
            refused.to_string().starts_with("data format: "),
            "{refused}"
        );
    }
    sends.send(connection, TU, 1);
}
