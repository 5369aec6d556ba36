//! Handles the events of a driver's links, such as the loss of a rank.

use crate::driver::Driver;
use crate::event::Event;
use crate::link::{Input, LinkEvent, Output};
use isthmus_stream::{Direction, LinkId, StreamId};

impl Driver {
    /// Handles the loss of the other end of a link. `why` is the reason, and `reading` is whether
    /// the driver noticed the loss by reading rather than writing.
    pub(crate) fn link_gone(&mut self, id: LinkId, why: &str, reading: bool) {
        if self.on_socket_cut(id, why) {
            return;
        }
        let users = self.users(id);
        let Some(link) = self.links.get_mut(&id) else {
            return;
        };
        let event = Event::LinkGone {
            link: id,
            incarnation: link.incarnation,
            reason: why.to_owned(),
        };
        // A rank loses no data if it closes its ring after it has written everything. Then end only
        // the input: the other direction is another ring.
        let rings = link.input.as_ref().is_some_and(Input::is_ring);
        let receive = |of: &StreamId| self.streams[of].direction == Direction::Receive;
        if reading && (users.is_empty() || rings && users.iter().all(receive)) {
            self.end_input(id);
            let Some(link) = self.links.get_mut(&id) else {
                return;
            };
            if !rings {
                link.output = None;
            }
            match &mut link.output {
                // Let a later check find out whether the ranks have left the other ring, too.
                Some(output) => output.peer_active = true,
                None => self.events.push_back(event),
            }
            return;
        }
        let grace = link.grace;
        self.events.push_back(event);
        if !grace.is_zero() {
            return self.cut(id, Some(grace));
        }
        self.rank_lost(id);
    }

    /// Checks whether the ranks have left a link that has only a ring towards them; if so, ends the
    /// link and returns true. A failing write would not detect it if no write is due, so the check
    /// runs after activity of the ranks.
    pub(crate) fn check_ranks(&mut self, id: LinkId) -> bool {
        let link = self.links.get_mut(&id).filter(|link| link.input.is_none());
        let output = link.and_then(|link| link.output.as_mut());
        let output = output.filter(|output| output.peer_active && !output.waits_for_room());
        let Some(why) = output.and_then(Output::left_reason) else {
            return false;
        };
        self.link_gone(id, &why, false);
        true
    }

    /// Returns whether a link is unused: no rank is attached to it, and no stream uses it.
    #[must_use]
    pub fn is_idle(&self, id: LinkId) -> bool {
        let named = || self.streams.values().any(|state| state.links.contains(&id));
        !self.is_attached(id) && !named()
    }

    /// Returns the streams that still need a link, and the ranks at its other end.
    fn users(&self, id: LinkId) -> Vec<StreamId> {
        let users = self.streams.iter().filter(|(stream, state)| {
            let progress = self
                .links
                .get(&id)
                .and_then(|link| link.progress.get(stream));
            state.needs(id, progress.copied().unwrap_or_default())
        });
        users.map(|(stream, _)| *stream).collect()
    }

    /// Handles the loss of the ranks at the other end of a link: streams that need them fail.
    /// Afterwards other ranks can attach to the link.
    pub(crate) fn rank_lost(&mut self, id: LinkId) {
        let now = self.now();
        let users = self.users(id);
        // Report that the link is cut, and below that it is restored: this ends every operation in
        // progress on it.
        self.cut(id, None);
        for stream in users {
            self.manager.handle_rank_lost(now, stream, id);
        }
        self.manager.handle_link_restored(now, id);
        if let Some(link) = self.links.get_mut(&id) {
            link.cut = false;
        }
    }

    /// Fails a stream on whose link ranks send data although they should receive. Nothing would
    /// ever read this data, and it would block all data behind it on the link.
    fn refuse_sent(&mut self, id: LinkId, stream: StreamId) {
        let state = self.streams.get(&stream);
        if state.is_none_or(|state| state.direction == Direction::Transmit) {
            return;
        }
        let input = self.links.get_mut(&id).and_then(|link| link.input.as_mut());
        if let Some(input) = input {
            input.forget(stream);
        }
        let reason = "it sends data of a stream that it receives".to_owned();
        let event = LinkEvent::OutOfStep(stream, reason);
        self.handle_link_events(id, vec![event], true);
    }

    /// Handles the events of a link. If `reading` is true, they come from its input half, which
    /// ranks write; otherwise from its output half.
    pub(crate) fn handle_link_events(&mut self, id: LinkId, events: Vec<LinkEvent>, reading: bool) {
        for event in events {
            let now = self.round_at;
            match event {
                LinkEvent::Over(order) => {
                    self.order_links.remove(&order);
                    self.manager.handle_completed(now, order, 0);
                }
                LinkEvent::Offered(stream, bytes) => {
                    // Ignore an error, which means that the stream has ended in the meantime.
                    let _ = self.manager.handle_offered(now, stream, id, bytes);
                    self.refuse_sent(id, stream);
                }
                LinkEvent::Abandoned(stream) => self.manager.handle_rank_lost(now, stream, id),
                LinkEvent::OutOfStep(stream, reason) => {
                    let event = Event::OutOfStep {
                        link: id,
                        stream,
                        reason,
                    };
                    self.events.push_back(event);
                    self.manager.handle_rank_lost(now, stream, id);
                }
                LinkEvent::Gone(why) => self.link_gone(id, &why, reading),
                LinkEvent::Garbled(why) => {
                    // Do not wait for another socket, which would not repair invalid data.
                    self.end_resumption(id);
                    self.link_gone(id, &why, reading);
                }
            }
        }
    }
}
