//! Quantiles of the distributions that confidence intervals use.

use statrs::distribution::{ContinuousCDF, FisherSnedecor, Normal, StudentsT};

use crate::error::{Error, at_least, open_unit};

/// Return the quantile of Student's t distribution: the value that is exceeded with probability
/// `1 - probability` at `degrees` degrees of freedom.
///
/// # Errors
/// [`Error::OutOfRange`] unless `0 < probability < 1`; [`Error::TooFew`] for no degree of freedom.
pub fn t_quantile(probability: f64, degrees: usize) -> Result<f64, Error> {
    open_unit("probability of the t quantile", probability)?;
    at_least(1, "degrees of freedom", degrees)?;
    let distribution =
        StudentsT::new(0.0, 1.0, degrees as f64).expect("location 0, scale 1, degrees >= 1");
    Ok(distribution.inverse_cdf(probability))
}

/// Return the quantile of the standard normal distribution.
///
/// # Errors
/// [`Error::OutOfRange`] unless `0 < probability < 1`.
pub fn normal_quantile(probability: f64) -> Result<f64, Error> {
    open_unit("probability of the normal quantile", probability)?;
    Ok(Normal::standard().inverse_cdf(probability))
}

/// Return the probability that a standard normal variable is at most `value`.
pub(crate) fn normal_cdf(value: f64) -> f64 {
    Normal::standard().cdf(value)
}

/// Return the quantile of the F distribution with `numerator` and `denominator` degrees of freedom.
///
/// # Errors
/// [`Error::OutOfRange`] unless `0 < probability < 1`; [`Error::TooFew`] for no degree of freedom.
pub fn f_quantile(probability: f64, numerator: usize, denominator: usize) -> Result<f64, Error> {
    open_unit("probability of the F quantile", probability)?;
    at_least(1, "degrees of freedom", numerator.min(denominator))?;
    let distribution = FisherSnedecor::new(numerator as f64, denominator as f64)
        .expect("degrees of freedom are positive");
    Ok(distribution.inverse_cdf(probability))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks one, two and four degrees of freedom, which have closed forms. With a = 4p(1-p): t1 =
    /// tan(pi (p - 1/2)), t2 = 2 (p - 1/2) sqrt(2/a), and t4 = 2 sqrt(q - 1) with q = cos(acos(sqrt
    /// a) / 3) / sqrt a.
    #[test]
    fn t_quantiles_follow_the_closed_forms() {
        for p in [0.9, 0.95, 0.975, 0.99, 0.995, 0.9995, 0.99999] {
            let a: f64 = 4.0 * p * (1.0 - p);
            let q = (a.sqrt().acos() / 3.0).cos() / a.sqrt();
            let expected = [
                (1, (std::f64::consts::PI * (p - 0.5)).tan()),
                (2, 2.0 * (p - 0.5) * (2.0 / a).sqrt()),
                (4, 2.0 * (q - 1.0).sqrt()),
            ];
            for (degrees, value) in expected {
                let got = t_quantile(p, degrees).unwrap();
                assert!(
                    (got / value - 1.0).abs() < 1e-6,
                    "p {p}, {degrees}: {got} {value}"
                );
                let mirrored = t_quantile(1.0 - p, degrees).unwrap();
                assert!((mirrored + got).abs() < 1e-6 * got, "symmetric about zero");
            }
        }
    }

    /// Checks that the t quantile for many degrees of freedom approaches the normal quantile.
    #[test]
    fn many_degrees_approach_the_normal() {
        let normal = normal_quantile(0.975).unwrap();
        assert!((normal - 1.959_963_985).abs() < 1e-8);
        // The Cornish-Fisher expansion is t = z + (z^3 + z) / (4 v) + O(v^-2).
        let v = 10_000.0;
        let expected = normal + (normal.powi(3) + normal) / (4.0 * v);
        assert!((t_quantile(0.975, 10_000).unwrap() - expected).abs() < 1e-6);
    }

    /// Checks the quantiles of the F distribution in two cases with known results. The square of a
    /// t variable with v degrees of freedom is F with 1 and v: F(p) = t((1 + p) / 2)^2. With 2 and
    /// v, P(F > x) = (1 + 2 x / v)^(-v / 2).
    #[test]
    fn f_quantiles_follow_from_t_and_a_closed_form() {
        for p in [0.5, 0.9, 0.99] {
            for v in [2usize, 4, 30] {
                let t = t_quantile(0.5 + 0.5 * p, v).unwrap();
                let got = f_quantile(p, 1, v).unwrap();
                assert!((got / (t * t) - 1.0).abs() < 1e-5, "{got} {}", t * t);
                let half = v as f64 / 2.0;
                let expected = half * ((1.0 - p).powf(-1.0 / half) - 1.0);
                let got = f_quantile(p, 2, v).unwrap();
                assert!((got / expected - 1.0).abs() < 1e-5, "{got} {expected}");
            }
        }
        assert!(f_quantile(1.0, 1, 1).is_err() && f_quantile(0.5, 0, 1).is_err());
    }

    /// Checks that probabilities outside 0 to 1 (exclusive) and zero degrees of freedom are
    /// refused.
    #[test]
    fn impossible_probabilities_are_refused() {
        for p in [0.0, 1.0, -0.1, 1.5, f64::NAN] {
            assert!(matches!(t_quantile(p, 4), Err(Error::OutOfRange { .. })));
            assert!(matches!(normal_quantile(p), Err(Error::OutOfRange { .. })));
        }
        assert!(matches!(t_quantile(0.9, 0), Err(Error::TooFew { .. })));
    }
}
