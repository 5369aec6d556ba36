//! Runs work on this computer: starts the stream manager, the threads that write to the links, and
//! the receiver (sink), and measures the time.

use super::cells::{Cells, Shuffle, byte};
use super::links::{Adu, Writer};
use crate::error::Error;
use isthmus_ring::ring;
use isthmus_stream::{
    Config, ConnectionSpec, Direction, End, Event, Format, Limits, LinkId, Protocol, StreamId,
    StreamSpec,
};
use isthmus_stream_net::rank::{Pipe, Sender};
use isthmus_stream_net::sink::{Action, Counts, Sink};
use isthmus_stream_net::{Driver, Ends, Event as NetEvent};
use isthmus_stream_sim::spec::{From, Machine, Reshuffle, To, Work};
use std::fmt::Display;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// Size in bytes of a link: a ring buffer in shared memory between a rank and the interface.
const RING_BYTES: u64 = 1 << 20;
/// Number of buffers of reshuffled application data units: one is sent while the next is filled.
const BUFFERS: usize = 2;
/// Maximum duration of a run.
const PATIENCE: Duration = Duration::from_secs(120);
/// Maximum number of striping units in a transfer unit: the stream format lists their order.
const SUS_MAX: u64 = 1 << 16;

/// The rate of the links in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// As fast as the memory of this computer allows.
    Free,
    /// The rate in the description of the machine, so that the links and not this computer are the
    /// bottleneck.
    AsDescribed,
}

/// The time and the number of bytes of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Report {
    /// Nanoseconds from the first byte of the first application data unit to the confirmation of
    /// the last application data unit. Without a network, the time ends with the last exchange
    /// among the cells.
    pub ns: u64,
    /// Number of bytes of all application data units.
    pub bytes: u64,
}

/// Return the reason why this work cannot run on this computer; `None` if it can.
#[must_use]
pub fn missing(machine: &Machine, work: &Work) -> Option<String> {
    if work.from == From::Interface {
        return Some("data begin at the cells here: workload.origin = \"interface\"".into());
    }
    if work.reshuffle == Reshuffle::Slow {
        let what = "processors here copy blocks as they are: workload.reshuffle = \"slow\"";
        return Some(what.into());
    }
    if work.reservation_bytes_per_s.is_some() || work.load_bytes_per_s.is_some() {
        let what =
            "nothing is reserved or offered at a rate here: workload.reservation, workload.load";
        return Some(what.into());
    }
    if work.reshuffle == Reshuffle::None && work.tu_bytes / work.block_bytes > SUS_MAX {
        return Some(format!("a TU of more than {SUS_MAX} blocks"));
    }
    let columns = u64::from(machine.columns);
    (work.to != To::Cells && columns < u64::from(work.links))
        .then(|| format!("{} links for {columns} columns", work.links))
}

/// Run `work` on this computer with whole application data units: as many as it has, or more until
/// they have `least_bytes` bytes.
///
/// # Errors
/// The work cannot run here (see [`missing`]), the stream fails, or data arrive changed.
pub fn run(machine: &Machine, work: &Work, pace: Pace, least_bytes: u64) -> Result<Report, Error> {
    if let Some(why) = missing(machine, work) {
        return Err(Error::Spec(why));
    }
    let adus = work.adus.max(least_bytes.div_ceil(work.adu_bytes));
    let bytes = adus.saturating_mul(work.adu_bytes);
    let ns = match work.to {
        To::Cells => exchange(machine, work, adus)?,
        To::Interface | To::Network => send(machine, work, pace, adus)?,
    };
    Ok(Report { ns, bytes })
}

