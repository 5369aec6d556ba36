//! Comparison of quantities of two runs.

use isthmus_experiment::comparison::Pairs;
use isthmus_statistics::Quantity;

/// Return a quantity with this value in each of four replications, and the confidence interval of the
/// mean.
fn of(each: [f64; 4]) -> Quantity {
    Quantity {
        value: each.iter().sum::<f64>() / 4.0,
        low: Some(each.iter().copied().fold(f64::INFINITY, f64::min) - 1.0),
        high: Some(each.iter().copied().fold(0.0, f64::max) + 1.0),
        each: each.to_vec(),
    }
}

/// Checks the Bonferroni correction by the statistic t of the differences in four replications. For a
/// test of 1, 6 and 1000 pairs, t must exceed 3.18, 6.2 and 35. Differences of 0, 2, 1 and 1 give t =
/// 2.45, which is too small for any test. Differences of 4, 6, 5 and 5 give 12.2, enough for one pair or
/// six.
#[test]
fn a_test_of_many_pairs_is_stricter_than_a_test_of_one_pair() {
    let base = of([10.0, 20.0, 30.0, 40.0]);
    let little = of([10.0, 22.0, 31.0, 41.0]);
    let much = of([14.0, 26.0, 35.0, 45.0]);
    let judged = |pair: [&Quantity; 2], count: usize| {
        let pairs = Pairs {
            pairs: vec![pair.map(Clone::clone); count],
            confidence: 0.95,
        };
        pairs.answer().unwrap().remove(0)
    };
    assert!(!judged([&base, &little], 1).differs);
    assert!(judged([&base, &much], 1).differs);
    assert!(judged([&base, &much], 6).differs);
    assert!(!judged([&base, &much], 1000).differs);
    let found = judged([&base, &much], 6);
    assert!((found.difference.value - 5.0).abs() < 1e-12);
    assert!((found.ratio.unwrap().value - 1.2).abs() < 1e-12);
    assert!(!judged([&base, &base], 1).differs);
}

/// Checks that exact numbers (without intervals) differ if and only if they are not equal.
#[test]
fn exact_numbers_differ_if_they_are_not_equal() {
    let exact = |value| Quantity {
        value,
        low: None,
        high: None,
        each: Vec::new(),
    };
    let pairs = Pairs {
        pairs: vec![[exact(2.0), exact(3.0)], [exact(2.0), exact(2.0)]],
        confidence: 0.95,
    };
    let found = pairs.answer().unwrap();
    assert!(found[0].differs && !found[1].differs);
    // The error cannot be estimated from one replication.
    let single = Quantity {
        each: vec![9.0],
        ..exact(9.0)
    };
    let pairs = Pairs {
        pairs: vec![[exact(2.0), single]],
        confidence: 0.95,
    };
    assert!(!pairs.answer().unwrap()[0].differs);
}
