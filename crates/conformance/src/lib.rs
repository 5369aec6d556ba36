//! What every engine, and every reference beside one, must do alike, whatever its physics: the
//! contract of [`Engine`].
//!
//! An engine brings itself: its tests implement [`Candidate`] and call [`check`]. Random messages and
//! follow-up messages are then run at once and in pieces, offered early and late, after a `clear`,
//! finished again and again and gone on with, without a limit, and far from the beginning of time;
//! what is told and what is counted must be the same every time, nothing may be told before its time
//! or twice, no message may be lost, and an idle engine stays idle.
//!
//! Knows no engine.

mod cases;
pub mod line;
mod log;

pub use cases::{Case, Offer};
pub use log::{FollowUps, Log, Told, What};

use isthmus_kernel::{Cycles, Engine, Ran};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// An engine, over any network that it likes.
pub trait Candidate {
    /// The engine itself.
    type Engine: Engine;

    /// Nodes of the network, numbered from 0.
    const NODES: u32;
    /// The longest message that it takes, in units of its own.
    const SIZE_MAX: u32;
    /// How far from the beginning of time it is run: 2^57 unless it has to step through all cycles.
    const FAR: Cycles = 1 << 57;

    /// A new engine.
    fn new() -> Self::Engine;

    /// Offers message `number` for `time`.
    fn offer(engine: &mut Self::Engine, time: Cycles, number: usize, offer: &Offer);

    /// Runs, and tells the log all that it is told.
    fn run_until(engine: &mut Self::Engine, limit: Cycles, log: &mut Log<'_>) -> Ran;

    /// Begins to count, if it does not count from the beginning.
    fn count(_engine: &mut Self::Engine) {}

    /// All that it has counted.
    fn counted(engine: &Self::Engine) -> Vec<u64>;
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
    /// Runs in pieces in which each message was offered as late as may be.
    pub late: u64,
    /// Runs that were finished with messages under way.
    pub finished: u64,
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} cases, {} messages, {} of them follow-ups, {} pieces, {} runs offered late, {} finished \
             half-way",
            self.cases, self.messages, self.follow_ups, self.pieces, self.late, self.finished
        )
    }
}

