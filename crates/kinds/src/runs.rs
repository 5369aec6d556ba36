//! What files of hypercubes and of SCI fabrics say alike of runs and searches: those of section 5 of
//! the hypercube paper.

use isthmus_scenario::format::Default::{Required, Value};
use isthmus_scenario::format::{Kind, Own};

/// Their fields; `of` is what runs are to be precise about, `example` the same for one measure, and loads are
/// searched for by `keys`, as `load`, such as `from` and `to`.
pub(crate) const fn own(
    of: &'static str,
    example: &'static str,
    keys: &'static [&'static str],
    load: Kind,
    (from, to): (&'static str, &'static str),
) -> [Own; 8] {
    let measures = Kind::Measures {
        example,
        named: false,
    };
    [
        Own::default("stop.of", Value(of)).holds(measures),
        Own::default("stop.messages_first", Value("15000")),
        Own::default("stop.messages_max", Value("2000000")),
        Own::default("stop.messages", Value("150000"))
            .meaning("Messages of a replication, warm-up included (section 5: 150,000)"),
        Own::default("stop.warmup_messages", Value("50000"))
            .meaning("Messages to discard at the start of a run (section 5: 50,000)"),
        Own::default("search.over", Required).holds(Kind::Choice(keys)),
        Own::default("search.from", Required)
            .holds(load)
            .such_as(from),
        Own::default("search.to", Required).holds(load).such_as(to),
    ]
}
