//! The naive reference: every change computes all rates again by progressive filling, and moves all
//! transfers. It uses plain 128-bit numbers; steps are 2^-24 bytes.

/// Steps per byte.
const BYTE: u128 = 1 << 24;

/// A transfer to offer.
#[derive(Debug, Clone)]
pub struct Wish {
    pub bytes: u64,
    pub path: Vec<u32>,
    pub latency: u64,
    /// Steps per tick.
    pub rate_max: Option<u64>,
    /// Steps per tick.
    pub reserved: Option<u64>,
    pub tag: usize,
}

/// A report of the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Started { time: u64, number: u64, tag: usize },
    Ended { time: u64, number: u64, tag: usize },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Offered,
    Latent,
    Moving,
    Gone,
}

#[derive(Debug, Clone)]
struct Item {
    wish: Wish,
    stage: Stage,
    /// The end of the stage, unless it moves.
    until: u64,
    number: u64,
    left: u128,
}

#[derive(Debug, Clone)]
pub struct Reference {
    capacities: Vec<u64>,
    /// In the order of their offers.
    items: Vec<Item>,
    pub now: u64,
    started: u64,
    pub carried: Vec<u128>,
    pub busy: Vec<u64>,
}

/// A transfer that shares: its path, its maximum beyond the reservation, and the reservation.
type Sharer<'a> = (&'a [u32], Option<u128>, u128);

