//! The side of an SCI interface that faces its ring: the decoders of incoming symbols, and the
//! outputs.

use super::Engine;
use super::parts::{ActionId, InputSlot, Kind, Subaction, Symbol};
use crate::traffic::Delivery;
use crate::{FlowControl, Handler, InterfaceId};
use isthmus_kernel::Id;

impl<T: Copy> Engine<T> {
    /// Decode a symbol at which a packet or its echo starts or ends, and return the symbol that
    /// replaces it. This needs more than the state of the decoder: see `Decoder::is_special`.
    pub(super) fn decode<H: Handler<Tag = T>>(
        &mut self,
        port: usize,
        incoming: Symbol,
        handler: &mut H,
    ) -> Symbol {
        if matches!(incoming.kind(), Kind::SendIdle | Kind::EchoIdle) {
            return self.finish_packet(port, incoming);
        }
        if incoming.position() == 0 {
            self.decode_header(port, incoming, handler);
        }
        self.decoders[port].replace(incoming)
    }

    /// Handle the first symbol of a send packet or an echo. Return the symbol that replaces it.
    fn decode_header<H: Handler<Tag = T>>(&mut self, port: usize, header: Symbol, handler: &mut H) {
        let action = &self.actions[header.action()];
        let (destination, symbols) = match header.kind() {
            Kind::Send => (action.target, action.symbols),
            _ => (action.source, self.rules.echo as u16),
        };
        let decoder = &mut self.decoders[port];
        decoder.ends_here = destination.index() == port;
        decoder.echo_begins = symbols - self.rules.echo as u16;
        match (header.kind(), decoder.ends_here) {
            (Kind::Send, true) => self.accept_or_refuse(port, header.action(), handler),
            (_, true) => self.handle_echo(port, header.action()),
            (_, false) => {}
        }
    }

    /// Handle the last symbol of a packet at its destination. Return the idle symbol that replaces
    /// it.
    fn finish_packet(&mut self, port: usize, idle: Symbol) -> Symbol {
        if idle.kind() == Kind::SendIdle {
            // The client has received the whole packet, so free the packet's input slot.
            self.inputs[port].for_client = None;
            let place = self.rules.echo as u16;
            Symbol::new(Kind::EchoIdle, idle.action(), place).with_go(idle.go_bit())
        } else {
            self.actions.remove(idle.action());
            Symbol::free(idle.go_bit())
        }
    }

    /// Accept or refuse a send packet whose header has arrived at its target.
    fn accept_or_refuse<H: Handler<Tag = T>>(
        &mut self,
        port: usize,
        number: ActionId,
        handler: &mut H,
    ) {
        self.finish_transfer(port);
        let action = &mut self.actions[number];
        let (packet, class) = (action.packet, action.class);
        let input = &mut self.inputs[port];
        let used =
            input.queues[class.number()].len() + usize::from(input.for_client == Some(class));
        let accepted = used < self.rules.input_slots as usize;
        action.accepted = Some(accepted);
        if !accepted {
            return;
        }
        let traveller = &mut self.packets[packet];
        traveller.segment_index += 1;
        if traveller.segment_index < traveller.route.len() {
            let symbols = traveller.symbols;
            let exit = self.exit(packet, Some(self.inputs[port].port));
            let input = &mut self.inputs[port];
            input.count += 1;
            input.queues[class.number()].push_back(InputSlot {
                packet,
                exit,
                symbols,
                header: self.now,
            });
            return;
        }
        input.for_client = Some(class);
        let node = input.node;
        let traveller = &*self.packets.remove(packet);
        let delivery = Delivery {
            tag: traveller.tag,
            node,
            class,
            symbols: traveller.symbols,
            generated: traveller.generated,
            admitted: traveller.admitted,
            sent: traveller.sent.expect("it has left its source"),
            header: self.now,
            tail: self.now + u64::from(traveller.symbols),
            ring_changes: traveller.route.len() as u32 - 1,
            links: traveller.route.iter().map(|segment| segment.hops).sum(),
            retries: traveller.retries,
        };
        self.under_way -= 1;
        self.last_delivery = self.last_delivery.max(self.now);
        self.counters.delivered[node as usize] += 1;
        handler.delivered(&delivery, &mut self.offers);
        self.take_offers(node);
    }

    /// Handle an echo at the sender: a good echo releases the slot, and a busy echo makes the
    /// packet ready.
    fn handle_echo(&mut self, port: usize, number: ActionId) {
        let action = &self.actions[number];
        let accepted = action.accepted.expect("the target has decided");
        let output = &mut self.outputs[port].queues[action.queue];
        let index = output
            .iter()
            .position(|slot| slot.number == action.slot)
            .expect("the slot is held");
        if accepted {
            output.remove(index);
        } else {
            output[index].ready = Some(self.now);
            output[index].action = None;
            self.outputs[port].waiting += 1;
            self.counters.retries[port] += 1;
            self.packets[action.packet].retries += 1;
        }
    }

    /// Return the symbol that leaves `port` in this cycle: the header of an own packet, or the
    /// incoming symbol. The caller must ensure that no packet is being sent and the bypass FIFO is
    /// empty.
    pub(super) fn next_symbol(&mut self, port: usize) -> Symbol {
        let incoming = self.forwarded[port];
        if let Some((queue, place)) = self.choose_packet(port) {
            self.outputs[port].store(incoming);
            self.start_send(port, queue, place)
        } else {
            self.outputs[port].forward(incoming)
        }
    }

    /// Return the queue and the position in it of the next packet that this node sends: the oldest
    /// ready packet of the next queue that has one, in round-robin order.
    fn choose_packet(&self, port: usize) -> Option<(usize, usize)> {
        let out = &self.outputs[port];
        let may_send = self.rules.flow_control == FlowControl::None || out.emitted_go;
        if out.waiting == 0 || !may_send {
            return None;
        }
        let count = out.queues.len();
        (0..count)
            .map(|step| (out.turn + step) % count)
            .find_map(|queue| {
                let ready = |ready| ready <= self.now;
                let place = out.queues[queue]
                    .iter()
                    .position(|slot| slot.ready.is_some_and(ready))?;
                Some((queue, place))
            })
    }

    /// Start to send the packet in slot `place` of the output queue `queue`. Return its header.
    fn start_send(&mut self, port: usize, queue: usize, place: usize) -> Symbol {
        let out = &mut self.outputs[port];
        out.turn = (queue + 1) % out.queues.len();
        out.waiting -= 1;
        let slot = &mut out.queues[queue][place];
        slot.ready = None;
        let packet = &mut self.packets[slot.packet];
        packet.sent.get_or_insert(self.now);
        let segment = packet.route[packet.segment_index];
        let ends = self.fabric.segment_ends(out.node, segment);
        let action = self.actions.insert(Subaction {
            packet: slot.packet,
            class: packet.class,
            symbols: packet.symbols as u16,
            source: InterfaceId::new(port as u32),
            target: ends.expect("routes are checked").1,
            queue,
            slot: slot.number,
            accepted: None,
        });
        slot.action = Some(action);
        let last = packet.symbols as u16;
        out.emitted_go = false;
        self.last_start = self.last_start.max(self.now);
        self.counters.sends[port] += 1;
        out.own_symbol(action, 0, last)
    }
}
