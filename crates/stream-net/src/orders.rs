//! Carries out the orders of the stream manager, such as to fetch, store or send data, and handles
//! its events.

use crate::destination::Destination;
use crate::driver::Driver;
use crate::event::Event;
use crate::frame::{Frame, Kind};
use crate::link::PendingFetch;
use crate::sum::Sum;
use crate::transport::{Datagrams, Drawing, FileEnd, FileTransport, SocketUse, Transport};
use isthmus_stream::{
    BufferId, ConnectionId, Direction, End, LinkId, Order, OrderId, PacketId, StreamId, Tu, Work,
};
use isthmus_wire::Socket;
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time that a closed connection has to send its remaining data, and its peer to close it, too.
const LINGER: Duration = Duration::from_secs(5);

impl Driver {
    /// Carries out all orders of the manager, and queues its events for the caller. Returns false
    /// if there were neither.
    pub(crate) fn carry_out(&mut self) -> bool {
        let mut any = false;
        loop {
            // Handle events of the manager before its orders: the end of a stream must be known
            // before its connection is closed.
            while let Some(event) = self.manager.poll_event() {
                any = true;
                self.pass_on(event);
            }
            let Some(order) = self.manager.poll_order() else {
                return any;
            };
            any = true;
            self.begin(order);
        }
    }

    /// Applies an event of the stream manager to the driver's own state, and queues the event for
    /// the caller.
    fn pass_on(&mut self, event: isthmus_stream::Event) {
        match &event {
            isthmus_stream::Event::AduMoved { stream, .. } => {
                if let Some(state) = self.streams.get_mut(stream) {
                    state.moved += 1;
                }
            }
            isthmus_stream::Event::AduDone { stream, .. } => {
                if let Some(state) = self.streams.get_mut(stream) {
                    state.done += 1;
                }
            }
            isthmus_stream::Event::Ended { stream, end } => self.ended(*stream, end),
            isthmus_stream::Event::Lost { connection, .. } => {
                if let Some(spec) = self.connections.get_mut(connection) {
                    spec.failed = true;
                }
            }
            _ => {}
        }
        self.events.push_back(Event::Stream(event));
    }

    /// Removes the driver's state of a stream that has ended. A sending stream that did not end
    /// well marks its connection as failed.
    fn ended(&mut self, stream: StreamId, end: &End) {
        let Some(state) = self.streams.remove(&stream) else {
            return;
        };
        if *end != End::Done
            && state.direction == Direction::Transmit
            && let Some(spec) = self.connections.get_mut(&state.connection)
        {
            spec.failed = true;
        }
        self.memory.forget(stream);
        for id in &state.links {
            let Some(link) = self.links.get_mut(id) else {
                continue;
            };
            link.forget(stream);
            if state.direction == Direction::Receive
                && let Some(output) = &mut link.output
            {
                let kind = if *end == End::Done {
                    Kind::End
                } else {
                    Kind::Cut
                };
                output.mark(Frame::mark(kind, stream, state.moved, 0));
            }
        }
    }

    /// Starts to carry out order number `id` of the manager, which is to do `work`. Work without a
    /// link or a connection is completed at once.
    fn begin(&mut self, Order { id, work }: Order) {
        match work {
            Work::Connect {
                connection,
                destination,
            } => {
                if let Err(why) = self.connect(connection, &destination) {
                    self.lost(connection, &why);
                }
            }
            Work::Disconnect { connection } => self.disconnect(connection),
            Work::Fetch {
                stream,
                tu,
                su,
                buffer,
            } => {
                self.figures.orders += 1;
                self.note_order_link(id, stream, &tu, su.link);
                self.busy_links.add(su.link, self.round_at);
                let link = self.links.entry(su.link).or_default();
                link.fetches.push_back(PendingFetch {
                    order: id,
                    stream,
                    tu,
                    su,
                    buffer,
                });
            }
            // Do nothing for this order: the header is made later, when it is sent, with the newest
            // values.
            Work::Prepare { .. } => {}
            Work::Store {
                stream,
                packet,
                buffer,
                offset,
                bytes,
            } => {
                self.figures.orders += 1;
                let sum = self.store(stream, packet, buffer, offset as usize, bytes as usize);
                let now = self.round_at;
                self.manager.handle_completed(now, id, sum);
            }
            Work::Send {
                connection,
                packet,
                header,
            } => {
                self.figures.orders += 1;
                self.busy_transports.add(connection, self.round_at);
                match self.transports.get_mut(&connection) {
                    Some(Transport::Framed(framed)) => framed.send(id, packet, &header),
                    Some(Transport::Plain(plain)) => plain.send(id, packet, header.bytes),
                    Some(Transport::Screen(drawing)) => drawing.send(id, packet, &header),
                    Some(Transport::File(file)) => {
                        file.send(id, packet, self.memory.take_block(packet))
                    }
                    Some(Transport::Datagrams(datagrams)) => datagrams.send(id, packet, &header),
                    // Drop the packet, because its connection no longer exists.
                    _ => {}
                }
            }
            Work::Control { connection, header } => {
                self.busy_transports.add(connection, self.round_at);
                match self.transports.get_mut(&connection) {
                    Some(Transport::Framed(framed)) => framed.control(&header),
                    Some(Transport::Datagrams(datagrams)) => datagrams.control(&header),
                    // Do nothing with the packet header: files and connections of plain bytes carry
                    // no headers.
                    _ => {}
                }
            }
            Work::Load {
                packet,
                from,
                buffer,
                to,
                bytes,
                ..
            } => {
                self.figures.orders += 1;
                self.load(packet, from as usize, buffer, to as usize, bytes as usize);
                let now = self.round_at;
                self.manager.handle_completed(now, id, 0);
            }
            Work::Deliver {
                stream,
                tu,
                su,
                buffer,
                good,
            } => {
                self.figures.orders += 1;
                self.note_order_link(id, stream, &tu, su.link);
                self.busy_links.add(su.link, self.round_at);
                let kind = if good { Kind::Data } else { Kind::Void };
                let frame = Frame::su(kind, stream, &tu, &su);
                let link = self.links.entry(su.link).or_default();
                match &mut link.output {
                    Some(output) => output.deliver(id, frame, buffer, su.offset),
                    None => link.undelivered.push((id, frame, buffer, su.offset)),
                }
            }
            Work::Free { packet } => self.memory.free(packet),
            Work::Withdraw { order } => self.withdraw(order),
        }
    }

