//! What a demand costs when nothing is in its way: every time below is written as an equation of
//! channels, lengths, start-up and access times.

use isthmus_machine::hypercube::spec::{FaultSpec, HypercubeSpec, PlacementSpec, Service};
use isthmus_machine::hypercube::{
    Class, Completed, Flow, Leg, Machine, Observer, Operation, Simulation,
};
use isthmus_units::{Bandwidth, Time};
use isthmus_workload::spec::{Arrival, Collectives, FileLayout, TrafficSpec};
use std::sync::Arc;

/// Start-up, access (Table 1) and lengths in cycles of 0.05 us.
const STARTUP: u64 = 4_000;
const ACCESS: u64 = 8_000;
const REQUEST: u64 = 32;
const BLOCK: u64 = 4_096;

#[derive(Default)]
struct Seen {
    limit: usize,
    legs: Vec<Leg>,
    completed: Vec<Completed>,
}

impl Observer for Seen {
    fn offered(&mut self, _flow: Flow, _time: u64) {}

    fn arrived(&mut self, leg: &Leg) {
        self.legs.push(*leg);
    }

    fn completed(&mut self, completed: &Completed) {
        self.completed.push(*completed);
    }

    fn finished(&self) -> bool {
        self.completed.len() >= self.limit
    }
}

impl Seen {
    fn classes(&self) -> Vec<Class> {
        let mut classes: Vec<Class> = self.legs.iter().map(|leg| leg.class).collect();
        classes.sort_unstable();
        classes.dedup();
        classes
    }

    fn hops(&self, class: Class) -> Vec<u32> {
        let legs = self.legs.iter().filter(|leg| leg.class == class);
        legs.map(|leg| leg.hops).collect()
    }
}

/// Nothing but I/O, so rare that demands do not meet.
fn rare() -> TrafficSpec {
    TrafficSpec {
        arrival: Arrival::Exponential {
            mean: Time::from_us(40_000_000),
        },
        io_probability: 1.0,
        ..TrafficSpec::default()
    }
}

fn run(spec: &HypercubeSpec, traffic: &TrafficSpec, limit: usize) -> Seen {
    let machine = Arc::new(Machine::new(spec).expect("a good machine"));
    let mut seen = Seen {
        limit,
        ..Seen::default()
    };
    assert!(Simulation::new(machine, traffic, 3, 0).run(&mut seen));
    seen
}

/// A 3-cube with I/O nodes at PEs 0 and 7, which serve 4 PEs each.
fn cube(b: u32) -> HypercubeSpec {
    HypercubeSpec::paper(3, b)
}

#[test]
fn a_local_read_takes_two_start_ups_an_access_and_two_messages() {
    let traffic = TrafficSpec {
        locality: 1.0,
        ..rare()
    };
    let seen = run(&cube(1), &traffic, 60);
    assert_eq!(seen.classes(), [Class::Request, Class::ReplyLocal]);
    for read in &seen.completed {
        assert_eq!(read.operation, Operation::Read);
        // k or m at each end, and one link for three of four PEs, both ways.
        assert!(read.network == 4 || read.network == 6, "{read:?}");
        let tails = (REQUEST - 1) + (BLOCK - 1);
        assert_eq!(read.response, 2 * STARTUP + ACCESS + read.network + tails);
    }
}

#[test]
fn a_remote_read_crosses_both_networks_as_one_worm() {
    let traffic = TrafficSpec {
        locality: 0.0,
        ..rare()
    };
    let seen = run(&cube(2), &traffic, 60);
    assert_eq!(
        seen.classes(),
        [Class::Request, Class::Forward, Class::ReplyRemote]
    );
    // r, one I/O link, r.
    assert!(seen.hops(Class::Forward).iter().all(|&hops| hops == 3));
    // r, one I/O link, n, no or one PE link, k.
    assert!(
        seen.hops(Class::ReplyRemote)
            .iter()
            .all(|&hops| hops == 4 || hops == 5)
    );
    for read in &seen.completed {
        let tails = 2 * (REQUEST - 1) + (BLOCK - 1);
        assert_eq!(read.response, 3 * STARTUP + ACCESS + read.network + tails);
    }
}

