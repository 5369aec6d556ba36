//! Outputs: what leaves an interface, and when.

use super::Engine;
use super::packets::NONE;
use super::port::{ARRIVE, Coming, Kind, Passing, key};
use isthmus_kernel::Cycles;

impl<T: Copy> Engine<T> {
    /// Lets leave what begins to leave `port` before `end`, or has come before to be passed on.
    /// Returns a cycle before which there is nothing more to do.
    #[inline]
    pub(super) fn advance(&mut self, port: usize, end: Cycles) -> Cycles {
        loop {
            let out = &self.ports[port];
            // An own packet goes first if it can leave when a header comes.
            if out.own <= out.pass {
                if out.own >= end {
                    return out.own;
                }
                self.start(port);
            } else {
                if out.pass >= end {
                    return out.pass;
                }
                self.pass(port);
            }
        }
    }

    /// An own packet leaves: the oldest that is ready of the next queue in turn that has one.
    fn start(&mut self, port: usize) {
        let out = &mut self.ports[port];
        let now = out.own;
        let base = out.queues as usize;
        let queues = &mut self.queues[base..base + out.queue_count as usize];
        let later = out.waiting & (u64::MAX << out.turn);
        let place = bits(later)
            .chain(bits(out.waiting ^ later))
            .find(|&place| queues[place as usize].ready <= now)
            .expect("an own packet is ready");
        let queue = &mut queues[place as usize];
        let packet = queue.pop(&self.packets.flights);
        if queue.head == NONE {
            out.waiting &= !(1 << place);
        }
        out.turn = if place + 1 == out.queue_count {
            0
        } else {
            place + 1
        };
        let flight = &self.packets.flights[packet as usize];
        let size = flight.symbols + 1;
        let stretch = self.packets.stretch(packet, flight.stretch);
        if flight.stretch == 0 && flight.retries == 0 {
            self.packets.origins[packet as usize].sent = now;
        }
        out.free = now + u64::from(size);
        let ready = bits(out.waiting).map(|place| queues[place as usize].ready);
        out.own = ready.min().map_or(Cycles::MAX, |ready| ready.max(out.free));
        self.last_start = self.last_start.max(now);
        self.counters.sends[port] += 1;
        self.counters.send_symbols[port] += u64::from(size);
        let passing = Passing {
            time: now,
            number: packet,
            left: stretch.hops,
            back: stretch.back,
            size,
            kind: Kind::Send,
        };
        self.put(port, passing);
    }

    /// What has come leaves when the link is free.
    #[inline]
    fn pass(&mut self, port: usize) {
        let out = &mut self.ports[port];
        let base = port << self.shift;
        let mut passing = self.passing[base + out.passing.place(0, self.mask)];
        out.passing.pop(self.mask);
        out.pass = if out.passing.len == 0 {
            Cycles::MAX
        } else {
            self.passing[base + out.passing.place(0, self.mask)].time
        };
        let start = passing.time.max(out.free);
        let size = u64::from(passing.size);
        out.free = start + size;
        if out.own != Cycles::MAX {
            out.own = out.own.max(out.free);
        }
        if passing.kind == Kind::Send {
            self.counters.send_symbols[port] += size;
        } else {
            self.counters.echo_symbols[port] += size;
        }
        passing.time = start;
        self.put(port, passing);
    }

    /// Puts on the link out of `port` what leaves it at `passing.time`.
    #[inline]
    fn put(&mut self, port: usize, mut passing: Passing) {
        let from = &self.ports[port];
        let (to, node) = (from.next as usize, from.next_node as usize);
        passing.time += self.rules.hop;
        passing.left -= 1;
        self.next[node] = self.next[node].min(passing.time);
        if passing.left > 0 {
            self.put_passing(to, passing);
            return;
        }
        let mut coming = Coming {
            time: passing.time,
            number: passing.number,
            echo: 0,
            kind: passing.kind,
        };
        if passing.kind == Kind::Send {
            // The echo takes the last places of the send. It is busy unless the target says
            // otherwise when the send is there.
            passing.time += u64::from(passing.size) - 1 - u64::from(self.rules.echo);
            passing.left = passing.back;
            passing.size = self.rules.echo as u16 + 1;
            passing.kind = Kind::Busy;
            coming.echo = self.put_passing(to, passing) as u32;
        }
        let input = &mut self.ports[to];
        if input.coming.len == 0 {
            input.arrival = key(coming.time, ARRIVE);
            input.refresh();
        }
        let place = input.coming.push(self.mask);
        self.coming[(to << self.shift) + place] = coming;
    }

    /// Adds what comes to `to` to be passed on. Returns its place in the circle.
    #[inline]
    fn put_passing(&mut self, to: usize, passing: Passing) -> usize {
        let input = &mut self.ports[to];
        if input.passing.len == 0 {
            input.pass = passing.time;
        }
        let place = input.passing.push(self.mask);
        self.passing[(to << self.shift) + place] = passing;
        place
    }
}

/// The places of the bits that are set, from the lowest.
#[inline]
fn bits(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let place = mask.trailing_zeros();
            mask &= mask - 1;
            place
        })
    })
}
