//! The cells, row by row: what is reshuffled, what waits to be sent, what has gone.

use crate::shuffle::Message;
use isthmus_kernel::Cycles;

/// Times of the TUs of a row, in sum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// From when its data are there until they are reshuffled.
    pub reshuffle: Cycles,
    /// From then until it begins to send.
    pub wait: Cycles,
    /// From then until all of it has gone.
    pub send: Cycles,
    /// Of how many TUs.
    pub tus: u64,
}

/// One row of cells. Its TUs are counted through all ADUs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    /// TUs of an ADU that it has.
    pub per_adu: u64,
    /// TUs that it will have in all.
    pub total: u64,
    /// TUs that are reshuffled, and those that have gone to the interface.
    pub ready: u64,
    pub sent: u64,
    /// Whether the next one is being reshuffled, and since when.
    began: Option<Cycles>,
    /// For each column the messages of the TU that its cell has sent, and how many of all are left.
    next: Vec<usize>,
    left: usize,
    /// When each of those ready and not sent was ready; when the present one began to be sent.
    readied: std::collections::VecDeque<Cycles>,
    sending: Option<Cycles>,
    /// SUs that wait until the TU that they are of is ready.
    pub waiting: Vec<(u64, u32)>,
    pub times: Times,
}

impl Row {
    pub fn new(per_adu: u64, adus: u64, columns: usize) -> Self {
        Self {
            per_adu,
            total: per_adu * adus,
            next: vec![0; columns],
            ..Self::default()
        }
    }

    /// Begins to reshuffle the next TU, if its data are there: those of an ADU are when it is made
    /// and all of the one before has gone, whose place they take. Whether it did.
    pub fn begin(&mut self, now: Cycles, made: u64, messages: &[Vec<Message>]) -> bool {
        let adus = self.sent / self.per_adu.max(1) + 1;
        let there = self.per_adu * adus.min(made);
        if self.began.is_some() || self.ready >= there.min(self.total) {
            return false;
        }
        self.began = Some(now);
        self.next.fill(0);
        self.left = messages.iter().map(Vec::len).sum();
        true
    }

    /// The next message of the cell in this column, if there is one left.
    pub fn next_message(&mut self, column: u32, messages: &[Vec<Message>]) -> Option<Message> {
        let next = self.next.get_mut(column as usize)?;
        let message = messages.get(column as usize)?.get(*next).copied();
        *next += usize::from(message.is_some());
        message
    }

    /// One message less is to come.
    pub fn arrived(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// Whether all messages of the TU have arrived; it is ready then.
    pub fn settle(&mut self, now: Cycles) -> bool {
        let Some(began) = self.began.filter(|_| self.left == 0) else {
            return false;
        };
        self.began = None;
        self.ready += 1;
        self.times.reshuffle += now - began;
        self.readied.push_back(now);
        true
    }

    /// An SU of the present TU begins to move.
    pub fn sends(&mut self, now: Cycles) {
        if self.sending.is_none() {
            let ready = self.readied.front().copied().unwrap_or(now);
            self.times.wait += now.saturating_sub(ready);
            self.sending = Some(now);
        }
    }

    /// All of the present TU has gone.
    pub fn gone(&mut self, now: Cycles) {
        self.readied.pop_front();
        if let Some(since) = self.sending.take() {
            self.times.send += now - since;
        }
        self.times.tus += 1;
        self.sent += 1;
    }
}
