//! Rows of cells (the processors of a machine), and the states of their transfer units (TUs): being
//! reshuffled, waiting to be sent, and being sent.

use crate::shuffle::Message;
use isthmus_kernel::Cycles;

/// Times of the transfer units (TUs) of a row in the phases of their transfer, each summed over the
/// TUs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// Time from the start of the reshuffling of a transfer unit to its end.
    pub reshuffle: Cycles,
    /// Time from the end of the reshuffling of a transfer unit to the start of its first transfer
    /// to the interface.
    pub wait: Cycles,
    /// Time from the start of the first transfer of a transfer unit to the end of the last.
    pub send: Cycles,
    /// Number of transfer units in the sums.
    pub tus: u64,
}

/// State of one row of cells. Its transfer units (TUs) are numbered through all application data
/// units (ADUs).
#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    /// Number of transfer units of each application data unit that the row has.
    pub per_adu: u64,
    /// Number of transfer units of the row in the whole run.
    pub total: u64,
    /// Number of transfer units that are ready to be sent or sent: their reshuffling is complete.
    pub ready: u64,
    /// Number of transfer units that the interface has received.
    pub sent: u64,
    /// Time at which the current reshuffling of a transfer unit started; `None` if none is being
    /// reshuffled.
    began: Option<Cycles>,
    /// Index of the next message of each column's cell, among its messages that reshuffle a
    /// transfer unit.
    next: Vec<usize>,
    /// Number of messages that have not arrived yet, of all that reshuffle a transfer unit.
    left: usize,
    /// Times at which the ready, unsent transfer units became ready, oldest first.
    readied: std::collections::VecDeque<Cycles>,
    /// Time at which the transfer of the oldest unsent transfer unit started; `None` before that.
    sending: Option<Cycles>,
    /// Striping units (SUs) that wait until their transfer unit (TU) is ready: the number of the TU
    /// in the row, and the number of the SU.
    pub waiting: Vec<(u64, u32)>,
    pub times: Times,
}

impl Row {
    /// Create a row that has `per_adu` transfer units of each of `adus` application data units.
    pub fn new(per_adu: u64, adus: u64, columns: usize) -> Self {
        Self {
            per_adu,
            total: per_adu * adus,
            next: vec![0; columns],
            ..Self::default()
        }
    }

    /// Start to reshuffle the next transfer unit if its data are available, and return whether it
    /// started. The data of an application data unit are available when the application has made
    /// the application data unit and the row has sent its part of the previous application data
    /// unit, whose memory is used again.
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

    /// Return the next message that the cell in this column sends for the transfer unit that is
    /// being reshuffled, if one is left.
    pub fn next_message(&mut self, column: u32, messages: &[Vec<Message>]) -> Option<Message> {
        let next = self.next.get_mut(column as usize)?;
        let message = messages.get(column as usize)?.get(*next).copied();
        *next += usize::from(message.is_some());
        message
    }

    /// Count the arrival of a message of the transfer unit that is being reshuffled.
    pub fn arrived(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// Mark the transfer unit that is being reshuffled as ready if all its messages have arrived.
    /// Return whether it is ready.
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

    /// Record that a striping unit of the first ready transfer unit starts to move.
    pub fn sends(&mut self, now: Cycles) {
        if self.sending.is_none() {
            let ready = self.readied.front().copied().unwrap_or(now);
            self.times.wait += now.saturating_sub(ready);
            self.sending = Some(now);
        }
    }

    /// Record that all striping units of the first ready transfer unit have moved.
    pub fn record_sent(&mut self, now: Cycles) {
        self.readied.pop_front();
        if let Some(since) = self.sending.take() {
            self.times.send += now - since;
        }
        self.times.tus += 1;
        self.sent += 1;
    }
}
