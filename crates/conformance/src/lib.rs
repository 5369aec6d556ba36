//! What every engine, and every reference beside one, must do alike, whatever its physics: the
//! contract of [`Ran`].
//!
//! An engine brings itself: its tests implement [`Candidate`] and call [`check`]. Random messages and
//! follow-up messages are then run at once and in pieces, offered early and late, after a `clear`,
//! finished at any moment and gone on with, and far from the beginning of time; what is told must be
//! the same every time, nothing may be told before its time or twice, and no message may be lost.
//!
//! Knows no engine.

mod cases;
pub mod line;
mod log;

pub use cases::{Case, Offer};
pub use log::{Counts, Log, Told, What};

use isthmus_kernel::{Cycles, Ran};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell;
use std::fmt;

/// An engine, over any network that it likes.
pub trait Candidate {
    /// Nodes of the network, numbered from 0.
    const NODES: u32;
    /// The longest message that it takes, in units of its own.
    const SIZE_MAX: u32;
    /// How far from the beginning of time it is run: 2^57 unless it has to step through all cycles.
    const FAR: Cycles = 1 << 57;

    /// A new engine.
    fn new() -> Self;

    /// Makes it as good as new.
    fn clear(&mut self);

    /// Offers message `number` for `time`.
    fn offer(&mut self, time: Cycles, number: usize, offer: &Offer);

    /// Runs, and tells the log all that it is told.
    fn run_until(&mut self, limit: Cycles, log: &mut Log<'_>) -> Ran;

    /// The present time.
    fn now(&self) -> Cycles;

    /// Messages that were generated and not delivered.
    fn under_way(&self) -> u64;
}

/// Long enough for everything to arrive, if it does.
const ENOUGH: Cycles = 30_000;

/// What the cases of a check were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checked {
    /// Runs of random messages.
    pub cases: u32,
    /// Messages in all of them.
    pub messages: u64,
    /// Those that follow others.
    pub follow_ups: u64,
    /// Pieces in which they were run again.
    pub pieces: u64,
    /// Runs that were finished with messages under way.
    pub finished: u64,
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} cases, {} messages, {} of them follow-ups, {} pieces, {} runs finished half-way",
            self.cases, self.messages, self.follow_ups, self.pieces, self.finished
        )
    }
}

/// Checks the contract on so many random cases.
///
/// # Panics
/// If the engine breaks it, or the cases turn out to be dull.
pub fn check<C: Candidate>(cases: u32) -> Checked {
    let [messages, follow_ups, pieces, finished] = [const { Cell::new(0) }; 4];
    let add = |cell: &Cell<u64>, more: u64| cell.set(cell.get() + more);
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    });
    let strategy = (
        cases::cases(C::NODES, C::SIZE_MAX),
        cases::cases(C::NODES, C::SIZE_MAX),
        prop::collection::vec(0u64..400, 0..40),
        any::<prop::sample::Index>(),
    );
    runner
        .run(&strategy, |(case, other, cuts, moment)| {
            let whole = at_once::<C>(&case, 0)?;
            conserved(&case, &whole)?;
            add(&messages, case.offers.len() as u64);
            add(&follow_ups, case.follow_ups());
            add(&pieces, cuts.len() as u64);
            prop_assert_eq!(&whole, &in_pieces(&mut C::new(), &case, &cuts)?);
            // What another case has left half done.
            let mut used = C::new();
            let mut log = Log::new(&other);
            other.offer_all(&mut used, 0);
            used.run_until(moment.index(2_000) as u64, &mut log);
            used.clear();
            prop_assert_eq!((used.now(), used.under_way()), (0, 0));
            prop_assert_eq!(&whole, &in_pieces(&mut used, &case, &cuts)?);
            let stop = moment.index(whole.len() + 1);
            prop_assert_eq!(&whole, &interrupted::<C>(&case, stop, &finished)?);
            let mut far = at_once::<C>(&case, C::FAR)?;
            far.iter_mut().for_each(|told| told.at -= C::FAR);
            prop_assert_eq!(&whole, &far);
            Ok(())
        })
        .unwrap();
    let checked = Checked {
        cases,
        messages: messages.get(),
        follow_ups: follow_ups.get(),
        pieces: pieces.get(),
        finished: finished.get(),
    };
    let Checked {
        follow_ups,
        finished,
        ..
    } = checked;
    assert!(
        follow_ups > u64::from(cases) && finished > u64::from(cases) / 2,
        "{checked}"
    );
    checked
}

