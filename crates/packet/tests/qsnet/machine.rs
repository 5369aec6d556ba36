//! The machine of the QsNET paper: 64 nodes on a 4-ary 3-tree. A tick is 100 ps.

use isthmus_packet::routes::FatTree;
use isthmus_packet::{Adaptive, Age, AgeFrom, AgeTie, Interface, Late, Rules, Switching};
use isthmus_topology::trees::{Ascent, Shape, Tree};
use std::sync::Arc;

/// Ticks per second.
pub const SECOND: f64 = 1e10;

pub fn tree() -> Arc<FatTree> {
    let shape = Shape::KAry {
        arity: 4,
        levels: 3,
    };
    let tree = Tree::new(&shape).expect("the paper's tree");
    Arc::new(FatTree::new(&tree, Ascent::Adaptive))
}

/// The rules, with buffers in the memory of the interfaces.
pub fn rules() -> Rules {
    Rules {
        byte: 25,
        hop: 350,
        acknowledge: 500,
        acknowledge_hop: 350,
        channels: 2,
        switching: Switching::Circuit { in_flight: 2 },
        adaptive: Adaptive::default(),
        age: Age {
            from: AgeFrom::Injection,
            saturates: Some(780_000),
            tie: AgeTie::RoundRobin,
        },
        late: None,
        payload: 320,
        overhead: 58,
        block: 64,
        interface: Interface {
            queues: 2,
            start: 18_800,
            packet: 9_552,
            packet_block: 0,
            receive: 1_880,
            slice: 32,
            request: 0,
            turnaround: 18_800,
        },
    }
}

/// With buffers in main memory.
pub fn main_memory() -> Rules {
    let mut rules = rules();
    rules.interface.packet = 16_000;
    rules.interface.receive = 24_000;
    rules
}

/// With the empirical term.
pub fn with_late() -> Rules {
    Rules {
        late: Some(Late {
            older_than: 780_000,
            extra: 870,
        }),
        ..rules()
    }
}
