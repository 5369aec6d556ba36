//! One rank of a collective operation on its way through the rounds.

use crate::Outstanding;
use crate::jobs::collective::Plan;
use isthmus_kernel::Cycles;
use std::collections::VecDeque;

/// A message that a rank sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    /// When it was asked for.
    pub(super) asked: Cycles,
    /// When it is handed over.
    pub(super) time: Cycles,
    /// The receiver's rank.
    pub(super) to: u32,
    /// Its length.
    pub(super) bytes: u64,
    /// Its step, counted over all rounds.
    pub(super) step: u64,
}

/// What the steps of a plan have in common that is not in the plan.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Between two rounds.
    pub(super) pause: Cycles,
    /// Time of the processor that each message takes before it is handed over.
    overhead: Cycles,
    /// Whether a round begins at all ranks at once.
    pub(super) together: bool,
    /// Steps of a round that may be under way.
    steps: u32,
    /// Messages that may be.
    messages: Outstanding,
}

impl Pace {
    /// That of a plan of which a rank may have so many messages under way.
    pub(super) fn new(
        plan: &Plan,
        pause: Cycles,
        overhead: Cycles,
        outstanding: Outstanding,
    ) -> Self {
        let (steps, messages) = match plan {
            // A message to each of the others, none of which needs another one.
            Plan::AllToAll { .. } => (
                outstanding.limit().unwrap_or(u32::MAX),
                Outstanding::Unlimited,
            ),
            // One step, of several messages.
            Plan::Neighbours { .. } | Plan::Listed { .. } => (1, outstanding),
            // Each step sends what the one before has brought.
            Plan::Ring { .. } | Plan::RecursiveDoubling { .. } => (1, Outstanding::Unlimited),
        };
        Self {
            pause,
            overhead,
            together: plan.together(),
            steps,
            messages,
        }
    }

    /// Whether what a rank does next depends on which of several messages is complete first.
    pub(super) fn several(&self) -> bool {
        self.steps > 1 || self.messages.limit().is_some_and(|most| most > 1)
    }
}

/// A round that a rank has ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    /// Counted from 0.
    pub(super) number: u64,
    /// When it started.
    pub(super) start: Cycles,
    /// When it ended.
    pub(super) end: Cycles,
}

/// A step that has started.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// Own messages that are not complete.
    unsent: u32,
    /// Messages that have not come in.
    awaited: u32,
}

impl Step {
    fn is_done(self) -> bool {
        self.unsent == 0 && self.awaited == 0
    }
}

/// One rank.
#[derive(Debug, Clone, Default)]
pub(super) struct Member {
    /// Steps before this one are done, counted over all rounds.
    first: u64,
    /// Steps from that on that have started.
    started: VecDeque<Step>,
    /// How many of the started steps are not done.
    unfinished: u32,
    /// Messages that have come in early: for the first step that has not started, the next and so on.
    early: VecDeque<u32>,
    /// Messages asked for and not handed over, as they will be.
    waiting: VecDeque<Sent>,
    /// Messages handed over and not complete.
    under_way: u32,
    /// When the last that it waited for was there.
    ready: Cycles,
    asked: u64,
    /// The last time at which it asked, and for how many messages.
    last: (Cycles, u64),
    /// When its present round began.
    round: Cycles,
    /// When its processor has done with the last message that was handed over.
    free: Cycles,
    /// Whether it has ended a round and waits until all have.
    held: bool,
}

impl Member {
    /// One of its own messages, of step `step`, is complete. Whether it may go on.
    pub(super) fn completed(&mut self, now: Cycles, step: u64) -> bool {
        self.under_way -= 1;
        self.ready = self.ready.max(now);
        self.change(step, |step| step.unsent -= 1) || !self.waiting.is_empty()
    }

    /// A message of step `step` has come in. Whether it may go on.
    pub(super) fn arrived(&mut self, now: Cycles, step: u64) -> bool {
        self.ready = self.ready.max(now);
        let next = self.first + self.started.len() as u64;
        if step < next {
            return self.change(step, |step| step.awaited -= 1);
        }
        // At most a round ahead of this rank, since others wait for its messages in turn.
        let ahead = (step - next) as usize;
        if self.early.len() <= ahead {
            self.early.resize(ahead + 1, 0);
        }
        self.early[ahead] += 1;
        false
    }

    /// Apply `note` to a step that has started. Return whether that completes the step.
    fn change(&mut self, step: u64, note: impl FnOnce(&mut Step)) -> bool {
        let step = &mut self.started[(step - self.first) as usize];
        note(step);
        let done = step.is_done();
        self.unfinished -= u32::from(done);
        done
    }

    /// All have ended the round: it begins the next at `time`.
    pub(super) fn release(&mut self, time: Cycles) {
        self.held = false;
        self.ready = time;
        self.round = time;
    }

    /// Start all steps and hand over all messages that it may. Report each round that has ended to
    /// `end`.
    pub(super) fn go_on(
        &mut self,
        plan: &Plan,
        pace: &Pace,
        rank: u32,
        mut send: impl FnMut(Sent),
        mut end: impl FnMut(Round),
    ) {
        if self.held {
            return;
        }
        let steps = plan.steps();
        let mut time = self.ready;
        loop {
            while self.started.front().is_some_and(|step| step.is_done()) {
                self.started.pop_front();
                self.first += 1;
                if self.first.is_multiple_of(steps) {
                    end(Round {
                        number: self.first / steps - 1,
                        start: self.round,
                        end: time,
                    });
                    if pace.together {
                        self.held = true;
                        return;
                    }
                    time += pace.pause;
                    self.round = time;
                }
            }
            let mut asked = 0;
            loop {
                let next = self.first + self.started.len() as u64;
                let within = !next.is_multiple_of(steps) && self.unfinished < pace.steps;
                if !(self.started.is_empty() || within && pace.steps > 1) {
                    break;
                }
                asked += self.begin(plan, rank, next, time);
            }
            if asked > 0 {
                self.asked += asked;
                self.last = (time, asked);
            }
            if !self.started.front().is_some_and(|step| step.is_done()) {
                break;
            }
        }
        while pace.messages.admits(self.under_way)
            && let Some(next) = self.waiting.pop_front()
        {
            self.under_way += 1;
            // A processor sees to one message after the other.
            self.free = time.max(self.free) + pace.overhead;
            send(Sent {
                time: self.free,
                ..next
            });
        }
    }

    /// Start step number `step`, the next. Return how many messages it asks for.
    fn begin(&mut self, plan: &Plan, rank: u32, step: u64, time: Cycles) -> u64 {
        let before = self.waiting.len();
        let waiting = &mut self.waiting;
        let expected = plan.step(rank, step % plan.steps(), &mut |to, bytes| {
            waiting.push_back(Sent {
                asked: time,
                time,
                to,
                bytes,
                step,
            });
        });
        let unsent = (self.waiting.len() - before) as u32;
        let already = self.early.pop_front().unwrap_or(0);
        let started = Step {
            unsent,
            awaited: expected - already,
        };
        self.unfinished += u32::from(!started.is_done());
        self.started.push_back(started);
        unsent.into()
    }

    /// The number of its present round and when that began, unless it waits for others to end one.
    pub(super) fn open_round(&self, plan: &Plan) -> Option<(u64, Cycles)> {
        (!self.held).then(|| (self.first / plan.steps(), self.round))
    }

    /// Messages that it has asked for by `now`.
    pub(super) fn asked_by(&self, now: Cycles) -> u64 {
        match self.last {
            (time, messages) if time > now => self.asked - messages,
            _ => self.asked,
        }
    }
}
