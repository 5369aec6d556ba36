use isthmus_machine::spec::HypercubeSpec;
use isthmus_machine::*;
use isthmus_units::Time;
use isthmus_workload::spec::{Arrival, TrafficSpec};
use std::sync::Arc;
use std::time::Instant;
#[derive(Default)]
struct Count {
    n: u64,
    limit: u64,
    sum: u64,
    sums: [(u64, u64); 8],
    read: (u64, u64, u64),
    skip: u64,
}
impl Observer for Count {
    fn offered(&mut self, _f: Flow, _t: u64) {}
    fn arrived(&mut self, leg: &Leg) {
        self.n += 1;
        if self.n > self.skip {
            let s = &mut self.sums[leg.class as usize];
            s.0 += 1;
            s.1 += leg.router_latency();
            self.sum += leg.header_latency();
        }
    }
    fn completed(&mut self, c: &Completed) {
        if self.n > self.skip {
            self.read.0 += 1;
            self.read.1 += c.network;
            self.read.2 += c.response;
        }
    }
    fn finished(&self) -> bool {
        self.n >= self.limit
    }
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let d: u32 = a[1].parse().unwrap();
    let b: u32 = a[2].parse().unwrap();
    let ta: u64 = a[3].parse().unwrap();
    let limit: u64 = a[4].parse().unwrap();
    let m = Arc::new(Machine::new(&HypercubeSpec::paper(d, b)).unwrap());
    let spec = TrafficSpec {
        arrival: Arrival::Exponential {
            mean: Time::from_ns(ta),
        },
        ..Default::default()
    };
    let t0 = Instant::now();
    let mut s = Simulation::new(m, &spec, 1, 0);
    println!("setup {:?}", t0.elapsed());
    let mut c = Count {
        limit,
        skip: limit / 3,
        ..Default::default()
    };
    let t = Instant::now();
    s.run(&mut c);
    let e = t.elapsed().as_secs_f64();
    println!(
        "{} messages in {e:.3} s: {:.2} M/s; cycles {}; ",
        c.n,
        c.n as f64 / e / 1e6,
        s.now()
    );
    for (i, k) in c.sums.iter().enumerate() {
        if k.0 > 0 {
            println!(
                "{:?} {} router {:.3} us",
                Class::ALL[i],
                k.0,
                k.1 as f64 / k.0 as f64 * 0.05
            );
        }
    }
    if c.read.0 > 0 {
        println!(
            "read network {:.3} response {:.1}",
            c.read.1 as f64 / c.read.0 as f64 * 0.05,
            c.read.2 as f64 / c.read.0 as f64 * 0.05
        );
    }
}
