//! One rank of a collective operation and its progress through the rounds.

use crate::Outstanding;
use crate::jobs::collective::Plan;
use isthmus_kernel::Cycles;
use std::collections::VecDeque;

/// A message that a rank sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    /// Time at which it was generated.
    pub(super) asked: Cycles,
    /// Time at which it is handed over.
    pub(super) time: Cycles,
    /// The receiver's rank.
    pub(super) to: u32,
    /// Its length.
    pub(super) bytes: u64,
    /// Number of its step, counted over all rounds.
    pub(super) step: u64,
}

/// Limits and times that all steps of a plan share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Pause between two rounds.
    pub(super) pause: Cycles,
    /// Processor time for each message before it is handed over.
    overhead: Cycles,
    /// Whether all ranks start a round together.
    pub(super) together: bool,
    /// Largest number of steps of a round that may be under way.
    steps: u32,
    /// Limit on the messages under way.
    messages: Outstanding,
}

impl Pace {
    /// Return the limits and times of `plan`, where a rank may have `outstanding` messages under way.
    pub(super) fn new(
        plan: &Plan,
        pause: Cycles,
        overhead: Cycles,
        outstanding: Outstanding,
    ) -> Self {
        let (steps, messages) = match plan {
            // A rank sends one message to each other rank; no message depends on another.
            Plan::AllToAll { .. } => (
                outstanding.limit().unwrap_or(u32::MAX),
                Outstanding::Unlimited,
            ),
            // One step with several messages.
            Plan::Neighbours { .. } | Plan::Listed { .. } => (1, outstanding),
            // Each step sends data that the previous step received.
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

    /// Return whether the next step of a rank depends on which of several messages completes first.
    pub(super) fn several(&self) -> bool {
        self.steps > 1 || self.messages.limit().is_some_and(|most| most > 1)
    }
}

/// A round that a rank has ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    /// Number of the round, from 0.
    pub(super) number: u64,
    /// Time at which it started.
    pub(super) start: Cycles,
    /// Time at which it ended.
    pub(super) end: Cycles,
}

/// A step that has started.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// Number of the rank's own messages that are not complete.
    unsent: u32,
    /// Number of messages from others that have not arrived.
    awaited: u32,
}

impl Step {
    fn is_done(self) -> bool {
        self.unsent == 0 && self.awaited == 0
    }
}

/// State of one rank.
#[derive(Debug, Clone, Default)]
pub(super) struct Member {
    /// Number of the first step that is not removed as done, counted over all rounds.
    first: u64,
    /// Steps that have started, from `first` on.
    started: VecDeque<Step>,
    /// Number of started steps that are not done.
    unfinished: u32,
    /// Numbers of messages that arrived early: for the first step that has not started, the next etc.
    early: VecDeque<u32>,
    /// Messages that are generated and not handed over, in order.
    waiting: VecDeque<Sent>,
    /// Number of messages that were handed over and are not complete.
    under_way: u32,
    /// Time of the latest completion or arrival that the rank waited for.
    ready: Cycles,
    /// Number of messages generated so far.
    generated: u64,
    /// Time and number of messages of the last generation.
    last: (Cycles, u64),
    /// Start of the present round.
    round: Cycles,
    /// Time from which the processor is free: the last message has been handed over.
    free: Cycles,
    /// Whether the rank has ended a round and waits until all ranks have.
    waits_for_all: bool,
}

impl Member {
    /// Record that one of the rank's own messages, of step `step`, is complete. Return whether the
    /// rank may continue.
    pub(super) fn completed(&mut self, now: Cycles, step: u64) -> bool {
        self.under_way -= 1;
        self.ready = self.ready.max(now);
        self.update_step(step, |step| step.unsent -= 1) || !self.waiting.is_empty()
    }

    /// Record the arrival of a message of step `step`. Return whether the rank may continue.
    pub(super) fn arrived(&mut self, now: Cycles, step: u64) -> bool {
        self.ready = self.ready.max(now);
        let next = self.first + self.started.len() as u64;
        if step < next {
            return self.update_step(step, |step| step.awaited -= 1);
        }
        // Senders are at most a round ahead of this rank, since they wait for its messages in turn.
        let ahead = (step - next) as usize;
        if self.early.len() <= ahead {
            self.early.resize(ahead + 1, 0);
        }
        self.early[ahead] += 1;
        false
    }

    /// Apply `note` to a step that has started. Return whether that completes the step.
    fn update_step(&mut self, step: u64, note: impl FnOnce(&mut Step)) -> bool {
        let step = &mut self.started[(step - self.first) as usize];
        note(step);
        let done = step.is_done();
        self.unfinished -= u32::from(done);
        done
    }

    /// Start the next round at `time`, since all ranks have ended the present one.
    pub(super) fn release(&mut self, time: Cycles) {
        self.waits_for_all = false;
        self.ready = time;
        self.round = time;
    }

    /// Start all steps and hand over all messages that the limits allow. Report each round that has
    /// ended to `end`.
    pub(super) fn go_on(
        &mut self,
        plan: &Plan,
        pace: &Pace,
        rank: u32,
        mut send: impl FnMut(Sent),
        mut end: impl FnMut(Round),
    ) {
        if self.waits_for_all {
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
                        self.waits_for_all = true;
                        return;
                    }
                    time += pace.pause;
                    self.round = time;
                }
            }
            let mut generated = 0;
            loop {
                let next = self.first + self.started.len() as u64;
                let within = !next.is_multiple_of(steps) && self.unfinished < pace.steps;
                if !(self.started.is_empty() || within && pace.steps > 1) {
                    break;
                }
                generated += self.begin(plan, rank, next, time);
            }
            if generated > 0 {
                self.generated += generated;
                self.last = (time, generated);
            }
            if !self.started.front().is_some_and(|step| step.is_done()) {
                break;
            }
        }
        while pace.messages.admits(self.under_way)
            && let Some(next) = self.waiting.pop_front()
        {
            self.under_way += 1;
            // A processor handles one message at a time.
            self.free = time.max(self.free) + pace.overhead;
            send(Sent {
                time: self.free,
                ..next
            });
        }
    }

    /// Start the next step, number `step`. Return the number of messages that it generates.
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

    /// Return number and start of the present round, or `None` while the rank waits for others.
    pub(super) fn open_round(&self, plan: &Plan) -> Option<(u64, Cycles)> {
        (!self.waits_for_all).then(|| (self.first / plan.steps(), self.round))
    }

    /// Return the number of messages generated by `now`.
    pub(super) fn asked_by(&self, now: Cycles) -> u64 {
        match self.last {
            (time, messages) if time > now => self.generated - messages,
            _ => self.generated,
        }
    }
}
