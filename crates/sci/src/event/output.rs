//! Outputs: what leaves an interface, and when.

use super::Engine;
use super::lines::{Header, HeaderId, Kind};
use super::port::{ARRIVE, key};
use super::queue::QueueId;
use crate::InterfaceId;
use isthmus_kernel::{Cycles, Id};
use std::hint::select_unpredictable;

impl<T: Copy> Engine<T> {
    /// Lets leave all that comes to an output before `end` or starts there.
    pub(super) fn run_outputs(&mut self, end: Cycles) {
        let mut busy = std::mem::take(&mut self.busy);
        let mut count = self
            .outputs_agenda
            .collect(self.outputs_due.values(), end, &mut busy);
        while count > 0 {
            let mut still = 0;
            for index in 0..count {
                let port = busy[index];
                let due = self.step(InterfaceId::new(port));
                // Without a branch: whether there is more to do cannot be foreseen.
                busy[still] = port;
                still += usize::from(due < end);
                self.outputs_agenda.note(port, due);
            }
            count = still;
        }
        self.busy = busy;
    }

    /// Lets leave what comes to `port` before `end` or starts there.
    pub(super) fn advance(&mut self, port: InterfaceId, end: Cycles) {
        let mut due = self.outputs_due[port];
        if due < end {
            while due < end {
                due = self.step(port);
            }
            self.outputs_agenda.note(port.number(), due);
        }
    }

    /// Lets leave what is next. Returns when there is more to do, which the caller is to note.
    ///
    /// Never a part of the loops that call it: there the compiler makes branches of its choices,
    /// which cannot be foreseen.
    #[inline(never)]
    fn step(&mut self, port: InterfaceId) -> Cycles {
        let out = &self.outputs[port];
        // An own packet goes first if it can leave when a header comes.
        if out.own <= out.pass {
            self.start(port)
        } else {
            self.pass(port)
        }
    }

    /// An own packet leaves: the oldest that is ready of the next queue in turn that has one.
    #[inline(never)]
    fn start(&mut self, port: InterfaceId) -> Cycles {
        let out = &mut self.outputs[port];
        let now = out.own;
        let base = out.queues.index();
        let queues = base..base + out.queue_count as usize;
        // Which queues have a packet that is ready, and when the first of the others will have one.
        let (mut ready, mut next) = (0, Cycles::MAX);
        for (place, &time) in self.queues.ready.values()[queues].iter().enumerate() {
            let is_ready = time <= now;
            ready |= u64::from(is_ready) << place;
            next = select_unpredictable(is_ready, next, next.min(time));
        }
        debug_assert!(ready != 0, "an own packet is ready");
        let later = ready & (u64::MAX << out.turn);
        let place = if later == 0 { ready } else { later }.trailing_zeros();
        let flights = &mut self.packets.flights;
        let queue = QueueId::new(out.queues.number() + place);
        let packet = self.queues.pop(queue, flights);
        if ready & (ready - 1) != 0 {
            next = now;
        }
        next = next.min(self.queues.ready[queue]);
        out.turn = place + 1;
        if out.turn == out.queue_count {
            out.turn = 0;
        }
        let flight = &mut flights[packet];
        flight.sent = flight.sent.min(now);
        let size = flight.symbols + 1;
        let header = Header {
            time: now + self.rules.hop,
            next: HeaderId::NOBODY,
            number: packet.number(),
            echo: HeaderId::NOBODY,
            from: InterfaceId::NONE,
            left: flight.on.hops - 1,
            back: flight.on.back,
            size,
            kind: Kind::Send,
            class: flight.class,
        };
        out.free = now + u64::from(size);
        // Never stays never.
        out.own = next.max(out.free);
        let due = out.due();
        let to = out.next;
        self.outputs_due[port] = due;
        self.last_start = self.last_start.max(now);
        self.counters.sends[port.index()] += 1;
        let place = self.headers.add(header);
        if header.left > 0 {
            self.put_passing(to, place, header.time);
        } else {
            self.put_arriving(to, place);
        }
        due
    }

    /// What has come leaves when the link is free.
    #[inline(always)]
    fn pass(&mut self, port: InterfaceId) -> Cycles {
        let out = &mut self.outputs[port];
        let (place, header, next) = self.headers.pop(&mut out.line);
        // An echo that begins here, in place of its send, has come over no link.
        if header.kind == Kind::Send || header.left != header.back {
            self.came[port].count(header.kind, header.time, header.size);
        }
        let start = header.time.max(out.free);
        let time = start + self.rules.hop;
        let size = u64::from(header.size);
        let left = header.left - 1;
        header.time = time;
        header.left = left;
        out.pass = next;
        out.free = start + size;
        // Never stays never.
        out.own = out.own.max(out.free);
        let due = out.due();
        let to = out.next;
        self.outputs_due[port] = due;
        if left > 0 {
            self.put_passing(to, place, time);
        } else {
            self.put_arriving(to, place);
        }
        due
    }

    /// A header goes to `to`, where it is passed on.
    #[inline(always)]
    fn put_passing(&mut self, to: InterfaceId, place: HeaderId, time: Cycles) {
        let out = &mut self.outputs[to];
        self.headers.push(&mut out.line, place);
        // What is on the line already comes before.
        out.pass = out.pass.min(time);
        let due = out.due();
        self.output_is_due(to, due);
    }

    /// A header goes to `to` and no further.
    #[inline(never)]
    fn put_arriving(&mut self, to: InterfaceId, place: HeaderId) {
        let header = *self.headers.get_mut(place);
        if header.kind == Kind::Send {
            // The echo takes the last places of the send. It is busy unless the target says
            // otherwise when the send is there.
            let size = self.rules.echo as u16 + 1;
            let follows = header.time + u64::from(header.size - size);
            let echo = self.headers.add(Header {
                time: follows,
                left: header.back,
                size,
                kind: Kind::Busy,
                ..header
            });
            self.headers.get_mut(place).echo = echo;
            self.put_passing(to, echo, follows);
        }
        let input = &mut self.inputs[to];
        self.headers.push(&mut input.line, place);
        input.arrival = input.arrival.min(key(header.time, ARRIVE));
        self.inputs_due[to] = input.due();
        let node = input.node;
        self.node_is_due(node, header.time);
    }
}
