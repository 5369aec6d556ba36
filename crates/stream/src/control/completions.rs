//! Handles the driver's reports on orders: records which application data units (ADUs) of the
//! streams are moved and done.

use super::{Manager, Task};
use crate::control::stream::{Stage, live, live_mut};
use crate::format::{Adu, Su};
use crate::ids::{Direction, Instant, OrderId, PacketId, StreamId};
use crate::order::{End, Event, Reason, State};
use crate::protocol::transmit::Awaited;

impl Manager {
    /// Handles the driver's report that it has carried out an order. For a `Store`, `sum` is the
    /// checksum of the packet; other orders do not use it.
    pub fn handle_completed(&mut self, now: Instant, order: OrderId, sum: u32) {
        self.advance(now);
        match self.outstanding.remove(&order) {
            None => self.statistics.stale += 1,
            Some(task) => self.completed(&task, sum, true),
        }
        self.settle();
    }

    /// Handles the driver's report that it ended an order, which the manager had withdrawn, without
    /// carrying it out.
    pub fn handle_withdrawn(&mut self, now: Instant, order: OrderId) {
        self.advance(now);
        let wanted = match self.outstanding.get(&order) {
            Some(Task::Fetch(stream, ..) | Task::Deliver(stream, ..)) => {
                let stream = self.streams.get(stream);
                stream.is_none_or(|stream| stream.end.is_none())
            }
            _ => true,
        };
        if wanted {
            // The driver reports a withdrawal that the manager did not request: count the report
            // only.
            self.statistics.stale += 1;
        } else if let Some(task) = self.outstanding.remove(&order) {
            self.completed(&task, 0, false);
        }
        self.settle();
    }

    /// Handles the end of an order. `done` says whether the order has moved its data.
    pub(super) fn completed(&mut self, task: &Task, sum: u32, done: bool) {
        match *task {
            Task::Fetch(id, slot, su) => {
                self.covered(id, slot, &su);
                let live = self.order_done(id, slot);
                if live && self.remaining(id, slot) == 0 {
                    self.enter_stage(id, slot, Stage::Full);
                }
            }
            Task::Store(id, slot, packet) => {
                self.stored(packet, sum);
                let early = self.stored_early(id, slot);
                let live = self.order_done(id, slot);
                if live && !early && self.remaining(id, slot) == 0 {
                    let last = self.enter_stage(id, slot, Stage::Empty);
                    if let Some(adu) = last {
                        self.adu_stored(id, adu);
                    }
                }
            }
            Task::Send(connection, packet) => self.sent(connection, packet),
            Task::Load(id, slot, packet) => {
                self.load_over(packet);
                if self.order_done(id, slot) {
                    self.loaded(id, slot);
                }
            }
            Task::Deliver(id, slot, _) => {
                let live = self.order_done(id, slot);
                if live && done && self.remaining(id, slot) == 0 {
                    self.tu_delivered(id, slot);
                }
            }
        }
    }

    /// Decrements the number of orders under way that use a buffer. Returns false if the stream has
    /// ended.
    fn order_done(&mut self, id: StreamId, slot: usize) -> bool {
        self.record_progress(id);
        let Some(stream) = self.streams.get_mut(&id) else {
            return false;
        };
        if let Some(buffers) = &mut stream.buffers {
            buffers[slot].pending_orders = buffers[slot].pending_orders.saturating_sub(1);
        }
        if stream.end.is_some() {
            self.reap(id);
            return false;
        }
        self.dirty_streams.insert(id);
        true
    }

    /// With cut-through: records that all data of a striping unit (SU) is in the buffer.
    fn covered(&mut self, id: StreamId, slot: usize, su: &Su) {
        let stream = self.streams.get_mut(&id).filter(|it| it.cut_through);
        if let Some(buffers) = stream.and_then(|stream| stream.buffers.as_mut()) {
            buffers[slot].cover(su.offset, su.bytes);
        }
    }

    /// Handles a packet that was stored (copied to network memory) while its buffer was still being
    /// filled, as cut-through permits. Returns false if none was. Increments the number of orders
    /// that use the buffer, which `order_done` decrements next.
    fn stored_early(&mut self, id: StreamId, slot: usize) -> bool {
        let stream = self.streams.get_mut(&id);
        let Some(buffers) = stream.and_then(|stream| stream.buffers.as_mut()) else {
            return false;
        };
        let buffer = &mut buffers[slot];
        if buffer.storing == 0 {
            return false;
        }
        buffer.storing -= 1;
        buffer.pending_orders += 1;
        true
    }

