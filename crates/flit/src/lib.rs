//! Naive flit-by-flit reference for the wormhole engine.
//!
//! Behind each lane of a channel is a buffer of a given depth. Every flit moves on its own. In each
//! cycle the reference visits all flits repeatedly until no further flit moves. It shares nothing
//! with the engine: no clock, no event queue, no arithmetic about tails. The rules of a cycle, in
//! order:
//!
//! 1. Heads that crossed a channel in the cycle before, and messages that are ready, request their
//!    next channel, in the order of their ranks.
//! 2. Each channel serves its requests in order of arrival while it has free lanes. A buffer
//!    belongs to one message at a time. A lane is free if its buffer is empty. It is also free if
//!    the buffer holds only the tail of a message whose head has arrived in an earlier cycle:
//!    nothing blocks that tail, so it is certain to leave in this cycle. Movements of other flits
//!    are not known before all lanes are granted. A lane into the receiver has no buffer and is
//!    free in the cycle after the tail has crossed it.
//! 3. A flit that was in a buffer, or at its source, when the cycle began crosses the next lane of
//!    its message if the buffer there has room. Room may come from a flit that leaves in this cycle.
//!    A flit crosses once per cycle. This repeats until nothing moves.

use std::collections::VecDeque;

/// Time at which a message becomes ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ready {
    /// The message becomes ready in this cycle.
    At(u64),
    /// The message becomes ready `delay` cycles after the tail of the message `message` has arrived.
    After {
        /// Number of the message whose tail must arrive before this message becomes ready.
        message: usize,
        /// Number of cycles from the arrival of that tail until this message is ready.
        delay: u64,
    },
}

/// A message that crosses channels of the network. Its number is its index in the list of messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Time at which the message requests its first channel.
    pub ready: Ready,
    /// Length in flits, at least 1.
    pub length: u32,
    /// Channels that the message crosses, in order; at least one, none twice.
    pub path: Vec<u32>,
    /// Rank among requests of the same cycle; the lowest goes first.
    pub rank: u64,
}

/// Times of a message that has arrived.
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

/// A flit (flow-control unit) of a message in the buffer of a lane (virtual channel).
struct Flit {
    worm: usize,
    /// Index of the flit in its message, from 0.
    number: u32,
    /// The cycle in which the flit crossed into the buffer.
    since: u64,
}

/// Buffer of a lane (virtual channel), and the message to which it belongs.
struct Lane {
    worm: Option<usize>,
    buffer: VecDeque<Flit>,
    /// The last cycle in which a flit crossed the lane; `None` before the first.
    crossed: Option<u64>,
}

/// State of a message in the network: the lanes that it occupies, and its progress.
#[derive(Default)]
struct Worm {
    next_request: Option<u64>,
    /// The lane (virtual channel) that the message got on each channel of its path so far.
    lanes: Vec<usize>,
    /// Number of flits that have left the source.
    sent: u32,
    grants: Vec<u64>,
    released: Vec<u64>,
    header: u64,
    tail: Option<u64>,
}

/// A simulated network: its channels, and the messages that cross them flit by flit.
pub struct Network {
    depth: usize,
    messages: Vec<Message>,
    /// Numbers of all messages, in the order of their ranks (priorities in a cycle).
    by_rank: Vec<usize>,
    channels: Vec<Vec<Lane>>,
    queues: Vec<VecDeque<usize>>,
    worms: Vec<Worm>,
    /// Messages that have made a request and have not arrived.
    under_way: Vec<usize>,
    cycle: u64,
}

/// Run all messages over channels with the given numbers of lanes (virtual channels), each with a
/// buffer of `depth` flits.
///
/// # Errors
/// The numbers of the messages that never arrive: messages in a deadlock, and messages that wait
/// for one that does not arrive.
///
/// # Panics
/// `depth` is 0.
pub fn run(lanes: &[u32], depth: usize, messages: &[Message]) -> Result<Vec<Arrival>, Vec<usize>> {
    let mut network = Network::new(lanes, depth);
    for message in messages {
        network.add(message.clone());
    }
    network.run_until(u64::MAX);
    let left = |m: &usize| network.arrival(*m).is_none();
    let left: Vec<usize> = (0..messages.len()).filter(left).collect();
    if !left.is_empty() {
        return Err(left);
    }
    Ok((0..messages.len())
        .filter_map(|m| network.arrival(m))
        .collect())
}

impl Network {
    /// Create empty channels at cycle 0.
    ///
    /// # Panics
    /// `depth` is 0.
    pub fn new(lanes: &[u32], depth: usize) -> Self {
        assert!(depth > 0, "a buffer holds at least one flit");
        let lane = |_| Lane {
            worm: None,
            buffer: VecDeque::new(),
            crossed: None,
        };
        let channel = |&count| (0..count).map(lane).collect();
        Self {
            depth,
            messages: Vec::new(),
            by_rank: Vec::new(),
            channels: lanes.iter().map(channel).collect(),
            queues: vec![VecDeque::new(); lanes.len()],
            worms: Vec::new(),
            under_way: Vec::new(),
            cycle: 0,
        }
    }

