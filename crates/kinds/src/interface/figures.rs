//! Summary of the machine and utilisation of its parts, for the results.

use isthmus_experiment::capacity::{Capacity, PartKind, bandwidth};
use isthmus_experiment::subject::{Counted, Overlay};
use isthmus_experiment::uses::{Part as UsedPart, Uses, find_bottleneck, rows};
use isthmus_stream_sim::spec::{From, Machine, To, Work};
use isthmus_stream_sim::{LinkKind, Part, parts};
use serde::Serialize;

/// Properties of a torus of cells with its network interface, as the results list them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InterfaceSummary {
    /// Number of rows of cells.
    pub rows: u32,
    /// Number of columns of cells.
    pub columns: u32,
    /// Number of links to the interface.
    pub links: u32,
    /// Column of each link to the interface.
    pub link_columns: Vec<u32>,
    /// Bandwidth of a link in MB/s.
    pub link_mb_per_s: f64,
    /// Bandwidth of the external network in MB/s.
    pub network_mb_per_s: f64,
    /// Size of the staging memory in bytes.
    pub staging_bytes: u64,
    /// Number of DMA engines for links.
    pub engines: u32,
}

/// Return the properties of the torus and its network interface, as the results list them.
pub(super) fn summary(machine: &Machine) -> InterfaceSummary {
    let stride = machine.columns / machine.links;
    InterfaceSummary {
        rows: machine.rows,
        columns: machine.columns,
        links: machine.links,
        link_columns: (0..machine.links).map(|link| link * stride).collect(),
        link_mb_per_s: machine.link_bytes_per_s as f64 / 1e6,
        network_mb_per_s: machine.interface.network_bytes_per_s as f64 / 1e6,
        staging_bytes: machine.interface.staging_bytes,
        engines: machine.interface.engines,
    }
}

/// Return the name, the bandwidth in MB/s and an explanation for each stage through which data pass.
fn stages(machine: &Machine, work: &Work) -> Vec<(&'static str, f64, String)> {
    let interface = &machine.interface;
    let mb = |bytes_per_s: u64| bytes_per_s as f64 / 1e6;
    let mut stages = Vec::new();
    if work.to == To::Cells {
        return stages;
    }
    if work.from == From::Cells {
        let link = mb(machine.link_bytes_per_s);
        let links = format!("{} links of {}", work.links, bandwidth(link));
        stages.push((
            "links to the interface",
            link * f64::from(work.links),
            links,
        ));
        let (bus, crossings) = (mb(interface.bus_bytes_per_s), interface.crossings);
        let one = format!(
            "{} processors of {}, crossed {crossings} times",
            interface.processors,
            bandwidth(bus)
        );
        let bus = bus * f64::from(interface.processors) / f64::from(crossings);
        stages.push(("memory bus", bus, one));
    }
    let store = mb(interface.store_bytes_per_s);
    stages.push(("store", store, "machine.interface.store".to_owned()));
    if work.to == To::Network {
        let packets = interface.packets_per_s;
        let bytes = work.packet_bytes;
        let microcode = packets as f64 * bytes as f64 / 1e6;
        let basis = format!("{packets} packets/s of {bytes} B");
        stages.push(("microcode", microcode, basis));
        let network = mb(interface.network_bytes_per_s);
        stages.push(("network", network, "machine.interface.network".to_owned()));
    }
    stages
}

/// Return the bandwidth in MB/s and the name of the slowest stage, which limits the throughput; `None` if there are no
/// stages.
pub(super) fn bound(machine: &Machine, work: &Work) -> Option<(f64, &'static str)> {
    let stages = stages(machine, work).into_iter();
    stages
        .map(|(name, supply, _)| (supply, name))
        .min_by(|a, b| a.0.total_cmp(&b.0))
}

/// Return the demand on each stage through which data pass, which is the offered load, and the bandwidth of the stage,
/// both in MB/s.
pub(super) fn capacity(machine: &Machine, work: &Work, load: Option<f64>) -> Capacity {
    let parts = stages(machine, work).into_iter();
    let parts = parts.map(|(name, supply, basis)| PartKind {
        name: name.to_owned(),
        demand: load,
        at_most: false,
        supply: Some(supply),
        unit: "MB/s",
        basis,
    });
    Capacity {
        variant: Vec::new(),
        load,
        parts: parts.collect(),
        remarks: vec![
            "Times per message and per packet, and what moves between cells, are left out."
                .to_owned(),
        ],
    }
}

/// Return the name of a kind of part in results, with the location of the part as one or two numbers. A location is the
/// number of a cell; the interface has the number after the last cell.
fn location(part: Part, cells: u32) -> (&'static str, u32, Option<u32>) {
    match part {
        Part::Link(LinkKind::Torus(from, to)) => ("link", from, Some(to)),
        Part::Link(LinkKind::Interface(from)) => ("interface_link", from, Some(cells)),
        Part::Link(LinkKind::Processor(cell)) => ("cell_processor", cell, None),
        Part::Link(LinkKind::Bus) => ("bus", cells, None),
        Part::Processor => ("processor", cells, None),
        Part::Store => ("store", cells, None),
        Part::Microcode => ("microcode", cells, None),
        Part::Network => ("network", cells, None),
    }
}

/// Return the utilisation of all parts that were busy at any time, and the bottleneck.
pub(super) fn uses(machine: &Machine, counted: &[Counted], overlay: &Overlay) -> Uses {
    let Some(counted) = counted.first() else {
        return Uses::default();
    };
    let cells = machine.rows * machine.columns;
    let cycles = counted.cycles.max(1) as f64;
    let counts = counted.counts.channels.iter().zip(&counted.counts.held);
    let used: Vec<UsedPart> = parts(machine)
        .into_iter()
        .zip(counts)
        .filter(|(_, (carried, held))| **carried > 0 || held.cycles > 0)
        .map(|(part, (&carried, held))| {
            let (kind, from, to) = location(part, cells);
            UsedPart {
                kind: kind.to_owned(),
                from,
                to,
                utilisation: carried as f64 / cycles,
                busy: held.cycles as f64 / cycles,
                held: None,
                let_through: None,
            }
        })
        .collect();
    Uses {
        rows: rows(&used, overlay, true),
        bottleneck: find_bottleneck(&used).map(|part| part.bottleneck("message", None)),
    }
}
