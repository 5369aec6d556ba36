//! `[machine]` of a hypercube.

use crate::error::Problem;
use crate::field::Default::{Absent, Derived, Required, Value};
use crate::field::{Field, Kind};
use crate::machine::Machine;
use crate::settings::{Layer, Settings};
use isthmus_machine::hypercube::spec::{
    DeviceSpec, DiskSpec, FaultSpec, HypercubeSpec, Lanes, PlacementSpec, Service,
};
use isthmus_units::Clock;

const LANES: Kind = Kind::Lanes { min: 1 };
const LANES_OR_NONE: Kind = Kind::Lanes { min: 0 };
const SPAN: Kind = Kind::Time {
    zero: true,
    usual: "ms",
};
const LINKS: Kind = Kind::Links { directed: false };
const COUNT: Kind = Kind::Integer {
    min: 1,
    max: 1 << 20,
};

pub(super) fn fields() -> Vec<Field> {
    vec![
    Field::new(
        "machine.dimension",
        Kind::Integer { min: 1, max: 20 },
        Required,
        "dimension",
        "Dimension d of the hypercube of 2^d PEs",
    )
    .such_as("7"),
    Field::new(
        "machine.flit",
        Kind::DATA,
        Value("\"1 B\""),
        "flit length",
        "Length of one flit (Table 1)",
    ),
    Field::new(
        "machine.bandwidth",
        Kind::Bandwidth,
        Value("\"20 MB/s\""),
        "lane bandwidth",
        "Bandwidth of one lane (Table 1); one cycle is the time of one flit",
    ),
    Field::new(
        "machine.lanes.pe",
        LANES,
        Derived("dimension + 2"),
        "PE lanes k",
        "k: lanes from PE to router and back (Fig. 2)",
    ),
    Field::new(
        "machine.lanes.link",
        LANES,
        Value("1"),
        "lanes per link",
        "Lanes of each dimension link between PE routers",
    ),
    Field::new(
        "machine.lanes.io_node",
        LANES,
        Derived("dimension + 1"),
        "I/O node lanes m",
        "m: lanes from PE router to I/O node and back (Fig. 2)",
    ),
    Field::new(
        "machine.lanes.io_link",
        LANES_OR_NONE,
        Required,
        "I/O link lanes b",
        "b: lanes of each link between I/O routers; 0: no I/O network, the control cube (Fig. 2)",
    )
    .such_as("2"),
    Field::new(
        "machine.lanes.io_source",
        LANES_OR_NONE,
        Derived("4 * io_link"),
        "I/O source lanes r",
        "r: lanes from I/O node to I/O router and back (Fig. 2); unused without an I/O network",
    ),
    Field::new(
        "machine.lanes.io_to_pe",
        LANES_OR_NONE,
        Derived("4 * io_link"),
        "I/O-to-PE lanes n",
        "n: lanes from I/O router to PE router (Fig. 2); unused without an I/O network",
    ),
    Field::new(
        "machine.placement",
        PLACEMENTS,
        Derived("as placement.kind"),
        "placement",
        "Short for placement.kind",
    )
    .short_for(&["machine.placement.kind"]),
    Field::new(
        "machine.placement.kind",
        PLACEMENTS,
        Value("\"combined\""),
        "placement",
        "Where the I/O nodes go (section 3.2): code words of the Hamming code; perfect cubes \
         combined; a minimum dominating set; every s-th PE; the first PEs; these PEs",
    ),
    Field::new(
        "machine.placement.count",
        COUNT,
        Required,
        "I/O nodes",
        "Number of I/O nodes, at most that of the PEs",
    )
    .such_as("16")
    .only("machine.placement.kind", &["stride", "clustered"]),
    Field::new(
        "machine.placement.pes",
        Kind::Nodes,
        Required,
        "PEs with I/O nodes",
        "PEs that have an I/O node, in any order",
    )
    .only("machine.placement.kind", &["list"]),
    Field::new(
        "machine.device.startup",
        SPAN,
        Value("\"200 us\""),
        "start-up overhead",
        "Message start-up overhead in software (Table 1)",
    ),
    Field::new(
        "machine.device.access",
        SPAN,
        Value("\"400 us\""),
        "cache access",
        "I/O node latency for a block from its cache (Table 1)",
    ),
    Field::new(
        "machine.device.cache_hit_rate",
        Kind::Share {
            above_zero: false,
            below_one: false,
        },
        Value("1.0"),
        "cache hit rate",
        "Probability that a block is in the I/O node's cache (Table 1: 70 to 100%)",
    ),
    Field::new(
        "machine.device.service",
        Kind::Choice(&["delay", "queue"]),
        Value("\"delay\""),
        "disk service",
        "How requests share a disk: a pure delay, as in the paper, or first come first served",
    ),
    Field::new(
        "machine.device.disk.seek",
        SPAN,
        Value("\"12 ms\""),
        "seek time",
        "Mean seek time; with half a rotation the 20 ms of Table 1",
    ),
    Field::new(
        "machine.device.disk.rotation",
        SPAN,
        Value("\"16 ms\""),
        "rotation time",
        "Time of one full rotation; the latency is uniform between zero and this",
    ),
    Field::new(
        "machine.device.disk.transfer",
        Kind::Bandwidth,
        Absent("transfer takes no time of its own"),
        "disk transfer",
        "Transfer rate of the medium",
    ),
    Field::new(
        "machine.faults.pes",
        Kind::Nodes,
        Value("[]"),
        "failed PEs",
        "PEs that have failed, with their routers",
    ),
    Field::new(
        "machine.faults.io_nodes",
        Kind::Nodes,
        Value("[]"),
        "failed I/O nodes",
        "I/O nodes that have failed, by index in the ascending placement",
    ),
    Field::new(
        "machine.faults.links",
        LINKS,
        Value("[]"),
        "failed links",
        "Links between neighbouring PEs that have failed",
    ),
    Field::new(
        "machine.faults.io_links",
        LINKS,
        Value("[]"),
        "failed I/O links",
        "Links between neighbouring I/O nodes that have failed, by index",
    ),
]
}

