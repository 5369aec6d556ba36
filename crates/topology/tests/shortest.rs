//! Networks of switches, and their shortest and up*/down* routes.

use isthmus_topology::switches::{Apart, Form, Shortest, UpDown};

/// Checks the mean distance: n/4 in a ring of n switches for even n, pairs of a switch and itself included; in a
/// torus the sum over its dimensions.
#[test]
fn routes_have_the_mean_length_of_rings() {
    let form = Form::Torus { sizes: vec![6, 4] };
    let ways = Shortest::new(&form, &form.wiring(1)).unwrap();
    let mut links = 0;
    for to in 0..24 {
        for from in 0..24 {
            let mut at = from;
            while let Some(next) = ways.next(at, to) {
                (at, links) = (next, links + 1);
            }
        }
    }
    assert_eq!(links, 24 * 24 * (6 + 4) / 4);
}

/// Checks that routes on a grid are as long as those that a search finds, and that [`Form::choice`] selects the
/// next switch among those that are nearer to the destination.
#[test]
fn routes_of_grids_equal_those_of_a_search() {
    for sizes in [
        vec![2],
        vec![7],
        vec![4, 2],
        vec![5, 4, 3],
        vec![3, 6],
        vec![2, 2, 2, 3],
    ] {
        let torus = Form::Torus {
            sizes: sizes.clone(),
        };
        for form in [torus, Form::Mesh { sizes }] {
            let ways = Shortest::new(&form, &form.wiring(1)).unwrap();
            let cables = Form::of_cables(form.cables());
            let found = Shortest::new(&cables, &cables.wiring(1)).unwrap();
            let links = |ways: &Shortest, from: u32, to: u32| {
                std::iter::successors(Some(from), |&at| ways.next(at, to)).count()
            };
            let (wiring, switches) = (form.wiring(1), form.switch_count());
            for (at, to) in (0..switches).flat_map(|at| (0..switches).map(move |to| (at, to))) {
                assert_eq!(links(&ways, at, to), links(&found, at, to), "{form}");
                if at != to {
                    let links_out = wiring.out_of(switches + at);
                    let targets = links_out.map(|link| wiring.target(link));
                    let mut nearer: Vec<u32> = targets
                        .filter_map(|target| target.checked_sub(switches))
                        .collect();
                    nearer.dedup();
                    nearer.retain(|&n| links(&found, n, to) < links(&found, at, to));
                    let chosen = nearer[form.choice(at, to, &nearer)];
                    assert_eq!(ways.next(at, to), Some(chosen), "{form}: {at} to {to}");
                }
            }
        }
    }
}

/// Checks that a network with two unconnected parts is refused.
#[test]
fn disconnected_parts_are_refused() {
    let form = Form::of_cables(vec![(0, 1), (2, 3)]);
    let apart = Shortest::new(&form, &form.wiring(1)).unwrap_err();
    assert_eq!(apart, Apart { from: 2, to: 0 });
    assert_eq!(apart.to_string(), "no way leads from switch 2 to switch 0");
}

/// Checks that rings, tori, meshes and lists of cables have the right number of cables and the right description.
#[test]
fn grids_have_their_cables() {
    let cables = |form: Form| form.cables().len();
    assert_eq!(cables(Form::Ring { switches: 8 }), 8);
    assert_eq!(cables(Form::Ring { switches: 2 }), 1);
    assert_eq!(cables(Form::Torus { sizes: vec![4, 4] }), 32);
    // Along a dimension with two switches there is one cable, not two.
    assert_eq!(cables(Form::Torus { sizes: vec![4, 2] }), 12);
    assert_eq!(
        cables(Form::Mesh {
            sizes: vec![4, 3, 2]
        }),
        18 + 16 + 12
    );
    let listed = Form::of_cables(vec![(0, 3), (3, 1)]);
    assert_eq!(
        (listed.switch_count(), listed.to_string()),
        (4, "4 switches with 2 cables".to_owned())
    );
    assert_eq!(Form::Torus { sizes: vec![4, 2] }.to_string(), "4 x 2 torus");
    let two = Form::of_cables(vec![(0, 1)]);
    assert_eq!(two.to_string(), "2 switches with 1 cable");
}

/// Checks that no route leads up after it has led down. In a ring of six with the root 0, no packet crosses the
/// link opposite to the root upwards after a hop down. Switch 3 is the lowest, and a route from 2 to 4 leads over 0
/// unless the route down to 3 is shorter.
#[test]
fn no_route_goes_up_after_down() {
    for form in [
        Form::Ring { switches: 6 },
        Form::Torus { sizes: vec![4, 3] },
        Form::of_cables(vec![(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 0), (4, 5)]),
    ] {
        let ways = UpDown::new(&form, &form.wiring(1)).unwrap();
        let switches = form.switch_count();
        for to in 0..switches {
            for from in 0..switches {
                let (mut at, mut gone_down, mut links) = (from, false, 0_usize);
                while let Some((next, down)) = ways.next(gone_down, at, to) {
                    assert!(down || !gone_down, "{form}: {from} to {to} at {at}");
                    (at, gone_down, links) = (next, down, links + 1);
                    assert!(links < ways.hops().len());
                }
                assert_eq!(at, to, "{form}: from {from}");
            }
        }
    }
    let ring = Form::Ring { switches: 6 };
    let ways = UpDown::new(&ring, &ring.wiring(1)).unwrap();
    // A route from 2 to 4 may not lead over switch 3, the last in the order of ranks: the hop from there to 4 would
    // lead up.
    assert_eq!(ways.next(false, 2, 4), Some((1, false)));
}
