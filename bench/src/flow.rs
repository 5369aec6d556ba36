//! Transfers on a torus: each host keeps so many messages under way, to others at random.

use crate::clock::{Spread, timed};
use isthmus_flow::{Delivered, Engine, Handler, Rate, Transfer};
use isthmus_kernel::{Cycles, Engine as _, RunUntil};
use serde::Serialize;

/// Hosts along each dimension, the first of which varies fastest; as in `bench/simgrid/torus.xml`.
const SIDES: [u32; 3] = [8, 4, 4];
/// A tick is 1 ns, a link 1 GB/s.
const TICKS_PER_S: f64 = 1e9;

values! {
    /// What to run.
    #[derive(Debug, Clone, Copy)]
    Load {
        /// Messages that each host keeps under way.
        outstanding: u32 = 16,
        /// Bytes of a message.
        bytes: u64 = 4096,
        /// Messages in each of these places, one after the other.
        each: u64 = 10,
        /// Ticks from the beginning of a message until bytes move.
        latency: Cycles = 0,
        /// Runs, all the same.
        runs: u64 = 3,
    }
}

/// What it took.
#[derive(Debug, Serialize)]
pub struct Report {
    hosts: u32,
    /// Messages of one run.
    messages: u64,
    /// For each CPU second, of the median run.
    rate_per_s: f64,
    /// CPU seconds of one run, set-up of the network not included.
    run_s: Spread,
    /// When the last message arrived.
    simulated_s: f64,
}

/// One place of a host: which host, which place, the how manieth message.
type Tag = (u32, u32, u64);

struct Torus {
    load: Load,
    hosts: u32,
    path: Vec<u32>,
    last: Cycles,
}

/// Where message `number` of a slot of a host goes: the finaliser of SplitMix64, as in
/// `bench/simgrid/torus.cpp`.
fn to((host, slot, number): Tag, hosts: u32) -> u32 {
    let z = (u64::from(host) << 40) ^ (u64::from(slot) << 24) ^ number;
    let z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    let z = z ^ (z >> 31);
    (host + 1 + (z % u64::from(hosts - 1)) as u32) % hosts
}

impl Torus {
    /// Dimension by dimension, the shorter way round. Where both are as long: up, but down from the
    /// middle to 0, as SimGrid has it. Host h has the links 6 h to 6 h + 5: down and up in each
    /// dimension.
    fn find_path(&mut self, from: u32, to: u32) {
        self.path.clear();
        let (mut at, mut stride) = (from, 1);
        for (dimension, side) in (0..).zip(SIDES) {
            let [here, there] = [at, to].map(|host| host / stride % side);
            let ahead = (there + side - here) % side;
            let up = ahead <= side / 2 && !(here == side / 2 && there == 0);
            for _ in 0..(if up { ahead } else { side - ahead }) {
                self.path.push(6 * at + 2 * dimension + u32::from(up));
                let here = at / stride % side;
                let next = (here + if up { 1 } else { side - 1 }) % side;
                at = at - here * stride + next * stride;
            }
            stride *= side;
        }
    }

    fn send(&mut self, engine: &mut Engine<Tag>, time: Cycles, tag: Tag) {
        self.find_path(tag.0, to(tag, self.hosts));
        let transfer = Transfer {
            bytes: self.load.bytes,
            path: &self.path,
            latency: self.load.latency,
            rate_max: None,
            reserved: None,
            tag,
        };
        engine.offer(time, transfer);
    }
}

impl Handler for Torus {
    type Tag = Tag;

    fn delivered(&mut self, engine: &mut Engine<Tag>, delivered: &Delivered<Tag>) {
        self.last = delivered.arrived;
        let (host, slot, number) = delivered.tag;
        if number + 1 < self.load.each {
            self.send(engine, delivered.arrived, (host, slot, number + 1));
        }
    }
}

/// Runs them one after another.
pub fn run(load: Load) -> Report {
    let hosts: u32 = SIDES.iter().product();
    let mut torus = Torus {
        load,
        hosts,
        path: Vec::new(),
        last: 0,
    };
    let link = Rate::new(1, 1).expect("a byte per tick is a rate");
    let links = vec![link; 6 * hosts as usize];
    let mut times = Vec::new();
    for _ in 0..load.runs {
        let mut engine = Engine::new(links.clone()).expect("links can be numbered");
        let ((), run_s) = timed(|| {
            for host in 0..hosts {
                for slot in 0..load.outstanding {
                    torus.send(&mut engine, 0, (host, slot, 0));
                }
            }
            engine.run_until(Cycles::MAX, &mut torus);
        });
        times.push(run_s);
    }
    let messages = u64::from(hosts) * u64::from(load.outstanding) * load.each;
    let run_s = Spread::of(times);
    Report {
        hosts,
        messages,
        rate_per_s: messages as f64 / run_s.median,
        run_s,
        simulated_s: torus.last as f64 / TICKS_PER_S,
    }
}
