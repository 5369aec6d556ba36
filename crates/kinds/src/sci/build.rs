//! Reads the description of an SCI fabric from `[machine]` of a scenario file and checks it.

use super::table::{FabricTable, FaultsTable, MachineTable, Size};
use isthmus_machine::sci::spec::{CutOff, Queues, SciSpec};
use isthmus_scenario::format::{Describe, Problem, Settings, rounded};
use isthmus_topology::rings::{Fabric, Faults, RingsError, Routing, Shape};
use isthmus_units::{Bandwidth, Bytes, Time};

/// Default of `machine.patience`, the time without a delivery after which a fabric counts as collapsed. Fabrics with
/// long rings have a longer default.
const PATIENCE_MIN: Time = Time::from_us(20);

/// Maximum length of a header in symbols, as engines number the symbols of a packet in 14 bits.
const OVERHEAD_SYMBOLS_MAX: u64 = 8_192;

/// Maximum length of a hop in symbols, which is more than a kilometre of cable at 1 GB/s. The symbols in flight must
/// fit into memory.
const HOP_CYCLES_MAX: u64 = 4096;

/// Return the time that a link takes to send a symbol, or `None` if it is not a whole number of picoseconds.
pub(super) fn cycle(symbol: Bytes, bandwidth: Bandwidth) -> Option<Time> {
    let bits_ps = u128::from(symbol.get()) * 8_000_000_000_000;
    let bits_per_s = u128::from(bandwidth.bits_per_s());
    let whole = bits_ps.checked_div(bits_per_s)?;
    let exact = whole > 0 && whole * bits_per_s == bits_ps;
    exact.then(|| u64::try_from(whole).ok().map(Time::from_ps))?
}

/// Read and check the description of the SCI fabric.
pub(super) fn build(settings: &Settings) -> Result<SciSpec, Problem> {
    let table = MachineTable::read(settings, "machine");
    let shape = shape(settings, &table.fabric)?;
    let cycle = checked_cycle(settings, &table)?;
    let FaultsTable {
        nodes,
        links,
        cut_off,
    } = table.faults;
    let faults = Faults { nodes, links };
    let fabric = Fabric::new(&shape).map_err(|error| shape_problem(settings, &shape, &error))?;
    check_faults(settings, &fabric, &faults, cut_off)?;
    let mut spec = SciSpec {
        routing: routing(settings, table.routing, &shape)?,
        shape,
        faults,
        cut_off,
        bandwidth: table.bandwidth,
        symbol: table.symbol,
        hop: hop(settings, table.hop, cycle)?,
        ring_change: whole_cycles(settings, "machine.ring_change", table.ring_change, cycle)?,
        ring_change_from: table.ring_change_from,
        overhead: table.overhead,
        echo: table.echo,
        queues: Queues {
            input: table.queues.input,
            output: table.queues.output,
            client: table.queues.client,
        },
        source: table.source,
        flow_control: table.flow_control,
        patience: PATIENCE_MIN,
    };
    check_lengths(settings, &spec)?;
    spec.patience = patience(settings, table.patience, &spec, &fabric)?;
    Ok(spec)
}

/// Return the shape of the fabric, which defines its rings. Return a problem if `size` has the wrong number of
/// dimensions for the topology.
fn shape(settings: &Settings, fabric: &FabricTable) -> Result<Shape, Problem> {
    let wrong = |size: &Size, needs: &str, hint: &str| {
        let problem = format!("{} dimensions, but {needs}", size.size.len());
        let problem = problem.replace("1 dimensions", "one dimension");
        settings.problem("machine.size", problem, hint)
    };
    let one = |size: &Size| match size.size[..] {
        [nodes] => Ok(nodes),
        _ => Err(wrong(
            size,
            "a ring has one",
            "give one number, for example 8",
        )),
    };
    let two = |size: &Size, what: &str| match size.size[..] {
        [x, y] => Ok([x, y]),
        _ => {
            let hint = "give two numbers, for example \"6x6\"";
            Err(wrong(size, &format!("a {what} has two"), hint))
        }
    };
    Ok(match fabric {
        FabricTable::Ring(size) => Shape::Ring { nodes: one(size)? },
        FabricTable::CounterRotating(size) => Shape::CounterRotating { nodes: one(size)? },
        FabricTable::Torus(Size { size }) => Shape::Torus {
            sizes: size.clone(),
        },
        FabricTable::BidirectionalTorus(Size { size }) => Shape::BidirectionalTorus {
            sizes: size.clone(),
        },
        FabricTable::UniformRingTorus(size) => Shape::UniformRingTorus {
            sizes: two(size, "uniform-ring torus")?,
        },
        FabricTable::Manhattan(size) => Shape::Manhattan {
            sizes: two(size, "Manhattan network")?,
        },
        FabricTable::Rings { rings } => Shape::Rings(rings.clone()),
    })
}

