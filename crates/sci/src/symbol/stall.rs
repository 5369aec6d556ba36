//! Detection of stalls in the symbol-by-symbol reference engine.

use super::Engine;
use crate::stall::{Progress, Waiting};
use crate::traffic::CLASSES;
use crate::{InterfaceId, Stall};
use isthmus_kernel::{Cycles, Id};

impl<T: Copy> Engine<T> {
    /// Return the stall if no packet has been delivered for `limit` cycles.
    pub(super) fn find_stall(&self, limit: Cycles) -> Option<Stall> {
        let packets = self.packets.values().iter().zip(self.packets.used());
        let present = packets.filter(|(_, used)| *used);
        let generated = present.map(|(packet, _)| packet.generated);
        let progress = Progress {
            now: self.now,
            last_delivery: self.last_delivery,
            last_start: self.last_start,
            oldest: generated.filter(|&time| time < self.now).min(),
            under_way: self.under_way,
        };
        progress.stalled(limit, || self.waiting().stalled(&self.fabric))
    }

    /// Return the dependencies among full queues of the fabric.
    pub(super) fn waiting(&self) -> Waiting {
        let mut first = Vec::new();
        let mut outputs = Vec::new();
        for (input, output) in self.inputs.iter().zip(&self.outputs) {
            first.push(outputs.len());
            let queues_per_class = output.queues.len() / CLASSES;
            for (queue, slots) in output.queues.iter().enumerate() {
                let limit = if queue % queues_per_class == input.port {
                    self.rules.client_slots
                } else {
                    self.rules.output_slots
                };
                let accepted = |action| self.actions[action].accepted == Some(true);
                let full = slots.len() == limit as usize;
                let stays = !slots.iter().any(|slot| slot.action.is_some_and(accepted));
                outputs.push((full && stays).then(|| {
                    let target = |packet| {
                        let traveller = &self.packets[packet];
                        let segment = traveller.route[traveller.segment_index];
                        let ends = self.fabric.segment_ends(output.node, segment);
                        Waiting::input(ends.expect("a checked route").1, traveller.class.number())
                    };
                    slots.iter().map(|slot| target(slot.packet)).collect()
                }));
            }
        }
        let mut inputs = vec![None; self.inputs.len() * CLASSES];
        for (index, input) in self.inputs.iter().enumerate() {
            for (class, queue) in input.queues.iter().enumerate() {
                if queue.len() == self.rules.input_slots as usize
                    && input
                        .crossbar
                        .is_none_or(|transfer| transfer.class.number() != class)
                    && self.is_full(queue[0].exit, self.rules.output_slots)
                {
                    let exit = queue[0].exit;
                    let number = (first[exit.port] + exit.queue) as u32;
                    inputs[Waiting::input(InterfaceId::new(index as u32), class) as usize] =
                        Some(number);
                }
            }
        }
        Waiting { inputs, outputs }
    }
}
