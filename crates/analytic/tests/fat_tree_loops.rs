//! Closed loops of clients against the balance of all states, closed forms and limits.

use std::collections::BTreeMap;

use isthmus_analytic::fattree::closed::{
    self, Clients, Servers, balanced, busy_servers, coupled, solve, solve_offered,
};
use proptest::prelude::*;

fn alike(count: u32) -> Servers {
    Servers {
        count,
        alone: 1.0,
        taken: 0.0,
    }
}

fn group(count: u32, pause: f64, demands: &[f64]) -> Clients {
    Clients {
        count,
        pause,
        demands: demands.to_vec(),
    }
}

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 1e-8 * (1.0 + expected.abs())
}

/// By group of clients: those at pause, then those at each server.
type State = Vec<Vec<u32>>;

/// The probability of every state of exponential messages, from the balance of what goes in and out,
/// by repeated steps of the uniformised chain; servers of a group one by one.
fn by_states(servers: &[Servers], clients: &[Clients]) -> (Vec<f64>, Vec<f64>) {
    let single: Vec<(usize, f64)> = servers
        .iter()
        .enumerate()
        .flat_map(|(place, group)| vec![(place, group.alone); group.count as usize])
        .collect();
    let mut start: State = Vec::new();
    for group in clients {
        let mut places = vec![0; single.len() + 1];
        places[0] = group.count;
        start.push(places);
    }
    // Clients at pause leave it for server i with the probability of its group over its number; a
    // demand is that probability times the time there. Take all of them as alike likely.
    let likely: Vec<Vec<f64>> = clients
        .iter()
        .map(|group| {
            let asked = group.demands.iter().filter(|demand| **demand > 0.0).count();
            let each = |&(place, _): &(usize, f64)| match group.demands[place] > 0.0 {
                true => 1.0 / asked as f64 / f64::from(servers[place].count),
                false => 0.0,
            };
            single.iter().map(each).collect()
        })
        .collect();
    let moves = |state: &State| -> Vec<(f64, State)> {
        let mut moves = Vec::new();
        for (number, group) in clients.iter().enumerate() {
            let asked = group.demands.iter().filter(|demand| **demand > 0.0).count() as f64;
            for at in 0..=single.len() {
                let here = state[number][at];
                if here == 0 {
                    continue;
                }
                let rate = match at.checked_sub(1) {
                    None => f64::from(here) / group.pause,
                    Some(server) => {
                        let (place, alone) = single[server];
                        let all: u32 = state.iter().map(|places| places[at]).sum();
                        let speed = if all == 1 { alone } else { 1.0 };
                        let time = group.demands[place] * asked;
                        speed * f64::from(here) / f64::from(all) / time
                    }
                };
                let mut next = state.clone();
                next[number][at] -= 1;
                if at == 0 {
                    for (server, probability) in likely[number].iter().enumerate() {
                        let mut next = next.clone();
                        next[number][server + 1] += 1;
                        moves.push((rate * probability, next));
                    }
                } else {
                    next[number][0] += 1;
                    moves.push((rate, next));
                }
            }
        }
        moves.retain(|(rate, _)| *rate > 0.0);
        moves
    };
    let mut states = BTreeMap::from([(start.clone(), 0usize)]);
    let mut open = vec![start];
    let mut chain = Vec::new();
    while let Some(state) = open.pop() {
        let from = states[&state];
        for (rate, next) in moves(&state) {
            let count = states.len();
            let to = *states.entry(next.clone()).or_insert_with(|| {
                open.push(next);
                count
            });
            chain.push((from, to, rate));
        }
    }
    let mut out = vec![0.0; states.len()];
    for &(from, _, rate) in &chain {
        out[from] += rate;
    }
    let fastest = out.iter().copied().fold(0.0, f64::max) * 1.05;
    let mut now = vec![1.0 / states.len() as f64; states.len()];
    loop {
        let mut next: Vec<f64> = now
            .iter()
            .zip(&out)
            .map(|(p, out)| p * (1.0 - out / fastest))
            .collect();
        for &(from, to, rate) in &chain {
            next[to] += now[from] * rate / fastest;
        }
        let change: f64 = next.iter().zip(&now).map(|(a, b)| (a - b).abs()).sum();
        now = next;
        if change < 1e-13 {
            break;
        }
    }
    let mut throughput = vec![0.0; clients.len()];
    let mut present = vec![0.0; servers.len()];
    for (state, &number) in &states {
        for (group, places) in clients.iter().zip(state).enumerate() {
            let (client, places) = places;
            throughput[group] += now[number] * f64::from(places[0]) / client.pause;
            for (server, &(place, _)) in single.iter().enumerate() {
                let each = f64::from(places[server + 1]) / f64::from(servers[place].count);
                present[place] += now[number] * each;
            }
        }
    }
    (throughput, present)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn mean_values_are_those_of_the_states(
        servers in prop::collection::vec((1u32..3, 0.5f64..=1.0), 1..3),
        clients in prop::collection::vec((1u32..4, 0.1f64..2.0, prop::collection::vec(0.1f64..1.5, 2)), 1..3),
    ) {
        let servers: Vec<Servers> = servers
            .iter()
            .map(|&(count, alone)| Servers { count, alone, taken: 0.0 })
            .collect();
        // Product form: servers do not ask whose client it is, so that times are by server.
        let clients: Vec<Clients> = clients
            .iter()
            .map(|(count, pause, demands)| group(*count, *pause, &demands[..servers.len()]))
            .collect();
        let found = solve(&servers, &clients).unwrap();
        let (throughput, present) = by_states(&servers, &clients);
        for (found, expected) in found.throughput.iter().zip(&throughput) {
            prop_assert!((found - expected).abs() < 1e-6, "{} not {}", found, expected);
        }
        for (found, expected) in found.clients.iter().zip(&present) {
            prop_assert!((found - expected).abs() < 1e-6, "{} not {}", found, expected);
        }
    }

    #[test]
    fn one_group_split_in_two_is_the_same(
        count in 2u32..12,
        first in 1u32..11,
        pause in 0.0f64..2.0,
        demands in prop::collection::vec(0.1f64..1.5, 2),
        alone in 0.5f64..=1.0,
    ) {
        let first = first.min(count - 1);
        let servers = [Servers { count: 2, alone, taken: 0.25 }, alike(1)];
        let whole = solve(&servers, &[group(count, pause, &demands)]).unwrap();
        let parts = [group(first, pause, &demands), group(count - first, pause, &demands)];
        let split = solve(&servers, &parts).unwrap();
        prop_assert!(close(split.throughput.iter().sum(), whole.throughput[0]));
        for place in 0..2 {
            prop_assert!(close(split.utilisation[place], whole.utilisation[place]));
            prop_assert!(close(split.clients[place], whole.clients[place]));
        }
    }

    #[test]
    fn throughput_keeps_to_its_bounds(
        count in 1u32..200,
        pause in 0.0f64..5.0,
        demands in prop::collection::vec(0.1f64..1.5, 3),
        alone in 0.5f64..=1.0,
    ) {
        let servers = [alike(1), Servers { count: 3, alone, taken: 0.0 }, alike(2)];
        let found = solve(&servers, &[group(count, pause, &demands)]).unwrap();
        let rate = found.throughput[0];
        // No faster than the busiest server, nor than clients that never meet (asymptotic bounds,
        // Lazowska et al., section 5.2).
        let each: Vec<f64> = servers.iter().zip(&demands).map(|(s, d)| d / f64::from(s.count)).collect();
        let busiest = each.iter().copied().fold(0.0, f64::max);
        let alone_turn = pause + demands[0] + demands[1] / alone + demands[2];
        prop_assert!(rate <= 1.0 / busiest + 1e-9);
        prop_assert!(rate <= f64::from(count) / alone_turn + 1e-9);
        // All clients are somewhere.
        let present: f64 = servers.iter().zip(&found.clients).map(|(s, c)| f64::from(s.count) * c).sum();
        prop_assert!(close(present + rate * pause, f64::from(count)));
    }
}

