//! One process that asks for messages on its own: which it hands over next, and when.

use crate::Outstanding;
use crate::jobs::client::{Asked, Asking, Client};
use crate::jobs::roles::Clients;
use crate::jobs::source::Operation;
use crate::jobs::spec::Sizes;
use isthmus_kernel::{Chance, Cycles, Stream, Uniform};
use std::collections::VecDeque;

/// What the clients of one job have in common.
#[derive(Debug, Clone)]
pub(super) struct Asks {
    asking: Asking,
    sizes: Sizes,
    reads: Chance,
    /// Length of the last message of a burst.
    tail: u64,
    targets: Vec<u32>,
    outstanding: Outstanding,
}

impl Asks {
    /// # Panics
    /// If a closed loop has no number of messages under way.
    pub(super) fn new(clients: Clients, outstanding: Outstanding) -> Self {
        let closed = matches!(clients.asking, Asking::Closed { .. });
        assert!(
            !closed || outstanding.limit().is_some(),
            "a closed loop keeps a number of messages under way"
        );
        Self {
            asking: clients.asking,
            sizes: clients.sizes,
            reads: Chance::new(clients.read_ratio),
            tail: clients.tail,
            targets: clients.targets,
            outstanding,
        }
    }

    /// Whether a client may have several messages under way.
    #[inline]
    pub(super) fn several(&self) -> bool {
        self.outstanding != Outstanding::ONE
    }

    /// Whether what a client does next depends on which of several messages is complete first. What
    /// asks in time for messages however many are under way does not look back.
    #[inline]
    pub(super) fn in_order(&self) -> bool {
        let asks_on = matches!(self.asking, Asking::Open { .. });
        self.several() && !(asks_on && self.outstanding == Outstanding::Unlimited)
    }

    /// Messages that a closed loop keeps going.
    fn loops(&self) -> u64 {
        self.outstanding.limit().unwrap_or(1).into()
    }

    /// Messages of a burst, where it asks in bursts.
    pub(super) fn burst(&self) -> Option<u64> {
        match self.asking {
            Asking::Bursts { messages, .. } => Some(messages),
            _ => None,
        }
    }
}

/// A message that a process hands over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Next {
    pub(super) asked: Asked,
    pub(super) to: u32,
    pub(super) bytes: u64,
    pub(super) operation: Operation,
    /// The number of its burst, from 0.
    pub(super) burst: u64,
}

/// A burst that is not complete, or waits for one before it.
#[derive(Debug, Clone, Copy)]
struct Burst {
    start: Cycles,
    end: Cycles,
    left: u64,
}

/// One process.
#[derive(Debug, Clone)]
pub(super) struct Asker {
    client: Client,
    to: To,
    operation: Stream,
    /// Messages handed over and not complete.
    under_way: u32,
    /// Whether the next message is known and not handed over; only while one more may be.
    next_known: bool,
    /// How many bursts have been reported as complete.
    bursts_reported: u64,
    /// The bursts after those, in order.
    bursts: VecDeque<Burst>,
}

impl Asker {
    /// The process of `node`, which has this partner or any of the targets. Streams are made by the
    /// use that they are of.
    pub(super) fn new(
        node: u32,
        partner: Option<u32>,
        targets: &[u32],
        stream: impl Fn(&str) -> Stream,
    ) -> Self {
        Self {
            client: Client::new(stream("arrival"), stream("size")),
            to: To::new(node, partner, targets, stream("destination")),
            operation: stream("operation"),
            under_way: 0,
            next_known: false,
            bursts_reported: 0,
            bursts: VecDeque::new(),
        }
    }

    /// Its first messages: all of a closed loop, else one.
    pub(super) fn begin(&mut self, asks: &Asks, mut give: impl FnMut(Next)) {
        let first = match asks.asking {
            Asking::Closed { .. } => asks.loops(),
            _ => 1,
        };
        for _ in 0..first {
            give(self.next(asks, 0));
        }
        self.next_known = true;
    }

    /// A message has been handed over at `now`. Its next, if it is to be known now.
    #[inline]
    pub(super) fn handed(&mut self, asks: &Asks, now: Cycles) -> Option<Next> {
        self.under_way += 1;
        // A closed loop asks when one is complete.
        if asks.outstanding == Outstanding::ONE || matches!(asks.asking, Asking::Closed { .. }) {
            return None;
        }
        self.next_known = asks.outstanding.admits(self.under_way);
        self.next_known.then(|| self.next(asks, now))
    }

