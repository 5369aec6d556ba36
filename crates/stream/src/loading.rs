//! Loading of received packets into the buffers of streams. The gaps that lost packets leave are
//! skipped.

use crate::control::stream::{Stage, live};
use crate::control::{Manager, Task};
use crate::ids::{ConnectionId, PacketId, StreamId};
use crate::order::{End, Event, Reason, Work};
use crate::wire::Header;

/// The next piece of the transfer unit (TU) that is being loaded from received packets into a
/// buffer.
enum Piece {
    /// The next packet has not arrived yet.
    Wait,
    /// This number of bytes is permanently missing, because packets were lost.
    Missing(u64),
    /// The next piece is data of this packet: its number, its header and the length of the piece in
    /// bytes.
    Take(PacketId, Header, u64),
    /// A packet that has no data left for the buffer, and is to be discarded.
    Used(PacketId, Header),
    /// The peer sent invalid data, described by the message.
    Wrong(String),
}

impl Manager {
    /// Loads received data into the buffer that the stream is filling. Returns whether the state of
    /// the stream changed.
    pub(crate) fn load(&mut self, id: StreamId) -> bool {
        let mut changed = false;
        while let Some(stream) = live(&self.streams, id) {
            let connection = stream.connection;
            let buffers = stream.buffers.iter().flatten().enumerate();
            let mut filling = buffers.filter(|(_, buffer)| buffer.stage == Stage::Filling);
            let Some((slot, buffer)) = filling.next() else {
                return changed;
            };
            if buffer.covered == buffer.tu.bytes {
                return self.loaded(id, slot) || changed;
            }
            let (start, covered, buffer_id) = (buffer.tu.offset, buffer.covered, buffer.id);
            let adu = buffer.tu.adu;
            match self.next_piece(id, slot) {
                Piece::Wait => return changed,
                Piece::Wrong(why) => {
                    self.end_stream(id, End::Failed(Reason::Mismatch(why)));
                    return false;
                }
                Piece::Used(packet, header) => self.discard(connection, packet, &header),
                Piece::Missing(bytes) => {
                    let range = (start + covered, bytes);
                    let stream = id;
                    self.push_event(Event::Missing { stream, adu, range });
                    self.cover(id, slot, bytes, true);
                }
                Piece::Take(packet, header, bytes) => {
                    let from = start + covered - header.offset;
                    if let Some(packet) = self.memory.get_mut(packet) {
                        packet.users += 1;
                    }
                    self.cover(id, slot, bytes, false);
                    if from + bytes == u64::from(header.bytes) {
                        self.take(id, slot, packet, &header);
                    }
                    let work = Work::Load {
                        stream: id,
                        packet,
                        from,
                        buffer: buffer_id,
                        to: covered,
                        bytes,
                    };
                    self.issue_task(Task::Load(id, slot, packet), work);
                }
            }
            changed = true;
        }
        changed
    }

