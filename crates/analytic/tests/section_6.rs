//! Section 6 of the hypercube paper: every printed number, and which reading gives it.

use crate::paper;
use isthmus_analytic::hypercube_io::{
    ChannelKind, ChannelUse, ClassOneWait, MessageClass, Reading, Solution, Uniform, Variation,
};
use isthmus_analytic::queue::mg1_wait;

/// Cycles of 0.05 us in a millisecond.
const CYCLES_PER_MS: f64 = 20_000.0;

fn saturation(b: u32, reading: &Reading) -> (f64, ChannelKind, Option<u32>) {
    let found = paper::hypercube(b).saturation(reading).unwrap();
    (
        found.per_ms(CYCLES_PER_MS),
        found.channel.kind,
        found.channel.dimension,
    )
}

/// The channels of one kind.
fn of_kind(solved: &Solution, kind: ChannelKind) -> impl Iterator<Item = &ChannelUse> {
    solved
        .channels
        .iter()
        .filter(move |used| used.channel.kind == kind)
}

fn assert_near(measured: f64, expected: f64, tolerance: f64) {
    assert!(
        (measured - expected).abs() <= tolerance,
        "{measured} is not within {tolerance} of {expected}"
    );
}

#[test]
fn rates_and_service_times_of_the_test_case() {
    let rate = 6.0 / CYCLES_PER_MS;
    let solved = paper::hypercube(1)
        .solve(rate, &Reading::literal())
        .unwrap();
    for io in of_kind(&solved, ChannelKind::IoLink) {
        // lambda_PE P_io P_r (1 - P_l) (N_PE / N_IO) 2 / 2 = 0.05 * 0.8 * 8.
        assert_near(io.rate / rate, 0.32, 1e-12);
        assert_near(io.base_service, 2064.0, 1e-9);
        assert_near(io.base_scv, 0.969, 5e-4);
    }
    assert_eq!(of_kind(&solved, ChannelKind::LinkFromClassOne).count(), 7);
    for class_one in of_kind(&solved, ChannelKind::LinkFromClassOne) {
        // (1 - P_io) / 2 + P_io P_r = 0.525.
        assert_near(class_one.rate / rate, 0.525, 1e-12);
        assert_near(class_one.base_service, 419.05, 0.005);
        assert_near(class_one.base_scv, 8.104, 5e-4);
        // Blocking behind D is neglected.
        assert_near(class_one.service, class_one.base_service, 1e-9);
    }
}

#[test]
fn the_literal_reading_saturates_at_10_28_and_29_4() {
    let (one, kind, dimension) = saturation(1, &Reading::literal());
    assert_near(one, 10.28, 0.005);
    assert_eq!((kind, dimension), (ChannelKind::IoLink, Some(3)));
    let (two, kind, dimension) = saturation(2, &Reading::literal());
    assert_near(two, 29.41, 0.005);
    assert_eq!((kind, dimension), (ChannelKind::IoLink, Some(3)));
    // C^2 = 0.969 where the paper rounds it to 1.
    let exact = Reading {
        io_variation: Variation::Base,
        ..Reading::literal()
    };
    assert_near(saturation(1, &exact).0, 10.35, 0.005);
}

#[test]
fn table_2_comes_out_under_one_reading_for_each_line() {
    assert_near(saturation(1, &Reading::table_2_one_lane()).0, 11.28, 0.005);
    assert_near(saturation(2, &Reading::table_2_two_lanes()).0, 23.71, 0.005);
    // Neither gives the other line.
    assert_near(saturation(2, &Reading::table_2_one_lane()).0, 26.38, 0.01);
    assert_near(saturation(1, &Reading::table_2_two_lanes()).0, 9.22, 0.01);
    // The rate factor 15/16 gives both lines with different weights of the wait for D.
    let full = Reading {
        class_one_wait: ClassOneWait::Full,
        ..Reading::table_2_one_lane()
    };
    assert_near(saturation(2, &full).0, 23.67, 0.005);
    assert_near(saturation(1, &full).0, 10.83, 0.01);
}

