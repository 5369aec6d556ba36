//! The simulated interface reports the same events as all others: the same manager, driven by a
//! simulation of cells, links and servers instead of bytes.

use crate::conformance::{ended, fates, fates_of, on_all, whole};
use crate::rig::{Plan, Side};
use isthmus_stream::{End, Format, Protocol, StreamId};
use isthmus_stream_sim::Simulation;
use isthmus_stream_sim::spec::{
    Cell, From, Interface, Machine, Protocol as Sent, Reshuffle, Routing, To, Work,
};

const KB: u64 = 1 << 10;

fn machine(links: u32) -> Machine {
    Machine {
        rows: 2,
        columns: 8,
        link_bytes_per_s: 40_000_000,
        links,
        routing: Routing::ColumnFirst,
        cell: Cell {
            cycle_ns: 50,
            word_bytes: 4,
            copy_bytes_per_s: 20_000_000,
            message_ns: 2500,
        },
        interface: Interface {
            processors: 2,
            bus_bytes_per_s: 160_000_000,
            crossings: 1,
            staging_bytes: 256 * KB,
            memory_bytes: 1024 * KB,
            engines: 16,
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

fn work(links: u32, reshuffle: Reshuffle, packet_bytes: u64) -> Work {
    Work {
        from: From::Cells,
        to: To::Network,
        reshuffle,
        block_bytes: KB,
        adu_bytes: 128 * KB,
        tu_bytes: 64 * KB,
        packet_bytes,
        links,
        adus: 4,
        load_bytes_per_s: None,
        protocol: Sent::Raw,
        reservation_bytes_per_s: None,
    }
}

#[test]
fn the_simulated_interface_reports_the_same_events() {
    for (links, reshuffle, packet_bytes) in [
        (1, Reshuffle::Streaming, 64 * KB),
        (4, Reshuffle::Streaming, 16 * KB),
        (2, Reshuffle::None, 64 * KB),
        (4, Reshuffle::None, 10_000),
        (4, Reshuffle::Fast, 32 * KB),
    ] {
        let (machine, work) = (machine(links), work(links, reshuffle, packet_bytes));
        let mut simulation = Simulation::with_events(&machine, &work).unwrap();
        simulation.run(u64::MAX, u64::MAX);
        let format: Format = simulation.format();
        let simulated = fates_of("simulated", simulation.events().to_vec());
        let end = &simulated[&StreamId(0)].end;
        assert_eq!(*end, Some(End::Done), "{}", simulation.standstill());
        assert_eq!(simulated[&StreamId(0)].done.len(), 4);
        on_all(|rig| {
            let connection = rig.open(Protocol::Stream, 256 * KB);
            let plan = Plan::new(connection, format.clone(), work.adus);
            let streams = rig.submit(std::slice::from_ref(&plan));
            rig.receive(&streams);
            rig.feed(0, 0..work.adus);
            ended(rig, Side::Sends, &streams);
            ended(rig, Side::Receives, &streams);
            whole(rig, 0, &plan);
            assert_eq!(fates(rig, Side::Sends), simulated, "{}", rig.name());
        });
    }
}
