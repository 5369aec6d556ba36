//! Test suite that checks that a simulation engine follows the rules of [`Engine`], whatever it
//! simulates.
//!
//! The tests of an engine implement [`Candidate`] and call [`check`]. It runs random messages and
//! follow-ups in several ways: in one piece and in several, offered early and late, with
//! interruptions by the handler, without a limit, and far from time 0. Reports and counters must be
//! the same every time. No report may come early or twice, no message may be lost, and an idle
//! engine must stay idle.
//!
//! The suite depends on no particular engine.

mod cases;
pub mod line;
mod log;

pub use cases::{Case, Offer};
pub use log::{FollowUps, Log, Report, ReportKind};

use isthmus_kernel::{Cycles, Engine, Ran};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// An engine to be tested for conformance, on a network that the implementation of this trait chooses.
pub trait Candidate {
    /// The type of the engine to be tested.
    type Engine: Engine;

    /// Number of nodes of the network, numbered from 0.
    const NODES: u32;
    /// Maximum size of a message, in the engine's own unit, such as flits.
    const SIZE_MAX: u32;
    /// A start time far from 0, for runs that test late times. An engine that has to step through
    /// all cycles sets a smaller one.
    const FAR: Cycles = 1 << 57;

    /// Creates an idle engine at time 0.
    fn new() -> Self::Engine;

    /// Offers message `number` of a case to the engine for `time`.
    fn offer(engine: &mut Self::Engine, time: Cycles, number: usize, offer: &Offer);

    /// Runs the engine until `limit`, and passes all its reports to the log.
    fn run_until(engine: &mut Self::Engine, limit: Cycles, log: &mut Log<'_>) -> Ran;

    /// Makes the engine start its counters. The default does nothing, for engines that count from time 0.
    fn count(_engine: &mut Self::Engine) {}

    /// Returns the values of all counters of the engine, in a fixed order.
    fn counted(engine: &Self::Engine) -> Vec<u64>;
}

/// A time limit in cycles that is long enough for all messages of a case to arrive.
const ENOUGH: Cycles = 30_000;

/// What a conformance check of an engine has covered: numbers of random cases, of messages, and of
/// special situations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checked {
    /// Number of runs of random messages.
    pub cases: u32,
    /// Number of messages in all cases.
    pub messages: u64,
    /// Number of follow-ups among the messages: those offered when another message is generated or
    /// delivered.
    pub follow_ups: u64,
    /// Number of pieces into which the second run of each case was divided, summed over all cases.
    pub pieces: u64,
    /// Number of runs in which each message was offered as late as possible.
    pub late: u64,
    /// Number of runs that the handler ended while messages had not arrived yet.
    pub finished: u64,
}

impl fmt::Display for Checked {
    /// Write all numbers as one line of text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} cases, {} messages, {} of them follow-ups, {} pieces, {} runs offered late, {} finished \
             half-way",
            self.cases, self.messages, self.follow_ups, self.pieces, self.late, self.finished
        )
    }
}

/// Checks that the engine follows the rules of [`Engine`], with this number of random cases.
///
/// # Panics
/// If the engine breaks a rule, or the cases cover too few situations.
pub fn check<C: Candidate>(cases: u32) -> Checked {
    refuses_the_past::<C>();
    let [messages, follow_ups, pieces, late, finished] = [const { Cell::new(0) }; 5];
    let add = |cell: &Cell<u64>, more: u64| cell.set(cell.get() + more);
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    });
    let strategy = (
        cases::cases(C::NODES, C::SIZE_MAX),
        prop::collection::vec(0u64..400, 0..40),
        any::<prop::sample::Index>(),
    );
    runner
        .run(&strategy, |(case, cuts, moment)| {
            let whole = at_once::<C>(&case, 0)?;
            conserved(&case, &whole.reports)?;
            add(&messages, case.offers.len() as u64);
            add(&follow_ups, case.follow_ups());
            add(&pieces, cuts.len() as u64);
            let is_late = !has_ties(&case, &whole.reports);
            add(&late, is_late.into());
            prop_assert_eq!(&whole, &in_pieces::<C>(&case, &cuts, is_late)?);
            let step = moment.index(whole.reports.len() + 1);
            prop_assert_eq!(&whole, &interrupted::<C>(&case, step, &finished)?);
            prop_assert_eq!(&whole, &without_limit::<C>(&case)?);
            let mut far = at_once::<C>(&case, C::FAR)?;
            far.reports
                .iter_mut()
                .for_each(|report| report.at -= C::FAR);
            prop_assert_eq!(&whole, &far);
            Ok(())
        })
        .unwrap();
    let checked = Checked {
        cases,
        messages: messages.get(),
        follow_ups: follow_ups.get(),
        pieces: pieces.get(),
        late: late.get(),
        finished: finished.get(),
    };
    let cases = u64::from(cases);
    assert!(
        checked.follow_ups > cases && checked.finished > cases / 2 && checked.late > cases / 4,
        "{checked}"
    );
    checked
}

