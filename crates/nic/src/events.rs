//! Handles the events of the driver, the thread that moves the streams' data: passes them to
//! sessions and waiting requests, and logs and counts them.

use crate::counters::ENDS;
use crate::refusal::refusal;
use crate::report;
use crate::state::{Hub, State, WaitTarget, Waiter};
use isthmus_nic_protocol::{Answer, Event as Notice, Message, RefusalKind};
use isthmus_stream::{AppId, Event, StreamId};
use isthmus_stream_net::{Driver, Event as NetEvent};

/// Maximum number of entries in `incomplete`. Above it, entries are removed whose stream the
/// manager no longer knows.
const MAX_INCOMPLETE: usize = 4096;

impl Hub {
    /// Handle an event of the driver. Runs on the driver's thread.
    pub fn handle(&self, driver: &mut Driver, event: NetEvent) {
        let mut state = self.state();
        let state = &mut *state;
        state.count_event(driver, &event);
        state.on_link_event(&event);
        if state.is_unwatched(&event) {
            return;
        }
        if let Some((app, event)) = report::event(state, driver, &event) {
            self.log_event(state, app, &event);
            state.notify(app, event);
        }
        if let NetEvent::Stream(Event::Closed(connection) | Event::Lost { connection, .. }) = &event
        {
            state.stop_waiting(*connection);
        }
        state.update_file(&event);
        if let NetEvent::LinkGone {
            link, incarnation, ..
        } = &event
            && let Some(link) = state.incarnation(*link, *incarnation)
        {
            link.wipe();
        }
        if let NetEvent::Stream(
            Event::AduMoved { stream, .. }
            | Event::AduDone { stream, .. }
            | Event::Ended { stream, .. },
        ) = event
        {
            state.answer_waiters(driver, stream);
        }
    }
}

impl Hub {
    /// Count an event of an application and write it to the log.
    pub(crate) fn log_event(&self, state: &mut State, app: AppId, event: &Notice) {
        let counters = &mut state.counters;
        let (what, result) = match event {
            Notice::Ended { stream } => {
                let ends = &mut counters.ended;
                let index = ENDS.iter().position(|end| *end == stream.state);
                ends[index.unwrap_or(ENDS.len() - 1)] += 1;
                let reason = stream.reason.as_deref().unwrap_or("");
                let (adus, bytes) = (stream.done, stream.bytes);
                let moved = format!("{} {adus} ADUs {bytes} bytes {reason}", stream.state);
                (format!("stream {}", stream.stream), moved)
            }
            Notice::Opened { connection } => (format!("connection {connection}"), "open".into()),
            Notice::Closed { connection } => (format!("connection {connection}"), "closed".into()),
            Notice::Lost { connection, reason } => {
                counters.lost += 1;
                (
                    format!("connection {connection}"),
                    format!("lost: {reason}"),
                )
            }
            Notice::LinkCut { link, reason } => {
                counters.links_cut += 1;
                (format!("link {link}"), format!("cut: {reason}"))
            }
            Notice::LinkRestored { link, again } => {
                counters.links_restored += 1;
                let result = format!("made again, {again} bytes again");
                (format!("link {link}"), result)
            }
            Notice::LinkGone { link, reason } => {
                counters.links_gone += 1;
                (format!("link {link}"), format!("gone: {reason}"))
            }
            Notice::OutOfStep {
                link,
                stream,
                reason,
            } => (
                format!("link {link} stream {stream}"),
                format!("out of step: {reason}"),
            ),
            Notice::Kept { path, bytes, .. } => (format!("file {path}"), format!("{bytes} bytes")),
            Notice::NotKept { path, reason, .. } => {
                (format!("file {path}"), format!("not kept: {reason}"))
            }
            Notice::Stalled {
                stream,
                idle_ns,
                waits,
            } => {
                counters.stalls += 1;
                let waits = waits.join("; ");
                (
                    format!("stream {stream}"),
                    format!("stalled for {} ms: {waits}", idle_ns / 1_000_000),
                )
            }
            Notice::Corrupted { text, connection } => (
                format!("connection {connection}"),
                format!("corrupted: {text}"),
            ),
            Notice::Missing {
                stream,
                adu,
                from,
                bytes,
            } => (
                format!("stream {stream}"),
                format!("missing: {bytes} bytes from byte {from} of ADU {adu}"),
            ),
            Notice::Moved { .. } | Notice::Done { .. } => return,
            Notice::Ending { .. } | Notice::Missed { .. } => return,
        };
        let name = state.name(app);
        self.log().record(&format!("{name} #{app}"), &what, &result);
    }
}

