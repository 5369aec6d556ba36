//! Cuts a few long replications into sections whose means count as independent samples.

use crate::error::Error;
use crate::estimate::mean_and_variance;
use crate::quantile::f_quantile;

/// Number of samples of a measure that are enough. More would hardly shorten its confidence interval.
const ENOUGH_SAMPLES: usize = 40;
/// Number of parts into which a section is cut, to test whether successive parts are correlated.
const PARTS: usize = 4;
/// Maximum correlation between successive parts of a run at which sections of four parts count as
/// independent. Law and Carson (Operations Research 27(5), 1979) accept 0.4 for batches a tenth as
/// long as the tested ones.
const CORRELATION_MAX: f64 = 0.4;
/// Number of parts into which a replication is cut for the test whether the replication is too
/// short.
const PARTS_OF_A_RUN: usize = 16;
/// Largest correlation between successive parts of a run that counts as chance, in standard
/// deviations of the correlation of independent parts.
const CHANCE_SIGMAS: f64 = 1.0;
/// Maximum of the factor that [`stretch`] returns for correlated runs; it belongs to a correlation of 0.6. A larger
/// factor counts as infinite.
const STRETCH_MAX: f64 = 2.0;
/// Significance level of the analysis of variance: the probability that it rejects replications that do not differ.
const ANOVA_LEVEL: f64 = 0.1;

/// Cut each replication, described by its batch means after the warm-up, into equal sections.
/// Return the means of the sections in order; `None` if the sections do not pass the tests of
/// independence.
///
/// With r < 40 replications there are `ceil(40 / r)` sections in each. They pass under two
/// conditions. Their parts must not be strongly correlated in time. The means of the replications
/// must not scatter more than the sections within them explain (analysis of variance); otherwise
/// the replications differ in a property that is constant within each.
pub(crate) fn sections(replications: &[Vec<f64>]) -> Result<Option<Vec<f64>>, Error> {
    let count = replications.len();
    if count < 2 {
        return Ok(None);
    }
    let each = ENOUGH_SAMPLES.div_ceil(count);
    let shortest = replications.iter().map(Vec::len).min().unwrap_or(0);
    if each < 2 || shortest < each * PARTS {
        return Ok(None);
    }
    let parts: Vec<Vec<f64>> = replications
        .iter()
        .map(|batches| means_of_runs(batches, each * PARTS))
        .collect();
    let sections: Vec<Vec<f64>> = parts
        .iter()
        .map(|parts| means_of_runs(parts, each))
        .collect();
    let passes = pooled_lag1(&parts) <= CORRELATION_MAX && replications_are_alike(&sections)?;
    Ok(passes.then(|| sections.concat()))
}

/// Return the factor by which the upper half of the interval of the mean must be widened, because the
/// replications may be short relative to their correlation time: `sqrt((1 + r) / (1 - r))`. r is
/// the correlation of neighbours among [`PARTS_OF_A_RUN`] parts of each replication (as in Skart:
/// Tafazzoli and Wilson, IIE Transactions 43(2), 2011). The factor is 1 if r may be due to chance.
/// It is infinite if it would exceed [`STRETCH_MAX`]: such runs are too short to bound the mean
/// from above.
pub(crate) fn stretch(replications: &[Vec<f64>]) -> f64 {
    let shortest = replications.iter().map(Vec::len).min().unwrap_or(0);
    let each = shortest.min(PARTS_OF_A_RUN);
    if each < 2 {
        return 1.0;
    }
    let parts: Vec<Vec<f64>> = replications
        .iter()
        .map(|batches| means_of_runs(batches, each))
        .collect();
    let correlation = pooled_lag1(&parts);
    let chance = CHANCE_SIGMAS / ((each * parts.len()) as f64).sqrt();
    if correlation <= chance {
        return 1.0;
    }
    let stretch = ((1.0 + correlation) / (1.0 - correlation)).sqrt();
    if stretch > STRETCH_MAX {
        return f64::INFINITY;
    }
    stretch
}

/// Cut the values into `runs` parts of equal length and return the mean of each part. If the length is no multiple
/// of `runs`, the first values are left out.
fn means_of_runs(values: &[f64], runs: usize) -> Vec<f64> {
    let length = values.len() / runs;
    values[values.len() - runs * length..]
        .chunks_exact(length)
        .map(|run| run.iter().sum::<f64>() / length as f64)
        .collect()
}

