//! Attaches the two ends of a link (for reading and for writing) to the driver, and counts the
//! incarnations of links. An incarnation starts when a link without ends gets one.

use crate::driver::Driver;
use crate::frame::{Frame, Kind};
use crate::link::{Ends, Input, Output};
use isthmus_stream::{Direction, LinkId};

impl Driver {
    /// Returns the incarnation of the current or last link with this number, or 0 if there was
    /// none. Events carry the incarnation, because the number may belong to a newer link when an
    /// event is handled.
    #[must_use]
    pub fn incarnation(&self, id: LinkId) -> u64 {
        self.links.get(&id).map_or(0, |link| link.incarnation)
    }

    /// Attaches the missing ends (for reading or writing) of a link. A link that was cut continues
    /// with them.
    pub(crate) fn attach_ends(&mut self, id: LinkId, ends: Ends) {
        let now = self.now();
        let link = self.links.entry(id).or_default();
        // Start a new incarnation only with the first end: the second ring of a link belongs to the
        // same one.
        if link.input.is_none() && link.output.is_none() {
            self.incarnations += 1;
            link.incarnation = self.incarnations;
        }
        link.resumable = None;
        link.grace = ends.grace;
        if let Some(source) = ends.source {
            link.input = Some(Input::new(source));
        }
        if let Some(drain) = ends.drain {
            let mut output = Output::new(drain);
            output.queue_undelivered(&mut link.undelivered);
            link.output = Some(output);
        }
        if std::mem::take(&mut link.cut) {
            link.cut_until = None;
            if let Some(output) = &mut link.output {
                let sent = self.streams.iter().filter(|(_, state)| {
                    state.direction == Direction::Transmit && state.links.contains(&id)
                });
                for (stream, _) in sent {
                    let taken = link.progress.get(stream).map_or(0, |it| it.bytes);
                    output.mark(Frame::mark(Kind::Resume, *stream, 0, taken));
                }
            }
            self.manager.handle_link_restored(now, id);
        }
    }
}
