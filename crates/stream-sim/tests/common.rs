//! The machine of the paper, and its work, to be changed by each test.

use isthmus_stream_sim::spec::{
    Cell, From, Interface, Machine, Protocol, Reshuffle, Routing, To, Work,
};
use isthmus_stream_sim::{Figures, Simulation};

pub const KIB: u64 = 1 << 10;
pub const MB: u64 = 1_000_000;

/// 8 x 8 cells.
pub fn machine() -> Machine {
    Machine {
        rows: 8,
        columns: 8,
        link_bytes_per_s: 40 * MB,
        links: 4,
        routing: Routing::ColumnFirst,
        cell: Cell {
            cycle_ns: 50,
            word_bytes: 4,
            copy_bytes_per_s: 20 * MB,
            message_ns: 2_500,
        },
        interface: Interface {
            processors: 2,
            bus_bytes_per_s: 160 * MB,
            crossings: 1,
            staging_bytes: 128 * KIB,
            memory_bytes: 2_048 * KIB,
            engines: 6,
            message_ns: 2_500,
            place_ns: 2_500,
            store_bytes_per_s: 160 * MB,
            packet_ns: 78_000,
            udp_ns: 95_000,
            packets_per_s: 3_000,
            network_bytes_per_s: 100 * MB,
        },
    }
}

/// Half a megabyte, eight times.
pub fn work() -> Work {
    Work {
        from: From::Cells,
        to: To::Interface,
        reshuffle: Reshuffle::Fast,
        block_bytes: 512,
        adu_bytes: 512 * KIB,
        tu_bytes: 64 * KIB,
        packet_bytes: 64 * KIB,
        links: 4,
        adus: 8,
        load_bytes_per_s: None,
        protocol: Protocol::Raw,
        reservation_bytes_per_s: None,
    }
}

/// What a run comes to.
pub fn run(machine: &Machine, work: &Work) -> Figures {
    let mut simulation = Simulation::new(machine, work).unwrap_or_else(|e| panic!("{e}"));
    simulation.run(work.adus, u64::MAX);
    assert_eq!(simulation.adus(), work.adus, "{}", simulation.standstill());
    simulation.figures().expect("an ADU is through")
}
