//! Reads the jobs of a hypercube from `[workload]` of a scenario file and checks them.

use super::super::failures::PES;
use super::table::JobsTable;
use crate::devices::{self, DEVICE, StorageTable};
use crate::jobs::{Nodes, Parts, check_live, check_start, jobs};
use isthmus_machine::hypercube::spec::{DeviceSpec, HypercubeSpec, JobsOnCube, Service, Transfer};
use isthmus_scenario::format::{Describe, Problem, Settings};
use isthmus_units::{Bandwidth, Clock};
use isthmus_workload::jobs::spec::Servers;
use isthmus_workload::storage::StorageSpec;

/// Maximum number of flits of a worm that the wormhole engine can count.
const FLITS_MAX: u64 = 1 << 30;

/// Read the jobs from the table `[workload]` of a scenario, and check that the hypercube can run them.
pub(super) fn build(settings: &Settings, machine: &HypercubeSpec) -> Result<JobsOnCube, Problem> {
    let table = JobsTable::read(settings, "workload");
    let (flit, bandwidth) = (machine.flit, machine.bandwidth);
    if Clock::new(flit, bandwidth).is_some_and(|clock| clock.cycle().is_none()) {
        return Err(settings.problem(
            "machine.bandwidth",
            format!("a flit of {flit} at {bandwidth} does not take whole picoseconds"),
            "give another bandwidth or flit, such as 20 MB/s and 1 B",
        ));
    }
    for (key, bytes) in [
        ("workload.transfer_unit", table.transfer_unit),
        ("workload.request", table.request),
    ] {
        if bytes.get().div_ceil(flit.get().max(1)) > FLITS_MAX {
            return Err(settings.problem(
                key,
                format!("a worm of {bytes} has more than 2^30 flits"),
                "give less, or longer flits",
            ));
        }
    }
    let pes = 1 << machine.dimension;
    let mut traffic = jobs(
        settings,
        &table.jobs,
        Servers::Apart {
            // If the search for a placement still has to find the number of I/O nodes, assume one.
            count: machine.io_node_count().unwrap_or(1),
        },
        Nodes {
            count: pes,
            can_send: can_send(machine),
            one_by_one: false,
        },
    )?;
    let worms = Parts {
        field: "workload.worms",
        name: "worms",
        unit: table.transfer_unit,
        most: table.worms,
        hint: "give fewer, longer transfer units, or jobs fewer PEs or messages under way",
    };
    check_start(settings, &traffic, pes, Some(&worms))?;
    let failed = &machine.faults.pes;
    let live: Vec<u32> = (0..pes).filter(|pe| !failed.contains(pe)).collect();
    check_live(settings, &traffic, (pes, &live), &[PES])?;
    traffic.storage = devices::storage(settings, StorageTable::read(settings, DEVICE), DEVICE)?;
    Ok(JobsOnCube {
        jobs: traffic,
        transfer: Transfer {
            unit: table.transfer_unit,
            worms: table.worms,
            request: table.request,
        },
    })
}

/// Return the bandwidth with which a PE can send: that of all lanes to its router together.
pub(super) fn can_send(machine: &HypercubeSpec) -> Bandwidth {
    let lanes = u64::from(machine.lanes.pe);
    let all = machine.bandwidth.bits_per_s().saturating_mul(lanes);
    Bandwidth::from_bits_per_s(all)
}

/// Return the cache and the disk of the I/O nodes of a hypercube, which jobs use if the file sets no other device.
pub(super) fn default_storage(device: &DeviceSpec) -> StorageSpec {
    StorageSpec::Cache {
        access: device.access,
        hit_rate: device.cache_hit_rate,
        disk: device.disk,
        queued: device.service == Service::Queue,
    }
}