const PLACEMENTS: Kind = Kind::Choice(&[
    "hamming",
    "combined",
    "dominating",
    "stride",
    "clustered",
    "list",
]);

pub(super) fn build(settings: &Settings) -> Result<HypercubeSpec, Problem> {
    let dimension = settings.small("machine.dimension");
    let spec = HypercubeSpec {
        dimension,
        flit: settings.bytes("machine.flit"),
        bandwidth: settings
            .bandwidth_given("machine.bandwidth")
            .unwrap_or_else(|| unreachable!("machine.bandwidth has a default")),
        lanes: lanes(settings, dimension)?,
        placement: placement(settings, dimension)?,
        device: device(settings),
        faults: FaultSpec {
            pes: settings.nodes("machine.faults.pes").to_vec(),
            io_nodes: settings.nodes("machine.faults.io_nodes").to_vec(),
            links: settings.links("machine.faults.links").to_vec(),
            io_links: settings.links("machine.faults.io_links").to_vec(),
        },
    };
    check_clock(settings, &spec)?;
    check_faults(settings, &spec)?;
    Ok(spec)
}

fn lanes(settings: &Settings, dimension: u32) -> Result<Lanes, Problem> {
    let io_link = settings.small("machine.lanes.io_link");
    let usual = Lanes::paper(dimension, io_link);
    let width = |key, usual| settings.small_given(key).unwrap_or(usual);
    let lanes = Lanes {
        pe: width("machine.lanes.pe", usual.pe),
        link: width("machine.lanes.link", usual.link),
        io_node: width("machine.lanes.io_node", usual.io_node),
        io_source: width("machine.lanes.io_source", usual.io_source),
        io_link,
        io_to_pe: width("machine.lanes.io_to_pe", usual.io_to_pe),
    };
    for (key, width) in [
        ("machine.lanes.io_source", lanes.io_source),
        ("machine.lanes.io_to_pe", lanes.io_to_pe),
    ] {
        if io_link > 0 && width == 0 {
            return Err(settings.problem(
                key,
                "0 lanes carry nothing, and there is an I/O network",
                "give 1 or more, or set machine.lanes.io_link = 0",
            ));
        }
    }
    Ok(lanes)
}