/// The reports and counters of a run. They must be equal for all runs of one case.
#[derive(Debug, PartialEq)]
struct Outcome {
    reports: Vec<Report>,
    counted: Vec<u64>,
}

/// Creates an engine, starts its counters, and offers it the messages of the case, `shift` cycles later than
/// the case says. Follow-up messages, which the handler offers during the run, are left out.
fn begin<C: Candidate>(case: &Case, shift: Cycles) -> C::Engine {
    let mut engine = C::new();
    C::count(&mut engine);
    case.offer_all::<C>(&mut engine, shift);
    engine
}

/// Ends a run: checks that the engine reports no more events, whatever the time limit, and returns the reports
/// and counters. Counters may change until the tails of all messages have arrived.
fn end<C: Candidate>(engine: &mut C::Engine, mut log: Log<'_>) -> Result<Outcome, TestCaseError> {
    let count = log.reports.len();
    let mut wait = |later: Cycles| {
        let limit = engine.now() + later;
        let ran = run::<C>(engine, limit, &mut log)?;
        prop_assert!(ran == Ran::Idle, "{ran:?} at the end");
        Ok(C::counted(engine))
    };
    wait(0)?;
    let counted = wait(1_000)?;
    prop_assert_eq!(&counted, &wait(1)?);
    prop_assert_eq!(log.reports.len(), count);
    let reports = log.sorted();
    Ok(Outcome { reports, counted })
}

/// Runs a case with a single call of the engine's `run_until`, with all times later by `shift` cycles.
fn at_once<C: Candidate>(case: &Case, shift: Cycles) -> Result<Outcome, TestCaseError> {
    let mut engine = begin::<C>(case, shift);
    let mut log = Log::new(case);
    run::<C>(&mut engine, shift + ENOUGH, &mut log)?;
    end::<C>(&mut engine, log)
}

/// Runs the engine to a time limit, and checks the rules that hold for every run.
fn run<C: Candidate>(
    engine: &mut C::Engine,
    limit: Cycles,
    log: &mut Log<'_>,
) -> Result<Ran, TestCaseError> {
    let (before, reports_before) = (engine.now(), log.reports.len());
    let ran = C::run_until(engine, limit, log);
    let now = engine.now();
    prop_assert!(now >= before, "from {before} back to {now}");
    for report in &log.reports[reports_before..] {
        prop_assert!(
            (before..limit).contains(&report.at),
            "{report:?} in a run from {before} to {limit}"
        );
    }
    prop_assert_eq!(engine.under_way(), log.under_way());
    if ran != Ran::Finished {
        prop_assert!(!log.is_finished() || ran != Ran::Going);
        if limit < Cycles::MAX {
            prop_assert_eq!(now, limit.max(before), "{:?}", ran);
        }
    }
    if ran == Ran::Idle {
        prop_assert_eq!(engine.under_way(), 0);
    }
    if ran == Ran::Stalled {
        prop_assert!(engine.under_way() > 0);
    }
    Ok(ran)
}

/// Returns whether a follow-up message is generated at the same time as a message that is no follow-up. The
/// result of the case then depends on the order in which the two are offered.
fn has_ties(case: &Case, reports: &[Report]) -> bool {
    let generated = reports
        .iter()
        .filter(|report| report.what == ReportKind::Generated);
    let (follow_ups, first): (Vec<&Report>, Vec<&Report>) =
        generated.partition(|report| case.offers[report.number].after.is_some());
    let first: BTreeSet<Cycles> = first.iter().map(|report| report.at).collect();
    follow_ups.iter().any(|report| first.contains(&report.at))
}