/// Checks the contract on so many random cases.
///
/// # Panics
/// If the engine breaks it, or the cases turn out to be dull.
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
        cases::cases(C::NODES, C::SIZE_MAX),
        prop::collection::vec(0u64..400, 0..40),
        any::<prop::sample::Index>(),
    );
    runner
        .run(&strategy, |(case, other, cuts, moment)| {
            let whole = at_once::<C>(&case, 0)?;
            conserved(&case, &whole.told)?;
            add(&messages, case.offers.len() as u64);
            add(&follow_ups, case.follow_ups());
            add(&pieces, cuts.len() as u64);
            let is_late = !ties(&case, &whole.told);
            add(&late, is_late.into());
            prop_assert_eq!(
                &whole,
                &in_pieces::<C>(&mut C::new(), &case, &cuts, is_late)?
            );
            // What another case has left half done.
            let mut used = begin::<C>(&other, 0);
            let moment_of_other = moment.index(2_000) as u64;
            run::<C>(&mut used, moment_of_other, &mut Log::new(&other))?;
            used.clear();
            prop_assert_eq!((used.now(), used.under_way()), (0, 0));
            prop_assert_eq!(&whole, &in_pieces::<C>(&mut used, &case, &cuts, false)?);
            let step = moment.index(whole.told.len() + 1);
            prop_assert_eq!(&whole, &interrupted::<C>(&case, step, &finished)?);
            prop_assert_eq!(&whole, &without_limit::<C>(&case)?);
            let mut far = at_once::<C>(&case, C::FAR)?;
            far.told.iter_mut().for_each(|told| told.at -= C::FAR);
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

/// What a case has come to.
#[derive(Debug, PartialEq)]
struct Outcome {
    told: Vec<Told>,
    counted: Vec<u64>,
}

/// A new engine that counts and knows of all messages that follow no other.
fn begin<C: Candidate>(case: &Case, shift: Cycles) -> C::Engine {
    let mut engine = C::new();
    C::count(&mut engine);
    case.offer_all::<C>(&mut engine, shift);
    engine
}

/// Looks that nothing more happens, however long one waits. What belongs to messages that have arrived is
/// counted until their tails have.
fn end<C: Candidate>(engine: &mut C::Engine, mut log: Log<'_>) -> Result<Outcome, TestCaseError> {
    let told = log.told.len();
    let mut wait = |later: Cycles| {
        let limit = engine.now() + later;
        let ran = run::<C>(engine, limit, &mut log)?;
        prop_assert!(ran == Ran::Idle, "{ran:?} at the end");
        Ok(C::counted(engine))
    };
    wait(0)?;
    let counted = wait(1_000)?;
    prop_assert_eq!(&counted, &wait(1)?);
    prop_assert_eq!(log.told.len(), told);
    let told = log.sorted();
    Ok(Outcome { told, counted })
}

/// One run from the beginning to the end, later by `shift`.
fn at_once<C: Candidate>(case: &Case, shift: Cycles) -> Result<Outcome, TestCaseError> {
    let mut engine = begin::<C>(case, shift);
    let mut log = Log::new(case);
    run::<C>(&mut engine, shift + ENOUGH, &mut log)?;
    end::<C>(&mut engine, log)
}

/// Runs to a limit, and looks at what holds of every run.
fn run<C: Candidate>(
    engine: &mut C::Engine,
    limit: Cycles,
    log: &mut Log<'_>,
) -> Result<Ran, TestCaseError> {
    let (before, told_before) = (engine.now(), log.told.len());
    let ran = C::run_until(engine, limit, log);
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

/// Whether a message that follows another is generated together with one that follows none. In which
/// order they are offered matters then.
fn ties(case: &Case, told: &[Told]) -> bool {
    let generated = told.iter().filter(|told| told.what == What::Generated);
    let (follow_ups, first): (Vec<&Told>, Vec<&Told>) =
        generated.partition(|told| case.offers[told.number].after.is_some());
    let first: BTreeSet<Cycles> = first.iter().map(|told| told.at).collect();
    follow_ups.iter().any(|told| first.contains(&told.at))
}

/// Piece by piece, with some limits that have passed. `late`: each message is offered as late as may be.
fn in_pieces<C: Candidate>(
    engine: &mut C::Engine,
    case: &Case,
    cuts: &[Cycles],
    late: bool,
) -> Result<Outcome, TestCaseError> {
    C::count(engine);
    let mut log = Log::new(case);
    let mut limit = 0;
    let mut left = case.in_order().into_iter().peekable();
    for &cut in cuts.iter().chain([&ENOUGH]) {
        limit += cut;
        while let Some((time, number)) = left.next_if(|&(time, _)| time < limit || !late) {
            C::offer(engine, time, number, &case.offers[number]);
        }
        let ran = run::<C>(engine, limit, &mut log)?;
        prop_assert!(late || ran != Ran::Idle || log.delivered_all());
        // Limits that have passed.
        run::<C>(engine, limit, &mut log)?;
        run::<C>(engine, limit.saturating_sub(cut), &mut log)?;
    }
    prop_assert!(left.next().is_none());
    end::<C>(engine, log)
}

/// Finished whenever so much more has been told, and gone on with.
fn interrupted<C: Candidate>(
    case: &Case,
    step: usize,
    finished: &Cell<u64>,
) -> Result<Outcome, TestCaseError> {
    let mut engine = begin::<C>(case, 0);
    let mut log = Log::new(case);
    let mut seen_enough = false;
    for _ in 0..=2 * case.offers.len() {
        log.finish_after(log.told.len() + step);
        let ran = run::<C>(&mut engine, ENOUGH, &mut log)?;
        seen_enough |= ran == Ran::Finished && engine.under_way() > 0;
        prop_assert!(log.is_finished() || ran != Ran::Finished);
        if step == 0 {
            // Nothing happens that the handler does not want.
            prop_assert_eq!((ran, log.told.len()), (Ran::Finished, 0));
        }
    }
    finished.set(finished.get() + u64::from(seen_enough));
    log.finish_after(usize::MAX);
    run::<C>(&mut engine, ENOUGH, &mut log)?;
    end::<C>(&mut engine, log)
}

/// To the end, wherever that is.
fn without_limit<C: Candidate>(case: &Case) -> Result<Outcome, TestCaseError> {
    let mut engine = begin::<C>(case, 0);
    let mut log = Log::new(case);
    let ran = run::<C>(&mut engine, Cycles::MAX, &mut log)?;
    prop_assert_eq!(ran, Ran::Idle);
    let last = log.told.iter().map(|told| told.at).max();
    let now = engine.now();
    prop_assert!(last.is_none_or(|last| last <= now) && now < ENOUGH);
    end::<C>(&mut engine, log)
}

/// What is offered for a time that has passed is refused.
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
            Some((what, of)) => {
                let cause = told.iter().find(|t| t.what == what && t.number == of);
                let cause = cause.expect("it was generated and delivered");
                let over = match what {
                    What::Generated => 1,
                    What::Delivered => cause.later,
                };
                prop_assert_eq!(generated.at, cause.at + over + offer.time);
            }
        }
    }
    Ok(())
}
