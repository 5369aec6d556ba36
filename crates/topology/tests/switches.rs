//! Ways through random networks of switches, against a search that knows nothing of them.

use isthmus_topology::deadlock;
use isthmus_topology::switches::{Form, Shortest, UpDown};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Connected: a tree of random parents, and more cables.
fn networks() -> impl Strategy<Value = Form> {
    (2u32..24).prop_flat_map(|switches| {
        let parents: Vec<_> = (1..switches).map(|switch| 0..switch).collect();
        let more = prop::collection::vec((0..switches, 0..switches), 0..30);
        (parents, more).prop_map(|(parents, more)| {
            let tree = parents.into_iter().zip(1..);
            let more = more.into_iter().filter(|(a, b)| a != b);
            Form::of_cables(tree.chain(more).collect())
        })
    })
}

/// Links of the shortest way, by widening the set of switches that are reached.
fn distance(form: &Form, from: u32, to: u32) -> usize {
    let mut reached = BTreeSet::from([from]);
    (0..)
        .find(|_| {
            if reached.contains(&to) {
                return true;
            }
            let beside = form
                .cables()
                .into_iter()
                .flat_map(|(a, b)| [(a, b), (b, a)]);
            let new: Vec<u32> = beside
                .filter(|(a, _)| reached.contains(a))
                .map(|(_, b)| b)
                .collect();
            reached.extend(new);
            false
        })
        .unwrap()
}

/// Waits of ways as pairs of links: of the link held the one that is wanted.
fn no_circle(switches: u32, ways: impl Iterator<Item = Vec<u32>>) -> bool {
    let link = |from: u32, to: u32| (from * switches + to) as usize;
    let mut waits = vec![BTreeSet::new(); (switches * switches) as usize];
    for way in ways {
        for three in way.windows(3) {
            waits[link(three[0], three[1])].insert(link(three[1], three[2]));
        }
    }
    deadlock::check(waits.len(), |held| waits[held].iter().copied()).is_ok()
}

proptest! {
    #[test]
    fn ways_are_shortest_and_no_layer_closes_a_circle(form in networks()) {
        let switches = form.switch_count();
        let ways = Shortest::new(&form, &form.wiring(1)).unwrap();
        let way = |from: u32, to: u32| -> Vec<u32> {
            std::iter::successors(Some(from), |&at| ways.next(at, to)).collect()
        };
        for from in 0..switches {
            for to in 0..switches {
                prop_assert_eq!(way(from, to).len() - 1, distance(&form, from, to));
            }
        }
        let layers = ways.layers();
        for layer in 0..layers.count {
            let of_layer = (0..switches).filter(|&to| layers.of[to as usize] == layer);
            let all = of_layer.flat_map(|to| (0..switches).map(move |from| (from, to)));
            prop_assert!(no_circle(switches, all.map(|(from, to)| way(from, to))));
        }
        prop_assert_eq!(layers.circle.is_empty(), layers.count == 1);
    }

    #[test]
    fn ways_up_and_down_arrive_and_close_no_circle(form in networks()) {
        let switches = form.switch_count();
        let ways = UpDown::new(&form, &form.wiring(1)).unwrap();
        let mut all = Vec::new();
        for from in 0..switches {
            for to in 0..switches {
                let (mut way, mut down) = (vec![from], false);
                while let Some((next, is_down)) = ways.next(down, way[way.len() - 1], to) {
                    way.push(next);
                    down = is_down;
                    prop_assert!(way.len() as u32 - 1 <= ways.longest());
                }
                prop_assert_eq!(way.last(), Some(&to));
                prop_assert!(way.len() > distance(&form, from, to));
                all.push(way);
            }
        }
        prop_assert!(no_circle(switches, all.into_iter()));
    }
}
