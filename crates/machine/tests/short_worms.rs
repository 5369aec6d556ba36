//! Messages of fewer flits than their path has channels, against another program: a simulation that
//! moves flits between buffers. Its means are known to three and two digits and come from runs of
//! unknown length, and who gets a lane when is a choice (decision 21): 3% is asked, not less.

use isthmus_machine::hypercube::spec::HypercubeSpec;
use isthmus_machine::hypercube::{Class, Completed, Flow, Leg, Machine, Observer, Simulation};
use isthmus_units::{Bandwidth, Bytes, Time};
use isthmus_workload::spec::{Arrival, HotSpot, TrafficSpec};
use std::sync::Arc;

/// Means over PE-PE messages, the first tenth left out.
struct Means {
    limit: u64,
    seen: u64,
    messages: u64,
    header: u64,
    router: u64,
}

impl Observer for Means {
    fn offered(&mut self, _flow: Flow, _time: u64) {}

    fn arrived(&mut self, leg: &Leg) {
        self.seen += 1;
        if leg.class == Class::PePe && self.seen > self.limit / 10 {
            self.messages += 1;
            self.header += leg.header_latency();
            self.router += leg.router_latency();
        }
    }

    fn completed(&mut self, _completed: &Completed) {}

    fn finished(&self) -> bool {
        self.seen >= self.limit
    }
}

/// Latencies in us, from readiness and from the grant of the injection lane; a cycle is 50 ns.
fn latencies(machine: &HypercubeSpec, traffic: &TrafficSpec, limit: u64) -> (f64, f64) {
    let machine = Arc::new(Machine::new(machine).unwrap());
    let mut means = Means {
        limit,
        seen: 0,
        messages: 0,
        header: 0,
        router: 0,
    };
    assert!(Simulation::new(machine, traffic, 1, 0).run(&mut means));
    let mean = |sum: u64| 0.05 * sum as f64 / means.messages as f64;
    (mean(means.header), mean(means.router))
}

fn traffic(gap: Time, message: u64) -> TrafficSpec {
    TrafficSpec {
        arrival: Arrival::Exponential { mean: gap },
        message: Bytes::new(message),
        ..TrafficSpec::default()
    }
}

fn assert_near(what: &str, simulated: f64, reference: f64) {
    println!("{what}: {simulated:.4} us, with buffers of one flit elsewhere {reference} us");
    assert!(
        (simulated / reference - 1.0).abs() < 0.03,
        "{what}: {simulated}"
    );
}

#[test]
fn all_to_one_with_a_flit_each() {
    let mut machine = HypercubeSpec::paper(3, 1);
    machine.lanes.pe = 1;
    let mut traffic = traffic(Time::from_ns(362), 1);
    traffic.io_probability = 0.0;
    traffic.hot_pe = Some(HotSpot {
        target: 0,
        probability: 1.0,
    });
    let (_, router) = latencies(&machine, &traffic, 1_000_000);
    assert_near("one flit, all to PE 0", router, 0.400);
}

#[test]
fn two_flits_beside_blocks() {
    let mut machine = HypercubeSpec::paper(7, 2);
    machine.flit = Bytes::new(16);
    machine.bandwidth = Bandwidth::from_mb_per_s(320);
    let (header, _) = latencies(&machine, &traffic(Time::from_us(5), 32), 12_000_000);
    assert_near("32 bytes in flits of 16", header, 0.93);
}
