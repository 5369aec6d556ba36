//! One client process of a job: its next message, and the time at which it hands the message to the network interface.

use crate::Outstanding;
use crate::jobs::client::{ArrivalProcess, Client, GeneratedMessage};
use crate::jobs::roles::Clients;
use crate::jobs::source::Operation;
use crate::jobs::spec::Sizes;
use isthmus_kernel::{Chance, Cycles, Stream, Uniform};
use std::collections::VecDeque;

/// Settings that all clients of one job share.
#[derive(Debug, Clone)]
pub(super) struct ClientSettings {
    asking: ArrivalProcess,
    sizes: Sizes,
    reads: Chance,
    /// Length of the last message of a burst, in bytes.
    tail: u64,
    targets: Vec<u32>,
    outstanding: Outstanding,
}

impl ClientSettings {
    /// Return the common settings of `clients`.
    ///
    /// # Panics
    /// If a closed loop has no limit on its messages under way.
    pub(super) fn new(clients: Clients, outstanding: Outstanding) -> Self {
        let closed = matches!(clients.asking, ArrivalProcess::Closed { .. });
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

    /// Return whether a client may have several messages under way.
    #[inline]
    pub(super) fn several(&self) -> bool {
        self.outstanding != Outstanding::ONE
    }

    /// Return whether the next step of a client depends on which of several messages completes first. The result is
    /// false for an open loop without a limit on outstanding messages, which never waits for completions.
    #[inline]
    pub(super) fn in_order(&self) -> bool {
        let asks_on = matches!(self.asking, ArrivalProcess::Open { .. });
        self.several() && !(asks_on && self.outstanding == Outstanding::Unlimited)
    }

    /// Return the limit on the messages that a client of a closed loop has under way, or 1 without a limit.
    fn closed_messages(&self) -> u64 {
        self.outstanding.limit().unwrap_or(1).into()
    }

    /// Return the number of messages of a burst, or `None` if the clients do not send in bursts.
    pub(super) fn burst(&self) -> Option<u64> {
        match self.asking {
            ArrivalProcess::Bursts { messages, .. } => Some(messages),
            _ => None,
        }
    }
}

/// The next message that a process hands over to its network interface.
#[derive(Debug, Clone, Copy)]
pub(super) struct Next {
    pub(super) asked: GeneratedMessage,
    pub(super) to: u32,
    pub(super) bytes: u64,
    pub(super) operation: Operation,
    /// Number of the message's burst, from 0.
    pub(super) burst: u64,
}

/// A burst of messages that is incomplete, or is complete and waits for an earlier burst to complete.
#[derive(Debug, Clone, Copy)]
struct Burst {
    start: Cycles,
    end: Cycles,
    incomplete: u64,
}

/// State of one client process: the messages and bursts that it has under way.
#[derive(Debug, Clone)]
pub(super) struct ClientState {
    client: Client,
    to: Destination,
    operation: Stream,
    /// Number of messages that the client has handed to its network interface and that are not complete.
    under_way: u32,
    /// Whether the next message is determined but not yet handed to the network interface. True only below the limit of
    /// outstanding messages.
    next_known: bool,
    /// Number of bursts that the client has reported as complete.
    bursts_reported: u64,
    /// The bursts that the client has not yet reported as complete, the oldest first.
    bursts: VecDeque<Burst>,
}

impl ClientState {
    /// Return the state of the client process on node `node`. It sends all messages to node `partner`, or without a
    /// partner to random nodes of `targets`. `stream` returns the random stream for a named use, such as "arrival".
    pub(super) fn new(
        node: u32,
        partner: Option<u32>,
        targets: &[u32],
        stream: impl Fn(&str) -> Stream,
    ) -> Self {
        Self {
            client: Client::new(stream("arrival"), stream("size")),
            to: Destination::new(node, partner, targets, stream("destination")),
            operation: stream("operation"),
            under_way: 0,
            next_known: false,
            bursts_reported: 0,
            bursts: VecDeque::new(),
        }
    }

    /// Pass the first messages of the client to `give`: all outstanding ones of a closed loop, else one.
    pub(super) fn begin(&mut self, asks: &ClientSettings, mut give: impl FnMut(Next)) {
        let first = match asks.asking {
            ArrivalProcess::Closed { .. } => asks.closed_messages(),
            _ => 1,
        };
        for _ in 0..first {
            give(self.next(asks, 0));
        }
        self.next_known = true;
    }

