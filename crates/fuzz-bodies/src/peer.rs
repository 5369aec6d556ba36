//! Fuzz target: a connection of a driver, whose peer sends packets that are correct, late,
//! duplicated, corrupted, or invalid.

use crate::draw::Draw;
use crate::near::{End, any_header, content, driver, take_frames, turn};
use isthmus_stream::checksum::crc32c;
use isthmus_stream::wire::{Header, Kind as Packet};
use isthmus_stream::{
    AppId, ConnectionId, ConnectionSpec, Direction, Format, LinkId, Protocol, StreamId, StreamSpec,
};
use isthmus_stream_net::frame::Kind;
use isthmus_stream_net::{Driver, Ends};
use std::net::UdpSocket;

/// Number of links of the driver.
const LINKS: usize = 2;
/// Number of streams that are submitted.
const STREAMS: usize = 4;
/// Size of an application data unit (ADU) of each stream in bytes.
const ADU: u64 = 3000;
/// Receive window of the connection in bytes.
const WINDOW: u64 = 8 << 10;

/// The peer's end of the connection: a stream socket, or a socket for datagrams.
enum Line {
    Stream(End),
    Datagrams(UdpSocket),
}

impl Line {
    /// Sends a packet to the driver, as far as the socket accepts it.
    fn send(&mut self, packet: &[u8]) {
        match self {
            Self::Stream(end) => _ = end.write(packet),
            Self::Datagrams(socket) => _ = socket.send(packet),
        }
    }

    /// Reads and discards all packets from the driver.
    fn read(&mut self) {
        match self {
            Self::Stream(end) => {
                end.read();
                end.had.clear();
            }
            Self::Datagrams(socket) => while socket.recv(&mut [0; 2048]).is_ok() {},
        }
    }
}

/// The tested driver (a stream manager with its sockets), its ranks, and the peer of its connection.
struct World {
    driver: Driver,
    app: AppId,
    connection: ConnectionId,
    line: Line,
    ranks: [Option<End>; LINKS],
    ids: Vec<StreamId>,
    /// The header of the next packet that a correct sender sends.
    next: Header,
    /// The packets that the peer sent most recently.
    sent: Vec<Vec<u8>>,
}

impl World {
    /// Creates the driver with a connection over a stream socket (`line`) or datagrams.
    fn new(line: bool, protocol: Protocol) -> Self {
        let (mut driver, app) = driver();
        let words = if line {
            "raw:given:peer"
        } else {
            "udp:given:peer"
        };
        let spec = ConnectionSpec::new(words, protocol, WINDOW);
        let connection = driver.open(app, spec).expect("words of a destination");
        let line = if line {
            let (end, other) = End::pair();
            driver.provide_socket("peer", other);
            Line::Stream(end)
        } else {
            let bind = || UdpSocket::bind("127.0.0.1:0").expect("a port");
            let (own_socket, peer_socket) = (bind(), bind());
            let address = |of: &UdpSocket| of.local_addr().expect("an address");
            own_socket.connect(address(&peer_socket)).expect("a peer");
            peer_socket.connect(address(&own_socket)).expect("a peer");
            own_socket.set_nonblocking(true).expect("a socket's flag");
            driver.provide_datagrams("peer", peer_socket);
            Line::Datagrams(own_socket)
        };
        let mut next = Header::new(Packet::Data, 0);
        next.adu_bytes = ADU;
        let mut world = Self {
            driver,
            app,
            connection,
            line,
            ranks: [None, None],
            ids: Vec::new(),
            next,
            sent: Vec::new(),
        };
        for at in 0..LINKS {
            world.attach(at);
        }
        world
    }

    /// Attaches a rank to a link.
    fn attach(&mut self, at: usize) {
        let (rank, other) = End::pair();
        let ends = Ends::socket(other.into());
        if self.driver.attach(LinkId(at as u16 + 1), ends).is_ok() {
            self.ranks[at] = Some(rank);
        }
    }

    /// Submits a stream with random settings that receives from the connection.
    fn submit(&mut self, draw: &mut Draw) {
        if self.ids.len() == STREAMS {
            return;
        }
        let order = [&[1, 2][..], &[2], &[1, 2, 1]][draw.below(3)];
        let order: Vec<_> = order.iter().map(|link| LinkId(*link)).collect();
        let tu = 500 + draw.below(4) as u64 * 1000;
        let format = match draw.below(4) {
            0 => Format::variable(ADU, &order),
            _ => Format::fixed(ADU, tu, &order),
        };
        let spec = StreamSpec {
            adus: draw.flip().then(|| 1 + draw.below(3) as u64),
            ..StreamSpec::new(self.connection, Direction::Receive, format, 0)
        };
        self.ids.extend(self.driver.submit(self.app, &spec));
    }

    /// Sends a packet, and stores it so that it can be sent again.
    fn packet(&mut self, header: Header, data: &[u8]) {
        let mut bytes = header.encode().to_vec();
        bytes.extend(data);
        self.line.send(&bytes);
        if self.sent.len() == 8 {
            self.sent.remove(0);
        }
        self.sent.push(bytes);
    }

    /// Sends the next correct packet of the stream. With `ends`, it ends the stream if it completes
    /// its application data unit (ADU).
    fn good(&mut self, draw: &mut Draw, ends: bool) {
        let mut header = self.next;
        let left = ADU - header.offset;
        header.bytes = left.min([500, 1000, 1500, 2000][draw.below(4)]) as u32;
        let data = data_of(&mut header);
        header.end = ends && left == u64::from(header.bytes);
        self.packet(header, &data);
        self.next.sequence += 1;
        self.next.offset += u64::from(header.bytes);
        if self.next.offset == ADU {
            self.next.offset = 0;
            self.next.adu += 1;
        }
        if header.end {
            self.next_stream();
        }
    }

