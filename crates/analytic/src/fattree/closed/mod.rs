//! Closed loops: clients that wait for one message before they send the next, to servers that they
//! choose anew for each message (section 4.4 of the QsNET paper).
//!
//! Two clients that choose the same server leave another one idle. How many are busy:
//! - If all chose at the same time, S (1 - (1 - 1/S)^C) of S servers ([`busy_servers`]).
//! - Clients that choose when they are through come upon servers that are slow because others have
//!   chosen them. Messages of exponential length that share a server alike (or wait for it in turn)
//!   make a closed network of queues whose states have probabilities in product form (Gordon and
//!   Newell, *Closed queuing systems with exponential servers*, Oper. Res. 15, 1967): with S servers
//!   all states are equally likely, and a server is busy with probability C / (C + S - 1)
//!   ([`balanced`]). With 8 servers this is N / (N + 7).
//! - If packets that wait for a slow server hold links that lead to the others as well, all clients
//!   are down to its pace: with n clients and at most M of them at one server, all servers together
//!   do n / M times what one does ([`coupled`]). Servers side by side under few switches come close
//!   to that when packets hold circuits; servers that are spread out do not.
//! - Servers that differ, clients of several kinds, pauses between messages, clients that cannot
//!   fill a server: [`solve`], by mean value analysis.
//!
//! Clients with arrivals of their own, which queue behind the one message under way, complete what
//! they are offered as long as that is less than what such a closed loop would ([`solve_offered`]).

mod mean_values;
mod occupancy;

use crate::Error;
use crate::error::{check, check_not_negative};

/// Expected number of servers chosen by any of `clients`, each of which chooses one of `servers`
/// with the same probability.
pub fn busy_servers(clients: u32, servers: u32) -> f64 {
    if servers == 0 {
        return 0.0;
    }
    let all = f64::from(servers);
    // 1 - (1 - 1/S)^C, exact for many servers as well.
    let none = (f64::from(clients) * (-1.0 / all).ln_1p()).exp_m1();
    -all * none
}

/// Probability that a server is busy when `clients` always have one message under way each, at one
/// of `servers` alike: C / (C + S - 1).
pub fn balanced(clients: u32, servers: u32) -> f64 {
    if clients == 0 || servers == 0 {
        return 0.0;
    }
    let (clients, servers) = (f64::from(clients), f64::from(servers));
    clients / (clients + servers - 1.0)
}

/// Part of the speed of all servers that `clients` make use of who have one message under way each,
/// at one of `servers` chosen at random, when all are held to the pace of those at the server that
/// was chosen most: C E\[1 / M\] / S, M the most clients at one server.
///
/// By a saddle-point approximation of the distribution of M, within 1% of what counting all choices
/// gives.
pub fn coupled(clients: u32, servers: u32) -> f64 {
    if clients == 0 || servers == 0 {
        return 0.0;
    }
    f64::from(clients) / f64::from(servers) * occupancy::mean_inverse_most(clients, servers)
}

/// Servers that are alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Servers {
    /// How many.
    pub count: u32,
    /// Speed at which a server works for one client alone, as a part of its full speed, from 0.5 to
    /// 1; two or more clients make use of all of it.
    pub alone: f64,
    /// Part of its full speed that others take away, whom the clients do not slow down: 0 for none,
    /// below 1. (Open classes of a mixed network: Lazowska et al., *Quantitative System
    /// Performance*, 1984, section 7.4.)
    pub taken: f64,
}

/// Clients that are alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Clients {
    /// How many.
    pub count: u32,
    /// Time of a client for itself between two messages.
    pub pause: f64,
    /// For each group of servers, the time that a message takes at one of them at full speed, times
    /// the probability that a message goes to any of the group.
    pub demands: Vec<f64>,
}

/// What comes of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// For each group of clients, messages per time of all of them together.
    pub throughput: Vec<f64>,
    /// For each group of servers, the part of the full speed of each that the clients make use of.
    pub utilisation: Vec<f64>,
    /// For each group of servers, the mean number of clients at each.
    pub clients: Vec<f64>,
}

