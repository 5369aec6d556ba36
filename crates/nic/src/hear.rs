//! What the driver tells, passed on: to sessions, to those who wait, to the log, to counts.

use crate::hub::{Awaited, Hub, State, Waiter};
use crate::refusal::refusal;
use crate::tally::ENDS;
use crate::told;
use isthmus_nic_protocol::{Answer, Event as Said, RefusalKind, Told};
use isthmus_stream::{AppId, Event, StreamId};
use isthmus_stream_net::{Driver, Event as Heard};

/// Incomplete streams that are remembered before those that nobody knows any more are forgotten.
const INCOMPLETE: usize = 4096;

impl Hub {
    /// Passes on what the driver tells; on its thread.
    pub fn heard(&self, driver: &mut Driver, event: Heard) {
        let mut state = self.state();
        let state = &mut *state;
        state.count(driver, &event);
        state.hear_of_link(&event);
        if state.is_nobodys(&event) {
            return;
        }
        if let Some((app, said)) = told::event(state, driver, &event) {
            self.note(state, app, &said);
            state.tell(app, said);
        }
        if let Heard::Stream(Event::Closed(connection) | Event::Lost { connection, .. }) = &event {
            state.stop_waiting(*connection);
        }
        state.settle_file(&event);
        if let Heard::LinkGone {
            link, incarnation, ..
        } = &event
            && let Some(link) = state.incarnation(*link, *incarnation)
        {
            link.wipe();
        }
        if let Heard::Stream(
            Event::AduMoved { stream, .. }
            | Event::AduDone { stream, .. }
            | Event::Ended { stream, .. },
        ) = event
        {
            state.settle_waiters(driver, stream);
        }
    }
}

impl Hub {
    /// Counts what happened, and logs what an operator asks for afterwards.
    pub(crate) fn note(&self, state: &mut State, app: AppId, said: &Said) {
        let tally = &mut state.tally;
        let (what, result) = match said {
            Said::Ended { stream } => {
                let ends = &mut tally.ended;
                let place = ENDS.iter().position(|end| *end == stream.state);
                ends[place.unwrap_or(ENDS.len() - 1)] += 1;
                let reason = stream.reason.as_deref().unwrap_or("");
                let (adus, bytes) = (stream.done, stream.bytes);
                let moved = format!("{} {adus} ADUs {bytes} bytes {reason}", stream.state);
                (format!("stream {}", stream.stream), moved)
            }
            Said::Opened { connection } => (format!("connection {connection}"), "open".into()),
            Said::Closed { connection } => (format!("connection {connection}"), "closed".into()),
            Said::Lost { connection, reason } => {
                tally.lost += 1;
                (
                    format!("connection {connection}"),
                    format!("lost: {reason}"),
                )
            }
            Said::LinkCut { link, reason } => {
                tally.links_cut += 1;
                (format!("link {link}"), format!("cut: {reason}"))
            }
            Said::LinkRestored { link, again } => {
                tally.links_restored += 1;
                let result = format!("made anew, {again} bytes again");
                (format!("link {link}"), result)
            }
            Said::LinkGone { link, reason } => {
                tally.links_gone += 1;
                (format!("link {link}"), format!("gone: {reason}"))
            }
            Said::OutOfStep {
                link,
                stream,
                reason,
            } => (
                format!("link {link} stream {stream}"),
                format!("out of step: {reason}"),
            ),
            Said::Kept { path, bytes, .. } => (format!("file {path}"), format!("{bytes} bytes")),
            Said::NotKept { path, reason, .. } => {
                (format!("file {path}"), format!("not kept: {reason}"))
            }
            Said::Stalled {
                stream,
                idle_ns,
                waits,
            } => {
                tally.stalls += 1;
                let waits = waits.join("; ");
                (
                    format!("stream {stream}"),
                    format!("stalled for {} ms: {waits}", idle_ns / 1_000_000),
                )
            }
            Said::Corrupted { text, connection } => (
                format!("connection {connection}"),
                format!("corrupted: {text}"),
            ),
            Said::Missing {
                stream,
                adu,
                from,
                bytes,
            } => (
                format!("stream {stream}"),
                format!("missing: {bytes} bytes from byte {from} of ADU {adu}"),
            ),
            Said::Moved { .. } | Said::Done { .. } => return,
            Said::Ending { .. } | Said::Missed { .. } => return,
        };
        let name = state.name(app);
        self.log().record(&format!("{name} #{app}"), &what, &result);
    }
}

impl State {
    /// Whether an event is one of an ADU, of which there may be very many, and nobody is to be told
    /// or waits for its stream.
    fn is_nobodys(&self, event: &Heard) -> bool {
        let Heard::Stream(Event::AduMoved { stream, .. } | Event::AduDone { stream, .. }) = event
        else {
            return false;
        };
        let mut sessions = self.apps.values().flat_map(|app| &app.sessions);
        !self.waiters.contains_key(&Awaited::Stream(*stream))
            && !sessions.any(|session| session.watch)
    }

    /// Keeps counts of what is told and then forgotten.
    fn count(&mut self, driver: &Driver, event: &Heard) {
        match event {
            Heard::Stream(
                Event::AduMoved { stream, good, .. } | Event::AduDone { stream, good, .. },
            ) if !good => {
                // Transmitted ADUs are whole when they are moved, received ones are done then.
                *self.incomplete.entry(*stream).or_default() += 1;
                if self.incomplete.len() > INCOMPLETE {
                    let manager = driver.manager();
                    self.incomplete.retain(|id, _| manager.status(*id).is_ok());
                }
            }
            Heard::Stream(Event::Ended { stream, .. }) => {
                if let Ok(status) = driver.manager().status(*stream)
                    && let Some(line) = self.connections.get_mut(&status.connection)
                {
                    line.moved[status.direction as usize] += status.bytes;
                }
            }
            _ => {}
        }
    }

    /// Answers when a stream is so far; at once, if it is.
    pub fn wait(&mut self, driver: &Driver, stream: StreamId, waiter: Waiter) {
        let awaited = Awaited::Stream(stream);
        self.waiters.entry(awaited).or_default().push(waiter);
        self.settle_waiters(driver, stream);
    }

    fn settle_waiters(&mut self, driver: &Driver, stream: StreamId) {
        let Some(mut waiters) = self.waiters.remove(&Awaited::Stream(stream)) else {
            return;
        };
        let Ok(status) = driver.manager().status(stream) else {
            // So many streams ended at once that this one is forgotten already.
            for waiter in waiters {
                let text = format!("stream {stream} has ended, and how is not known any more");
                let (id, refusal) = (Some(waiter.id), refusal(RefusalKind::Unknown, text));
                waiter.mailbox.end_wait(&Told::Refused { id, refusal });
            }
            return;
        };
        waiters.retain(|waiter| {
            let content = waiter.is_content(&status);
            if content && let Ok(stream) = told::stream(self, driver, stream) {
                let answer = Answer::Stream { stream };
                let id = waiter.id;
                waiter.mailbox.end_wait(&Told::Answer { id, answer });
            }
            !content
        });
        if !waiters.is_empty() {
            self.waiters.insert(Awaited::Stream(stream), waiters);
        }
    }
}
