//! What the driver does with what links tell.

use crate::driver::Driver;
use crate::event::Event;
use crate::link::{Input, Output, Told};
use isthmus_stream::{Direction, LinkId, StreamId};

impl Driver {
    /// The other end of a link is gone, as was seen `reading` from it, or writing.
    pub(crate) fn link_gone(&mut self, id: LinkId, why: &str, reading: bool) {
        if self.socket_cut(id, why) {
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
        // A ring that was closed when all was in it is no loss; what is written is another ring.
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
                // Whether that is left as well is found out by itself.
                Some(output) => output.heard = true,
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

    /// Whether the ranks of a link have left that has nothing but a ring for them: nothing may be
    /// written that would tell. Looked for when something was heard of it.
    pub(crate) fn look_for_ranks(&mut self, id: LinkId) -> bool {
        let link = self.links.get_mut(&id).filter(|link| link.input.is_none());
        let output = link.and_then(|link| link.output.as_mut());
        let output = output.filter(|output| output.heard && !output.waits_for_room());
        let Some(why) = output.and_then(Output::left) else {
            return false;
        };
        self.link_gone(id, &why, false);
        true
    }

    /// Whether a link has neither ends nor streams, so that nobody misses it.
    #[must_use]
    pub fn is_idle(&self, id: LinkId) -> bool {
        let named = || self.streams.values().any(|known| known.links.contains(&id));
        !self.is_attached(id) && !named()
    }

    /// Streams that need the ranks of a link still.
    fn users(&self, id: LinkId) -> Vec<StreamId> {
        let users = self.streams.iter().filter(|(stream, known)| {
            let passed = self.links.get(&id).and_then(|link| link.passed.get(stream));
            known.needs(id, passed.copied().unwrap_or_default())
        });
        users.map(|(stream, _)| *stream).collect()
    }

    /// Nobody is at the other end of a link: streams that need it fail, and it can be attached
    /// anew.
    pub(crate) fn rank_lost(&mut self, id: LinkId) {
        let now = self.now();
        let users = self.users(id);
        // Cut and restored, so that what is under way on it is over whatever it was.
        self.cut(id, None);
        for stream in users {
            self.manager.handle_rank_lost(now, stream, id);
        }
        self.manager.handle_link_restored(now, id);
        if let Some(link) = self.links.get_mut(&id) {
            link.cut = false;
        }
    }

    /// A rank that sends of a stream that it receives would wait for ever for it to be taken, and
    /// all behind it on the link.
    fn refuse_sent(&mut self, id: LinkId, stream: StreamId) {
        let known = self.streams.get(&stream);
        if known.is_none_or(|known| known.direction == Direction::Transmit) {
            return;
        }
        let input = self.links.get_mut(&id).and_then(|link| link.input.as_mut());
        if let Some(input) = input {
            input.forget(stream);
        }
        let reason = "it sends data of a stream that it receives".to_owned();
        let told = Told::OutOfStep(stream, reason);
        self.hear(id, vec![told], true);
    }

    /// Takes in what a link has told; `reading`: the half that ranks write.
    pub(crate) fn hear(&mut self, id: LinkId, told: Vec<Told>, reading: bool) {
        for told in told {
            let now = self.round_at;
            match told {
                Told::Over(order) => {
                    self.places.remove(&order);
                    self.manager.handle_completed(now, order, 0);
                }
                Told::Offered(stream, bytes) => {
                    // It may have ended since.
                    let _ = self.manager.handle_offered(now, stream, id, bytes);
                    self.refuse_sent(id, stream);
                }
                Told::GivenUp(stream) => self.manager.handle_rank_lost(now, stream, id),
                Told::OutOfStep(stream, reason) => {
                    let event = Event::OutOfStep {
                        link: id,
                        stream,
                        reason,
                    };
                    self.events.push_back(event);
                    self.manager.handle_rank_lost(now, stream, id);
                }
                Told::Gone(why) => self.link_gone(id, &why, reading),
                Told::Garbled(why) => {
                    // What is garbled would be garbled again.
                    self.last_no_more(id);
                    self.link_gone(id, &why, reading);
                }
            }
        }
    }
}
