//! Real runs of machines and work: data arrives unchanged and in the order of the work, and
//! impossible work is refused.

#![cfg(target_os = "linux")]

use isthmus_stream_apps::Error;
use isthmus_stream_apps::live::{Pace, missing, run};
use isthmus_stream_sim::spec::{
    Cell as CellSpec, From, Interface, Machine, Protocol, Reshuffle, Routing, To, Work,
};
use isthmus_stream_sim::{check_machine, check_work};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::RefCell;
use std::collections::BTreeMap;

fn machine(rows: u32, columns: u32, links: u32) -> Machine {
    Machine {
        rows,
        columns,
        link_bytes_per_s: 40_000_000,
        links,
        routing: Routing::ColumnFirst,
        cell: CellSpec {
            cycle_ns: 50,
            word_bytes: 4,
            copy_bytes_per_s: 20_000_000,
            message_ns: 2500,
        },
        interface: Interface {
            processors: 2,
            bus_bytes_per_s: 160_000_000,
            crossings: 1,
            staging_bytes: 1 << 20,
            memory_bytes: 2 << 20,
            engines: 64,
            message_ns: 2500,
            place_ns: 2500,
            store_bytes_per_s: 160_000_000,
            packet_ns: 78_000,
            udp_ns: 95_000,
            packets_per_s: 3000,
            network_bytes_per_s: 100_000_000,
        },
    }
}

fn work(machine: &Machine, reshuffle: Reshuffle, share: u64, block: u64) -> Work {
    let tu_bytes = share * u64::from(machine.columns);
    Work {
        from: From::Cells,
        to: To::Interface,
        reshuffle,
        block_bytes: block,
        adu_bytes: tu_bytes * u64::from(machine.rows),
        tu_bytes,
        packet_bytes: tu_bytes,
        links: machine.links,
        adus: 3,
        load_bytes_per_s: None,
        protocol: Protocol::Raw,
        reservation_bytes_per_s: None,
    }
}

/// Any machine and work that a file may describe, small ones.
fn cases() -> impl Strategy<Value = (Machine, Work)> {
    let ways = prop_oneof![
        Just(Reshuffle::Streaming),
        Just(Reshuffle::None),
        Just(Reshuffle::Fast),
    ];
    let sizes = (1..4_u32, 1..4_u32, 1..5_u32, 1..9_u64, 1..9_u64);
    (sizes, ways, 1..40_u64, any::<bool>()).prop_map(
        |((rows, each, links, block, blocks), reshuffle, packet, cells)| {
            let machine = machine(rows, each * links, links);
            let mut work = work(&machine, reshuffle, block * blocks, block);
            work.packet_bytes = packet.min(work.tu_bytes);
            if cells && reshuffle == Reshuffle::Fast {
                work.to = To::Cells;
            }
            (machine, work)
        },
    )
}

#[test]
fn all_of_it_comes_as_the_work_says() {
    let seen = RefCell::new(BTreeMap::<String, u32>::new());
    let mut runner = TestRunner::new(Config {
        cases: 200,
        ..Config::default()
    });
    runner
        .run(&cases(), |(machine, work)| {
            prop_assume!(check_machine(&machine).is_ok() && check_work(&machine, &work).is_ok());
            prop_assert_eq!(missing(&machine, &work), None);
            let report = run(&machine, &work, Pace::Free, 5 * work.adu_bytes - 1).unwrap();
            prop_assert_eq!(report.bytes, 5 * work.adu_bytes);
            prop_assert!(report.ns > 0);
            let way = format!("{:?} to {:?}", work.reshuffle, work.to);
            *seen.borrow_mut().entry(way).or_default() += 1;
            Ok(())
        })
        .unwrap();
    let seen = seen.into_inner();
    assert!(
        seen.len() == 4 && seen.values().all(|count| *count > 5),
        "{seen:?}"
    );
}

#[test]
fn links_keep_their_pace() {
    let machine = machine(1, 4, 4);
    for links in [1, 2, 4] {
        let all = Work {
            links,
            ..work(&machine, Reshuffle::Streaming, 4096, 4096)
        };
        let report = run(&machine, &all, Pace::AsDescribed, 1 << 20).unwrap();
        let rate = report.bytes as f64 / report.ns as f64 * 1e9;
        let most = f64::from(links) * 40e6;
        // The last SU of each link is written as soon as those before it have gone.
        let last = 1.0 + (16384.0 + 1.0) / (1 << 20) as f64;
        assert!(rate < most * last, "{links} links: {rate} B/s of {most}");
    }
}

#[test]
fn unsupported_work_is_refused() {
    let machine = machine(2, 4, 2);
    let one = work(&machine, Reshuffle::Fast, 64, 8);
    let refused = [
        (
            Work {
                reshuffle: Reshuffle::Slow,
                ..one.clone()
            },
            "slow",
        ),
        (
            Work {
                from: From::Interface,
                to: To::Network,
                ..one.clone()
            },
            "workload.origin",
        ),
        (
            Work {
                reservation_bytes_per_s: Some(1),
                ..one.clone()
            },
            "workload.reservation",
        ),
        (
            Work {
                load_bytes_per_s: Some(1),
                ..one
            },
            "workload.load",
        ),
    ];
    for (work, said) in refused {
        let why = missing(&machine, &work).unwrap();
        assert!(why.contains(said) && !why.contains('\n'), "{why}");
        let error = run(&machine, &work, Pace::Free, 0).unwrap_err();
        assert!(matches!(error, Error::Spec(_)));
    }
}
