//! The model away from the paper's test case: any dimension, lanes, placement and traffic.

use crate::paper;
use isthmus_analytic::hypercube_io::{
    Blocking, ChannelKind, ChannelUse, ClassOneWait, HypercubeIo, Interface, Lanes, ManyLanes,
    MessageClass, PathLength, Reading, Serving, Solution, Uniform, Variation,
};
use isthmus_analytic::moments::Moments;
use proptest::prelude::*;

/// A cube whose I/O nodes serve their neighbours in the lowest 2^m - 1 dimensions.
fn cube(dimension: u32, m: u32, b: u32) -> HypercubeIo {
    HypercubeIo {
        dimension,
        io_nodes: 1 << (dimension - m),
        serving: paper::perfect(dimension, (1 << m) - 1),
        lanes: Lanes::paper(dimension, b),
        traffic: paper::TRAFFIC,
    }
}

/// I/O nodes at PEs 0 to count - 1; PE p is served by p mod count (count a power of two).
fn clustered(dimension: u32, count: u32, b: u32) -> HypercubeIo {
    let own: Vec<u32> = (0..1u32 << dimension).map(|pe| pe % count).collect();
    HypercubeIo {
        dimension,
        io_nodes: count,
        serving: Serving::from_table(dimension, &own).unwrap(),
        lanes: Lanes::paper(dimension, b),
        traffic: paper::TRAFFIC,
    }
}

/// The channels of one kind.
fn of_kind(solved: &Solution, kind: ChannelKind) -> impl Iterator<Item = &ChannelUse> {
    solved
        .channels
        .iter()
        .filter(move |used| used.channel.kind == kind)
}

/// Mean distance of messages of which `counts[h]` cross h dimensions.
fn mean_distance(counts: &[f64]) -> f64 {
    let sum: f64 = (0u32..)
        .zip(counts)
        .map(|(h, count)| f64::from(h) * count)
        .sum();
    sum / counts.iter().sum::<f64>()
}

/// The same for uniform traffic between different nodes of a cube.
fn mean_of_cube(dimension: u32) -> f64 {
    let nodes = f64::from(dimension).exp2();
    f64::from(dimension) * nodes / (2.0 * (nodes - 1.0))
}

fn readings() -> [Reading; 5] {
    [
        Reading::literal(),
        Reading::table_2_one_lane(),
        Reading::table_2_two_lanes(),
        Reading::control_bound(),
        Reading::counted(),
    ]
}

#[test]
fn without_contention_the_latency_is_the_number_of_channels() {
    for (dimension, m) in [(3, 2), (5, 2), (7, 3), (15, 4)] {
        for b in [0, 1, 2] {
            let machine = cube(dimension, m, b);
            let solved = machine.solve(1e-15, &Reading::counted()).unwrap();
            let own = mean_distance(&[1.0, f64::from((1u32 << m) - 1)]);
            let between = mean_of_cube(dimension - m);
            // Two channels at the ends; a remote reply leaves the I/O network by a third.
            let mut expected = vec![
                (MessageClass::PePe, 2.0 + mean_of_cube(dimension)),
                (MessageClass::Request, 2.0 + own),
                (MessageClass::Write, 2.0 + own),
                (MessageClass::ReplyLocal, 2.0 + own),
            ];
            if b > 0 {
                expected.push((MessageClass::Forward, 2.0 + between));
                expected.push((MessageClass::ReplyRemote, 3.0 + between + own));
            }
            for (class, channels) in expected {
                let latency = solved.latency(class);
                assert!((latency.channels - channels).abs() < 1e-9, "{class:?}");
                assert!((latency.generation - channels).abs() < 1e-3, "{class:?}");
                assert!((latency.router - (channels - 1.0)).abs() < 1e-3);
            }
        }
    }
}

