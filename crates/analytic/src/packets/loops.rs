//! Throughput of clients with a few messages in flight each, whose messages meet at links and interfaces: approximate
//! mean value analysis of a closed network.
//!
//! A message moves through all parts of its route at once, packet by packet. Its duration is the time that it needs
//! alone, and waits at parts whose demand exceeds their capacity. Suppose that a message uses the share a of a part's time
//! while it moves, and that the other messages there use A together. Then all of them slow down by the factor a + A if
//! that is above one, so the message waits t E\[(a + A - 1)+\], where t is the time that it needs alone. An arriving
//! message meets the mean load of the others; that of its own client, with n messages, is scaled by (n - 1) / n (Bard's
//! and Schweitzer's approximation: P. J. Schweitzer, *Approximate analysis of multiclass closed networks of queues*,
//! 1979). Other messages are present independently, so their number is assumed to be binomial, with its mean and variance. By Little's law the throughput
//! of a client is its number of messages in flight over its cycle time, pauses included. Messages of one stream, which
//! come from one part, have already waited for each other there: their wait for each other is subtracted.
//!
//! For identical clients this is exact if one message alone fills a part: C clients of S servers keep S C / (C + S - 1)
//! of them busy (W. J. Gordon, G. F. Newell, *Closed queuing systems with exponential servers*, Oper. Res. 15, 1967:
//! all states are equally likely). With S = 8, each server is busy for C / (C + 7) of the time.

use super::equivalence::{Class, Equivalence, equivalence_classes};
use crate::Error;
use crate::error::{check, check_not_negative};

/// Use of a part (a link, server or interface) by the messages of a client.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Use {
    /// Number of the part (link, server or interface).
    pub part: u32,
    /// Probability that a message uses the part.
    pub probability: f64,
    /// Time for which a message that uses the part occupies it; at most the transfer time of the message.
    pub busy: f64,
    /// Whether this entry is a stream: the messages that reach the part from one previous part. Their wait for each
    /// other is subtracted.
    pub is_stream: bool,
}

/// A client: a source of messages in a closed loop.
#[derive(Debug, Clone, PartialEq)]
pub struct Client {
    /// Largest number of messages of the client in flight.
    pub under_way: u32,
    /// Largest number of messages in flight that move at the same time, 1 or more. A node that sends one message after
    /// the other has the value 1; its further messages fill its pauses.
    pub at_once: f64,
    /// Time from the end of a message to the start of the next message in its slot, in which no part is used.
    pub pause: f64,
    /// Time of a message without other messages.
    pub transfer: f64,
    /// Messages per unit of time that the client offers; infinite in a closed loop.
    pub offered: f64,
    /// Parts and streams that messages of the client use, each listed once.
    pub uses: Vec<Use>,
}

impl Client {
    /// Return the throughput of the client, in messages per unit of time, without other clients.
    pub fn alone(&self) -> f64 {
        let turn = self.pause + self.transfer;
        (f64::from(self.under_way) / turn)
            .min(self.at_once / self.transfer)
            .min(self.offered)
    }
}

/// Throughput of a client and latency of its messages in equilibrium.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Messages of the client per unit of time.
    pub throughput: f64,
    /// Time of a message, including its waits.
    pub time: f64,
}

/// Relative change per iteration below which the solution counts as converged.
const TOLERANCE: f64 = 1e-9;

/// Largest number of pairs of a class of parts and a class of clients that uses it. The time of an iteration is
/// proportional to this number.
const USES_MAX: usize = 1 << 17;

/// Largest number of iterations of the solution.
const ITERATIONS_MAX: u32 = 20_000;

/// Check the numbers of all clients, and group equivalent clients.
fn check_clients(clients: &[Client]) -> Result<Equivalence, Error> {
    for client in clients {
        let some = client.under_way > 0;
        let most = client.under_way.into();
        check("messages under way of a client", most, "1 or more", some)?;
        let at_once = (1.0..=most).contains(&client.at_once);
        let range = "1 or more, no more than are under way";
        check("messages that move at once", client.at_once, range, at_once)?;
        check_not_negative("pause of a client", client.pause)?;
        check_not_negative("transfer of a message", client.transfer)?;
        let moves = client.transfer > 0.0;
        check(
            "transfer of a message",
            client.transfer,
            "above zero",
            moves,
        )?;
        if client.offered != f64::INFINITY {
            check_not_negative("messages offered", client.offered)?;
        }
        for of in &client.uses {
            crate::error::check_probability("probability of a use", of.probability)?;
            check_not_negative("busy time of a part", of.busy)?;
            let within = of.busy <= client.transfer * (1.0 + 1e-9);
            check(
                "busy time of a part",
                of.busy,
                "no longer than the transfer",
                within,
            )?;
        }
    }
    let equivalence = equivalence_classes(clients);
    let uses: usize = equivalence
        .classes
        .iter()
        .map(|class| class.uses.len())
        .sum();
    let expected = "131072 or fewer";
    let uses_field = "number of different uses of links by clients";
    check(uses_field, uses as f64, expected, uses <= USES_MAX)?;
    Ok(equivalence)
}

