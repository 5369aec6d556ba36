//! Layers of virtual channels that keep routes free of deadlock.

use isthmus_topology::deadlock;
use isthmus_topology::switches::{Change, Form, Layers, Shortest};

/// Return the shortest routes through a network of this form, with one node at each switch.
fn shortest_routes(form: &Form) -> Shortest {
    Shortest::new(form, &form.wiring(1)).expect("all switches are joined")
}

/// Return a torus of these sizes.
fn torus(sizes: &[u32]) -> Form {
    let sizes = sizes.to_vec();
    Form::Torus { sizes }
}

/// Return whether packets of a layer can wait for one another in a cycle. The function follows all routes, with a
/// separate number for each link in each layer.
fn has_cycle(ways: &Shortest, layers: &Layers, switches: u32) -> bool {
    let channel = |from: u32, to: u32, layer: u16| {
        ((u32::from(layer) * switches + from) * switches + to) as usize
    };
    let count = (u32::from(layers.count) * switches * switches) as usize;
    let mut waits = vec![Vec::new(); count];
    for (at, to) in (0..switches).flat_map(|at| (0..switches).map(move |to| (at, to))) {
        let Some(first) = ways.next(at, to) else {
            continue;
        };
        if let Some(second) = ways.next(first, to) {
            let held = channel(at, first, layers.of(at, to));
            waits[held].push(channel(first, second, layers.of(first, to)));
        }
    }
    deadlock::check(count, |held| waits[held].clone()).is_err()
}

/// Checks the results of Dally and Seitz: a ring needs two layers, a mesh with routes dimension by dimension needs
/// one.
#[test]
fn rings_need_two_layers_and_meshes_one() {
    let layers = |form: Form| shortest_routes(&form).layers(16);
    let ring = layers(Form::Ring { switches: 8 });
    assert_eq!(ring.count, 2);
    assert_eq!(ring.circle.len(), 8);
    // In a ring of three switches, no route is long enough to close a cycle, so one layer
    // suffices.
    assert_eq!(layers(Form::Ring { switches: 3 }).count, 1);
    let mesh = layers(Form::Mesh {
        sizes: vec![4, 4, 3],
    });
    assert_eq!((mesh.count, mesh.circle), (1, vec![]));
}

/// Checks that every torus of any dimension needs at most two virtual channels, and that no layer has a cycle.
#[test]
fn tori_need_two_layers() {
    let squares = (2..=12).map(|size| vec![size; 2]);
    let mut sizes: Vec<Vec<u32>> = squares.collect();
    sizes.extend((2..=20).map(|size| vec![size]));
    sizes.extend((2..=6).map(|size| vec![size; 3]));
    let others: [&[u32]; 6] = [
        &[5, 9],
        &[9, 2, 5],
        &[16, 3],
        &[4, 5, 6],
        &[5, 3, 4, 5],
        &[2, 5, 2, 5],
    ];
    sizes.extend(others.map(<[u32]>::to_vec));
    for sizes in sizes {
        let form = torus(&sizes);
        let ways = shortest_routes(&form);
        for channels in [1, 2, 3, 4, 16] {
            let layers = ways.layers(channels);
            let more = channels == 3 && layers.count == 3;
            assert!(layers.count <= 2 || more, "{form}: {}", layers.count);
            let circle = has_cycle(&ways, &layers, form.switch_count());
            assert!(!circle, "{form} with {channels} channels");
        }
    }
}

/// Checks that each route stays in one layer if this leaves as many channels per layer as datelines do. A torus of
/// 9 x 9 takes three layers if each route is in one layer. With three channels per link, each of three layers has
/// floor(3/3) = 1 channel and each of two layers has floor(3/2) = 1; with four channels the numbers are 1 and 2.
#[test]
fn routes_stay_in_one_layer_if_enough_channels_remain() {
    let wide = shortest_routes(&torus(&[9, 9]));
    let found = [2, 3, 4, 16].map(|channels| {
        let layers = wide.layers(channels);
        (layers.count, layers.change())
    });
    let dateline = (2, Some(Change::Dateline));
    assert_eq!(found, [dateline, (3, None), dateline, dateline]);
    // The routes of these tori have no cycle, or two layers suffice even if each route stays in
    // one layer.
    for (sizes, count) in [(&[4, 4, 4][..], 1), (&[3, 9], 2), (&[16], 2)] {
        let layers = shortest_routes(&torus(sizes)).layers(4);
        assert_eq!((layers.count, layers.change()), (count, None));
    }
}

/// Checks that packets change layers only if this reduces the number of layers. A ring of seven has routes of at
/// most three links, which pass its lowest switch once, so it needs two layers. Trees of random numbers need no
/// more layers, and each route stays in one layer.
#[test]
fn packets_change_layers_if_fewer_layers_suffice() {
    let ring = Form::of_cables((0..7).map(|at| (at, (at + 1) % 7)).collect());
    let layers = shortest_routes(&ring).layers(16);
    assert_eq!((layers.count, layers.change()), (2, None));
    // Each of 60 switches has three neighbours.
    let steps = (0..60).flat_map(|at| [1, 7, 22].map(|step| (at, (at + step) % 60)));
    let layers = shortest_routes(&Form::of_cables(steps.collect())).layers(16);
    assert_eq!(layers.change(), Some(Change::Turn));
    assert!(layers.count <= 4, "{layers:?}");
}