/// Return the nanoseconds that have passed since `begin`.
fn since(begin: Instant) -> u64 {
    u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Exchange the blocks of `adus` application data units (ADUs) among the cells (processors with
/// memory), without a network. Return the duration in nanoseconds.
fn exchange(machine: &Machine, work: &Work, adus: u64) -> Result<u64, Error> {
    let (cells, shuffle) = (Cells::new(machine, work), Shuffle::new(machine, work)?);
    let mut large = vec![0; work.adu_bytes as usize];
    let begin = Instant::now();
    for _ in 0..adus {
        shuffle.run(&cells, &mut large)?;
    }
    let ns = since(begin);
    in_order(&large, 0)?;
    Ok(ns)
}

/// Check that `data` are the bytes of an application data unit (ADU) from position `from` on.
fn in_order(data: &[u8], from: u64) -> Result<(), Error> {
    let wrong = data
        .iter()
        .zip(from..)
        .find(|(found, at)| **found != byte(*at));
    match wrong {
        Some((found, at)) => Err(Error::Wrong(format!(
            "byte {at} of an ADU came as {found}, not as {}",
            byte(at)
        ))),
        None => Ok(()),
    }
}

/// Return the format of the stream: one striping unit for each link, or for each block without
/// reshuffling.
fn format(machine: &Machine, work: &Work) -> Format {
    let columns = u64::from(machine.columns);
    let link = |column: u64| LinkId((column * u64::from(work.links) / columns) as u16);
    let order: Vec<LinkId> = match work.reshuffle {
        Reshuffle::None => (0..work.tu_bytes / work.block_bytes)
            .map(|block| link(block % columns))
            .collect(),
        _ => (0..work.links as u16).map(LinkId).collect(),
    };
    Format {
        packet_bytes: work.packet_bytes,
        granule_bytes: match work.reshuffle {
            Reshuffle::None => work.block_bytes,
            _ => work.share_bytes(machine),
        },
        ..Format::fixed(work.adu_bytes, work.tu_bytes, &order)
    }
}

/// Send `adus` application data units (ADUs) over the links and through the stream manager to a
/// receiver (sink). Return the duration in nanoseconds.
fn send(machine: &Machine, work: &Work, pace: Pace, adus: u64) -> Result<u64, Error> {
    let cells = Arc::new(Cells::new(machine, work));
    let format = format(machine, work);
    let config = Config {
        staging_bytes: (2 * work.tu_bytes).max(1 << 20),
        network_bytes: (4 * work.tu_bytes).max(4 << 20),
        ..Driver::config()
    };
    let window = 2 * config.network_bytes;
    let mut driver = Driver::new(config)?;
    let refused = |error: io::Error| cut_short(format!("a socket to the sink: {error}"));
    let listener = TcpListener::bind("127.0.0.1:0").map_err(refused)?;
    let at = listener.local_addr().map_err(refused)?;
    let to_sink = TcpStream::connect(at).map_err(refused)?;
    to_sink.set_nodelay(true).map_err(refused)?;
    let from_manager = listener.accept().map_err(refused)?.0;
    driver.provide_socket("sink", to_sink);
    let app = driver.add_application(Limits::NONE);
    let spec = ConnectionSpec::new("raw:given:sink", Protocol::Stream, 0);
    let connection = driver.open(app, spec)?;
    let spec = StreamSpec::new(connection, Direction::Transmit, format.clone(), adus);
    let stream = driver.submit(
        app,
        &StreamSpec {
            quantum: u32::MAX,
            ..spec
        },
    )?;
    let deadline = Instant::now() + PATIENCE;
    let mut writers = Vec::new();
    for link in format.links() {
        let (out, into) = ring(RING_BYTES)?;
        driver.attach(link, Ends::rings(Some(into), None))?;
        let sender = Sender::new(link, Pipe::Producer(out));
        let rate = (pace == Pace::AsDescribed).then_some(machine.link_bytes_per_s);
        writers.push(Writer::new(
            sender,
            (link, stream),
            format.clone(),
            rate,
            deadline,
        ));
    }
    let ordered = work.reshuffle != Reshuffle::Streaming;
    thread::scope(|scope| {
        let expected = Arc::clone(&cells);
        let sink = scope.spawn(move || take(from_manager, window, &expected, ordered));
        let begin = Instant::now();
        let feeding = feed(scope, machine, work, (cells, adus), writers)?;
        let ended = drive(&mut driver, stream, deadline);
        let ns = since(begin);
        // Dropping the driver closes its connections and links, which ends the sink and the writers.
        drop(driver);
        let counts = joined(sink);
        let fed = feeding.into_iter().try_for_each(joined);
        ended.and(fed)?;
        let counts = counts?;
        let wanted = adus * work.adu_bytes;
        if counts.bytes != wanted {
            let what = format!("{} bytes came of {wanted}", counts.bytes);
            return Err(Error::Wrong(what));
        }
        Ok(ns)
    })
}

/// Return the error for a stream that ended early, with its cause.
fn cut_short(how: impl Display) -> Error {
    Error::Ended(format!("the stream ended before all was sent: {how}"))
}

/// Wait for a thread and return its result. A panic becomes an error.
fn joined<T>(handle: ScopedJoinHandle<'_, Result<T, Error>>) -> Result<T, Error> {
    let ended = handle.join();
    ended.unwrap_or_else(|_| Err(cut_short("a thread of it has failed")))
}

/// Receive all packets of a stream from the socket and count them. Verify the bytes of the first
/// application data unit (ADU).
fn take(mut socket: TcpStream, window: u64, cells: &Cells, ordered: bool) -> Result<Counts, Error> {
    let mut wrong = Ok(());
    let counts = Sink::new(window).serve(
        &mut socket,
        |_| Action::Take,
        |header, data| {
            if header.adu > 0 || wrong.is_err() {
                return;
            }
            let from = header.offset as usize;
            wrong = match cells.held().get(from..from + data.len()) {
                _ if ordered => in_order(data, header.offset),
                Some(held) if held == data => Ok(()),
                _ => Err(Error::Wrong(format!(
                    "byte {from} of an ADU or one after it"
                ))),
            };
        },
    );
    let counts = counts?;
    wrong.map(|()| counts)
}

/// Run the stream manager until the stream has ended. Fails if the stream fails or the deadline
/// passes.
fn drive(driver: &mut Driver, stream: StreamId, deadline: Instant) -> Result<(), Error> {
    while Instant::now() < deadline {
        driver.turn(Some(deadline))?;
        while let Some(event) = driver.poll_event() {
            match event {
                NetEvent::Stream(Event::Ended { end: End::Done, .. }) => return Ok(()),
                NetEvent::Stream(Event::Ended { end, .. }) => {
                    return Err(cut_short(format!("{end:?}")));
                }
                _ => {}
            }
        }
    }
    let waits = driver.manager().waits(stream).unwrap_or_default();
    let waits: Vec<String> = waits.iter().map(ToString::to_string).collect();
    let seconds = PATIENCE.as_secs();
    Err(cut_short(format!(
        "after {seconds} s: {}",
        waits.join("; ")
    )))
}

/// Start the threads that send `adus` application data units: a writer thread for each link and, if
/// necessary, a thread that reshuffles.
fn feed<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    machine: &Machine,
    work: &Work,
    (cells, adus): (Arc<Cells>, u64),
    writers: Vec<Writer>,
) -> Result<Vec<ScopedJoinHandle<'scope, Result<(), Error>>>, Error> {
    let ready = match work.reshuffle {
        Reshuffle::None => Adu::Small(cells),
        Reshuffle::Streaming => Adu::Large(Arc::new(cells.held().to_vec())),
        Reshuffle::Slow | Reshuffle::Fast => {
            let shuffle = Shuffle::new(machine, work)?;
            return Ok(feed_reshuffled(scope, shuffle, (cells, adus), writers));
        }
    };
    let write = |mut writer: Writer| {
        let ready = ready.clone();
        scope.spawn(move || (0..adus).try_for_each(|number| writer.write(number, &ready)))
    };
    Ok(writers.into_iter().map(write).collect())
}

