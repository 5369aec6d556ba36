//! Clients with a few messages under way each, which meet in links and interfaces.
//!
//! A message moves through all parts of its way at once, packet by packet: it takes the time that it
//! would take with nothing in its way, and waits where parts are asked for more than they do. For a part
//! at which a message asks for the share a of all time while it moves, and at which it finds others that
//! ask for A together, all of them go on slower by the factor a + A where that is above one, so that it
//! waits t E\[(a + A - 1)+\], t its time with nothing in its way. What it finds is what is there with one
//! message fewer of its client, in proportion (Bard's and Schweitzer's approximation: P. J. Schweitzer,
//! *Approximate analysis of multiclass closed networks of queues*, 1979); each other message is there or
//! not independently, so that their number is taken to be binomial, with its mean and variance. By
//! Little's law the throughput of a client is what it has under way over its turn, pauses included. Messages of
//! one stream, which come from one part, have waited for each other there: their wait for each other is subtracted.
//!
//! For clients that are alike this is exact where one message alone fills a part: C clients of S servers
//! keep S C / (C + S - 1) of them busy (W. J. Gordon, G. F. Newell, *Closed queuing systems with
//! exponential servers*, Oper. Res. 15, 1967: all states are equally likely). Each of 8 servers is busy for
//! N / (N + 7) of the time.

use super::lumps::{Class, Lumps, lumps};
use crate::Error;
use crate::error::{check, check_not_negative};

/// What a client's messages ask of a part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Use {
    /// Number of the part.
    pub part: u32,
    /// Probability that a message uses it.
    pub probability: f64,
    /// Time for which it keeps the part busy then, no longer than its transfer.
    pub busy: f64,
    /// True for a stream: the messages that reach a part from one part before it. Their wait for each other is subtracted.
    pub is_stream: bool,
}

/// A client.
#[derive(Debug, Clone, PartialEq)]
pub struct Client {
    /// Messages that it has under way at most.
    pub under_way: u32,
    /// Of those the most that move at a time, 1 or more: a node that sends one after the other has one,
    /// and what more are under way fills its pauses.
    pub at_once: f64,
    /// Between the end of a message and the begin of the next in its place, using nothing.
    pub pause: f64,
    /// Time of a message with nothing in its way.
    pub transfer: f64,
    /// Messages per time that it is offered; infinite in a closed loop.
    pub offered: f64,
    /// The parts and streams that it uses, each once.
    pub uses: Vec<Use>,
}

impl Client {
    /// Messages per time where nothing is in its way.
    pub fn alone(&self) -> f64 {
        let turn = self.pause + self.transfer;
        (f64::from(self.under_way) / turn)
            .min(self.at_once / self.transfer)
            .min(self.offered)
    }
}

/// What comes of it for a client.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Messages per time.
    pub throughput: f64,
    /// Time of a message, waits included.
    pub time: f64,
}

/// Change in a step, relative to what there is, below which nothing changes any more.
const SETTLED: f64 = 1e-9;

/// Most uses of parts by classes of clients: each step takes time for each of them.
const USES_MAX: usize = 1 << 17;

/// Steps in which it has to come to that.
const MAX_STEPS: u32 = 20_000;

/// Check the numbers of clients, and find those that are alike.
fn checked(clients: &[Client]) -> Result<Lumps, Error> {
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
    let lumps = lumps(clients);
    let uses: usize = lumps.classes.iter().map(|class| class.uses.len()).sum();
    let expected = "131072 or fewer";
    let uses_field = "number of different uses of links by clients";
    check(uses_field, uses as f64, expected, uses <= USES_MAX)?;
    Ok(lumps)
}

/// The pace of each client, of any number of parts, in equilibrium.
///
/// Clients and parts that no client can tell apart are solved once. A client that is offered less than it
/// could complete is taken to pause for as much longer.
///
/// # Errors
/// A number that is negative or not finite, nothing under way, a transfer of no time or shorter than what
/// it keeps busy, a probability above 1; paces that do not settle.
pub fn solve(clients: &[Client]) -> Result<Vec<Pace>, Error> {
    let lumps = checked(clients)?;
    let paces = equilibrium(clients, &lumps)?;
    Ok(lumps.of_client.iter().map(|&class| paces[class]).collect())
}

