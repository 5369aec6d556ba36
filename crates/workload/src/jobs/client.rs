//! Clients: what they ask for in time, or one after another.

use crate::gaps::Gaps;
use crate::jobs::spec::{Arrivals, Sizes, Spread};
use isthmus_kernel::{Cycles, Gap, Stream};
use isthmus_units::Time;
use std::collections::VecDeque;

/// Ticks, as an exact number.
pub(super) fn ticks(time: Time, tick: Time) -> f64 {
    time.ps() as f64 / tick.ps() as f64
}

/// When clients of one job ask.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Asking {
    /// At random or equal gaps of this mean in ticks.
    Open { mean: f64, gaps: Gaps },
    /// At every multiple of so many ticks, so many messages at once.
    Bursts { period: f64, messages: u64 },
    /// A pause of this mean in ticks after a message is complete.
    Closed { think: f64, spread: Spread },
}

impl Asking {
    /// The arrivals of messages of these sizes.
    pub(super) fn new(arrivals: Arrivals, sizes: Sizes, tick: Time) -> Self {
        match arrivals {
            Arrivals::Open { load, gaps } => {
                let ps = sizes.mean.get() as f64 * 8e12 / load.bits_per_s() as f64;
                Self::Open {
                    mean: ps / tick.ps() as f64,
                    gaps: gaps.into(),
                }
            }
            Arrivals::Closed { think, spread } => Self::Closed {
                think: ticks(think, tick),
                spread,
            },
        }
    }
}

/// A message that a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked {
    /// When it was asked for.
    pub(super) asked: Cycles,
    /// When it may begin.
    pub(super) time: Cycles,
    /// Its place in its burst.
    pub(super) place: u64,
}

/// One process that asks for messages.
#[derive(Debug, Clone)]
pub(super) struct Client {
    arrival: Stream,
    size: Stream,
    gap: Gap,
    rest: Gap,
    /// Messages asked for and not handed over, by arrival: its time, how many of its messages are left,
    /// and how many it has.
    waiting: VecDeque<(Cycles, u64, u64)>,
    /// Messages asked for, up to and with the last arrival that was drawn.
    drawn: u64,
    /// The last arrival that was drawn, and its messages.
    last: Option<(Cycles, u64)>,
    /// Of a closed loop, the times for which messages have been asked that are not complete, in order.
    open: VecDeque<Cycles>,
}

impl Client {
    pub(super) fn new(arrival: Stream, size: Stream) -> Self {
        Self {
            arrival,
            size,
            gap: Gap::default(),
            rest: Gap::default(),
            waiting: VecDeque::new(),
            drawn: 0,
            last: None,
            open: VecDeque::new(),
        }
    }

    /// The next message, at `now` or later. A closed loop, which keeps `loops` messages going, has no
    /// pause before the first of each.
    pub(super) fn next(&mut self, asking: &Asking, now: Cycles, loops: u64) -> Asked {
        if let Asking::Closed { think, spread } = *asking {
            let time = match self.drawn < loops {
                true => now,
                false => now + self.pause(think, spread),
            };
            self.drawn += 1;
            let at = self.open.partition_point(|&earlier| earlier <= time);
            self.open.insert(at, time);
            let place = 0;
            return Asked {
                asked: time,
                time,
                place,
            };
        }
        if self.waiting.is_empty() {
            self.draw_arrival(asking);
        }
        let (asked, left, all) = match self.waiting.front_mut() {
            Some(first) => {
                first.1 -= 1;
                *first
            }
            None => unreachable!("an arrival has just been drawn"),
        };
        if left == 0 {
            self.waiting.pop_front();
        }
        Asked {
            asked,
            time: asked.max(now),
            place: all - left - 1,
        }
    }

    /// The next pause of a closed loop. Equal ones are whole ticks, all alike.
    fn pause(&mut self, mean: f64, spread: Spread) -> Cycles {
        match spread {
            Spread::Fixed => mean.round() as Cycles,
            spread => Gaps::from(spread).next(mean, &mut self.gap, &mut self.arrival),
        }
    }

    fn note(&mut self, time: Cycles, messages: u64) {
        self.drawn += messages;
        self.last = Some((time, messages));
    }

    fn draw_arrival(&mut self, asking: &Asking) {
        let (time, messages) = match *asking {
            Asking::Open { mean, gaps } => {
                let (gap, stream) = (&mut self.gap, &mut self.arrival);
                let time = match self.last {
                    None => gaps.first(mean, gap, stream),
                    Some((time, _)) => time + gaps.next(mean, gap, stream),
                };
                (time, 1)
            }
            Asking::Bursts { period, messages } => {
                let next = self.last.map(|(time, _)| time + self.gap.fixed(period));
                (next.unwrap_or(0), messages)
            }
            Asking::Closed { .. } => unreachable!("a closed loop has no arrivals"),
        };
        self.note(time, messages);
        self.waiting.push_back((time, messages, messages));
    }

    /// A message of a closed loop that was asked for at this time is complete.
    #[inline]
    pub(super) fn completed(&mut self, asked: Cycles) {
        if let Ok(at) = self.open.binary_search(&asked) {
            self.open.remove(at);
        }
    }

    /// Return for how long each message of a closed loop has been asked for and not complete.
    pub(super) fn open(&self, now: Cycles) -> impl Iterator<Item = Cycles> {
        self.open
            .iter()
            .filter_map(move |&asked| now.checked_sub(asked))
    }

    /// Return how many messages have been asked for by `now`, and when the next one is; none in a closed loop, where this
    /// depends on completions. `now` must not go back from call to call.
    #[inline]
    pub(super) fn asked_and_next(&mut self, asking: &Asking, now: Cycles) -> (u64, Option<Cycles>) {
        if let Asking::Closed { .. } = asking {
            let come = self.open.partition_point(|&time| time <= now);
            return (self.drawn - (self.open.len() - come) as u64, None);
        }
        loop {
            if let Some((time, messages)) = self.last
                && time > now
            {
                return (self.drawn - messages, Some(time));
            }
            self.draw_arrival(asking);
        }
    }

    /// Return when each burst was asked for of which no message has been handed over.
    pub(super) fn waiting_bursts(&self) -> impl Iterator<Item = Cycles> + '_ {
        let whole = self.waiting.iter().filter(|(_, left, all)| left == all);
        whole.map(|&(time, ..)| time)
    }

    /// The size of the next message, at least a byte.
    pub(super) fn size(&mut self, sizes: Sizes) -> u64 {
        let mean = sizes.mean.get();
        match sizes.spread {
            Spread::Fixed => mean,
            spread => {
                let lengths = Gaps::from(spread);
                let drawn = lengths.next(mean as f64, &mut self.rest, &mut self.size);
                drawn.max(1)
            }
        }
    }
}