/// Returns the rate of each transfer, reservation included. `None` is unlimited.
pub fn fill(capacities: &[u64], sharers: &[Sharer<'_>]) -> Vec<Option<u128>> {
    let mut left: Vec<u128> = capacities.iter().map(|&capacity| capacity.into()).collect();
    for (path, _, reserved) in sharers {
        for &link in *path {
            left[link as usize] -= reserved;
        }
    }
    let mut shares: Vec<Option<u128>> = vec![None; sharers.len()];
    loop {
        let waiting: Vec<usize> = (0..sharers.len())
            .filter(|&i| shares[i].is_none())
            .collect();
        let on = |link: usize| {
            let crosses = |&&i: &&usize| sharers[i].0.contains(&(link as u32));
            waiting.iter().filter(crosses).count() as u128
        };
        let share_of: Vec<Option<u128>> = (0..left.len())
            .map(|link| left[link].checked_div(on(link)))
            .collect();
        let bounds = waiting.iter().filter_map(|&i| sharers[i].1);
        let Some(level) = share_of.iter().flatten().copied().chain(bounds).min() else {
            break;
        };
        for &i in &waiting {
            let (path, bound, _) = sharers[i];
            let through = path
                .iter()
                .any(|&link| share_of[link as usize] == Some(level));
            if through || bound == Some(level) {
                shares[i] = Some(level);
                for &link in path {
                    left[link as usize] -= level;
                }
            }
        }
    }
    let totals = shares.iter().zip(sharers);
    totals
        .map(|(share, sharer)| share.map(|share| share + sharer.2))
        .collect()
}

impl Reference {
    pub fn new(capacities: &[u64]) -> Self {
        Self {
            capacities: capacities.to_vec(),
            items: Vec::new(),
            now: 0,
            started: 0,
            carried: vec![0; capacities.len()],
            busy: vec![0; capacities.len()],
        }
    }

    /// Offers a transfer. Returns false if a link cannot provide the reservation.
    pub fn offer(&mut self, time: u64, wish: Wish) -> bool {
        assert!(time >= self.now, "too late");
        let want = u128::from(wish.reserved.unwrap_or(0));
        for &link in &wish.path {
            let there = self.items.iter().filter(|item| item.stage != Stage::Gone);
            let booked: u128 = there
                .filter(|item| item.wish.path.contains(&link))
                .map(|item| u128::from(item.wish.reserved.unwrap_or(0)))
                .sum();
            if want > 0 && booked + want > self.capacities[link as usize].into() {
                return false;
            }
        }
        self.items.push(Item {
            stage: Stage::Offered,
            until: time,
            number: u64::MAX,
            left: u128::from(wish.bytes) * BYTE,
            wish,
        });
        true
    }

    pub fn under_way(&self) -> u64 {
        self.started
            - self
                .items
                .iter()
                .filter(|item| item.stage == Stage::Gone)
                .count() as u64
    }

    /// Returns numbers, tags and rates of the moving transfers, by number.
    pub fn moving(&self) -> Vec<(u64, usize, u128)> {
        let rates = self.rates();
        let moving = self.items.iter().zip(rates);
        let mut moving: Vec<(u64, usize, u128)> = moving
            .filter(|(item, _)| item.stage == Stage::Moving)
            .filter_map(|(item, rate)| Some((item.number, item.wish.tag, rate?)))
            .collect();
        moving.sort_unstable();
        moving
    }

    /// Returns the rate of each item.
    fn rates(&self) -> Vec<Option<u128>> {
        let movers: Vec<usize> = (0..self.items.len())
            .filter(|&i| self.items[i].stage == Stage::Moving)
            .collect();
        let sharers: Vec<Sharer<'_>> = movers
            .iter()
            .map(|&i| {
                let wish = &self.items[i].wish;
                let reserved = u128::from(wish.reserved.unwrap_or(0));
                let bound = wish.rate_max.map(|rate| u128::from(rate) - reserved);
                (wish.path.as_slice(), bound, reserved)
            })
            .collect();
        let mut rates = vec![Some(0); self.items.len()];
        for (i, rate) in movers.into_iter().zip(fill(&self.capacities, &sharers)) {
            rates[i] = rate;
        }
        rates
    }

    /// Returns the next item to serve at the current time, if there is one.
    fn due(&self) -> Option<usize> {
        let at = |stage| {
            let items = self.items.iter().enumerate();
            items.filter(move |(_, item)| item.stage == stage)
        };
        let over = |(_, item): &(usize, &Item)| {
            let free = item.wish.path.is_empty() && item.wish.rate_max.is_none();
            item.left == 0 || free
        };
        let ended = at(Stage::Moving)
            .filter(over)
            .min_by_key(|(_, item)| item.number);
        let now = self.now;
        let begins = at(Stage::Offered).find(|(_, item)| item.until == now);
        let moves = at(Stage::Latent).filter(|(_, item)| item.until == now);
        let moves = moves.min_by_key(|(_, item)| item.number);
        ended.or(begins).or(moves).map(|(i, _)| i)
    }

    /// Returns the time of the next event after now, or never.
    pub fn next(&self) -> u64 {
        let rates = self.rates();
        let times = self
            .items
            .iter()
            .zip(rates)
            .map(|(item, rate)| match item.stage {
                Stage::Offered | Stage::Latent => item.until,
                Stage::Moving => match rate {
                    Some(0) => u64::MAX,
                    Some(rate) => self.now + u64::try_from(item.left.div_ceil(rate)).unwrap(),
                    None => self.now,
                },
                Stage::Gone => u64::MAX,
            });
        times.min().unwrap_or(u64::MAX)
    }

    /// Serves one event before `limit`, or advances to it. Returns whether there was one. `on_event`
    /// offers the follow-ups of a report.
    pub fn step(&mut self, limit: u64, on_event: &mut impl FnMut(&mut Self, Event)) -> bool {
        if self.now >= limit {
            return false;
        }
        let Some(i) = self.due() else {
            let next = self.next();
            // Without a limit the clock stays at the last event.
            if next >= limit && limit == u64::MAX {
                return false;
            }
            self.go_to(next.min(limit));
            return true;
        };
        let (time, tag) = (self.now, self.items[i].wish.tag);
        match self.items[i].stage {
            Stage::Offered => {
                let number = self.started;
                self.started += 1;
                let latency = self.items[i].wish.latency;
                self.items[i].number = number;
                self.items[i].until = time + latency;
                self.items[i].stage = match latency {
                    0 => Stage::Moving,
                    _ => Stage::Latent,
                };
                on_event(self, Event::Started { time, number, tag });
            }
            Stage::Latent => self.items[i].stage = Stage::Moving,
            Stage::Moving => {
                let number = self.items[i].number;
                self.items[i].stage = Stage::Gone;
                on_event(self, Event::Ended { time, number, tag });
            }
            Stage::Gone => unreachable!("what is gone is not due"),
        }
        true
    }

    fn go_to(&mut self, time: u64) {
        let rates = self.rates();
        let span = time - self.now;
        let mut taken = vec![false; self.capacities.len()];
        for (item, rate) in self.items.iter_mut().zip(rates) {
            if item.stage != Stage::Moving {
                continue;
            }
            let moved = (rate.unwrap() * u128::from(span)).min(item.left);
            item.left -= moved;
            for &link in &item.wish.path {
                self.carried[link as usize] += moved;
                taken[link as usize] = true;
            }
        }
        for (busy, taken) in self.busy.iter_mut().zip(taken) {
            *busy += if taken { span } else { 0 };
        }
        self.now = time;
    }
}