/// Convert an error of the topology to a problem of the field that causes the error.
fn shape_problem(settings: &Settings, shape: &Shape, error: &RingsError) -> Problem {
    let along = |dimension: u32| match dimension {
        0 => "x".to_owned(),
        1 => "y".to_owned(),
        _ => format!("dimension {dimension}"),
    };
    let (key, problem, hint) = match error {
        RingsError::SmallSize {
            fabric,
            dimension,
            size,
            least,
        } => (
            "machine.size",
            format!(
                "{size} nodes along {} are too few for {fabric}",
                along(*dimension)
            ),
            format!("give {least} or more in each dimension"),
        ),
        RingsError::OddSize { dimension, size } => (
            "machine.size",
            format!(
                "{size} nodes along {}, so that streets cannot alternate",
                along(*dimension)
            ),
            "give even numbers".to_owned(),
        ),
        RingsError::Unreachable { from, to } => (
            "machine.rings",
            format!("no path from node {from} to node {to}: no chain of rings joins them"),
            "let every ring have a node in common with another".to_owned(),
        ),
        // Other errors should not occur: they were reported when the values were read.
        other => {
            let key = match shape {
                Shape::Rings(_) => "machine.rings",
                _ => "machine.size",
            };
            (key, other.to_string(), "give another fabric".to_owned())
        }
    };
    settings.problem(key, problem, hint)
}

/// Return the routing if the fabric allows it, and otherwise a problem for the scenario file.
fn routing(settings: &Settings, routing: Routing, shape: &Shape) -> Result<Routing, Problem> {
    let no_dimensions = matches!(shape, Shape::Manhattan { .. } | Shape::Rings(_));
    if routing == Routing::DimensionOrder && no_dimensions {
        return Err(settings.problem(
            "machine.routing",
            "shortest paths of this fabric do not follow its dimensions one after another",
            "use \"fewest-changes\", \"random\" or \"fixed\"",
        ));
    }
    Ok(routing)
}

/// Return the time that a link takes to send a symbol, or a problem for the scenario file if it is not a whole number
/// of picoseconds.
fn checked_cycle(settings: &Settings, table: &MachineTable) -> Result<Time, Problem> {
    let (symbol, bandwidth) = (table.symbol, table.bandwidth);
    cycle(symbol, bandwidth).ok_or_else(|| {
        let ps = symbol.get() as f64 * 8e12 / bandwidth.bits_per_s() as f64;
        settings.problem(
            "machine.bandwidth",
            format!(
                "a symbol of {symbol} takes {} ps, which is not a whole number of picoseconds",
                rounded(ps, 6)
            ),
            "give one with whole picoseconds for each symbol, for example 1 GB/s",
        )
    })
}

/// Return the delay of a hop, after a check that it is a whole number of symbols and at least one.
fn hop(settings: &Settings, hop: Time, cycle: Time) -> Result<Time, Problem> {
    let key = "machine.hop";
    let most = Time::from_ps(cycle.ps().saturating_mul(HOP_CYCLES_MAX));
    if hop > most {
        let problem = format!("{hop} is more than {HOP_CYCLES_MAX} symbols of {cycle}");
        return Err(settings.problem(key, problem, format!("give {most} at most")));
    }
    if hop < cycle {
        let problem = format!("{hop} is shorter than the {cycle} of a symbol");
        return Err(settings.problem(key, problem, format!("give {cycle} or more")));
    }
    whole_cycles(settings, key, hop, cycle)
}

/// Return a time that is a whole number of cycles, or a problem for any other time.
fn whole_cycles(settings: &Settings, key: &str, time: Time, cycle: Time) -> Result<Time, Problem> {
    let beyond = time.ps() % cycle.ps();
    if beyond == 0 {
        return Ok(time);
    }
    let below = Time::from_ps(time.ps() - beyond);
    let above = Time::from_ps(below.ps() + cycle.ps());
    Err(settings.problem(
        key,
        format!("{time} is not a whole number of cycles, the {cycle} of a symbol"),
        format!("give {below} or {above}"),
    ))
}