/// Most states of clients that [`solve`] goes through one by one.
const MAX_STATES: u64 = 1 << 18;

/// Groups of clients at groups of servers, in equilibrium.
///
/// By mean value analysis (Reiser and Lavenberg, *Mean-value analysis of closed multichain queuing
/// networks*, JACM 27, 1980), exact for product form networks: messages of exponential length, or of
/// any length if servers work for all their clients alike (BCMP). One group of clients is always
/// solved exactly; several are as long as the product of their numbers, each plus one, times the
/// groups of servers, is 262,144 at most; else Bard's and Schweitzer's approximation stands in for
/// the clients that a new one finds (P. J. Schweitzer, 1979), within 2% where it was compared.
///
/// # Errors
/// A number that is negative, not finite or out of its range, demands that are not one for each
/// group of servers, clients that neither pause nor ask for anything.
pub fn solve(servers: &[Servers], clients: &[Clients]) -> Result<Solution, Error> {
    check_input(servers, clients)?;
    let states = clients.iter().fold(servers.len() as u64, |states, group| {
        states.saturating_mul(u64::from(group.count) + 1)
    });
    Ok(if clients.len() <= 1 || states <= MAX_STATES {
        mean_values::exact(servers, clients)
    } else {
        mean_values::approximate(servers, clients)
    })
}

/// The same for groups of clients each of which is offered so many messages per time, infinitely many
/// in a closed loop. A client that is offered fewer than it could complete is taken to pause for as
/// much longer as brings its turn to the time between two messages offered; `pause` is then the least.
///
/// # Errors
/// Those of [`solve`], rates that are not one for each group of clients, or negative.
pub fn solve_offered(
    servers: &[Servers],
    clients: &[Clients],
    offered: &[f64],
) -> Result<Solution, Error> {
    if offered.len() != clients.len() {
        return Err(Error::Contradiction(
            "there is not one rate offered for each group of clients",
        ));
    }
    check_input(servers, clients)?;
    let mut clients = clients.to_vec();
    for (group, &rate) in clients.iter_mut().zip(offered) {
        check("rate offered", rate.min(0.0), "0 or more", rate >= 0.0)?;
        if rate == 0.0 {
            group.count = 0;
        }
    }
    let least: Vec<f64> = clients.iter().map(|group| group.pause).collect();
    for _ in 0..MAX_ROUNDS {
        let solution = solve(servers, &clients)?;
        let mut change = 0.0f64;
        for (number, group) in clients.iter_mut().enumerate() {
            if group.count == 0 || offered[number].is_infinite() {
                continue;
            }
            let turn = 1.0 / offered[number];
            let away = f64::from(group.count) / solution.throughput[number] - group.pause;
            let pause = (turn - away).max(least[number]);
            change = change.max((pause - group.pause).abs() / turn);
            group.pause = pause;
        }
        if change < 1e-9 {
            return Ok(solution);
        }
    }
    solve(servers, &clients)
}

/// Rounds after which [`solve_offered`] takes what it has; the closer an offer is to what can be
/// completed, the more it takes.
const MAX_ROUNDS: u32 = 1_000;

fn check_input(servers: &[Servers], clients: &[Clients]) -> Result<(), Error> {
    for group in servers {
        let some = group.count > 0;
        check("servers of a group", group.count.into(), "1 or more", some)?;
        let half = (0.5..=1.0).contains(&group.alone);
        check("speed for one client alone", group.alone, "0.5 to 1", half)?;
        let left = (0.0..1.0).contains(&group.taken);
        check("speed taken away", group.taken, "0 or more, below 1", left)?;
    }
    for group in clients {
        check_not_negative("pause of a client", group.pause)?;
        if group.demands.len() != servers.len() {
            return Err(Error::Contradiction(
                "the clients do not have one demand for each group of servers",
            ));
        }
        for &demand in &group.demands {
            check_not_negative("demand of a client", demand)?;
        }
        let turn = group.pause + group.demands.iter().sum::<f64>();
        check("turn of a client", turn, "above zero", turn > 0.0)?;
    }
    Ok(())
}
