//! `[workload]` of a hypercube: what the PEs ask for.

use super::machine::{cycle_us, io_node_count};
use crate::control::messages_most;
use crate::error::Problem;
use crate::field::Default::{Absent, Derived, Required, Value};
use crate::field::{Field, Kind, OUTSTANDING_MAX};
use crate::quantity::rounded;
use crate::settings::Settings;
use crate::value::mean_gap;
use isthmus_machine::hypercube::spec::HypercubeSpec;
use isthmus_units::Time;
use isthmus_workload::Outstanding;
use isthmus_workload::spec::{Arrival, Collectives, FileLayout, HotSpot, TrafficSpec};

const SHARE: Kind = Kind::Share {
    above_zero: false,
    below_one: false,
};
const OPEN_LOOP: &[&str] = &["exponential", "deterministic", "bursty"];
const BLOCKS: Kind = Kind::Integer {
    min: 1,
    max: 1 << 20,
};

/// The two ways to say how much each PE asks for.
pub(super) const LOAD_KEYS: &[&str] = &["workload.rate", "workload.interarrival"];

pub(super) fn fields() -> Vec<Field> {
    vec![
        Field::new(
            "workload.arrival",
            Kind::Choice(&["exponential", "deterministic", "bursty", "closed"]),
            Value("\"exponential\""),
            "arrivals",
            "When a PE asks: Poisson (section 4.3); equal gaps; on/off bursts; a closed loop in which \
         a PE waits for its data",
        ),
        Field::new(
            "workload.interarrival",
            Kind::Time {
                zero: false,
                usual: "ms",
            },
            Absent("this or workload.rate is required, unless swept or searched"),
            "mean interarrival time",
            "t_a: mean time between two demands of one PE",
        )
        .only("workload.arrival", OPEN_LOOP)
        .instead_of(&["workload.rate"]),
        Field::new(
            "workload.rate",
            Kind::Rate,
            Absent("this or workload.interarrival is required, unless swept or searched"),
            "rate per PE",
            "Demands of one PE per time, 1/t_a; held as a mean gap in whole picoseconds",
        )
        .only("workload.arrival", OPEN_LOOP)
        .instead_of(&["workload.interarrival"]),
        Field::new(
            "workload.burst_messages",
            Kind::Number { min: 1.0, max: 1e9 },
            Required,
            "messages per burst",
            "Mean number of demands in a burst (geometric)",
        )
        .such_as("8")
        .only("workload.arrival", &["bursty"]),
        Field::new(
            "workload.burst_gap",
            Kind::Time {
                zero: true,
                usual: "ms",
            },
            Required,
            "gap within a burst",
            "Time between two demands of one burst; below the mean interarrival time",
        )
        .such_as("\"1 us\"")
        .only("workload.arrival", &["bursty"]),
        Field::new(
            "workload.think",
            Kind::Time {
                zero: true,
                usual: "ms",
            },
            Required,
            "think time",
            "Mean time (exponential) from a completion to the next demand",
        )
        .only("workload.arrival", &["closed"]),
        Field::new(
            "workload.outstanding",
            Kind::Outstanding,
            Derived("1 with workload.arrival = \"closed\", else \"unlimited\""),
            "demands under way",
            "Demands that one PE keeps under way in a closed loop; else how many it may have under way, \
         from being handed to the network until the last tail is there or the data are stored: the \
         next in order is handed over when it has been asked for and fewer are",
        ),
        Field::new(
            "workload.io_probability",
            SHARE,
            Value("0.05"),
            "I/O share",
            "P_io: share of demands that are I/O requests (section 4.3: 3 to 20%)",
        ),
        Field::new(
            "workload.read_ratio",
            SHARE,
            Value("1.0"),
            "read ratio",
            "P_r: share of I/O requests that are reads",
        ),
        Field::new(
            "workload.locality",
            SHARE,
            Value("0.2"),
            "locality",
            "P_l: probability that a block is at the local I/O node (Fig. 3)",
        ),
        Field::new(
            "workload.message",
            Kind::DATA,
            Value("\"32 B\""),
            "message length",
            "Length of a PE-PE message (Table 1)",
        ),
        Field::new(
            "workload.request",
            Kind::DATA,
            Value("\"32 B\""),
            "request length",
            "Length of an I/O request and of a request-forward message",
        ),
        Field::new(
            "workload.block",
            Kind::DATA,
            Value("\"4096 B\""),
            "block length",
            "Length of an I/O block (Table 1)",
        ),
        Field::new(
            "workload.layout",
            Kind::Choice(&["contiguous", "declustered"]),
            Value("\"contiguous\""),
            "file layout",
            "All blocks of a file at one I/O node, or each placed on its own",
        ),
        Field::new(
            "workload.file_blocks",
            BLOCKS,
            Derived("as file_blocks.min and .max"),
            "blocks per file",
            "Short for file_blocks.min and file_blocks.max with this same value",
        )
        .short_for(&["workload.file_blocks.min", "workload.file_blocks.max"]),
        Field::new(
            "workload.file_blocks.min",
            BLOCKS,
            Value("1"),
            "smallest file",
            "Smallest file, in blocks",
        ),
        Field::new(
            "workload.file_blocks.max",
            BLOCKS,
            Derived("as file_blocks.min"),
            "largest file",
            "Largest file, in blocks; sizes are uniform between the two (Table 1: 1 to 32)",
        ),
        Field::new(
            "workload.file_blocks.split",
            BLOCKS,
            Value("32"),
            "blocks before a split",
            "Files with more blocks than this are broken up into several (Table 1: 128 KiB)",
        ),
        Field::new(
            "workload.hot_pe.target",
            Kind::Integer {
                min: 0,
                max: (1 << 20) - 1,
            },
            Required,
            "hot PE",
            "The PE that PE-PE messages favour",
        )
        .such_as("3")
        .within("workload.hot_pe"),
        Field::new(
            "workload.hot_pe.probability",
            SHARE,
            Required,
            "hot PE share",
            "Share of the PE-PE messages that go to the hot PE",
        )
        .such_as("0.1")
        .within("workload.hot_pe"),
        Field::new(
            "workload.hot_io_node.target",
            Kind::Integer {
                min: 0,
                max: (1 << 20) - 1,
            },
            Required,
            "hot I/O node",
            "The I/O node that reads favour, by index in the ascending placement",
        )
        .within("workload.hot_io_node"),
        Field::new(
            "workload.hot_io_node.probability",
            SHARE,
            Required,
            "hot I/O node share",
            "Share of the reads that go to the hot I/O node",
        )
        .such_as("0.1")
        .within("workload.hot_io_node"),
        Field::new(
            "workload.collectives.broadcast",
            SHARE,
            Value("0.0"),
            "broadcast share",
            "Share of I/O demands that fetch one block for all PEs (section 4.3)",
        ),
        Field::new(
            "workload.collectives.scatter",
            SHARE,
            Value("0.0"),
            "scatter share",
            "Share of I/O demands that spread a file's blocks over a group of PEs (section 4.3)",
        ),
        Field::new(
            "workload.collectives.gather",
            SHARE,
            Value("0.0"),
            "gather share",
            "Share of I/O demands that collect a block from each PE of a group (section 4.3)",
        ),
        Field::new(
            "workload.collectives.group",
            Kind::Integer {
                min: 1,
                max: 1 << 20,
            },
            Absent("required if scatter or gather is above 0"),
            "group size",
            "PEs that take part in one scatter or gather",
        ),
    ]
}

