//! Mean value analysis: exact state by state, or approximate for many clients.

use super::{Clients, Servers, Solution};

/// What a state of the network has for each group of servers.
#[derive(Debug, Clone, Copy)]
struct Found {
    /// Mean number of clients at one server.
    clients: f64,
    /// Probability that there is none.
    idle: f64,
}

const EMPTY: Found = Found {
    clients: 0.0,
    idle: 1.0,
};

impl Servers {
    /// Time at the group for a message of this demand that finds the servers so.
    ///
    /// A server works at speed a for one client and 1 for more: of the sum over j of (j / speed(j))
    /// p(j - 1), all terms but the first are those of a server of speed 1.
    fn residence(&self, demand: f64, found: Found) -> f64 {
        let alone = (1.0 / self.alone - 1.0) * found.idle;
        demand / (1.0 - self.taken) * (1.0 + found.clients + alone)
    }

    /// Probability that none is there when a server is asked for `busy` times its full speed by
    /// messages that found it idle with probability `idle`: p(1) = busy idle / a, and by the balance
    /// of work p(2 or more) = busy (1 - idle).
    fn idle(&self, busy: f64, idle: f64) -> f64 {
        (1.0 - busy * (1.0 + (1.0 / self.alone - 1.0) * idle)).max(0.0)
    }
}

/// From the states with one client fewer to each state, all the way.
pub(super) fn exact(servers: &[Servers], clients: &[Clients]) -> Solution {
    if let [group] = clients {
        return exact_for_one(servers, group);
    }
    // States in mixed radix, the first group of clients counting fastest.
    let strides: Vec<usize> = clients
        .iter()
        .scan(1, |stride, group| {
            let this = *stride;
            *stride *= group.count as usize + 1;
            Some(this)
        })
        .collect();
    let states: usize = clients
        .iter()
        .map(|group| group.count as usize + 1)
        .product();
    let mut found = vec![EMPTY; states * servers.len()];
    let mut throughput = vec![0.0; clients.len()];
    let mut times = vec![0.0; servers.len()];
    for state in 1..states {
        let (earlier, rest) = found.split_at_mut(state * servers.len());
        let now = &mut rest[..servers.len()];
        let mut busy = vec![0.0; servers.len()];
        // Weighted by the throughput of each group, whose messages find different states.
        let mut found_idle = vec![0.0; servers.len()];
        now.fill(Found {
            clients: 0.0,
            idle: 0.0,
        });
        for (number, group) in clients.iter().enumerate() {
            let present = state / strides[number] % (group.count as usize + 1);
            throughput[number] = 0.0;
            if present == 0 {
                continue;
            }
            let before = (state - strides[number]) * servers.len();
            let before = &earlier[before..before + servers.len()];
            let mut turn = group.pause;
            for (place, group_of) in servers.iter().enumerate() {
                times[place] = group_of.residence(group.demands[place], before[place]);
                turn += times[place];
            }
            let rate = present as f64 / turn;
            throughput[number] = rate;
            for (place, group_of) in servers.iter().enumerate() {
                let each = rate / f64::from(group_of.count);
                now[place].clients += each * times[place];
                let work = each * group.demands[place] / (1.0 - group_of.taken);
                busy[place] += work;
                found_idle[place] += work * before[place].idle;
            }
        }
        for (place, group_of) in servers.iter().enumerate() {
            let mean = match busy[place] > 0.0 {
                true => found_idle[place] / busy[place],
                false => 1.0,
            };
            now[place].idle = group_of.idle(busy[place], mean);
        }
    }
    let last = &found[(states - 1) * servers.len()..];
    solution(servers, clients, throughput, last)
}

/// The same, only the last state being kept.
fn exact_for_one(servers: &[Servers], group: &Clients) -> Solution {
    let mut found = vec![EMPTY; servers.len()];
    let mut throughput = 0.0;
    let mut times = vec![0.0; servers.len()];
    for present in 1..=group.count {
        for (place, time) in times.iter_mut().enumerate() {
            *time = servers[place].residence(group.demands[place], found[place]);
        }
        throughput = f64::from(present) / (group.pause + times.iter().sum::<f64>());
        for (place, group_of) in servers.iter().enumerate() {
            let each = throughput / f64::from(group_of.count);
            let busy = each * group.demands[place] / (1.0 - group_of.taken);
            found[place] = Found {
                clients: each * times[place],
                idle: group_of.idle(busy, found[place].idle),
            };
        }
    }
    solution(
        servers,
        std::slice::from_ref(group),
        vec![throughput],
        &found,
    )
}

