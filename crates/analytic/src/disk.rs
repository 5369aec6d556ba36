//! Waits at disks that each serve one request after another: M/G/1 queues.
//!
//! The service time of a disk is the sum of a seek, uniform between zero and twice its mean, a rotational latency,
//! uniform over one rotation, and the transfer (Table 1 of the hypercube paper gives the mean of the sum). The mean
//! wait is W = lambda E\[S^2\] / (2 (1 - rho)) (Kleinrock, *Queueing Systems* vol. 1, 1975, section 5.6), computed over
//! all requests of the disk.

use crate::Error;
use crate::error::check_not_negative;
use crate::moments::Moments;
use crate::queue;

/// Return the service time of a disk for requests whose data take `transfer` cycles, which may vary.
///
/// # Errors
/// A number is negative or infinite.
pub fn service(seek_mean: f64, rotation: f64, transfer: &Moments) -> Result<Moments, Error> {
    check_not_negative("mean seek time", seek_mean)?;
    check_not_negative("time of a rotation", rotation)?;
    let moves = Moments::uniform_below(2.0 * seek_mean).plus(&Moments::uniform_below(rotation));
    Ok(moves.plus(transfer))
}

/// Requests of one kind, such as reads: their rate at each disk, and their service time.
#[derive(Debug, Clone, PartialEq)]
pub struct Requests {
    /// Requests of this kind per cycle at each disk, for a load of 1. The load is a factor of all rates.
    pub rates: Vec<f64>,
    /// Service time of a request of this kind, in cycles.
    pub service: Moments,
}

/// A set of disks with one queue each, and the requests for them.
#[derive(Debug, Clone, PartialEq)]
pub struct Disks {
    requests: Vec<Requests>,
    count: usize,
}

/// The disk that saturates first as the load grows, and the load at which it does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SaturatedDisk {
    /// Load at which the disk is busy all the time.
    pub load: f64,
    /// Index of the disk, the lowest if several disks saturate together.
    pub disk: usize,
    /// Whether all disks saturate at this same load.
    pub all: bool,
}

impl Disks {
    /// Return disks that serve these kinds of requests.
    ///
    /// # Errors
    /// The kinds have rates for different numbers of disks, or a rate is negative or infinite.
    pub fn new(requests: Vec<Requests>) -> Result<Self, Error> {
        let count = requests.first().map_or(0, |kind| kind.rates.len());
        for kind in &requests {
            if kind.rates.len() != count {
                return Err(Error::Contradiction(
                    "each kind of request needs a rate for each disk",
                ));
            }
            for &rate in &kind.rates {
                check_not_negative("rate of requests", rate)?;
            }
        }
        Ok(Self { requests, count })
    }

    /// Return the utilisation of each disk at a load. It is 1 or more for a saturated disk.
    pub fn utilisation(&self, load: f64) -> Vec<f64> {
        (0..self.count)
            .map(|disk| load * self.work_per_cycle(disk))
            .collect()
    }

    /// Return the mean response time (wait and service) of requests of kind `kind` at their disks, in cycles. It is
    /// infinite if one of these disks is saturated, and `None` if there are no such requests.
    pub fn response(&self, kind: usize, load: f64) -> Option<f64> {
        let requests = &self.requests[kind];
        let total: f64 = requests.rates.iter().sum();
        if total <= 0.0 {
            return None;
        }
        let wait: f64 = (0..self.count)
            .filter(|&disk| requests.rates[disk] > 0.0)
            .map(|disk| requests.rates[disk] / total * self.wait(disk, load))
            .sum();
        Some(wait + requests.service.mean)
    }

    /// Return the first disk that saturates as the load grows, or `None` without requests.
    pub fn first_saturated(&self) -> Option<SaturatedDisk> {
        let works: Vec<f64> = (0..self.count)
            .map(|disk| self.work_per_cycle(disk))
            .collect();
        let most = works.iter().copied().fold(0.0, f64::max);
        let as_full = |work: f64| work >= most * (1.0 - 1e-9);
        let disk = works.iter().position(|&work| work > 0.0 && as_full(work))?;
        Some(SaturatedDisk {
            load: 1.0 / most,
            disk,
            all: works.iter().all(|&work| as_full(work)),
        })
    }