/// The workload, checked against the machine that it runs on.
pub(super) fn build(settings: &Settings, machine: &HypercubeSpec) -> Result<TrafficSpec, Problem> {
    let (file_blocks_min, file_blocks_max) = file_blocks(settings)?;
    let spec = TrafficSpec {
        arrival: arrival(settings)?,
        outstanding: match settings.text("workload.arrival").as_str() {
            // The loop itself keeps to its number.
            "closed" => None,
            _ => settings.outstanding("workload.outstanding"),
        }
        .unwrap_or(Outstanding::Unlimited),
        io_probability: settings.number("workload.io_probability"),
        read_ratio: settings.number("workload.read_ratio"),
        locality: settings.number("workload.locality"),
        message: settings.bytes("workload.message"),
        request: settings.bytes("workload.request"),
        block: settings.bytes("workload.block"),
        file_blocks_min,
        file_blocks_max,
        file_blocks_split: settings.small("workload.file_blocks.split"),
        layout: match settings.text("workload.layout").as_str() {
            "declustered" => FileLayout::Declustered,
            _ => FileLayout::Contiguous,
        },
        hot_pe: hot_spot(
            settings,
            ["workload.hot_pe.target", "workload.hot_pe.probability"],
            ("PE", Some(pe_count(machine))),
        )?,
        hot_io_node: hot_spot(
            settings,
            [
                "workload.hot_io_node.target",
                "workload.hot_io_node.probability",
            ],
            ("I/O node", io_node_count(machine)),
        )?,
        collectives: collectives(settings, machine)?,
    };
    check_lengths(settings, &spec, machine)?;
    check_duration(settings, &spec, machine)?;
    Ok(spec)
}

