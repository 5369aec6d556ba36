//! Reads the traffic of a hypercube from `[workload]` of a scenario file and checks it.

use super::machine::cycle_us;
use super::table::{ArrivalTable, CollectivesTable, FileBlocksTable, OpenLoop, WorkloadTable};
use crate::values::{OUTSTANDING_MAX, mean_gap};
use isthmus_machine::hypercube::spec::HypercubeSpec;
use isthmus_scenario::format::{Describe, Problem, Settings, messages_most, rounded};
use isthmus_units::Time;
use isthmus_workload::Outstanding;
use isthmus_workload::spec::{Arrival, Collectives, HotSpot, TrafficSpec};

/// Fields that set the offered load of each PE, as a rate or as a mean gap.
pub(super) const LOAD_KEYS: &[&str] = &["workload.rate", "workload.interarrival"];

/// Read the workload and check it against the hypercube.
pub(super) fn build(settings: &Settings, machine: &HypercubeSpec) -> Result<TrafficSpec, Problem> {
    let table = WorkloadTable::read(settings, "workload");
    let (file_blocks_min, file_blocks_max) = file_blocks(settings, &table.file_blocks)?;
    let arrival = arrival(settings, table.arrival, table.outstanding)?;
    let hot_pe = table.hot_pe.map(|hot| HotSpot {
        target: hot.target,
        probability: hot.probability,
    });
    let hot_io_node = table.hot_io_node.map(|hot| HotSpot {
        target: hot.target,
        probability: hot.probability,
    });
    check_target(
        settings,
        "workload.hot_pe.target",
        hot_pe,
        ("PE", Some(pe_count(machine))),
    )?;
    check_target(
        settings,
        "workload.hot_io_node.target",
        hot_io_node,
        ("I/O node", machine.io_node_count()),
    )?;
    let spec = TrafficSpec {
        outstanding: match (arrival, table.outstanding) {
            // A closed loop limits its demands by itself.
            (Arrival::Closed { .. }, _) | (_, None) => Outstanding::Unlimited,
            (_, Some(outstanding)) => outstanding,
        },
        arrival,
        io_probability: table.io_probability,
        read_ratio: table.read_ratio,
        locality: table.locality,
        message: table.message,
        request: table.request,
        block: table.block,
        file_blocks_min,
        file_blocks_max,
        file_blocks_split: table.file_blocks.split,
        layout: table.layout,
        hot_pe,
        hot_io_node,
        collectives: collectives(settings, &table.collectives, machine)?,
    };
    check_lengths(settings, &spec, machine)?;
    check_duration(settings, &spec, machine)?;
    Ok(spec)
}

/// Return the number of PEs, including failed ones.
fn pe_count(machine: &HypercubeSpec) -> u32 {
    1 << machine.dimension
}

/// Return the process by which demands arrive at each PE.
fn arrival(
    settings: &Settings,
    table: ArrivalTable,
    outstanding: Option<Outstanding>,
) -> Result<Arrival, Problem> {
    Ok(match table {
        ArrivalTable::Exponential(open) => Arrival::Exponential {
            mean: mean(settings, &open)?,
        },
        ArrivalTable::Deterministic(open) => Arrival::Deterministic {
            gap: mean(settings, &open)?,
        },
        ArrivalTable::Bursty {
            open,
            burst_messages,
            burst_gap,
        } => {
            let mean = mean(settings, &open)?;
            if burst_gap >= mean {
                return Err(settings.problem(
                    "workload.burst_gap",
                    format!("{burst_gap} is not below the mean interarrival time of {mean}"),
                    format!("give less than {mean}, else there is no burst"),
                ));
            }
            Arrival::Bursty {
                mean,
                burst_messages,
                burst_gap,
            }
        }
        ArrivalTable::Closed { think } => Arrival::Closed {
            think,
            outstanding: closed_loop_demands(settings, outstanding)?,
        },
    })
}

/// Return the number of demands that a closed loop keeps in flight.
fn closed_loop_demands(
    settings: &Settings,
    outstanding: Option<Outstanding>,
) -> Result<u32, Problem> {
    match outstanding {
        None => Ok(1),
        Some(Outstanding::AtMost(most)) => Ok(most),
        Some(Outstanding::Unlimited) => Err(settings.problem(
            "workload.outstanding",
            "a closed loop keeps a number of demands under way",
            format!("give 1 to {OUTSTANDING_MAX}, or another workload.arrival"),
        )),
    }
}

/// Return the mean interarrival time of an open loop, or a problem if neither a time nor a rate is set.
fn mean(settings: &Settings, open: &OpenLoop) -> Result<Time, Problem> {
    let mean = open.interarrival.or_else(|| open.rate.map(mean_gap));
    mean.ok_or_else(|| {
        settings.problem(
            "workload.interarrival",
            "it is missing, and so is workload.rate",
            "write one of them, for example interarrival = \"0.156 ms\", or sweep it",
        )
    })
}

