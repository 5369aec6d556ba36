//! Counting from one moment to another, to the tick.

use super::{Engine, NEVER, Network};
use crate::Counters;

impl<T: Copy> Engine<T> {
    /// Counts from now on: of what is held now, what is left.
    pub fn count_from_now(&mut self) {
        self.counters.reset();
        let left = self.beyond_now();
        let counters = &mut self.counters;
        counters.busy.copy_from_slice(&left.busy);
        counters.dma.copy_from_slice(&left.dma);
        counters.held = (left.held.iter().zip(&left.open))
            .map(|(known, &open)| known.wrapping_sub(self.now.wrapping_mul(open)))
            .collect();
    }

    /// The counts without what lies ahead of now: none is more than the ticks that have passed
    /// since [`Engine::count_from_now`], for lanes times their number.
    pub fn counted(&self) -> Counters {
        let mut counters = self.counters.clone();
        let left = self.beyond_now();
        for (count, left) in counters.busy.iter_mut().zip(&left.busy) {
            *count -= left;
        }
        for (count, left) in counters.dma.iter_mut().zip(&left.dma) {
            *count -= left;
        }
        let held = left.held.iter().zip(&left.open);
        for (count, (known, &open)) in counters.held.iter_mut().zip(held) {
            let so_far = count.wrapping_add(self.now.wrapping_mul(open));
            *count = so_far.wrapping_sub(*known);
        }
        if let Network::CutThrough(_) = self.network {
            counters.held.clone_from(&counters.busy);
        }
        counters
    }

    /// What links and DMA engines are taken for beyond now.
    fn beyond_now(&self) -> Ahead {
        let now = self.now;
        let (transmitter, free): (&[u64], &[u64]) = match &self.network {
            Network::Circuit(network) => (network.transmitters(), network.lanes_free()),
            Network::CutThrough(network) => (network.transmitters(), &[]),
        };
        let ahead = |&time: &u64| time.saturating_sub(now);
        let links = transmitter.len();
        let (mut held, mut open) = (vec![0; links], vec![0; links]);
        for (lane, &time) in (0..).zip(free) {
            let link = self.lanes.link(lane) as usize;
            match time {
                NEVER => open[link] += 1,
                known => held[link] += known.saturating_sub(now),
            }
        }
        Ahead {
            busy: transmitter.iter().map(ahead).collect(),
            dma: self.nics.iter().map(|nic| ahead(&nic.ready)).collect(),
            held,
            open,
        }
    }
}

/// What is taken beyond now: ticks of each transmitter, DMA engine and link's lanes, and of each
/// link the lanes that are held until nobody knows when.
struct Ahead {
    busy: Vec<u64>,
    dma: Vec<u64>,
    held: Vec<u64>,
    open: Vec<u64>,
}
