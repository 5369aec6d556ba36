//! Fair shares of links of given capacities.

use super::filling::Filling;
use crate::Error;
use crate::error::{check, check_not_negative};

/// Traffic between some nodes, at any rate, over fixed parts of links.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flow<'a> {
    /// The most that is asked for; may be infinite.
    pub limit: f64,
    /// Links with what a unit of the flow asks of each: 1 for a link that all of it crosses, less
    /// where it divides. Each link once, in any order.
    pub uses: &'a [(u32, f64)],
}

/// The link that is the first to be full.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bottleneck {
    /// Its number; the lowest of equals (to 1 part in 10^9).
    pub link: u32,
    /// By how much the loads can be multiplied until it is.
    pub scale: f64,
}

/// The most of some traffic, given what a unit of it asks of each link and what each link carries.
///
/// # Errors
/// Lists of different lengths, numbers that are negative or not finite, no load at all.
pub fn bottleneck(capacities: &[f64], loads: &[f64]) -> Result<Bottleneck, Error> {
    if capacities.len() != loads.len() {
        return Err(Error::Contradiction(
            "there is not one load for each capacity of a link",
        ));
    }
    let mut scales = Vec::with_capacity(loads.len());
    for (&capacity, &load) in capacities.iter().zip(loads) {
        let capacity = check_not_negative("capacity of a link", capacity)?;
        let load = check_not_negative("load of a link", load)?;
        scales.push(if load > 0.0 {
            capacity / load
        } else {
            f64::INFINITY
        });
    }
    let least = scales.iter().copied().fold(f64::INFINITY, f64::min);
    let some = least.is_finite();
    check("load of all links", 0.0, "above zero for one of them", some)?;
    let link = scales
        .iter()
        .position(|&scale| scale <= least * (1.0 + 1e-9));
    Ok(Bottleneck {
        link: link.expect("the least is one of them") as u32,
        scale: least,
    })
}

/// The max-min fair rate of each flow: no flow could have more without one that has as little or
/// less having still less (Bertsekas and Gallager, *Data Networks*, 2nd ed. 1992, section 6.5.2).
///
/// By progressive filling: all rates rise together; a flow stops at its limit, or when a link that
/// it uses is full. With flows that use parts of links this is still the one max-min fair
/// allocation (Radunović and Le Boudec, *A unified framework for max-min and min-max fairness with
/// applications*, IEEE/ACM Trans. Netw. 15(5), 2007, section IV).
///
/// Takes time in the number of uses, times its logarithm.
///
/// # Errors
/// A capacity, limit or use that is negative or not a number, a link that does not exist, or a flow
/// that nothing limits.
pub fn max_min(capacities: &[f64], flows: &[Flow]) -> Result<Vec<f64>, Error> {
    for &capacity in capacities {
        check_not_negative("capacity of a link", capacity)?;
    }
    for flow in flows {
        if flow.limit != f64::INFINITY {
            check_not_negative("limit of a flow", flow.limit)?;
        }
        let mut used = false;
        for &(link, part) in flow.uses {
            check_not_negative("part of a flow that uses a link", part)?;
            let there = (link as usize) < capacities.len();
            check("link of a flow", link.into(), "one of the links", there)?;
            used |= part > 0.0;
        }
        let limited = used || flow.limit.is_finite();
        let limit = if limited { 0.0 } else { flow.limit };
        check(
            "limit of a flow",
            limit,
            "finite when it uses no link",
            limited,
        )?;
    }
    Ok(Filling::new(capacities, flows).fill())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(uses: &[(u32, f64)]) -> Flow<'_> {
        Flow {
            limit: f64::INFINITY,
            uses,
        }
    }

    fn assert_close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        let close = found
            .iter()
            .zip(expected)
            .all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(close, "{found:?}, not {expected:?}");
    }

    #[test]
    fn a_line_of_links() {
        // One flow over all of three links, one over each: half each.
        let all = [(0, 1.0), (1, 1.0), (2, 1.0)];
        let (a, b, c) = ([(0, 1.0)], [(1, 1.0)], [(2, 1.0)]);
        let flows = [flow(&all), flow(&a), flow(&b), flow(&c)];
        let rates = max_min(&[1.0; 3], &flows).unwrap();
        assert_close(&rates, &[0.5; 4]);
        // A second one over the last: thirds there, and the rest of the others goes to the others.
        let flows = [flow(&all), flow(&a), flow(&b), flow(&c), flow(&c)];
        let rates = max_min(&[1.0; 3], &flows).unwrap();
        let third = 1.0 / 3.0;
        assert_close(&rates, &[third, 2.0 * third, 2.0 * third, third, third]);
    }

    #[test]
    fn limits_leave_more_to_others() {
        let link = [(0, 1.0)];
        let mut flows = [flow(&link); 3];
        flows[1].limit = 0.1;
        assert_close(&max_min(&[1.0], &flows).unwrap(), &[0.45, 0.1, 0.45]);
        flows[0].limit = 0.0;
        assert_close(&max_min(&[1.0], &flows).unwrap(), &[0.0, 0.1, 0.9]);
        let alone = Flow {
            limit: 7.0,
            uses: &[],
        };
        assert_close(&max_min(&[], &[alone]).unwrap(), &[7.0]);
    }

    #[test]
    fn parts_of_links() {
        // x / 2 + y <= 1 with x = y, then x alone up to 3 / 4 of the other link.
        let (x, y) = ([(0, 0.5), (1, 0.5)], [(0, 1.0)]);
        let rates = max_min(&[1.0, 0.375], &[flow(&x), flow(&y)]).unwrap();
        assert_close(&rates, &[2.0 / 3.0, 2.0 / 3.0]);
        let rates = max_min(&[1.0, 0.25], &[flow(&x), flow(&y)]).unwrap();
        assert_close(&rates, &[0.5, 0.75]);
        let rates = max_min(&[0.0, 1.0], &[flow(&x), flow(&[(1, 1.0)])]).unwrap();
        assert_close(&rates, &[0.0, 1.0]);
    }

    #[test]
    fn the_fullest_link_bounds_the_rest() {
        let found = bottleneck(&[1.0, 2.0, 2.0], &[0.5, 2.0, 0.0]).unwrap();
        assert_eq!(
            found,
            Bottleneck {
                link: 1,
                scale: 1.0
            }
        );
        assert!(bottleneck(&[1.0], &[0.0]).is_err());
        assert!(bottleneck(&[1.0], &[]).is_err());
        assert!(bottleneck(&[], &[]).is_err());
        assert_eq!(bottleneck(&[0.0], &[2.0]).unwrap().scale, 0.0);
    }

    #[test]
    fn flows_that_cannot_be_are_refused() {
        let message =
            |capacities: &[f64], flow: Flow| max_min(capacities, &[flow]).unwrap_err().to_string();
        assert_eq!(
            message(&[1.0], flow(&[])),
            "limit of a flow is inf; it must be finite when it uses no link"
        );
        assert_eq!(
            message(&[1.0], flow(&[(1, 1.0)])),
            "link of a flow is 1; it must be one of the links"
        );
        assert!(message(&[1.0], flow(&[(0, 0.0)])).contains("finite when it uses no link"));
        assert!(message(&[1.0], flow(&[(0, -1.0)])).contains("part of a flow"));
        assert!(message(&[f64::NAN], flow(&[(0, 1.0)])).contains("capacity"));
        let limit = f64::NAN;
        assert!(message(&[1.0], Flow { limit, uses: &[] }).contains("limit of a flow is NaN"));
    }
}
