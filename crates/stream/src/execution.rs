//! The execution module (paper, 5.3.2): active streams, each with two buffers, one of which is
//! filled while the other is emptied.
//!
//! On transmit, striping units (SUs) from the links fill a buffer while the headers of its packets
//! are made. The buffer is then emptied into network memory. On receive, packets fill a buffer, and
//! SUs to the links empty it. Filling a buffer begins when the other is full. Emptying it begins
//! when the earlier data in the other one has left it. So SUs of one link and packets of one
//! connection keep their order.

use crate::control::stream::{Buffer, Cursor, Ledger, Stage, live, live_mut};
use crate::control::{Manager, Task};
use crate::format::{Adu, Tu};
use crate::ids::{ConnectionId, Direction, StreamId};
use crate::order::{End, Event, Reason, State, Work};
use crate::resolver::View;
use crate::scheduler::Next;
use crate::wire::{Header, Kind};

impl Manager {
    /// Passes streams whose dependences are resolved to the resource scheduler, in the order of
    /// stream numbers.
    pub(crate) fn resolve_streams(&mut self) {
        let orders = self
            .connections
            .values()
            .flat_map(|connection| &connection.order);
        let fronts = orders.filter_map(|order| order.front().copied());
        let view = self.view();
        let mut ready: Vec<_> = fronts
            .filter(|id| {
                let stream = self.streams.get(id);
                let inactive = |state, end: bool| state == State::Inactive && !end;
                stream.is_some_and(|stream| inactive(stream.state, stream.end.is_some()))
                    && view.resolved(*id)
            })
            .collect();
        ready.sort_unstable();
        for id in ready {
            let now = self.now;
            if let Some(stream) = self.streams.get_mut(&id) {
                stream.enter(State::Pending, now);
                let (need, direction) = (stream.need(), stream.direction.index());
                self.schedulers[direction].enqueue(id, need);
                self.reschedule[direction] = true;
            }
        }
    }

    /// Assigns staging memory and engines to pending streams of this direction.
    pub(crate) fn schedule(&mut self, direction: Direction) {
        loop {
            let view = View {
                streams: &self.streams,
                connections: &self.connections,
                groups: &self.groups,
                memory: &self.memory,
            };
            let apps = &self.apps;
            let limit = |app| {
                apps.get(&app)
                    .map_or(u64::MAX, |app| app.limits.staging_bytes)
            };
            let scheduler = &mut self.schedulers[direction.index()];
            match scheduler.next(|id| view.may_begin(id), limit) {
                Next::Taken(id) => self.activate(id),
                Next::Waits | Next::Nobody => break,
            }
        }
        // Active streams that are at the end of an application data unit (ADU) may have to be
        // swapped out.
        let active = self.schedulers[direction.index()].active();
        self.dirty_streams.extend(active);
    }

