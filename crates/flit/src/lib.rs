//! Naive flit-by-flit reference for the wormhole engine.
//!
//! Lanes are places that hold flits: behind the wire of each lane there is a buffer of a stated
//! depth. Every flit is moved on its own, and everything there is is looked at again and again
//! until nothing moves. It shares nothing with the engine: no clock, no event queue, no arithmetic
//! about tails. The rules of a cycle, in their order:
//!
//! 1. Heads that crossed a channel in the cycle before, and messages that are ready, ask for their
//!    next channel, ordered by message number.
//! 2. Each channel serves its queue in order of asking while it has free lanes. A buffer belongs to
//!    one message at a time: a lane is free if its buffer is empty, or holds nothing but the tail of
//!    a message whose head has arrived in a cycle before. Nothing is in the way of that tail, so it
//!    is known to leave in this cycle; whether others move is not known before all lanes are given.
//!    A lane into the receiver has no buffer and is free in the cycle after the tail has crossed it.
//! 3. A flit that was in a buffer, or at its source, when the cycle began crosses the next lane that
//!    its message has, once a cycle, if the buffer there has room, be it because another flit has
//!    left it in this cycle. Repeated until nothing moves.

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
    /// The first cycle in which another message could have been granted the lane, for each channel
    /// of the path.
    pub released: Vec<u64>,
    /// The cycle after the head crossed the last channel.
    pub header: u64,
    /// The cycle after the tail crossed the last channel.
    pub tail: u64,
}

/// A flit in a buffer.
struct Flit {
    worm: usize,
    /// Place in its message, from 0.
    number: u32,
    /// The cycle in which it crossed into the buffer.
    since: u64,
}

struct Lane {
    worm: Option<usize>,
    buffer: VecDeque<Flit>,
    /// The last cycle in which a flit crossed.
    crossed: Option<u64>,
}

#[derive(Default)]
struct Worm {
    asks_at: Option<u64>,
    /// Number of the lane of each channel granted so far.
    lanes: Vec<usize>,
    /// Flits that have left the source.
    sent: u32,
    grants: Vec<u64>,
    released: Vec<u64>,
    header: u64,
    tail: Option<u64>,
}

struct Network<'a> {
    depth: usize,
    messages: &'a [Message],
    channels: Vec<Vec<Lane>>,
    queues: Vec<VecDeque<usize>>,
    worms: Vec<Worm>,
    /// Messages that have asked and not arrived.
    under_way: Vec<usize>,
    cycle: u64,
}

/// Runs all messages over channels with the given numbers of lanes, each with a buffer of `depth`
/// flits.
///
/// # Errors
/// The numbers of the messages that never arrive (deadlock, or waiting for one that does not
/// arrive), if nothing moves any more.
///
/// # Panics
/// If `depth` is 0.
pub fn run(lanes: &[u32], depth: usize, messages: &[Message]) -> Result<Vec<Arrival>, Vec<usize>> {
    assert!(depth > 0, "a buffer holds at least one flit");
    let lane = |_| Lane {
        worm: None,
        buffer: VecDeque::new(),
        crossed: None,
    };
    let mut network = Network {
        depth,
        messages,
        channels: lanes
            .iter()
            .map(|&count| (0..count).map(lane).collect())
            .collect(),
        queues: vec![VecDeque::new(); lanes.len()],
        worms: messages.iter().map(|_| Worm::default()).collect(),
        under_way: Vec::new(),
        cycle: 0,
    };
    for (worm, message) in network.worms.iter_mut().zip(messages) {
        if let Ready::At(cycle) = message.ready {
            worm.asks_at = Some(cycle);
        }
    }
    let mut by_rank: Vec<usize> = (0..messages.len()).collect();
    by_rank.sort_by_key(|&m| messages[m].rank);
    loop {
        network.ask(&by_rank);
        let mut moved = false;
        network.grant();
        while network.cross() {
            moved = true;
        }
        network.follow_up();
        if network.worms.iter().all(|worm| worm.tail.is_some()) {
            break;
        }
        network.cycle += 1;
        if !moved {
            // Nothing can happen before the next message becomes ready: skip the idle cycles.
            let asking = network.worms.iter().filter_map(|worm| worm.asks_at);
            match asking.filter(|&at| at >= network.cycle).min() {
                Some(at) => network.cycle = at,
                None => {
                    return Err((0..messages.len())
                        .filter(|&m| network.worms[m].tail.is_none())
                        .collect());
                }
            }
        }
    }
    let arrival = |worm: Worm| Arrival {
        grants: worm.grants,
        released: worm.released,
        header: worm.header,
        tail: worm.tail.expect("all have arrived"),
    };
    Ok(network.worms.into_iter().map(arrival).collect())
}

