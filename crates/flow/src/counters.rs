//! What the engine counts.

use crate::rate::whole_bytes;
use isthmus_kernel::Cycles;

/// Counts from [`Engine::count_from_now`](crate::Engine::count_from_now) to the moment of
/// [`Engine::counted`](crate::Engine::counted). Of a transfer that moves across one of the two,
/// what moved between them counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counters {
    /// For each link: whole bytes that it carried.
    pub bytes: Vec<u64>,
    /// For each link: ticks in which there was a transfer on it whose latency was over.
    pub busy: Vec<Cycles>,
}

/// The counts as they go.
#[derive(Debug, Clone)]
pub(crate) struct Counting {
    /// For each link: steps that it carried.
    carried: Vec<u128>,
    busy: Vec<Cycles>,
    /// For each link with transfers: since when they count.
    since: Vec<Cycles>,
}

impl Counting {
    pub(crate) fn new(links: usize, now: Cycles) -> Self {
        Self {
            carried: vec![0; links],
            busy: vec![0; links],
            since: vec![now; links],
        }
    }

    /// So many steps were carried over all links of a path.
    pub(crate) fn carry(&mut self, path: &[u32], steps: u64) {
        for &link in path {
            self.carried[link as usize] += u128::from(steps);
        }
    }

    /// A link has its first transfer.
    pub(crate) fn taken(&mut self, link: u32, now: Cycles) {
        self.since[link as usize] = now;
    }

    /// The last transfer of a link has ended.
    pub(crate) fn freed(&mut self, link: u32, now: Cycles) {
        let link = link as usize;
        self.busy[link] += now - self.since[link];
    }

    /// What it has come to.
    pub(crate) fn told(&self) -> Counters {
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
