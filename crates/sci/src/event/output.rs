//! Outputs of interfaces: forwarding of packets on a ring, and departure of a node's own packets.

use super::Engine;
use super::lines::{Header, HeaderId, Kind};
use super::port::{ARRIVE, key};
use super::queue::QueueId;
use crate::InterfaceId;
use isthmus_kernel::{Cycles, Id};
use std::hint::select_unpredictable;

impl<T: Copy> Engine<T> {
    /// Forward and send the packets that leave any output before `end`.
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
                // Always store the port, and count it only if it is still due before `end`. This
                // avoids a branch that the processor would often predict wrongly.
                busy[still] = port;
                still += usize::from(due < end);
                self.outputs_agenda.set_due(port, due);
            }
            count = still;
        }
        self.busy = busy;
    }

    /// Forward and send the packets that leave the output of interface `port` before `end`.
    pub(super) fn run_output(&mut self, port: InterfaceId, end: Cycles) {
        let mut due = self.outputs_due[port];
        if due < end {
            while due < end {
                due = self.step(port);
            }
            self.outputs_agenda.set_due(port.number(), due);
        }
    }

    /// Forward the next header or send an own packet, whichever leaves first. Return the time of
    /// the next departure, which the caller must schedule.
    ///
    /// Not inlined into the loops that call it: there the compiler would turn its selections into
    /// branches, which the processor cannot predict.
    #[inline(never)]
    fn step(&mut self, port: InterfaceId) -> Cycles {
        let out = &self.outputs[port];
        // Send an own packet first if one can leave in the same cycle as a forwarded packet.
        if out.own <= out.pass {
            self.send_own(port)
        } else {
            self.forward(port)
        }
    }

    /// Send a packet from an output queue of this interface: the oldest ready packet of the next
    /// queue, in round-robin order, that has a ready packet. Return the time of the next departure.
    #[inline(never)]
    fn send_own(&mut self, port: InterfaceId) -> Cycles {
        let out = &mut self.outputs[port];
        let now = out.own;
        let base = out.queues.index();
        let queues = base..base + out.queue_count as usize;
        // Bitmap of the queues with a ready packet, and the earliest time at which another queue
        // has a ready packet.
        let (mut ready, mut next) = (0, Cycles::MAX);
        for (index, &time) in self.queues.ready.values()[queues].iter().enumerate() {
            let is_ready = time <= now;
            ready |= u64::from(is_ready) << index;
            next = select_unpredictable(is_ready, next, next.min(time));
        }
        debug_assert!(ready != 0, "an own packet is ready");
        let later = ready & (u64::MAX << out.turn);
        let index = if later == 0 { ready } else { later }.trailing_zeros();
        let flights = &mut self.packets.flights;
        let queue = QueueId::new(out.queues.number() + index);
        let packet = self.queues.pop(queue, flights);
        if ready & (ready - 1) != 0 {
            next = now;
        }
        next = next.min(self.queues.ready[queue]);
        out.turn = index + 1;
        if out.turn == out.queue_count {
            out.turn = 0;
        }
        let flight = &mut flights[packet];
        flight.sent = flight.sent.min(now);
        let size = flight.symbols + 1;
        let header = Header {
            time: now + self.rules.hop,
            next: HeaderId::SENTINEL,
            number: packet.number(),
            echo: HeaderId::SENTINEL,
            from: InterfaceId::NONE,
            left: flight.current.hops - 1,
            back: flight.current.back,
            size,
            kind: Kind::Send,
            class: flight.class,
        };
        out.free = now + u64::from(size);
        // An own packet cannot leave before the link is free. If none waits (`Cycles::MAX`), the
        // value stays unchanged.
        out.own = next.max(out.free);
        let due = out.due();
        let to = out.next;
        self.outputs_due[port] = due;
        self.last_start = self.last_start.max(now);
        self.counters.sends[port.index()] += 1;
        let slot = self.headers.add(header);
        if header.left > 0 {
            self.push_forwarded(to, slot, header.time);
        } else {
            self.push_ending(to, slot);
        }
        due
    }

    /// Forward the next packet on the ring, by its header, when the link is free. Return the time
    /// of the next departure.
    #[inline(always)]
    fn forward(&mut self, port: InterfaceId) -> Cycles {
        let out = &mut self.outputs[port];
        let (slot, header, next) = self.headers.pop(&mut out.line);
        // Count the symbols of a packet that came over the incoming link. An echo that starts at
        // this interface in place of its send did not come over this link.
        if header.kind == Kind::Send || header.left != header.back {
            self.received[port].count(header.kind, header.time, header.size);
        }
        let start = header.time.max(out.free);
        let time = start + self.rules.hop;
        let size = u64::from(header.size);
        let left = header.left - 1;
        header.time = time;
        header.left = left;
        out.pass = next;
        out.free = start + size;
        // An own packet cannot leave before the link is free. If none waits (`Cycles::MAX`), the
        // value stays unchanged.
        out.own = out.own.max(out.free);
        let due = out.due();
        let to = out.next;
        self.outputs_due[port] = due;
        if left > 0 {
            self.push_forwarded(to, slot, time);
        } else {
            self.push_ending(to, slot);
        }
        due
    }

    /// Put a packet header on the link to interface `to`, which forwards the packet.
    #[inline(always)]
    fn push_forwarded(&mut self, to: InterfaceId, slot: HeaderId, time: Cycles) {
        let out = &mut self.outputs[to];
        self.headers.push(&mut out.line, slot);
        // Headers that are already on the link arrive earlier. So keep the earlier of both times.
        out.pass = out.pass.min(time);
        let due = out.due();
        self.schedule_output(to, due);
    }

    /// Put a packet header on the link to interface `to`, at which the current segment of the
    /// packet's route ends.
    #[inline(never)]
    fn push_ending(&mut self, to: InterfaceId, slot: HeaderId) {
        let header = *self.headers.get_mut(slot);
        if header.kind == Kind::Send {
            // Send the echo in place of the last symbols of the packet. It is a busy echo (a
            // refusal) until the target accepts the packet and changes it to a good echo.
            let size = self.rules.echo as u16 + 1;
            let follows = header.time + u64::from(header.size - size);
            let echo = self.headers.add(Header {
                time: follows,
                left: header.back,
                size,
                kind: Kind::Busy,
                ..header
            });
            self.headers.get_mut(slot).echo = echo;
            self.push_forwarded(to, echo, follows);
        }
        let input = &mut self.inputs[to];
        self.headers.push(&mut input.line, slot);
        input.arrival = input.arrival.min(key(header.time, ARRIVE));
        self.inputs_due[to] = input.due();
        let node = input.node;
        self.schedule_node(node, header.time);
    }
}
