//! The hypercube of sections 5 and 6 of the hypercube paper, and its traffic.

use isthmus_analytic::hypercube_io::{HypercubeIo, Lanes, Serving, Traffic};
use isthmus_analytic::moments::Moments;

/// The test case of section 6: P_io = 0.05, P_r = 1, P_l = 0.2, 32-flit messages and requests,
/// one block of 4096 flits per request.
pub const TRAFFIC: Traffic = Traffic {
    io_probability: 0.05,
    read_ratio: 1.0,
    locality: 0.2,
    message: Moments::fixed(32.0),
    request: Moments::fixed(32.0),
    reply: Moments::fixed(4096.0),
    write: Moments::fixed(4128.0),
    replies_per_read: 1.0,
};

/// The 7-cube with 16 I/O nodes.
pub fn hypercube(b: u32) -> HypercubeIo {
    HypercubeIo {
        dimension: 7,
        io_nodes: 16,
        serving: perfect(7, 7),
        lanes: Lanes::paper(7, b),
        traffic: TRAFFIC,
    }
}

/// A placement in which every I/O node serves its own PE and the neighbours in the
/// `dimensions` lowest dimensions of a `cube`-dimensional cube, and in which the class I
/// addresses are balanced in every bit: Hamming codes (`dimensions == cube`) and the combined
/// smaller cubes of section 3.2.
pub fn perfect(cube: u32, dimensions: u32) -> Serving {
    let share = 1.0 / f64::from(dimensions + 1);
    let crossing: Vec<f64> = (0..cube)
        .map(|i| if i < dimensions { share } else { 0.0 })
        .collect();
    Serving {
        first: crossing.clone(),
        last: crossing.clone(),
        crossing,
        class_one_ones: vec![0.5; cube as usize],
    }
}
