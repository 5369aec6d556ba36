//! Fair shares against their definition and against filling in small steps.

use isthmus_analytic::fattree::{Flow, bottleneck, max_min};
use proptest::prelude::*;

/// Capacities, and flows with their limits and uses.
type Network = (Vec<f64>, Vec<(f64, Vec<(u32, f64)>)>);

fn networks() -> impl Strategy<Value = Network> {
    let part = prop_oneof![3 => Just(1.0), 2 => 0.05f64..1.0, 1 => Just(0.25)];
    let limit = prop_oneof![2 => Just(f64::INFINITY), 2 => 0.0f64..4.0, 1 => Just(0.5)];
    let capacity = prop_oneof![2 => Just(1.0), 2 => 0.1f64..3.0, 1 => Just(0.0)];
    (1u32..8).prop_flat_map(move |links| {
        let uses = prop::collection::btree_map(0..links, part.clone(), 0..=links as usize);
        let flow = (limit.clone(), uses).prop_map(|(limit, uses)| {
            let uses: Vec<(u32, f64)> = uses.into_iter().collect();
            let limit = if uses.is_empty() {
                limit.min(2.0)
            } else {
                limit
            };
            (limit, uses)
        });
        (
            prop::collection::vec(capacity.clone(), links as usize),
            prop::collection::vec(flow, 1..9),
        )
    })
}

fn rates((capacities, flows): &Network) -> Vec<f64> {
    let flows: Vec<Flow> = flows
        .iter()
        .map(|(limit, uses)| Flow {
            limit: *limit,
            uses,
        })
        .collect();
    max_min(capacities, &flows).unwrap()
}

fn loads((capacities, flows): &Network, rates: &[f64]) -> Vec<f64> {
    let mut loads = vec![0.0; capacities.len()];
    for ((_, uses), rate) in flows.iter().zip(rates) {
        for &(link, part) in uses {
            loads[link as usize] += part * rate;
        }
    }
    loads
}

/// All rising flows by the same step, halved whenever it would overfill a link or a limit; a flow
/// that cannot rise by the smallest step stays.
fn naive((capacities, flows): &Network) -> Vec<f64> {
    let mut rates = vec![0.0; flows.len()];
    let mut rising: Vec<usize> = (0..flows.len()).collect();
    let fits = |rates: &[f64], chosen: &[usize], step: f64| {
        let mut next = rates.to_vec();
        chosen.iter().for_each(|&flow| next[flow] += step);
        let network = &(capacities.clone(), flows.clone());
        let loads = loads(network, &next);
        let links = loads
            .iter()
            .zip(capacities)
            .all(|(load, most)| *load <= most + 1e-12);
        links
            && chosen
                .iter()
                .all(|&flow| next[flow] <= flows[flow].0 + 1e-12)
    };
    while !rising.is_empty() {
        let mut step = 8.0;
        while step > 1e-10 {
            if fits(&rates, &rising, step) {
                rising.iter().for_each(|&flow| rates[flow] += step);
            } else {
                step /= 2.0;
            }
        }
        // Those that are stuck on their own stay; more than one may be at a time.
        let before = rising.len();
        rising.retain(|&flow| fits(&rates, &[flow], 1e-9));
        assert!(rising.len() < before, "somebody must be stuck");
    }
    rates
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn filling_in_small_steps_comes_to_the_same(network in networks()) {
        let (found, expected) = (rates(&network), naive(&network));
        for (flow, (found, expected)) in found.iter().zip(&expected).enumerate() {
            prop_assert!((found - expected).abs() < 1e-6, "flow {}: {} not {}", flow, found, expected);
        }
    }

    #[test]
    fn no_flow_can_grow_but_at_the_cost_of_one_no_larger(network in networks()) {
        let rates = rates(&network);
        let loads = loads(&network, &rates);
        let (capacities, flows) = &network;
        for (load, capacity) in loads.iter().zip(capacities) {
            prop_assert!(*load <= capacity + 1e-9);
        }
        for (rate, (limit, uses)) in rates.iter().zip(flows) {
            prop_assert!(rate.is_finite() && *rate >= 0.0 && *rate <= limit + 1e-12);
            // At its limit, or on a full link where no other flow has more.
            let held = uses.iter().any(|&(link, _)| {
                let full = loads[link as usize] >= capacities[link as usize] - 1e-9;
                let largest = flows.iter().zip(&rates).all(|((_, uses), other)| {
                    !uses.iter().any(|use_of| use_of.0 == link) || *other <= rate + 1e-9
                });
                full && largest
            });
            prop_assert!(*rate >= limit - 1e-12 || held);
        }
    }

    #[test]
    fn the_order_of_flows_does_not_matter_and_scale_is_free(network in networks(), scale in 0.1f64..10.0) {
        let straight = rates(&network);
        let mut turned = network.clone();
        turned.1.reverse();
        for capacity in &mut turned.0 {
            *capacity *= scale;
        }
        for (limit, _) in &mut turned.1 {
            *limit *= scale;
        }
        let turned = rates(&turned);
        for (a, b) in straight.iter().zip(turned.iter().rev()) {
            prop_assert!((a * scale - b).abs() < 1e-9);
        }
    }

    #[test]
    fn equal_flows_get_what_the_fullest_link_allows(network in networks(), count in 1u32..6) {
        // As many copies of the first flow as there are: all the same, until a link is full.
        let (capacities, flows) = &network;
        let first = (f64::INFINITY, flows[0].1.clone());
        prop_assume!(!first.1.is_empty());
        let copies = (capacities.clone(), vec![first; count as usize]);
        let found = rates(&copies);
        let ones = vec![1.0; count as usize];
        let bound = bottleneck(capacities, &loads(&copies, &ones)).unwrap();
        prop_assert!(found.iter().all(|rate| (rate - bound.scale).abs() < 1e-9));
    }
}

#[test]
fn thousands_of_flows_over_thousands_of_links() {
    // 4,096 clients on links of their own, each to all of 512 servers, one in eight behind a link
    // that is half as wide: those servers' links fill, and with them every flow.
    let servers = 512u32;
    let clients = 4096u32;
    let mut capacities = vec![1.0; (servers + clients) as usize];
    for server in (0..servers).step_by(8) {
        capacities[server as usize] = 0.5;
    }
    let uses: Vec<Vec<(u32, f64)>> = (0..clients)
        .map(|client| {
            let parts = (0..servers).map(|server| (server, 1.0 / f64::from(servers)));
            parts.chain([(servers + client, 1.0)]).collect()
        })
        .collect();
    let flows: Vec<Flow> = uses
        .iter()
        .map(|uses| Flow {
            limit: f64::INFINITY,
            uses,
        })
        .collect();
    let rates = max_min(&capacities, &flows).unwrap();
    let expected = 0.5 * f64::from(servers) / f64::from(clients);
    assert!(rates.iter().all(|rate| (rate - expected).abs() < 1e-9));
}
