//! Fuzz target: links that outlast their sockets. Two ranks reconnect after their sockets were cut
//! at any byte, during a reconnect, or while the old socket is still written to. They also send
//! impossible requests.

use crate::draw::Draw;
use crate::near::{End, content, driver, take_frames, turn};
use isthmus_stream::{ConnectionSpec, Direction, Format, LinkId, Protocol, StreamId, StreamSpec};
use isthmus_stream_net::Driver;
use isthmus_stream_net::frame::{Frame, Kind};
use isthmus_stream_net::unconfirmed::Unconfirmed;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Number of application data units (ADUs) of the stream that is transferred.
const ADUS: u64 = 6;
/// Size of an application data unit (ADU) of the stream in bytes.
const ADU: u64 = 5000;
/// Size of a transfer unit (TU) of the stream under test in bytes.
const TU: u64 = 2000;
/// Receive window of the connection in bytes.
const WINDOW: u64 = 16 << 10;
/// The link of the rank that sends, and the link of the rank that receives.
const LINKS: [LinkId; 2] = [LinkId(1), LinkId(2)];

/// A rank's end of a link, whose sockets are cut and replaced during the test.
struct Rank {
    link: LinkId,
    kept: Unconfirmed,
    socket: Option<End>,
    nth: u32,
    received: u64,
    /// Whether the rank's last request to reconnect stated fewer bytes than the rank had received.
    underreported: bool,
}

/// The state of the fuzz test: the driver (a stream manager with its sockets), a sending and a receiving rank, and the
/// progress of the transfer.
struct World {
    driver: Driver,
    ranks: [Rank; 2],
    /// All bytes that the sending rank must write. `put` is the number of these that were queued.
    script: Vec<u8>,
    put: usize,
    /// Bytes that the receiving rank has received and not parsed.
    had: Vec<u8>,
    /// The application data unit (ADU), and the byte in it, that the receiving rank expects next.
    next: (u64, u64),
    ended: bool,
    /// Sockets of links that were replaced by newer ones, to which the ranks still write.
    old: Vec<End>,
    /// Whether a wrong request has made the link lose data.
    lost: bool,
}

/// Returns the data format of a stream that uses one link.
fn format(link: LinkId) -> Format {
    let mut format = Format::fixed(ADU, TU, &[link]);
    format.packet_bytes = TU;
    format
}

/// Returns the bytes that the sending rank must write: the frames of all application data units (ADUs).
fn script(stream: StreamId) -> Vec<u8> {
    let format = format(LINKS[0]);
    let mut all = Vec::new();
    for adu in 0..ADUS {
        for tu in (0..).map_while(|index| format.tu(adu, ADU, index)) {
            for su in format.sus(tu.bytes) {
                let frame = Frame::su(Kind::Data, stream, &tu, &su);
                all.extend(frame.encode());
                all.extend(content(0, adu, frame.offset, su.bytes as usize));
            }
        }
    }
    all
}

impl World {
    /// Creates the state before the first action: the driver, both links, and a stream in each direction.
    fn new() -> Self {
        let (mut driver, app) = driver();
        let (one, two) = UnixStream::pair().expect("a pair of sockets");
        let mut open = |words: &str, window| {
            let spec = ConnectionSpec::new(words, Protocol::Stream, window);
            driver.open(app, spec).expect("words of a destination")
        };
        let (out, into) = (open("raw:given:out", 0), open("raw:given:into", WINDOW));
        driver.provide_socket("out", one);
        driver.provide_socket("into", two);
        let grace = Duration::from_secs(3600);
        for link in LINKS {
            driver
                .attach_resumable(link, grace)
                .expect("it has no ends");
        }
        let mut submit = |connection, way, link| {
            let spec = StreamSpec::new(connection, way, format(link), ADUS);
            driver.submit(app, &spec).expect("a stream that fits")
        };
        let sent = submit(out, Direction::Transmit, LINKS[0]);
        submit(into, Direction::Receive, LINKS[1]);
        Self {
            driver,
            ranks: LINKS.map(|link| Rank {
                link,
                kept: Unconfirmed::new(4000),
                socket: None,
                nth: 0,
                received: 0,
                underreported: false,
            }),
            script: script(sent),
            put: 0,
            had: Vec::new(),
            next: (0, 0),
            ended: false,
            old: Vec::new(),
            lost: false,
        }
    }

    /// Reconnects the link of rank number `at` with correct numbers. With `with_socket`, the link also gets its new
    /// socket.
    fn renew(&mut self, at: usize, with_socket: bool) {
        let rank = &mut self.ranks[at];
        rank.nth += 1;
        self.old.extend(rank.socket.take());
        let renewed = self.driver.renew(rank.link, rank.nth, rank.received);
        let Ok(there) = renewed else {
            assert!(self.lost, "{renewed:?}");
            return;
        };
        rank.underreported = false;
        rank.kept
            .resume_at(there)
            .expect("the driver has what was written");
        if !with_socket {
            return;
        }
        let (end, other) = End::pair();
        assert!(
            !self.driver.restore(rank.link, rank.nth - 1, pair().into()),
            "it is stale"
        );
        assert!(self.driver.restore(rank.link, rank.nth, other.into()));
        rank.socket = Some(end);
    }

