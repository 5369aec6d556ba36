//! Failure states of a machine: single failures and random pairs of failures. Sweeps and dependability studies run
//! each of them.

use isthmus_kernel::{Streams, draw_below};
use isthmus_scenario::format::{Asked, Failures, Part, State, Which};
use isthmus_topology::rings::{pair_count, sample_pairs};

/// Failure of a single part of a machine, such as a link.
pub(crate) struct Single {
    /// The part that fails.
    pub part: Part,
    /// Name of the part, such as `link 0-1`.
    pub label: String,
    /// Effect of the failure in words; may be empty.
    pub effect: String,
    /// Number of parts whose failure has the same effect.
    pub weight: u32,
}

impl Single {
    /// Return the failure of one part, which has the same effect as no other part's failure (weight 1). The `label` is
    /// `what` with the number of the node, or of both ends of the link.
    pub fn new(field: &'static str, which: Which, what: &str) -> Self {
        Self {
            part: Part { field, which },
            label: match which {
                Which::Node(at) => format!("{what} {at}"),
                Which::Link(from, to) => format!("{what} {from}-{to}"),
            },
            effect: String::new(),
            weight: 1,
        }
    }
}

/// State of a machine after failures: its number of connected nodes, and whether it can be simulated.
pub(crate) struct StateAfterFailures {
    /// Number of nodes that can still reach one another.
    pub live: u32,
    /// Whether the machine can still be simulated.
    pub runs: bool,
}

/// Return the states of the machine: without failure, with each single failure, and with pairs of single failures. The
/// pairs are sampled at random with the seed in `asked`. `state_after` returns the state after given failures. Return
/// `None` if there are more states than `asked` allows.
pub(crate) fn failures(
    single: &[Single],
    asked: &Asked,
    state_after: impl Fn(&[Part]) -> StateAfterFailures,
) -> Option<Failures> {
    let count = u32::try_from(single.len()).ok()?;
    let pairs = pair_count(count);
    let states = u64::from(count) + pairs.min(asked.doubles) + 1;
    if states > asked.most as u64 {
        return None;
    }
    let mut stream = Streams::new(asked.seed, 0).stream("double failure", 0);
    let sampled_pairs = sample_pairs(count, asked.doubles, |limit| draw_below(limit, &mut stream));
    let state = |label: String, words: String, parts: Vec<Part>, weight: u64| {
        let StateAfterFailures { live, runs } = state_after(&parts);
        State {
            label,
            words,
            parts,
            weight,
            live,
            runs,
        }
    };
    let mut states = vec![state("nothing".into(), "nothing".into(), Vec::new(), 1)];
    states.extend(single.iter().map(|one| {
        let words = match one.effect.as_str() {
            "" => one.label.clone(),
            effect => format!("{} ({effect})", one.label),
        };
        state(one.label.clone(), words, vec![one.part], one.weight.into())
    }));
    states.extend(sampled_pairs.into_iter().map(|(first, second)| {
        let (first, second) = (&single[first as usize], &single[second as usize]);
        let words = format!("{} and {}", first.label, second.label);
        let weight = u64::from(first.weight) * u64::from(second.weight);
        state(words.clone(), words, vec![first.part, second.part], weight)
    }));
    Some(Failures {
        single: single.len(),
        pairs,
        states,
    })
}