#[test]
fn servers_alike_without_pause_are_busy_as_the_closed_form_says() {
    for servers in [1, 2, 8, 64] {
        for clients in [1, 7, 8, 56, 64, 500] {
            let found = solve(&[alike(servers)], &[group(clients, 0.0, &[2.0])]).unwrap();
            assert!(close(found.utilisation[0], balanced(clients, servers)));
            let each = f64::from(clients) / f64::from(servers);
            assert!(close(found.clients[0], each));
        }
    }
    // N / (N + 7).
    assert!(close(balanced(56, 8), 56.0 / 63.0));
    assert_eq!((balanced(0, 8), balanced(5, 0)), (0.0, 0.0));
}

#[test]
fn chosen_at_once() {
    assert!(close(busy_servers(1, 8), 1.0));
    assert!(close(busy_servers(2, 2), 1.5));
    assert!(close(busy_servers(10, 1), 1.0));
    assert_eq!((busy_servers(0, 8), busy_servers(8, 0)), (0.0, 0.0));
    // As many of each, and ever more: 1 - 1 / e.
    let part = busy_servers(1 << 20, 1 << 20) / f64::from(1 << 20);
    assert!((part - (1.0 - (-1.0f64).exp())).abs() < 1e-6);
    // By counting all choices of three clients among four.
    let mut sum = 0;
    for choice in 0..64u32 {
        let chosen: std::collections::BTreeSet<u32> =
            (0..3).map(|client| choice >> (2 * client) & 3).collect();
        sum += chosen.len();
    }
    assert!(close(busy_servers(3, 4), sum as f64 / 64.0));
    // A server that is slow for those who chose it keeps them: fewer are busy than by chance.
    for (clients, servers) in [(8, 8), (56, 8), (512, 64)] {
        assert!(balanced(clients, servers) * f64::from(servers) < busy_servers(clients, servers));
    }
}