/// The lanes, where they follow from dimension and I/O network.
pub(super) fn derived(machine: &Machine) -> Vec<(&'static str, String)> {
    let Machine::Hypercube(cube) = machine else {
        return Vec::new();
    };
    let lanes = &cube.lanes;
    [
        ("machine.lanes.pe", lanes.pe),
        ("machine.lanes.io_node", lanes.io_node),
        ("machine.lanes.io_source", lanes.io_source),
        ("machine.lanes.io_to_pe", lanes.io_to_pe),
    ]
    .map(|(key, lanes)| (key, lanes.to_string()))
    .to_vec()
}

fn placement(settings: &Settings, dimension: u32) -> Result<PlacementSpec, Problem> {
    let pe_count = 1u32 << dimension;
    let count = || {
        let count = settings.small("machine.placement.count");
        if count <= pe_count {
            return Ok(count);
        }
        Err(settings.problem(
            "machine.placement.count",
            format!("{count} I/O nodes do not fit on {pe_count} PEs"),
            format!("give 1 to {pe_count}"),
        ))
    };
    Ok(match settings.text("machine.placement.kind").as_str() {
        "hamming" if !(dimension + 1).is_power_of_two() => {
            return Err(settings.problem(
                "machine.placement.kind",
                format!("there is no perfect Hamming code for {dimension} dimensions"),
                "use \"combined\", or 1, 3, 7 or 15 dimensions",
            ));
        }
        "hamming" => PlacementSpec::Hamming,
        "dominating" => PlacementSpec::Dominating,
        "stride" => PlacementSpec::Stride { count: count()? },
        "clustered" => PlacementSpec::Clustered { count: count()? },
        "list" => {
            let key = "machine.placement.pes";
            let pes = settings.nodes(key);
            if pes.is_empty() {
                return Err(settings.problem(key, "no I/O node at all", "list one PE or more"));
            }
            if let Some(&pe) = pes.iter().find(|&&pe| pe >= pe_count) {
                return Err(settings.problem(
                    key,
                    format!("an I/O node on PE {pe}, which does not exist"),
                    format!("{dimension} dimensions have PEs 0 to {}", pe_count - 1),
                ));
            }
            PlacementSpec::List(pes.to_vec())
        }
        _ => PlacementSpec::Combined,
    })
}

fn device(settings: &Settings) -> DeviceSpec {
    DeviceSpec {
        startup: settings.time("machine.device.startup"),
        access: settings.time("machine.device.access"),
        cache_hit_rate: settings.number("machine.device.cache_hit_rate"),
        disk: DiskSpec {
            seek: settings.time("machine.device.disk.seek"),
            rotation: settings.time("machine.device.disk.rotation"),
            transfer: settings.bandwidth_given("machine.device.disk.transfer"),
        },
        service: match settings.text("machine.device.service").as_str() {
            "queue" => Service::Queue,
            _ => Service::Delay,
        },
    }
}

/// Microseconds in one cycle, the time that a flit needs to cross a lane.
pub(super) fn cycle_us(spec: &HypercubeSpec) -> f64 {
    Clock::new(spec.flit, spec.bandwidth).map_or(f64::INFINITY, Clock::cycle_us)
}