#[test]
fn without_an_io_network_forwards_and_replies_use_the_pe_network() {
    let traffic = TrafficSpec {
        locality: 0.0,
        ..rare()
    };
    let seen = run(&cube(0), &traffic, 200);
    // m, three links between PEs 0 and 7, m.
    assert!(seen.hops(Class::Forward).iter().all(|&hops| hops == 5));
    // m, two or three links to the PEs of the other half, k.
    let replies = seen.hops(Class::ReplyRemote);
    assert!(
        replies.iter().all(|&hops| hops == 4 || hops == 5),
        "{replies:?}"
    );
}

#[test]
fn a_write_is_one_message_and_no_answer() {
    let traffic = TrafficSpec {
        read_ratio: 0.0,
        ..rare()
    };
    let seen = run(&cube(1), &traffic, 60);
    assert_eq!(seen.classes(), [Class::Write]);
    for write in &seen.completed {
        let tail = REQUEST + BLOCK - 1;
        assert_eq!(write.response, STARTUP + write.network + tail + ACCESS);
    }
}

#[test]
fn the_requests_of_a_failed_io_node_are_passed_on_by_its_pe() {
    let mut spec = cube(1);
    spec.faults.io_nodes = vec![0];
    let seen = run(&spec, &rare(), 200);
    assert!(seen.classes().contains(&Class::Redirect));
    // k, three links from PE 0 to PE 7, m.
    assert!(seen.hops(Class::Redirect).iter().all(|&hops| hops == 5));
    // Everything is answered by the one I/O node left.
    assert!(!seen.classes().contains(&Class::ReplyRemote));
    let redirects = seen.hops(Class::Redirect).len();
    let tails = (REQUEST - 1) + (BLOCK - 1);
    let longer = seen.completed.iter().filter(|read| {
        read.response == 3 * STARTUP + ACCESS + read.network + tails + (REQUEST - 1)
    });
    assert_eq!(longer.count(), redirects);
}

/// The 4-cube has I/O nodes at PEs 0, 7, 9 and 14. With PE 9 gone, 8 is one hop from 0, and 11 and 13
/// are two from 7 and 14 and three from 0.
#[test]
fn the_pes_of_a_failed_one_ask_the_io_node_nearest_to_each() {
    let mut spec = HypercubeSpec::paper(4, 1);
    spec.faults.pes = vec![9];
    let machine = Machine::new(&spec).unwrap();
    assert_eq!(machine.placement().io_nodes(), [0, 7, 9, 14]);
    let serves = [8, 9, 11, 13].map(|pe| machine.serves(pe));
    assert_eq!(serves, [Some(0), None, Some(1), Some(3)]);
    assert_eq!((machine.working_pes(), machine.working_io_nodes()), (15, 3));
    let mut clients: Vec<u32> = (0..4)
        .flat_map(|node| machine.clients(node).to_vec())
        .collect();
    clients.sort_unstable();
    assert!(clients.into_iter().eq((0..16).filter(|&pe| pe != 9)));
    // No request has more than k, two links and m.
    let seen = run(&spec, &rare(), 300);
    assert!(seen.hops(Class::Request).iter().all(|&hops| hops <= 4));
    assert!(!seen.classes().contains(&Class::Redirect));
}

#[test]
fn messages_go_round_failed_links() {
    let mut spec = HypercubeSpec::paper(4, 0);
    let whole = Machine::new(&spec).unwrap();
    spec.faults.links = vec![(0, 8), (0, 4)];
    let broken = Machine::new(&spec).unwrap();
    let route = |machine: &Machine, to| {
        let mut path = Vec::new();
        machine.path_pe_pe(0, to, &mut path);
        path.len()
    };
    assert_eq!((route(&whole, 8), route(&broken, 8)), (3, 5));
    assert_eq!((route(&whole, 2), route(&broken, 2)), (3, 3));
    assert!(broken.check_deadlock().is_ok());
}

