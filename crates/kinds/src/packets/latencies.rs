//! Latencies of the messages of a job, from the waiting times in the queues of the network.

use super::sent::{DATA, Links, Moments, REQUEST, Routes, Sent};
use crate::jobs::capacity::PredictableJob;
use crate::jobs::ns;
use isthmus_analytic::Error;
use isthmus_analytic::queue::mg1_wait;
use isthmus_analytic::trains::Wait;
use std::collections::{BTreeMap, BTreeSet};

/// Return whether the job is closed-loop: its clients limit their messages in flight. At the limit, a client waits for a
/// completion before it sends the next message.
fn is_closed_loop(asks: &PredictableJob<'_>) -> bool {
    asks.job.outstanding.limit().is_some()
}

/// A job, the messages that it sends, and the mean times for which they wait in queues, for predictions.
pub(super) struct Job<'a> {
    pub asks: &'a PredictableJob<'a>,
    pub links: &'a Links<'a>,
    pub sent: &'a [Sent],
    pub waits: &'a [Wait],
}

impl Job<'_> {
    /// Return the number of messages per ns that all clients of the job send together.
    pub fn rate(&self) -> f64 {
        self.sent[0].rate + self.sent[REQUEST].rate
    }

    /// Return the predicted mean latencies of the job's messages.
    pub fn latencies(&self) -> Result<Latencies, Error> {
        let kinds = self.sent.iter().enumerate();
        let alone: Vec<_> = kinds
            .map(|(kind, sent)| sent.idle_latencies(self.links, kind == 0))
            .collect();
        let is_closed_loop = is_closed_loop(self.asks);
        let clients: BTreeSet<u32> = (self.sent.iter())
            .flat_map(|sent| sent.clients.keys().copied())
            .collect();
        let mut all = Latencies::default();
        for client in clients {
            let rate = |kind: usize| -> f64 {
                let routes = self.sent[kind].clients.get(&client);
                routes.map_or(0.0, |routes| routes.values().sum())
            };
            let rate = rate(0) + rate(REQUEST);
            let (time, busy) = self.of_client(client, &alone, is_closed_loop);
            let mut response = time.mean;
            if is_closed_loop {
                let share = rate * time.mean;
                all.busiest_alone = all.busiest_alone.max(rate * busy);
                response = match share < 1.0 {
                    true => {
                        let scv = (time.square / (time.mean * time.mean) - 1.0).max(0.0);
                        response + mg1_wait(rate, time.mean, scv)?
                    }
                    false => f64::INFINITY,
                };
            }
            all.network += rate * time.mean;
            all.response += rate * response;
        }
        all.network /= self.rate();
        all.response /= self.rate();
        Ok(all)
    }

    /// Return the mean and the mean square of the time from the hand-over of a client's message to its completion, and
    /// the mean of this time on an idle network.
    fn of_client(
        &self,
        client: u32,
        alone: &[BTreeMap<(u32, u64), Moments>],
        is_closed_loop: bool,
    ) -> (Moments, f64) {
        let reads = self.asks.message.reads;
        let turnaround = ns(self.links.spec.nic.read_turnaround);
        let none = Routes::new();
        let (mut sum, mut busy) = (Moments::default(), 0.0);
        let mut add = |share: f64, kinds: &[usize], more: f64| {
            if share == 0.0 {
                return;
            }
            let mut time = self.links.rules.interface.software_ns + more;
            let mut variance = 0.0;
            busy += share * time;
            for &kind in kinds {
                let (sent, wait) = (&self.sent[kind], &self.waits[kind]);
                let own = Moments::over(sent.clients.get(&client).unwrap_or(&none), &alone[kind]);
                let node = match is_closed_loop && kind != DATA {
                    true => 0.0,
                    false => wait.node,
                };
                time += own.mean + node + wait.last;
                busy += share * own.mean;
                // The variance assumes that a long message waits longer, in proportion to its time without waits.
                let longer = (own.mean + wait.last) / own.mean.max(f64::MIN_POSITIVE);
                variance += own.variance() * longer * longer + wait.last * wait.last;
            }
            sum.mean += share * time;
            sum.square += share * (time * time + variance);
        };
        add(1.0 - reads, &[0], 0.0);
        add(reads, &[REQUEST, DATA], turnaround);
        (sum, busy)
    }
}

/// Mean latencies of a job's messages in ns, and the utilisation of clients that have one message in flight at a
/// time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Latencies {
    /// Mean time from the generation of a message by its process to the completion of the message, in ns.
    pub response: f64,
    /// Mean time from the hand-over of a message to the network interface to its completion, in ns.
    pub network: f64,
    /// Share of the time, from 0 to 1, for which the busiest client would have a message in flight if messages never
    /// waited in queues.
    pub busiest_alone: f64,
}
