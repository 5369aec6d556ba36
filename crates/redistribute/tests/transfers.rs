//! Random pairs of layouts: every element in its place, by threads and by messages, as going through all elements
//! says.

use crate::oracle::{Held, Spec, element_bytes, held, shapes, specs};
use isthmus_redistribute::transfer::{Array, ArrayMut, Order, Packing, Source, redistribute};
use isthmus_redistribute::{Layout, Message, Plan, Section, piece, piece_size};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell;
use std::sync::Arc;

#[derive(Clone, Debug)]
struct Case {
    shape: Vec<u64>,
    from: Spec,
    to: Spec,
    element: usize,
    columns: [bool; 2],
    ghosts: [u64; 2],
    threads: usize,
    /// Most elements of a piece of a message.
    most: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    // Arrays of the largest are filled in several tiles.
    let element = prop_oneof![
        3 => Just(8), 3 => Just(1), 3 => Just(4), 3 => 1..40_usize, 1 => 8_000..12_000_usize
    ];
    let ghosts = || prop_oneof![2 => Just(0_u64), 1 => 1..3_u64];
    let pair = shapes().prop_flat_map(|shape| (specs(&shape), specs(&shape), Just(shape)));
    let memory = (
        element,
        any::<[bool; 2]>(),
        [ghosts(), ghosts()],
        1..4_usize,
        1..60_u64,
    );
    (pair, memory).prop_map(
        |((from, to, shape), (element, columns, ghosts, threads, most))| Case {
            shape,
            from,
            to,
            element,
            columns,
            ghosts,
            threads,
            most,
        },
    )
}

/// By rank and part what is in memory.
fn all(case: &Case, spec: &Spec, side: usize) -> Vec<Vec<Held>> {
    let ranks = spec.parts().into_iter().enumerate();
    ranks
        .map(|(rank, parts)| {
            let parts = 0..parts;
            let one = |part| {
                held(
                    spec,
                    &case.shape,
                    (rank, part),
                    case.element,
                    case.columns[side],
                    case.ghosts[side],
                )
            };
            parts.map(one).collect()
        })
        .collect()
}

fn arrays(ranks: &[Vec<Held>]) -> Vec<Vec<Array<'_>>> {
    let array = |held| {
        let Held { bytes, strides, .. }: &Held = held;
        Array {
            bytes,
            strides: strides.clone(),
        }
    };
    ranks
        .iter()
        .map(|parts| parts.iter().map(array).collect())
        .collect()
}

/// As large as those, with nothing in them that counts.
fn blank(ranks: &[Vec<Held>]) -> Vec<Vec<Vec<u8>>> {
    ranks
        .iter()
        .map(|parts| {
            parts
                .iter()
                .map(|held| vec![0xee; held.bytes.len()])
                .collect()
        })
        .collect()
}

fn arrays_mut<'a>(bytes: &'a mut [Vec<Vec<u8>>], like: &[Vec<Held>]) -> Vec<Vec<ArrayMut<'a>>> {
    let ranks = bytes.iter_mut().zip(like);
    ranks
        .map(|(parts, like)| {
            let parts = parts.iter_mut().zip(like);
            parts
                .map(|(bytes, held)| ArrayMut {
                    bytes,
                    strides: held.strides.clone(),
                })
                .collect()
        })
        .collect()
}

#[derive(Default)]
struct Count {
    pairs: Cell<u64>,
    elements: Cell<u64>,
    messages: Cell<u64>,
    pieces: Cell<u64>,
    replicated: Cell<u64>,
    irregular: Cell<u64>,
    turned: Cell<u64>,
    by_dims: [Cell<u64>; 5],
}

fn add(cell: &Cell<u64>, more: u64) {
    cell.set(cell.get() + more);
}