    /// Return the busy time of a disk per cycle at a load of 1.
    fn work_per_cycle(&self, disk: usize) -> f64 {
        let kinds = self.requests.iter();
        kinds.map(|kind| kind.rates[disk] * kind.service.mean).sum()
    }

    /// Return the mean wait of a request in the queue of a disk.
    fn wait(&self, disk: usize, load: f64) -> f64 {
        let kinds = (self.requests.iter()).map(|kind| (kind.rates[disk], kind.service));
        let rate: f64 = kinds.clone().map(|(rate, _)| rate).sum();
        let service = Moments::weighted(kinds, rate);
        queue::mg1(load * rate, service.mean, service.scv())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the access time of the paper's disk (Table 1) has a mean of 20 ms, and the variance of the sum of
    /// two uniform variables.
    #[test]
    fn the_disk_of_table_1_takes_20_ms_with_the_variance_of_two_uniforms() {
        let taken = service(12.0, 16.0, &Moments::fixed(0.0)).unwrap();
        assert!((taken.mean - 20.0).abs() < 1e-12);
        // The two uniform variables have widths w of 24 and 16, each with the variance w^2 / 12.
        assert!((taken.variance() - (24.0f64.powi(2) + 16.0f64.powi(2)) / 12.0).abs() < 1e-9);
        assert!(taken.third_central().abs() < 1e-6);
        assert!(service(-1.0, 16.0, &Moments::fixed(0.0)).is_err());
    }

    /// Checks that a single disk with a fixed service time has the waits of an M/D/1 queue.
    #[test]
    fn one_disk_is_an_md1_queue() {
        // With a transfer only and rho = 1/2, W = rho S / (2 (1 - rho)) = S / 2.
        let service = service(0.0, 0.0, &Moments::fixed(10.0)).unwrap();
        let rates = vec![1.0];
        let disks = Disks::new(vec![Requests { rates, service }]).unwrap();
        assert!((disks.response(0, 0.05).unwrap() - 15.0).abs() < 1e-12);
        assert_eq!(disks.response(0, 0.1), Some(f64::INFINITY));
        assert_eq!(disks.first_saturated().unwrap().load, 0.1);
    }

    /// Checks that all kinds of requests wait in the same queues, and the disk with the most work saturates first.
    #[test]
    fn kinds_share_the_disks_and_the_busiest_saturates_first() {
        let kind = |rates: [f64; 2], mean| Requests {
            rates: rates.to_vec(),
            service: Moments::fixed(mean),
        };
        let disks = Disks::new(vec![kind([1.0, 2.0], 3.0), kind([2.0, 2.0], 1.0)]).unwrap();
        // At a load of 1, the two disks have 5 and 8 cycles of work per cycle.
        let full = disks.first_saturated().unwrap();
        assert_eq!((full.load, full.disk, full.all), (0.125, 1, false));
        assert_eq!(disks.utilisation(0.05), [0.25, 0.4]);
        // Disk 0 has E[S^2] rate = 9 + 2 = 11 and W = 0.05 * 11 / (2 * 0.75); disk 1 has 20, divided by 2 * 0.6.
        let waits = [0.05 * 11.0 / 1.5, 0.05 * 20.0 / 1.2];
        let reads = 3.0 + (waits[0] + 2.0 * waits[1]) / 3.0;
        let writes = 1.0 + (waits[0] + waits[1]) / 2.0;
        assert!((disks.response(0, 0.05).unwrap() - reads).abs() < 1e-12);
        assert!((disks.response(1, 0.05).unwrap() - writes).abs() < 1e-12);
    }

    /// Checks that kinds of requests with rates for different numbers of disks are refused.
    #[test]
    fn kinds_for_different_disks_are_refused() {
        let kind = |count| Requests {
            rates: vec![1.0; count],
            service: Moments::fixed(1.0),
        };
        assert!(Disks::new(vec![kind(1), kind(2)]).is_err());
        assert_eq!(Disks::new(Vec::new()).unwrap().first_saturated(), None);
    }
}
