//! Format of scenario files of network interfaces: their tables, and the conversion of these to a machine and a
//! workload.

use super::Interface;
use super::table::{MachineTable, WorkloadTable};
use crate::bandwidths;
use isthmus_scenario::format::Default::Value;
use isthmus_scenario::format::{
    Choice, Describe, Field, Format, Loads, Measures, Problem, Reason, Rows, Settings, Tables,
    Throughput, Watch,
};
use isthmus_stream_sim::spec::{self, From, Machine, Protocol, Reshuffle, To, Work};
use isthmus_stream_sim::{Error, check_machine, check_work};
use isthmus_units::{Bandwidth, Time};

/// Type of a scenario field: names of measures, such as latencies, to which a stopping rule applies.
const MEASURES: Measures = Measures {
    example: "[\"accepted\"]",
    named: false,
};
/// Type of a scenario field: an offered load, as a bandwidth.
const LOAD: Throughput = Throughput::offered("MB/s");

/// Adapt the description of a scenario field of `[stop]` or `[search]` to network interfaces. Defaults change, and the
/// texts of most stopping rules say that they have no effect, because the simulation is exact.
fn adapt_field(row: Field) -> Field {
    match &*row.key {
        "stop.of" => row.by_default(Value("[\"accepted\"]")).holding(&MEASURES),
        "stop.messages_first" | "stop.messages_max" => row.by_default(Value("1")),
        "stop.messages" => row
            .by_default(Value("1"))
            .meaning("Has no effect here: a run is that of workload.adus ADUs, and exact"),
        "stop.warmup_messages" => row
            .by_default(Value("0"))
            .meaning("Has no effect here: nothing is discarded"),
        "search.from" => row.holding(&LOAD).such_as("\"20 MB/s\""),
        "search.to" => row.holding(&LOAD).such_as("\"160 MB/s\""),
        _ => row,
    }
}

/// Keys of the scenario fields for stopping rules. They have no effect here, because a run is exact.
const RULES_WITHOUT_EFFECT: &[&str] = &[
    "stop.rule",
    "stop.precision",
    "stop.of",
    "stop.messages_first",
    "stop.messages_max",
    "stop.messages",
    "stop.time",
    "stop.replications",
    "stop.warmup",
    "stop.warmup_messages",
    "stop.intervals",
];

impl Format for Interface {
    const NAME: &'static str = "interface";
    const TABLES: Tables = Tables {
        machine: || Rows::of::<MachineTable>("machine"),
        workload: || Rows::of::<WorkloadTable>("workload"),
        named: None,
        own: adapt_field,
        loads: Loads {
            keys: Choice(&["workload.load"]),
            key: "workload.load",
            label: "offered load",
            unit: "MB/s",
            read: bandwidths::read::<{ bandwidths::MB_PER_S }>,
            write: bandwidths::write::<{ bandwidths::MB_PER_S }>,
        },
        presets: None,
        faults: None,
    };
    /// Type that describes the machine: a torus of processors (cells) with a network interface.
    type Machine = Machine;
    /// Type that describes the workload: the stream of data.
    type Work = Work;

    /// Read the description of a torus of cells with a network interface from `[machine]` of a scenario file and check
    /// it.
    fn machine(settings: &Settings) -> Result<Machine, Problem> {
        let table = MachineTable::read(settings, "machine");
        let (cell, interface) = (table.cell, table.interface);
        let machine = Machine {
            rows: table.rows,
            columns: table.columns,
            link_bytes_per_s: bytes_per_s(table.bandwidth),
            links: table.links,
            routing: table.routing,
            cell: spec::Cell {
                cycle_ns: ns(settings, "machine.cell.cycle", cell.cycle)?,
                word_bytes: cell.word.get(),
                copy_bytes_per_s: bytes_per_s(cell.copy),
                message_ns: ns(settings, "machine.cell.message", cell.message)?,
            },
            interface: spec::Interface {
                processors: interface.processors,
                bus_bytes_per_s: bytes_per_s(interface.bus),
                crossings: interface.crossings,
                staging_bytes: interface.staging.get(),
                memory_bytes: interface.memory.get(),
                engines: interface.engines,
                message_ns: ns(settings, "machine.interface.message", interface.message)?,
                place_ns: match interface.place {
                    Some(place) => ns(settings, "machine.interface.place", place)?,
                    None => ns(settings, "machine.interface.message", interface.message)?,
                },
                store_bytes_per_s: bytes_per_s(interface.store),
                packet_ns: ns(settings, "machine.interface.packet", interface.packet)?,
                udp_ns: ns(settings, "machine.interface.udp", interface.udp)?,
                // The cast of a rate outside u64 gives the nearest u64.
                packets_per_s: interface.packet_rate.per_s().round() as u64,
                network_bytes_per_s: bytes_per_s(interface.network),
            },
        };
        check_machine(&machine).map_err(|error| problem(settings, error))?;
        Ok(machine)
    }