    /// Returns the number of orders under way that use the buffer at index `slot` of a stream.
    fn remaining(&self, id: StreamId, slot: usize) -> u64 {
        let buffers = self
            .streams
            .get(&id)
            .and_then(|stream| stream.buffers.as_ref());
        buffers.map_or(0, |buffers| buffers[slot].pending_orders)
    }

    /// Sets the stage of a buffer, such as full or emptying. Returns the number of the application
    /// data unit (ADU) if the buffer's transfer unit (TU) is the last one of the ADU.
    fn enter_stage(&mut self, id: StreamId, slot: usize, stage: Stage) -> Option<u64> {
        let stream = self.streams.get_mut(&id)?;
        let buffer = &mut stream.buffers.as_mut()?[slot];
        buffer.stage = stage;
        buffer.tu.last.then_some(buffer.tu.adu)
    }

    /// Records the checksum of a packet whose data was copied to network memory.
    fn stored(&mut self, id: PacketId, sum: u32) {
        let Some(packet) = self.memory.get_mut(id) else {
            return;
        };
        packet.header.sum = sum;
        packet.whole = true;
        let (connection, leaving) = (packet.connection, packet.leaving);
        self.dirty_connections.insert(connection);
        if leaving {
            self.release(id, false);
        }
    }

    /// Handles the end of a copy from a received packet to a buffer.
    fn load_over(&mut self, id: PacketId) {
        let Some(packet) = self.memory.get_mut(id) else {
            return;
        };
        packet.users = packet.users.saturating_sub(1);
        if packet.leaving && packet.users == 0 {
            self.release(id, true);
        }
    }