/// Runs a case as several calls of the engine's `run_until`, with the time limits `cuts`, some of them in
/// the past. If `late` is true, each message is offered as late as possible, otherwise before the run.
fn in_pieces<C: Candidate>(
    case: &Case,
    cuts: &[Cycles],
    late: bool,
) -> Result<Outcome, TestCaseError> {
    let mut engine = C::new();
    C::count(&mut engine);
    let mut log = Log::new(case);
    let mut limit = 0;
    let mut remaining = case.in_order().into_iter().peekable();
    for &cut in cuts.iter().chain([&ENOUGH]) {
        limit += cut;
        while let Some((time, number)) = remaining.next_if(|&(time, _)| time < limit || !late) {
            C::offer(&mut engine, time, number, &case.offers[number]);
        }
        let ran = run::<C>(&mut engine, limit, &mut log)?;
        prop_assert!(late || ran != Ran::Idle || log.delivered_all());
        // A further run to the same time limit, or to one in the past, must change nothing.
        run::<C>(&mut engine, limit, &mut log)?;
        run::<C>(&mut engine, limit.saturating_sub(cut), &mut log)?;
    }
    prop_assert!(remaining.next().is_none());
    end::<C>(&mut engine, log)
}

/// Runs a case, interrupts the run whenever the engine has made `step` more reports, and continues it.
fn interrupted<C: Candidate>(
    case: &Case,
    step: usize,
    finished: &Cell<u64>,
) -> Result<Outcome, TestCaseError> {
    let mut engine = begin::<C>(case, 0);
    let mut log = Log::new(case);
    let mut was_interrupted = false;
    for _ in 0..=2 * case.offers.len() {
        log.finish_after(log.reports.len() + step);
        let ran = run::<C>(&mut engine, ENOUGH, &mut log)?;
        was_interrupted |= ran == Ran::Finished && engine.under_way() > 0;
        prop_assert!(log.is_finished() || ran != Ran::Finished);
        if step == 0 {
            // Expect that a run stops at once, without a report, if the handler has asked for the end before.
            prop_assert_eq!((ran, log.reports.len()), (Ran::Finished, 0));
        }
    }
    finished.set(finished.get() + u64::from(was_interrupted));
    log.finish_after(usize::MAX);
    run::<C>(&mut engine, ENOUGH, &mut log)?;
    end::<C>(&mut engine, log)
}

/// Runs a case without a limit.
fn without_limit<C: Candidate>(case: &Case) -> Result<Outcome, TestCaseError> {
    let mut engine = begin::<C>(case, 0);
    let mut log = Log::new(case);
    let ran = run::<C>(&mut engine, Cycles::MAX, &mut log)?;
    prop_assert_eq!(ran, Ran::Idle);
    let last = log.reports.iter().map(|report| report.at).max();
    let now = engine.now();
    prop_assert!(last.is_none_or(|last| last <= now) && now < ENOUGH);
    end::<C>(&mut engine, log)
}

/// Checks that the engine refuses an offer for a time in the past.
fn refuses_the_past<C: Candidate>() {
    let offer = Offer {
        from: 0,
        to: 1,
        size: 1,
        after: None,
        time: 9,
    };
    let case = Case {
        offers: vec![offer.clone()],
    };
    let mut engine = C::new();
    C::run_until(&mut engine, 10, &mut Log::new(&case));
    let offered = catch_unwind(AssertUnwindSafe(|| C::offer(&mut engine, 9, 0, &offer)));
    assert!(offered.is_err(), "a message was offered too late");
}

/// Checks that each message is generated exactly once, at the right time, and delivered exactly once and completely.
fn conserved(case: &Case, reports: &[Report]) -> Result<(), TestCaseError> {
    for (number, offer) in case.offers.iter().enumerate() {
        let of = |what| {
            reports
                .iter()
                .filter(move |t| t.what == what && t.number == number)
        };
        let generated: Vec<&Report> = of(ReportKind::Generated).collect();
        let delivered: Vec<&Report> = of(ReportKind::Delivered).collect();
        prop_assert_eq!(
            (generated.len(), delivered.len()),
            (1, 1),
            "message {}",
            number
        );
        let [generated, delivered] = [generated[0], delivered[0]];
        prop_assert_eq!(delivered.size, offer.size);
        prop_assert!(generated.at <= delivered.at);
        match offer.after {
            None => prop_assert_eq!(generated.at, offer.time),
            Some((what, of)) => {
                let cause = reports.iter().find(|t| t.what == what && t.number == of);
                let cause = cause.expect("it was generated and delivered");
                let over = match what {
                    ReportKind::Generated => 1,
                    ReportKind::Delivered => cause.later,
                };
                prop_assert_eq!(generated.at, cause.at + over + offer.time);
            }
        }
    }
    Ok(())
}
