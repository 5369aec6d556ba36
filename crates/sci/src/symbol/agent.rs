//! The inside of a node of an SCI fabric: its client (traffic source), and the crossbars between
//! its interfaces.

use super::Engine;
use super::parts::{Exit, OutputSlot, PacketId, Transfer};
use crate::traffic::{Class, Dropped, REMINDER};
use crate::{Handler, Source};
use isthmus_kernel::{Cycles, Id};

impl<T: Copy> Engine<T> {
    /// Generate the packets of the client of `node` whose time has come, and admit each packet if
    /// it finds a free slot.
    pub(super) fn generate<H: Handler<Tag = T>>(&mut self, node: usize, handler: &mut H) {
        while let Some(&(time, packet)) = self.clients[node].scheduled.front()
            && time == self.now
        {
            self.clients[node].scheduled.pop_front();
            let tag = self.packets[packet].tag;
            if H::REMINDED && self.packets[packet].symbols == REMINDER {
                self.packets.remove(packet);
                handler.reminded(node as u32, time, tag, &mut self.offers);
                self.take_offers(node as u32);
                continue;
            }
            self.under_way += 1;
            let class = self.packets[packet].class;
            handler.generated(node as u32, time, tag, &mut self.offers);
            let exit = self.exit(packet, None);
            if self.rules.source == Source::Unbounded {
                let waiting = &mut self.clients[node].waiting;
                waiting[class.number()].push_back((packet, exit));
            } else if !self.admit(packet, exit) {
                self.packets.remove(packet);
                self.under_way -= 1;
                self.counters.dropped[node] += 1;
                let dropped = Dropped {
                    tag,
                    node: node as u32,
                    time,
                };
                handler.dropped(&dropped, &mut self.offers);
            }
            self.take_offers(node as u32);
        }
        for class in Class::ALL {
            while let Some(&(packet, exit)) = self.clients[node].waiting[class.number()].front()
                && self.admit(packet, exit)
            {
                self.clients[node].waiting[class.number()].pop_front();
            }
        }
    }

    /// Put a packet of the client into a free slot of its output queue. Return false, and change
    /// nothing, if there is no free slot.
    fn admit(&mut self, packet: PacketId, exit: Exit) -> bool {
        if self.is_full(exit, self.rules.client_slots) {
            return false;
        }
        self.packets[packet].admitted = self.now;
        self.take_slot(exit, packet, self.now);
        true
    }

    /// Return whether an output queue with `slots` slots is full of packets.
    pub(super) fn is_full(&self, exit: Exit, slots: u32) -> bool {
        self.outputs[exit.port].queues[exit.queue].len() == slots as usize
    }

    /// Return the output queue into which a packet goes at its present node. `from` is the number
    /// of the node's interface by which the packet came, or `None` if it came from the client.
    pub(super) fn exit(&self, packet: PacketId, from: Option<usize>) -> Exit {
        let traveller = &self.packets[packet];
        let mut node = traveller.node;
        for &segment in &traveller.route[..traveller.segment_index] {
            let (_, end) = self
                .fabric
                .segment_ends(node, segment)
                .expect("a checked route");
            node = self.fabric.interfaces()[end].node;
        }
        let ring = traveller.route[traveller.segment_index].ring;
        let port = self
            .fabric
            .interface(node, ring)
            .expect("a checked route")
            .index();
        let from = from.unwrap_or(self.inputs[port].port);
        let ports = self.fabric.node_interfaces(node).len();
        Exit {
            port,
            queue: traveller.class.number() * ports + from,
        }
    }

    /// Put a packet into an output queue. It can leave the queue in cycle `ready` at the earliest.
    fn take_slot(&mut self, exit: Exit, packet: PacketId, ready: Cycles) {
        let output = &mut self.outputs[exit.port];
        output.queues[exit.queue].push(OutputSlot {
            number: self.slots,
            packet,
            ready: Some(ready),
            action: None,
        });
        output.waiting += 1;
        self.slots += 1;
    }

    /// If the packet in transfer has passed the crossbar completely, remove it from its input
    /// queue.
    #[inline]
    pub(super) fn finish_transfer(&mut self, port: usize) {
        let input = &mut self.inputs[port];
        if let Some(transfer) = input.crossbar
            && transfer.left == 0
        {
            input.queues[transfer.class.number()].pop_front();
            input.count -= 1;
            input.crossbar = None;
        }
    }

    /// Advance the crossbar behind an input by one cycle: start the transfer of a packet if
    /// possible, responses first, and move one symbol.
    pub(super) fn transfer(&mut self, port: usize) {
        if self.inputs[port].count == 0 {
            return;
        }
        self.finish_transfer(port);
        if self.inputs[port].crossbar.is_none() {
            for class in [Class::Response, Class::Request] {
                let Some(slot) = self.inputs[port].queues[class.number()].front() else {
                    continue;
                };
                let (packet, exit, left) = (slot.packet, slot.exit, slot.symbols);
                let (before, after) = self.rules.ring_change_delays();
                if self.now < slot.header + before || self.is_full(exit, self.rules.output_slots) {
                    continue;
                }
                self.take_slot(exit, packet, self.now + after);
                self.inputs[port].crossbar = Some(Transfer { class, left });
                break;
            }
        }
        let input = &mut self.inputs[port];
        if let Some(transfer) = &mut input.crossbar {
            debug_assert!(
                {
                    let slot = &input.queues[transfer.class.number()][0];
                    slot.header + Cycles::from(slot.symbols - transfer.left) <= self.now
                },
                "a symbol has not come yet"
            );
            transfer.left -= 1;
        }
    }
}
