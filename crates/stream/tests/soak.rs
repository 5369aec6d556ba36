//! The seeded simulator, in its short form; `examples/soak.rs` runs it for millions of steps.

use crate::world::Counts;
use crate::world::episode::play;

/// The counts are asserted, so that each event did happen.
#[test]
fn random_episodes_keep_order_bytes_and_bounds() {
    let mut all = Counts::default();
    for seed in 1..=400 {
        all.add(&play(seed));
    }
    println!("{all:#?}");
    let least = [
        (all.done, 1000),
        (all.failed, 100),
        (all.cancelled, 50),
        (all.discarded, 50),
        (all.adus, 3000),
        (all.adus_void, 10),
        (all.lost, 500),
        (all.doubled, 300),
        (all.late, 500),
        (all.corrupted_reported, 100),
        (all.cuts, 200),
        (all.ranks_lost, 50),
        (all.connections_lost, 20),
        (all.retransmissions, 500),
        (all.predicted, 500),
        (all.swaps, 300),
        (all.lock_steps, 300),
        (all.afters, 50),
        (all.finished_late, 100),
        (all.stored_early, 300),
    ];
    for (place, (count, wanted)) in least.into_iter().enumerate() {
        assert!(
            count >= wanted,
            "count {place} is {count}, at least {wanted} were expected"
        );
    }
}