/// Return the throughput and latency of each client in equilibrium, for any number of parts.
///
/// Equivalent clients and parts are solved once. A client with an offered load below its maximum is assumed to pause
/// longer.
///
/// # Errors
/// A number that is negative or not finite, no message in flight, a transfer of no time or shorter than the busy time
/// of a part, a probability above 1; an iteration that does not converge.
pub fn solve(clients: &[Client]) -> Result<Vec<Pace>, Error> {
    let equivalence = check_clients(clients)?;
    let paces = equilibrium(clients, &equivalence)?;
    Ok(equivalence
        .of_client
        .iter()
        .map(|&class| paces[class])
        .collect())
}

/// Return the throughput of each client, in messages per unit of time, by max-min fair shares of all parts (D.
/// Bertsekas, R. Gallager, *Data Networks*, section 6.5.2). It is a bound for messages that lose no time by random
/// collisions.
///
/// The time for which clients move data grows equally for all clients, until a part is full or a client has its
/// maximum.
///
/// # Errors
/// Those of [`solve`], except for convergence.
pub fn fair_shares(clients: &[Client]) -> Result<Vec<f64>, Error> {
    let equivalence = check_clients(clients)?;
    let transfer = |class: &Class| clients[class.client].transfer;
    let mut found: Vec<Option<f64>> = vec![None; equivalence.classes.len()];
    while found.contains(&None) {
        let (mut taken, mut asked) = (
            vec![0.0; equivalence.part_classes],
            vec![0.0; equivalence.part_classes],
        );
        for (class, level) in equivalence.classes.iter().zip(&found) {
            for of in class.uses.iter().filter(|of| !of.is_stream) {
                let each = of.clients * of.probability * of.busy / transfer(class);
                match level {
                    Some(level) => taken[of.part_class] += each * level,
                    None => asked[of.part_class] += each,
                }
            }
        }
        // For each part, the share of time for which every remaining client must move data so that the part is full.
        let full: Vec<f64> = (taken.iter().zip(&asked))
            .map(|(taken, asked)| (1.0 - taken).max(0.0) / asked)
            .collect();
        let most: Vec<f64> = (equivalence.classes.iter())
            .map(|class| {
                let parts = class.uses.iter().filter(|of| !of.is_stream);
                let alone = clients[class.client].alone() * transfer(class);
                parts.fold(alone, |most, of| most.min(full[of.part_class]))
            })
            .collect();
        let open = || (most.iter().zip(&found)).filter(|(_, found)| found.is_none());
        let level = open().fold(f64::INFINITY, |least, (most, _)| least.min(*most));
        for (found, most) in found.iter_mut().zip(&most) {
            if found.is_none() && *most <= level * (1.0 + 1e-9) {
                *found = Some(level);
            }
        }
    }
    let rate =
        |&class: &usize| found[class].unwrap_or_default() / transfer(&equivalence.classes[class]);
    Ok(equivalence.of_client.iter().map(rate).collect())
}

/// Use of a class of parts by a class of clients, during the solution.
struct Visit {
    part: usize,
    /// Number of parts of the part class that each client of the client class uses.
    parts: f64,
    /// Number of clients of the client class that use each part of the part class.
    clients: f64,
    probability: f64,
    /// 1 for a use of the part, -1 for a stream, whose wait is subtracted.
    sign: f64,
    /// Share of the part's time that a message uses while it moves.
    share: f64,
    /// Mean number of the client's messages at the part.
    present: f64,
}

/// Load of a part (a link, server or interface), as sums over the messages at it.
#[derive(Clone, Copy, Default)]
struct PartLoad {
    /// Mean load of the part: sum of `present` times a, where a is the share of the part's time that a message uses.
    asked: f64,
    /// Sum of `present` times a^2, where a is the share of the part's time that a message uses.
    squares: f64,
    /// Sum of (`present` a)^2 / `at_once`, where a is the share of the part's time that a message uses. Messages that
    /// are certainly present reduce the variance by this sum.
    certain: f64,
}

