//! Ways through random networks of switches, against a search that knows nothing of them.

use isthmus_topology::Graph;
use isthmus_topology::deadlock;
use isthmus_topology::switches::{Form, Nodes, Shortest, UpDown};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

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

/// A way as the links of it, each with a layer.
type Way = Vec<(u32, u32, u16)>;

/// Whether packets on these ways can never wait for one another in a circle.
fn no_circle<'w>(ways: impl IntoIterator<Item = &'w Way>) -> bool {
    let mut numbers = BTreeMap::new();
    let mut waits = BTreeSet::new();
    for way in ways {
        for two in way.windows(2) {
            let [held, wanted] = [two[0], two[1]].map(|link| {
                let next = numbers.len();
                *numbers.entry(link).or_insert(next)
            });
            waits.insert((held, wanted));
        }
    }
    let after = |held: usize| waits.range((held, 0)..(held + 1, 0));
    deadlock::check(numbers.len(), |held| after(held).map(|&(_, wanted)| wanted)).is_ok()
}

/// Of switches their places by distance from the one with most neighbours, as the ways up and down have them.
fn places(form: &Form) -> Vec<usize> {
    let switches = form.switch_count();
    let beside = |at: u32| -> BTreeSet<u32> {
        let cables = form.cables().into_iter();
        let both = cables.flat_map(|(a, b)| [(a, b), (b, a)]);
        both.filter(|&(a, _)| a == at).map(|(_, b)| b).collect()
    };
    let most = (0..switches).map(|at| beside(at).len()).max().unwrap();
    let mut order: Vec<u32> = (0..switches)
        .filter(|&at| beside(at).len() == most)
        .collect();
    order.truncate(1);
    let mut done = 0;
    while done < order.len() {
        let new: Vec<u32> = beside(order[done])
            .into_iter()
            .filter(|at| !order.contains(at))
            .collect();
        order.extend(new);
        done += 1;
    }
    (0..switches)
        .map(|at| order.iter().position(|&other| other == at).unwrap())
        .collect()
}

/// The rule word by word: how many layers there are, and that of each link of all ways, by the last switch. All
/// ways to a switch join the first layer in which no circle closes; or they change to the next lower one at each
/// switch that is lower in the tree than those before and behind it, if that takes fewer.
fn plain(form: &Form, to_each: &[Vec<Way>]) -> (u16, bool) {
    let mut joined: Vec<Vec<&Way>> = Vec::new();
    for ways in to_each {
        let fits = joined
            .iter()
            .position(|others| no_circle(others.iter().copied().chain(ways)));
        if fits.is_none() {
            joined.push(Vec::new());
        }
        let layer = fits.unwrap_or(joined.len() - 1);
        joined[layer].extend(ways);
    }
    let places = places(form);
    let turns = |way: &Way| {
        let turns = way.windows(2).filter(|two| {
            let [a, b, c] = [two[0].0, two[0].1, two[1].1].map(|at| places[at as usize]);
            a < b && c < b
        });
        turns.count() as u16
    };
    let changes = 1 + to_each.iter().flatten().map(turns).max().unwrap_or(0);
    let whole = joined.len() as u16;
    (whole.min(changes), changes < whole)
}

