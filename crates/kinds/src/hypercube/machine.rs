//! Reads the description of a hypercube from `[machine]` of a scenario file and checks it.

use super::table::{Count, DeviceTable, LanesTable, MachineTable, PlacementWord};
use isthmus_machine::hypercube::spec::{
    DeviceSpec, FaultSpec, HypercubeSpec, Lanes, PlacementSpec,
};
use isthmus_scenario::format::{Describe, Layer, Problem, Settings};
use isthmus_units::Clock;

/// Read and check the description of the hypercube.
pub(super) fn build(settings: &Settings) -> Result<HypercubeSpec, Problem> {
    let table = MachineTable::read(settings, "machine");
    let DeviceTable {
        startup,
        access,
        cache_hit_rate,
        service,
        disk,
    } = table.device;
    let spec = HypercubeSpec {
        dimension: table.dimension,
        flit: table.flit,
        bandwidth: table.bandwidth,
        lanes: lanes(settings, &table.lanes, table.dimension)?,
        placement: placement(settings, table.placement.kind, table.dimension)?,
        device: DeviceSpec {
            startup,
            access,
            cache_hit_rate,
            disk: disk.spec(),
            service,
        },
        faults: FaultSpec {
            pes: table.faults.pes,
            io_nodes: table.faults.io_nodes,
            links: table.faults.links,
            io_links: table.faults.io_links,
        },
    };
    check_clock(settings, &spec)?;
    check_faults(settings, &spec)?;
    Ok(spec)
}

/// Return the lanes of each kind of link; lanes that the file does not set follow from the dimension.
fn lanes(settings: &Settings, table: &LanesTable, dimension: u32) -> Result<Lanes, Problem> {
    let usual = Lanes::paper(dimension, table.io_link);
    let lanes = Lanes {
        pe: table.pe.unwrap_or(usual.pe),
        link: table.link,
        io_node: table.io_node.unwrap_or(usual.io_node),
        io_source: table.io_source.unwrap_or(usual.io_source),
        io_link: table.io_link,
        io_to_pe: table.io_to_pe.unwrap_or(usual.io_to_pe),
    };
    for (key, width) in [
        ("machine.lanes.io_source", lanes.io_source),
        ("machine.lanes.io_to_pe", lanes.io_to_pe),
    ] {
        if lanes.io_link > 0 && width == 0 {
            return Err(settings.problem(
                key,
                "0 lanes carry nothing, and there is an I/O network",
                "give 1 or more, or set machine.lanes.io_link = 0",
            ));
        }
    }
    Ok(lanes)
}

/// Return the fields for numbers of lanes, with the defaults that follow from the dimension and the I/O network.
pub(super) fn derived(cube: &HypercubeSpec) -> Vec<(&'static str, String)> {
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

/// Return the placement of the I/O nodes, or a problem if there are more I/O nodes than PEs.
fn placement(
    settings: &Settings,
    word: PlacementWord,
    dimension: u32,
) -> Result<PlacementSpec, Problem> {
    let pe_count = 1u32 << dimension;
    let checked = |Count { count }| {
        if count <= pe_count {
            return Ok(count);
        }
        Err(settings.problem(
            "machine.placement.count",
            format!("{count} I/O nodes do not fit on {pe_count} PEs"),
            format!("give 1 to {pe_count}"),
        ))
    };
    Ok(match word {
        PlacementWord::Hamming if !(dimension + 1).is_power_of_two() => {
            return Err(settings.problem(
                "machine.placement.kind",
                format!("there is no perfect Hamming code for {dimension} dimensions"),
                "use \"combined\", or 1, 3, 7 or 15 dimensions",
            ));
        }
        PlacementWord::Hamming => PlacementSpec::Hamming,
        PlacementWord::Combined => PlacementSpec::Combined,
        PlacementWord::Dominating => PlacementSpec::Dominating,
        PlacementWord::Stride(count) => PlacementSpec::Stride {
            count: checked(count)?,
        },
        PlacementWord::Clustered(count) => PlacementSpec::Clustered {
            count: checked(count)?,
        },
        PlacementWord::List { pes } => {
            let key = "machine.placement.pes";
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
            PlacementSpec::List(pes)
        }
    })
}

/// Return the length of a cycle in microseconds: the time in which a flit crosses a lane.
pub(super) fn cycle_us(spec: &HypercubeSpec) -> f64 {
    Clock::new(spec.flit, spec.bandwidth).map_or(f64::INFINITY, Clock::cycle_us)
}

/// Check the length of a cycle: at least the resolution of time, 1 ps, and at most 1 s.
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

/// Check that all listed failures are of existing parts, and that not all nodes have failed.
fn check_faults(settings: &Settings, spec: &HypercubeSpec) -> Result<(), Problem> {
    let pe_count = 1u32 << spec.dimension;
    let io_nodes = spec.io_node_count();
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

/// Check that the listed nodes exist and that they are not all nodes. Error messages call them `what`.
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

/// Check that the listed links join existing neighbours. Error messages call their ends `what`, such as `node`.
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
