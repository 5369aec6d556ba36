//! Bounded queues of the lines that a session must send to its client. Adding a line never waits.

use isthmus_nic_protocol::{Event, LINE_BYTES, LinkNews, Message, Refusal, RefusalKind, write};
use isthmus_wire::{Error, Result, Signal};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum number of queued events of a session.
const MAX_EVENTS: usize = 4096;
/// Maximum size of all queued events of a session, in bytes.
const MAX_EVENT_BYTES: usize = LINE_BYTES;
/// Number of bytes of queued answers above which the session reads no further request.
const MAX_ANSWER_BYTES: usize = LINE_BYTES;

/// The queued lines of one session: answers and events for its client.
#[derive(Debug)]
pub(crate) struct Mailbox {
    inner: Mutex<Inner>,
    /// Wakes the session's thread to send the queued lines.
    pub wake: Signal,
    /// Whether the client receives events.
    pub watch: bool,
    /// The number of the session.
    pub session: u32,
}

/// The state of the queues of one session.
#[derive(Debug, Default)]
struct Inner {
    lines: VecDeque<Line>,
    events: usize,
    event_bytes: usize,
    answer_bytes: usize,
    missed: u64,
    /// Unsent news of lasting links (links that outlast their sockets): for each number of a link
    /// and kind of news, the key of the link and the latest news.
    news: BTreeMap<(u16, bool), (String, LinkNews)>,
    /// Number of requests of the session that wait for a later answer.
    waits: u32,
    /// Whether the session must end when all queued lines are sent.
    dismissed: bool,
}

/// A queued line for the client: an answer or an event.
#[derive(Debug)]
struct Line {
    bytes: Vec<u8>,
    event: bool,
}

/// Encode a message as a line. If the message is too long, the line is a refusal instead.
pub(crate) fn encode(message: &Message) -> Vec<u8> {
    let id = match message {
        Message::Answer { id, .. } => Some(*id),
        Message::Refused { id, .. } => *id,
        Message::Event { .. } | Message::Link { .. } => None,
    };
    write(message).unwrap_or_else(|error| {
        let refusal = Refusal {
            kind: RefusalKind::Limit,
            text: format!("the answer is {error}"),
        };
        // Encode a refusal instead of the message that is too long; a refusal always fits into a
        // line.
        write(&Message::Refused { id, refusal }).unwrap_or_default()
    })
}

impl Mailbox {
    /// Create empty queues for a session; `watch` is whether its client receives events.
    pub fn new(session: u32, watch: bool) -> Result<Self> {
        let wake = Signal::new().map_err(|error| Error::system("what wakes a session", error))?;
        Ok(Self {
            inner: Mutex::default(),
            wake,
            watch,
            session,
        })
    }

    /// Return the state of the queues, locked.
    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Ignore a panic of a thread that held the lock, because it left the queues consistent.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queue the answer to a request, or its refusal. The session reads no further request while
    /// too many answers are queued.
    pub fn answer(&self, message: &Message) {
        let bytes = encode(message);
        let mut inner = self.inner();
        inner.answer_bytes += bytes.len();
        let event = false;
        inner.lines.push_back(Line { bytes, event });
        drop(inner);
        self.wake.set();
    }

    /// Queue the line of an event. If the queue is full, the event is dropped and counted as
    /// missed.
    pub fn event(&self, bytes: &[u8]) {
        let mut inner = self.inner();
        let full = inner.events >= MAX_EVENTS || inner.event_bytes + bytes.len() > MAX_EVENT_BYTES;
        if full || inner.missed > 0 && inner.events > MAX_EVENTS / 2 {
            inner.missed += 1;
            return;
        }
        inner.report_missed();
        inner.push_event(bytes.to_vec());
        drop(inner);
        self.wake.set();
    }

    /// Queue news of a lasting link (bytes received, or socket lost) for its rank. It replaces
    /// unsent news of the same kind and link number, even of an earlier link.
    pub fn news(&self, link: u16, key: String, news: LinkNews) {
        let cut = matches!(news, LinkNews::Cut { .. });
        self.inner().news.insert((link, cut), (key, news));
        self.wake.set();
    }

    /// Count a request that waits for its answer. Returns false if the limit is reached.
    pub fn begin_wait(&self, limit: u32) -> bool {
        let mut inner = self.inner();
        let room = inner.waits < limit;
        inner.waits += u32::from(room);
        room
    }

    /// Queue the answer to a request that was counted by `begin_wait`.
    pub fn end_wait(&self, message: &Message) {
        let mut inner = self.inner();
        inner.waits = inner.waits.saturating_sub(1);
        drop(inner);
        self.answer(message);
    }