    /// Take note that a message of burst number `burst`, requested at `asked`, is complete at `now`. Report each burst
    /// that ends with it to `ended`: its number, start and end. Return the next message if it is known now.
    #[inline]
    pub(super) fn completed(
        &mut self,
        asks: &Asks,
        now: Cycles,
        (asked, burst): (Cycles, u64),
        ended: impl FnMut(u64, Cycles, Cycles),
    ) -> Option<Next> {
        let closed = matches!(asks.asking, Asking::Closed { .. });
        if closed {
            self.client.completed(asked);
        }
        if asks.burst().is_some() {
            self.note_burst(burst, now, ended);
        }
        let follows = closed || asks.outstanding == Outstanding::ONE || !self.next_known;
        // One message after another is not counted.
        self.under_way = self.under_way.saturating_sub(1);
        self.next_known |= follows;
        follows.then(|| self.next(asks, now))
    }

    fn note_burst(&mut self, burst: u64, now: Cycles, mut ended: impl FnMut(u64, Cycles, Cycles)) {
        let at = (burst - self.bursts_reported) as usize;
        let of = &mut self.bursts[at];
        of.left -= 1;
        of.end = of.end.max(now);
        while let Some(&first) = self.bursts.front().filter(|burst| burst.left == 0) {
            self.bursts.pop_front();
            ended(self.bursts_reported, first.start, first.end);
            self.bursts_reported += 1;
        }
    }

    /// The next message, at `now` or later.
    fn next(&mut self, asks: &Asks, now: Cycles) -> Next {
        let asked = self.client.next(&asks.asking, now, asks.loops());
        let mut last = false;
        if let Some(messages) = asks.burst() {
            last = asked.place + 1 == messages;
            if asked.place == 0 {
                self.bursts.push_back(Burst {
                    start: asked.asked,
                    end: 0,
                    left: messages,
                });
            }
        }
        let bytes = match last {
            true => asks.tail,
            false => self.client.size(asks.sizes),
        };
        let operation = match asks.reads.draw(&mut self.operation) {
            true => Operation::Read,
            false => Operation::Write,
        };
        Next {
            asked,
            to: self.to.next(&asks.targets),
            bytes,
            operation,
            // The message is part of the newest burst.
            burst: (self.bursts_reported + self.bursts.len() as u64).saturating_sub(1),
        }
    }

    /// As [`Client::asked_and_next`].
    #[inline]
    pub(super) fn asked_and_next(&mut self, asks: &Asks, now: Cycles) -> (u64, Option<Cycles>) {
        self.client.asked_and_next(&asks.asking, now)
    }

    /// Return for how long each message of a closed loop has been asked for and not complete.
    pub(super) fn open_messages(&self, now: Cycles) -> impl Iterator<Item = Cycles> {
        self.client.open(now)
    }

    /// Return the number of the first burst that is not complete, and the start of that and of all later ones.
    pub(super) fn open_bursts(&self) -> (u64, impl Iterator<Item = Cycles> + '_) {
        let starts = self.bursts.iter().map(|burst| burst.start);
        (
            self.bursts_reported,
            starts.chain(self.client.waiting_bursts()),
        )
    }
}

#[derive(Debug, Clone)]
enum To {
    One(u32),
    /// Any of the targets but this one.
    Any {
        draw: Uniform,
        own: Option<u32>,
        stream: Stream,
    },
}

impl To {
    fn new(node: u32, partner: Option<u32>, targets: &[u32], stream: Stream) -> Self {
        if let Some(partner) = partner {
            return Self::One(partner);
        }
        let own = targets.iter().position(|&target| target == node);
        let others = targets.len() - usize::from(own.is_some());
        Self::Any {
            draw: Uniform::below(others as u32),
            own: own.map(|own| own as u32),
            stream,
        }
    }

    #[inline]
    fn next(&mut self, targets: &[u32]) -> u32 {
        match self {
            Self::One(partner) => *partner,
            Self::Any { draw, own, stream } => {
                let other = draw.draw(stream);
                let past = own.is_some_and(|own| other >= own);
                targets[(other + u32::from(past)) as usize]
            }
        }
    }
}
