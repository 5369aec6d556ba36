//! A stream from a rank to the manager over one or more TCP links, each through a network of its
//! own, as who starts this has made them: this program is in one network namespace, and starts the
//! rank in another. Link `k` goes from there to the address 10.77.`k`.1 here. The sink is a third
//! process, over loopback TCP, so that the links are what bounds it.

use crate::clock::timed;
use crate::stream::{self, Outcome, Report, deadline, drive, other, said, sink_socket};
use isthmus_stream::{
    Config, ConnectionSpec, Direction, Format, Limits, LinkId, Protocol, StreamId, StreamSpec,
};
use isthmus_stream_net::rank::{Pipe, Sender};
use isthmus_stream_net::{Driver, Ends, Socket};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// SUs in a TU: 4, so that one link and four carry the same pieces.
const SUS: u16 = 4;

values! {
    /// What to move, and over what.
    #[derive(Debug, Clone)]
    Load {
        /// Links: 1, 2 or 4.
        links: u16 = 4,
        /// Bytes of a TU.
        message: usize = 1 << 20,
        /// How many TUs.
        messages: u64 = 500,
        /// The network namespace of the rank; here, if it is empty.
        ranks: String = String::new(),
        /// For the rank: where the manager listens.
        port: u16 = 0,
    }
}

impl Load {
    fn format(&self) -> Format {
        let order: Vec<_> = (0..SUS).map(|su| LinkId(su % self.links)).collect();
        let tu = self.message as u64;
        Format {
            order,
            ..Format::fixed(tu, tu, &[])
        }
    }

    fn address(&self, link: u16) -> String {
        match self.ranks.as_str() {
            "" => format!("127.0.0.1:{}", self.port),
            _ => format!("10.77.{link}.1:{}", self.port),
        }
    }

    /// The rank, in its namespace.
    fn start_rank(&self, port: u16) -> Outcome<Child> {
        let program = std::env::current_exe()?;
        let mut command = match self.ranks.as_str() {
            "" => Command::new(program),
            ranks => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", ranks]).arg(program);
                command
            }
        };
        command.arg("striping_rank").args([
            format!("links={}", self.links),
            format!("message={}", self.message),
            format!("messages={}", self.messages),
            format!("ranks={}", self.ranks),
            format!("port={port}"),
        ]);
        Ok(command.stdout(Stdio::piped()).spawn()?)
    }
}

/// The manager, which starts rank and sink.
pub fn run(load: &Load) -> Outcome<Report> {
    if ![1, 2, 4].contains(&load.links) {
        return Err(format!("links={}: 1, 2 or 4 are striped over", load.links).into());
    }
    let sinks = stream::Load {
        way: "tcp".into(),
        message: load.message,
        capacity: 1 << 20,
        messages: load.messages,
        packet: load.message,
        rank_sums: 0,
    };
    let (sink, mut to_sink) = other("stream_sink", &sinks.arguments())?;
    let mut driver = Driver::new(Config {
        staging_bytes: 4 * load.message as u64,
        network_bytes: 4 * load.message as u64,
        ..Driver::config()
    })?;
    let app = driver.add_application(Limits::NONE);
    driver.provide_socket("sink", sink_socket(&mut to_sink)?);
    let spec = ConnectionSpec::new("raw:given:sink", Protocol::Stream, 0);
    let connection = driver.open(app, spec)?;
    let mut spec = StreamSpec::new(
        connection,
        Direction::Transmit,
        load.format(),
        load.messages,
    );
    spec.quantum = u32::MAX;
    let stream = driver.submit(app, &spec)?;
    to_sink.read_exact(&mut [0])?;
    let listener = TcpListener::bind("0.0.0.0:0")?;
    let rank = load.start_rank(listener.local_addr()?.port())?;
    let mut sockets = Vec::new();
    for _ in 0..load.links {
        let mut socket = listener.accept()?.0;
        let mut link = [0];
        socket.read_exact(&mut link)?;
        sockets.push((u16::from(link[0]), socket));
    }
    let begin = Instant::now();
    let (outcome, cpu_s) = timed(|| -> Outcome<()> {
        for (link, mut socket) in sockets {
            socket.write_all(&[1])?;
            driver.attach(LinkId(link), Ends::socket(Socket::from(socket)))?;
        }
        drive(&mut driver, stream)
    });
    outcome?;
    let seconds = begin.elapsed().as_secs_f64();
    driver.close(connection)?;
    let end = Instant::now() + Duration::from_millis(200);
    while Instant::now() < end {
        driver.turn(Some(end))?;
        while driver.poll_event().is_some() {}
    }
    drop(driver);
    drop(to_sink);
    let (rank, sink): (Report, Report) = (said(rank)?, said(sink)?);
    Ok(Report {
        seconds,
        cpu_s: cpu_s + rank.cpu_s + sink.cpu_s,
        packets: sink.packets,
        manager_bytes: stream::resident_most()?,
    })
}

/// The rank: a thread for each link.
pub fn rank(load: &Load) -> Outcome<Report> {
    let begin = Instant::now();
    let (outcome, cpu_s) = timed(|| {
        std::thread::scope(|scope| {
            let links = (0..load.links).map(|link| {
                scope.spawn(move || write(load, link).map_err(|error| error.to_string()))
            });
            let links: Vec<_> = links.collect();
            links.into_iter().try_for_each(|link| {
                let outcome = link.join();
                outcome.unwrap_or_else(|_| Err("a thread panicked".into()))
            })
        })
    });
    outcome?;
    Ok(Report {
        seconds: begin.elapsed().as_secs_f64(),
        cpu_s,
        packets: 0,
        manager_bytes: 0,
    })
}

fn write(load: &Load, link: u16) -> Outcome<()> {
    let mut socket = TcpStream::connect(load.address(link))?;
    drop(Socket::from(socket.try_clone()?));
    socket.write_all(&[link as u8])?;
    socket.read_exact(&mut [0])?;
    let mut sender = Sender::new(LinkId(link), Pipe::Tcp(socket.try_clone()?));
    let (format, until) = (load.format(), deadline());
    let mut message = vec![1; load.message];
    for number in 0..load.messages {
        message[..8].copy_from_slice(&number.to_ne_bytes());
        sender.send_adu(StreamId(0), &format, (number, &message), (0, 0), until)?;
    }
    // Until the manager has all: it closes the link.
    drop(sender);
    while socket.read(&mut [0; 4096])? > 0 {}
    Ok(())
}