    /// Return whether the queue has room for the answer to a further request.
    pub fn has_room(&self) -> bool {
        self.inner().answer_bytes < MAX_ANSWER_BYTES
    }

    /// Move queued lines to `out`, up to the size that one system call writes.
    pub fn drain(&self, out: &mut Vec<u8>) {
        let mut inner = self.inner();
        while let Some(((link, _), (key, news))) = inner.news.pop_first() {
            out.extend(encode(&Message::Link { link, key, news }));
        }
        while out.len() < 64 << 10 {
            let Some(line) = inner.lines.pop_front() else {
                if inner.missed == 0 {
                    return;
                }
                inner.report_missed();
                continue;
            };
            if line.event {
                inner.events -= 1;
                inner.event_bytes -= line.bytes.len();
            } else {
                inner.answer_bytes -= line.bytes.len();
            }
            out.extend_from_slice(&line.bytes);
        }
    }

    /// Request the end of the session once all queued lines are sent.
    pub fn dismiss(&self) {
        self.inner().dismissed = true;
        self.wake.set();
    }

    /// Return whether the session must end when all queued lines are sent.
    pub fn is_dismissed(&self) -> bool {
        self.inner().dismissed
    }
}

impl Inner {
    /// Queue the line of an event.
    fn push_event(&mut self, bytes: Vec<u8>) {
        self.events += 1;
        self.event_bytes += bytes.len();
        let event = true;
        self.lines.push_back(Line { bytes, event });
    }

    /// Queue an event with the number of missed events, at the position at which they are missing.
    fn report_missed(&mut self) {
        let events = std::mem::take(&mut self.missed);
        if events > 0 {
            let event = Event::Missed { events };
            self.push_event(encode(&Message::Event { event }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isthmus_nic_protocol::{Answer, Lines, read};

    /// Return all queued messages, as the client would parse them.
    fn messages(mailbox: &Mailbox) -> Vec<Message> {
        let mut all = Vec::new();
        loop {
            let mut out = Vec::new();
            mailbox.drain(&mut out);
            if out.is_empty() {
                return all;
            }
            let mut lines = Lines::default();
            lines.push(&out);
            while let Some(line) = lines.take().unwrap() {
                all.push(read(&line).unwrap());
            }
        }
    }

    /// Return an event: the application data unit (ADU) with this number was moved.
    fn moved(adu: u64) -> Event {
        let (stream, good) = (1, true);
        Event::Moved { stream, adu, good }
    }

    /// Checks that answers, events and counted missed events are together all messages that were
    /// queued, in order, at any speed of the client.
    #[test]
    fn a_slow_reader_receives_the_count_of_missed_events() {
        let mailbox = Mailbox::new(0, true).unwrap();
        let (mut sent, mut next, mut missed, mut delivered) = (0, 0, 0, 0);
        for burst in [3, 10_000, 1, 6_000, 0, 50_000, 7] {
            for _ in 0..burst {
                mailbox.event(&encode(&Message::Event { event: moved(sent) }));
                sent += 1;
            }
            let (id, answer) = (burst, Answer::Done);
            mailbox.answer(&Message::Answer { id, answer });
            let mut answers = 0;
            for message in messages(&mailbox) {
                match message {
                    Message::Event { event } => match event {
                        Event::Missed { events } => {
                            missed += events;
                            next += events;
                        }
                        event => {
                            assert_eq!(event, moved(next));
                            next += 1;
                            delivered += 1;
                        }
                    },
                    Message::Answer { id, .. } => {
                        assert_eq!(id, burst);
                        answers += 1;
                    }
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(answers, 1);
            assert_eq!(next, sent, "missed events are counted");
        }
        assert_eq!(missed + delivered, sent);
        assert!(missed > 50_000 - MAX_EVENTS as u64 && delivered > MAX_EVENTS as u64);
    }

    /// Checks that only the latest news of each kind about a link is queued, however many news
    /// there are.
    #[test]
    fn only_the_latest_news_of_a_link_are_sent() {
        let mailbox = Mailbox::new(0, false).unwrap();
        for bytes in 1..=100_000 {
            mailbox.news(3, "three".into(), LinkNews::Taken { bytes });
            mailbox.news(4, "four".into(), LinkNews::Taken { bytes: 2 * bytes });
        }
        mailbox.news(3, "three".into(), LinkNews::Cut { nth: 7 });
        let key = |link| if link == 3 { "three" } else { "four" };
        let news = |link, news| Message::Link {
            link,
            key: key(link).into(),
            news,
        };
        let wanted = [
            news(3, LinkNews::Taken { bytes: 100_000 }),
            news(3, LinkNews::Cut { nth: 7 }),
            news(4, LinkNews::Taken { bytes: 200_000 }),
        ];
        assert_eq!(messages(&mailbox), wanted);
    }
}
