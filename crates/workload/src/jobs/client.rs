//! Clients: the times and sizes of the messages that they generate.

use crate::gaps::Gaps;
use crate::jobs::spec::{Arrivals, Sizes, Spread};
use isthmus_kernel::{Cycles, Gap, Stream};
use isthmus_units::Time;
use std::collections::VecDeque;

/// Return `time` as a number of ticks of the length `tick`, without rounding.
pub(super) fn ticks(time: Time, tick: Time) -> f64 {
    time.ps() as f64 / tick.ps() as f64
}

/// Arrival process of the messages of each client of a job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ArrivalProcess {
    /// Open loop: random or equal gaps between messages, with mean `mean` in ticks.
    Open { mean: f64, gaps: Gaps },
    /// Bursts: each client generates `messages` messages at every multiple of `period` ticks.
    Bursts { period: f64, messages: u64 },
    /// Closed loop: a pause with mean `think`, in ticks, after each completion of a message.
    Closed { think: f64, spread: Spread },
}

impl ArrivalProcess {
    /// Return the arrival process of `arrivals` for messages with the size distribution `sizes`.
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

/// A message that a client has generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GeneratedMessage {
    /// Time at which the client generated the message.
    pub(super) asked: Cycles,
    /// Earliest time at which the client may hand the message to the network interface.
    pub(super) time: Cycles,
    /// Index of the message in its burst (the messages that arrive together), from 0.
    pub(super) place: u64,
}

/// Generator of the messages of one process: their times and their sizes.
#[derive(Debug, Clone)]
pub(super) struct Client {
    arrival: Stream,
    size: Stream,
    gap: Gap,
    size_gap: Gap,
    /// Arrivals with messages that have not been handed over: time, number of remaining messages, number of all
    /// messages.
    waiting: VecDeque<(Cycles, u64, u64)>,
    /// Number of messages generated so far, including those of the last arrival whose time is already drawn at random.
    drawn: u64,
    /// Time and number of messages of the last arrival that was drawn.
    last: Option<(Cycles, u64)>,
    /// Generation times of the incomplete messages of a closed loop, ascending.
    open: VecDeque<Cycles>,
}

impl Client {
    /// Return a client that has generated no message. It draws arrival times and message sizes from these streams.
    pub(super) fn new(arrival: Stream, size: Stream) -> Self {
        Self {
            arrival,
            size,
            gap: Gap::default(),
            size_gap: Gap::default(),
            waiting: VecDeque::new(),
            drawn: 0,
            last: None,
            open: VecDeque::new(),
        }
    }

    /// Return the next message, which may be handed over at `now` or later. A closed loop does not pause before its
    /// first `loops` messages.
    pub(super) fn next(
        &mut self,
        asking: &ArrivalProcess,
        now: Cycles,
        loops: u64,
    ) -> GeneratedMessage {
        if let ArrivalProcess::Closed { think, spread } = *asking {
            let time = match self.drawn < loops {
                true => now,
                false => now + self.pause(think, spread),
            };
            self.drawn += 1;
            let at = self.open.partition_point(|&earlier| earlier <= time);
            self.open.insert(at, time);
            let place = 0;
            return GeneratedMessage {
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
        GeneratedMessage {
            asked,
            time: asked.max(now),
            place: all - left - 1,
        }
    }

    /// Draw the next pause of a closed loop. A fixed pause is rounded to whole ticks.
    fn pause(&mut self, mean: f64, spread: Spread) -> Cycles {
        match spread {
            Spread::Fixed => mean.round() as Cycles,
            spread => Gaps::from(spread).next(mean, &mut self.gap, &mut self.arrival),
        }
    }

    /// Record an arrival of `messages` messages at `time`.
    fn record_arrival(&mut self, time: Cycles, messages: u64) {
        self.drawn += messages;
        self.last = Some((time, messages));
    }

    /// Draw the next arrival at random, and append its messages to the waiting ones.
    fn draw_arrival(&mut self, asking: &ArrivalProcess) {
        let (time, messages) = match *asking {
            ArrivalProcess::Open { mean, gaps } => {
                let (gap, stream) = (&mut self.gap, &mut self.arrival);
                let time = match self.last {
                    None => gaps.first(mean, gap, stream),
                    Some((time, _)) => time + gaps.next(mean, gap, stream),
                };
                (time, 1)
            }
            ArrivalProcess::Bursts { period, messages } => {
                let next = self.last.map(|(time, _)| time + self.gap.fixed(period));
                (next.unwrap_or(0), messages)
            }
            ArrivalProcess::Closed { .. } => unreachable!("a closed loop has no arrivals"),
        };
        self.record_arrival(time, messages);
        self.waiting.push_back((time, messages, messages));
    }

    /// Record that a message of a closed loop is complete. The message was generated at time `asked`.
    #[inline]
    pub(super) fn completed(&mut self, asked: Cycles) {
        if let Ok(at) = self.open.binary_search(&asked) {
            self.open.remove(at);
        }
    }

    /// Return the age of each incomplete message of a closed loop that was generated by `now`.
    pub(super) fn open(&self, now: Cycles) -> impl Iterator<Item = Cycles> {
        self.open
            .iter()
            .filter_map(move |&asked| now.checked_sub(asked))
    }

    /// Return the number of messages generated by `now`, and the time at which the client generates the next one. In a
    /// closed loop this time depends on completions and is `None`. `now` must not decrease from call to call.
    #[inline]
    pub(super) fn asked_and_next(
        &mut self,
        asking: &ArrivalProcess,
        now: Cycles,
    ) -> (u64, Option<Cycles>) {
        if let ArrivalProcess::Closed { .. } = asking {
            let generated = self.open.partition_point(|&time| time <= now);
            return (self.drawn - (self.open.len() - generated) as u64, None);
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

    /// Return the start time of each burst of which no message has been handed to the network interface.
    pub(super) fn waiting_bursts(&self) -> impl Iterator<Item = Cycles> + '_ {
        let whole = self.waiting.iter().filter(|(_, left, all)| left == all);
        whole.map(|&(time, ..)| time)
    }

    /// Draw the size of the next message in bytes, at least 1.
    pub(super) fn size(&mut self, sizes: Sizes) -> u64 {
        let mean = sizes.mean.get();
        match sizes.spread {
            Spread::Fixed => mean,
            spread => {
                let lengths = Gaps::from(spread);
                let drawn = lengths.next(mean as f64, &mut self.size_gap, &mut self.size);
                drawn.max(1)
            }
        }
    }
}