#[test]
fn the_control_cubes_paths_are_counted() {
    // Over all pairs of a code word and a PE that another one serves, and of two code words.
    let nodes = [
        0u32, 7, 25, 30, 42, 45, 51, 52, 75, 76, 82, 85, 97, 102, 120, 127,
    ];
    let (mut replies, mut forwards) = (vec![0.0; 8], vec![0.0; 8]);
    for from in nodes {
        for to in (0..128u32).filter(|pe| (pe ^ from).count_ones() > 1) {
            replies[(from ^ to).count_ones() as usize] += 1.0;
        }
        for to in nodes.into_iter().filter(|node| *node != from) {
            forwards[(from ^ to).count_ones() as usize] += 1.0;
        }
    }
    let solved = paper::hypercube(0)
        .solve(1e-15, &Reading::counted())
        .unwrap();
    for (class, counts) in [
        (MessageClass::ReplyRemote, replies),
        (MessageClass::Forward, forwards),
    ] {
        let expected = 2.0 + mean_distance(&counts);
        assert!((solved.latency(class).channels - expected).abs() < 1e-9);
    }
}

#[test]
fn flits_are_carried_where_they_must_pass() {
    // Flits per cycle over all channels of a kind, from the traffic alone.
    let machine = paper::hypercube(2);
    let rate = 1e-4;
    let solved = machine.solve(rate, &Reading::counted()).unwrap();
    let flits = |kind, channels: f64| -> f64 {
        of_kind(&solved, kind)
            .map(|used| used.rate * used.base_service * channels)
            .sum()
    };
    let per_pe = |flits: f64| 128.0 * rate * flits;
    let (message, request, reply) = (0.95 * 32.0, 0.05 * 32.0, 0.05 * 4096.0);
    let close = |measured: f64, expected: f64| assert!((measured / expected - 1.0).abs() < 1e-9);
    close(
        flits(ChannelKind::PeInject, 128.0),
        per_pe(message + request),
    );
    close(flits(ChannelKind::PeEject, 128.0), per_pe(message + reply));
    close(flits(ChannelKind::ToIoNode, 16.0), per_pe(request));
    close(flits(ChannelKind::FromIoNode, 16.0), per_pe(0.2 * reply));
    close(flits(ChannelKind::IoToPe, 16.0), per_pe(0.8 * reply));
    close(
        flits(ChannelKind::IoInject, 16.0),
        per_pe(0.8 * (request + reply)),
    );
    close(flits(ChannelKind::IoEject, 16.0), per_pe(0.8 * request));
    let distance = 4.0 * 8.0 / 15.0;
    close(
        flits(ChannelKind::IoLink, 16.0),
        per_pe(0.8 * (request + reply) * distance),
    );
    let links = flits(ChannelKind::LinkFromClassOne, 16.0)
        + flits(ChannelKind::LinkToClassOne, 16.0)
        + flits(ChannelKind::Link, 96.0);
    let expected = message * 7.0 * 64.0 / 127.0 + 7.0 / 8.0 * (request + reply);
    close(links, per_pe(expected));
}

#[test]
fn writes_go_through_a_as_reads_come_through_d() {
    let mut machine = paper::hypercube(2);
    machine.traffic.read_ratio = 0.0;
    let solved = machine.solve(1e-4, &Reading::literal()).unwrap();
    for used in of_kind(&solved, ChannelKind::LinkToClassOne) {
        // (1 - P_io) / 2 messages of 32 flits and P_io writes of 4128 flits.
        assert!((used.rate / 1e-4 - 0.525).abs() < 1e-12);
        let expected = (0.475 * 32.0 + 0.05 * 4128.0) / 0.525;
        assert!((used.base_service - expected).abs() < 1e-9);
    }
    for used in of_kind(&solved, ChannelKind::LinkFromClassOne) {
        assert_eq!(used.base_service, 32.0);
    }
    assert_eq!(of_kind(&solved, ChannelKind::IoLink).count(), 0);
}

#[test]
fn a_narrow_way_back_saturates_everything_at_78_us() {
    // Section 5.5 and Fig. 13: n = 1 saturates at t_a = 78 us and below; n = 3 suffices.
    let rate = 0.05 / 78.0;
    for b in [1, 2, 3, 4] {
        let mut machine = paper::hypercube(b);
        machine.lanes.io_to_pe = 1;
        let narrow = machine.saturation(&Reading::counted()).unwrap();
        // With b = 4 the model is 4% late: simulation saturates between t_a = 90 and 78 us.
        let late = if b == 4 { 1.05 } else { 1.0 };
        assert!(narrow.rate < late * rate);
        if b > 1 {
            machine.lanes.io_to_pe = 3;
            assert!(machine.saturation(&Reading::counted()).unwrap().rate > rate);
        }
    }
}