    /// Sends the driver a random request to reconnect the link of rank number `at`, which is wrong in some respect.
    /// Checks that it is accepted only if its numbers are possible.
    fn send_wrong_request(&mut self, at: usize, draw: &mut Draw) {
        let rank = &self.ranks[at];
        let (nth, received) = (draw.number() as u32 >> 8, draw.number());
        // Do nothing if the random number is the correct one, as the request must be wrong. (With a lower number bytes
        // would be repeated, with a higher one bytes would be lost.)
        if received == rank.received {
            return;
        }
        match self.driver.renew(rank.link, nth, received) {
            Ok(_) => {
                assert!(nth > rank.nth);
                assert!(
                    at == 1,
                    "nothing was written to the first rank but byte 0 is next"
                );
                // Remember the wrong number as used. The rank reconnects later with a correct, higher one.
                self.ranks[at].nth = nth;
                self.ranks[at].underreported = true;
                self.lost |= received > self.ranks[at].received;
            }
            Err(error) => drop(error.to_string()),
        }
    }

    /// Makes the sending rank queue `bytes` more bytes, and write as many as its socket accepts.
    fn write(&mut self, bytes: usize) {
        let rank = &mut self.ranks[0];
        let end = self.script.len().min(self.put + bytes);
        self.put += rank.kept.put(&self.script[self.put..end]);
        let Some(socket) = &mut rank.socket else {
            return;
        };
        let pending = rank.kept.pending().concat();
        rank.kept.mark_written(socket.write_some(&pending));
    }

    /// Makes the receiving rank read the available bytes of its socket, and checks the frames in them.
    fn read(&mut self) {
        let rank = &mut self.ranks[1];
        let Some(socket) = &mut rank.socket else {
            return;
        };
        socket.read();
        rank.received += socket.had.len() as u64;
        self.had.append(&mut socket.had);
        for (frame, data) in take_frames(&mut self.had) {
            if frame.kind == Kind::End {
                assert_eq!(self.next, (ADUS, 0));
                self.ended = true;
                continue;
            }
            if self.lost {
                return;
            }
            assert_eq!(
                (frame.kind, frame.adu, frame.offset),
                (Kind::Data, self.next.0, self.next.1)
            );
            assert!(data == content(0, frame.adu, frame.offset, data.len()));
            let end = frame.offset + data.len() as u64;
            self.next = match end == ADU {
                true => (frame.adu + 1, 0),
                false => (frame.adu, end),
            };
        }
    }

    /// Performs the random action that `draw` selects: a rank writes, reads or reconnects, or the network cuts a
    /// socket.
    fn act(&mut self, draw: &mut Draw) {
        let (what, at) = (draw.byte() % 20, draw.below(2));
        match what {
            0..6 => self.write(draw.below(256) * 16),
            6 | 7 => self.read(),
            8..11 => self.renew(at, true),
            11 => self.renew(at, false),
            12 => self.ranks[at].socket = None,
            13 => self.send_wrong_request(at, draw),
            14 => {
                let bytes = draw.bytes();
                for old in &mut self.old {
                    old.write(bytes);
                }
            }
            15 if !self.ranks[1].underreported => {
                let rank = &self.ranks[1];
                let right = self.driver.confirm(rank.link, rank.received);
                assert!(right.is_ok() || self.lost);
            }
            16 if draw.below(8) == 0 => {
                let rank = &self.ranks[at];
                let said = draw.number();
                let taken = self.driver.confirm(rank.link, said);
                self.lost |= taken.is_err() || said > rank.received;
            }
            _ => turn(&mut self.driver, 4),
        }
    }
}

/// Returns a Unix socket whose peer socket is already closed.
fn pair() -> UnixStream {
    UnixStream::pair().expect("a pair of sockets").0
}

/// Runs two ranks and the sockets of their links, with the actions that the random bytes `data` select.
pub fn lasting(data: &[u8]) {
    let mut draw = Draw::new(data);
    let mut world = World::new();
    for at in 0..2 {
        world.renew(at, true);
    }
    for _ in 0..400 {
        if !draw.more() || world.lost {
            break;
        }
        world.act(&mut draw);
    }
    if world.lost {
        turn(&mut world.driver, 8);
        return;
    }
    // Reconnect both ranks. All data must now arrive, once and in order, even after cuts.
    world.old.clear();
    for at in 0..2 {
        world.renew(at, true);
    }
    for _ in 0..400 {
        world.write(1 << 20);
        turn(&mut world.driver, 8);
        world.read();
        let [sends, receives] = &mut world.ranks;
        let reached = sends.kept.highest_written();
        // Stop when no byte waits to be written, the sender accepts the confirmation of all written bytes, and the
        // stream has ended.
        if !sends.kept.is_pending() && sends.kept.confirm(reached).is_ok() && world.ended {
            break;
        }
        let confirmed = world.driver.confirm(receives.link, receives.received);
        confirmed.expect("it was written");
    }
    assert!(
        world.ended,
        "at {:?}, {} of {} bytes",
        world.next,
        world.put,
        world.script.len()
    );
}
