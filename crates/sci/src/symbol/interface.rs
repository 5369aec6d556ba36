//! Decoders and outputs: what happens on the ring side of an interface.

use super::Engine;
use super::parts::{ActionId, InputSlot, Kind, Subaction, Symbol};
use crate::traffic::Delivery;
use crate::{FlowControl, Handler, InterfaceId};
use isthmus_kernel::Id;

impl<T: Copy> Engine<T> {
    /// An interface looks at a special symbol, and decides what goes on.
    pub(super) fn decode<H: Handler<Tag = T>>(
        &mut self,
        port: usize,
        came: Symbol,
        handler: &mut H,
    ) -> Symbol {
        if matches!(came.kind(), Kind::SendIdle | Kind::EchoIdle) {
            return self.take_last(port, came);
        }
        if came.place() == 0 {
            self.look_at_header(port, came, handler);
        }
        self.decoders[port].carry(came)
    }

    /// A send or an echo begins to come in.
    fn look_at_header<H: Handler<Tag = T>>(
        &mut self,
        port: usize,
        header: Symbol,
        handler: &mut H,
    ) {
        let action = &self.actions[header.action()];
        let (home, symbols) = match header.kind() {
            Kind::Send => (action.target, action.symbols),
            _ => (action.source, self.rules.echo as u16),
        };
        let decoder = &mut self.decoders[port];
        decoder.mine = home.index() == port;
        decoder.echo_begins = symbols - self.rules.echo as u16;
        match (header.kind(), decoder.mine) {
            (Kind::Send, true) => self.accept_or_refuse(port, header.action(), handler),
            (_, true) => self.take_echo(port, header.action()),
            (_, false) => {}
        }
    }

    /// What has come to where it goes is complete. Returns the idle that goes on.
    fn take_last(&mut self, port: usize, idle: Symbol) -> Symbol {
        if idle.kind() == Kind::SendIdle {
            // The client has taken it.
            self.inputs[port].for_client = None;
            let place = self.rules.echo as u16;
            Symbol::new(Kind::EchoIdle, idle.action(), place).with_go(idle.go())
        } else {
            self.actions.remove(idle.action());
            Symbol::free(idle.go())
        }
    }

    /// A header has come for this interface.
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
        traveller.stretch += 1;
        if traveller.stretch < traveller.route.len() {
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
            links: traveller.route.iter().map(|stretch| stretch.hops).sum(),
            retries: traveller.retries,
        };
        self.under_way -= 1;
        self.last_delivery = self.last_delivery.max(self.now);
        self.counters.delivered[node as usize] += 1;
        handler.delivered(&delivery, &mut self.offers);
        self.take_offers(node);
    }

    fn take_echo(&mut self, port: usize, number: ActionId) {
        let action = &self.actions[number];
        let accepted = action.accepted.expect("the target has decided");
        let output = &mut self.outputs[port].queues[action.queue];
        let place = output
            .iter()
            .position(|slot| slot.number == action.slot)
            .expect("the slot is held");
        if accepted {
            output.remove(place);
        } else {
            output[place].ready = Some(self.now);
            output[place].action = None;
            self.outputs[port].waiting += 1;
            self.counters.retries[port] += 1;
            self.packets[action.packet].retries += 1;
        }
    }

    /// The symbol that leaves `port` in this cycle, where nothing is on its way out or waits: the
    /// header of an own packet, or what comes in.
    pub(super) fn begin(&mut self, port: usize) -> Symbol {
        let incoming = self.passing[port];
        if let Some((queue, place)) = self.choose(port) {
            self.outputs[port].store(incoming);
            self.start(port, queue, place)
        } else {
            self.outputs[port].pass(incoming)
        }
    }

    /// The queue and the place in it of the own packet to be sent: the oldest that is ready of the
    /// next queue in turn that has one.
    fn choose(&self, port: usize) -> Option<(usize, usize)> {
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

    /// Begins to send an own packet; gives its header.
    fn start(&mut self, port: usize, queue: usize, place: usize) -> Symbol {
        let out = &mut self.outputs[port];
        out.turn = (queue + 1) % out.queues.len();
        out.waiting -= 1;
        let slot = &mut out.queues[queue][place];
        slot.ready = None;
        let packet = &mut self.packets[slot.packet];
        packet.sent.get_or_insert(self.now);
        let segment = packet.route[packet.stretch];
        let ends = self.fabric.stretch(out.node, segment);
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
        out.own(action, 0, last)
    }
}
