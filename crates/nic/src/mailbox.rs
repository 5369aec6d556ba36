//! Lines on their way to a client, with bounds: who puts them there never waits.

use isthmus_nic_protocol::{Event, LINE_BYTES, LinkNews, Refusal, RefusalKind, Told, write};
use isthmus_wire::{Error, Result};
use rustix::event::{EventfdFlags, eventfd};
use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Events that wait at most, and their bytes.
const EVENTS: usize = 4096;
const EVENT_BYTES: usize = LINE_BYTES;
/// Bytes of answers that wait, beyond which no further request is taken.
const ANSWER_BYTES: usize = LINE_BYTES;

/// The lines that one session is to be sent.
#[derive(Debug)]
pub(crate) struct Mailbox {
    inner: Mutex<Inner>,
    /// Wakes the session's thread.
    wake: OwnedFd,
    /// Whether events are told.
    pub watch: bool,
    /// The session's number.
    pub session: u32,
}

#[derive(Debug, Default)]
struct Inner {
    lines: VecDeque<Line>,
    events: usize,
    event_bytes: usize,
    answer_bytes: usize,
    missed: u64,
    /// News of lasting links that were not sent yet: of each and its kind the last.
    news: BTreeMap<(u16, bool), (String, LinkNews)>,
    /// Requests that are answered later.
    waits: u32,
    /// Why the session is to end.
    leave: bool,
}

#[derive(Debug)]
struct Line {
    bytes: Vec<u8>,
    event: bool,
}

/// The bytes of a line. One that is too long says so in its place.
pub(crate) fn line(told: &Told) -> Vec<u8> {
    let id = match told {
        Told::Answer { id, .. } => Some(*id),
        Told::Refused { id, .. } => *id,
        Told::Event { .. } | Told::Link { .. } => None,
    };
    write(told).unwrap_or_else(|error| {
        let refusal = Refusal {
            kind: RefusalKind::Limit,
            text: format!("the answer is {error}"),
        };
        // A line of a few words is written.
        write(&Told::Refused { id, refusal }).unwrap_or_default()
    })
}