/// Return the correlation between successive values within the replications (lag 1), for deviations from the mean
/// of all values.
fn pooled_lag1(replications: &[Vec<f64>]) -> f64 {
    let (mean, _) = mean_and_variance(&replications.concat());
    let (mut products, mut squares) = (0.0, 0.0);
    for values in replications {
        products += values
            .windows(2)
            .map(|pair| (pair[0] - mean) * (pair[1] - mean))
            .sum::<f64>();
        squares += values
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>();
    }
    if squares == 0.0 {
        0.0
    } else {
        products / squares
    }
}

/// Return whether replications differ no more than chance explains, by one-way analysis of
/// variance. With m sections in each of r replications, `F = m Var(replication means) / mean of
/// Var(sections within)` has r - 1 and r (m - 1) degrees of freedom.
fn replications_are_alike(sections: &[Vec<f64>]) -> Result<bool, Error> {
    let (count, each) = (sections.len(), sections[0].len());
    let moments: Vec<(f64, f64)> = sections
        .iter()
        .map(|values| mean_and_variance(values))
        .map(|(mean, variance)| (mean, variance.unwrap_or(0.0)))
        .collect();
    let means: Vec<f64> = moments.iter().map(|moment| moment.0).collect();
    let between = each as f64 * mean_and_variance(&means).1.unwrap_or(0.0);
    let within = moments.iter().map(|moment| moment.1).sum::<f64>() / count as f64;
    let bound = f_quantile(1.0 - ANOVA_LEVEL, count - 1, count * (each - 1))?;
    Ok(between <= bound * within)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Return `count` replications of `length` random values. `memory` is the correlation of each value
    /// with the previous one.
    fn noise(count: usize, length: usize, memory: f64, seed: u64) -> Vec<Vec<f64>> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut state = 0.0;
        let mut next = || {
            state = memory * state + random.random::<f64>() - 0.5;
            state
        };
        (0..count)
            .map(|_| (0..length).map(|_| next()).collect())
            .collect()
    }

    /// Checks that 10 replications with independent batches give 40 samples, each the mean of
    /// consecutive batches.
    #[test]
    fn independent_batches_give_forty_samples() {
        let found = sections(&noise(10, 103, 0.0, 4)).unwrap().unwrap();
        assert_eq!(found.len(), 40);
        let replications = noise(10, 96, 0.0, 4);
        let found = sections(&replications).unwrap().unwrap();
        let first = replications[0][..24].iter().sum::<f64>() / 24.0;
        assert!((found[0] - first).abs() < 1e-12);
        assert_eq!(sections(&noise(7, 96, 0.0, 4)).unwrap().unwrap().len(), 42);
    }

    /// Checks that the analysis of variance rejects independent replications with its nominal
    /// probability of 10%.
    #[test]
    fn the_analysis_of_variance_keeps_its_level() {
        let runs = 1000;
        let rejected = (0..runs)
            .filter(|seed| sections(&noise(10, 96, 0.0, *seed)).unwrap().is_none())
            .count();
        // The number of rejections has the distribution Binomial(1000, 0.1), with mean 100 and standard
        // deviation 9.5. Allow 4 standard deviations.
        assert!(
            (62..=138).contains(&rejected),
            "{rejected} of {runs} given up"
        );
    }

    /// Checks that no sections are returned if successive batches are correlated, if the replications have
    /// different means or are too short, or if there are one or enough replications.
    #[test]
    fn dependent_sections_are_refused() {
        assert_eq!(
            sections(&noise(10, 96, 0.99, 1)).unwrap(),
            None,
            "long memory"
        );
        let mut apart = noise(10, 960, 0.0, 1);
        for (index, replication) in apart.iter_mut().enumerate() {
            let shift = if index % 2 == 0 { 0.1 } else { -0.1 };
            replication.iter_mut().for_each(|value| *value += shift);
        }
        assert_eq!(sections(&apart).unwrap(), None, "replications differ");
        assert_eq!(
            sections(&noise(1, 960, 0.0, 1)).unwrap(),
            None,
            "one replication"
        );
        assert_eq!(sections(&noise(10, 15, 0.0, 1)).unwrap(), None, "too short");
        assert_eq!(
            sections(&noise(40, 96, 0.0, 1)).unwrap(),
            None,
            "enough replications"
        );
        assert_eq!(
            sections(&vec![vec![1.0; 96]; 10]).unwrap(),
            Some(vec![1.0; 40])
        );
    }
}