/// A message finds the others of its group as they are with one fewer, in proportion.
pub(super) fn approximate(servers: &[Servers], clients: &[Clients]) -> Solution {
    let width = servers.len();
    // Mean number of clients of each group at a server of each group, evenly at first.
    let mut at: Vec<f64> = clients
        .iter()
        .flat_map(|group| {
            let asked: f64 = group.demands.iter().sum();
            servers
                .iter()
                .zip(&group.demands)
                .map(move |(server, demand)| {
                    let part = if asked > 0.0 { demand / asked } else { 0.0 };
                    f64::from(group.count) * part / f64::from(server.count)
                })
        })
        .collect();
    let mut idle = vec![0.5; width];
    let mut throughput = vec![0.0; clients.len()];
    for _ in 0..10_000 {
        let mut busy = vec![0.0; width];
        let mut change = 0.0f64;
        let sums: Vec<f64> = (0..width)
            .map(|place| {
                (0..clients.len())
                    .map(|group| at[group * width + place])
                    .sum()
            })
            .collect();
        for (number, group) in clients.iter().enumerate() {
            if group.count == 0 {
                continue;
            }
            let own = &mut at[number * width..(number + 1) * width];
            let fewer = 1.0 / f64::from(group.count);
            let times: Vec<f64> = (0..width)
                .map(|place| {
                    let found = Found {
                        clients: sums[place] - own[place] * fewer,
                        idle: idle[place],
                    };
                    servers[place].residence(group.demands[place], found)
                })
                .collect();
            let rate = f64::from(group.count) / (group.pause + times.iter().sum::<f64>());
            throughput[number] = rate;
            for place in 0..width {
                let each = rate / f64::from(servers[place].count);
                let next = each * times[place];
                change = change.max((next - own[place]).abs() / f64::from(group.count));
                own[place] = next;
                busy[place] += each * group.demands[place] / (1.0 - servers[place].taken);
            }
        }
        for place in 0..width {
            let next = servers[place].idle(busy[place], idle[place]);
            change = change.max((next - idle[place]).abs());
            // Halfway, as the value goes up when the last one was low.
            idle[place] = (idle[place] + next) / 2.0;
        }
        if change < 1e-12 {
            break;
        }
    }
    let found: Vec<Found> = (0..width)
        .map(|place| Found {
            clients: (0..clients.len())
                .map(|group| at[group * width + place])
                .sum(),
            idle: idle[place],
        })
        .collect();
    solution(servers, clients, throughput, &found)
}

fn solution(
    servers: &[Servers],
    clients: &[Clients],
    throughput: Vec<f64>,
    found: &[Found],
) -> Solution {
    let utilisation = servers.iter().enumerate().map(|(place, server)| {
        let groups = clients.iter().zip(&throughput);
        let asked: f64 = groups
            .map(|(group, rate)| rate * group.demands[place])
            .sum();
        asked / f64::from(server.count)
    });
    Solution {
        utilisation: utilisation.collect(),
        clients: found.iter().map(|found| found.clients).collect(),
        throughput,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_approximation_is_close_to_what_it_stands_for() {
        let servers = |alone| {
            [
                Servers {
                    count: 8,
                    alone,
                    taken: 0.0,
                },
                Servers {
                    count: 24,
                    alone: 1.0,
                    taken: 0.2,
                },
            ]
        };
        let group = |count, pause, demands: [f64; 2]| Clients {
            count,
            pause,
            demands: demands.to_vec(),
        };
        let mut largest = 0.0f64;
        for alone in [0.6, 0.9, 1.0] {
            for (first, second) in [(4, 4), (32, 32), (60, 20), (200, 10)] {
                for pause in [0.0, 0.5, 4.0] {
                    let clients = [
                        group(first, pause, [1.0, 0.0]),
                        group(second, 0.0, [0.25, 0.75]),
                    ];
                    let (servers, clients) = (servers(alone), clients);
                    let exact = exact(&servers, &clients);
                    let close = approximate(&servers, &clients);
                    for (a, b) in exact.throughput.iter().zip(&close.throughput) {
                        largest = largest.max((a / b - 1.0).abs());
                    }
                }
            }
        }
        assert!(largest < 0.02, "{largest}");
    }
}
