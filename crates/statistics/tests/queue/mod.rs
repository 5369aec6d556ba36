//! Queues with known answers, and what chance allows a count to be.

#![allow(dead_code, reason = "each test binary uses a part")]

use std::collections::VecDeque;

use isthmus_statistics::Backlog;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A service time with mean 1.
#[derive(Debug, Clone, Copy)]
pub enum Service {
    Exponential,
    Deterministic,
    /// Two exponential phases with balanced means and the given squared coefficient of variation.
    Hyperexponential(f64),
}

impl Service {
    /// E[S^2] = C^2 + 1 for a mean of 1.
    pub fn second_moment(self) -> f64 {
        1.0 + match self {
            Self::Exponential => 1.0,
            Self::Deterministic => 0.0,
            Self::Hyperexponential(scv) => scv,
        }
    }

    fn draw(self, random: &mut Xoshiro256PlusPlus) -> f64 {
        match self {
            Self::Exponential => exponential(random),
            Self::Deterministic => 1.0,
            Self::Hyperexponential(scv) => {
                let p = 0.5 * (1.0 + ((scv - 1.0) / (scv + 1.0)).sqrt());
                let phase = if random.random::<f64>() < p {
                    p
                } else {
                    1.0 - p
                };
                exponential(random) / (2.0 * phase)
            }
        }
    }
}

fn exponential(random: &mut Xoshiro256PlusPlus) -> f64 {
    -(1.0 - random.random::<f64>()).ln()
}

/// An M/G/1 queue that starts empty, first come, first served, mean service time 1.
pub struct Queue {
    service: Service,
    rho: f64,
    random: Xoshiro256PlusPlus,
    /// Waiting time of the next customer.
    wait: f64,
}

impl Queue {
    pub fn new(service: Service, rho: f64, seed: u64) -> Self {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Self {
            service,
            rho,
            random,
            wait: 0.0,
        }
    }

    /// The same with so much work waiting at the start.
    pub fn with_wait(self, wait: f64) -> Self {
        Self { wait, ..self }
    }

    /// Waiting time of the next customer, service excluded: Lindley's recursion
    /// `W' = max(0, W + S - A)`.
    pub fn next_wait(&mut self) -> f64 {
        let wait = self.wait;
        self.step();
        wait
    }

    /// Service time of the present customer and time to the next arrival.
    fn step(&mut self) -> (f64, f64) {
        let service = self.service.draw(&mut self.random);
        let gap = exponential(&mut self.random) / self.rho;
        self.wait = (self.wait + service - gap).max(0.0);
        (service, gap)
    }

    /// Pollaczek and Khinchine: `E[W] = lambda E[S^2] / (2 (1 - rho))`, here lambda = rho.
    pub fn mean_wait(service: Service, rho: f64) -> f64 {
        rho * service.second_moment() / (2.0 * (1.0 - rho))
    }
}

/// A queue together with its backlog, sampled every few customers.
pub struct WatchedQueue {
    queue: Queue,
    now: f64,
    departures: VecDeque<f64>,
    customers: u64,
    sample_every: u64,
    backlog: Backlog,
}

impl WatchedQueue {
    pub fn new(queue: Queue) -> Self {
        let mut backlog = Backlog::default();
        backlog.sample(0, 0);
        Self {
            queue,
            now: 0.0,
            departures: VecDeque::new(),
            customers: 0,
            sample_every: 100,
            backlog,
        }
    }

    /// The same with a sample after every `customers`, in place of every hundredth.
    pub fn sampled_every(self, customers: u64) -> Self {
        Self {
            sample_every: customers,
            ..self
        }
    }

    /// Runs on until `customers` have arrived in all.
    pub fn run_to(&mut self, customers: u64) -> &Backlog {
        while self.customers < customers {
            let wait = self.queue.wait;
            let (service, gap) = self.queue.step();
            self.departures.push_back(self.now + wait + service);
            self.now += gap;
            self.customers += 1;
            while self
                .departures
                .front()
                .is_some_and(|time| *time <= self.now)
            {
                self.departures.pop_front();
            }
            if self.customers.is_multiple_of(self.sample_every) {
                self.backlog
                    .sample(self.customers, self.departures.len() as u64);
            }
        }
        &self.backlog
    }
}

/// The counts k that a Binomial(n, p) variable takes with all but a probability of at most `tail`
/// on either side: P(X < low) <= tail and P(X > high) <= tail, summed from
/// P(X = k) = C(n, k) p^k (1-p)^(n-k).
pub fn binomial_band(n: u32, p: f64, tail: f64) -> std::ops::RangeInclusive<u32> {
    let mut log_mass = f64::from(n) * (1.0 - p).ln();
    let mut mass = vec![log_mass.exp()];
    for k in 1..=n {
        log_mass += (f64::from(n - k + 1) / f64::from(k) * p / (1.0 - p)).ln();
        mass.push(log_mass.exp());
    }
    let end = |masses: &mut dyn Iterator<Item = &f64>| {
        let mut sum = 0.0;
        masses
            .take_while(|mass| {
                sum += **mass;
                sum <= tail
            })
            .count() as u32
    };
    end(&mut mass.iter())..=n - end(&mut mass.iter().rev())
}