#[test]
fn a_machine_cut_apart_is_reported() {
    let mut spec = HypercubeSpec::paper(2, 0);
    spec.faults.links = vec![(0, 1), (0, 2)];
    let error = Machine::new(&spec).unwrap_err().to_string();
    assert!(
        error.starts_with("PE network: the faults cut the network apart"),
        "{error}"
    );
}

#[test]
fn a_broadcast_reaches_every_working_pe_once() {
    let traffic = TrafficSpec {
        collectives: Collectives {
            broadcast: 1.0,
            ..Collectives::default()
        },
        ..rare()
    };
    for b in [0, 2] {
        let mut spec = HypercubeSpec::paper(7, b);
        let seen = run(&spec, &traffic, 3);
        // From the root to 15 other I/O nodes, and a copy for each of 128 PEs.
        assert_eq!(seen.hops(Class::Broadcast).len(), 3 * (15 + 128));
        for broadcast in &seen.completed {
            // 16 I/O nodes are reached in log2 16 = 4 steps, each with a start-up and a block.
            let steps = 4 * (STARTUP + BLOCK);
            assert!(broadcast.response > steps + STARTUP + ACCESS + BLOCK);
            // Between the copies of one I/O node to its 8 PEs, and in the control cube between
            // those of all, there are waits; one after another would take 128 blocks.
            assert!(broadcast.response < 2 * steps + 12 * BLOCK, "{broadcast:?}");
        }
        spec.faults = FaultSpec {
            pes: vec![1],
            io_nodes: vec![5],
            ..FaultSpec::default()
        };
        let seen = run(&spec, &traffic, 3);
        assert_eq!(seen.hops(Class::Broadcast).len(), 3 * (14 + 127));
    }
}

#[test]
fn scatter_and_gather_serve_their_group() {
    for (scatter, gather) in [(1.0, 0.0), (0.0, 1.0)] {
        let traffic = TrafficSpec {
            collectives: Collectives {
                broadcast: 0.0,
                scatter,
                gather,
                group: 5,
            },
            ..rare()
        };
        let seen = run(&cube(1), &traffic, 40);
        let count = |class| seen.hops(class).len();
        if scatter > 0.0 {
            assert_eq!(count(Class::Request), 40);
            assert_eq!(count(Class::ReplyLocal) + count(Class::ReplyRemote), 40 * 5);
        } else {
            assert_eq!(count(Class::Write), 40 * 5);
            // The blocks of PEs that another I/O node serves are passed on to one of the two.
            assert!(count(Class::Forward) > 40 && count(Class::Forward) < 40 * 4);
        }
    }
}

/// A scatter sends each of its PEs a block of its own, and all of them come from the device.
#[test]
fn a_scatter_fetches_a_block_for_each_of_its_group() {
    let mut spec = cube(1);
    spec.device.cache_hit_rate = 0.0;
    spec.device.disk.seek = Time::ZERO;
    spec.device.disk.rotation = Time::ZERO;
    // 4096 B at 2 MB/s: 40,960 cycles for each block.
    spec.device.disk.transfer = Some(Bandwidth::from_mb_per_s(2));
    let transfer = 40_960;
    for (group, dead, blocks) in [(1, None, 1), (2, None, 2), (8, None, 8), (8, Some(5), 7)] {
        spec.faults.pes = dead.into_iter().collect();
        let traffic = TrafficSpec {
            locality: 1.0,
            collectives: Collectives {
                scatter: 1.0,
                group,
                ..Collectives::default()
            },
            ..rare()
        };
        let seen = run(&spec, &traffic, 30);
        let replies = seen.hops(Class::ReplyLocal).len() + seen.hops(Class::ReplyRemote).len();
        assert_eq!(replies, 30 * blocks);
        let fetched = 2 * STARTUP + ACCESS + blocks as u64 * transfer;
        let tails = (REQUEST - 1) + (BLOCK - 1);
        for scatter in &seen.completed {
            // The last head comes after those that it waits for: at most a block each.
            let least = fetched + scatter.network + tails;
            let most = least + blocks as u64 * BLOCK;
            assert!(
                (least..=most).contains(&scatter.response),
                "{blocks}: {scatter:?}"
            );
        }
    }
}