impl State {
    /// Return whether an event only concerns one ADU (data unit of a stream), and no session and no
    /// waiting request must be notified. Such events are very frequent.
    fn is_unwatched(&self, event: &NetEvent) -> bool {
        let NetEvent::Stream(Event::AduMoved { stream, .. } | Event::AduDone { stream, .. }) =
            event
        else {
            return false;
        };
        let mut sessions = self.apps.values().flat_map(|app| &app.sessions);
        !self.waiters.contains_key(&WaitTarget::Stream(*stream))
            && !sessions.any(|session| session.watch)
    }

    /// Update the counts of incomplete ADUs (data units) and of moved bytes by an event.
    fn count_event(&mut self, driver: &Driver, event: &NetEvent) {
        match event {
            NetEvent::Stream(
                Event::AduMoved { stream, good, .. } | Event::AduDone { stream, good, .. },
            ) if !good => {
                // Count each incomplete ADU once. A sent ADU is always complete when it is moved,
                // so it counts only when it is done. A received ADU causes no `AduDone`.
                *self.incomplete.entry(*stream).or_default() += 1;
                if self.incomplete.len() > MAX_INCOMPLETE {
                    let manager = driver.manager();
                    self.incomplete.retain(|id, _| manager.status(*id).is_ok());
                }
            }
            NetEvent::Stream(Event::Ended { stream, .. }) => {
                if let Ok(status) = driver.manager().status(*stream)
                    && let Some(entry) = self.connections.get_mut(&status.connection)
                {
                    entry.moved[status.direction as usize] += status.bytes;
                }
            }
            _ => {}
        }
    }

    /// Answer a request when the stream reaches the state for which the request waits. If the
    /// stream is already in that state, answer at once.
    pub fn wait(&mut self, driver: &Driver, stream: StreamId, waiter: Waiter) {
        let target = WaitTarget::Stream(stream);
        self.waiters.entry(target).or_default().push(waiter);
        self.answer_waiters(driver, stream);
    }

    /// Answer the requests that no longer need to wait for the stream.
    fn answer_waiters(&mut self, driver: &Driver, stream: StreamId) {
        let Some(mut waiters) = self.waiters.remove(&WaitTarget::Stream(stream)) else {
            return;
        };
        let Ok(status) = driver.manager().status(stream) else {
            // Tell the waiters that the stream is unknown: it has ended, and the manager has
            // already forgotten it.
            for waiter in waiters {
                let text = format!("stream {stream} has ended, and how is not known any more");
                let (id, refusal) = (Some(waiter.id), refusal(RefusalKind::Unknown, text));
                waiter.mailbox.end_wait(&Message::Refused { id, refusal });
            }
            return;
        };
        waiters.retain(|waiter| {
            let satisfied = waiter.is_satisfied(&status);
            if satisfied && let Ok(stream) = report::stream(self, driver, stream) {
                let answer = Answer::Stream { stream };
                let id = waiter.id;
                waiter.mailbox.end_wait(&Message::Answer { id, answer });
            }
            !satisfied
        });
        if !waiters.is_empty() {
            self.waiters.insert(WaitTarget::Stream(stream), waiters);
        }
    }
}