    /// Add a message. Return its number.
    ///
    /// # Panics
    /// The message is ready in a past cycle.
    pub fn add(&mut self, message: Message) -> usize {
        let number = self.messages.len();
        let next_request = match message.ready {
            Ready::At(cycle) => Some(cycle),
            Ready::After { .. } => None,
        };
        assert!(
            next_request.is_none_or(|at| at >= self.cycle),
            "{message:?}"
        );
        let index = (self.by_rank).partition_point(|&m| self.messages[m].rank <= message.rank);
        self.by_rank.insert(index, number);
        self.messages.push(message);
        self.worms.push(Worm {
            next_request,
            ..Worm::default()
        });
        number
    }

    /// Return the present cycle, the first that has not run.
    pub fn now(&self) -> u64 {
        self.cycle
    }

    /// Return the times of a message; `None` until it has arrived completely.
    pub fn arrival(&self, message: usize) -> Option<Arrival> {
        let worm = &self.worms[message];
        worm.tail.map(|tail| Arrival {
            grants: worm.grants.clone(),
            released: worm.released.clone(),
            header: worm.header,
            tail,
        })
    }

    /// Run the cycles before `limit`. Return whether any event is left. With limit `u64::MAX`, the
    /// run stops after the last event.
    pub fn run_until(&mut self, limit: u64) -> bool {
        while self.cycle < limit {
            self.request();
            self.grant();
            let mut moved = false;
            while self.move_flits() {
                moved = true;
            }
            self.ready_followers();
            self.cycle += 1;
            if !moved {
                // No event can happen before the next message becomes ready: skip the idle cycles.
                let requests = self.worms.iter().filter_map(|worm| worm.next_request);
                match requests.filter(|&at| at >= self.cycle).min() {
                    Some(at) => self.cycle = at.min(limit),
                    None => {
                        if limit < u64::MAX {
                            self.cycle = limit;
                        }
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Make the requests for channels of this cycle (rule 1 of the crate).
    fn request(&mut self) {
        for &m in &self.by_rank {
            if self.worms[m].next_request == Some(self.cycle) {
                let hop = self.worms[m].grants.len();
                self.queues[self.messages[m].path[hop] as usize].push_back(m);
                if hop == 0 {
                    self.under_way.push(m);
                }
            }
        }
    }

    /// Grant free lanes of channels to waiting messages (rule 2 of the crate).
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

    /// Return whether a lane can be granted in this cycle, before any flit has moved.
    fn is_free(&self, lane: &Lane) -> bool {
        lane.worm.is_none_or(|m| {
            let is_tail = |flit: &Flit| flit.number + 1 == self.messages[m].length;
            let holds_tail_alone = lane.buffer.len() == 1 && lane.buffer.iter().all(is_tail);
            holds_tail_alone && self.has_arrived(m)
        })
    }

    /// Return whether the head of message `m` had arrived when this cycle began.
    fn has_arrived(&self, m: usize) -> bool {
        let header = self.worms[m].header;
        0 < header && header <= self.cycle
    }

    /// Move every flit that can move. Return whether a flit moved.
    fn move_flits(&mut self) -> bool {
        let mut any = false;
        for index in 0..self.under_way.len() {
            let m = self.under_way[index];
            // Go from the head backwards, so that most worms move as a whole.
            for hop in (0..self.worms[m].lanes.len()).rev() {
                any |= self.move_flit(m, hop);
            }
        }
        (self.under_way).retain(|&m| self.worms[m].tail.is_none());
        any
    }

    /// Move the next flit of message `m` over channel `hop` of its path, if possible. Return
    /// whether it moved.
    fn move_flit(&mut self, m: usize, hop: usize) -> bool {
        let has_arrived = self.has_arrived(m);
        let message = &self.messages[m];
        let worm = &mut self.worms[m];
        let is_last = hop + 1 == message.path.len();
        let lane_of = |hop: usize| (message.path[hop] as usize, worm.lanes[hop]);
        let (channel, lane) = lane_of(hop);
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
            let (channel, lane) = lane_of(hop - 1);
            let from = &mut self.channels[channel][lane];
            match from.buffer.front() {
                Some(flit) if flit.worm == m && flit.since < self.cycle => {}
                _ => return false,
            }
            let number = from.buffer.pop_front().expect("it was looked at").number;
            if number + 1 == message.length {
                // Free the lane, unless it already belongs to the next message.
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
            (0, false) => worm.next_request = Some(self.cycle + 1),
            (0, true) => worm.header = self.cycle + 1,
            _ => {}
        }
        true
    }

    /// Schedule the messages that become ready after a message that has arrived.
    fn ready_followers(&mut self) {
        for m in 0..self.worms.len() {
            if let Ready::After { message, delay } = self.messages[m].ready
                && self.worms[message].tail == Some(self.cycle + 1)
            {
                self.worms[m].next_request = Some(self.cycle + 1 + delay);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return a message that becomes ready in this cycle.
    fn message(cycle: u64, length: u32, path: &[u32]) -> Message {
        Message {
            ready: Ready::At(cycle),
            length,
            path: path.to_vec(),
            rank: 0,
        }
    }

    /// Checks that the header of a message that never waits crosses one channel per cycle.
    #[test]
    fn an_uncontended_header_takes_one_cycle_per_channel() {
        let arrivals = run(&[1, 1, 1], 1, &[message(10, 5, &[0, 1, 2])]).unwrap();
        assert_eq!(arrivals[0].grants, [10, 11, 12]);
        assert_eq!(arrivals[0].header, 13);
        assert_eq!(arrivals[0].tail, 12 + 5);
    }

    /// Checks that a blocked worm keeps the lanes that it occupies.
    #[test]
    fn a_blocked_worm_keeps_its_lanes() {
        // The first worm occupies channel 1 in cycles 0..=9; meanwhile the second occupies channel
        // 0.
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
        // Flits cross channel 0 in cycles 0, 10, 11 and 12, so it is free from cycle 13 on.
        assert_eq!(arrivals[2].grants, [13]);
    }

    /// Checks that a waiting worm of one flit keeps the buffer that contains it.
    #[test]
    fn a_waiting_worm_of_one_flit_keeps_its_buffer() {
        // The first message occupies channel 1 in cycles 0..=9. The second, of one flit, waits for
        // channel 1 in the buffer of channel 0 and leaves this buffer in cycle 10. The third gets
        // channel 0 in cycle 11.
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
        // The result is the same for deeper buffers, because a buffer belongs to one message at a
        // time.
        assert_eq!(run(&[1, 1], 4, &messages).unwrap(), one);
    }

    /// Checks that a channel can be granted to the next message without an idle cycle if the head
    /// of the first message has arrived.
    #[test]
    fn the_next_message_follows_an_arrived_head_without_a_gap() {
        // The head of the first message crosses its last channel in cycle 2, and its tail crosses
        // channels 0 to 2 in cycles 2 to 4. Channel 0 is free as the tail leaves its buffer in
        // cycle 3.
        let messages = [message(0, 3, &[0, 1, 2]), message(0, 3, &[0, 1, 2])];
        let arrivals = run(&[1, 1, 1], 1, &messages).unwrap();
        assert_eq!(arrivals[0].released, [3, 4, 5]);
        assert_eq!(arrivals[1].grants, [3, 4, 5]);
        // With two flits, it is not known in cycle 2 that the tail leaves the buffer of channel 0,
        // because the head arrives in the same cycle.
        let messages = [message(0, 2, &[0, 1, 2]), message(0, 2, &[0, 1, 2])];
        let arrivals = run(&[1, 1, 1], 1, &messages).unwrap();
        assert_eq!(arrivals[0].released, [3, 3, 4]);
        assert_eq!(arrivals[1].grants, [3, 4, 5]);
    }

    /// Checks that, with deeper buffers, a waiting message moves on and frees earlier channels
    /// sooner.
    #[test]
    fn deeper_buffers_let_a_waiting_message_move_on() {
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

    /// Checks that a run in several pieces has the same result as a run in one piece.
    #[test]
    fn a_run_in_pieces_equals_a_run_in_one_piece() {
        let messages = [message(0, 3, &[0, 1, 2]), message(40, 3, &[0, 1, 2])];
        let whole = run(&[1, 1, 1], 1, &messages).unwrap();
        let mut network = Network::new(&[1, 1, 1], 1);
        network.add(messages[0].clone());
        for limit in [1, 2, 4, 4, 30] {
            network.run_until(limit);
            assert_eq!(network.now(), limit);
        }
        network.add(messages[1].clone());
        assert!(network.run_until(41));
        assert!(!network.run_until(100));
        assert_eq!(
            (network.arrival(0), network.arrival(1)),
            (Some(whole[0].clone()), Some(whole[1].clone()))
        );
    }

    /// Checks that a run reports messages that wait for one another in a cycle.
    #[test]
    fn a_cycle_of_worms_is_reported() {
        let messages = [message(0, 9, &[0, 1]), message(0, 9, &[1, 0])];
        assert_eq!(run(&[1, 1], 1, &messages), Err(vec![0, 1]));
    }
}