#[test]
fn the_largest_cube_is_solved() {
    let machine = cube(20, 4, 2);
    assert_eq!(machine.io_nodes, 65_536);
    let found = machine.saturation(&Reading::counted()).unwrap();
    let below = machine
        .solve(0.9 * found.rate, &Reading::counted())
        .unwrap();
    assert!(below.read_generation().is_finite());
    assert_eq!(below.saturated, None);
    let above = machine
        .solve(1.1 * found.rate, &Reading::counted())
        .unwrap();
    assert!(above.saturated.is_some());
}

#[test]
fn impossible_machines_are_refused() {
    let refused = |change: &dyn Fn(&mut HypercubeIo)| {
        let mut machine = paper::hypercube(2);
        change(&mut machine);
        let error = machine.solve(1e-4, &Reading::literal()).unwrap_err();
        error.to_string()
    };
    let cases = [
        (
            refused(&|machine| machine.dimension = 21),
            "dimension is 21; it must be 1 to 20",
        ),
        (
            refused(&|machine| machine.lanes.link = 0),
            "lanes.link is 0; it must be 1 or more",
        ),
        (
            refused(&|machine| machine.traffic.locality = 1.2),
            "traffic.locality is 1.2; it must be a probability, 0 to 1",
        ),
        (
            refused(&|machine| machine.serving.last.truncate(3)),
            "serving.last has 3 entries; 7 are needed, one per dimension",
        ),
        (
            refused(&|machine| machine.traffic.message = Moments::ZERO),
            "traffic.message is 0; it must be 1 flit or more",
        ),
        (
            refused(&|machine| machine.io_nodes = 1),
            "with one I/O node every block is local: traffic.locality must be 1",
        ),
    ];
    for (message, expected) in cases {
        assert_eq!(message, expected);
    }
    let machine = paper::hypercube(1);
    assert!(machine.solve(f64::NAN, &Reading::literal()).is_err());
}

fn any_reading() -> impl Strategy<Value = Reading> {
    let uniform = || {
        prop::sample::select(vec![
            Uniform::Half,
            Uniform::HalfMoving,
            Uniform::OtherNodes,
            Uniform::Counted,
        ])
    };
    let variation = || {
        prop::sample::select(vec![
            Variation::One,
            Variation::Base,
            Variation::Falling,
            Variation::ByClass,
            Variation::WithWaits,
        ])
    };
    let wait = prop::sample::select(vec![
        ClassOneWait::Omitted,
        ClassOneWait::Half,
        ClassOneWait::Full,
        ClassOneWait::ByPath,
    ]);
    let flags = (
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    );
    (uniform(), uniform(), wait, variation(), variation(), flags).prop_map(
        |(io_rate, pe_rate, class_one_wait, io_variation, pe_variation, flags)| Reading {
            io_rate,
            pe_rate,
            class_one_wait,
            pe_blocking: flags.0,
            interface: if flags.1 {
                Interface::Queued
            } else {
                Interface::NoWait
            },
            io_variation,
            pe_variation,
            many_lanes: if flags.2 {
                ManyLanes::General
            } else {
                ManyLanes::Exponential
            },
            blocking: if flags.3 {
                Blocking::OtherInputs
            } else {
                Blocking::AllInputs
            },
            path_length: if flags.4 {
                PathLength::Exact
            } else {
                PathLength::Printed
            },
        },
    )
}

