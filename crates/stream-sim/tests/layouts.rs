//! What moves, against a count byte by byte.

use crate::common::*;
use isthmus_stream_sim::shuffle::{Message, messages};
use isthmus_stream_sim::spec::Work;
use std::collections::BTreeMap;

/// For each pair of columns the bytes and contiguous blocks that go, by looking at every byte of a
/// TU.
fn by_hand(columns: u64, tu: u64, block: u64) -> BTreeMap<(u32, u32), (u64, u64)> {
    let share = tu / columns;
    let mut found: BTreeMap<(u32, u32), (u64, u64)> = BTreeMap::new();
    for byte in 0..tu {
        let (from, to) = ((byte / block % columns) as u32, (byte / share) as u32);
        if from == to {
            continue;
        }
        let entry = found.entry((from, to)).or_default();
        entry.0 += 1;
        entry.1 += u64::from(byte % block == 0 || byte % share == 0);
    }
    found
}

#[test]
fn plans_are_what_a_look_at_every_byte_gives() {
    let mut compared = 0;
    for (columns, tu) in [(8, 64 * KIB), (4, 4 * KIB), (2, 256), (8, 1024)] {
        let share = tu / columns;
        for block in (0..14).map(|power| 1 << power).filter(|b| share % b == 0) {
            let mut machine = machine();
            (machine.columns, machine.links) = (columns as u32, 1);
            let work = Work {
                tu_bytes: tu,
                block_bytes: block,
                ..work()
            };
            let sends_of_nodes = messages(&machine, &work).expect("it can be");
            let mut found = BTreeMap::new();
            for (from, sends) in sends_of_nodes.iter().enumerate() {
                for &Message { to, bytes, blocks } in sends {
                    found.insert((from as u32, to), (bytes, blocks));
                }
            }
            assert_eq!(found, by_hand(columns, tu, block), "{columns} {tu} {block}");
            compared += 1;
        }
    }
    assert!(compared > 25, "{compared}");
}

/// The next to the right first, and at no time two to the same.
#[test]
fn messages_go_round() {
    let sends_of_nodes = messages(&machine(), &work()).expect("it can be");
    for at in 0..7 {
        let mut to: Vec<u32> = sends_of_nodes.iter().map(|sends| sends[at].to).collect();
        assert_eq!(to[0], at as u32 + 1);
        to.sort_unstable();
        assert_eq!(to, (0..8).collect::<Vec<u32>>());
    }
}
