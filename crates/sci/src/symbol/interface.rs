//! Decoders and outputs: what happens on the ring side of an interface.

use super::Engine;
use super::parts::{InputSlot, Kind, Sending, Subaction, Symbol};
use crate::traffic::Delivery;
use crate::{FlowControl, Handler};

impl<T: Copy> Engine<T> {
    /// An interface looks at the symbol that arrives, and decides what goes on.
    pub(super) fn decode<H: Handler<Tag = T>>(
        &mut self,
        port: usize,
        came: Symbol,
        handler: &mut H,
    ) -> Symbol {
        if came.kind != Kind::Idle && came.place == 0 {
            self.look_at_header(port, came, handler);
        }
        let decoder = &mut self.decoders[port];
        let mut symbol = match came.kind {
            Kind::Send if decoder.mine && came.place < decoder.echo_begins => Symbol::free(false),
            Kind::Send if decoder.mine => Symbol {
                kind: Kind::Echo,
                place: came.place - decoder.echo_begins,
                ..came
            },
            Kind::Echo if decoder.mine => Symbol::free(came.go),
            _ => came,
        };
        if came.kind == Kind::Idle || !came.idle {
            // Go bits are extended over free idles and what is stripped, to the next packet.
            if symbol.idle {
                symbol.go |= decoder.came_go;
                decoder.came_go = symbol.go;
            }
        } else {
            decoder.came_go = came.go;
            if decoder.mine {
                self.take_last(port, came);
            }
        }
        symbol
    }

    /// A send or an echo begins to come in.
    fn look_at_header<H: Handler<Tag = T>>(
        &mut self,
        port: usize,
        header: Symbol,
        handler: &mut H,
    ) {
        let action = self.actions.get(header.action);
        let (home, symbols) = match header.kind {
            Kind::Send => (action.target, action.symbols),
            _ => (action.source, self.rules.echo as u16),
        };
        let decoder = &mut self.decoders[port];
        decoder.mine = home as usize == port;
        decoder.echo_begins = symbols - self.rules.echo as u16;
        if decoder.mine {
            match header.kind {
                Kind::Send => self.accept_or_refuse(port, header.action, handler),
                _ => self.take_echo(port, header.action),
            }
        }
    }

    /// What has come to where it goes is complete.
    fn take_last(&mut self, port: usize, idle: Symbol) {
        match idle.kind {
            // The client has taken it.
            Kind::Send => self.inputs[port].for_client = None,
            _ => {
                self.actions.remove(idle.action);
            }
        }
    }

    /// A header has come for this interface.
    fn accept_or_refuse<H: Handler<Tag = T>>(&mut self, port: usize, number: u32, handler: &mut H) {
        let action = self.actions.get_mut(number);
        let (packet, class) = (action.packet, action.class);
        let input = &mut self.inputs[port];
        let used =
            input.queues[class.number()].len() + usize::from(input.for_client == Some(class));
        let accepted = used < self.rules.input_slots as usize;
        action.accepted = Some(accepted);
        if !accepted {
            return;
        }
        let traveller = self.packets.get_mut(packet);
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
                moved: None,
            });
            return;
        }
        input.for_client = Some(class);
        let node = input.node;
        let traveller = self.packets.remove(packet);
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
        self.last_delivery = self.now;
        self.counters.delivered[node as usize] += 1;
        handler.delivered(&delivery, &mut self.offers);
        self.take_offers(node);
    }

    fn take_echo(&mut self, port: usize, number: u32) {
        let action = self.actions.get(number);
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
            self.packets.get_mut(action.packet).retries += 1;
        }
    }

    /// The symbol that leaves `port` in this cycle.
    pub(super) fn output(&mut self, port: usize) -> Symbol {
        let incoming = self.passing[port];
        if incoming.place == 0 {
            self.count(port, incoming);
        }
        let out = &self.outputs[port];
        let mut symbol = match out.sending {
            Some(Sending::Own(symbol, last)) => {
                self.store(port, incoming);
                let place = symbol.place + 1;
                let following = Symbol {
                    place,
                    idle: place == last,
                    ..symbol
                };
                self.outputs[port].sending =
                    (!symbol.idle).then_some(Sending::Own(following, last));
                symbol
            }
            None if out.bypass.is_empty() => {
                let Some((queue, place)) = self.choose(port) else {
                    return self.pass(port, incoming);
                };
                self.store(port, incoming);
                self.start(port, queue, place)
            }
            Some(Sending::Through) if out.bypass.is_empty() => return self.pass(port, incoming),
            _ => {
                self.store(port, incoming);
                let symbol = self.outputs[port].bypass.pop_front();
                self.forward(port, symbol.expect("it is not empty"))
            }
        };
        // What was kept back is let go with the idle after which nothing waits.
        let out = &mut self.outputs[port];
        let release = out.sending.is_none() && out.bypass.is_empty();
        symbol.go = release && std::mem::take(&mut out.saved_go);
        out.emitted_go = symbol.go;
        symbol
    }

    /// Lets go on at once what comes in.
    fn pass(&mut self, port: usize, incoming: Symbol) -> Symbol {
        self.outputs[port].emitted_go = incoming.go;
        self.forward(port, incoming)
    }

    /// Counts what has come to be passed on.
    fn count(&mut self, port: usize, header: Symbol) {
        match header.kind {
            Kind::Idle => {}
            Kind::Send => {
                let symbols = u64::from(self.actions.get(header.action).symbols);
                self.counters.send_symbols[port] += symbols + 1;
            }
            Kind::Echo => self.counters.echo_symbols[port] += u64::from(self.rules.echo) + 1,
        }
    }

    /// Keeps a symbol that cannot go on yet. Free idles are absorbed, go bits kept back.
    fn store(&mut self, port: usize, symbol: Symbol) {
        let out = &mut self.outputs[port];
        out.saved_go |= symbol.go;
        if symbol.kind != Kind::Idle {
            out.bypass.push_back(Symbol {
                go: false,
                ..symbol
            });
            debug_assert!(
                out.bypass.len() <= self.rules.symbols_max as usize + 2,
                "a bypass FIFO overflows"
            );
        }
    }

    /// Lets a symbol go on that came from another node.
    fn forward(&mut self, port: usize, symbol: Symbol) -> Symbol {
        self.outputs[port].sending = (!symbol.idle).then_some(Sending::Through);
        symbol
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
        let packet = self.packets.get_mut(slot.packet);
        packet.sent.get_or_insert(self.now);
        let segment = packet.route[packet.stretch];
        let ends = self.fabric.stretch(out.node, segment);
        let action = self.actions.add(Subaction {
            packet: slot.packet,
            class: packet.class,
            symbols: packet.symbols as u16,
            source: port as u32,
            target: ends.expect("routes are checked").1,
            queue,
            slot: slot.number,
            accepted: None,
        });
        slot.action = Some(action);
        let last = packet.symbols as u16;
        let header = Symbol {
            kind: Kind::Send,
            idle: false,
            go: false,
            place: 0,
            action,
        };
        let following = Symbol {
            place: 1,
            idle: last == 1,
            ..header
        };
        out.sending = Some(Sending::Own(following, last));
        self.last_start = self.now;
        self.counters.sends[port] += 1;
        self.counters.send_symbols[port] += u64::from(last) + 1;
        header
    }
}