    /// Makes a stream active after the scheduler has assigned resources to it: assigns two free
    /// buffers to it.
    fn activate(&mut self, id: StreamId) {
        let buffers = [(); 2].map(|()| {
            let id = self.take_buffer();
            Buffer {
                id,
                ..Buffer::default()
            }
        });
        let now = self.now;
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.buffers = Some(buffers);
            (stream.fill, stream.empty) = (0, 0);
            stream.quantum_left = stream.quantum;
            stream.enter(State::Active, now);
        }
        self.statistics.activations += 1;
        self.push_event(Event::Activated(id));
        self.dirty_streams.insert(id);
    }

    /// Advances a stream as far as possible: fills and empties its buffers.
    pub(crate) fn step(&mut self, id: StreamId) {
        let Some(stream) = live(&self.streams, id) else {
            return;
        };
        let active = stream.state == State::Active;
        // Both directions are tried in each round, so `|` must not be replaced by `||`.
        while active && self.begin_emptying(id) | self.begin_filling(id) {}
        if !self.finish_moving(id) {
            self.swap_out(id);
        }
    }

    /// Returns whether another stream waits for the resources that stream `id` holds: `None` if
    /// none does, otherwise whether the waiting stream is permanent.
    fn waiter(&self, id: StreamId) -> Option<bool> {
        let stream = self.streams.get(&id)?;
        let view = self.view();
        let limit = |app| self.limits(app).staging_bytes;
        let scheduler = &self.schedulers[stream.direction.index()];
        scheduler.waiter(stream.app, |id| view.may_begin(id), limit)
    }

    /// Swaps a stream out at the end of an application data unit (ADU), if the rules of the
    /// scheduler require it.
    fn swap_out(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get(&id) else {
            return;
        };
        let between = stream.state == State::Active && stream.cursor.is_none() && stream.idle();
        if !between || stream.permanent || stream.end.is_some() {
            return;
        }
        let Some(permanent) = self.waiter(id) else {
            return;
        };
        if stream.quantum_left > 0 && !permanent && self.view().may_begin(id) {
            return;
        }
        self.release_resources(id);
        let now = self.now;
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.enter(State::Pending, now);
            let need = stream.need();
            self.schedulers[stream.direction.index()].enqueue(id, need);
        }
        self.statistics.swaps += 1;
        self.push_event(Event::SwappedOut(id));
    }

    /// Releases the buffers and engines of a stream.
    pub(crate) fn release_resources(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        let direction = stream.direction.index();
        let connection = stream.connection;
        for buffer in stream.buffers.take().into_iter().flatten() {
            self.free_buffers.insert(buffer.id.0);
            let receives = direction == Direction::Receive.index();
            if receives && buffer.stage != Stage::Empty {
                self.emptied(connection, 0);
            }
        }
        if self.schedulers[direction].release(id) {
            self.reschedule[direction] = true;
        }
    }

    /// Begins or continues to fill the next buffer of a stream, if possible. Returns whether the
    /// state of the stream changed.
    fn begin_filling(&mut self, id: StreamId) -> bool {
        let Some(stream) = live(&self.streams, id) else {
            return false;
        };
        let Some(buffers) = &stream.buffers else {
            return false;
        };
        let receives = stream.direction == Direction::Receive;
        if buffers.iter().any(|buffer| buffer.stage == Stage::Filling) {
            return receives && self.load(id);
        }
        let slot = stream.fill;
        if buffers[slot].stage != Stage::Empty {
            return false;
        }
        if stream.cursor.is_none() && !self.begin_adu(id) {
            return false;
        }
        let Some(stream) = self.streams.get_mut(&id) else {
            return false;
        };
        let Some(cursor) = stream.cursor else {
            return false;
        };
        let Some(tu) = stream.format.tu(cursor.adu, cursor.bytes, cursor.next_tu) else {
            return false;
        };
        let next = Cursor {
            next_tu: cursor.next_tu + 1,
            ..cursor
        };
        stream.cursor = (!tu.last).then_some(next);
        stream.fill ^= 1;
        if let Some(buffers) = &mut stream.buffers {
            buffers[slot] = Buffer {
                id: buffers[slot].id,
                stage: Stage::Filling,
                tu,
                adu_bytes: cursor.bytes,
                ..Buffer::default()
            };
        }
        if receives {
            self.buffered(id, 1);
            self.load(id);
        } else {
            self.fetch(id, slot, tu, cursor.bytes);
        }
        true
    }

    /// Begins the next application data unit (ADU) of a stream, if the resolver and the scheduler
    /// permit it. Returns whether an ADU was started.
    fn begin_adu(&mut self, id: StreamId) -> bool {
        if !self.view().may_begin(id) {
            return false;
        }
        let Some(stream) = self.streams.get(&id) else {
            return false;
        };
        // A stream that has just been swapped in always moves one application data unit (ADU).
        let fresh = stream.quantum_left == stream.quantum;
        if !stream.permanent
            && !fresh
            && let Some(permanent) = self.waiter(id)
            && (permanent || stream.quantum_left == 0)
        {
            return false;
        }
        let adu = stream.started;
        let bytes = match (stream.direction, stream.format.adu) {
            (_, Adu::Fixed(bytes)) => Some(bytes),
            (Direction::Transmit, Adu::Variable) => stream.next_adu_bytes(),
            (Direction::Receive, Adu::Variable) => self.next_received(id),
        };
        let Some(stream) = self.streams.get_mut(&id) else {
            return false;
        };
        let Some(bytes) = bytes else {
            return false;
        };
        if stream.quantum_left == 0 {
            stream.quantum_left = stream.quantum;
        }
        stream.quantum_left -= 1;
        stream.started += 1;
        if stream.direction == Direction::Transmit {
            stream.lengths.pop_front();
            stream.ledger.push_back(Ledger::default());
        }
        stream.cursor = Some(Cursor {
            adu,
            bytes,
            next_tu: 0,
        });
        self.push_event(Event::AduStarted { stream: id, adu });
        true
    }

    /// Returns the size of the next received application data unit (ADU) of variable size. Counts
    /// earlier ADUs that were lost completely as moved, because their size is unknown.
    fn next_received(&mut self, id: StreamId) -> Option<u64> {
        let stream = self.streams.get(&id)?;
        let connection = self.connections.get(&stream.connection)?;
        let packet = connection.receive.held.front()?;
        let header = self.memory.get(*packet)?.header;
        if header.adu == stream.started {
            // A larger application data unit (ADU) is invalid: the stream fails when the connection
            // is settled.
            let fits = header.adu_bytes <= stream.format.tu_bytes;
            return fits.then_some(header.adu_bytes);
        }
        // All earlier data must have left the buffers, so that events stay in order.
        if !stream.idle() {
            return None;
        }
        if connection.protocol().repairs() || header.adu < stream.started {
            let next = stream.started;
            let why = format!("the peer sends ADU {} where ADU {next} is next", header.adu);
            self.end_stream(id, End::Failed(Reason::Mismatch(why)));
            return None;
        }
        let lost = stream.started..header.adu;
        if let Some(stream) = self.streams.get_mut(&id) {
            (stream.started, stream.moved, stream.done) = (header.adu, header.adu, header.adu);
        }
        for adu in lost {
            self.push_event(Event::AduMoved {
                stream: id,
                adu,
                good: false,
            });
        }
        self.step_moved(id);
        None
    }

    /// Issues the orders to fetch the striping units (SUs) of a transfer unit (TU), and to make the
    /// headers of its packets.
    fn fetch(&mut self, id: StreamId, slot: usize, tu: Tu, adu_bytes: u64) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        let Some(buffers) = &mut stream.buffers else {
            return;
        };
        let sus: Vec<_> = stream.format.sus(tu.bytes).collect();
        let packets: Vec<_> = stream.format.packets(tu.bytes).collect();
        buffers[slot].pending_orders = sus.len() as u64;
        let buffer = buffers[slot].id;
        for su in &sus {
            if let Some(link) = stream.links.iter_mut().find(|link| link.id == su.link) {
                link.ordered = link.ordered.saturating_add(su.bytes);
            }
        }
        let (ordinal, stream) = (stream.ordinal, id);
        for su in sus {
            let task = Task::Fetch(id, slot, su);
            self.issue_task(
                task,
                Work::Fetch {
                    stream,
                    tu,
                    su,
                    buffer,
                },
            );
        }
        for (offset, bytes) in packets {
            let mut header = Header::new(Kind::Data, 0);
            header.stream = ordinal;
            (header.adu, header.adu_bytes) = (tu.adu, adu_bytes);
            (header.offset, header.bytes) = (tu.offset + offset, bytes);
            self.direct(Work::Prepare {
                stream,
                buffer,
                header,
            });
        }
    }

    /// Begins to empty the next buffer of a stream, if it is full and the earlier data in the other
    /// buffer has left it. Returns whether it did.
    fn begin_emptying(&mut self, id: StreamId) -> bool {
        let Some(stream) = live_mut(&mut self.streams, id) else {
            return false;
        };
        let Some(buffers) = &mut stream.buffers else {
            return false;
        };
        let slot = stream.empty;
        if buffers[slot ^ 1].stage == Stage::Emptying {
            return false;
        }
        if buffers[slot].stage == Stage::Filling && stream.cut_through {
            self.store_early(id, slot);
            return false;
        }
        if buffers[slot].stage != Stage::Full {
            return false;
        }
        if stream.direction == Direction::Transmit {
            if !self.store_queue.contains(&id) {
                self.store_queue.push_back(id);
                self.room_made = true;
            }
            return false;
        }
        let Buffer {
            id: buffer,
            tu,
            void,
            ..
        } = buffers[slot];
        let sus: Vec<_> = stream.format.sus(tu.bytes).collect();
        buffers[slot].stage = Stage::Emptying;
        buffers[slot].pending_orders = sus.len() as u64;
        stream.empty ^= 1;
        for su in sus {
            let work = Work::Deliver {
                stream: id,
                tu,
                su,
                buffer,
                good: !void,
            };
            self.issue_task(Task::Deliver(id, slot, su), work);
        }
        true
    }

    /// Stores full buffers in network memory, in the order in which they became full. A buffer
    /// whose connection or application has reached its share is skipped. A buffer that does not fit
    /// blocks those behind it.
    pub(crate) fn store_waiting(&mut self) {
        let mut blocked = false;
        for id in std::mem::take(&mut self.store_queue) {
            let Some((connection, bytes)) = self.waits_to_store(id) else {
                continue;
            };
            let full = bytes > self.share_left(connection);
            blocked |= !full && bytes > self.memory.room(Direction::Transmit);
            if full || blocked {
                self.store_queue.push_back(id);
                continue;
            }
            self.store(id);
            self.dirty_streams.insert(id);
        }
    }

    /// If a stream waits to store a full buffer in network memory, returns the stream's connection
    /// and the size of the buffer's data in bytes.
    fn waits_to_store(&self, id: StreamId) -> Option<(ConnectionId, u64)> {
        let stream = live(&self.streams, id)?;
        let buffers = stream.buffers.as_ref()?;
        Some((stream.connection, buffers[stream.empty].tu.bytes))
    }

    /// Returns whether a stream that has not reached its share waits for network memory.
    fn is_memory_awaited(&self) -> bool {
        let waiting = self
            .store_queue
            .iter()
            .filter_map(|id| self.waits_to_store(*id));
        let mut may = waiting.map(|(connection, bytes)| bytes <= self.share_left(connection));
        may.any(|may| may)
    }

    /// Stores the complete packets of a transfer unit (TU) that is still being filled in network
    /// memory, unless a stream waits for network memory.
    fn store_early(&mut self, id: StreamId, slot: usize) {
        let Some(stream) = self.streams.get(&id) else {
            return;
        };
        let Some(buffers) = &stream.buffers else {
            return;
        };
        let buffer = &buffers[slot];
        let (tu, adu_bytes, covered) = (buffer.tu, buffer.adu_bytes, buffer.covered);
        let packets = stream.format.packets(tu.bytes).skip(buffer.early);
        // Leave out the last packet: it carries the end mark, so it is stored only when the whole
        // transfer unit (TU) is in the buffer.
        let there: Vec<_> = packets
            .take_while(|(offset, bytes)| {
                let end = offset + u64::from(*bytes);
                end <= covered && end < tu.bytes
            })
            .collect();
        let (buffer, connection) = (buffer.id, stream.connection);
        for (offset, bytes) in there {
            let room = self.memory.room(Direction::Transmit);
            let most = room.min(self.share_left(connection));
            if u64::from(bytes) > most || self.is_memory_awaited() {
                return;
            }
            let mut header = Header::new(Kind::Data, 0);
            (header.adu, header.adu_bytes) = (tu.adu, adu_bytes);
            (header.offset, header.bytes) = (tu.offset + offset, bytes);
            let Some(packet) = self.sequence(id, header) else {
                return;
            };
            if let Some(stream) = self.streams.get_mut(&id) {
                if let Some(ledger) = stream.ledger.get_mut((tu.adu - stream.done) as usize) {
                    ledger.packets += 1;
                }
                if let Some(buffers) = &mut stream.buffers {
                    buffers[slot].early += 1;
                    buffers[slot].storing += 1;
                }
            }
            let work = Work::Store {
                stream: id,
                packet,
                buffer,
                offset,
                bytes,
            };
            self.issue_task(Task::Store(id, slot, packet), work);
            self.statistics.stored_early += 1;
            self.dirty_connections.insert(connection);
        }
    }

    /// Issues the orders to store the packets of a full buffer in network memory.
    fn store(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        let slot = stream.empty;
        let Some(buffers) = &mut stream.buffers else {
            return;
        };
        let Buffer {
            id: buffer,
            tu,
            adu_bytes,
            early,
            storing,
            ..
        } = buffers[slot];
        let packets: Vec<_> = stream.format.packets(tu.bytes).skip(early).collect();
        buffers[slot].stage = Stage::Emptying;
        buffers[slot].pending_orders = packets.len() as u64 + storing;
        buffers[slot].storing = 0;
        stream.empty ^= 1;
        let repairs = self.connections.get(&stream.connection);
        let repairs = repairs.is_some_and(|connection| connection.protocol().repairs());
        let last = tu.last && stream.adus == Some(tu.adu + 1) && repairs;
        stream.marked |= last;
        stream.bytes += tu.bytes;
        if let Some(ledger) = stream.ledger.get_mut((tu.adu - stream.done) as usize) {
            ledger.packets += packets.len() as u64;
        }
        let most = packets.len();
        for (at, (offset, bytes)) in packets.into_iter().enumerate() {
            let mut header = Header::new(Kind::Data, 0);
            (header.adu, header.adu_bytes) = (tu.adu, adu_bytes);
            (header.offset, header.bytes) = (tu.offset + offset, bytes);
            header.end = last && at + 1 == most;
            let Some(packet) = self.sequence(id, header) else {
                continue;
            };
            let work = Work::Store {
                stream: id,
                packet,
                buffer,
                offset,
                bytes,
            };
            self.issue_task(Task::Store(id, slot, packet), work);
        }
    }
}
