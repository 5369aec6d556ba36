//! A stream from a rank through the manager to a sink: three processes. The manager is this one;
//! rank and sink are this program again, with a socket as standard input.
//!
//! `tcp`: rank -> ring -> manager -> TCP -> sink, which checks sums and order and confirms.
//! `plain`: the same as plain bytes, which the sink only reads. `raw`: a writer -> TCP -> the same
//! reads without manager, sums or confirmations.

use crate::clock::timed;
use isthmus_ring::{Handles, Producer, ring};
use isthmus_stream::checksum::Checksum;
use isthmus_stream::wire::Header;
use isthmus_stream::{
    Config, ConnectionSpec, Direction, End, Event, Format, Limits, LinkId, Protocol, StreamId,
    StreamSpec,
};
use isthmus_stream_net::rank::{Pipe, Sender};
use isthmus_stream_net::sink::{Action, Sink};
use isthmus_stream_net::{Driver, Ends, Event as NetEvent, Socket};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

values! {
    /// What to move.
    #[derive(Debug, Clone)]
    Load {
        /// `tcp`, `plain` or `raw`.
        way: String = "tcp".to_owned(),
        /// Bytes of a TU, and of a message of `raw`.
        message: usize = 1 << 20,
        /// Bytes of a ring.
        capacity: u64 = 1 << 20,
        /// How many TUs.
        messages: u64 = 2_000,
        /// Bytes of a packet and of an SU: a TU, or less, and then packets are sent as soon as their
        /// SUs are there.
        packet: usize = message,
        /// 1 if the rank makes the sums.
        rank_sums: u8 = 0,
    }
}

impl Load {
    pub(crate) fn arguments(&self) -> [String; 6] {
        [
            format!("way={}", self.way),
            format!("message={}", self.message),
            format!("capacity={}", self.capacity),
            format!("messages={}", self.messages),
            format!("packet={}", self.packet),
            format!("rank_sums={}", self.rank_sums),
        ]
    }

    fn format(&self) -> Format {
        let (tu, packet) = (self.message as u64, self.packet as u64);
        let order = vec![LINK; self.message.div_ceil(self.packet)];
        Format {
            order,
            granule_bytes: packet,
            packet_bytes: packet,
            ..Format::fixed(tu, tu, &[LINK])
        }
    }
}

/// What it took.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report {
    /// From the first byte that the rank writes to the last confirmation.
    pub(crate) seconds: f64,
    /// CPU seconds of all processes meanwhile.
    pub(crate) cpu_s: f64,
    /// Packets that the sink found right, or messages that it read where it does not look.
    pub(crate) packets: u64,
    /// Largest resident memory of the manager, in bytes; 0 where there is none.
    pub(crate) manager_bytes: u64,
}

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

const LINK: LinkId = LinkId(0);
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) fn deadline() -> Instant {
    Instant::now() + PATIENCE
}

/// Starts this program again, in a role, with a socket as standard input.
pub(crate) fn other(role: &str, arguments: &[String]) -> Outcome<(Child, UnixStream)> {
    let (near, far) = UnixStream::pair()?;
    let child = Command::new(std::env::current_exe()?)
        .arg(role)
        .args(arguments)
        .stdin(Stdio::from(OwnedFd::from(far)))
        .stdout(Stdio::piped())
        .spawn()?;
    Ok((child, near))
}