#[test]
fn large_files_are_broken_up_and_declustered_files_are_read_block_by_block() {
    let files = TrafficSpec {
        file_blocks_min: 70,
        file_blocks_max: 70,
        locality: 1.0,
        ..rare()
    };
    let seen = run(&cube(1), &files, 10);
    // 70 blocks are files of 32, 32 and 6.
    assert_eq!(seen.hops(Class::Request).len(), 30);
    assert_eq!(seen.hops(Class::ReplyLocal).len(), 30);
    let declustered = TrafficSpec {
        layout: FileLayout::Declustered,
        locality: 0.5,
        ..files
    };
    let seen = run(&cube(1), &declustered, 10);
    let replies = seen.hops(Class::ReplyLocal).len() + seen.hops(Class::ReplyRemote).len();
    assert_eq!(replies, 10 * 70);
    assert_eq!(
        seen.hops(Class::Forward).len(),
        seen.hops(Class::ReplyRemote).len()
    );
}

#[test]
fn misses_pay_for_the_disk_and_may_queue_for_it() {
    let traffic = TrafficSpec {
        locality: 1.0,
        ..rare()
    };
    let mut spec = cube(1);
    spec.device.cache_hit_rate = 0.0;
    spec.device.disk.seek = Time::ZERO;
    spec.device.disk.rotation = Time::ZERO;
    // 4096 B at 2 MB/s: 2048 us = 40,960 cycles.
    spec.device.disk.transfer = Some(Bandwidth::from_mb_per_s(2));
    let transfer = 40_960;
    let seen = run(&spec, &traffic, 40);
    let tails = (REQUEST - 1) + (BLOCK - 1);
    for read in &seen.completed {
        let alone = 2 * STARTUP + ACCESS + transfer + read.network + tails;
        assert_eq!(read.response, alone);
    }
    // Eight PEs that always have a read under way keep two disks busy: one read per transfer.
    spec.device.service = Service::Queue;
    let busy = TrafficSpec {
        arrival: Arrival::Closed {
            think: Time::from_us(1),
            outstanding: 4,
        },
        ..traffic
    };
    let seen = run(&spec, &busy, 600);
    let times: Vec<u64> = seen
        .completed
        .iter()
        .skip(200)
        .map(|read| read.time)
        .collect();
    let span = (times.iter().max().unwrap() - times.iter().min().unwrap()) as f64;
    let per_read = span / (times.len() - 1) as f64 * 2.0;
    assert!(
        (per_read / transfer as f64 - 1.0).abs() < 0.02,
        "{per_read}"
    );
}

/// Twice as many writes as one disk can store: half of them are still waiting in the end.
#[test]
fn writes_are_complete_once_they_are_stored() {
    let mut spec = cube(1);
    spec.device.cache_hit_rate = 0.0;
    spec.device.service = Service::Queue;
    spec.device.disk.seek = Time::ZERO;
    spec.device.disk.rotation = Time::ZERO;
    spec.device.disk.transfer = Some(Bandwidth::from_mb_per_s(2));
    let traffic = TrafficSpec {
        // Two disks of 40,960 cycles a block, 8 PEs: 163,840 cycles between writes of one PE
        // would keep both just busy.
        arrival: Arrival::Exponential {
            mean: Time::from_ns(163_840 / 2 * 50),
        },
        read_ratio: 0.0,
        ..rare()
    };
    let seen = run(&spec, &traffic, 500);
    let arrived = seen.legs.len() as f64;
    let share = seen.completed.len() as f64 / arrived;
    assert!(
        (share - 0.5).abs() < 0.06,
        "{share} of the writes that arrived are complete"
    );
}

#[test]
fn placements_reach_the_machine() {
    let mut spec = HypercubeSpec::paper(4, 1);
    spec.placement = PlacementSpec::List(vec![3, 12]);
    let machine = Machine::new(&spec).unwrap();
    assert_eq!(machine.placement().io_nodes(), [3, 12]);
    spec.placement = PlacementSpec::Dominating;
    let machine = Machine::new(&spec).unwrap();
    assert_eq!(machine.placement().io_node_count(), 4);
    assert!(machine.placement().coverage().is_dominating());
}
