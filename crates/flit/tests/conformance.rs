//! The reference in the suite of all engines, cycle by cycle: a line of channels with few lanes.

use isthmus_conformance::line::{self, path};
use isthmus_conformance::{Candidate, Log, Offer, check};
use isthmus_flit::{Message, Network, Ready};
use isthmus_kernel::{Cycles, Ran};

struct Line {
    network: Network,
    /// Number and size of each message of the network, and when it is ready.
    messages: Vec<(usize, u32, Cycles)>,
    generated: usize,
    delivered: Vec<bool>,
}

impl Line {
    /// Tells what the last cycle has brought.
    fn tell(&mut self, log: &mut Log<'_>) {
        let at = self.network.now() - 1;
        for message in 0..self.messages.len() {
            let (number, size, ready) = self.messages[message];
            if ready == at {
                log.generated(at, number);
                self.generated += 1;
            }
            if let Some(arrival) = self.network.arrival(message)
                && !self.delivered[message]
            {
                self.delivered[message] = true;
                for (time, number, offer) in log.delivered(at, number, size, arrival.tail) {
                    self.offer(time, number, offer);
                }
            }
        }
    }

    fn next_ready(&self) -> Option<Cycles> {
        let ready = self.messages.iter().map(|&(_, _, ready)| ready);
        ready.filter(|&ready| ready >= self.network.now()).min()
    }
}

impl Candidate for Line {
    const NODES: u32 = line::NODES;
    const SIZE_MAX: u32 = 40;

    fn new() -> Self {
        Self {
            network: Network::new(&line::lanes().collect::<Vec<u32>>(), 1),
            messages: Vec::new(),
            generated: 0,
            delivered: Vec::new(),
        }
    }

    fn clear(&mut self) {
        *self = Self::new();
    }

    fn offer(&mut self, time: Cycles, number: usize, offer: &Offer) {
        self.network.add(Message {
            ready: Ready::At(time),
            length: offer.size,
            path: path(offer),
            rank: number as u64,
        });
        self.messages.push((number, offer.size, time));
        self.delivered.push(false);
    }

    fn run_until(&mut self, limit: Cycles, log: &mut Log<'_>) -> Ran {
        while self.network.now() < limit {
            if log.is_finished() {
                return Ran::Finished;
            }
            let next = match self.next_ready() {
                _ if self.under_way() > 0 => self.network.now(),
                Some(ready) => ready.min(limit),
                None => limit,
            };
            self.network.run_until(next);
            if next < limit {
                self.network.run_until(next + 1);
                self.tell(log);
            }
        }
        let is_due = self.under_way() > 0 || self.next_ready().is_some();
        Ran::at_limit(is_due, self.under_way())
    }

    fn now(&self) -> Cycles {
        self.network.now()
    }

    fn under_way(&self) -> u64 {
        let delivered = self.delivered.iter().filter(|&&delivered| delivered);
        (self.generated - delivered.count()) as u64
    }
}

#[test]
fn the_reference_keeps_the_contract() {
    println!("{}", check::<Line>(300));
}
