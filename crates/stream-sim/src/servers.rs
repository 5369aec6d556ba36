//! What serves one after another: a processor, a DMA engine, a line.

use isthmus_kernel::Cycles;

/// Something that does one thing at a time, first come, first served.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Server {
    free_at: Cycles,
    busy: Cycles,
    served: u64,
}

impl Server {
    /// Takes a task that is there from `now` on and lasts `ns`; when it will be over.
    pub fn take(&mut self, now: Cycles, ns: u64) -> Cycles {
        self.free_at = self.free_at.max(now).saturating_add(ns);
        self.busy = self.busy.saturating_add(ns);
        self.served += 1;
        self.free_at
    }

    /// Time for which it was at work up to `now`; what is to come at that moment is left out.
    pub fn busy(&self, now: Cycles) -> Cycles {
        self.busy - self.free_at.saturating_sub(now).min(self.busy)
    }

    /// Tasks taken.
    pub fn served(&self) -> u64 {
        self.served
    }
}

#[cfg(test)]
mod tests {
    use super::Server;

    /// 0-10, 10-25, then idle until 40.
    #[test]
    fn tasks_wait_for_one_another() {
        let mut server = Server::default();
        assert_eq!(server.take(0, 10), 10);
        assert_eq!(server.take(5, 15), 25);
        assert_eq!(server.take(40, 10), 50);
        assert_eq!(server.busy(50), 35);
        assert_eq!(server.busy(45), 30);
        assert_eq!(server.served(), 3);
    }
}
