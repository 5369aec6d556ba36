//! Fuzz target: links of a driver, with ranks that are in step, out of step, or missing.

use crate::draw::Draw;
use crate::near::{End, any_header, content, driver, turn};
use isthmus_stream::checksum::crc32c;
use isthmus_stream::wire::{Header, Kind as Packet};
use isthmus_stream::{
    Adu, AppId, ConnectionId, ConnectionSpec, Direction, Format, LinkId, Protocol, StreamId,
    StreamSpec, Su, Tu,
};
use isthmus_stream_net::frame::{Frame, Kind};
use isthmus_stream_net::{Driver, Ends};
use std::time::Duration;

/// Number of links of the driver.
const LINKS: usize = 2;
/// Number of streams that are submitted.
const STREAMS: usize = 4;
/// Number of application data units (ADUs) of a stream.
const ADUS: u64 = 3;

/// Returns the striping units (SUs) of a stream on a link, in the order in which a rank writes
/// them.
fn script(format: &Format, link: LinkId) -> Vec<(Tu, Su)> {
    let bytes = match format.adu {
        Adu::Fixed(bytes) => bytes,
        Adu::Variable => format.tu_bytes,
    };
    let tus = (0..ADUS).flat_map(|adu| {
        (0..format.tus(bytes)).filter_map(move |index| format.tu(adu, bytes, index))
    });
    let sus = tus.flat_map(|tu| format.sus(tu.bytes).map(move |su| (tu, su)));
    sus.filter(|(_, su)| su.link == link).collect()
}

/// The tested driver (a stream manager with its sockets), its links, ranks and a peer.
struct World {
    driver: Driver,
    app: AppId,
    connection: ConnectionId,
    peer: End,
    ranks: [Option<End>; LINKS],
    /// Number of striping units (SUs) that ranks have written, by stream and link.
    written: [[usize; LINKS]; STREAMS],
    formats: Vec<Format>,
    ids: Vec<StreamId>,
    /// Whether a rank wrote bytes that are not frames: the driver may read later bytes as data.
    tainted: bool,
    /// Whether the protocol of the connection sends lost packets again.
    repairs: bool,
}

impl World {
    /// Creates the driver with a connection of this protocol.
    fn new(protocol: Protocol) -> Self {
        let (mut driver, app) = driver();
        let (mut peer, socket) = End::pair();
        let spec = ConnectionSpec::new("raw:given:peer", protocol, 0);
        let connection = driver.open(app, spec).expect("words of a destination");
        driver.provide_socket("peer", socket);
        let mut grant = Header::new(Packet::Acknowledge, 0);
        grant.granted = 1 << 40;
        peer.write(&grant.encode());
        Self {
            driver,
            app,
            connection,
            peer,
            ranks: [None, None],
            written: [[0; LINKS]; STREAMS],
            formats: Vec::new(),
            ids: Vec::new(),
            tainted: false,
            repairs: protocol == Protocol::Confirmed { repair: true },
        }
    }

    /// Submits a stream with random settings.
    fn submit(&mut self, draw: &mut Draw) {
        if self.ids.len() == STREAMS {
            return;
        }
        let order = [&[1, 2][..], &[2], &[1, 2, 1], &[2, 1, 1, 2]][draw.below(4)];
        let order: Vec<_> = order.iter().map(|link| LinkId(*link)).collect();
        let tu = 1 + draw.below(4) as u64 * 1000;
        let mut format = Format::fixed(1 + draw.below(10) as u64 * 500, tu, &order);
        if draw.below(4) == 0 {
            format.adu = Adu::Variable;
        }
        format.packet_bytes = (tu / (1 + draw.below(3) as u64)).max(1);
        let spec = StreamSpec {
            quantum: 1 + draw.below(3) as u32,
            permanent: draw.flip(),
            cut_through: draw.flip(),
            ..StreamSpec::new(self.connection, Direction::Transmit, format, ADUS)
        };
        if let Ok(id) = self.driver.submit(self.app, &spec) {
            self.ids.push(id);
            self.formats.push(spec.format);
        }
    }

    /// Attaches new ends to a link, with or without a grace period.
    fn attach(&mut self, at: usize, grace: bool) {
        let (rank, other) = End::pair();
        let grace = Duration::from_secs(3600 * u64::from(grace));
        let ends = Ends::socket(other.into()).grace(grace);
        // Keep the rank's end only if the driver accepts the other end: it refuses new ends of a
        // link that still has its old ones.
        if self.driver.attach(LinkId(at as u16 + 1), ends).is_ok() {
            self.ranks[at] = Some(rank);
        }
    }

    /// Writes the next striping unit (SU) of a stream to a link, as a correct rank does.
    fn next(&mut self, stream: usize, at: usize) {
        let (Some(format), Some(rank)) = (self.formats.get(stream), &mut self.ranks[at]) else {
            return;
        };
        let written = &mut self.written[stream][at];
        let Some((tu, su)) = script(format, LinkId(at as u16 + 1)).get(*written).copied() else {
            return;
        };
        let frame = Frame::su(Kind::Data, self.ids[stream], &tu, &su);
        let mut bytes = frame.encode().to_vec();
        bytes.extend(content(
            stream as u32,
            frame.adu,
            frame.offset,
            su.bytes as usize,
        ));
        // If the socket is full, the frame is cut in the middle, and the rest of the bytes on the
        // link are no frames any more.
        self.tainted |= !rank.write(&bytes);
        *written += 1;
    }

