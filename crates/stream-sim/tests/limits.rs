//! What cannot be is refused, with the field behind it.

use crate::common::*;
use isthmus_stream_sim::Simulation;
use isthmus_stream_sim::spec::*;

fn field(machine: &Machine, work: &Work) -> &'static str {
    let error = Simulation::new(machine, work).expect_err("it cannot be");
    assert!(
        !error.problem.contains('\n') && !error.hint.is_empty(),
        "{error}"
    );
    error.field
}

#[test]
fn machines_that_cannot_be() {
    let change = |change: fn(&mut Machine)| {
        let mut machine = machine();
        change(&mut machine);
        field(&machine, &work())
    };
    assert_eq!(change(|m| m.rows = 0), "machine.rows");
    assert_eq!(change(|m| m.rows = 1_000), "machine.rows");
    assert_eq!(change(|m| m.links = 3), "machine.links");
    assert_eq!(
        change(|m| m.interface.engines = 0),
        "machine.interface.engines"
    );
    assert_eq!(change(|m| m.link_bytes_per_s = 0), "machine.bandwidth");
    assert_eq!(change(|m| m.cell.copy_bytes_per_s = 0), "machine.cell.copy");
    assert_eq!(
        change(|m| m.interface.bus_bytes_per_s = 0),
        "machine.interface.bus"
    );
    assert_eq!(change(|m| m.interface.engines = 2), "workload.stripes");
    assert_eq!(
        change(|m| m.interface.staging_bytes = 64 * KIB),
        "workload.tu"
    );
    assert_eq!(
        change(|m| m.interface.memory_bytes = 32 * KIB),
        "workload.tu"
    );
}

#[test]
fn work_that_cannot_be() {
    let change = |change: fn(&mut Work)| {
        let mut work = work();
        change(&mut work);
        field(&machine(), &work)
    };
    assert_eq!(change(|w| w.tu_bytes = 65_530), "workload.tu");
    assert_eq!(change(|w| w.tu_bytes = 128 * KIB), "workload.tu");
    assert_eq!(change(|w| w.adu_bytes = 100_000), "workload.adu");
    assert_eq!(change(|w| w.block_bytes = 3_000), "workload.block");
    assert_eq!(change(|w| w.block_bytes = 16 * KIB), "workload.block");
    assert_eq!(change(|w| w.packet_bytes = 65 * KIB), "workload.packet");
    assert_eq!(change(|w| w.links = 3), "workload.stripes");
    assert_eq!(change(|w| w.links = 8), "workload.stripes");
    assert_eq!(change(|w| w.adus = 0), "workload.adus");
    assert_eq!(change(|w| w.adus = u64::MAX), "workload.adus");
    assert_eq!(change(|w| w.from = From::Interface), "workload.sink");
    assert_eq!(
        change(|w| w.reservation_bytes_per_s = Some(21 * MB)),
        "workload.reservation"
    );
    // 131,072 pieces of a TU, which links carry one by one.
    let fine = |machine: &mut Machine, w: &mut Work| {
        machine.interface.staging_bytes = 16 << 20;
        machine.interface.memory_bytes = 16 << 20;
        (w.tu_bytes, w.adu_bytes, w.packet_bytes) = (8 << 20, 8 << 20, 64 * KIB);
        (w.reshuffle, w.block_bytes) = (Reshuffle::None, 32);
        (w.adus, w.to) = (1, To::Network);
    };
    let (mut large, mut pieces) = (machine(), work());
    fine(&mut large, &mut pieces);
    assert_eq!(field(&large, &pieces), "workload.block");
    let stays = |w: &mut Work| (w.to, w.reshuffle) = (To::Cells, Reshuffle::None);
    assert_eq!(change(stays), "workload.reshuffle");
    let large = |w: &mut Work| (w.to, w.block_bytes) = (To::Cells, 8 * KIB);
    assert_eq!(change(large), "workload.block");
    let made = |w: &mut Work| {
        (w.from, w.to, w.load_bytes_per_s) = (From::Interface, To::Network, Some(MB));
    };
    assert_eq!(change(made), "workload.load");
}