proptest! {
    #[test]
    fn ways_are_shortest_and_no_layer_closes_a_circle(
        form in networks(),
        nodes in prop::collection::vec(any::<prop::sample::Index>(), 1..40),
        everywhere in any::<bool>(),
    ) {
        let switches = form.switch_count();
        let nodes = match everywhere {
            true => Nodes::Each(1),
            false => Nodes::At(nodes.iter().map(|node| node.index(switches as usize) as u32).collect()),
        };
        let ends: BTreeSet<u32> = match &nodes {
            Nodes::Each(_) => (0..switches).collect(),
            Nodes::At(at) => at.iter().copied().collect(),
        };
        let ways = Shortest::new(&form, &form.wiring(nodes)).unwrap();
        let layers = ways.layers(16);
        let mut to_each = Vec::new();
        for to in 0..switches {
            let mut all = Vec::new();
            for from in 0..switches {
                let mut at = from;
                let mut way = Vec::new();
                while let Some(next) = ways.next(at, to) {
                    way.push((at, next, layers.of(at, to)));
                    at = next;
                }
                prop_assert_eq!(way.len(), distance(&form, from, to));
                if ends.contains(&from) {
                    all.push(way);
                }
            }
            if ends.contains(&to) {
                to_each.push(all);
            }
        }
        prop_assert!(no_circle(to_each.iter().flatten()));
        let used: BTreeSet<u16> = to_each.iter().flatten().flatten().map(|&(_, _, layer)| layer).collect();
        prop_assert!(used.into_iter().eq(0..layers.count) || layers.count == 1);
        // The rule knows no layers but its own.
        for (_, _, layer) in to_each.iter_mut().flatten().flatten() {
            *layer = 0;
        }
        prop_assert_eq!((layers.count, layers.change().is_some()), plain(&form, &to_each));
        prop_assert_eq!(layers.circle.is_empty(), no_circle(to_each.iter().flatten()));
        let around = layers.circle.iter().zip(layers.circle.iter().cycle().skip(1));
        for (&a, &b) in around {
            prop_assert!(distance(&form, a, b) == 1);
        }
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
                }
                prop_assert_eq!(way.last(), Some(&to));
                prop_assert!(way.len() > distance(&form, from, to));
                all.push(way.windows(2).map(|two| (two[0], two[1], 0)).collect());
            }
        }
        prop_assert!(no_circle(&all));
        for (hops, &pairs) in ways.hops().iter().enumerate() {
            prop_assert_eq!(all.iter().filter(|way| way.len() == hops).count() as u64, pairs);
        }
        prop_assert_eq!(ways.hops().iter().sum::<u64>(), u64::from(switches).pow(2));
    }
}

/// Parts keep the order of their nodes and of their edges.
#[test]
fn a_graph_is_taken_apart() {
    let graph = Graph::from_edge_list("a b\nd e\nc a\nb a\nf\n").unwrap();
    let parts = Form::of_parts(&graph);
    let found: Vec<_> = parts
        .iter()
        .map(|part| (part.name(0), part.cables()))
        .collect();
    let expected = [
        ("a", vec![(0, 1), (2, 0), (1, 0)]),
        ("d", vec![(0, 1)]),
        ("f", vec![]),
    ];
    assert_eq!(
        found,
        expected.map(|(name, cables)| (name.to_owned(), cables))
    );
}

/// A ring of 200 with three more cables from each to anywhere: a layer takes few whole trees, and packets that
/// change layers need as many as their ways, of five links at most, turn upwards, twice, and one more.
#[test]
fn random_graphs_need_few_layers() {
    let anywhere = |at: u32, seed: u32| (at + seed).wrapping_mul(2_654_435_761) >> 8;
    let cables = (0..200).flat_map(|at| {
        let far = [1000, 2000, 3000].map(|seed| (at, anywhere(at, seed) % 200));
        far.into_iter().chain([(at, (at + 1) % 200)])
    });
    let form = Form::of_cables(cables.filter(|(a, b)| a != b).collect());
    let ways = Shortest::new(&form, &form.wiring(1)).unwrap();
    let layers = ways.layers(16);
    assert!(
        layers.change().is_some() && layers.count <= 3,
        "{}",
        layers.count
    );
    let pairs = (0..200).flat_map(|from| (0..200).map(move |to| (from, to)));
    let way = |(from, to)| {
        let mut at = from;
        let mut way = Way::new();
        while let Some(next) = ways.next(at, to) {
            way.push((at, next, layers.of(at, to)));
            at = next;
        }
        way
    };
    let all: Vec<Way> = pairs.map(way).collect();
    assert!(no_circle(&all));
}
