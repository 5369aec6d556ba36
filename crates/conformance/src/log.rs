//! The log of an engine's reports.

use crate::{Case, Offer};
use isthmus_kernel::Cycles;

/// The kind of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReportKind {
    /// The message was generated.
    Generated,
    /// The message has arrived, or its head has.
    Delivered,
}

/// A report of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Report {
    /// The time of the report.
    pub at: Cycles,
    /// Its kind.
    pub what: ReportKind,
    /// Number of the message.
    pub number: usize,
    /// Size of the message.
    pub size: u32,
    /// Time until the whole message has arrived.
    pub later: Cycles,
}

/// Messages to offer: times, numbers and messages.
pub type FollowUps<'c> = Vec<(Cycles, usize, &'c Offer)>;

/// All reports in the runs of an engine.
#[derive(Debug)]
pub struct Log<'c> {
    case: &'c Case,
    pub(crate) reports: Vec<Report>,
    finish_after: usize,
}

impl<'c> Log<'c> {
    pub(crate) fn new(case: &'c Case) -> Self {
        Self {
            case,
            reports: Vec::new(),
            finish_after: usize::MAX,
        }
    }

    /// Records that message `number` was generated at `at`. Returns the follow-ups that it
    /// triggers, with times and numbers, in the order of offering.
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

    /// Records at `at` that `size` units of message `number` have arrived or will have at
    /// `complete`. Returns its follow-ups, as [`Log::generated`] does.
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

    fn follow_ups(&self, what: ReportKind, number: usize, since: Cycles) -> FollowUps<'c> {
        let offers = self.case.offers.iter().enumerate();
        offers
            .filter(|(_, offer)| offer.after == Some((what, number)))
            .map(|(follow_up, offer)| (since + offer.time, follow_up, offer))
            .collect()
    }

    /// Returns the size of message `number`, for an engine that does not report it.
    pub fn size(&self, number: usize) -> u32 {
        self.case.offers[number].size
    }

    /// Whether the handler has finished.
    pub fn is_finished(&self) -> bool {
        self.reports.len() >= self.finish_after
    }

    pub(crate) fn finish_after(&mut self, reports: usize) {
        self.finish_after = reports;
    }

    pub(crate) fn delivered_all(&self) -> bool {
        self.reports.len() == 2 * self.case.offers.len()
    }

    pub(crate) fn under_way(&self) -> u64 {
        let of = |what| {
            self.reports
                .iter()
                .filter(|report| report.what == what)
                .count() as u64
        };
        of(ReportKind::Generated) - of(ReportKind::Delivered)
    }

    /// Returns all reports in an order that does not depend on the pieces of the run.
    pub(crate) fn sorted(mut self) -> Vec<Report> {
        self.reports.sort_unstable();
        self.reports
    }
}