/// Messages per time of each client by max-min fair shares of all parts (D. Bertsekas, R. Gallager, *Data Networks*, section
/// 6.5.2): a bound for messages that lose no time by meeting at random.
///
/// All are filled alike, in time for which a client moves data, until a part is full, or a client has what it gets alone.
///
/// # Errors
/// Those of [`solve`], except paces that do not settle.
pub fn fair_shares(clients: &[Client]) -> Result<Vec<f64>, Error> {
    let lumps = checked(clients)?;
    let transfer = |class: &Class| clients[class.client].transfer;
    let mut found: Vec<Option<f64>> = vec![None; lumps.classes.len()];
    while found.contains(&None) {
        let (mut taken, mut asked) = (vec![0.0; lumps.part_classes], vec![0.0; lumps.part_classes]);
        for (class, level) in lumps.classes.iter().zip(&found) {
            for of in class.uses.iter().filter(|of| !of.is_stream) {
                let each = of.clients * of.probability * of.busy / transfer(class);
                match level {
                    Some(level) => taken[of.part_class] += each * level,
                    None => asked[of.part_class] += each,
                }
            }
        }
        // Of each part the level at which it is full.
        let full: Vec<f64> = (taken.iter().zip(&asked))
            .map(|(taken, asked)| (1.0 - taken).max(0.0) / asked)
            .collect();
        let most: Vec<f64> = (lumps.classes.iter())
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
    let rate = |&class: &usize| found[class].unwrap_or_default() / transfer(&lumps.classes[class]);
    Ok(lumps.of_client.iter().map(rate).collect())
}

/// Of a class of clients at a class of parts.
struct Visit {
    part: usize,
    /// Parts of the class that a client uses.
    parts: f64,
    /// Clients of the class that use a part.
    clients: f64,
    probability: f64,
    /// 1; -1 for a stream.
    sign: f64,
    /// Share of the part's time that it asks for while it moves.
    share: f64,
    /// Mean number of its messages there.
    present: f64,
}

/// What is found at a part: sums over all messages there.
#[derive(Clone, Copy, Default)]
struct Found {
    /// Of present a, the share that they ask for.
    asked: f64,
    /// Of present a^2.
    squares: f64,
    /// Of present^2 a^2 / at once: what presence for certain takes off the variance.
    certain: f64,
}

fn equilibrium(clients: &[Client], lumps: &Lumps) -> Result<Vec<Pace>, Error> {
    let mut classes: Vec<(&Client, Vec<Visit>)> = lumps
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
    let mut found = vec![Found::default(); lumps.part_classes];
    for step in 0..MAX_STEPS {
        found.fill(Found::default());
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
                let wait = client.transfer * excess(visit, most, &found[visit.part]);
                time += visit.sign * visit.parts * visit.probability * wait;
            }
            let time = time.max(client.transfer);
            // No more than is offered, and than moves.
            let throughput = (f64::from(client.under_way) / (client.pause + time))
                .min(most / time)
                .min(client.offered);
            change = change
                .max((throughput - pace.throughput).abs() / throughput.max(f64::MIN_POSITIVE));
            *pace = Pace { throughput, time };
            for visit in visits.iter_mut() {
                let there = client.transfer * (1.0 + excess(visit, most, &found[visit.part]));
                let next = (throughput * visit.probability * there).min(most);
                change = change.max((next - visit.present).abs() / most);
                // Halfway, as there are fewer the next time where there are many now.
                visit.present = match step {
                    0 => next,
                    _ => (visit.present + next) / 2.0,
                };
            }
        }
        if change < SETTLED {
            return Ok(paces);
        }
    }
    Err(Error::Contradiction(
        "the paces of the clients do not settle",
    ))
}

/// E\[(a + A - 1)+\] for one message of a client that finds what there is but for itself.
fn excess(visit: &Visit, at_once: f64, found: &Found) -> f64 {
    let own = visit.present / at_once * visit.share;
    let asked = found.asked - own;
    let squares = found.squares - own * visit.share;
    if asked <= 1e-12 || squares <= 0.0 {
        return 0.0;
    }
    let each = squares / asked;
    let mean = asked / each;
    let probability = ((found.certain - own * own) / squares).clamp(0.0, 1.0);
    each * beyond(mean, probability, (1.0 - visit.share) / each)
}

/// E\[(N - limit)+\] of a binomial number N of this mean, `probability` that of each: of a Poisson one
/// where that is 0, and the mean itself where it is 1.
fn beyond(mean: f64, probability: f64, limit: f64) -> f64 {
    if limit <= 0.0 {
        return mean - limit;
    }
    if probability > 1.0 - 1e-9 {
        return (mean - limit).max(0.0);
    }
    // At most so many, which need not be a whole number here.
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
