//! The progress of one rank of a collective operation through its rounds.

use crate::Outstanding;
use crate::jobs::collective::Plan;
use isthmus_kernel::Cycles;
use std::collections::VecDeque;

/// A message of a collective operation, as a rank sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    /// Time at which the rank generated the message.
    pub(super) generated_at: Cycles,
    /// Time at which the rank hands this message to its network interface.
    pub(super) time: Cycles,
    /// Rank of the receiver.
    pub(super) to: u32,
    /// Length of the message in bytes.
    pub(super) bytes: u64,
    /// Number of the step in which the message is sent, counted over all rounds.
    pub(super) step: u64,
}

/// Pause, processor time and limits of a collective operation, which hold for all ranks and steps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Pause between two rounds of the operation, in cycles.
    pub(super) pause: Cycles,
    /// Processor time that each message takes before it is handed to the network interface.
    overhead: Cycles,
    /// Whether all ranks start each round at the same time, when all have ended the previous one.
    pub(super) together: bool,
    /// Maximum number of steps of a round that a rank may have under way at a time.
    steps: u32,
    /// Maximum number of messages that a rank may have under way at a time.
    messages: Outstanding,
}

impl Pace {
    /// Return the pause, processor time and limits of the operation `plan`. A rank may have `outstanding` messages
    /// under way.
    pub(super) fn new(
        plan: &Plan,
        pause: Cycles,
        overhead: Cycles,
        outstanding: Outstanding,
    ) -> Self {
        let (steps, messages) = match plan {
            // Limit the steps: each sends one message to another rank, and no message depends on another.
            Plan::AllToAll { .. } => (
                outstanding.limit().unwrap_or(u32::MAX),
                Outstanding::Unlimited,
            ),
            // A round of these operations is one step, in which a rank sends several messages.
            Plan::Neighbours { .. } | Plan::Listed { .. } => (1, outstanding),
            // Each step sends data that the previous step received, so only one step is under way.
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

    /// Return whether a rank may have several messages or steps under way, so that its next step depends on which one
    /// completes first.
    pub(super) fn several(&self) -> bool {
        self.steps > 1 || self.messages.limit().is_some_and(|most| most > 1)
    }
}

/// A round of a collective operation that a rank has ended, with its start and its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    /// Number of the round, from 0.
    pub(super) number: u64,
    /// Time at which the rank started the round.
    pub(super) start: Cycles,
    /// Time at which the rank ended the round.
    pub(super) end: Cycles,
}

/// State of a step of a collective operation that a rank has started.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// Number of messages that this rank sends in the step and that are not complete.
    unsent: u32,
    /// Number of messages from other ranks that this rank still awaits in the step.
    awaited: u32,
}

impl Step {
    /// Return whether the rank has sent and received all of its messages of this step.
    fn is_done(self) -> bool {
        self.unsent == 0 && self.awaited == 0
    }
}

/// State of one rank of a collective operation.
#[derive(Debug, Clone, Default)]
pub(super) struct Member {
    /// Number of the first entry of `started`, counted over all rounds. Earlier steps are done and removed.
    first: u64,
    /// The steps that have started, from step number `first`.
    started: VecDeque<Step>,
    /// Number of steps that the rank has started but not finished.
    unfinished: u32,
    /// For each step that has not started, in order: the number of messages that have already arrived for the step.
    early: VecDeque<u32>,
    /// Messages that are generated but not yet handed to the network interface, in order.
    waiting: VecDeque<Sent>,
    /// Number of messages that were handed to the network interface and are not complete.
    under_way: u32,
    /// Time of the latest completion or arrival after which the rank could continue.
    ready: Cycles,
    /// Number of messages that the rank has generated so far.
    generated: u64,
    /// Time of the last step in which the rank generated messages, and the number of these messages.
    last: (Cycles, u64),
    /// Time at which the rank started its present round.
    round: Cycles,
    /// Time at which the processor becomes free: it has handed the last message to the network interface by then.
    free: Cycles,
    /// Whether the rank has ended a round and waits until all ranks have ended it.
    waits_for_all: bool,
}

impl Member {
    /// Record that one of this rank's own messages, sent in step `step`, is complete. Return whether the rank has
    /// something to do: the step is complete, or messages wait.
    pub(super) fn completed(&mut self, now: Cycles, step: u64) -> bool {
        self.under_way -= 1;
        self.ready = self.ready.max(now);
        self.update_step(step, |step| step.unsent -= 1) || !self.waiting.is_empty()
    }

    /// Record the arrival of a message that another rank sent in step `step`. Return whether this completes a step, so
    /// that this rank may continue.
    pub(super) fn arrived(&mut self, now: Cycles, step: u64) -> bool {
        self.ready = self.ready.max(now);
        let next = self.first + self.started.len() as u64;
        if step < next {
            return self.update_step(step, |step| step.awaited -= 1);
        }
        // Index of the step after the latest started one. Senders are at most one round ahead of this rank, since they
        // wait for its messages in turn.
        let ahead = (step - next) as usize;
        if self.early.len() <= ahead {
            self.early.resize(ahead + 1, 0);
        }
        self.early[ahead] += 1;
        false
    }

    /// Apply `note` to the state of step number `step`, which has started. Return whether the step is complete after
    /// that.
    fn update_step(&mut self, step: u64, note: impl FnOnce(&mut Step)) -> bool {
        let step = &mut self.started[(step - self.first) as usize];
        note(step);
        let done = step.is_done();
        self.unfinished -= u32::from(done);
        done
    }

    /// Let the rank continue, which waits for the others: its next round starts at `time`, when all ranks have ended
    /// the present one.
    pub(super) fn release(&mut self, time: Cycles) {
        self.waits_for_all = false;
        self.ready = time;
        self.round = time;
    }

    /// Start all steps that the limits allow, and call `send` with each message that is handed over. Call `end` with
    /// each round that the rank has ended.
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
            // Make the processor busy until then: it handles one message at a time.
            self.free = time.max(self.free) + pace.overhead;
            send(Sent {
                time: self.free,
                ..next
            });
        }
    }

    /// Start step number `step`, which must be the next one, at `time`. Return the number of messages that the rank
    /// generates in it.
    fn begin(&mut self, plan: &Plan, rank: u32, step: u64, time: Cycles) -> u64 {
        let before = self.waiting.len();
        let waiting = &mut self.waiting;
        let expected = plan.step(rank, step % plan.steps(), &mut |to, bytes| {
            waiting.push_back(Sent {
                generated_at: time,
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

    /// Return the number and the start time of the rank's present round. Return `None` if the rank has ended the round
    /// and waits for other ranks.
    pub(super) fn open_round(&self, plan: &Plan) -> Option<(u64, Cycles)> {
        (!self.waits_for_all).then(|| (self.first / plan.steps(), self.round))
    }

    /// Return how many messages the rank has generated by time `now`.
    pub(super) fn generated_by(&self, now: Cycles) -> u64 {
        match self.last {
            (time, messages) if time > now => self.generated - messages,
            _ => self.generated,
        }
    }
}
