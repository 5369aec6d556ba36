//! Counters of the bytes that links carry and of the time for which links are busy.

use crate::rate::whole_bytes;
use isthmus_kernel::Cycles;

/// Counters of the links over the interval from `Engine::count_from_now` to `Engine::counted`. A
/// transfer that crosses either end of the interval counts with its part inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counters {
    /// For each link: whole bytes that it carried.
    pub bytes: Vec<u64>,
    /// For each link: ticks in which the link had a moving transfer, one whose latency was over.
    pub busy: Vec<Cycles>,
}

/// Running sums from which the engine computes the [`Counters`] at any time.
#[derive(Debug, Clone)]
pub(crate) struct Counting {
    /// For each link: work that it carried, in steps of 2^-24 bytes.
    carried: Vec<u128>,
    busy: Vec<Cycles>,
    /// For each busy link: the start of the interval that `busy` does not include yet.
    since: Vec<Cycles>,
}

impl Counting {
    /// Creates counters at 0 for a network with this number of links.
    pub(crate) fn new(links: usize, now: Cycles) -> Self {
        Self {
            carried: vec![0; links],
            busy: vec![0; links],
            since: vec![now; links],
        }
    }

    /// Adds `steps` of work (2^-24 bytes each) to the count of every link of a path.
    pub(crate) fn carry(&mut self, path: &[u32], steps: u64) {
        for &link in path {
            self.carried[link as usize] += u128::from(steps);
        }
    }

    /// Records that an idle link becomes busy at `now`, with the start of a transfer.
    pub(crate) fn link_busy(&mut self, link: u32, now: Cycles) {
        self.since[link as usize] = now;
    }

    /// Records that the last moving transfer of a link has ended at `now`.
    pub(crate) fn link_idle(&mut self, link: u32, now: Cycles) {
        let link = link as usize;
        self.busy[link] += now - self.since[link];
    }

    /// Returns the bytes that each link has carried and the time for which it was busy, up to now.
    pub(crate) fn counters(&self) -> Counters {
        Counters {
            bytes: self
                .carried
                .iter()
                .map(|&steps| whole_bytes(steps))
                .collect(),
            busy: self.busy.clone(),
        }
    }
}