/// E\[1 / M\] of the multinomial distribution: sequences of choices by the largest number of equal
/// ones, server by server, in proportion to S^C.
fn most_exactly(clients: usize, servers: usize) -> f64 {
    let mut below = 0.0;
    let none = (-(clients as f64) / servers as f64).exp();
    let mut inverse = 0.0;
    for most in 1..=clients {
        // Ways in which the servers so far have n clients, each at most so many, over n! S^n.
        let mut ways = vec![0.0; clients + 1];
        ways[0] = 1.0;
        for _ in 0..servers {
            let mut next = vec![0.0; clients + 1];
            for (n, next) in next.iter_mut().enumerate() {
                let mut term = 1.0;
                for here in 0..=most.min(n) {
                    if here > 0 {
                        // Scaled by the mean, so that the sums stay near 1.
                        term *= clients as f64 / servers as f64 / here as f64;
                    }
                    *next += ways[n - here] * term * none;
                }
            }
            ways = next;
        }
        let mut all = 1.0;
        for n in 1..=clients {
            all *= clients as f64 / n as f64 * (-1.0f64).exp();
        }
        let at_most = ways[clients] / all;
        inverse += (at_most - below) / most as f64;
        below = at_most;
        if 1.0 - below < 1e-11 {
            break;
        }
    }
    assert!((below - 1.0).abs() < 1e-9, "{below}");
    inverse
}

#[test]
fn at_the_pace_of_the_slowest() {
    assert_eq!(
        (coupled(0, 4), coupled(4, 0), coupled(9, 1)),
        (0.0, 0.0, 1.0)
    );
    let few = (1..12).flat_map(|clients| (2..9).map(move |servers| (clients, servers)));
    let more = [
        (32, 32),
        (60, 4),
        (56, 8),
        (48, 16),
        (224, 32),
        (30, 2),
        (31, 2),
    ];
    for (clients, servers) in few.chain(more) {
        let exact = f64::from(clients) * most_exactly(clients as usize, servers as usize);
        let error = coupled(clients, servers) * f64::from(servers) / exact - 1.0;
        assert!(error.abs() < 0.01, "{clients} at {servers}: {error}");
    }
    // With ever more clients all servers are chosen alike.
    assert!((0.98..1.0).contains(&coupled(1 << 14, 4)));
    assert!(coupled(4096, 512) < coupled(4096, 256));
}

