//! The counted reading against latencies and saturation loads measured with flit-exact simulation
//! of the same machines (defaults of section 5: P_io = 0.05, P_r = 1, P_l = 0.2, k, m, r and n
//! wide). The tolerances are the model's own error; they may shrink, not grow.

use crate::paper;
use isthmus_analytic::hypercube_io::{HypercubeIo, Lanes, MessageClass, Reading};

const CYCLE_US: f64 = 0.05;

fn machine(dimension: u32, b: u32) -> HypercubeIo {
    let mut machine = paper::hypercube(b);
    if dimension != 7 {
        machine.dimension = dimension;
        machine.io_nodes = 1 << (dimension - 2);
        machine.serving = paper::perfect(dimension, 3);
        machine.lanes = Lanes::paper(dimension, b);
    }
    machine
}

/// dimension, b, mean gap in us, PE-PE header latency and whole read in us as simulated, and the
/// relative errors allowed.
const LATENCIES: [(u32, u32, f64, f64, f64, f64, f64); 18] = [
    (3, 0, 156.25, 6.79, 36.7, 0.20, 0.45),
    (3, 1, 156.25, 3.31, 50.9, 0.06, 0.06),
    (3, 1, 78.125, 7.47, 160.6, 0.09, 0.06),
    (3, 2, 156.25, 3.44, 8.58, 0.06, 0.06),
    (4, 1, 156.25, 3.42, 39.0, 0.06, 0.06),
    (4, 2, 78.125, 8.48, 19.84, 0.06, 0.06),
    (5, 1, 156.25, 3.60, 40.4, 0.06, 0.06),
    (5, 1, 78.125, 9.38, 115.8, 0.06, 0.06),
    (5, 3, 78.125, 9.51, 15.14, 0.06, 0.06),
    (6, 0, 156.25, 8.90, 26.3, 0.06, 0.15),
    (6, 1, 156.25, 3.77, 46.6, 0.06, 0.06),
    (6, 2, 78.125, 10.73, 20.26, 0.08, 0.06),
    (7, 0, 156.25, 10.93, 50.2, 0.06, 0.20),
    (7, 1, 156.25, 4.12, 120.2, 0.06, 0.08),
    (7, 2, 156.25, 4.17, 13.30, 0.06, 0.06),
    (7, 2, 78.125, 11.26, 45.73, 0.06, 0.08),
    (7, 3, 156.25, 4.18, 8.43, 0.06, 0.06),
    (7, 3, 78.125, 11.24, 22.65, 0.06, 0.10),
];

#[test]
fn latencies_are_within_a_few_percent() {
    for (dimension, b, gap_us, pe_pe, read, of_pe_pe, of_read) in LATENCIES {
        let solved = machine(dimension, b)
            .solve(CYCLE_US / gap_us, &Reading::counted())
            .unwrap();
        let error = |cycles: f64, measured: f64| cycles * CYCLE_US / measured - 1.0;
        let pe_pe = error(solved.latency(MessageClass::PePe).router, pe_pe);
        let read = error(solved.read_generation(), read);
        assert!(
            pe_pe.abs() <= of_pe_pe && read.abs() <= of_read,
            "{dimension}-cube, b = {b}, {gap_us} us: PE-PE {pe_pe:+.3}, read {read:+.3}"
        );
    }
}

#[test]
fn saturation_is_found_a_little_early() {
    // Stable and growing loads per ms as simulated; the model may be up to 12% below.
    for (b, stable, growing) in [(0, 18.9, 19.6), (1, 11.5, 11.9), (2, 23.3, 23.8)] {
        let found = machine(7, b).saturation(&Reading::counted()).unwrap();
        let per_ms = found.per_ms(1e3 / CYCLE_US);
        assert!(
            per_ms > 0.88 * stable && per_ms < growing,
            "b = {b}: {per_ms}"
        );
    }
}

#[test]
fn the_orders_that_the_paper_reports() {
    let read = |b, gap_us: f64, change: &dyn Fn(&mut HypercubeIo)| {
        let mut machine = paper::hypercube(b);
        change(&mut machine);
        let solved = machine
            .solve(CYCLE_US / gap_us, &Reading::counted())
            .unwrap();
        (
            solved.latency(MessageClass::PePe).router,
            solved.read_generation(),
        )
    };
    let same = |_: &mut HypercubeIo| {};
    // Section 5.1: b = 0 beats b = 1, b = 2 is far better.
    assert!(read(0, 156.0, &same).1 < read(1, 156.0, &same).1);
    assert!(3.0 * read(2, 156.0, &same).1 < read(0, 156.0, &same).1);
    // Section 5.2: with locality the control cube's PE-PE latency falls, b = 3 hardly moves, and
    // all are equal at locality 1.
    let local = |locality| move |machine: &mut HypercubeIo| machine.traffic.locality = locality;
    let (none, all) = (local(0.0), local(1.0));
    assert!(read(0, 156.0, &none).0 > 2.5 * read(0, 156.0, &all).0);
    assert!(read(3, 156.0, &none).1 < 1.2 * read(3, 156.0, &all).1);
    let equal = read(0, 156.0, &all).1;
    for b in 1..=4 {
        assert!((read(b, 156.0, &all).1 / equal - 1.0).abs() < 1e-9);
    }
    // Section 5.4: PE-PE latency is lowest with data on both A and D.
    let ratio = |read_ratio| {
        move |machine: &mut HypercubeIo| {
            machine.traffic.read_ratio = read_ratio;
            machine.traffic.locality = 0.4;
        }
    };
    let mixed = read(2, 78.0, &ratio(0.5)).0;
    assert!(mixed < read(2, 78.0, &ratio(0.0)).0 && mixed < read(2, 78.0, &ratio(1.0)).0);
}
