//! Servers that do one task after another: a processor, a DMA engine, a line.

use isthmus_kernel::Cycles;

/// A server that does one task at a time, in the order of arrival.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Server {
    free_at: Cycles,
    /// Sum of the durations of all tasks.
    busy: Cycles,
    /// Number of tasks that the server has accepted.
    served: u64,
}

impl Server {
    /// Add a task that arrives at `now` and lasts `ns`. Return the time at which it ends.
    pub fn take(&mut self, now: Cycles, ns: u64) -> Cycles {
        self.free_at = self.free_at.max(now).saturating_add(ns);
        self.busy = self.busy.saturating_add(ns);
        self.served += 1;
        self.free_at
    }

    /// Return the time for which the server was busy up to `now`, without the rest of its tasks
    /// after `now`.
    pub fn busy(&self, now: Cycles) -> Cycles {
        self.busy - self.free_at.saturating_sub(now).min(self.busy)
    }

    /// Return the number of tasks that the server has accepted.
    pub fn served(&self) -> u64 {
        self.served
    }
}

#[cfg(test)]
mod tests {
    use super::Server;

    /// Checks that a task waits for the end of the previous one: the server is busy from 0 to 25
    /// with two tasks, and idle from then until 40.
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
