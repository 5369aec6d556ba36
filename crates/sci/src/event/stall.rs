//! Detection of stalls: packets wait and none is delivered. It reads the whole state of the engine,
//! so callers must use it rarely.

use super::Engine;
use super::lines::Kind;
use super::packets::PacketId;
use super::port::Input;
use crate::stall::{Progress, Waiting};
use crate::traffic::CLASSES;
use crate::{InterfaceId, Stall};
use isthmus_kernel::{Cycles, Id};

impl<T: Copy> Engine<T> {
    /// Return the stall if no packet has been delivered for `limit` cycles.
    pub(super) fn find_stall(&self, limit: Cycles) -> Option<Stall> {
        if self.now < self.last_delivery + limit || self.under_way == 0 {
            return None;
        }
        let progress = Progress {
            now: self.now,
            last_delivery: self.last_delivery,
            last_start: self.last_start,
            oldest: self.oldest(),
            under_way: self.under_way,
        };
        progress.stalled(limit, || self.waiting().stalled(&self.fabric))
    }

    /// Return the nodes whose packets can never move again.
    pub(super) fn wedged_nodes(&self) -> Vec<u32> {
        let slots = self.rules.input_slots;
        let is_full = |input: &Input| input.queues.iter().any(|queue| queue.len == slots);
        // Every circular wait leads through full input queues, so without a full one nothing waits
        // in a circle.
        if !self.inputs.values().iter().any(is_full) {
            return Vec::new();
        }
        self.waiting().wedged(&self.fabric)
    }

    /// Return the cycle in which the oldest packet in flight was generated; `None` without packets.
    fn oldest(&self) -> Option<Cycles> {
        // Ignore packets whose generation is scheduled for the future.
        let mut present = self.packets.flights.used();
        for client in &self.clients {
            for &(_, packet) in &client.scheduled {
                present[packet.index()] = false;
            }
        }
        let origins = self.packets.origins.values().iter().zip(present);
        origins
            .filter(|(_, present)| *present)
            .map(|(origin, _)| origin.generated)
            .min()
    }

    /// Return the dependencies among full queues of the fabric.
    fn waiting(&self) -> Waiting {
        let slots = self.queues.slots.values().iter();
        let mut outputs: Vec<Option<Vec<u32>>> =
            slots.map(|slots| slots.is_full().then(Vec::new)).collect();
        let mut leads_to = |packet: PacketId| {
            let flight = &self.packets.flights[packet];
            if let Some(targets) = &mut outputs[flight.queue.index()] {
                let target = self.target(packet);
                targets.push(Waiting::input(target, flight.class.number()));
            }
        };
        for queue in self.queues.slots.values() {
            let mut packet = queue.head;
            while packet != PacketId::NONE {
                leads_to(packet);
                packet = self.packets.flights[packet].next;
            }
        }
        let mut accepted = Vec::new();
        for (input, output) in self.inputs.values().iter().zip(self.outputs.values()) {
            for header in self.headers.iter(output.line) {
                // An echo whose send has not arrived yet represents that send.
                match header.kind {
                    Kind::Good => accepted.push(header.queue()),
                    Kind::Send | Kind::Busy => leads_to(header.packet()),
                }
            }
            for header in self.headers.iter(input.line) {
                match header.kind {
                    Kind::Good => accepted.push(header.queue()),
                    Kind::Busy => leads_to(header.packet()),
                    Kind::Send => {}
                }
            }
        }
        for queue in accepted {
            outputs[queue.index()] = None;
        }
        let mut inputs = vec![None; self.inputs.values().len() * CLASSES];
        for (index, input) in self.inputs.values().iter().enumerate() {
            let port = InterfaceId::new(index as u32);
            for (class, packets) in input.queues.iter().enumerate() {
                if packets.len == self.rules.input_slots {
                    let queue = self.queue_for(packets.head, Some(u32::from(input.port)));
                    if self.queues.slots[queue].is_full() {
                        inputs[Waiting::input(port, class) as usize] = Some(queue.number());
                    }
                }
            }
        }
        Waiting { inputs, outputs }
    }

    /// Return the interface at which the present route segment of a packet ends.
    fn target(&self, packet: PacketId) -> InterfaceId {
        let current = self.packets.flights[packet].current;
        let next = |&at: &InterfaceId| Some(self.outputs[at].next);
        let mut path = std::iter::successors(Some(current.port), next);
        path.nth(usize::from(current.hops))
            .expect("a ring has no end")
    }
}