impl Network<'_> {
    /// Rule 1.
    fn ask(&mut self, by_rank: &[usize]) {
        for &m in by_rank {
            if self.worms[m].asks_at == Some(self.cycle) {
                let hop = self.worms[m].grants.len();
                self.queues[self.messages[m].path[hop] as usize].push_back(m);
                if hop == 0 {
                    self.under_way.push(m);
                }
            }
        }
    }

    /// Rule 2.
    fn grant(&mut self) {
        for channel in 0..self.channels.len() {
            while let Some(&m) = self.queues[channel].front()
                && let Some(number) = (self.channels[channel].iter()).position(|l| self.is_free(l))
            {
                self.queues[channel].pop_front();
                self.channels[channel][number].worm = Some(m);
                self.worms[m].lanes.push(number);
                self.worms[m].grants.push(self.cycle);
            }
        }
    }

    /// Whether a lane can be granted in this cycle, before anything has moved.
    fn is_free(&self, lane: &Lane) -> bool {
        lane.worm.is_none_or(|m| {
            let is_tail = |flit: &Flit| flit.number + 1 == self.messages[m].length;
            let holds_tail_alone = lane.buffer.len() == 1 && lane.buffer.iter().all(is_tail);
            holds_tail_alone && self.has_arrived(m)
        })
    }

    /// Whether the head of message `m` had arrived when this cycle began.
    fn has_arrived(&self, m: usize) -> bool {
        let header = self.worms[m].header;
        0 < header && header <= self.cycle
    }

    /// Moves every flit that can move. Returns whether one did.
    fn cross(&mut self) -> bool {
        let mut any = false;
        for place in 0..self.under_way.len() {
            let m = self.under_way[place];
            // From the head back, so that most worms move as a whole.
            for hop in (0..self.worms[m].lanes.len()).rev() {
                any |= self.cross_one(m, hop);
            }
        }
        (self.under_way).retain(|&m| self.worms[m].tail.is_none());
        any
    }

    /// Moves the next flit of message `m` over channel `hop` of its path, if it can.
    fn cross_one(&mut self, m: usize, hop: usize) -> bool {
        let has_arrived = self.has_arrived(m);
        let message = &self.messages[m];
        let worm = &mut self.worms[m];
        let is_last = hop + 1 == message.path.len();
        let place = |hop: usize| (message.path[hop] as usize, worm.lanes[hop]);
        let (channel, lane) = place(hop);
        let to = &self.channels[channel][lane];
        let room = is_last || to.buffer.len() < self.depth;
        if to.worm != Some(m) || to.crossed == Some(self.cycle) || !room {
            return false;
        }
        let number = if hop == 0 {
            if worm.sent == message.length {
                return false;
            }
            worm.sent += 1;
            worm.sent - 1
        } else {
            let (channel, lane) = place(hop - 1);
            let from = &mut self.channels[channel][lane];
            match from.buffer.front() {
                Some(flit) if flit.worm == m && flit.since < self.cycle => {}
                _ => return false,
            }
            let number = from.buffer.pop_front().expect("it was looked at").number;
            if number + 1 == message.length {
                // Unless the next message has it already.
                from.worm = from.worm.filter(|&owner| owner != m);
                worm.released.push(self.cycle + u64::from(!has_arrived));
            }
            number
        };
        let to = &mut self.channels[channel][lane];
        to.crossed = Some(self.cycle);
        if !is_last {
            to.buffer.push_back(Flit {
                worm: m,
                number,
                since: self.cycle,
            });
        } else if number + 1 == message.length {
            to.worm = None;
            worm.released.push(self.cycle + 1);
            worm.tail = Some(self.cycle + 1);
        }
        match (number, is_last) {
            (0, false) => worm.asks_at = Some(self.cycle + 1),
            (0, true) => worm.header = self.cycle + 1,
            _ => {}
        }
        true
    }

    /// Messages that become ready because another has arrived.
    fn follow_up(&mut self) {
        for m in 0..self.worms.len() {
            if let Ready::After { of, delay } = self.messages[m].ready
                && self.worms[of].tail == Some(self.cycle + 1)
            {
                self.worms[m].asks_at = Some(self.cycle + 1 + delay);
            }
        }
    }
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
        let arrivals = run(&[1, 1, 1], 1, &[message(10, 5, &[0, 1, 2])]).unwrap();
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
        let arrivals = run(&[1, 1], 1, &messages).unwrap();
        assert_eq!(arrivals[1].grants, [0, 10]);
        // Flits cross channel 0 in 0, 10, 11, 12: the tail leaves it free from 13 on.
        assert_eq!(arrivals[2].grants, [13]);
    }

    #[test]
    fn a_short_worm_that_waits_keeps_the_buffer_that_it_is_in() {
        // The first message keeps channel 1 in cycles 0..=9. The second, of one flit, waits for it in
        // the buffer of channel 0 and leaves that in cycle 10; the third gets it in cycle 11.
        let messages = [
            message(0, 10, &[1]),
            message(0, 1, &[0, 1]),
            message(1, 1, &[0, 1]),
        ];
        let one = run(&[1, 1], 1, &messages).unwrap();
        assert_eq!(
            (&one[1].grants, &one[2].grants),
            (&vec![0, 10], &vec![11, 12])
        );
        assert_eq!(one[1].released, [11, 11]);
        // A buffer belongs to one message at a time, however deep it is.
        assert_eq!(run(&[1, 1], 4, &messages).unwrap(), one);
    }

    #[test]
    fn what_follows_a_head_that_has_arrived_leaves_no_gap() {
        // The head of the first crosses its last channel in cycle 2, its tail channels 0 to 2 in
        // cycles 2 to 4: channel 0 is free as the tail leaves its buffer in cycle 3.
        let messages = [message(0, 3, &[0, 1, 2]), message(0, 3, &[0, 1, 2])];
        let arrivals = run(&[1, 1, 1], 1, &messages).unwrap();
        assert_eq!(arrivals[0].released, [3, 4, 5]);
        assert_eq!(arrivals[1].grants, [3, 4, 5]);
        // Of two flits: nothing is known in cycle 2, in which the head arrives as the tail leaves the
        // buffer of channel 0.
        let messages = [message(0, 2, &[0, 1, 2]), message(0, 2, &[0, 1, 2])];
        let arrivals = run(&[1, 1, 1], 1, &messages).unwrap();
        assert_eq!(arrivals[0].released, [3, 3, 4]);
        assert_eq!(arrivals[1].grants, [3, 4, 5]);
    }

    #[test]
    fn deeper_buffers_take_in_what_waits() {
        // The second message waits for channel 2 until cycle 10; its tail leaves the buffer of
        // channel 0 when it crosses channel 1.
        let messages = [
            message(0, 10, &[2]),
            message(0, 4, &[0, 1, 2]),
            message(1, 1, &[0]),
        ];
        for (depth, free) in [(1, 12), (2, 11), (3, 11), (4, 5)] {
            let arrivals = run(&[1, 1, 1], depth, &messages).unwrap();
            assert_eq!(arrivals[1].grants, [0, 1, 10], "{depth}");
            assert_eq!(arrivals[2].grants, [free], "{depth}");
        }
    }

    #[test]
    fn a_cycle_of_worms_is_reported() {
        let messages = [message(0, 9, &[0, 1]), message(0, 9, &[1, 0])];
        assert_eq!(run(&[1, 1], 1, &messages), Err(vec![0, 1]));
    }
}