/// One run from the beginning to the end, later by `shift`.
fn at_once<C: Candidate>(case: &Case, shift: Cycles) -> Result<Vec<Told>, TestCaseError> {
    let mut engine = C::new();
    case.offer_all(&mut engine, shift);
    let mut log = Log::new(case);
    let limit = shift + ENOUGH.min(C::FAR * 2);
    run(&mut engine, limit, &mut log)?;
    Ok(log.sorted())
}

/// Runs to a limit, and looks at what holds of every run.
fn run<C: Candidate>(
    engine: &mut C,
    limit: Cycles,
    log: &mut Log<'_>,
) -> Result<Ran, TestCaseError> {
    let (before, told_before) = (engine.now(), log.told.len());
    let ran = engine.run_until(limit, log);
    let now = engine.now();
    prop_assert!(now >= before, "from {before} back to {now}");
    for told in &log.told[told_before..] {
        prop_assert!(
            (before..limit).contains(&told.at),
            "{told:?} in a run from {before} to {limit}"
        );
    }
    prop_assert_eq!(engine.under_way(), log.under_way());
    if ran != Ran::Finished {
        prop_assert!(!log.is_finished() || ran != Ran::Going);
        prop_assert_eq!(now, limit.max(before), "{:?}", ran);
    }
    if ran == Ran::Idle {
        prop_assert_eq!(engine.under_way(), 0);
    }
    if ran == Ran::Stalled {
        prop_assert!(engine.under_way() > 0);
    }
    Ok(ran)
}

/// Piece by piece, each message offered as late as may be, and some limits that have passed.
fn in_pieces<C: Candidate>(
    engine: &mut C,
    case: &Case,
    cuts: &[Cycles],
) -> Result<Vec<Told>, TestCaseError> {
    let mut log = Log::new(case);
    let mut limit = 0;
    let mut left = case.in_order().into_iter().peekable();
    for &cut in cuts.iter().chain([&ENOUGH]) {
        limit += cut;
        while let Some((time, number)) = left.next_if(|&(time, _)| time < limit) {
            engine.offer(time, number, &case.offers[number]);
        }
        run(engine, limit, &mut log)?;
        // Limits that have passed.
        run(engine, limit, &mut log)?;
        run(engine, limit.saturating_sub(cut), &mut log)?;
    }
    prop_assert!(left.next().is_none());
    let ran = run(engine, limit + 1, &mut log)?;
    prop_assert!(ran == Ran::Idle, "{ran:?} at the end");
    Ok(log.sorted())
}

/// Finished when so much has been told, then gone on with.
fn interrupted<C: Candidate>(
    case: &Case,
    stop: usize,
    finished: &Cell<u64>,
) -> Result<Vec<Told>, TestCaseError> {
    let mut engine = C::new();
    case.offer_all(&mut engine, 0);
    let mut log = Log::new(case);
    log.finish_after(stop);
    let ran = run(&mut engine, ENOUGH, &mut log)?;
    finished.set(finished.get() + u64::from(ran == Ran::Finished && engine.under_way() > 0));
    prop_assert!(log.is_finished());
    log.finish_after(usize::MAX);
    run(&mut engine, ENOUGH, &mut log)?;
    Ok(log.sorted())
}

/// Every message is generated once, when it was offered for, and arrives once and whole.
fn conserved(case: &Case, told: &[Told]) -> Result<(), TestCaseError> {
    for (number, offer) in case.offers.iter().enumerate() {
        let of = |what| {
            told.iter()
                .filter(move |t| t.what == what && t.number == number)
        };
        let generated: Vec<&Told> = of(What::Generated).collect();
        let delivered: Vec<&Told> = of(What::Delivered).collect();
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
            Some(of) => {
                let cause = told
                    .iter()
                    .find(|t| t.what == What::Delivered && t.number == of);
                let cause = cause.expect("it was delivered");
                prop_assert_eq!(generated.at, cause.at + cause.later + offer.time);
            }
        }
    }
    Ok(())
}