    /// Records the link over which an order to fetch or deliver a striping unit runs, and the
    /// transfer unit of the order.
    fn note_order_link(&mut self, order: OrderId, stream: StreamId, tu: &Tu, link: LinkId) {
        self.order_links.insert(order, link);
        if let Some(state) = self.streams.get_mut(&stream) {
            state.record_tu(tu);
        }
    }

    /// Moves `bytes` bytes of a packet from offset `at` of a buffer to network memory. Returns the
    /// checksum of the data.
    fn store(
        &mut self,
        stream: StreamId,
        packet: PacketId,
        buffer: BufferId,
        at: usize,
        bytes: usize,
    ) -> u32 {
        let checksum = self.streams.get(&stream).map(|state| state.checksum);
        let checksum = checksum.unwrap_or(isthmus_stream::checksum::Checksum::None);
        let of = self.memory.buffer(buffer, 0);
        let whole = at == 0 && of.tu_bytes == bytes;
        let sum = of.pieces.of(checksum, at as u64, bytes as u64);
        if let Some(claims) = self.memory.keep_in_rings(buffer, at, packet, bytes) {
            self.figures.left_in_rings += 1;
            self.figures.summed_again += u64::from(sum.is_none());
            return sum.unwrap_or_else(|| claims.sum(checksum)).word();
        }
        self.memory.gather(buffer, None);
        self.memory.buffer(buffer, at + bytes);
        if whole && let Some(sum) = sum {
            self.figures.handed_over += 1;
            self.memory.hand_over(buffer, packet, bytes);
            return sum.word();
        }
        self.figures.copied += u64::from(!whole);
        self.figures.summed_again += u64::from(sum.is_none());
        let sum = match sum {
            Some(sum) => {
                self.memory.copy_out(buffer, at, packet, bytes, &mut |_| ());
                sum
            }
            None => {
                let mut again = Sum::new(checksum);
                self.memory
                    .copy_out(buffer, at, packet, bytes, &mut |piece| again.add(piece));
                again
            }
        };
        sum.word()
    }

    /// Moves `bytes` bytes of a received packet, from offset `from` on, to offset `to` of a buffer.
    /// A whole packet is moved without copying.
    fn load(&mut self, packet: PacketId, from: usize, buffer: BufferId, to: usize, bytes: usize) {
        if from == 0 && to == 0 && self.memory.packet(packet).len() == bytes {
            self.figures.handed_back += 1;
            self.memory.hand_back(packet, buffer);
            return;
        }
        self.figures.loaded += 1;
        self.memory.copy_in(packet, from, buffer, to, bytes);
    }

    /// Cancels an order to the driver if it is neither completed nor too far to be cancelled.
    fn withdraw(&mut self, order: OrderId) {
        let link = self
            .order_links
            .get(&order)
            .and_then(|id| self.links.get_mut(id));
        let Some(link) = link else {
            return;
        };
        let undelivered = link.undelivered.iter().position(|(id, ..)| *id == order);
        let back = match undelivered {
            Some(index) => {
                link.undelivered.remove(index);
                true
            }
            None => {
                let fetch = link.withdraw_fetch(order);
                let output = link.output.as_mut();
                fetch || output.is_some_and(|it| it.withdraw(order))
            }
        };
        if back {
            self.order_links.remove(&order);
            let now = self.now();
            self.manager.handle_withdrawn(now, order);
        }
    }

