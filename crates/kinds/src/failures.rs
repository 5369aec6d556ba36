//! What can fail, for axes and studies: parts one by one, and pairs of them drawn at random.

use isthmus_kernel::{Streams, draw_below};
use isthmus_scenario::format::{Asked, Failures, Part, State, Which};
use isthmus_topology::rings::{pair_count, sample_pairs};

/// A failure of one part.
pub(crate) struct Single {
    /// The part.
    pub part: Part,
    /// Its name: `link 0-1`.
    pub label: String,
    /// What its failure does, in words; may be empty.
    pub effect: String,
    /// How many parts fail alike.
    pub weight: u32,
}

impl Single {
    /// A part that no other fails like.
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

/// What is left after further parts have failed.
pub(crate) struct Left {
    /// Nodes that still reach one another.
    pub live: u32,
    /// Whether it can be run.
    pub runs: bool,
}

/// No failure, each of `single`, then pairs of them: so many as are asked for are drawn under the
/// seed, each set of them as likely as any other. `left` is what is left after failures.
pub(crate) fn failures(
    single: &[Single],
    asked: &Asked,
    left: impl Fn(&[Part]) -> Left,
) -> Option<Failures> {
    let count = u32::try_from(single.len()).ok()?;
    let pairs = pair_count(count);
    let states = u64::from(count) + pairs.min(asked.doubles) + 1;
    if states > asked.most as u64 {
        return None;
    }
    let mut stream = Streams::new(asked.seed, 0).stream("double failure", 0);
    let drawn = sample_pairs(count, asked.doubles, |limit| draw_below(limit, &mut stream));
    let state = |label: String, words: String, parts: Vec<Part>, weight: u64| {
        let Left { live, runs } = left(&parts);
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
    states.extend(drawn.into_iter().map(|(first, second)| {
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