/// Return the throughput and latency of each client, computed for classes of equivalent clients.
fn equilibrium(clients: &[Client], equivalence: &Equivalence) -> Result<Vec<Pace>, Error> {
    let mut classes: Vec<(&Client, Vec<Visit>)> = equivalence
        .classes
        .iter()
        .map(|class| {
            let client = &clients[class.client];
            let visits = class.uses.iter().map(|of| Visit {
                part: of.part_class,
                parts: of.parts,
                clients: of.clients,
                probability: of.probability,
                sign: if of.is_stream { -1.0 } else { 1.0 },
                share: (of.busy / client.transfer).min(1.0),
                present: 0.0,
            });
            (client, visits.collect())
        })
        .collect();
    let mut paces = vec![
        Pace {
            throughput: 0.0,
            time: 0.0
        };
        classes.len()
    ];
    let mut found = vec![PartLoad::default(); equivalence.part_classes];
    for step in 0..ITERATIONS_MAX {
        found.fill(PartLoad::default());
        for (client, visits) in &classes {
            for visit in visits {
                let here = &mut found[visit.part];
                let asked = visit.present * visit.share;
                here.asked += visit.clients * asked;
                here.squares += visit.clients * asked * visit.share;
                here.certain += visit.clients * asked * asked / client.at_once;
            }
        }
        let mut change = 0.0f64;
        for ((client, visits), pace) in classes.iter_mut().zip(&mut paces) {
            let most = client.at_once;
            let mut time = client.transfer;
            for visit in visits.iter() {
                let wait = client.transfer * expected_overload(visit, most, &found[visit.part]);
                time += visit.sign * visit.parts * visit.probability * wait;
            }
            let time = time.max(client.transfer);
            // The throughput has three limits: all messages in flight per cycle time, the messages that move at once
            // per transfer, and the offered load.
            let throughput = (f64::from(client.under_way) / (client.pause + time))
                .min(most / time)
                .min(client.offered);
            change = change
                .max((throughput - pace.throughput).abs() / throughput.max(f64::MIN_POSITIVE));
            *pace = Pace { throughput, time };
            for visit in visits.iter_mut() {
                let there =
                    client.transfer * (1.0 + expected_overload(visit, most, &found[visit.part]));
                let next = (throughput * visit.probability * there).min(most);
                change = change.max((next - visit.present).abs() / most);
                // From the second step on, make half of the change only: many messages at a part now mean few in the
                // next step, so full changes would oscillate.
                visit.present = match step {
                    0 => next,
                    _ => (visit.present + next) / 2.0,
                };
            }
        }
        if change < TOLERANCE {
            return Ok(paces);
        }
    }
    Err(Error::Contradiction(
        "the paces of the clients do not settle",
    ))
}

/// Return the expected overload of a part while one message of a client is there, E\[(a + A - 1)+\]: a is the load by
/// this message, and A the load by all other messages.
fn expected_overload(visit: &Visit, at_once: f64, found: &PartLoad) -> f64 {
    let own = visit.present / at_once * visit.share;
    let asked = found.asked - own;
    let squares = found.squares - own * visit.share;
    if asked <= 1e-12 || squares <= 0.0 {
        return 0.0;
    }
    let each = squares / asked;
    let mean = asked / each;
    let probability = ((found.certain - own * own) / squares).clamp(0.0, 1.0);
    each * expected_excess(mean, probability, (1.0 - visit.share) / each)
}

/// Return E\[(N - limit)+\] of a binomial number N with this mean and `probability` per trial. N is Poisson if the
/// probability is 0, and constant if it is 1.
fn expected_excess(mean: f64, probability: f64, limit: f64) -> f64 {
    if limit <= 0.0 {
        return mean - limit;
    }
    if probability > 1.0 - 1e-9 {
        return (mean - limit).max(0.0);
    }
    // Number of trials of the binomial distribution, which need not be a whole number here.
    let most = mean / probability;
    let mut likely = if probability < 1e-9 {
        (-mean).exp()
    } else {
        (most * (-probability).ln_1p()).exp()
    };
    let mut sum = mean - limit;
    let mut number = 0.0;
    while number < limit && likely > 0.0 {
        sum += (limit - number) * likely;
        let ratio = if probability < 1e-9 {
            mean
        } else {
            (most - number).max(0.0) * probability / (1.0 - probability)
        };
        number += 1.0;
        likely *= ratio / number;
    }
    sum.max(0.0)
}
