//! A disk with seek, rotation and transfer.

use isthmus_kernel::{Cycles, Stream, unit_interval};

/// Parameters of one disk. Times are in cycles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Disk {
    /// Mean seek time, in cycles.
    pub seek: f64,
    /// Time of a full rotation, in cycles. The rotational latency is uniform between zero and this
    /// time.
    pub rotation: f64,
    /// Transfer time of one byte, in cycles.
    pub per_byte: f64,
}

impl Disk {
    /// Return the access time for `bytes` bytes, without the wait in the queue of the disk.
    ///
    /// The seek time is uniform between zero and twice its mean: the seek distance is uniform, and
    /// the time is proportional to it.
    pub fn access(&self, bytes: u64, stream: &mut Stream) -> Cycles {
        let seek = 2.0 * self.seek * unit_interval(stream);
        let latency = self.rotation * unit_interval(stream);
        (seek + latency + self.per_byte * bytes as f64).round() as Cycles
    }

    /// Return the mean of [`Disk::access`]: seek + rotation / 2 + transfer.
    pub fn mean_access(&self, bytes: u64) -> f64 {
        self.seek + self.rotation / 2.0 + self.per_byte * bytes as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isthmus_kernel::Streams;

    /// Checks that the mean of 100,000 random access times equals the mean access time, up to 4
    /// standard errors.
    #[test]
    fn samples_have_the_mean_access_time() {
        let disk = Disk {
            seek: 240_000.0,
            rotation: 320_000.0,
            per_byte: 10.0,
        };
        let mut stream = Streams::new(5, 0).stream("disk", 0);
        let n = 100_000;
        let mean = (0..n)
            .map(|_| disk.access(4096, &mut stream) as f64)
            .sum::<f64>()
            / n as f64;
        // The sum of two uniform variables of widths w = 480,000 and 320,000: each has the variance
        // w^2 / 12.
        let deviation = ((480_000f64.powi(2) + 320_000f64.powi(2)) / 12.0).sqrt();
        let error = (mean - disk.mean_access(4096)).abs();
        assert!(error < 4.0 * deviation / (n as f64).sqrt(), "{mean}");
        assert_eq!(disk.mean_access(4096), 440_960.0);
    }
}
