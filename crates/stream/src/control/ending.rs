//! Ends streams (done, failed or cancelled), and releases their resources.

use super::stream::{Stage, live_mut};
use super::{Gone, Manager, Task};
use crate::error::{Error, Result};
use crate::ids::{Direction, Instant, LinkId, OrderId, StreamId};
use crate::order::{End, Event, Order, Reason, State, Work};

impl Manager {
    /// Cancels a stream, in any state. `Ended` follows when none of its data is under way between
    /// links and network memory. Data in the protocol is still sent, and the peer receives the mark
    /// of a stream that was cut short.
    ///
    /// # Errors
    /// The stream is unknown or has ended.
    pub fn cancel(&mut self, now: Instant, id: StreamId) -> Result<()> {
        self.advance(now);
        let stream = self.streams.get(&id).ok_or(Error::NoStream(id))?;
        if stream.end.is_some() {
            let what = format!("stream {id} has ended: nothing of it can be cancelled");
            return Err(Error::Conflict(what));
        }
        self.end_stream(id, End::Cancelled);
        self.settle();
        Ok(())
    }

    /// Handles the loss of a rank that sends or receives the stream on this link: the stream fails.
    pub fn handle_rank_lost(&mut self, now: Instant, id: StreamId, link: LinkId) {
        self.advance(now);
        self.end_stream(id, End::Failed(Reason::RankLost(link)));
        self.settle();
    }

    /// Sets the outcome of a stream, and releases the stream once its operations under way have
    /// ended.
    pub(crate) fn end_stream(&mut self, id: StreamId, end: End) {
        let now = self.now;
        let Some(stream) = live_mut(&mut self.streams, id) else {
            return;
        };
        let state = match &end {
            End::Done => State::Done,
            End::Failed(_) => State::Failed,
            End::Cancelled => State::Cancelled,
        };
        if end != End::Done {
            self.failed.push_back(id);
        }
        stream.end = Some(end);
        stream.enter(state, now);
        let (connection, direction) = (stream.connection, stream.direction);
        let ordinal = stream.ordinal;
        let mut receiving = false;
        for buffer in stream.buffers.iter_mut().flatten() {
            receiving |= direction == Direction::Receive && buffer.stage != Stage::Empty;
        }
        if receiving && let Some(connection) = self.connections.get_mut(&connection) {
            // Mark data that the stream took from the receive queue and did not deliver: it is
            // discarded.
            let half = &mut connection.receive;
            if half.taken > half.delivered {
                half.discarded.add(ordinal);
            }
        }
        self.schedulers[direction.index()].forget(id);
        self.store_queue.retain(|other| *other != id);
        self.withdraw(id);
        self.resolve = true;
        self.dirty_connections.insert(connection);
        self.step_moved(id);
        self.reap(id);
    }

    /// Withdraws a stream's orders between links and buffers. Orders that the driver has not
    /// polled, or that wait for a link, end at once.
    fn withdraw(&mut self, id: StreamId) {
        let mut back = Vec::new();
        for waiting in self.cut.values_mut() {
            waiting.retain(|(stream, slot, _)| {
                if *stream == id {
                    back.push(*slot);
                }
                *stream != id
            });
        }
        let tasks = self.outstanding.iter().filter(
            |(_, task)| matches!(task, Task::Fetch(of, ..) | Task::Deliver(of, ..) if *of == id),
        );
        let orders: Vec<OrderId> = tasks.map(|(order, _)| *order).collect();
        for order in orders {
            let unseen = self.orders.iter().position(|waiting| waiting.id == order);
            if let Some(place) = unseen {
                self.orders.remove(place);
                if let Some(Task::Fetch(_, slot, _) | Task::Deliver(_, slot, _)) =
                    self.outstanding.remove(&order)
                {
                    back.push(slot);
                }
            } else {
                self.direct(Work::Withdraw { order });
            }
        }
        self.orders.retain(
            |order: &Order| !matches!(&order.work, Work::Prepare { stream, .. } if *stream == id),
        );
        let stream = self.streams.get_mut(&id);
        if let Some(buffers) = stream.and_then(|stream| stream.buffers.as_mut()) {
            for slot in back {
                buffers[slot].pending_orders = buffers[slot].pending_orders.saturating_sub(1);
            }
        }
    }

    /// Releases the resources of an ended stream, once none of its operations are under way.
    pub(crate) fn reap(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        if stream.end_reported || stream.under_way() > 0 {
            return;
        }
        let Some(end) = stream.end.clone() else {
            return;
        };
        stream.end_reported = true;
        stream.ledger.clear();
        stream.lengths.clear();
        let (app, connection) = (stream.app, stream.connection);
        self.release_resources(id);
        if let Some(app) = self.apps.get_mut(&app) {
            app.streams -= 1;
        }
        if let Some(connection) = self.connections.get_mut(&connection) {
            connection.live -= 1;
        }
        self.report_all_delivered(connection);
        self.dirty_connections.insert(connection);
        self.push_event(Event::Ended { stream: id, end });
        self.remember(Gone::Stream(id));
    }

    /// Fails all streams that follow a failed stream or are in lock step with it.
    pub(super) fn fail_dependants(&mut self, id: StreamId) {
        let group = self.streams.get(&id).and_then(|stream| stream.group);
        let others = self
            .streams
            .iter()
            .filter(|(_, stream)| stream.end.is_none());
        let touched: Vec<_> = others
            .filter_map(|(other, stream)| {
                if stream.after.contains(&id) {
                    Some((*other, Reason::After(id)))
                } else if group.is_some() && stream.group == group {
                    Some((*other, Reason::Step(id)))
                } else {
                    None
                }
            })
            .collect();
        for (other, reason) in touched {
            self.end_stream(other, End::Failed(reason));
        }
    }

    /// Keeps the status of an ended stream or connection for queries, and drops the oldest such
    /// status.
    pub(super) fn remember(&mut self, gone: Gone) {
        self.gone.push_back(gone);
        let mut kept = self.gone.len();
        while kept > self.config.ended_kept {
            kept -= 1;
            let Some(oldest) = self.gone.pop_front() else {
                return;
            };
            if !self.drop_record(oldest) {
                self.gone.push_back(oldest);
            }
        }
    }

    /// Drops the status of an ended stream or connection, unless a live one still depends on it.
    /// Returns whether it was dropped.
    fn drop_record(&mut self, gone: Gone) -> bool {
        match gone {
            Gone::Stream(id) => {
                let Some(stream) = self.streams.get(&id) else {
                    return true;
                };
                let connection = self.connections.get(&stream.connection);
                let order = connection.map(|one| &one.order[stream.direction.index()]);
                if order.is_some_and(|order| order.contains(&id)) || self.failed.contains(&id) {
                    return false;
                }
                if let Some(group) = stream.group
                    && let Some(members) = self.groups.get_mut(&group)
                {
                    members.remove(&id);
                    if members.is_empty() {
                        self.groups.remove(&group);
                    }
                }
                self.streams.remove(&id);
                true
            }
            Gone::Connection(id) => {
                let mut streams = self.streams.values();
                if streams.any(|stream| stream.connection == id) {
                    return false;
                }
                self.connections.remove(&id);
                true
            }
        }
    }
}