/// Start writer threads and a thread that reshuffles each application data unit while the previous
/// one is sent.
fn feed_reshuffled<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    shuffle: Shuffle,
    (cells, adus): (Arc<Cells>, u64),
    writers: Vec<Writer>,
) -> Vec<ScopedJoinHandle<'scope, Result<(), Error>>> {
    let (give_back, back) = channel::<()>();
    let mut given: Vec<SyncSender<Arc<Vec<u8>>>> = Vec::new();
    let mut all = Vec::new();
    for mut writer in writers {
        let (give, take) = sync_channel(BUFFERS);
        given.push(give);
        let give_back = give_back.clone();
        all.push(scope.spawn(move || {
            for (number, data) in (0..).zip(take) {
                let adu = Adu::Large(data);
                writer.write(number, &adu)?;
                drop(adu);
                // A send to the reshuffling thread fails if that thread has finished; this is no
                // error.
                let _ = give_back.send(());
            }
            Ok(())
        }));
    }
    drop(give_back);
    all.push(scope.spawn(move || reshuffle(&shuffle, &cells, adus, &given, &back)));
    all
}

/// Reshuffle the blocks of one application data unit after another into the buffers, and pass each
/// buffer to all writers (threads that write to the links).
fn reshuffle(
    shuffle: &Shuffle,
    cells: &Cells,
    adus: u64,
    given: &[SyncSender<Arc<Vec<u8>>>],
    back: &Receiver<()>,
) -> Result<(), Error> {
    let mut buffers = [(); BUFFERS].map(|()| Arc::new(vec![0; cells.held().len()]));
    for number in 0..adus {
        let buffer = &mut buffers[number as usize % BUFFERS];
        // Each writer sends a message when it has released a buffer. If no message follows, all
        // writers have failed.
        while Arc::strong_count(buffer) > 1 {
            if back.recv().is_err() {
                return Ok(());
            }
        }
        shuffle.run(cells, Arc::make_mut(buffer).as_mut_slice())?;
        for give in given {
            // A writer that has failed reports its own error.
            if give.send(Arc::clone(buffer)).is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that bytes in the wrong order cause an error.
    #[test]
    fn bytes_in_the_wrong_order_cause_an_error() {
        let mut data: Vec<u8> = (100..5000).map(byte).collect();
        assert!(in_order(&data, 100).is_ok());
        assert!(in_order(&data, 101).is_err());
        data.swap(1024, 1025);
        let wrong = in_order(&data, 100).unwrap_err().to_string();
        assert!(wrong.starts_with("byte 1124 of an ADU"), "{wrong}");
    }
}
