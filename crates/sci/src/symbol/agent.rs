//! Clients and crossbars: what happens inside a node.

use super::Engine;
use super::parts::OutputSlot;
use crate::traffic::{Class, Dropped};
use crate::{Handler, Source};
use isthmus_kernel::Cycles;

impl<T: Copy> Engine<T> {
    /// The client of `node` generates what is due, and moves up what finds a slot.
    pub(super) fn generate<H: Handler<Tag = T>>(&mut self, node: usize, handler: &mut H) {
        while let Some(&(time, packet)) = self.clients[node].to_come.front()
            && time == self.now
        {
            self.clients[node].to_come.pop_front();
            self.under_way += 1;
            let tag = self.packets.get(packet).tag;
            let class = self.packets.get(packet).class;
            handler.generated(node as u32, time, tag, &mut self.offers);
            if self.rules.source == Source::Unbounded {
                self.clients[node].waiting[class.number()].push_back(packet);
            } else if !self.admit(packet) {
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
            while let Some(&packet) = self.clients[node].waiting[class.number()].front()
                && self.admit(packet)
            {
                self.clients[node].waiting[class.number()].pop_front();
            }
        }
    }

    /// Gives a packet of the client a slot of its output queue, if there is one.
    fn admit(&mut self, packet: u32) -> bool {
        let (port, queue) = self.queue_for(packet, None);
        if self.ports[port].outputs[queue].len() == self.rules.client_slots as usize {
            return false;
        }
        self.packets.get_mut(packet).admitted = self.now;
        self.take_slot(port, queue, packet, self.now);
        true
    }

    /// The interface that `packet` leaves by, and the number there of its output queue if it comes
    /// in by port `from` of the node, or from the client.
    pub(super) fn queue_for(&self, packet: u32, from: Option<usize>) -> (usize, usize) {
        let traveller = self.packets.get(packet);
        let mut node = traveller.node;
        for &segment in &traveller.route[..traveller.stretch] {
            let (_, end) = self.fabric.stretch(node, segment).expect("a checked route");
            node = self.fabric.interfaces()[end as usize].node;
        }
        let ring = traveller.route[traveller.stretch].ring;
        let port = self.fabric.interface(node, ring).expect("a checked route") as usize;
        let from = from.unwrap_or(self.ports[port].port);
        let ports = self.fabric.of_node(node).len();
        (port, traveller.class.number() * ports + from)
    }

    fn take_slot(&mut self, port: usize, queue: usize, packet: u32, ready: Cycles) {
        self.ports[port].outputs[queue].push(OutputSlot {
            number: self.slots,
            packet,
            ready: Some(ready),
            action: None,
        });
        self.ports[port].waiting += 1;
        self.slots += 1;
    }

    /// Takes packets that are through the crossbar out of their input queues.
    pub(super) fn finish_transfers(&mut self) {
        for port in &mut self.ports {
            if let Some(class) = port.crossbar {
                let input = &mut port.inputs[class.number()];
                let first = input.front().expect("a packet in transfer");
                if first.moved == Some(first.symbols) {
                    input.pop_front();
                    port.crossbar = None;
                }
            }
        }
    }

    /// The crossbar behind an input begins a transfer if it can, responses first, and moves one
    /// symbol.
    pub(super) fn transfer(&mut self, port: usize) {
        if self.ports[port].crossbar.is_none() {
            for class in [Class::Response, Class::Request] {
                let Some(slot) = self.ports[port].inputs[class.number()].front() else {
                    continue;
                };
                let packet = slot.packet;
                let (out, queue) = self.queue_for(packet, Some(self.ports[port].port));
                if self.ports[out].outputs[queue].len() == self.rules.output_slots as usize {
                    continue;
                }
                self.take_slot(out, queue, packet, self.now + self.rules.ring_change);
                let input = &mut self.ports[port];
                input.inputs[class.number()][0].moved = Some(0);
                input.crossbar = Some(class);
                break;
            }
        }
        let input = &mut self.ports[port];
        if let Some(class) = input.crossbar {
            let slot = &mut input.inputs[class.number()][0];
            let moved = slot.moved.as_mut().expect("a packet in transfer");
            debug_assert!(*moved < slot.arrived, "a symbol has not come yet");
            *moved += 1;
        }
    }
}
