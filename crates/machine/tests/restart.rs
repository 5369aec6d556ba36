//! A restarted simulation is a new one.

use isthmus_machine::hypercube::spec::HypercubeSpec;
use isthmus_machine::hypercube::{Completed, Flow, Leg, Machine, Observer, Simulation};
use isthmus_units::Time;
use isthmus_workload::spec::{Arrival, TrafficSpec};
use std::sync::Arc;

/// Keeps every arrival.
#[derive(Default)]
struct Arrivals {
    limit: usize,
    legs: Vec<Leg>,
}

impl Observer for Arrivals {
    fn offered(&mut self, _flow: Flow, _time: u64) {}

    fn arrived(&mut self, leg: &Leg) {
        self.legs.push(*leg);
    }

    fn completed(&mut self, _completed: &Completed) {}

    fn finished(&self) -> bool {
        self.legs.len() >= self.limit
    }
}

fn arrivals(simulation: &mut Simulation, limit: usize) -> Vec<Leg> {
    let mut arrivals = Arrivals {
        limit,
        ..Arrivals::default()
    };
    assert!(simulation.run(&mut arrivals));
    arrivals.legs
}

#[test]
fn a_restart_leaves_nothing_behind() {
    let machine = Arc::new(Machine::new(&HypercubeSpec::paper(5, 1)).unwrap());
    // Saturated, so that channels are held and messages wait everywhere when the first run stops.
    let traffic = |gap_us| TrafficSpec {
        arrival: Arrival::Exponential {
            mean: Time::from_us(gap_us),
        },
        ..TrafficSpec::default()
    };
    let mut used = Simulation::new(Arc::clone(&machine), &traffic(10), 1, 0);
    used.count();
    arrivals(&mut used, 20_000);
    assert!(used.under_way() > 100, "{}", used.under_way());

    let mut restarted = used.restart(&traffic(60), 7, 3);
    let mut new = Simulation::new(machine, &traffic(60), 7, 3);
    assert_eq!(
        (
            restarted.now(),
            restarted.delivered(),
            restarted.under_way()
        ),
        (0, 0, 0)
    );
    assert!(restarted.carried().is_empty());
    assert_eq!(arrivals(&mut restarted, 20_000), arrivals(&mut new, 20_000));
    assert_eq!(restarted.now(), new.now());
}