fn pe_count(machine: &HypercubeSpec) -> u32 {
    1 << machine.dimension
}

fn arrival(settings: &Settings) -> Result<Arrival, Problem> {
    let arrival = settings.text("workload.arrival");
    if arrival == "closed" {
        return Ok(Arrival::Closed {
            think: settings.time("workload.think"),
            outstanding: loops(settings)?,
        });
    }
    let mean = mean(settings)?;
    Ok(match arrival.as_str() {
        "deterministic" => Arrival::Deterministic { gap: mean },
        "bursty" => {
            let burst_gap = settings.time("workload.burst_gap");
            if burst_gap >= mean {
                return Err(settings.problem(
                    "workload.burst_gap",
                    format!("{burst_gap} is not below the mean interarrival time of {mean}"),
                    format!("give less than {mean}, else there is no burst"),
                ));
            }
            let burst_messages = settings.number("workload.burst_messages");
            Arrival::Bursty {
                mean,
                burst_messages,
                burst_gap,
            }
        }
        _ => Arrival::Exponential { mean },
    })
}

/// Demands that a closed loop keeps under way.
fn loops(settings: &Settings) -> Result<u32, Problem> {
    let key = "workload.outstanding";
    match settings.outstanding(key) {
        None => Ok(1),
        Some(Outstanding::AtMost(most)) => Ok(most),
        Some(Outstanding::Unlimited) => Err(settings.problem(
            key,
            "a closed loop keeps a number of demands under way",
            format!("give 1 to {OUTSTANDING_MAX}, or another workload.arrival"),
        )),
    }
}

fn mean(settings: &Settings) -> Result<Time, Problem> {
    if settings.given("workload.interarrival").is_some() {
        return Ok(settings.time("workload.interarrival"));
    }
    match settings
        .given("workload.rate")
        .map(|setting| &setting.value)
    {
        Some(crate::value::Value::Rate(rate)) => Ok(mean_gap(*rate)),
        _ => Err(settings.problem(
            "workload.interarrival",
            "it is missing, and so is workload.rate",
            "write one of them, for example interarrival = \"0.156 ms\", or sweep it",
        )),
    }
}

fn file_blocks(settings: &Settings) -> Result<(u32, u32), Problem> {
    let min = settings.small("workload.file_blocks.min");
    let max = settings
        .small_given("workload.file_blocks.max")
        .unwrap_or(min);
    if min <= max {
        return Ok((min, max));
    }
    Err(settings.problem(
        "workload.file_blocks.max",
        format!("the largest file, {max} blocks, is smaller than the smallest, {min}"),
        format!("give {min} or more"),
    ))
}

fn hot_spot(
    settings: &Settings,
    [target_key, probability_key]: [&str; 2],
    (what, count): (&str, Option<u32>),
) -> Result<Option<HotSpot>, Problem> {
    let Some(target) = settings.small_given(target_key) else {
        return Ok(None);
    };
    if let Some(count) = count.filter(|&count| target >= count) {
        return Err(settings.problem(
            target_key,
            format!("{what} {target} does not exist"),
            format!("there are {what}s 0 to {}", count - 1),
        ));
    }
    Ok(settings
        .number_given(probability_key)
        .map(|probability| HotSpot {
            target,
            probability,
        }))
}

fn collectives(settings: &Settings, machine: &HypercubeSpec) -> Result<Collectives, Problem> {
    let key = "workload.collectives.group";
    let collectives = Collectives {
        broadcast: settings.number("workload.collectives.broadcast"),
        scatter: settings.number("workload.collectives.scatter"),
        gather: settings.number("workload.collectives.gather"),
        group: settings.small_given(key).unwrap_or(0),
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

/// Engines count the flits of a message in 32 bits.
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

/// Engines count cycles in 64 bits; a replication must stay far below their end.
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

/// Where the mean interarrival time was written.
fn mean_key(settings: &Settings) -> &'static str {
    match settings.given("workload.rate") {
        Some(_) => "workload.rate",
        None => "workload.interarrival",
    }
}
