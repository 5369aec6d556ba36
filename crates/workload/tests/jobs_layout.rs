//! Jobs that do not fit on a machine, and what is said of them.

use isthmus_units::{Bytes, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::jobs::spec::{
    Arrivals, Destinations, Io, Job, JobNodes, JobsTraffic, Mapping, Serve, Servers, Sizes, Spread,
    Targets, Traffic,
};
use isthmus_workload::jobs::{Layout, LayoutError};
use isthmus_workload::storage::StorageSpec;

fn job(name: &str, nodes: JobNodes, traffic: Traffic) -> Job {
    Job {
        name: name.to_owned(),
        nodes,
        traffic,
        active: true,
        outstanding: Outstanding::ONE,
    }
}

fn jobs(servers: Servers, mapping: Mapping, jobs: Vec<Job>) -> JobsTraffic {
    JobsTraffic {
        serve: Serve::All,
        servers,
        storage: StorageSpec::None,
        mapping,
        jobs,
    }
}

const WRITES: Io = Io {
    targets: Targets::Servers(Destinations::Random),
    read_ratio: 0.0,
    sizes: Sizes {
        mean: Bytes::new(1_000_000),
        spread: Spread::Fixed,
    },
    arrivals: Arrivals::equal_pauses(Time::ZERO),
};

#[test]
fn misfits_are_errors() {
    let uniform = || Traffic::AllToAll {
        message: Bytes::new(1),
        pause: Time::ZERO,
    };
    let writes = || Traffic::Io(WRITES);
    let grid = |grid: &[u32]| Traffic::Neighbours {
        grid: grid.to_vec(),
        wrap: true,
        message: Bytes::new(1),
        pause: Time::ZERO,
    };
    let ping = Traffic::Ping {
        message: Bytes::new(1),
        both_ways: true,
        pause: Time::ZERO,
    };
    let list = |nodes: &[u32]| JobNodes::Listed(nodes.to_vec());
    let one = |servers: Servers, mapping, nodes: JobNodes, traffic: Traffic| {
        Layout::new(&jobs(servers, mapping, vec![job("a", nodes, traffic)]), 8).err()
    };
    let two = Servers::Clustered { count: 2 };
    let (shared, dedicated) = (Mapping::Shared, Mapping::Dedicated);
    let (job_number, nodes) = (0, 8);
    assert_eq!(
        one(
            Servers::Clustered { count: 9 },
            shared,
            JobNodes::All,
            uniform()
        ),
        Some(LayoutError::ServerCount { count: 9, nodes })
    );
    let beyond = Servers::Distributed {
        count: 3,
        stride: Some(4),
        offset: 1,
    };
    assert_eq!(
        one(beyond, shared, JobNodes::All, uniform()),
        Some(LayoutError::ServerOutside { node: 9, nodes })
    );
    assert_eq!(
        one(
            Servers::Listed(vec![3, 1, 3]),
            shared,
            JobNodes::All,
            uniform()
        ),
        Some(LayoutError::ServerTwice { node: 3 })
    );
    assert_eq!(
        one(two.clone(), shared, list(&[1, 8]), uniform()),
        Some(LayoutError::NodeOutside {
            job: job_number,
            node: 8,
            nodes
        })
    );
    assert_eq!(
        one(two.clone(), shared, list(&[1, 2, 1]), uniform()),
        Some(LayoutError::NodeTwice {
            job: job_number,
            node: 1
        })
    );
    assert_eq!(
        one(two.clone(), dedicated, list(&[1, 6]), uniform()),
        Some(LayoutError::OnServer {
            job: job_number,
            node: 6
        })
    );
    assert_eq!(one(two.clone(), shared, list(&[1, 6]), uniform()), None);
    assert_eq!(
        one(
            two.clone(),
            shared,
            JobNodes::Part { part: 3, of: 2 },
            uniform()
        ),
        Some(LayoutError::NoPart {
            job: job_number,
            part: 3,
            of: 2
        })
    );
    assert_eq!(
        one(two.clone(), shared, list(&[1]), uniform()),
        Some(LayoutError::TooFewNodes {
            job: job_number,
            nodes: 1,
            needed: 2
        })
    );
    assert_eq!(
        one(Servers::None, shared, JobNodes::All, writes()),
        Some(LayoutError::NoServers { job: job_number })
    );
    assert_eq!(
        one(Servers::Listed(vec![4]), shared, list(&[4]), writes()),
        Some(LayoutError::TooFewNodes {
            job: job_number,
            nodes: 0,
            needed: 1
        })
    );
    assert_eq!(
        one(two.clone(), shared, JobNodes::All, grid(&[3, 3])),
        Some(LayoutError::Grid {
            job: job_number,
            grid: 9,
            nodes: 8
        })
    );
    assert_eq!(
        one(two.clone(), shared, list(&[1, 2, 3]), ping),
        Some(LayoutError::OddNodes {
            job: job_number,
            nodes: 3
        })
    );
    let overlapping = |mapping| {
        let list = vec![
            job("a", list(&[0, 1, 2]), uniform()),
            job("b", list(&[3, 2]), uniform()),
        ];
        Layout::new(&jobs(two.clone(), mapping, list), 8).err()
    };
    let overlap = LayoutError::Overlap {
        first: 0,
        job: 1,
        node: 2,
    };
    assert_eq!(overlap.job(), Some(1));
    assert_eq!(overlapping(dedicated), Some(overlap));
    assert_eq!(overlapping(shared), None);
}
