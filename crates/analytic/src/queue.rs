//! Mean waits in queues with Poisson arrivals.
//!
//! Each function takes the arrival rate (per unit of time), the mean service time and, where it
//! matters, C^2 = variance / mean^2 of the service time, and returns the mean time from arrival to
//! the start of service, in the same unit of time. At or beyond saturation (rho >= 1) the wait is
//! `f64::INFINITY`.

use crate::Error;
use crate::error::check_not_negative;
use crate::moments::Moments;

/// Return the mean wait of M/G/1 by Pollaczek and Khinchine: W = rho x (1 + C^2) / (2 (1 - rho)).
///
/// Kleinrock, *Queueing Systems* vol. 1 (1975), section 5.6; section 6 of the hypercube paper.
///
/// # Errors
/// An input is negative or infinite.
pub fn mg1_wait(rate: f64, service_mean: f64, service_scv: f64) -> Result<f64, Error> {
    check_not_negative("arrival rate", rate)?;
    check_not_negative("mean service time", service_mean)?;
    check_not_negative("C^2 of the service time", service_scv)?;
    Ok(mg1(rate, service_mean, service_scv))
}

/// Return the utilisation rho = rate x mean / servers. An idle queue has rho = 0, even if `mean` is infinite.
pub(crate) fn rho(rate: f64, mean: f64, servers: u32) -> f64 {
    if rate > 0.0 {
        rate * mean / f64::from(servers)
    } else {
        0.0
    }
}

/// Return the mean wait of M/G/1 without a check of the arguments; infinity at or beyond saturation.
pub(crate) fn mg1(rate: f64, mean: f64, scv: f64) -> f64 {
    let rho = rho(rate, mean, 1);
    if rho >= 1.0 {
        f64::INFINITY
    } else if rho == 0.0 {
        0.0
    } else {
        rho * mean * (1.0 + scv) / (2.0 * (1.0 - rho))
    }
}

/// Return Erlang's C: the probability that an arrival at an M/M/m queue has to wait, or 1 at or
/// beyond saturation.
///
/// Computed from Erlang's B by its recursion B(k) = a B(k-1) / (k + a B(k-1)), a = lambda x, which
/// stays exact where the factorials of the printed form overflow.
pub(crate) fn waiting_probability(rate: f64, mean: f64, servers: u32) -> f64 {
    let rho = rho(rate, mean, servers);
    if rho >= 1.0 {
        return 1.0;
    }
    let offered = rho * f64::from(servers);
    let mut blocked = 1.0;
    for server in 1..=servers {
        blocked = offered * blocked / (f64::from(server) + offered * blocked);
    }
    blocked / (1.0 - rho * (1.0 - blocked))
}

/// Return the mean wait of M/M/m: W = C(m, a) x / (m (1 - rho)), with Erlang's C.
///
/// The hypercube paper prints it (section 6, after Saaty 1961) as
/// W = rho (m rho)^m p0 / (m! (1 - rho)^2 lambda) with
/// p0 = \[sum_{k<m} (m rho)^k / k! + (m rho)^m / (m! (1 - rho))\]^-1; the two are equal.
pub(crate) fn mmm(rate: f64, mean: f64, servers: u32) -> f64 {
    let rho = rho(rate, mean, servers);
    if rho >= 1.0 {
        f64::INFINITY
    } else if rho == 0.0 {
        0.0
    } else {
        waiting_probability(rate, mean, servers) * mean / (f64::from(servers) * (1.0 - rho))
    }
}

/// Return the approximate mean wait of M/G/m: W(M/M/m) (1 + C^2) / 2.
///
/// Lee and Longton, *Oper. Res. Quarterly* 10 (1959); it is the formula of Allen and Cunneen for
/// Poisson arrivals (Allen, *Probability, Statistics and Queueing Theory*, 2nd ed. 1990, section
/// 6.2). Exact for one server and for exponential service.
pub(crate) fn mgm(rate: f64, mean: f64, scv: f64, servers: u32) -> f64 {
    if servers == 1 {
        mg1(rate, mean, scv)
    } else {
        mmm(rate, mean, servers) * (1.0 + scv) / 2.0
    }
}

