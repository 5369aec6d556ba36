//! Random machines and work: what holds of all of them.

use crate::common::*;
use isthmus_stream_sim::spec::*;
use isthmus_stream_sim::{LinkKind, Part, Simulation};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell as Count;

fn cases() -> impl Strategy<Value = (Machine, Work)> {
    let sizes = (1_u32..5, 0_u32..4, 0_u32..4, 0_u32..4, 4_u32..9, 0_u32..6);
    let rates = (10_u64..80, 5_u64..60, 50_u64..400, 20_u64..200);
    let ways = (
        0_usize..4,
        0_usize..3,
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    );
    (sizes, rates, ways, 1_u64..4, 1_u64..5).prop_map(|(sizes, rates, ways, rows_of, adus)| {
        let (rows, columns, links, used, share, block) = sizes;
        let (columns, share) = (1_u32 << columns, 1_u64 << share);
        let links = 1_u32 << links.min(columns.trailing_zeros());
        let used = 1_u32 << used.min(links.trailing_zeros());
        let (link, copy, bus, network) = rates;
        let reshuffles = [
            Reshuffle::Streaming,
            Reshuffle::None,
            Reshuffle::Slow,
            Reshuffle::Fast,
        ];
        let mut machine = machine();
        (machine.rows, machine.columns, machine.links) = (rows, columns, links);
        machine.link_bytes_per_s = link * MB;
        machine.cell.copy_bytes_per_s = copy * MB;
        machine.interface.bus_bytes_per_s = bus * MB;
        machine.interface.network_bytes_per_s = network * MB;
        machine.interface.engines = 8;
        if ways.2 {
            machine.routing = Routing::RowFirst;
        }
        let tu = share * u64::from(columns);
        let to = match (ways.1, reshuffles[ways.0]) {
            (0, Reshuffle::Slow | Reshuffle::Fast) if block > 0 && columns > 1 => To::Cells,
            (1, _) => To::Interface,
            _ => To::Network,
        };
        let work = Work {
            to,
            reshuffle: reshuffles[ways.0],
            block_bytes: (share >> block).max(1),
            tu_bytes: tu,
            packet_bytes: (tu / 3).max(1),
            adu_bytes: tu * u64::from(rows) * rows_of,
            links: used,
            adus,
            protocol: if ways.3 { Protocol::Udp } else { Protocol::Raw },
            reservation_bytes_per_s: ways.4.then(|| {
                let together = u64::from(columns / used);
                let by_bus = 2 * bus * MB / u64::from(columns);
                (link * MB / together).min(by_bus).max(1)
            }),
            ..work()
        };
        (machine, work)
    })
}

/// All that is sent comes, over the links that the work uses and no others, none faster than it
/// can; without a reservation and with one, to the end.
#[test]
fn what_is_sent_comes() {
    let (reserved, exchanged, packets) = (Count::new(0), Count::new(0), Count::new(0));
    let mut runner = TestRunner::new(Config {
        cases: 300,
        ..Config::default()
    });
    let held = runner.run(&cases(), |(machine, work)| {
        let mut simulation = Simulation::new(&machine, &work)
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        simulation.run(work.adus, u64::MAX);
        prop_assert_eq!(simulation.adus(), work.adus, "{}", simulation.standstill());
        let figures = simulation.figures().expect("an ADU is through");
        let bytes = (work.adus * work.adu_bytes) as f64;
        let by_links = f64::from(work.links) * machine.link_bytes_per_s as f64 / 1e6;
        let by_bus = 2.0 * machine.interface.bus_bytes_per_s as f64 / 1e6;
        if work.to != To::Cells {
            prop_assert!(figures.mb_per_s <= by_links.min(by_bus) * (1.0 + 1e-9));
        }
        if work.to == To::Network {
            let by_network = machine.interface.network_bytes_per_s as f64 / 1e6;
            prop_assert!(figures.mb_per_s <= by_network * (1.0 + 1e-9));
            let per_tu = work.tu_bytes.div_ceil(work.packet_bytes);
            let expected = (work.adus * work.tus() * per_tu) as f64;
            let sent = figures.packets_per_s * figures.elapsed_ns as f64 / 1e9;
            prop_assert!((sent - expected).abs() < 0.5, "{} {}", sent, expected);
            packets.set(packets.get() + 1);
        }
        // Bytes over the links to the interface, from how full they were.
        let mut carried = 0.0;
        for used in simulation.uses() {
            prop_assert!((0.0..=1.0).contains(&used.utilisation));
            if let Part::Link(LinkKind::Interface(_)) = used.part {
                let rate = machine.link_bytes_per_s as f64 / 1e9;
                carried += used.utilisation * rate * figures.elapsed_ns as f64;
            }
        }
        let expected = if work.to == To::Cells { 0.0 } else { bytes };
        prop_assert!(
            (carried - expected).abs() <= 1.0 + expected * 1e-5,
            "{} {}",
            carried,
            expected
        );
        reserved.set(reserved.get() + u32::from(work.reservation_bytes_per_s.is_some()));
        exchanged.set(exchanged.get() + u32::from(figures.last_row.reshuffle_ns > 0.0));
        Ok(())
    });
    held.unwrap_or_else(|error| panic!("{error}"));
    let counts = [reserved, exchanged, packets].map(Count::into_inner);
    println!("reserved, exchanged, with packets: {counts:?} of 300");
    assert!(counts.iter().all(|&count| count > 40), "{counts:?}");
}
