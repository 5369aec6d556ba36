//! What two combs share, against sets of indices.

use isthmus_redistribute::{At, Comb, Family, shared, shared_size};
use proptest::prelude::*;

/// What the coordinate `at` of `over` holds, index by index.
fn held(extent: u64, block: u64, over: u64, at: u64) -> Vec<u64> {
    (0..extent)
        .filter(|index| index / block % over == at)
        .collect()
}

/// The place in memory of an index, if the comb holds it.
pub(crate) fn place(comb: &Comb, index: u64) -> Option<u64> {
    let (start, len, stride, count, last) = comb.runs();
    let offset = index.checked_sub(start)?;
    let (run, within) = (offset / stride, offset % stride);
    let held = if run + 1 == count { last } else { len };
    (run < count && within < held).then(|| run * len + within)
}

/// The start of each run of a family.
pub(crate) fn starts(family: &Family) -> impl Iterator<Item = At> + use<> {
    let Family {
        first,
        inner,
        outer,
        ..
    } = *family;
    let add = |at: At, by: At, times: u64| At {
        index: at.index + by.index * times,
        from: at.from + by.from * times,
        to: at.to + by.to * times,
    };
    (0..outer.count).flat_map(move |o| {
        let group = add(first, outer.by, o);
        (0..inner.count).map(move |i| add(group, inner.by, i))
    })
}

/// Extent, and of each side block, coordinates, coordinate.
type Case = (u64, [(u64, u64, u64); 2]);

fn side(most: u64) -> impl Strategy<Value = (u64, u64, u64)> {
    (1..most, 1_u64..40).prop_flat_map(|(block, over)| (Just(block), Just(over), 0..over))
}

fn cases() -> impl Strategy<Value = Case> {
    (
        1_u64..4000,
        prop_oneof![side(4), side(60), side(2000)],
        prop_oneof![side(4), side(60), side(2000)],
    )
        .prop_map(|(extent, from, to)| (extent, [from, to]))
}

#[test]
fn combs_hold_what_the_rule_says() {
    for (extent, block, over) in [
        (1, 1, 1),
        (100, 7, 3),
        (100, 100, 4),
        (99, 33, 3),
        (5, 1, 9),
    ] {
        for at in 0..over {
            let comb = Comb::cyclic(extent, block, over, at);
            let naive = held(extent, block, over, at);
            assert_eq!(comb.size(), naive.len() as u64);
            for index in 0..extent {
                let wanted = naive.iter().position(|&other| other == index);
                assert_eq!(place(&comb, index), wanted.map(|place| place as u64));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn shared_indices_are_those_of_both(case in cases()) {
        let (extent, [from, to]) = case;
        let combs = [from, to].map(|(block, over, at)| Comb::cyclic(extent, block, over, at));
        let naive = [from, to].map(|(block, over, at)| held(extent, block, over, at));
        let mut found = Vec::new();
        for family in shared(&combs[0], &combs[1]) {
            for at in starts(&family) {
                for offset in 0..family.len {
                    found.push((at.index + offset, at.from + offset, at.to + offset));
                }
            }
        }
        found.sort_unstable();
        let place = |of: &[u64], index: u64| of.binary_search(&index).ok().map(|place| place as u64);
        let expected: Vec<(u64, u64, u64)> = (0..extent)
            .filter_map(|index| Some((index, place(&naive[0], index)?, place(&naive[1], index)?)))
            .collect();
        prop_assert_eq!(&found, &expected);
        prop_assert_eq!(shared_size(&combs[0], &combs[1]), expected.len() as u64);
    }
}

/// Blocks without common divisors, whose pattern repeats long after the end of the array: how many families there
/// are is bounded by the blocks, not by the extent.
#[test]
fn families_do_not_grow_with_the_extent() {
    let of = |extent: u64, block: u64, over: u64, at: u64| Comb::cyclic(extent, block, over, at);
    let extent = 1_000_000_000_000;
    let (from, to) = (of(extent, 1009, 100, 3), of(extent, 1013, 101, 7));
    let families = shared(&from, &to);
    // One for each distance that two overlapping runs may have, and the cut ends of both.
    assert!(families.len() <= 1009 + 1013 + 4, "{}", families.len());
    let size: u64 = families.iter().map(Family::size).sum();
    let share = size as f64 / extent as f64;
    assert!(
        (share * 100.0 * 101.0 - 1.0).abs() < 1e-3,
        "a hundredth of a hundred-and-first: {share}"
    );
    // Two doubles here and there to one block of each of 10,000.
    for at in [0, 1, 5000, 9999] {
        let families = shared(
            &of(extent, 2, 10_000, 77),
            &of(extent, extent / 10_000, 10_000, at),
        );
        assert!(families.len() <= 3, "{families:?}");
        assert_eq!(families.iter().map(Family::size).sum::<u64>(), 10_000);
    }
}