/// Return the smallest and the largest number of blocks of a file.
fn file_blocks(settings: &Settings, table: &FileBlocksTable) -> Result<(u32, u32), Problem> {
    let min = table.min;
    let max = table.max.unwrap_or(min);
    if min <= max {
        return Ok((min, max));
    }
    Err(settings.problem(
        "workload.file_blocks.max",
        format!("the largest file, {max} blocks, is smaller than the smallest, {min}"),
        format!("give {min} or more"),
    ))
}

/// Check that the target of a hot spot exists: `what` is the word for targets (such as `PE`), `count` their number.
fn check_target(
    settings: &Settings,
    key: &str,
    hot: Option<HotSpot>,
    (what, count): (&str, Option<u32>),
) -> Result<(), Problem> {
    match (hot, count) {
        (Some(HotSpot { target, .. }), Some(count)) if target >= count => Err(settings.problem(
            key,
            format!("{what} {target} does not exist"),
            format!("there are {what}s 0 to {}", count - 1),
        )),
        _ => Ok(()),
    }
}

/// Return the collective I/O demands, or the problem of a field that makes them impossible.
fn collectives(
    settings: &Settings,
    table: &CollectivesTable,
    machine: &HypercubeSpec,
) -> Result<Collectives, Problem> {
    let key = "workload.collectives.group";
    let collectives = Collectives {
        broadcast: table.broadcast,
        scatter: table.scatter,
        gather: table.gather,
        group: table.group.unwrap_or(0),
    };
    let total = collectives.broadcast + collectives.scatter + collectives.gather;
    if total > 1.0 + 1e-12 {
        return Err(settings.problem(
            "workload.collectives",
            format!(
                "broadcast, scatter and gather take {} of the I/O demands",
                rounded(total, 6)
            ),
            "their shares must not exceed 1 together",
        ));
    }
    if collectives.group == 0 && collectives.scatter + collectives.gather > 0.0 {
        return Err(settings.problem(
            key,
            "it is missing, and scatter or gather needs it",
            "write, for example, group = 8",
        ));
    }
    let pe_count = pe_count(machine);
    if collectives.group > pe_count {
        return Err(settings.problem(
            key,
            format!(
                "a group of {} in a machine of {pe_count} PEs",
                collectives.group
            ),
            format!("give 1 to {pe_count}"),
        ));
    }
    Ok(collectives)
}

/// Check the lengths of messages: engines count the flits of a message in 32 bits.
fn check_lengths(
    settings: &Settings,
    spec: &TrafficSpec,
    machine: &HypercubeSpec,
) -> Result<(), Problem> {
    let flit = machine.flit.get();
    let blocks = spec.file_blocks_max.min(spec.file_blocks_split);
    for (key, bytes) in [
        ("workload.message", spec.message.get()),
        ("workload.request", spec.request.get()),
        (
            "workload.block",
            spec.block.get().saturating_mul(blocks.into()),
        ),
    ] {
        if bytes.div_ceil(flit) > 1 << 30 {
            return Err(settings.problem(
                key,
                format!("a message of {bytes} B has more than 2^30 flits"),
                "give shorter messages, shorter files or longer flits",
            ));
        }
    }
    Ok(())
}

/// Check that a replication takes far fewer than 2^64 cycles, because engines count cycles in 64 bits.
fn check_duration(
    settings: &Settings,
    spec: &TrafficSpec,
    machine: &HypercubeSpec,
) -> Result<(), Problem> {
    let Some((key, messages)) = messages_most(settings) else {
        return Ok(());
    };
    let (load_key, gap) = match spec.arrival {
        Arrival::Exponential { mean } | Arrival::Bursty { mean, .. } => (mean_key(settings), mean),
        Arrival::Deterministic { gap } => (mean_key(settings), gap),
        Arrival::Closed { think, .. } => ("workload.think", think),
    };
    let each_pe = messages as f64 / f64::from(pe_count(machine));
    if each_pe * gap.us() / cycle_us(machine) < (1u64 << 60) as f64 {
        return Ok(());
    }
    Err(settings.problem(
        load_key,
        format!("{messages} messages, {gap} between two of a PE, take more than 2^60 cycles"),
        format!("give more load, fewer messages ({key}) or slower lanes"),
    ))
}

/// Return the key of the field that sets the mean interarrival time, directly or as a rate.
fn mean_key(settings: &Settings) -> &'static str {
    match settings.given("workload.rate") {
        Some(_) => "workload.rate",
        None => "workload.interarrival",
    }
}
