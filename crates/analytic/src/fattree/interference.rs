//! What jobs take from one another when they share links fairly.

use super::{Flow, max_min};
use crate::Error;
use crate::error::check;

/// Rates of jobs alone and in pairs, from max-min fair shares.
///
/// An estimate of what a fluid would do: flows divide over links in fixed parts and never wait for
/// one another but for the capacity of links. Blocking messages to places that are chosen at random
/// get less ([`closed`](super::closed)).
#[derive(Debug, Clone, PartialEq)]
pub struct Interference {
    /// Rate of each job when it runs alone.
    pub alone: Vec<f64>,
    /// Entry \[a\]\[b\]: the rate of job a when it runs together with job b; alone, for b = a.
    pub with: Vec<Vec<f64>>,
    /// Rate of each job when all run.
    pub all: Vec<f64>,
}

impl Interference {
    /// From the flows of each job.
    ///
    /// # Errors
    /// Those of [`max_min`].
    pub fn new(capacities: &[f64], jobs: &[Vec<Flow>]) -> Result<Self, Error> {
        let run = |together: &[usize]| -> Result<Vec<f64>, Error> {
            let flows: Vec<Flow> = together
                .iter()
                .flat_map(|&job| jobs[job].iter().copied())
                .collect();
            let rates = max_min(capacities, &flows)?;
            let mut rest = rates.as_slice();
            let sums = together.iter().map(|&job| {
                let (own, others) = rest.split_at(jobs[job].len());
                rest = others;
                own.iter().sum()
            });
            Ok(sums.collect())
        };
        let mut alone = Vec::with_capacity(jobs.len());
        for job in 0..jobs.len() {
            alone.push(run(&[job])?[0]);
        }
        let mut with = vec![alone.clone(); jobs.len()];
        for (job, row) in with.iter_mut().enumerate() {
            row.fill(alone[job]);
        }
        let others = |first| (first + 1..jobs.len()).map(move |second| (first, second));
        for (first, second) in (0..jobs.len()).flat_map(others) {
            let pair = run(&[first, second])?;
            with[first][second] = pair[0];
            with[second][first] = pair[1];
        }
        let everyone: Vec<usize> = (0..jobs.len()).collect();
        let all = run(&everyone)?;
        Ok(Self { alone, with, all })
    }

    /// Part of its rate that job `of` loses to job `to`; 0 for a job that has none alone.
    ///
    /// # Errors
    /// When there is no such job.
    pub fn loss(&self, of: usize, to: usize) -> Result<f64, Error> {
        for job in [of, to] {
            let there = job < self.alone.len();
            check("number of a job", job as f64, "one of the jobs", there)?;
        }
        Ok(match self.alone[of] > 0.0 {
            true => 1.0 - self.with[of][to] / self.alone[of],
            false => 0.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_disturb_one_another_where_they_meet() {
        let flow = |uses| Flow {
            limit: f64::INFINITY,
            uses,
        };
        // Links 0 and 1: job 0 uses both, one flow each; job 1 the first; job 2 a third.
        let (first, second, third) = ([(0, 1.0)], [(1, 1.0)], [(2, 1.0)]);
        let jobs = [
            vec![flow(&first), flow(&second)],
            vec![flow(&first)],
            vec![flow(&third)],
        ];
        let found = Interference::new(&[1.0, 1.0, 0.5], &jobs).unwrap();
        assert_eq!(found.alone, [2.0, 1.0, 0.5]);
        assert_eq!(found.with, [[2.0, 1.5, 2.0], [0.5, 1.0, 1.0], [0.5; 3]]);
        assert_eq!(found.all, [1.5, 0.5, 0.5]);
        assert_eq!(found.loss(0, 1), Ok(0.25));
        assert_eq!(found.loss(1, 2), Ok(0.0));
        assert!(found.loss(0, 3).is_err());
        let nothing = Interference::new(&[], &[vec![]]).unwrap();
        assert_eq!(nothing.loss(0, 0), Ok(0.0));
    }
}
