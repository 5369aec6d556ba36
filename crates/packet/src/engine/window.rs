//! Counters of the use of links and nodes in an interval of time whose ends are exact to the tick.

use super::core::{Core, NEVER, SwitchingMethod};
use crate::Counters;
use crate::routes::Routes;

impl<T: Copy, W: Routes, S: SwitchingMethod> Core<T, W, S> {
    /// Restart the counters at the present time. A link or DMA engine in use counts its ticks from
    /// now on.
    pub fn count_from_now(&mut self) {
        let left = self.after_now();
        let held: Vec<u64> = (left.held.iter().zip(&left.open))
            .map(|(known, &open)| known.wrapping_sub(self.now.wrapping_mul(open)))
            .collect();
        self.links.restart_counts(&left.busy, &held);
        for (nic, dma) in self.nics.iter_mut().zip(left.dma) {
            (nic.dma, nic.sent, nic.bytes, nic.received) = (dma, 0, 0, 0);
        }
    }

    /// Return the counters of all links and nodes up to now.
    pub fn counted(&self) -> Counters {
        let left = self.after_now();
        let links = self.links.iter();
        let busy: Vec<u64> = (links.zip(&left.busy))
            .map(|((_, ledger), left)| ledger.busy - left)
            .collect();
        let held = if S::LANES {
            (self.links.held().iter())
                .zip(left.held.iter().zip(&left.open))
                .map(|(&count, (&known, &open))| {
                    let so_far = count.wrapping_add(self.now.wrapping_mul(open));
                    so_far.wrapping_sub(known)
                })
                .collect()
        } else {
            busy.clone()
        };
        Counters {
            busy,
            packets: (self.links.iter().map(|(_, ledger)| ledger.packets)).collect(),
            held,
            dma: (self.nics.iter().zip(&left.dma))
                .map(|(nic, left)| nic.dma - left)
                .collect(),
            sent: self.nics.iter().map(|nic| nic.sent).collect(),
            bytes: self.nics.iter().map(|nic| nic.bytes).collect(),
            received: self.nics.iter().map(|nic| nic.received).collect(),
        }
    }

    /// Return the ticks after now in which links, DMA engines and lanes (virtual channels) are
    /// already known to be occupied.
    fn after_now(&self) -> AfterNow {
        let now = self.now;
        let ticks_after = |time: u64| time.saturating_sub(now);
        let links = self.links.iter().count();
        let (mut held, mut open) = (vec![0; links], vec![0; links]);
        if S::LANES {
            for (link, (held, open)) in (0..).zip(held.iter_mut().zip(&mut open)) {
                for time in self.links.free(link) {
                    match time {
                        NEVER => *open += 1,
                        known => *held += ticks_after(known),
                    }
                }
            }
        }
        AfterNow {
            busy: (self
                .links
                .iter()
                .map(|(link, _)| ticks_after(link.transmitter)))
            .collect(),
            dma: self.nics.iter().map(|nic| ticks_after(nic.ready)).collect(),
            held,
            open,
        }
    }
}

/// Ticks after the present time in which resources are already known to be occupied: each
/// transmitter, each DMA engine, and the lanes (virtual channels) of each link.
struct AfterNow {
    busy: Vec<u64>,
    dma: Vec<u64>,
    held: Vec<u64>,
    /// For each link, the number of occupied lanes (virtual channels) whose release time is not
    /// known yet.
    open: Vec<u64>,
}