    /// Starts to connect connection `id` to the destination `words`, such as a file or a TCP
    /// address. Returns an error text if that is impossible.
    fn connect(&mut self, id: ConnectionId, words: &str) -> Result<(), String> {
        let said = |error: crate::Error| error.to_string();
        let refused = |to: &dyn Display, error: &io::Error| format!("connecting to {to}: {error}");
        match Destination::parse(words).map_err(said)? {
            Destination::RawProvided(name) => self.use_provided(id, name, self.packets(id)),
            Destination::TcpProvided(name) => self.use_provided(id, name, self.plain_bytes(id)),
            Destination::RawUnix(path) => {
                let socket = match self.opened_paths.remove(&id) {
                    Some(there) => Socket::connect_opened(&there),
                    None => Socket::connect_unix(&path),
                };
                let socket = socket.map_err(|error| refused(&path, &error))?;
                self.connected(id, socket, self.packets(id));
            }
            Destination::RawTcp(address) => {
                let socket = Socket::connect_tcp(address);
                let socket = socket.map_err(|error| refused(&address, &error))?;
                let socket_use = self.packets(id);
                self.transports
                    .insert(id, Transport::Connecting(socket, socket_use));
            }
            Destination::Tcp(address) => {
                let socket = Socket::connect_tcp(address);
                let socket = socket.map_err(|error| refused(&address, &error))?;
                let socket_use = self.plain_bytes(id);
                self.transports
                    .insert(id, Transport::Connecting(socket, socket_use));
            }
            Destination::File(path) => {
                let waker = self.waker();
                let directory = self.opened_paths.remove(&id);
                let wake = move || waker.wake();
                let file = FileTransport::new(&path, directory, &self.writers, wake);
                let file = file.inspect_err(|why| self.not_kept(id, &path, why))?;
                self.transports.insert(id, Transport::File(Box::new(file)));
            }
            Destination::Framebuffer(name) => {
                let screen = self.pending_screens.remove(&id);
                let screen = screen.ok_or_else(|| format!("screen {name} was let go of"))?;
                self.transports
                    .insert(id, Transport::Screen(Drawing::new(screen)));
                let now = self.now();
                self.manager.handle_connected(now, id);
            }
            Destination::Udp(to, rate) => {
                let checksum = self.checksum_of(id);
                let datagrams = Datagrams::connect(to, rate, checksum).map_err(said)?;
                self.datagrams(id, datagrams);
            }
            Destination::UdpProvided(name) => match self.provided_datagrams.remove(&name) {
                Some(socket) => {
                    self.datagrams(id, Datagrams::from_socket(socket, self.checksum_of(id)))
                }
                None => {
                    _ = self
                        .transports
                        .insert(id, Transport::AwaitingDatagrams(name))
                }
            },
        }
        Ok(())
    }

    /// Uses the socket that was provided under this name for connection `id`, or waits until it is
    /// provided.
    fn use_provided(&mut self, id: ConnectionId, name: String, socket_use: SocketUse) {
        self.transports
            .insert(id, Transport::AwaitingSocket(name.clone(), socket_use));
        if let Some(socket) = self.provided_sockets.remove(&name) {
            self.provide_socket(&name, socket);
        }
    }

    /// Returns the socket use `Framed`, which carries packets, with the checksum of connection
    /// `id`.
    fn packets(&self, id: ConnectionId) -> SocketUse {
        SocketUse::Framed(self.checksum_of(id))
    }

    /// Returns the socket use `Plain` (bytes without packet headers), with the connection's channel
    /// number if it receives.
    fn plain_bytes(&self, id: ConnectionId) -> SocketUse {
        let window = self.connections.get(&id).and_then(|one| one.plain_window);
        let window = window.filter(|(_, bytes)| *bytes > 0);
        SocketUse::Plain(window.map(|(channel, _)| channel))
    }

    /// Reports to the caller of the driver that the file of a connection was not created or not
    /// completed. `why` is the reason.
    pub(crate) fn not_kept(&mut self, connection: ConnectionId, path: &Path, why: &str) {
        self.events.push_back(Event::NotKept {
            connection,
            path: path.to_owned(),
            reason: why.to_owned(),
        });
    }

    /// Removes a connection that the stream manager no longer needs, and closes its transport.
    fn disconnect(&mut self, id: ConnectionId) {
        let spec = self.connections.remove(&id);
        self.pending_screens.remove(&id);
        self.opened_paths.remove(&id);
        match self.transports.remove(&id) {
            Some(Transport::Framed(mut framed)) => {
                let until = framed.leave().then(|| Instant::now() + LINGER);
                self.lingering.extend(until.map(|until| (framed, until)));
            }
            Some(Transport::File(mut file)) => {
                file.end(match spec {
                    Some(spec) if !spec.failed && spec.used => FileEnd::Keep,
                    Some(spec) if !spec.failed => FileEnd::Unused,
                    _ => FileEnd::Failed,
                });
                self.ending_files.push((id, file));
            }
            // Close only the writing side: the system still sends the data that was written before.
            Some(Transport::Plain(plain)) => plain.socket.finish(),
            Some(Transport::Datagrams(mut datagrams)) => {
                // Send the last header, after which the peer closes its side. Ignore an error: if
                // the header is lost, the peer times out.
                let _ = datagrams.write(&self.memory, &mut Vec::new());
            }
            _ => {}
        }
    }
}