    /// Writes random bytes that resemble a frame to a link.
    fn odd(&mut self, draw: &mut Draw) {
        let stream = draw.below(STREAMS + 1) as u32;
        let kind = [Kind::Data, Kind::Void, Kind::Cut, Kind::End, Kind::Resume][draw.below(5)];
        let frame = Frame {
            kind,
            stream: StreamId(stream),
            adu: draw.number(),
            offset: draw.number(),
            bytes: if matches!(kind, Kind::Data | Kind::Void) {
                1 + draw.number() as u32 % 5000
            } else {
                0
            },
        };
        let mut bytes = any_header(draw, frame.encode()).to_vec();
        bytes.extend(content(
            stream,
            frame.adu,
            frame.offset,
            frame.bytes as usize,
        ));
        self.tainted = true;
        if let Some(rank) = &mut self.ranks[draw.below(LINKS)] {
            rank.write(&bytes);
        }
    }

    /// Sends an acknowledgement and credit from the peer, possibly for packets that were not sent.
    fn acknowledge(&mut self, draw: &mut Draw) {
        self.peer.read();
        let mut header = Header::new(Packet::Acknowledge, 0);
        header.granted = 1 << 40;
        header.acknowledged = draw.number();
        header.delivered = header.acknowledged.min(draw.number());
        let head = header.encode();
        let odd = draw.below(8) == 0;
        let head = if odd { any_header(draw, head) } else { head };
        self.peer.write(&head);
    }

    /// Performs a random action of a rank, an application or the peer.
    fn act(&mut self, draw: &mut Draw) {
        let what = draw.byte() % 24;
        let (stream, at) = (draw.below(STREAMS), draw.below(LINKS));
        let id = self.ids.get(stream).copied();
        match what {
            0..8 => self.next(stream, at),
            8 => self.odd(draw),
            9 => {
                if let Some(rank) = &mut self.ranks[at] {
                    let bytes = draw.bytes();
                    self.tainted |= !bytes.is_empty();
                    rank.write(bytes);
                }
            }
            10 => {
                if let (Some(rank), Some(id)) = (&mut self.ranks[at], id) {
                    let mark = Frame::mark(Kind::Cut, id, 0, 0);
                    self.tainted |= !rank.write(&mark.encode());
                }
            }
            11 => self.ranks[at] = None,
            12 | 13 => self.attach(at, draw.flip()),
            14 => self.driver.cut(LinkId(at as u16 + 1), None),
            15 => {
                if let Some(id) = id {
                    let _ = self.driver.cancel(id);
                }
            }
            16 => {
                if let Some(id) = id {
                    let _ = self.driver.finish(id, draw.number());
                }
            }
            17 | 18 => {
                if let (Some(id), Some(format)) = (id, self.formats.get(stream)) {
                    let whole = format.tu_bytes;
                    let bytes = if draw.flip() { whole } else { draw.number() };
                    self.tainted |= bytes != whole;
                    let _ = self.driver.announce(id, bytes);
                }
            }
            19 | 20 => self.submit(draw),
            21 => self.acknowledge(draw),
            _ => turn(&mut self.driver, 4),
        }
    }

    /// Checks that all packets that the peer received are complete and have the right checksum. If
    /// ranks wrote frames only, also checks the data, from the first byte of each stream.
    fn check(&mut self) {
        self.peer.read();
        let (mut at, mut sequence, mut next) = (0, 0, [(0, 0); STREAMS]);
        let had = &self.peer.had;
        while let Some(head) = had[at..].first_chunk::<{ Header::BYTES }>() {
            let header = Header::decode(head).expect("a driver writes packets");
            let begin = at + Header::BYTES;
            let Some(data) = had.get(begin..begin + header.bytes as usize) else {
                break;
            };
            at = begin + data.len();
            if header.kind != Packet::Data {
                continue;
            }
            if header.sequence < sequence {
                // A packet that was not acknowledged in time may arrive a second time.
                assert!(self.repairs, "{header:?} came twice");
                continue;
            }
            assert_eq!(header.sequence, sequence, "{header:?}");
            sequence += 1;
            if data.is_empty() {
                continue;
            }
            assert_eq!(header.sum, crc32c(data));
            let stream = header.stream as usize;
            assert_eq!(
                (header.adu, header.offset),
                next[stream],
                "of stream {stream}"
            );
            let end = header.offset + data.len() as u64;
            next[stream] = match end == header.adu_bytes {
                true => (header.adu + 1, 0),
                false => (header.adu, end),
            };
            if !self.tainted {
                let right = content(header.stream, header.adu, header.offset, data.len());
                assert!(data == right, "{header:?}");
            }
        }
    }
}

/// Runs ranks, applications and the driver with the random actions that `data` selects.
pub fn link(data: &[u8]) {
    let mut draw = Draw::new(data);
    let protocol = match draw.below(3) {
        0 => Protocol::Stream,
        1 => Protocol::Confirmed { repair: true },
        _ => Protocol::Unconfirmed { reorder: 0 },
    };
    let mut world = World::new(protocol);
    world.submit(&mut draw);
    world.attach(0, false);
    world.attach(1, true);
    turn(&mut world.driver, 4);
    for _ in 0..300 {
        if !draw.more() {
            break;
        }
        world.act(&mut draw);
    }
    for _ in 0..4 {
        turn(&mut world.driver, 8);
        world.peer.read();
    }
    world.check();
}
