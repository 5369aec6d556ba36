//! An I/O node: a processor with a disk cache in front of a disk.

use crate::queue::Queue;
use crate::{Busy, Disk};
use isthmus_kernel::{Chance, Cycles, Stream};

/// Parameters that all I/O nodes of a machine share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IoNodeTimes {
    /// Latency for access to cached data (Table 1 of the hypercube paper: 400 us), in cycles.
    pub access: Cycles,
    /// Probability that data are in the cache.
    pub hit: Chance,
    /// Disk behind the cache.
    pub disk: Disk,
    /// Whether cache misses queue for the disk. Otherwise the access time of the disk is a pure
    /// delay.
    pub queued: bool,
}

/// State of an I/O node. Its disk serves requests in the order of the calls.
#[derive(Debug, Clone)]
pub struct IoNode {
    stream: Stream,
    disk: Queue,
}

impl IoNode {
    /// Return an idle I/O node that draws random numbers from `stream`.
    pub fn new(stream: Stream) -> Self {
        Self {
            stream,
            disk: Queue::default(),
        }
    }

    /// Return the I/O node's stream of random numbers, for random decisions outside of this type.
    pub fn stream(&mut self) -> &mut Stream {
        &mut self.stream
    }

    /// Read or write `bytes` bytes from time `now` on. Return the time of completion.
    #[inline]
    pub fn serve(&mut self, times: &IoNodeTimes, now: Cycles, bytes: u64) -> Cycles {
        let in_memory = now + times.access;
        if times.hit.draw(&mut self.stream) {
            return in_memory;
        }
        let access = times.disk.access(bytes, &mut self.stream);
        if !times.queued {
            return in_memory + access;
        }
        self.disk.serve(now, in_memory, access)
    }

    /// Return the busy times of the disk. They are empty if misses do not queue for it.
    pub fn disk_busy_times(&self) -> &Busy {
        self.disk.busy()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isthmus_kernel::Streams;

    /// Return parameters with a hit probability of `hit`, with or without a queue for the disk.
    fn times(hit: f64, queued: bool) -> IoNodeTimes {
        IoNodeTimes {
            access: 8_000,
            hit: Chance::new(hit),
            disk: Disk {
                seek: 0.0,
                rotation: 0.0,
                per_byte: 2.0,
            },
            queued,
        }
    }

    /// Return an idle I/O node with a fixed seed.
    fn node() -> IoNode {
        IoNode::new(Streams::new(1, 0).stream("io node", 0))
    }

    /// Checks that a cache hit takes the access time of the cache and no disk time.
    #[test]
    fn hits_take_the_access_time_only() {
        assert_eq!(node().serve(&times(1.0, true), 100, 4096), 8_100);
    }

    /// Checks that with a disk queue, a cache miss waits until the disk has served the earlier
    /// misses.
    #[test]
    fn misses_queue_for_the_disk_if_configured() {
        let mut node = node();
        let times = times(0.0, true);
        assert_eq!(node.serve(&times, 0, 1_000), 8_000 + 2_000);
        assert_eq!(node.serve(&times, 500, 1_000), 10_000 + 2_000);
        assert_eq!(node.serve(&times, 100_000, 1_000), 108_000 + 2_000);
        // The node serves three misses of 2,000 cycles each: the first two from cycle 8,000 on, the
        // last from cycle 108,000 on.
        let by = [12_000, 50_000, 100_000, 108_000, 109_000, 110_000, 120_000];
        assert_eq!(
            by.map(|now| node.disk_busy_times().cycles_by(now)),
            [4_000, 4_000, 4_000, 4_000, 5_000, 6_000, 6_000]
        );
        assert_eq!(node.disk_busy_times().uses(), 3);
    }

    /// Checks that without a disk queue, simultaneous cache misses do not delay each other.
    #[test]
    fn misses_without_a_disk_queue_do_not_delay_each_other() {
        let mut node = node();
        let times = times(0.0, false);
        assert_eq!(node.serve(&times, 0, 1_000), 10_000);
        assert_eq!(node.serve(&times, 500, 1_000), 10_500);
    }
}