/// Return the first three moments of the wait, whose mean `wait_mean` is already known. An arrival
/// waits with the probability of Erlang's C. For one server the second moment of the wait is
/// 2 W^2 + lambda E\[S^3\] / (3 (1 - rho)) by Takacs (Kleinrock 1975, section 5.7). For m servers the
/// waits above zero are assumed to have the same C^2 as at one server of m-fold speed. The third
/// moment is that of a gamma distribution fitted to the waits above zero.
pub(crate) fn wait_moments(rate: f64, service: &Moments, servers: u32, wait_mean: f64) -> Moments {
    if wait_mean == 0.0 {
        return Moments::ZERO;
    }
    let rho = rho(rate, service.mean, servers);
    if !wait_mean.is_finite() || rho >= 1.0 {
        return Moments::NEVER;
    }
    // Take one server of m-fold speed: its service moments are divided by m, m^2 and m^3.
    let m = f64::from(servers);
    let fast_wait = rate * service.second / (m * m) / (2.0 * (1.0 - rho));
    let fast_second =
        2.0 * fast_wait * fast_wait + rate * service.third / (m * m * m) / (3.0 * (1.0 - rho));
    let scv_of_waiters = (rho * fast_second / (fast_wait * fast_wait) - 1.0).max(0.0);
    let waiting = waiting_probability(rate, service.mean, servers);
    let conditional = wait_mean / waiting;
    let second = conditional * conditional * (1.0 + scv_of_waiters);
    let third = second * conditional * (1.0 + 2.0 * scv_of_waiters);
    Moments {
        mean: wait_mean,
        second: waiting * second,
        third: waiting * third,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Return the mean wait in an M/M/m queue, by the formula as section 6 of the hypercube paper prints it.
    fn mmm_as_printed(rate: f64, mean: f64, servers: u32) -> f64 {
        let m = f64::from(servers);
        let rho = rate * mean / m;
        let factorial = |n: u32| (1..=n).map(f64::from).product::<f64>();
        let tail = (m * rho).powf(m) / (factorial(servers) * (1.0 - rho));
        let head: f64 = (0..servers)
            .map(|k| (m * rho).powf(f64::from(k)) / factorial(k))
            .sum();
        let p0 = 1.0 / (head + tail);
        rho * (m * rho).powf(m) * p0 / (factorial(servers) * (1.0 - rho).powi(2) * rate)
    }

    /// Checks that the waits of M/M/1, M/D/1 and M/M/2 at a utilisation of 1/2 equal the textbook
    /// values.
    #[test]
    fn textbook_values() {
        // By hand: M/M/1 with rho = 1/2 and x = 2 has W = rho x / (1 - rho) = 2, and M/D/1 has half of that.
        assert!((mg1(0.25, 2.0, 1.0) - 2.0).abs() < 1e-12);
        assert!((mg1(0.25, 2.0, 0.0) - 1.0).abs() < 1e-12);
        // By hand: M/M/2 at rho = 1/2 has C = 2 rho^2 / (1 + rho) = 1/3 and W = C x / (2 (1 - rho)) = x/3.
        assert!((waiting_probability(1.0, 1.0, 2) - 1.0 / 3.0).abs() < 1e-12);
        assert!((mmm(1.0, 1.0, 2) - 1.0 / 3.0).abs() < 1e-12);
    }

    /// Checks that the mean wait is infinite at and beyond saturation.
    #[test]
    fn saturated_queues_have_infinite_waits() {
        for wait in [
            mg1_wait(1.0, 1.0, 1.0),
            mg1_wait(2.0, 1.0, 0.0),
            Ok(mmm(4.0, 1.0, 4)),
            Ok(mgm(4.0, 1.0, 0.0, 3)),
        ] {
            assert_eq!(wait.unwrap(), f64::INFINITY);
        }
        assert_eq!(waiting_probability(9.0, 1.0, 3), 1.0);
    }

    /// Checks that an error about a negative or infinite argument names the argument.
    #[test]
    fn impossible_inputs_are_named() {
        let message = mg1_wait(-1.0, 1.0, 1.0).unwrap_err().to_string();
        assert_eq!(
            message,
            "arrival rate is -1; it must be finite and not negative"
        );
        assert!(mg1_wait(1.0, f64::NAN, 1.0).is_err());
        assert!(mg1_wait(f64::INFINITY, 1.0, 0.0).is_err());
    }

    /// Checks that the first two moments of the wait in an M/M/1 queue equal the exact ones.
    #[test]
    fn wait_moments_of_mm1_are_exact_up_to_the_second() {
        // In M/M/1 the wait is zero with probability 1 - rho. Otherwise it is exponential with mean x / (1 - rho), from
        // which the expected moments follow.
        let (rate, mean) = (0.6, 1.0);
        let service = Moments {
            mean,
            second: 2.0,
            third: 6.0,
        };
        let wait = wait_moments(rate, &service, 1, mg1(rate, mean, 1.0));
        let conditional: f64 = mean / (1.0 - rate);
        assert!((wait.second - rate * 2.0 * conditional.powi(2)).abs() < 1e-9);
        assert!((wait.third - rate * 6.0 * conditional.powi(3)).abs() < 1e-9);
    }

    proptest! {
        /// Checks that the recursion for Erlang's C gives the same wait as the formula printed in
        /// the paper.
        #[test]
        fn erlang_c_equals_the_printed_form(
            load in 0.01f64..0.99, mean in 0.1f64..5000.0, servers in 1u32..20,
        ) {
            let rate = load * f64::from(servers) / mean;
            let computed = mmm(rate, mean, servers);
            let printed = mmm_as_printed(rate, mean, servers);
            prop_assert!((computed - printed).abs() <= 1e-9 * printed.max(1e-12));
        }

        /// Checks that the approximation for M/G/m equals the exact formula for one server (M/G/1) and for exponential
        /// service (M/M/m).
        #[test]
        fn one_server_is_mg1_and_exponential_is_mmm(
            load in 0.0f64..0.99, mean in 0.1f64..5000.0, scv in 0.0f64..20.0, servers in 1u32..40,
        ) {
            let rate = load / mean;
            let one = mgm(rate, mean, scv, 1);
            prop_assert!((one - mg1_wait(rate, mean, scv).unwrap()).abs() <= 1e-9 * one);
            let many = rate * f64::from(servers);
            let exponential = mgm(many, mean, 1.0, servers);
            let mmm = mmm(many, mean, servers);
            prop_assert!((exponential - mmm).abs() <= 1e-9 * mmm.max(1e-300));
        }

        /// Checks that the wait is never NaN, and never decreases as the load increases.
        #[test]
        fn waits_are_never_nan_and_grow_with_the_load(
            low in 0.0f64..2.0, high in 0.0f64..2.0, scv in 0.0f64..9.0, servers in 1u32..200,
        ) {
            let (low, high) = (low.min(high), low.max(high));
            let m = f64::from(servers);
            let wait = |load: f64| mgm(load * m, 1.0, scv, servers);
            prop_assert!(!wait(low).is_nan() && wait(low) <= wait(high) * (1.0 + 1e-12));
        }
    }
}
