//! What the shortened form spends its time on.

use isthmus_experiment::result::{PointResult, State};
use isthmus_experiment::{Experiment, Options};
use isthmus_kinds::KINDS;

const MESSAGES_MAX: u64 = 480_000;
const REPLICATIONS: u64 = 10;

/// A cube of 16 PEs that saturates between 41 and 45 /ms, with a load to each side of that, which an eighth
/// of the longest run leaves undecided, and one far below. Closer ones stay so in runs in full, too.
fn points() -> Vec<PointResult> {
    let file = format!(
        "version = 1\nname = \"near\"\n[machine]\nkind = \"hypercube\"\ndimension = 4\nlanes.io_link = 2\n\
                [workload]\nio_probability = \"5%\"\n\
                [sweep]\n\"workload.rate\" = [\"4 /ms\", \"36 /ms\", \"48 /ms\"]\n\
                [measure]\nchannels = false\n[stop]\nmessages_max = {MESSAGES_MAX}\nprecision = \"5%\"\n"
    );
    let scenario = KINDS
        .parse(&file, "near.toml", &[])
        .unwrap_or_else(|e| panic!("{e}"));
    let options = Options {
        quick: true,
        ..Options::default()
    };
    let experiment = Experiment::new(&KINDS, scenario, options).expect("a good experiment");
    experiment.run().expect("a whole run").points
}

/// An eighth of the longest run left those near the knee undecided.
#[test]
fn loads_near_the_knee_are_decided_and_others_stay_short() {
    let quick = points();
    let verdicts: Vec<State> = quick.iter().map(|p| p.verdict.verdict).collect();
    assert_eq!(verdicts, [State::Stable, State::Stable, State::Saturated]);
    let eighth = REPLICATIONS * MESSAGES_MAX / 8;
    // What is measured takes no longer than before, the verdict half of a run in full at most.
    assert!(quick[0].messages <= eighth, "{}", quick[0].messages);
    assert!(quick[1].messages > 2 * eighth, "{}", quick[1].messages);
    // Several messages may end in the cycle in which the last one does.
    let longest = REPLICATIONS * (MESSAGES_MAX / 2 + 16);
    assert!(quick.iter().all(|p| p.messages <= longest));
}