    /// Handles an application data unit (ADU) of a transmit stream that is now completely in
    /// network memory.
    fn adu_stored(&mut self, id: StreamId, adu: u64) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        stream.moved = adu + 1;
        if let Some(ledger) = stream.ledger.get_mut((adu - stream.done) as usize) {
            ledger.moved = true;
        }
        let connection = stream.connection;
        self.statistics.adus += 1;
        let (stream, good) = (id, true);
        self.push_event(Event::AduMoved { stream, adu, good });
        self.dirty_connections.insert(connection);
        self.settle_ledger(id);
        self.step_moved(id);
    }

    /// Handles a transfer unit (TU) of a receive stream of which the ranks have received all
    /// striping units (SUs).
    fn tu_delivered(&mut self, id: StreamId, slot: usize) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        let Some(buffers) = &mut stream.buffers else {
            return;
        };
        let buffer = &mut buffers[slot];
        buffer.stage = Stage::Empty;
        let (tu, void, taken) = (buffer.tu, buffer.void, buffer.taken);
        stream.good &= !void;
        stream.bytes += tu.bytes;
        if !void {
            self.statistics.bytes_delivered += tu.bytes;
        }
        let connection = stream.connection;
        if tu.last {
            let good = std::mem::replace(&mut stream.good, true);
            (stream.moved, stream.done) = (tu.adu + 1, tu.adu + 1);
            let (stream, adu) = (id, tu.adu);
            self.statistics.adus += 1;
            self.push_event(Event::AduMoved { stream, adu, good });
            self.step_moved(id);
        }
        self.emptied(connection, taken);
    }

    /// Handles progress of stream `id` by one application data unit (ADU): marks it and the streams
    /// in lock step with it (its group) for a check whether they may continue.
    pub(crate) fn step_moved(&mut self, id: StreamId) {
        self.dirty_streams.insert(id);
        let group = self.streams.get(&id).and_then(|stream| stream.group);
        if let Some(members) = group.and_then(|group| self.groups.get(&group)) {
            self.dirty_streams.extend(members);
            self.reschedule = [true; 2];
            self.resolve = true;
        }
    }

    /// Handles a packet that the peer has confirmed: counts it as done in the record of its data
    /// unit.
    pub(crate) fn confirm(&mut self, awaited: Awaited) {
        self.settle_awaited(awaited, false);
    }

    /// Handles a packet that is permanently lost: counts it as lost in the record of its data unit.
    pub(crate) fn lost(&mut self, awaited: Awaited) {
        self.settle_awaited(awaited, true);
    }

    /// Counts a packet as confirmed or lost in the record of its application data unit (ADU).
    fn settle_awaited(&mut self, awaited: Awaited, lost: bool) {
        let id = awaited.stream;
        self.record_progress(id);
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        let place = awaited.adu.and_then(|adu| adu.checked_sub(stream.done));
        if let Some(ledger) = place.and_then(|place| stream.ledger.get_mut(place as usize)) {
            ledger.packets = ledger.packets.saturating_sub(1);
            ledger.lost |= lost;
        }
        self.settle_ledger(id);
        self.dirty_streams.insert(id);
    }

    /// Removes the completed application data units (ADUs) from the front of the ledger of a
    /// transmit stream (its ADUs under way, in order), and reports them to the application.
    fn settle_ledger(&mut self, id: StreamId) {
        while let Some(stream) = live_mut(&mut self.streams, id) {
            let first = stream.ledger.front();
            let Some(first) = first.filter(|first| first.moved && first.packets == 0) else {
                return;
            };
            let (adu, good) = (stream.done, !first.lost);
            stream.ledger.pop_front();
            stream.done += 1;
            let stream = id;
            self.push_event(Event::AduDone { stream, adu, good });
            self.step_moved(id);
        }
    }

    /// Handles a stream that may have moved all its data. If so, it ends, or releases its buffers
    /// and waits until its application data units (ADUs) are done. Returns false if it is not so.
    pub(crate) fn finish_moving(&mut self, id: StreamId) -> bool {
        let Some(stream) = live(&self.streams, id) else {
            return false;
        };
        let Some(connection) = self.connections.get(&stream.connection) else {
            return false;
        };
        // Whether a receiving stream may end without an end mark from the peer: the mark may be
        // lost on a connection without repair, and a closed connection delivers none any more.
        let over = connection.gone.is_some() && connection.receive.held.is_empty();
        let unmarked = over || !connection.protocol().repairs();
        if stream.cursor.is_some() || !stream.idle() {
            return false;
        }
        if stream.direction == Direction::Receive {
            if stream.format.adu == Adu::Variable && stream.peer_adus.is_some() {
                self.report_lost_tail(id);
            }
            let Some(stream) = self.streams.get(&id) else {
                return false;
            };
            let is_last = stream.peer_adus == Some(stream.moved);
            let enough = stream.satisfied() && unmarked;
            let end = if let (true, Some(adus)) = (is_last, stream.adus)
                && adus != stream.moved
            {
                let sent = stream.moved;
                let why = format!("the peer sent {sent} ADUs, {adus} were asked for");
                End::Failed(Reason::Mismatch(why))
            } else if is_last || enough {
                End::Done
            } else if stream.end_lost && stream.peer_adus.is_none() {
                End::Failed(Reason::EndLost)
            } else {
                return false;
            };
            self.end_stream(id, end);
            return true;
        }
        if !stream.marked || stream.adus != Some(stream.moved) {
            return false;
        }
        if stream.done == stream.moved {
            self.end_stream(id, End::Done);
            return true;
        }
        if stream.state == State::Draining {
            return true;
        }
        let (now, direction) = (self.now, stream.direction.index());
        self.schedulers[direction].forget(id);
        self.release_resources(id);
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.enter(State::Draining, now);
        }
        true
    }

    /// Handles the end of a received stream whose last application data units (ADUs) were lost
    /// completely: reports each of them as moved, with missing data.
    fn report_lost_tail(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        let total = stream.peer_adus.unwrap_or(stream.moved);
        let lost = stream.moved..total;
        if lost.is_empty() {
            return;
        }
        (stream.started, stream.moved, stream.done) = (total, total, total);
        for adu in lost {
            let (stream, good) = (id, false);
            self.push_event(Event::AduMoved { stream, adu, good });
        }
        self.step_moved(id);
    }

    /// Records that the stream makes progress, which postpones its stall report.
    pub(crate) fn record_progress(&mut self, id: StreamId) {
        let now = self.now;
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.progress_at = now;
        }
    }
}