fn compare(case: &Case, count: &Count) -> Result<(), TestCaseError> {
    let layouts = [&case.from, &case.to].map(|spec| Arc::new(spec.layout(&case.shape)));
    let [from, to] = layouts;
    let plan = Plan::new(from.clone(), to.clone()).unwrap();
    let (sources, targets) = (all(case, &case.from, 0), all(case, &case.to, 1));
    // Threads.
    let mut found = blank(&targets);
    let (element, given) = (case.element as u64, arrays(&sources));
    redistribute(
        &plan,
        element,
        &given,
        &mut arrays_mut(&mut found, &targets),
        case.threads,
    )
    .unwrap();
    let same = |found: &[Vec<Vec<u8>>]| -> Result<(), TestCaseError> {
        for (rank, (found, held)) in found.iter().zip(&targets).enumerate() {
            for (part, (found, held)) in found.iter().zip(held).enumerate() {
                prop_assert_eq!(found, &held.bytes, "part {} of rank {}", part, rank);
            }
        }
        Ok(())
    };
    same(&found)?;
    // Messages, each packed and unpacked by itself.
    let order = if case.columns[1] { Order::F } else { Order::C };
    let packing = Packing { element, order };
    let mut found = blank(&targets);
    let mut unpacked = arrays_mut(&mut found, &targets);
    let mut mail: Vec<Vec<(Vec<Section>, Vec<u8>)>> = unpacked.iter().map(|_| Vec::new()).collect();
    let mut sent: Vec<(u32, Message)> = Vec::new();
    for rank in 0..from.rank_count() as u32 {
        sent.extend(plan.sends(rank).into_iter().map(|message| (rank, message)));
    }
    let mut received: Vec<(u32, Message)> = Vec::new();
    for rank in 0..to.rank_count() as u32 {
        let messages = plan.receives(rank).into_iter();
        received.extend(messages.map(|Message { peer, elements }| {
            let message = Message {
                peer: rank,
                elements,
            };
            (peer, message)
        }));
        prop_assert_eq!(
            plan.receives(rank)
                .iter()
                .map(|message| message.elements)
                .sum::<u64>(),
            to.element_count(rank)
        );
    }
    received.sort_by_key(|(rank, message)| (*rank, message.peer));
    prop_assert_eq!(&sent, &received);
    for (rank, Message { peer, elements }) in &sent {
        let sections = plan.sections(*rank, *peer);
        prop_assert_eq!(sections.iter().map(Section::size).sum::<u64>(), *elements);
        prop_assert!(*elements > 0);
        let mut message = vec![0; packing.size(&sections) as usize];
        packing
            .pack(&sections, &given[*rank as usize], &mut message)
            .unwrap();
        mail[*peer as usize].push((sections, message));
        add(&count.elements, *elements);
    }
    for (rank, (mail, parts)) in mail.iter().zip(&mut unpacked).enumerate() {
        let messages: Vec<(&[Section], Source<'_>)> = mail
            .iter()
            .map(|(sections, bytes)| (&sections[..], Source::Message(bytes)))
            .collect();
        packing
            .unpack(&to.parts(rank as u32), &messages, parts)
            .unwrap();
    }
    drop(unpacked);
    same(&found)?;
    same(&in_pieces(case, &plan, packing, (&given, &targets), count))?;
    add(&count.pairs, 1);
    add(&count.messages, sent.len() as u64);
    add(&count.replicated, (from.replicas() > 1).into());
    add(
        &count.irregular,
        matches!(
            (&case.from, &case.to),
            (Spec::Boxes(_), _) | (_, Spec::Boxes(_))
        )
        .into(),
    );
    add(&count.turned, (case.columns[0] != case.columns[1]).into());
    add(&count.by_dims[case.shape.len() - 1], 1);
    Ok(())
}

/// What is in the parts that data go to when messages come in pieces, and what every other rank sends is read where
/// it lies; pieces that follow one another are the message.
fn in_pieces(
    case: &Case,
    plan: &Plan,
    packing: Packing,
    (given, targets): (&[Vec<Array<'_>>], &[Vec<Held>]),
    count: &Count,
) -> Vec<Vec<Vec<u8>>> {
    let mut found = blank(targets);
    let mut parts = arrays_mut(&mut found, targets);
    let first_is_fastest = packing.order == Order::F;
    for rank in 0..plan.to().rank_count() as u32 {
        let (held, parts) = (plan.to().parts(rank), &mut parts[rank as usize]);
        for Message { peer, elements } in plan.receives(rank) {
            let sections = plan.sections(peer, rank);
            let peer_arrays = &given[peer as usize];
            let mut message = vec![0; packing.size(&sections) as usize];
            packing.pack(&sections, peer_arrays, &mut message).unwrap();
            let size = piece_size(&sections, case.most, first_is_fastest);
            assert!((1..=case.most).contains(&size));
            for low in (0..elements).step_by(size as usize) {
                let high = (low + size).min(elements);
                let of = piece(&sections, low..high, first_is_fastest);
                let mut bytes = vec![0; packing.size(&of) as usize];
                packing.pack(&of, peer_arrays, &mut bytes).unwrap();
                let bounds = [low, high].map(|at| (at * packing.element) as usize);
                assert_eq!(bytes, message[bounds[0]..bounds[1]]);
                let source = match peer % 2 {
                    0 => Source::Message(&bytes),
                    _ => Source::Arrays(peer_arrays),
                };
                packing.unpack(&held, &[(&of, source)], parts).unwrap();
                add(&count.pieces, 1);
            }
        }
    }
    drop(parts);
    found
}

#[test]
fn every_element_is_in_its_place() {
    let config = Config::default();
    let given = std::env::var_os("PROPTEST_CASES").is_some();
    let mut runner = TestRunner::new(Config {
        cases: if given { config.cases } else { 2000 },
        failure_persistence: None,
        ..config
    });
    let count = Count::default();
    runner.run(&cases(), |case| compare(&case, &count)).unwrap();
    let Count {
        pairs,
        elements,
        messages,
        pieces,
        replicated,
        irregular,
        turned,
        by_dims,
    } = &count;
    let by_dims: Vec<u64> = by_dims.iter().map(Cell::get).collect();
    println!(
        "{} pairs of layouts (by dimensions {by_dims:?}; {} irregular, {} from replicas, {} from one order in memory \
         to the other): {} messages, {} pieces, {} elements, each compared",
        pairs.get(),
        irregular.get(),
        replicated.get(),
        turned.get(),
        messages.get(),
        pieces.get(),
        elements.get()
    );
    let least = pairs.get() / 10;
    for (what, seen) in [
        ("irregular", irregular),
        ("replicated", replicated),
        ("turned", turned),
    ] {
        assert!(
            seen.get() > least,
            "{what}: {} of {}",
            seen.get(),
            pairs.get()
        );
    }
    assert!(by_dims.iter().all(|&seen| seen > least), "{by_dims:?}");
}

/// What is between the elements of an array with gaps stays as it was.
#[test]
fn ghost_cells_are_not_touched() {
    let spec = Spec::Grid(
        vec![1],
        false,
        vec![
            (crate::oracle::Rule::Whole, 0),
            (crate::oracle::Rule::Whole, 0),
        ],
    );
    let shape = [3, 4];
    let source = held(&spec, &shape, (0, 0), 2, false, 0);
    let target = held(&spec, &shape, (0, 0), 2, false, 1);
    let plan = Plan::new(Arc::new(spec.layout(&shape)), Arc::new(spec.layout(&shape))).unwrap();
    let mut bytes = vec![7; target.bytes.len()];
    let given = [vec![Array {
        bytes: &source.bytes,
        strides: source.strides.clone(),
    }]];
    let mut to = [vec![ArrayMut {
        bytes: &mut bytes,
        strides: target.strides.clone(),
    }]];
    redistribute(&plan, 2, &given, &mut to, 1).unwrap();
    let mut touched = vec![false; bytes.len()];
    for (index, place) in &target.elements {
        assert_eq!(bytes[*place..place + 2], element_bytes(&shape, index, 2));
        touched[*place] = true;
        touched[place + 1] = true;
    }
    assert!(touched.iter().any(|touched| !touched));
    assert!(
        bytes
            .iter()
            .zip(touched)
            .all(|(&byte, touched)| touched || byte == 7)
    );
}

/// Sections of another plan, of a larger array, are no reason to end or to write some of them.
#[test]
fn sections_that_reach_beyond_a_part_are_refused() {
    let whole = |extent| Arc::new(Layout::whole(&[extent]).unwrap());
    let (few, many) = (whole(4), Plan::new(whole(8), whole(8)).unwrap());
    let (order, element) = (Order::C, 1);
    let packing = Packing { element, order };
    let sections = many.sections(0, 0);
    let mut bytes = [7; 4];
    for source in [
        Source::Message(&[1; 8]),
        Source::Arrays(&[Array {
            bytes: &[1; 8],
            strides: vec![1],
        }]),
    ] {
        let mut parts = [ArrayMut {
            bytes: &mut bytes,
            strides: vec![1],
        }];
        let error = packing.unpack(&few.parts(0), &[(&sections, source)], &mut parts);
        assert_eq!(
            error.unwrap_err().to_string(),
            "to: array 0: it has 4 bytes, but with its strides the part ends behind 8"
        );
    }
    assert_eq!(bytes, [7; 4]);
}