pub(crate) fn said<T: DeserializeOwned>(child: Child) -> Outcome<T> {
    let output = child.wait_with_output()?;
    if !output.status.success() {
        return Err("a process of the measurement failed".into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The whole: starts rank and sink and is the manager, or for `raw` the writer.
pub fn run(load: &Load) -> Outcome<Report> {
    let (sink, mut to_sink) = other("stream_sink", &load.arguments())?;
    let report = if load.way == "raw" {
        let socket = sink_socket(&mut to_sink)?;
        // Cubic and no delay, as a driver's sockets have them.
        let copy = Socket::from(socket.try_clone()?);
        drop(copy);
        write_plain(socket, &mut to_sink, load)?
    } else {
        manage(&mut to_sink, load)?
    };
    drop(to_sink);
    let peer: Report = said(sink)?;
    Ok(Report {
        seconds: report.seconds,
        cpu_s: report.cpu_s + peer.cpu_s,
        packets: peer.packets,
        manager_bytes: report.manager_bytes,
    })
}

/// Sends the sink an address, and returns the socket by which it connects there.
pub(crate) fn sink_socket(to_sink: &mut UnixStream) -> Outcome<TcpStream> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    writeln!(to_sink, "{}", listener.local_addr()?)?;
    Ok(listener.accept()?.0)
}

/// The plain writer: messages of one buffer, and a byte back when the reader has all.
fn write_plain(mut socket: TcpStream, to_sink: &mut UnixStream, load: &Load) -> Outcome<Report> {
    let message = vec![1; load.message];
    let mut byte = [0];
    to_sink.read_exact(&mut byte)?;
    let begin = Instant::now();
    let (outcome, cpu_s) = timed(|| -> io::Result<()> {
        for _ in 0..load.messages {
            socket.write_all(&message)?;
        }
        socket.read_exact(&mut byte)
    });
    outcome?;
    Ok(Report {
        seconds: begin.elapsed().as_secs_f64(),
        cpu_s,
        packets: 0,
        manager_bytes: 0,
    })
}

fn config(load: &Load) -> Config {
    let two = (2 * load.message as u64).max(1 << 20);
    Config {
        staging_bytes: two,
        // Plain bytes are kept until the system is asked what is acknowledged: as much as a daemon
        // gives a connection.
        network_bytes: if load.way == "plain" { 16 << 20 } else { two },
        ..Driver::config()
    }
}

fn manage(to_sink: &mut UnixStream, load: &Load) -> Outcome<Report> {
    let mut driver = Driver::new(config(load))?;
    let app = driver.add_application(Limits::NONE);
    driver.provide_socket("sink", sink_socket(to_sink)?);
    let (destination, protocol) = match load.way.as_str() {
        "plain" => ("tcp:given:sink", Protocol::Unconfirmed { reorder: 0 }),
        _ => ("raw:given:sink", Protocol::Stream),
    };
    let connection = driver.open(app, ConnectionSpec::new(destination, protocol, 0))?;
    let format = load.format();
    let mut spec = StreamSpec::new(connection, Direction::Transmit, format, load.messages);
    spec.quantum = u32::MAX;
    spec.cut_through = load.packet < load.message;
    let stream = driver.submit(app, &spec)?;
    let (rank, mut to_rank) = other("stream_rank", &load.arguments())?;
    let (producer, consumer) = ring(load.capacity)?;
    producer.into_handles().send(&to_rank, deadline())?;
    driver.attach(LINK, Ends::rings(Some(consumer), None))?;
    let mut byte = [0];
    to_sink.read_exact(&mut byte)?;
    to_rank.read_exact(&mut byte)?;
    let begin = Instant::now();
    let (outcome, cpu_s) = timed(|| -> Outcome<()> {
        to_rank.write_all(&[1])?;
        drive(&mut driver, stream)
    });
    outcome?;
    let seconds = begin.elapsed().as_secs_f64();
    driver.close(connection)?;
    let end = Instant::now() + Duration::from_millis(200);
    while Instant::now() < end {
        driver.turn(Some(end))?;
    }
    drop(driver);
    let peer: Report = said(rank)?;
    Ok(Report {
        seconds,
        cpu_s: cpu_s + peer.cpu_s,
        packets: 0,
        manager_bytes: resident_most()?,
    })
}

/// Runs the driver until the stream has ended.
pub(crate) fn drive(driver: &mut Driver, stream: StreamId) -> Outcome<()> {
    let until = deadline();
    while Instant::now() < until {
        driver.turn(Some(until))?;
        while let Some(event) = driver.poll_event() {
            match event {
                NetEvent::Stream(Event::Ended { end: End::Done, .. }) => return Ok(()),
                NetEvent::Stream(Event::Ended { end, .. }) => return Err(format!("{end:?}").into()),
                NetEvent::Stream(Event::Lost { reason, .. }) => return Err(reason.into()),
                _ => {}
            }
        }
    }
    Err(format!("{:?}", driver.manager().waits(stream)).into())
}

/// The most memory that this process ever had resident, in bytes.
pub(crate) fn resident_most() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let words = line.and_then(|line| line.split_whitespace().next());
    Ok(words.ok_or("no VmHWM")?.parse::<u64>()? << 10)
}

pub(crate) fn stdin() -> Outcome<UnixStream> {
    Ok(UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// The rank: one buffer, written again and again, as a rank that computes in place does.
pub fn rank(load: &Load) -> Outcome<Report> {
    let mut socket = stdin()?;
    let producer = Producer::attach(Handles::receive(&socket, deadline())?, load.capacity)?;
    let mut sender = Sender::new(LINK, Pipe::Producer(producer));
    if load.rank_sums != 0 {
        sender = sender.summing(Checksum::Crc32c);
    }
    let format = load.format();
    let mut message = vec![1; load.message];
    socket.write_all(&[1])?;
    socket.read_exact(&mut [0])?;
    let until = deadline();
    let begin = Instant::now();
    let (outcome, cpu_s) = timed(|| {
        for number in 0..load.messages {
            message[..8].copy_from_slice(&number.to_ne_bytes());
            sender.send_adu(StreamId(0), &format, (number, &message), (0, 0), until)?;
        }
        Ok::<(), isthmus_stream_net::Error>(())
    });
    outcome?;
    Ok(Report {
        seconds: begin.elapsed().as_secs_f64(),
        cpu_s,
        packets: 0,
        manager_bytes: 0,
    })
}

/// The sink.
pub fn sink(load: &Load) -> Outcome<Report> {
    let mut control = stdin()?;
    let sink = Sink::new(4 * load.message.max(1 << 20) as u64);
    let mut number = 0u64;
    let taken = |header: &Header, data: &[u8]| {
        if header.offset == 0 {
            assert_eq!(data[..8], number.to_ne_bytes(), "another message");
            number += 1;
        }
    };
    let begin = Instant::now();
    let mut line = Vec::new();
    let mut byte = [0];
    while byte[0] != b'\n' {
        control.read_exact(&mut byte)?;
        line.extend(byte);
    }
    let mut socket = TcpStream::connect(String::from_utf8(line)?.trim())?;
    drop(Socket::from(socket.try_clone()?));
    control.write_all(&[1])?;
    let (packets, cpu_s) = if load.way == "raw" || load.way == "plain" {
        let mut message = vec![0; load.message];
        let (outcome, cpu_s) = timed(|| -> io::Result<()> {
            for _ in 0..load.messages {
                socket.read_exact(&mut message)?;
            }
            // The peer of `plain` is the system: it acknowledges.
            if load.way == "raw" {
                socket.write_all(&[1])?;
            }
            Ok(())
        });
        outcome?;
        (load.messages, cpu_s)
    } else {
        let (counts, cpu_s) = timed(|| sink.serve(&mut socket, |_| Action::Take, taken));
        let counts = counts?;
        if counts.ended != 1 {
            return Err("the stream did not end at the sink".into());
        }
        (counts.packets, cpu_s)
    };
    Ok(Report {
        seconds: begin.elapsed().as_secs_f64(),
        cpu_s,
        packets,
        manager_bytes: 0,
    })
}