impl Mailbox {
    pub fn new(session: u32, watch: bool) -> Result<Self> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let wake = wake.map_err(|error| Error::system("what wakes a session", error))?;
        Ok(Self {
            inner: Mutex::default(),
            wake,
            watch,
            session,
        })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Each change of it is whole.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self) {
        // It fails only where the count is full, and then the session is woken anyway.
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    /// What to sleep on.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// After a sleep.
    pub fn heed(&self) {
        // Empty, if nobody woke it.
        let _ = rustix::io::read(&self.wake, &mut [0; 8]);
    }

    /// An answer or a refusal. Whoever asks waits until those before were sent.
    pub fn answer(&self, told: &Told) {
        let bytes = line(told);
        let mut inner = self.inner();
        inner.answer_bytes += bytes.len();
        let event = false;
        inner.lines.push_back(Line { bytes, event });
        drop(inner);
        self.ring();
    }

    /// An event, as a line. Where there is no room it is counted.
    pub fn event(&self, bytes: &[u8]) {
        let mut inner = self.inner();
        let full = inner.events >= EVENTS || inner.event_bytes + bytes.len() > EVENT_BYTES;
        if full || inner.missed > 0 && inner.events > EVENTS / 2 {
            inner.missed += 1;
            return;
        }
        inner.tell_missed();
        inner.push_event(bytes.to_vec());
        drop(inner);
        self.ring();
    }

    /// What a lasting link's rank is to know: it takes the place of what it was to know before, be
    /// that of a link that had its number.
    pub fn news(&self, link: u16, key: String, news: LinkNews) {
        let cut = matches!(news, LinkNews::Cut { .. });
        self.inner().news.insert((link, cut), (key, news));
        self.ring();
    }

    /// One more request waits; false if there are as many as may be.
    pub fn begin_wait(&self, most: u32) -> bool {
        let mut inner = self.inner();
        let room = inner.waits < most;
        inner.waits += u32::from(room);
        room
    }

    /// The answer to one that waited.
    pub fn end_wait(&self, told: &Told) {
        let mut inner = self.inner();
        inner.waits = inner.waits.saturating_sub(1);
        drop(inner);
        self.answer(told);
    }

    /// Whether a further request is taken.
    pub fn takes(&self) -> bool {
        self.inner().answer_bytes < ANSWER_BYTES
    }

    /// Moves lines to `out`, as many as are worth a call of the system.
    pub fn take(&self, out: &mut Vec<u8>) {
        let mut inner = self.inner();
        while let Some(((link, _), (key, news))) = inner.news.pop_first() {
            out.extend(line(&Told::Link { link, key, news }));
        }
        while out.len() < 64 << 10 {
            let Some(line) = inner.lines.pop_front() else {
                if inner.missed == 0 {
                    return;
                }
                inner.tell_missed();
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

    /// Tells the session to end when all is sent.
    pub fn dismiss(&self) {
        self.inner().leave = true;
        self.ring();
    }

    /// Whether it was told so.
    pub fn dismissed(&self) -> bool {
        self.inner().leave
    }
}

impl Inner {
    fn push_event(&mut self, bytes: Vec<u8>) {
        self.events += 1;
        self.event_bytes += bytes.len();
        let event = true;
        self.lines.push_back(Line { bytes, event });
    }

    /// Says how many events were left out, in their place.
    fn tell_missed(&mut self) {
        let events = std::mem::take(&mut self.missed);
        if events > 0 {
            let event = Event::Missed { events };
            self.push_event(line(&Told::Event { event }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isthmus_nic_protocol::{Answer, Lines, read};

    fn told(mailbox: &Mailbox) -> Vec<Told> {
        let mut all = Vec::new();
        loop {
            let mut out = Vec::new();
            mailbox.take(&mut out);
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

    fn moved(adu: u64) -> Event {
        let (stream, good) = (1, true);
        Event::Moved { stream, adu, good }
    }

    /// Answers + events + those counted as missed are all that was put there, in order, whenever
    /// the client reads.
    #[test]
    fn a_slow_reader_is_told_how_many_events_it_missed() {
        let mailbox = Mailbox::new(0, true).unwrap();
        let (mut sent, mut next, mut missed, mut told_events) = (0, 0, 0, 0);
        for burst in [3, 10_000, 1, 6_000, 0, 50_000, 7] {
            for _ in 0..burst {
                mailbox.event(&line(&Told::Event { event: moved(sent) }));
                sent += 1;
            }
            let (id, answer) = (burst, Answer::Done);
            mailbox.answer(&Told::Answer { id, answer });
            let mut answers = 0;
            for told in told(&mailbox) {
                match told {
                    Told::Event { event } => match event {
                        Event::Missed { events } => {
                            missed += events;
                            next += events;
                        }
                        event => {
                            assert_eq!(event, moved(next));
                            next += 1;
                            told_events += 1;
                        }
                    },
                    Told::Answer { id, .. } => {
                        assert_eq!(id, burst);
                        answers += 1;
                    }
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(answers, 1);
            assert_eq!(next, sent, "what was not told was counted");
        }
        assert_eq!(missed + told_events, sent);
        assert!(missed > 50_000 - EVENTS as u64 && told_events > EVENTS as u64);
    }

    /// However much is told of a link, it takes the room of a line of each kind.
    #[test]
    fn the_last_news_of_a_link_are_told() {
        let mailbox = Mailbox::new(0, false).unwrap();
        for bytes in 1..=100_000 {
            mailbox.news(3, "three".into(), LinkNews::Taken { bytes });
            mailbox.news(4, "four".into(), LinkNews::Taken { bytes: 2 * bytes });
        }
        mailbox.news(3, "three".into(), LinkNews::Cut { nth: 7 });
        let key = |link| if link == 3 { "three" } else { "four" };
        let news = |link, news| Told::Link {
            link,
            key: key(link).into(),
            news,
        };
        let wanted = [
            news(3, LinkNews::Taken { bytes: 100_000 }),
            news(3, LinkNews::Cut { nth: 7 }),
            news(4, LinkNews::Taken { bytes: 200_000 }),
        ];
        assert_eq!(told(&mailbox), wanted);
    }
}