#[test]
fn many_groups_are_approximated_closely() {
    let servers = [
        alike(8),
        Servers {
            count: 56,
            alone: 0.8,
            taken: 0.1,
        },
    ];
    let clients = |count| {
        vec![
            group(count, 0.5, &[1.0, 0.0]),
            group(count, 0.0, &[0.2, 1.0]),
            group(count, 3.0, &[0.0, 1.0]),
        ]
    };
    let exact = solve(&servers, &clients(49)).unwrap();
    // 51^3 states of two groups of servers are too many.
    let few = solve(&servers, &clients(50)).unwrap();
    let many = solve(&servers, &clients(51)).unwrap();
    for group in 0..3 {
        assert!(exact.throughput[group] < few.throughput[group] * 1.02);
        let step = many.throughput[group] / few.throughput[group];
        assert!((step - 1.0).abs() < 0.02, "{step}");
    }
    let large = solve(&servers, &clients(4096)).unwrap();
    assert!(large.utilisation[0] > 0.99 && large.utilisation[0] <= 1.0 + 1e-9);
}

#[test]
fn loops_that_cannot_be_are_refused() {
    let refused = |servers: &[Servers], clients: &[Clients]| {
        closed::solve(servers, clients).unwrap_err().to_string()
    };
    assert!(refused(&[alike(0)], &[]).contains("servers of a group is 0"));
    let slow = Servers {
        alone: 0.4,
        ..alike(1)
    };
    assert!(refused(&[slow], &[]).contains("0.5 to 1"));
    let full = Servers {
        taken: 1.0,
        ..alike(1)
    };
    assert!(refused(&[full], &[]).contains("speed taken away is 1"));
    assert!(refused(&[alike(1)], &[group(1, 1.0, &[])]).contains("one demand for each"));
    assert!(refused(&[alike(1)], &[group(1, 0.0, &[0.0])]).contains("turn of a client is 0"));
    assert!(refused(&[alike(1)], &[group(1, -1.0, &[1.0])]).contains("pause"));
    let nobody = solve(&[alike(3)], &[]).unwrap();
    assert_eq!((nobody.throughput.len(), nobody.utilisation[0]), (0, 0.0));
    let nobody = solve(&[alike(3)], &[group(0, 0.0, &[1.0])]).unwrap();
    assert_eq!((nobody.throughput[0], nobody.clients[0]), (0.0, 0.0));
}

#[test]
fn clients_complete_what_they_are_offered_if_they_can() {
    let servers = [alike(8)];
    let clients = [group(32, 0.1, &[1.0])];
    let most = solve(&servers, &clients).unwrap().throughput[0];
    for part in [0.01, 0.3, 0.7, 0.95, 0.999] {
        let offered = part * most / 32.0;
        let found = solve_offered(&servers, &clients, &[offered]).unwrap();
        assert!(
            (found.throughput[0] / (part * most) - 1.0).abs() < 1e-6,
            "{part}"
        );
        assert!(close(found.utilisation[0] * 8.0, found.throughput[0]));
    }
    for offered in [most / 31.0, 10.0, f64::INFINITY] {
        let found = solve_offered(&servers, &clients, &[offered]).unwrap();
        assert!((found.throughput[0] / most - 1.0).abs() < 1e-6, "{offered}");
    }
}

#[test]
fn many_that_are_offered_little_take_a_part_of_the_speed_away() {
    // The more clients share an offer, the less they slow each other down: an open class.
    let offer = 4.0;
    let closed = group(8, 0.0, &[0.5, 0.5]);
    let servers = |taken| [Servers { taken, ..alike(8) }, alike(8)];
    let open = solve(&servers(offer / 8.0), std::slice::from_ref(&closed)).unwrap();
    let mut last = f64::INFINITY;
    for count in [16, 128, 1024] {
        let offering = group(count, 0.0, &[1.0, 0.0]);
        let offered = [f64::INFINITY, offer / f64::from(count)];
        let found = solve_offered(&servers(0.0), &[closed.clone(), offering], &offered).unwrap();
        assert!((found.throughput[1] / offer - 1.0).abs() < 1e-6);
        let error = (found.throughput[0] / open.throughput[0] - 1.0).abs();
        assert!(error < last, "{count}: {error}");
        last = error;
    }
    assert!(last < 0.002, "{last}");
    let refused = solve_offered(&servers(0.0), std::slice::from_ref(&closed), &[]).unwrap_err();
    assert!(refused.to_string().contains("one rate offered for each"));
    assert!(solve_offered(&servers(0.0), std::slice::from_ref(&closed), &[f64::NAN]).is_err());
    let nothing = solve_offered(&servers(0.0), &[closed], &[0.0]).unwrap();
    assert_eq!(nothing.throughput, [0.0]);
}