fn any_machine() -> impl Strategy<Value = HypercubeIo> {
    let shape = (1u32..10, 0u32..4, 0u32..4, any::<bool>());
    let shares = (0.0f64..=1.0, 0.0f64..=1.0, 0.0f64..=1.0);
    (shape, shares, 1u32..4, 1u32..9).prop_map(
        |((dimension, m, b, spread), (io_probability, read_ratio, locality), link, narrow)| {
            let m = (0..=m)
                .rev()
                .find(|m| (1 << m) - 1 <= dimension)
                .unwrap_or(0);
            let mut machine = if spread {
                cube(dimension, m, b)
            } else {
                clustered(dimension, 1 << (dimension - m.min(dimension)), b)
            };
            machine.lanes.link = link;
            machine.lanes.io_node = narrow;
            machine.traffic.io_probability = io_probability;
            machine.traffic.read_ratio = read_ratio;
            machine.traffic.locality = if machine.io_nodes == 1 { 1.0 } else { locality };
            machine.traffic.reply = Moments::uniform_count(1, 32, 4096.0).unwrap();
            machine
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_answer_is_a_number_that_grows_with_the_load(
        machine in any_machine(), reading in any_reading(), share in 0.01f64..0.9,
    ) {
        let bound = machine.saturation_bound(&reading).unwrap();
        let found = machine.saturation(&reading).unwrap();
        prop_assert!(found.rate > 0.0 && found.rate <= bound.rate * (1.0 + 1e-9));
        let low = machine.solve(found.rate * share, &reading).unwrap();
        let high = machine.solve(found.rate * (share + 0.09), &reading).unwrap();
        prop_assert!(low.saturated.is_none() && high.saturated.is_none());
        for (before, after) in low.latencies.iter().zip(&high.latencies) {
            prop_assert!(before.router.is_finite() && after.router.is_finite());
            prop_assert!(before.router >= 0.0 && before.source_wait >= 0.0);
            prop_assert!(before.generation >= before.channels * (1.0 - 1e-12));
        }
        for used in low.channels.iter().chain(&high.channels) {
            prop_assert!(used.utilisation < 1.0 && used.utilisation >= used.carried - 1e-12);
            prop_assert!(used.scv >= 0.0 && used.wait.is_finite());
        }
        prop_assert!(!low.read_generation().is_nan());
        let just_above = machine.solve(found.rate * (1.0 + 1e-6), &reading).unwrap();
        prop_assert!(just_above.saturated.is_some());
        let above = machine.solve(bound.rate * 1.01, &reading).unwrap();
        prop_assert!(above.saturated.is_some());
        for latency in &above.latencies {
            prop_assert!(!latency.generation.is_nan());
        }
    }
}

#[test]
fn clustered_io_nodes_are_further_away() {
    for reading in readings() {
        let near = cube(6, 2, 2).solve(1e-5, &reading).unwrap();
        let far = clustered(6, 16, 2).solve(1e-5, &reading).unwrap();
        // Half of the two highest bits differ: mean distance 1 against 3/4.
        let gain = |class| far.latency(class).channels - near.latency(class).channels;
        assert!((gain(MessageClass::Request) - 0.25).abs() < 1e-12);
        assert!((gain(MessageClass::ReplyLocal) - 0.25).abs() < 1e-12);
    }
}

/// The model's limit is the kind of lane whose doubling lifts the load most, never a lane that is
/// only held by what waits behind it.
#[test]
fn the_channel_named_is_the_one_to_widen() {
    let reading = Reading::counted();
    let named = |change: &dyn Fn(&mut HypercubeIo)| {
        let mut machine = paper::hypercube(1);
        change(&mut machine);
        let limit = machine.limit(&reading).unwrap();
        assert_eq!(limit.rate, machine.saturation(&reading).unwrap().rate);
        limit.channel.kind
    };
    // Section 5.1: b = 1 holds the machine back. Section 5.5: so does n = 1 where b = 3.
    assert_eq!(named(&|_| ()), ChannelKind::IoLink);
    let narrow_back = named(&|machine| {
        machine.lanes = Lanes::paper(7, 3);
        machine.lanes.io_to_pe = 1;
    });
    assert_eq!(narrow_back, ChannelKind::IoToPe);
    // Messages alone: nothing but links, or the one lane between PE and router, can be full.
    let messages = |pe| {
        move |machine: &mut HypercubeIo| {
            machine.traffic.io_probability = 0.0;
            machine.lanes.pe = pe;
            machine.lanes.link = if pe == 1 { 8 } else { 1 };
        }
    };
    let link = named(&messages(9));
    assert!(matches!(
        link,
        ChannelKind::Link | ChannelKind::LinkFromClassOne | ChannelKind::LinkToClassOne
    ));
    let lane = named(&messages(1));
    assert!(matches!(lane, ChannelKind::PeInject | ChannelKind::PeEject));
}