/// Engines count cycles, so a cycle must be at least the resolution of time, and an hour must be
/// a countable number of them.
fn check_clock(settings: &Settings, spec: &HypercubeSpec) -> Result<(), Problem> {
    let cycle_us = cycle_us(spec);
    if cycle_us < 1e-6 {
        return Err(settings.problem(
            "machine.bandwidth",
            format!("a flit of {} crosses the lane in less than 1 ps", spec.flit),
            "give longer flits or slower lanes",
        ));
    }
    if cycle_us > 1e6 {
        return Err(settings.problem(
            "machine.bandwidth",
            format!(
                "a flit of {} takes more than 1 s to cross the lane",
                spec.flit
            ),
            "give shorter flits or faster lanes",
        ));
    }
    Ok(())
}

fn check_faults(settings: &Settings, spec: &HypercubeSpec) -> Result<(), Problem> {
    let pe_count = 1u32 << spec.dimension;
    let io_nodes = io_node_count(spec);
    let faults = &spec.faults;
    check_nodes(
        settings,
        "machine.faults.pes",
        &faults.pes,
        "PE",
        Some(pe_count),
    )?;
    check_nodes(
        settings,
        "machine.faults.io_nodes",
        &faults.io_nodes,
        "I/O node",
        io_nodes,
    )?;
    check_links(
        settings,
        "machine.faults.links",
        &faults.links,
        "PE",
        Some(pe_count),
    )?;
    let key = "machine.faults.io_links";
    if spec.lanes.io_link == 0 && !faults.io_links.is_empty() {
        if settings.layer("machine.lanes.io_link") == Layer::Axis {
            return Ok(());
        }
        let problem = "there is no I/O network, so none of its links can fail";
        return Err(settings.problem(key, problem, "set machine.lanes.io_link to 1 or more"));
    }
    check_links(settings, key, &faults.io_links, "I/O node", io_nodes)
}

fn check_nodes(
    settings: &Settings,
    key: &str,
    nodes: &[u32],
    what: &str,
    count: Option<u32>,
) -> Result<(), Problem> {
    let Some(count) = count else { return Ok(()) };
    if let Some(node) = nodes.iter().find(|&&node| node >= count) {
        let last = count - 1;
        return Err(settings.problem(
            key,
            format!("{what} {node} does not exist"),
            format!("there are {what}s 0 to {last}"),
        ));
    }
    if nodes.len() == count as usize {
        return Err(settings.problem(
            key,
            format!("all {count} {what}s have failed"),
            format!("leave at least one {what}"),
        ));
    }
    Ok(())
}

fn check_links(
    settings: &Settings,
    key: &str,
    links: &[(u32, u32)],
    what: &str,
    count: Option<u32>,
) -> Result<(), Problem> {
    for &(from, to) in links {
        let beyond = [from, to]
            .into_iter()
            .find(|&end| count.is_some_and(|count| end >= count));
        if let (Some(end), Some(count)) = (beyond, count) {
            return Err(settings.problem(
                key,
                format!("[{from}, {to}] is no link, {what} {end} does not exist"),
                format!("there are {what}s 0 to {}", count - 1),
            ));
        }
        if (from ^ to).count_ones() != 1 {
            return Err(settings.problem(
                key,
                format!("[{from}, {to}] is no link, the two are not neighbours"),
                format!(
                    "neighbours differ in one bit, for example [{from}, {}]",
                    from ^ 1
                ),
            ));
        }
    }
    Ok(())
}

/// Number of I/O nodes, where it follows from the placement without a search: 2^(d - m) for the
/// codes with m parity bits (section 3.2).
pub(crate) fn io_node_count(spec: &HypercubeSpec) -> Option<u32> {
    match &spec.placement {
        PlacementSpec::Hamming | PlacementSpec::Combined => {
            let parity_bits = (spec.dimension + 1).ilog2();
            Some(1 << (spec.dimension - parity_bits))
        }
        PlacementSpec::Dominating => None,
        PlacementSpec::Stride { count } | PlacementSpec::Clustered { count } => Some(*count),
        PlacementSpec::List(pes) => u32::try_from(pes.len()).ok(),
    }
}
