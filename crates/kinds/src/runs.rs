//! Defaults of the scenario tables `[stop]` and `[search]` for hypercubes and SCI fabrics, after section 5 of the
//! hypercube paper.

use isthmus_scenario::format::Default::Value;
use isthmus_scenario::format::{AnyType, Field, Measures};

/// Return the field `row` of `[stop]` or `[search]` with the default that hypercubes and SCI fabrics share. The other
/// arguments differ between the two: `of` and `measures` are the default and the type of `stop.of`; `load` is the type
/// of `search.from` and `search.to`, for which `from` and `to` are examples.
pub(crate) fn adapt_run_field(
    row: Field,
    of: &'static str,
    measures: &'static Measures,
    load: &'static dyn AnyType,
    (from, to): (&'static str, &'static str),
) -> Field {
    match &*row.key {
        "stop.of" => row.by_default(Value(of)).holding(measures),
        "stop.messages_first" => row.by_default(Value("15000")),
        "stop.messages_max" => row.by_default(Value("2000000")),
        "stop.messages" => row
            .by_default(Value("150000"))
            .meaning("Messages of a replication, warm-up included (section 5: 150,000)"),
        "stop.warmup_messages" => row
            .by_default(Value("50000"))
            .meaning("Messages to discard at the start of a run (section 5: 50,000)"),
        "search.from" => row.holding(load).such_as(from),
        "search.to" => row.holding(load).such_as(to),
        _ => row,
    }
}
