//! The reference in the suite of all engines, cycle by cycle: a line of channels with few lanes.

use isthmus_conformance::line::{self, path};
use isthmus_conformance::{Candidate, Log, Offer, check};
use isthmus_flit::{Message, Network, Ready};
use isthmus_kernel::{Cycles, Engine, Ran};

struct Line {
    network: Network,
    /// Number and size of each message of the network, and when it is ready.
    messages: Vec<(usize, u32, Cycles)>,
    generated: usize,
    delivered: Vec<bool>,
}

impl Line {
    /// Logs the reports of the last cycle.
    fn report(&mut self, log: &mut Log<'_>) {
        let at = self.network.now() - 1;
        for message in 0..self.messages.len() {
            let (number, size, ready) = self.messages[message];
            if ready == at {
                self.generated += 1;
                for (time, number, offer) in log.generated(at, number) {
                    Engine::offer(self, time, (number, offer));
                }
            }
            if let Some(arrival) = self.network.arrival(message)
                && !self.delivered[message]
            {
                self.delivered[message] = true;
                for (time, number, offer) in log.delivered(at, number, size, arrival.tail) {
                    Engine::offer(self, time, (number, offer));
                }
            }
        }
    }

    fn next_ready(&self) -> Option<Cycles> {
        let ready = self.messages.iter().map(|&(_, _, ready)| ready);
        ready.filter(|&ready| ready >= self.network.now()).min()
    }
}

impl Engine for Line {
    type Message<'a> = (usize, &'a Offer);

    fn now(&self) -> Cycles {
        self.network.now()
    }

    fn offer(&mut self, time: Cycles, (number, offer): (usize, &Offer)) {
        self.network.add(Message {
            ready: Ready::At(time),
            length: offer.size,
            path: path(offer),
            // By generation, then by offer; a case has fewer messages than 64.
            rank: time << 6 | self.messages.len() as u64,
        });
        self.messages.push((number, offer.size, time));
        self.delivered.push(false);
    }

    fn under_way(&self) -> u64 {
        let delivered = self.delivered.iter().filter(|&&delivered| delivered);
        (self.generated - delivered.count()) as u64
    }
}

impl Candidate for Line {
    type Engine = Self;

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

    fn offer(line: &mut Self, time: Cycles, number: usize, offer: &Offer) {
        Engine::offer(line, time, (number, offer));
    }

    fn run_until(line: &mut Self, limit: Cycles, log: &mut Log<'_>) -> Ran {
        loop {
            if log.is_finished() {
                return Ran::Finished;
            }
            let next = match line.next_ready() {
                _ if line.under_way() > 0 => Some(line.now()),
                ready => ready,
            };
            match next {
                Some(next) if next < limit => {
                    line.network.run_until(next);
                    line.network.run_until(next + 1);
                    line.report(log);
                }
                _ => {
                    line.network.run_until(limit);
                    return Ran::at_limit(next.is_some(), line.under_way());
                }
            }
        }
    }

    /// Grants and releases of all messages, which tell for how long lanes are held, in any order.
    fn counted(line: &Self) -> Vec<u64> {
        let arrivals = (0..line.messages.len()).filter_map(|message| line.network.arrival(message));
        let held = arrivals.flat_map(|arrival| {
            let times = arrival.grants.into_iter().zip(arrival.released);
            times.map(|(grant, release)| release - grant)
        });
        let mut held: Vec<u64> = held.collect();
        held.sort_unstable();
        held
    }
}

#[test]
fn the_reference_keeps_the_contract() {
    println!("{}", check::<Line>(300));
}
