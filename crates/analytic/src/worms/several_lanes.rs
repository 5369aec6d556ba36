//! Wait of worms for a channel of several lanes: rule 3 of the description of the module `worms`.

use super::inflow::Inflow;
use super::lanes::{HELD_MAX, InputLanes, POINTS, held_after, load_behind};
use super::shared_waits::SharedWaits;
use super::sources::{as_source, mgm};
use crate::moments::Moments;
use crate::queue;

/// Number of iterations in the computation of the waits at a channel of several lanes. Each iteration adds a smaller
/// correction.
const FOLLOWING_ROUNDS: usize = 8;

/// Return the waits of the inputs of a channel of several lanes, by rule 3 of the module description of `worms`.
pub(super) fn several_lanes(
    inflows: &[Inflow],
    (rate, service): (f64, &Moments),
    (lanes, rho): (u32, f64),
    shared_waits: &SharedWaits,
) -> Vec<Moments> {
    let m = f64::from(lanes);
    let most = 2 * lanes + 4;
    let leading: u64 = inflows
        .iter()
        .map(|inflow| u64::from(inflow.lanes.unwrap_or(most)))
        .sum();
    if leading <= u64::from(lanes) || queue::waiting_probability(rho * m, 1.0, lanes) < 1e-9 {
        return vec![Moments::ZERO; inflows.len()];
    }
    // Compute the wait by rule 3 of the module `worms` as if all worms started at this channel. For
    // this case rule 1 is more exact, so the ratio of the two corrects the waits of all inputs.
    let as_started = wait_without_following(
        &[as_source(inflows)],
        0,
        lanes,
        shared_waits.serial_probability,
    );
    let exact = mgm(
        inflows,
        rate,
        service,
        lanes,
        shared_waits.serial_probability,
    );
    let ratio = (exact / as_started.1).min(1.0);
    let (often, common) = shared_waits.wait(rate, lanes, rho);
    let free: Vec<[f64; 3]> = (0..inflows.len())
        .map(|at| {
            let (waiting, mean, second) =
                wait_without_following(inflows, at, lanes, shared_waits.serial_probability);
            let part = (waiting / as_started.0).min(1.0);
            [
                waiting + part * often,
                ratio * mean + part * common.mean,
                ratio * second + part * common.second,
            ]
        })
        .collect();
    let mut found = free.clone();
    // A worm that follows directly on another waits for the worms that go first. Each of these frees a lane after
    // `step`, whose second moment is that of the minimum of m - 1 uniform times.
    let step = service.mean / m;
    let step_second = step * step * 2.0 * m / (m + 1.0);
    for _ in 0..FOLLOWING_ROUNDS {
        let waiting = |at: usize| inflows[at].rate * found[at][1];
        // The number of worms (messages) of an input that queue up while one worm of this input is
        // in service.
        let gathered = |at: usize| waiting(at) * m / inflows[at].load_of_others(rho * m);
        let all: f64 = (0..inflows.len()).map(gathered).sum();
        found = (0..inflows.len())
            .map(|at| {
                let own = &inflows[at];
                let Some(few) = own.lanes_if_few() else {
                    return free[at];
                };
                let few = f64::from(few);
                let there = (own.load() + waiting(at)).min(HELD_MAX * few);
                let follows = queue::waiting_probability(there, 1.0, few as u32);
                let others = (all - gathered(at)).max(0.0);
                let siblings = (few - 1.0) * waiting(at) / there.max(f64::MIN_POSITIVE);
                let before = 2.0 * others / (1.0 + others) + siblings.max(few - m);
                let [waits, mean, second] = free[at];
                [
                    (waits + follows * before).min(1.0),
                    mean + follows * before * step,
                    second + follows * before * step_second,
                ]
            })
            .collect();
    }
    let each = found.into_iter();
    each.map(|[waits, mean, second]| Moments::with_probability(waits, mean, second))
        .collect()
}

/// Apply rule 3 of the module description of `worms` without worms that follow directly on others. Return the
/// probability of a wait, its mean and its second moment.
fn wait_without_following(
    inflows: &[Inflow],
    at: usize,
    lanes: u32,
    serial: f64,
) -> (f64, f64, f64) {
    let most = 2 * lanes + 4;
    let kinds = inflows.iter().flat_map(|inflow| inflow.kinds);
    let longest = kinds.map(|(_, left)| left).fold(0.0, f64::max);
    let leads: Vec<InputLanes> = (inflows.iter().enumerate())
        .map(|(number, inflow)| InputLanes::new(inflow, most, number == at))
        .collect();
    let (mut mean, mut second) = (0.0, 0.0);
    let (waiting, mut held_before) = held_after(&leads, lanes, serial, 0.0);
    for ends in POINTS.windows(2) {
        let (before, time) = (ends[0] * longest, ends[1] * longest);
        let (_, held) = held_after(&leads, lanes, serial, time);
        let step = (time - before) / 2.0;
        mean += step * (held + held_before);
        second += step * 2.0 * (time * held + before * held_before);
        held_before = held;
    }
    let longer = 1.0 / (1.0 - load_behind(&leads, lanes));
    (waiting, mean * longer, second * longer)
}
