//! The log of an engine's reports: each message that was generated or delivered, and when.

use crate::{Case, Offer};
use isthmus_kernel::Cycles;

/// The kind of a report of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReportKind {
    /// The message was generated at its sender.
    Generated,
    /// The message, or at least its head, has arrived at its receiver.
    Delivered,
}

/// A report of an engine: that a message was generated or delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Report {
    /// The time for which the engine made the report.
    pub at: Cycles,
    /// The kind of the report: that a message was generated, or delivered.
    pub what: ReportKind,
    /// Number of the message in the list of its test case.
    pub number: usize,
    /// Size of the message as the engine reports it.
    pub size: u32,
    /// Time from the report until the whole message has arrived; 0 if it has.
    pub later: Cycles,
}

/// Messages that the suite must offer next, because another message was generated or delivered.
/// Each has its time and number.
pub type FollowUps<'c> = Vec<(Cycles, usize, &'c Offer)>;

/// All reports that an engine makes in the runs of one test case.
#[derive(Debug)]
pub struct Log<'c> {
    case: &'c Case,
    pub(crate) reports: Vec<Report>,
    /// Number of reports in the log at which the handler stops the run.
    finish_after: usize,
}

impl<'c> Log<'c> {
    /// Creates an empty log of the reports that an engine makes in a case.
    pub(crate) fn new(case: &'c Case) -> Self {
        Self {
            case,
            reports: Vec::new(),
            finish_after: usize::MAX,
        }
    }

    /// Records that message `number` was generated at the time `at`. Returns the messages that must
    /// now be offered as follow-ups, in order.
    pub fn generated(&mut self, at: Cycles, number: usize) -> FollowUps<'c> {
        self.reports.push(Report {
            at,
            what: ReportKind::Generated,
            number,
            size: self.case.offers[number].size,
            later: 0,
        });
        self.follow_ups(ReportKind::Generated, number, at + 1)
    }

    /// Records a report for the time `at`: `size` units of message `number` have arrived, or will
    /// have arrived at the time `complete`. Returns the messages to offer next because of it.
    pub fn delivered(
        &mut self,
        at: Cycles,
        number: usize,
        size: u32,
        complete: Cycles,
    ) -> FollowUps<'c> {
        self.reports.push(Report {
            at,
            what: ReportKind::Delivered,
            number,
            size,
            later: complete - at,
        });
        self.follow_ups(ReportKind::Delivered, number, complete)
    }

    /// Returns the messages to offer because message `number` was generated or delivered at
    /// `since`, each with the time at which it is due.
    fn follow_ups(&self, what: ReportKind, number: usize, since: Cycles) -> FollowUps<'c> {
        let offers = self.case.offers.iter().enumerate();
        offers
            .filter(|(_, offer)| offer.after == Some((what, number)))
            .map(|(follow_up, offer)| (since + offer.time, follow_up, offer))
            .collect()
    }

    /// Returns the size of message `number` in the test case, for an engine that does not report
    /// sizes.
    pub fn size(&self, number: usize) -> u32 {
        self.case.offers[number].size
    }

    /// Returns whether the engine has made as many reports as wanted, so that the run must stop.
    pub fn is_finished(&self) -> bool {
        self.reports.len() >= self.finish_after
    }

    /// Sets the number of reports in the log at which the handler stops the run.
    pub(crate) fn finish_after(&mut self, reports: usize) {
        self.finish_after = reports;
    }

    /// Returns whether every message of the case has been delivered.
    pub(crate) fn delivered_all(&self) -> bool {
        self.reports.len() == 2 * self.case.offers.len()
    }

    /// Returns the number of messages that were generated but not delivered yet.
    pub(crate) fn under_way(&self) -> u64 {
        let of = |what| {
            self.reports
                .iter()
                .filter(|report| report.what == what)
                .count() as u64
        };
        of(ReportKind::Generated) - of(ReportKind::Delivered)
    }

    /// Returns all reports in sorted order, so that a run in one piece can be compared with a run
    /// in several pieces.
    pub(crate) fn sorted(mut self) -> Vec<Report> {
        self.reports.sort_unstable();
        self.reports
    }
}