    /// Record that the client handed a message to its network interface at `now`. Return the next message if it is
    /// already determined.
    #[inline]
    pub(super) fn handed(&mut self, asks: &ClientSettings, now: Cycles) -> Option<Next> {
        self.under_way += 1;
        // No message follows now: a closed loop generates its next message at a completion.
        if asks.outstanding == Outstanding::ONE
            || matches!(asks.asking, ArrivalProcess::Closed { .. })
        {
            return None;
        }
        self.next_known = asks.outstanding.admits(self.under_way);
        self.next_known.then(|| self.next(asks, now))
    }

    /// Record that a message of burst number `burst`, generated at `asked`, is complete at `now`. Call `ended` with the
    /// number, start and end of each burst that this message completes. Return the next message if it is already
    /// determined.
    #[inline]
    pub(super) fn completed(
        &mut self,
        asks: &ClientSettings,
        now: Cycles,
        (asked, burst): (Cycles, u64),
        ended: impl FnMut(u64, Cycles, Cycles),
    ) -> Option<Next> {
        let closed = matches!(asks.asking, ArrivalProcess::Closed { .. });
        if closed {
            self.client.completed(asked);
        }
        if asks.burst().is_some() {
            self.record_in_burst(burst, now, ended);
        }
        let follows = closed || asks.outstanding == Outstanding::ONE || !self.next_known;
        // With a limit of one, `handed` need not be called, so the count may be 0 already.
        self.under_way = self.under_way.saturating_sub(1);
        self.next_known |= follows;
        follows.then(|| self.next(asks, now))
    }

    /// Record that a message of burst number `burst` is complete. Report complete bursts to `ended` in the order of
    /// their numbers.
    fn record_in_burst(
        &mut self,
        burst: u64,
        now: Cycles,
        mut ended: impl FnMut(u64, Cycles, Cycles),
    ) {
        let at = (burst - self.bursts_reported) as usize;
        let open = &mut self.bursts[at];
        open.incomplete -= 1;
        open.end = open.end.max(now);
        while let Some(&first) = self.bursts.front().filter(|burst| burst.incomplete == 0) {
            self.bursts.pop_front();
            ended(self.bursts_reported, first.start, first.end);
            self.bursts_reported += 1;
        }
    }

    /// Draw the next message, which is handed over at `now` or later.
    fn next(&mut self, asks: &ClientSettings, now: Cycles) -> Next {
        let asked = self.client.next(&asks.asking, now, asks.closed_messages());
        let mut last = false;
        if let Some(messages) = asks.burst() {
            last = asked.place + 1 == messages;
            if asked.place == 0 {
                self.bursts.push_back(Burst {
                    start: asked.asked,
                    end: 0,
                    incomplete: messages,
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
            // The message belongs to the newest burst of the client.
            burst: (self.bursts_reported + self.bursts.len() as u64).saturating_sub(1),
        }
    }

    /// Forward to [`Client::asked_and_next`]: the number of messages generated by `now`, and the time of the next one.
    #[inline]
    pub(super) fn asked_and_next(
        &mut self,
        asks: &ClientSettings,
        now: Cycles,
    ) -> (u64, Option<Cycles>) {
        self.client.asked_and_next(&asks.asking, now)
    }

    /// Return the age of each incomplete message of a closed loop that was generated by time `now`.
    pub(super) fn open_messages(&self, now: Cycles) -> impl Iterator<Item = Cycles> {
        self.client.open(now)
    }

    /// Return the number of the first incomplete burst, and the start times of this and all later bursts.
    pub(super) fn open_bursts(&self) -> (u64, impl Iterator<Item = Cycles> + '_) {
        let starts = self.bursts.iter().map(|burst| burst.start);
        (
            self.bursts_reported,
            starts.chain(self.client.waiting_bursts()),
        )
    }
}

/// Receiver of the messages of a client: always the same node, or a random one.
#[derive(Debug, Clone)]
enum Destination {
    One(u32),
    /// A random one of the targets, except the one with index `own`, which is the client itself.
    Any {
        draw: Uniform,
        own: Option<u32>,
        stream: Stream,
    },
}

impl Destination {
    /// Return the destination of the messages of the client on `node`: always `partner`, or without a partner a random
    /// one of `targets`.
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

    /// Return the node that receives the next message.
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