/// lambda_sat of the most used channel as printed at the end of section 6, with `factor` for the
/// 1/2 of the inter-I/O terms.
fn control_bound_as_printed(factor: f64) -> f64 {
    let (pes, io_nodes, p_io, p_r, p_l) = (128.0, 16.0, 0.05, 1.0, 0.2);
    let inter_io: f64 = pes / io_nodes * p_io * p_r * (1.0 - p_l);
    let work = (0.5 * (1.0 - p_io) + factor * inter_io) * 32.0
        + (factor * inter_io + p_io * p_r * p_l) * 4096.0;
    CYCLES_PER_MS / work
}

#[test]
fn the_control_cubes_bound() {
    let bound = |reading: &Reading| {
        let found = paper::hypercube(0).saturation_bound(reading).unwrap();
        let channel = found.channel;
        assert_eq!(channel.kind, ChannelKind::LinkFromClassOne);
        assert_eq!(channel.dimension, Some(6));
        found.per_ms(CYCLES_PER_MS)
    };
    let literal = bound(&Reading::literal());
    assert_near(literal, control_bound_as_printed(0.5), 1e-9);
    assert_near(literal, 27.9, 0.05);
    let corrected = bound(&Reading::control_bound());
    assert_near(corrected, control_bound_as_printed(8.0 / 15.0), 1e-9);
    assert_near(corrected, 26.29, 0.005);
    // With 15/16 for 1/2 the bound moves the other way.
    let moving = Reading {
        io_rate: Uniform::HalfMoving,
        ..Reading::literal()
    };
    assert!(bound(&moving) > literal);
}

/// M/M/2: W = rho^2 x / (1 - rho^2).
fn mm2_wait(rate: f64, service_mean: f64) -> f64 {
    let rho = rate * service_mean / 2.0;
    rho * rho * service_mean / (1.0 - rho * rho)
}

/// The recursion of the module's description, written out.
fn reply_latency_as_printed(rate: f64, b: u32) -> f64 {
    let (lambda_io, lambda_d) = (0.32 * rate, 0.525 * rate);
    let x_d = (32.0 * 0.475 + 4096.0 * 0.05) / 0.525;
    let second = (32.0f64.powi(2) * 0.475 + 4096.0f64.powi(2) * 0.05) / 0.525;
    let wait_d = mg1_wait(lambda_d, x_d, second / (x_d * x_d) - 1.0).unwrap();
    let mut waits = Vec::new();
    for _ in 0..4 {
        let adjusted = 2064.0 + 0.5 * waits.iter().sum::<f64>();
        waits.push(if b == 1 {
            mg1_wait(lambda_io, adjusted, 1.0).unwrap()
        } else {
            mm2_wait(lambda_io, adjusted)
        });
    }
    let io: f64 = waits.iter().map(|wait| 0.5 * (wait + 1.0)).sum();
    let (class_one, local) = (1.0 / 8.0, 0.2);
    local * (class_one * 2.0 + (1.0 - class_one) * (3.0 + wait_d))
        + (1.0 - local) * (class_one * (3.0 + io) + (1.0 - class_one) * (3.0 + io + wait_d + 1.0))
}

#[test]
fn the_four_kinds_of_reply_add_up_to_the_printed_latency() {
    for (b, per_ms) in [
        (1, 0.8),
        (1, 6.4),
        (1, 10.0),
        (2, 6.4),
        (2, 12.8),
        (2, 25.0),
    ] {
        let rate = per_ms / CYCLES_PER_MS;
        let solved = paper::hypercube(b)
            .solve(rate, &Reading::literal())
            .unwrap();
        let printed = reply_latency_as_printed(rate, b);
        assert_near(solved.reply_generation() / printed, 1.0, 1e-9);
    }
}

#[test]
fn beyond_saturation_the_io_classes_wait_forever_and_pe_pe_does_not() {
    let solved = paper::hypercube(1)
        .solve(12.0 / CYCLES_PER_MS, &Reading::literal())
        .unwrap();
    assert_eq!(solved.latency(MessageClass::Forward).router, f64::INFINITY);
    assert_eq!(solved.read_generation(), f64::INFINITY);
    assert!(solved.latency(MessageClass::PePe).router.is_finite());
    assert!(solved.latency(MessageClass::ReplyLocal).router.is_finite());
    let saturated = solved.saturated.unwrap();
    assert_eq!(saturated.to_string(), "I/O link, dimension 3");
}
