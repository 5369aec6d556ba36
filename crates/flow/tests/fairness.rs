//! Max-min fairness, checked directly: each transfer that could have more is limited by its bound,
//! or by a link that is full to less than a step for each of the transfers with the highest share.

use crate::reference::fill;
use isthmus_flow::{Delivered, Engine, Handler, Moving, Rate, Transfer};
use isthmus_kernel::{Engine as _, RunUntil, Streams, Uniform};

/// The limits of one transfer, in steps.
pub struct Bounds {
    pub rate_max: Option<u64>,
    pub reserved: u64,
}

fn steps<T>(moving: &Moving<'_, T>) -> u64 {
    moving.rate.map_or(0, Rate::steps)
}

/// Checks all moving transfers; `bounds` by tag. Returns the number of transfers limited by links.
pub fn assert_fair(engine: &Engine<usize>, bounds: impl Fn(usize) -> Bounds) -> u64 {
    let moving = engine.moving();
    let share = |moving: &Moving<'_, usize>| steps(moving) - bounds(moving.tag).reserved;
    let full_for = |link: usize, of: u64| {
        let on: Vec<u64> = moving
            .iter()
            .filter(|moving| moving.path.contains(&(link as u32)))
            .map(share)
            .collect();
        let used = moving
            .iter()
            .filter(|moving| moving.path.contains(&(link as u32)));
        let used: u64 = used.map(steps).sum();
        let capacity = engine.capacities()[link].steps();
        assert!(used <= capacity, "link {link} carries {used} of {capacity}");
        let most = on.iter().filter(|&&share| share == of).count() as u64;
        on.iter().all(|&share| share <= of) && capacity - used < most
    };
    for link in 0..engine.capacities().len() {
        full_for(link, 0);
    }
    let mut held_back = 0;
    for one in &moving {
        let Bounds { rate_max, reserved } = bounds(one.tag);
        assert!(
            steps(one) >= reserved,
            "transfer {} has less than is its own",
            one.tag
        );
        if rate_max == Some(steps(one)) {
            continue;
        }
        assert!(rate_max.is_none_or(|rate_max| steps(one) < rate_max));
        let held = one
            .path
            .iter()
            .any(|&link| full_for(link as usize, share(one)));
        assert!(
            held,
            "nothing holds back transfer {} at {}",
            one.tag,
            steps(one)
        );
        held_back += 1;
    }
    held_back
}

/// A handler without transfers that end.
struct Nobody;

impl Handler for Nobody {
    type Tag = usize;

    fn delivered(&mut self, _: &mut Engine<usize>, _: &Delivered<usize>) {}
}

/// A torus of 4 x 4 x 4 with 16 transfers from each node, in which each begin and each end affects
/// many others. It is larger than the cases of the property tests.
#[test]
fn shares_of_a_loaded_torus_are_fair_after_every_change() {
    let side = 4u32;
    let nodes = side.pow(3);
    let link = |node: u32, dimension: u32, up: bool| 6 * node + 2 * dimension + u32::from(up);
    let mut engine = Engine::new(vec![Rate::new(1, 1).unwrap(); 6 * nodes as usize]).unwrap();
    let mut stream = Streams::new(7, 0).stream("flows", 0);
    let node = Uniform::below(nodes);
    let size = Uniform::below(60_000);
    for number in 0..(16 * nodes) as usize {
        let (from, to) = (number as u32 % nodes, node.draw(&mut stream));
        let mut path = Vec::new();
        let mut at = from;
        for dimension in 0..3 {
            let stride = side.pow(dimension);
            let digit = |node: u32| node / stride % side;
            let ahead = (digit(to) + side - digit(at)) % side;
            let up = ahead <= side / 2;
            for _ in 0..(if up { ahead } else { side - ahead }) {
                path.push(link(at, dimension, up));
                let next = (digit(at) + if up { 1 } else { side - 1 }) % side;
                at = at - digit(at) * stride + next * stride;
            }
        }
        assert_eq!(at, to);
        let transfer = Transfer {
            bytes: 1_000 + u64::from(size.draw(&mut stream)),
            path: &path,
            latency: 0,
            rate_max: path.is_empty().then(|| Rate::new(1, 1).unwrap()),
            reserved: None,
            tag: number,
        };
        engine.offer(u64::from(size.draw(&mut stream)), transfer);
    }
    let bounds = |_| Bounds {
        rate_max: Some(1 << 24),
        reserved: 0,
    };
    let (mut looks, mut held_back, mut refilled) = (0, 0, 0);
    while engine
        .run_until(engine.now() + 5_000, &mut Nobody)
        .goes_on()
    {
        held_back += assert_fair(&engine, bounds);
        if looks % 16 == 0 {
            let moving = engine.moving();
            let bound = |path: &[u32]| path.is_empty().then_some(1 << 24);
            let sharers = moving.iter().map(|one| (one.path, bound(one.path), 0));
            let rates = fill(
                &vec![1 << 24; 6 * nodes as usize],
                &sharers.collect::<Vec<_>>(),
            );
            let actual = moving.iter().map(|one| Some(steps(one).into()));
            assert_eq!(rates, actual.collect::<Vec<Option<u128>>>());
            refilled += rates.len();
        }
        looks += 1;
    }
    assert_eq!(engine.under_way(), 0);
    println!("{looks} looks, {held_back} transfers held back by links, {refilled} refilled");
    assert!(refilled > 1_000, "{refilled} rates computed again");
    assert!(
        looks > 20 && held_back > 5_000,
        "{looks} looks, {held_back} held back"
    );
}
