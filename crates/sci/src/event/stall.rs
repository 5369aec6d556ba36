//! Whether the engine still makes progress. Looks at everything, so it is asked now and then only.

use super::Engine;
use super::packets::NONE;
use super::port::Kind;
use crate::Stall;
use crate::stall::{Progress, Waiting};
use crate::traffic::CLASSES;
use isthmus_kernel::Cycles;

impl<T: Copy> Engine<T> {
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
        progress.stalled(limit, || self.waiting().wedged(&self.fabric))
    }

    /// When the oldest packet under way was generated.
    fn oldest(&self) -> Option<Cycles> {
        // Places that are free, and packets that are still to come.
        let mut absent = vec![false; self.packets.flights.len()];
        for packet in self.packets.free_places() {
            absent[packet as usize] = true;
        }
        for client in &self.clients {
            for &(_, packet) in &client.to_come {
                absent[packet as usize] = true;
            }
        }
        let origins = self.packets.origins.iter().zip(absent);
        origins
            .filter(|(_, absent)| !absent)
            .map(|(origin, _)| origin.generated)
            .min()
    }

    /// Who waits for whom.
    pub(super) fn waiting(&self) -> Waiting {
        let mut outputs: Vec<Option<Vec<u32>>> = self
            .queues
            .iter()
            .map(|queue| (queue.held == queue.slots).then(Vec::new))
            .collect();
        let mut leads_to = |packet: u32| {
            let flight = &self.packets.flights[packet as usize];
            if let Some(targets) = &mut outputs[flight.queue as usize] {
                let target = self.target(packet);
                targets.push(Waiting::input(target, flight.class.number()));
            }
        };
        for queue in &self.queues {
            let mut packet = queue.head;
            while packet != NONE {
                leads_to(packet);
                packet = self.packets.flights[packet as usize].next;
            }
        }
        let mut accepted = Vec::new();
        for (index, port) in self.ports.iter().enumerate() {
            let base = index << self.shift;
            for place in 0..port.passing.len {
                let passing = &self.passing[base + port.passing.place(place, self.mask)];
                // An echo whose send is still to come stands for that send.
                match passing.kind {
                    Kind::Good => accepted.push(passing.number),
                    Kind::Send | Kind::Busy => leads_to(passing.number),
                }
            }
            for place in 0..port.coming.len {
                let coming = &self.coming[base + port.coming.place(place, self.mask)];
                match coming.kind {
                    Kind::Good => accepted.push(coming.number),
                    Kind::Busy => leads_to(coming.number),
                    Kind::Send => {}
                }
            }
        }
        for queue in accepted {
            outputs[queue as usize] = None;
        }
        let mut inputs = vec![None; self.ports.len() * CLASSES];
        for (index, port) in self.ports.iter().enumerate() {
            for (class, input) in port.inputs.iter().enumerate() {
                if input.len == self.rules.input_slots {
                    let queue = self.queue_for(input.head, Some(port.port));
                    if self.queues[queue].held == self.queues[queue].slots {
                        inputs[Waiting::input(index as u32, class) as usize] = Some(queue as u32);
                    }
                }
            }
        }
        Waiting { inputs, outputs }
    }

    /// The interface at the end of the packet's present stretch.
    fn target(&self, packet: u32) -> u32 {
        let flight = &self.packets.flights[packet as usize];
        let stretch = self.packets.stretch(packet, flight.stretch);
        let mut at = stretch.port;
        for _ in 0..stretch.hops {
            at = self.ports[at as usize].next;
        }
        at
    }
}
