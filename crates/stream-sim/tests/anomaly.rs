//! The paper's anomaly (section 6.3): reshuffling that is faster makes the whole slower, where
//! links are shared evenly, and does not where bandwidth is reserved for what goes to the
//! interface.

use crate::common::*;
use isthmus_stream_sim::spec::*;

const BLOCKS: [u64; 6] = [128, 256, 512, 1_024, 2_048, 4_096];

fn rate(reshuffle: Reshuffle, block: u64, reserved: Option<u64>) -> f64 {
    let work = Work {
        reshuffle,
        block_bytes: block,
        adus: 64,
        reservation_bytes_per_s: reserved,
        ..work()
    };
    run(&machine(), &work).mb_per_s
}

#[test]
fn even_sharing_has_it_and_a_reservation_has_not() {
    for block in BLOCKS {
        let best = rate(Reshuffle::Streaming, block, None);
        let (slow, fast) = (
            rate(Reshuffle::Slow, block, None),
            rate(Reshuffle::Fast, block, None),
        );
        assert!(
            fast < slow && slow < best,
            "{block}: {fast}, {slow}, {best}"
        );
        let reserved = Some(20 * MB);
        let (slow_reserved, fast_reserved) = (
            rate(Reshuffle::Slow, block, reserved),
            rate(Reshuffle::Fast, block, reserved),
        );
        assert!(
            fast_reserved > slow_reserved,
            "{block}: {fast_reserved}, {slow_reserved}"
        );
        // Slow reshuffling takes half of a link at most, and leaves the other half anyway.
        assert!(
            (slow_reserved / slow - 1.0).abs() < 1e-6,
            "{block}: {slow_reserved}, {slow}"
        );
    }
}

/// A fluid model by hand of what one link and one SU see. Two cells send s bytes each over a link
/// of rate c to the interface, one of them over a link that r messages of the reshuffle take
/// meanwhile. With even sharing it gets c / (r + 1) of that, and c / 2 if that is less than what is
/// left for it; the SU is there when the slower of both is. Below r = 2 nothing is lost; with c / 2
/// reserved nothing ever is.
#[test]
fn its_direction_follows_from_even_shares() {
    let su_time = |sharing: f64| {
        let (s, c) = (8_192.0, 40.0);
        let disturbed = f64::min(c / 2.0, sharing);
        // The other cell takes what is left, and ends first; the disturbed one goes on at its
        // share.
        f64::max(2.0 * s / c, s / disturbed)
    };
    let (even, half) = (|messages: f64| 40.0 / (messages + 1.0), 20.0);
    assert_eq!(su_time(even(1.0)), su_time(half));
    for messages in [2.0, 3.0, 4.0] {
        assert!(su_time(even(messages)) > su_time(half) * 1.2);
    }
    // Processors that copy at `copy` and pass d + 1 messages each leave d of them at most copy d /
    // (d + 1) of a link: the transfer keeps its half if copy is no more than the other half.
    for d in [1.0, 2.0, 3.0, 4.0] {
        assert!(40.0 - 20.0 * d / (d + 1.0) >= 20.0);
    }
    // The engine agrees: with processors twice as fast slow reshuffling disturbs as well.
    let mut quick = machine();
    quick.cell.copy_bytes_per_s = 40 * MB;
    let work = Work {
        reshuffle: Reshuffle::Slow,
        adus: 64,
        ..work()
    };
    assert!(run(&quick, &work).mb_per_s < run(&machine(), &work).mb_per_s);
}

/// Data that meet the reshuffle nowhere are not disturbed: along their own row they go before it
/// begins again.
#[test]
fn it_needs_links_in_common() {
    let rows_first = Machine {
        routing: Routing::RowFirst,
        ..machine()
    };
    let with = |reshuffle| Work {
        reshuffle,
        adus: 64,
        ..work()
    };
    let slow = run(&rows_first, &with(Reshuffle::Slow)).mb_per_s;
    let fast = run(&rows_first, &with(Reshuffle::Fast)).mb_per_s;
    assert!(fast > slow, "{fast}, {slow}");
}

/// Blocks of the I/O distribution need no reshuffling: all four ways are one.
#[test]
fn whole_blocks_are_alike() {
    let all = [
        Reshuffle::Streaming,
        Reshuffle::None,
        Reshuffle::Slow,
        Reshuffle::Fast,
    ];
    let rates = all.map(|reshuffle| rate(reshuffle, 8_192, None));
    assert!(rates.iter().all(|rate| *rate == rates[0]), "{rates:?}");
}
