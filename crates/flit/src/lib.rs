//! Naive flit-by-flit reference for the wormhole engine.
//!
//! Moves every flit in every cycle, keeps one buffer of one flit per granted lane, and looks at
//! everything there is each time. It shares nothing with the engine: no clock, no event queue, no
//! arithmetic about tails. The rules, in the order in which they act within a cycle:
//!
//! 1. Lanes whose tail crossed in the cycle before are free.
//! 2. Heads that crossed a channel in the cycle before, and messages that are ready, ask for
//!    their next channel, ordered by message number; each channel serves its queue in order of
//!    asking while it has free lanes.
//! 3. Every flit moves one channel if its worm holds that channel and the buffer behind it is
//!    empty or is emptied in the same cycle.

use std::collections::VecDeque;

/// When a message becomes ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ready {
    /// In this cycle.
    At(u64),
    /// `delay` cycles after the tail of message number `of` has arrived.
    After {
        /// Index of the earlier message.
        of: usize,
        /// Cycles in between.
        delay: u64,
    },
}

/// A message; its number is its index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// When it first asks.
    pub ready: Ready,
    /// Length in flits, at least 1.
    pub length: u32,
    /// Channels to cross, at least one, none twice.
    pub path: Vec<u32>,
    /// Rank among requests of the same cycle.
    pub rank: u64,
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// The cycle in which each channel of the path was granted.
    pub grants: Vec<u64>,
    /// The cycle after the head crossed the last channel.
    pub header: u64,
    /// The cycle after the tail crossed the last channel.
    pub tail: u64,
}

struct Worm {
    asked_from: Option<u64>,
    grants: Vec<u64>,
    /// Flits that have crossed each channel of the path.
    crossed: Vec<u32>,
    header: u64,
    tail: Option<u64>,
}

/// Runs all messages over channels with the given numbers of lanes.
///
/// # Errors
/// The numbers of the messages that never arrive (deadlock, or waiting for one that does not
/// arrive), if nothing moves any more.
pub fn run(lanes: &[u32], messages: &[Message]) -> Result<Vec<Arrival>, Vec<usize>> {
    let mut free: Vec<u32> = lanes.to_vec();
    let mut queues: Vec<VecDeque<usize>> = vec![VecDeque::new(); lanes.len()];
    let mut worms: Vec<Worm> = messages
        .iter()
        .map(|message| Worm {
            asked_from: match message.ready {
                Ready::At(cycle) => Some(cycle),
                Ready::After { .. } => None,
            },
            grants: Vec::new(),
            crossed: vec![0; message.path.len()],
            header: 0,
            tail: None,
        })
        .collect();
    let mut by_rank: Vec<usize> = (0..messages.len()).collect();
    by_rank.sort_by_key(|&m| messages[m].rank);
    let mut left_behind: Vec<u32> = Vec::new();
    let mut cycle = 0;
    loop {
        for channel in left_behind.drain(..) {
            free[channel as usize] += 1;
        }
        for &m in &by_rank {
            if worms[m].asked_from == Some(cycle) {
                let channel = messages[m].path[worms[m].grants.len()];
                queues[channel as usize].push_back(m);
            }
        }
        let mut moved = false;
        for (channel, queue) in queues.iter_mut().enumerate() {
            while free[channel] > 0
                && let Some(m) = queue.pop_front()
            {
                free[channel] -= 1;
                worms[m].grants.push(cycle);
            }
        }
        for m in 0..messages.len() {
            if worms[m].tail.is_none() {
                moved |= move_flits(&messages[m], &mut worms[m], cycle, &mut left_behind);
            }
        }
        for m in 0..messages.len() {
            if let Ready::After { of, delay } = messages[m].ready
                && worms[of].tail == Some(cycle + 1)
            {
                worms[m].asked_from = Some(cycle + 1 + delay);
            }
        }
        if worms.iter().all(|worm| worm.tail.is_some()) {
            break;
        }
        cycle += 1;
        if !moved {
            // Nothing can happen before the next message becomes ready: skip the idle cycles.
            let next = worms.iter().filter_map(|worm| worm.asked_from);
            match next.filter(|&at| at >= cycle).min() {
                Some(at) => cycle = at,
                None => {
                    return Err((0..worms.len())
                        .filter(|&m| worms[m].tail.is_none())
                        .collect());
                }
            }
        }
    }
    Ok(worms
        .into_iter()
        .filter_map(|worm| {
            Some(Arrival {
                grants: worm.grants,
                header: worm.header,
                tail: worm.tail?,
            })
        })
        .collect())
}

/// Moves what can move of one worm, from its head back. Returns whether anything did.
fn move_flits(message: &Message, worm: &mut Worm, cycle: u64, left_behind: &mut Vec<u32>) -> bool {
    let hops = message.path.len();
    let mut moved = false;
    for hop in (0..worm.grants.len()).rev() {
        // In the buffer (or at the source) before this cycle; the channel behind moves later.
        let available = if hop == 0 {
            message.length - worm.crossed[0]
        } else {
            worm.crossed[hop - 1] - worm.crossed[hop]
        };
        // The channel in front has moved already, so a buffer emptied now is empty here.
        let room = hop + 1 == hops || worm.crossed[hop] == worm.crossed[hop + 1];
        if available == 0 || !room {
            continue;
        }
        worm.crossed[hop] += 1;
        moved = true;
        let last_hop = hop + 1 == hops;
        if worm.crossed[hop] == 1 {
            if last_hop {
                worm.header = cycle + 1;
            } else {
                worm.asked_from = Some(cycle + 1);
            }
        }
        if worm.crossed[hop] == message.length {
            left_behind.push(message.path[hop]);
            if last_hop {
                worm.tail = Some(cycle + 1);
            }
        }
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(cycle: u64, length: u32, path: &[u32]) -> Message {
        Message {
            ready: Ready::At(cycle),
            length,
            path: path.to_vec(),
            rank: 0,
        }
    }

    #[test]
    fn an_uncontended_header_takes_one_cycle_per_channel() {
        let arrivals = run(&[1, 1, 1], &[message(10, 5, &[0, 1, 2])]).unwrap();
        assert_eq!(arrivals[0].grants, [10, 11, 12]);
        assert_eq!(arrivals[0].header, 13);
        assert_eq!(arrivals[0].tail, 12 + 5);
    }

    #[test]
    fn a_blocked_worm_holds_what_it_has() {
        // The first worm keeps channel 1 in cycles 0..=9; the second holds channel 0 meanwhile.
        let mut messages = [
            message(0, 10, &[1]),
            message(0, 4, &[0, 1]),
            message(1, 1, &[0]),
        ];
        for (rank, message) in messages.iter_mut().enumerate() {
            message.rank = rank as u64;
        }
        let arrivals = run(&[1, 1], &messages).unwrap();
        assert_eq!(arrivals[1].grants, [0, 10]);
        // Flits cross channel 0 in 0, 10, 11, 12: the tail leaves it free from 13 on.
        assert_eq!(arrivals[2].grants, [13]);
    }

    #[test]
    fn a_cycle_of_worms_is_reported() {
        let messages = [message(0, 9, &[0, 1]), message(0, 9, &[1, 0])];
        assert_eq!(run(&[1, 1], &messages), Err(vec![0, 1]));
    }
}
