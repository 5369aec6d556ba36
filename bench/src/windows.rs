//! What several measured windows come to.

use crate::clock::Spread;
use serde::Serialize;

/// What it took.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Messages that arrived within the windows: on the cube their heads, on the tree their tails.
    messages: u64,
    /// CPU seconds of the windows.
    cpu_s: f64,
    /// Messages for each CPU second of the windows.
    rate_per_s: f64,
    /// Of single windows.
    single_per_s: Spread,
    /// Accepted load: flits per cycle and node.
    accepted: f64,
    /// Mean latency from being asked for to the arrival of the tail, in cycles.
    latency: f64,
    /// The same of each window.
    latency_each: Vec<f64>,
}

/// The windows so far.
#[derive(Debug, Default)]
pub struct Windows {
    messages: u64,
    cpu_s: f64,
    latency: f64,
    rates: Vec<f64>,
    latency_each: Vec<f64>,
}

impl Windows {
    /// One more: its messages, the sum of their latencies in cycles, its CPU seconds.
    pub fn add(&mut self, messages: u64, latency: f64, cpu_s: f64) {
        self.messages += messages;
        self.latency += latency;
        self.cpu_s += cpu_s;
        self.rates.push(messages as f64 / cpu_s);
        self.latency_each.push(latency / messages as f64);
    }

    /// All of them, where messages have so many flits and nodes had so many cycles together.
    ///
    /// # Panics
    /// If there are none.
    pub fn report(self, flits: u64, node_cycles: f64) -> Report {
        let messages = self.messages as f64;
        Report {
            messages: self.messages,
            cpu_s: self.cpu_s,
            rate_per_s: messages / self.cpu_s,
            single_per_s: Spread::of(self.rates),
            accepted: messages * flits as f64 / node_cycles,
            latency: self.latency / messages,
            latency_each: self.latency_each,
        }
    }
}