/// Check that the length in field `key` is a whole number of symbols; return a problem otherwise.
pub(super) fn check_symbols(
    settings: &Settings,
    key: &str,
    length: Bytes,
    symbol: Bytes,
) -> Result<(), Problem> {
    if length.get().is_multiple_of(symbol.get()) {
        return Ok(());
    }
    Err(settings.problem(
        key,
        format!("{length} is not a whole number of symbols of {symbol}"),
        format!("give a multiple of {symbol}"),
    ))
}

/// Check that the lengths of headers and echoes are whole numbers of symbols within their limits.
fn check_lengths(settings: &Settings, spec: &SciSpec) -> Result<(), Problem> {
    check_symbols(settings, "machine.overhead", spec.overhead, spec.symbol)?;
    check_symbols(settings, "machine.echo", spec.echo, spec.symbol)?;
    let limit = Bytes::new(OVERHEAD_SYMBOLS_MAX * spec.symbol.get());
    if spec.overhead > limit {
        return Err(settings.problem(
            "machine.overhead",
            format!(
                "{} is more than {OVERHEAD_SYMBOLS_MAX} symbols",
                spec.overhead
            ),
            format!("give at most {limit}"),
        ));
    }
    if spec.echo <= spec.overhead {
        return Ok(());
    }
    // Refuse an echo that is longer: the target node writes it over the send packet on the ring (section 2 of the SCI
    // paper).
    Err(settings.problem(
        "machine.echo",
        format!(
            "{} is longer than a packet without data, {}",
            spec.echo, spec.overhead
        ),
        "give an echo of at most machine.overhead",
    ))
}

/// Check that all failed parts exist and that two or more nodes stay connected. Faults may disconnect other nodes only
/// if the scenario file allows it.
fn check_faults(
    settings: &Settings,
    fabric: &Fabric,
    faults: &Faults,
    cut_off: CutOff,
) -> Result<(), Problem> {
    let left = fabric.with_faults(faults).map_err(|error| match error {
        RingsError::MissingLink { from, to } => {
            let next = fabric.links_from(from.min(fabric.node_count() - 1)).next();
            let next = next.map(|link| fabric.links()[link as usize]);
            let example = next.map_or("[0, 1]".to_owned(), |link| {
                format!("[{}, {}]", link.from, link.to)
            });
            settings.problem(
                "machine.faults.links",
                format!("[{from}, {to}] is no link, no ring goes from {from} to {to} next"),
                format!("name a node and the next on a ring, for example {example}"),
            )
        }
        RingsError::MissingNode { node, highest } => settings.problem(
            "machine.faults.nodes",
            format!("node {node} does not exist"),
            format!("there are nodes 0 to {highest}"),
        ),
        other => settings.problem("machine.faults", other.to_string(), "name other faults"),
    })?;
    let lost = left.cut_off();
    if left.live_nodes().len() < 2 {
        return Err(settings.problem(
            "machine.faults",
            "no two nodes are left that can reach each other",
            "name fewer faults",
        ));
    }
    if cut_off == CutOff::LeaveOut || lost.is_empty() {
        return Ok(());
    }
    let mut names: Vec<String> = lost.iter().take(8).map(u32::to_string).collect();
    if lost.len() > names.len() {
        names.push("...".to_owned());
    }
    let nodes = if lost.len() == 1 { "node" } else { "nodes" };
    Err(settings.problem(
        "machine.faults",
        format!("they cut off {nodes} {}", names.join(", ")),
        "name fewer faults, or set machine.faults.cut_off = \"leave-out\"",
    ))
}

/// Return the time without a delivery after which the fabric counts as collapsed: `given`, or else a default that is
/// long enough for several ring changes and trips round the longest ring.
fn patience(
    settings: &Settings,
    given: Option<Time>,
    spec: &SciSpec,
    fabric: &Fabric,
) -> Result<Time, Problem> {
    let longest = fabric.rings().iter().map(Vec::len).max().unwrap_or(0) as u64;
    let round = spec.hop.ps().saturating_mul(longest);
    let trip = Time::from_ps(round.saturating_add(spec.ring_change.ps()));
    let patience =
        given.unwrap_or_else(|| PATIENCE_MIN.max(Time::from_ps(trip.ps().saturating_mul(4))));
    if patience >= trip {
        return Ok(patience);
    }
    Err(settings.problem(
        "machine.patience",
        format!("{patience} is less than the {trip} of a ring change and a trip round a ring"),
        format!("give {trip} or more"),
    ))
}