    /// Returns the next piece of the transfer unit (TU) in the buffer at index `slot`, from the
    /// first packet of the receive queue.
    fn next_piece(&self, id: StreamId, slot: usize) -> Piece {
        let Some(stream) = self.streams.get(&id) else {
            return Piece::Wait;
        };
        let Some(connection) = self.connections.get(&stream.connection) else {
            return Piece::Wait;
        };
        let Some(buffer) = stream.buffers.as_ref().map(|buffers| &buffers[slot]) else {
            return Piece::Wait;
        };
        let tu = buffer.tu;
        let at = tu.offset + buffer.covered;
        let end = tu.offset + tu.bytes;
        let whole = connection.protocol().repairs();
        let front = connection.receive.held.front().copied();
        let front = front.and_then(|id| Some((id, self.memory.get(id)?.header)));
        let of_stream =
            front.filter(|(_, header)| header.stream == stream.ordinal && header.bytes > 0);
        let wrong = |found: String| {
            Piece::Wrong(format!(
                "the peer sends {found} where ADU {} goes on at byte {at}",
                tu.adu
            ))
        };
        let Some((packet, header)) = of_stream else {
            let over = stream.peer_adus.is_some() || stream.end_lost;
            return match over {
                false => Piece::Wait,
                true if whole => wrong("the end of the stream".into()),
                true => Piece::Missing(end - at),
            };
        };
        if header.adu < tu.adu {
            return Piece::Used(packet, header);
        }
        if header.adu > tu.adu {
            return match whole {
                true => wrong(format!("ADU {}", header.adu)),
                false => Piece::Missing(end - at),
            };
        }
        if header.adu_bytes != buffer.adu_bytes {
            return wrong(format!("an ADU of {} bytes", header.adu_bytes));
        }
        let packet_end = header.offset + u64::from(header.bytes);
        if header.offset > at {
            return match whole {
                true => wrong(format!("byte {}", header.offset)),
                false => Piece::Missing(header.offset.min(end) - at),
            };
        }
        if packet_end <= at {
            return Piece::Used(packet, header);
        }
        Piece::Take(packet, header, packet_end.min(end) - at)
    }

    /// Records the next `bytes` bytes of a buffer's transfer unit (TU) as present or, if `void`, as
    /// lost.
    fn cover(&mut self, id: StreamId, slot: usize, bytes: u64, void: bool) {
        let stream = self.streams.get_mut(&id);
        if let Some(buffers) = stream.and_then(|stream| stream.buffers.as_mut()) {
            buffers[slot].covered += bytes;
            buffers[slot].void |= void;
            buffers[slot].pending_orders += u64::from(!void);
        }
    }

    /// Removes from the receive queue a packet whose data is completely in buffers or being copied
    /// there.
    fn take(&mut self, id: StreamId, slot: usize, packet: PacketId, header: &Header) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        if let Some(buffers) = &mut stream.buffers {
            buffers[slot].taken = header.sequence + 1;
        }
        if header.end {
            stream.peer_adus = Some(header.adu + 1);
        }
        let connection = stream.connection;
        if let Some(connection) = self.connections.get_mut(&connection) {
            connection.receive.held.pop_front();
            connection.receive.taken = header.sequence + 1;
        }
        if let Some(packet) = self.memory.get_mut(packet) {
            packet.leaving = true;
        }
        self.dirty_connections.insert(connection);
    }

    /// Marks a buffer as full if the whole transfer unit (TU) is present and no copies into it are
    /// under way. Returns whether it did.
    pub(crate) fn loaded(&mut self, id: StreamId, slot: usize) -> bool {
        let stream = self.streams.get_mut(&id);
        let buffer = stream.and_then(|stream| stream.buffers.as_mut());
        let Some(buffer) = buffer.map(|buffers| &mut buffers[slot]) else {
            return false;
        };
        let full = buffer.stage == Stage::Filling
            && buffer.pending_orders == 0
            && buffer.covered == buffer.tu.bytes;
        if full {
            buffer.stage = Stage::Full;
        }
        full
    }

    /// Increases by `more` the number of buffers of the stream's connection that contain
    /// undelivered data.
    pub(crate) fn buffered(&mut self, id: StreamId, more: u64) {
        let connection = self.streams.get(&id).map(|stream| stream.connection);
        if let Some(connection) = connection.and_then(|id| self.connections.get_mut(&id)) {
            connection.receive.buffered += more;
        }
    }

    /// Handles the event that a buffer of a receive stream was emptied: its data was written to the
    /// links. All packets below the sequence number `taken` are then delivered.
    pub(crate) fn emptied(&mut self, id: ConnectionId, taken: u64) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        connection.receive.buffered = connection.receive.buffered.saturating_sub(1);
        if connection.receive.deliver_below(taken) {
            self.schedule_acknowledgement(id);
        }
        self.report_all_delivered(id);
    }
}