    /// Read the workload from `[workload]` of a scenario file and check it against the machine.
    fn work(settings: &Settings, machine: &Machine) -> Result<Work, Problem> {
        let table = WorkloadTable::read(settings, "workload");
        let tu_bytes = table.tu.get();
        let of_rows = tu_bytes.saturating_mul(machine.rows.into());
        let work = Work {
            from: table.origin,
            to: table.sink,
            reshuffle: table.reshuffle,
            block_bytes: table.block.get(),
            adu_bytes: table.adu.map_or(of_rows, |adu| adu.get()),
            tu_bytes,
            packet_bytes: table.packet.map_or(tu_bytes, |packet| packet.get()),
            links: table.stripes.unwrap_or(machine.links),
            adus: table.adus,
            load_bytes_per_s: table.load.map(bytes_per_s),
            protocol: table.protocol,
            reservation_bytes_per_s: table.reservation.map(bytes_per_s),
        };
        check_work(machine, &work).map_err(|error| problem(settings, error))?;
        Ok(work)
    }

    /// Report to `watch` that the stopping rules have no effect, because nothing in this simulation is random.
    fn watch_rules(watch: &mut Watch<'_>) {
        for key in RULES_WITHOUT_EFFECT {
            watch.field(
                key,
                Some(Reason {
                    problem: "it has no effect: nothing is drawn at random here, and one run of \
                              workload.adus ADUs is exact"
                        .to_owned(),
                    hint: "remove it; workload.adus says how long a run is".to_owned(),
                    causes: &[],
                }),
            );
        }
    }

    /// Report to `watch` the fields of the scenario file that have no effect.
    fn watch(watch: &mut Watch<'_>, machine: &Machine, work: &Work) {
        let places = work.sent_bytes(machine) < work.share_bytes(machine);
        let is_place_given = watch.settings().given("machine.interface.place").is_some();
        let mut no_effect = |key, no_effect: bool, cause: &'static str, hint: &str| {
            let reason = no_effect.then(|| Reason {
                problem: format!("it has no effect with this {cause}"),
                hint: format!("remove it, or set {hint}"),
                causes: std::slice::from_ref(&cause),
            });
            watch.field(key, reason);
        };
        let inside = work.from == From::Interface;
        let (to_network, cells) = ("workload.sink = \"network\"", "workload.origin = \"cells\"");
        let to_interface = "workload.sink = \"interface\" or \"network\"";
        for key in [
            "workload.packet",
            "workload.protocol",
            "machine.interface.packet",
            "machine.interface.packet_rate",
            "machine.interface.network",
        ] {
            no_effect(key, work.to != To::Network, "workload.sink", to_network);
        }
        no_effect("workload.reshuffle", inside, "workload.origin", cells);
        let stay = work.to == To::Cells;
        for key in [
            "workload.stripes",
            "machine.interface.bus",
            "machine.interface.store",
        ] {
            no_effect(key, stay, "workload.sink", to_interface);
        }
        let reshuffles = "workload.reshuffle = \"fast\"";
        let (cause, hint) = match stay {
            true => ("workload.sink", to_interface),
            false => ("workload.reshuffle", reshuffles),
        };
        let message = stay || places && is_place_given;
        no_effect("machine.interface.message", message, cause, hint);
        let (cause, hint) = match (inside, stay, work.reshuffle) {
            (true, ..) => ("workload.origin", cells),
            (_, true, _) => ("workload.sink", to_interface),
            (.., Reshuffle::None) => ("workload.block", "a smaller workload.block"),
            _ => ("workload.reshuffle", "workload.reshuffle = \"none\""),
        };
        let place = inside || stay || !places;
        no_effect("machine.interface.place", place, cause, hint);
        let (cause, hint) = match inside {
            true => ("workload.origin", cells),
            false => ("workload.sink", to_interface),
        };
        no_effect("workload.reservation", inside || stay, cause, hint);
        no_effect(
            "workload.block",
            inside || work.reshuffle == Reshuffle::Streaming,
            if inside {
                "workload.origin"
            } else {
                "workload.reshuffle"
            },
            if inside {
                cells
            } else {
                "workload.reshuffle = \"none\", \"slow\" or \"fast\""
            },
        );
        let udp = work.to == To::Network && work.protocol == Protocol::Udp;
        no_effect(
            "machine.interface.udp",
            !udp,
            "workload.protocol",
            "workload.protocol = \"udp\"",
        );
        let slow = work.reshuffle == Reshuffle::Slow && !inside;
        no_effect(
            "machine.cell.copy",
            !slow,
            "workload.reshuffle",
            "workload.reshuffle = \"slow\"",
        );
    }
}

/// Return a bandwidth in bytes per second, rounded down.
fn bytes_per_s(bandwidth: Bandwidth) -> u64 {
    bandwidth.bits_per_s() / 8
}

/// Return a time in ns, the ticks of the simulation, or a problem if the time is not a whole number of ns.
fn ns(settings: &Settings, key: &str, time: Time) -> Result<u64, Problem> {
    if time.ps().is_multiple_of(1_000) {
        return Ok(time.ps() / 1_000);
    }
    let problem = format!("{time} is not a whole number of nanoseconds");
    let whole = Time::from_ns(time.ps().div_ceil(1_000));
    Err(settings.problem(key, problem, format!("give {whole}")))
}

/// Convert an error of the simulation to a problem of the scenario field that causes it.
fn problem(settings: &Settings, error: Error) -> Problem {
    settings.problem(error.field, error.problem, error.hint)
}
