//! Cases that a line of arithmetic gives.

use crate::common::*;
use isthmus_stream_sim::Simulation;
use isthmus_stream_sim::spec::*;

/// As if nothing took time but the links.
fn bare(columns: u32, links: u32) -> Machine {
    let machine = machine();
    Machine {
        columns,
        links,
        cell: Cell {
            message_ns: 0,
            ..machine.cell
        },
        interface: Interface {
            message_ns: 0,
            store_bytes_per_s: 1_000_000 * MB,
            ..machine.interface
        },
        ..machine
    }
}

fn close(measured: f64, expected: f64, share: f64) {
    assert!(
        (measured / expected - 1.0).abs() < share,
        "{measured}, not {expected}"
    );
}

/// One flow over one link, and as many as there are: their rates. Rounding costs a tick for each
/// SU.
#[test]
fn links_add_up() {
    for links in [1, 2, 4, 8] {
        let work = Work {
            reshuffle: Reshuffle::Streaming,
            links,
            tu_bytes: 64 * KIB,
            ..work()
        };
        let interface = Interface {
            engines: 8,
            ..bare(links, links).interface
        };
        let wide = Machine {
            interface,
            ..bare(links, links)
        };
        let expected = 40.0 * f64::from(links);
        close(run(&wide, &work).mb_per_s, expected.min(320.0), 1e-3);
    }
}

/// Eight cells share four links, two, one: the links limit, not the cells.
#[test]
fn cells_share_links() {
    for links in [1, 2, 4] {
        let work = Work {
            reshuffle: Reshuffle::Streaming,
            links,
            ..work()
        };
        close(
            run(&bare(8, 4), &work).mb_per_s,
            40.0 * f64::from(links),
            1e-3,
        );
    }
}

/// Four links of 40 MB/s, and a bus that data cross twice: 160 / 2 MB/s for one processor, 320 / 2
/// for two.
#[test]
fn the_bus_is_crossed_as_often_as_it_is() {
    for (processors, crossings, expected) in
        [(1, 1, 160.0), (1, 2, 80.0), (2, 2, 160.0), (2, 4, 80.0)]
    {
        let mut machine = bare(8, 4);
        (machine.interface.processors, machine.interface.crossings) = (processors, crossings);
        let work = Work {
            reshuffle: Reshuffle::Streaming,
            ..work()
        };
        close(run(&machine, &work).mb_per_s, expected, 1e-3);
    }
}

/// A message of m bytes over one link, one after another: set up, started, moved; and all of the last
/// one stored.
#[test]
fn messages_cost_what_they_cost() {
    let machine = Machine {
        columns: 1,
        links: 1,
        ..machine()
    };
    for tu in [16, 256, 4_096, 65_536] {
        let work = Work {
            reshuffle: Reshuffle::Streaming,
            links: 1,
            tu_bytes: tu,
            packet_bytes: tu,
            adu_bytes: 8 * tu,
            adus: 4,
            ..work()
        };
        let each = 2_500.0 + 2_500.0 + tu as f64 * 25.0;
        let expected = 32.0 * each + tu as f64 / 0.16;
        let figures = run(&machine, &work);
        // A transfer ends in the first tick by which all has moved: two ticks each, with the
        // rounding of its rate.
        let late = figures.elapsed_ns as f64 - expected;
        assert!((0.0..=65.0).contains(&late), "{late}");
        // Cycles of 50 ns, words of 4 bytes.
        close(
            figures.cycles_per_word,
            expected / 50.0 / (8.0 * tu as f64),
            3e-4,
        );
    }
}

/// Packets pass microcode, then the line, each with one at a time: the slower of both is the pace.
/// The first passes the faster one alone.
#[test]
fn packets_go_at_the_pace_of_the_slower_stage() {
    for packet in [1, 4, 16, 32, 64] {
        let bytes = packet * KIB;
        let work = Work {
            from: From::Interface,
            to: To::Network,
            packet_bytes: bytes,
            ..work()
        };
        let machine = Machine {
            interface: Interface {
                packet_ns: 0,
                store_bytes_per_s: 1_000_000 * MB,
                ..machine().interface
            },
            ..machine()
        };
        let (microcode, line) = (1e9 / 3_000.0, bytes as f64 * 10.0);
        let packets = (work.adus * work.adu_bytes / bytes) as f64;
        let elapsed = packets * f64::max(microcode, line) + f64::min(microcode, line);
        let figures = run(&machine, &work);
        close(figures.elapsed_ns as f64, elapsed, 1e-4);
        close(figures.packets_per_s, packets / elapsed * 1e9, 1e-4);
    }
}

/// The processor of the interface is taken for so long by each packet, and idle else, while
/// microcode limits; once it takes longer than that, it is never idle.
#[test]
fn the_processor_is_idle_between_packets() {
    let udp = Work {
        from: From::Interface,
        to: To::Network,
        packet_bytes: 8 * KIB,
        protocol: Protocol::Udp,
        adus: 32,
        ..work()
    };
    let raw = Work {
        protocol: Protocol::Raw,
        ..udp.clone()
    };
    for (work, per_packet) in [(&raw, 78_000.0), (&udp, 173_000.0)] {
        let figures = run(&machine(), work);
        let idle = 1.0 - per_packet * 3_000.0 / 1e9;
        assert!(
            (figures.idle - idle).abs() < 0.005,
            "{}, not {idle}",
            figures.idle
        );
        close(figures.per_packet_ns, per_packet, 1e-9);
    }
    let mut slow = machine();
    slow.interface.udp_ns = 400_000;
    let figures = run(&slow, &udp);
    assert!(figures.idle < 0.01, "{}", figures.idle);
    close(figures.packets_per_s, 1e9 / 478_000.0, 0.01);
}

/// Data that come slower than they could go: ADUs at equal gaps, the last one through as soon as
/// any.
#[test]
fn loads_below_what_is_possible_are_carried() {
    let work = Work {
        load_bytes_per_s: Some(30 * MB),
        adus: 20,
        ..work()
    };
    let figures = run(&machine(), &work);
    let gap = work.gap_ns().expect("there is a load") as f64;
    let last = figures.elapsed_ns as f64 - 19.0 * gap;
    assert!(last > 0.0 && last < gap, "{last} of {gap}");
    let alone = Work { adus: 1, ..work };
    assert_eq!(run(&machine(), &alone).elapsed_ns as f64, last);
}

/// The same run gives the same numbers, at once and in pieces.
#[test]
fn runs_in_pieces_are_the_run() {
    let work = work();
    let whole = run(&machine(), &work);
    let mut pieces = Simulation::new(&machine(), &work).expect("it can be");
    for adu in 1..=work.adus {
        while pieces.adus() < adu {
            let next = pieces.now() + 12_345;
            assert!(pieces.run(adu, next), "{}", pieces.standstill());
        }
    }
    assert_eq!(pieces.figures(), Some(whole));
}