    /// Makes the following packets belong to the next stream.
    fn next_stream(&mut self) {
        (self.next.adu, self.next.offset) = (0, 0);
        self.next.stream += 1;
    }

    /// Sends the next packet of the stream with corrupted data.
    fn corrupted(&mut self, draw: &mut Draw) {
        let mut header = self.next;
        header.bytes = 500.min(ADU - header.offset) as u32;
        let mut data = data_of(&mut header);
        let at = usize::from(draw.byte()) % data.len();
        data[at] ^= 1 << draw.below(8);
        self.packet(header, &data);
    }

    /// Sends a packet with a random header, and the data that is correct for the position in that
    /// header.
    fn odd(&mut self, draw: &mut Draw) {
        let mut header = self.next;
        header.bytes = 500;
        (header.end, header.floor) = (draw.flip(), u64::from(draw.byte()));
        let bytes = any_header(draw, header.encode());
        let Ok(mut header) = Header::decode(&bytes) else {
            return self.line.send(&bytes);
        };
        if header.bytes > 1 << 16 {
            // Send the header alone: the socket does not accept this number of data bytes.
            return self.line.send(&bytes);
        }
        let sum = header.sum;
        let data = data_of(&mut header);
        if draw.flip() {
            header.sum = sum;
        }
        self.packet(header, &data);
    }

    /// Sends an end mark or, if `cut`, the mark of a stream that was cut short.
    fn mark(&mut self, cut: bool) {
        let mut header = self.next;
        (header.end, header.cut) = (!cut, cut);
        self.packet(header, &[]);
        self.next.sequence += 1;
        self.next_stream();
    }

    /// Sends an acknowledgement or a probe with random numbers.
    fn control_packet(&mut self, draw: &mut Draw) {
        let kind = [Packet::Acknowledge, Packet::Probe][draw.below(2)];
        let mut header = Header::new(kind, 0);
        header.floor = draw.number();
        header.acknowledged = draw.number();
        header.beyond = draw.number();
        header.granted = draw.number();
        header.delivered = draw.number();
        self.packet(header, &[]);
    }

    /// Performs a random action of the peer, a rank or an application.
    fn act(&mut self, draw: &mut Draw) {
        match draw.byte() % 32 {
            0..10 => self.good(draw, false),
            10 | 11 => self.good(draw, true),
            12 => self.corrupted(draw),
            13..16 => self.odd(draw),
            16 => self.mark(draw.flip()),
            17 => self.control_packet(draw),
            18 => self.line.send(draw.bytes()),
            19 | 20 => {
                if !self.sent.is_empty() {
                    let again = self.sent[draw.below(self.sent.len())].clone();
                    self.line.send(&again);
                }
            }
            21 => {
                // Lose a packet: skip its sequence number and its data.
                self.next.sequence += 1;
                self.next.offset = (self.next.offset + 500) % ADU;
            }
            22 | 23 => self.submit(draw),
            24 => {
                if let Some(id) = self.ids.get(draw.below(STREAMS)) {
                    let _ = self.driver.cancel(*id);
                }
            }
            25 => self.ranks[draw.below(LINKS)] = None,
            26 => self.attach(draw.below(LINKS)),
            27 if draw.below(8) == 0 => _ = self.driver.close(self.connection),
            28 => self.check(),
            29 => self.line.read(),
            _ => turn(&mut self.driver, 4),
        }
    }

    /// Checks that ranks received the data that was sent, or void data where data did not arrive.
    fn check(&mut self) {
        for rank in self.ranks.iter_mut().flatten() {
            rank.read();
            for (frame, data) in take_frames(&mut rank.had) {
                if frame.kind != Kind::Data {
                    continue;
                }
                let ordinal = self.ids.iter().position(|id| *id == frame.stream);
                let ordinal = ordinal.expect("a stream that was submitted") as u32;
                let right = content(ordinal, frame.adu, frame.offset, data.len());
                assert!(data == right, "stream {ordinal}: {frame:?}");
            }
        }
    }
}

/// Returns the correct data of the packet with this header, and sets the checksum in the header.
fn data_of(header: &mut Header) -> Vec<u8> {
    let bytes = header.bytes as usize;
    let data = content(header.stream, header.adu, header.offset, bytes);
    header.sum = if bytes == 0 { 0 } else { crc32c(&data) };
    data
}

/// Runs the peer over a stream socket (`line`) or datagrams, with the random actions that `data`
/// selects.
fn play(line: bool, data: &[u8]) {
    let mut draw = Draw::new(data);
    let protocol = match draw.below(4) {
        0 => Protocol::Unconfirmed {
            reorder: draw.below(4) as u32,
        },
        1 => Protocol::Confirmed { repair: true },
        2 => Protocol::Confirmed { repair: false },
        _ => Protocol::Stream,
    };
    let mut world = World::new(line, protocol);
    world.submit(&mut draw);
    turn(&mut world.driver, 4);
    for _ in 0..300 {
        if !draw.more() {
            break;
        }
        world.act(&mut draw);
    }
    for _ in 0..4 {
        turn(&mut world.driver, 8);
        world.check();
    }
}

/// Runs a connection over a stream socket, whose peer performs the random actions that `data`
/// selects.
pub fn peer(data: &[u8]) {
    play(true, data);
}

/// Runs a connection over datagrams, whose peer performs the random actions that `data` selects.
pub fn datagrams(data: &[u8]) {
    play(false, data);
}
