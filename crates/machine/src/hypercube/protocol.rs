//! Protocol of I/O demands (section 4.3 of the hypercube paper): messages go from the PE to the I/O
//! node that serves it, on to the I/O node that has the data, and back.

use crate::hypercube::observe::{Class, Completed, Leg, Observer, Operation};
use crate::hypercube::operation::{MessageId, MessageState, Open, Stage, Step};
use crate::hypercube::simulation::{Driver, Tag};
use isthmus_kernel::{Cycles, Engine as _, Id};
use isthmus_workload::spec::FileLayout;
use isthmus_workload::{Demand, Location};
use isthmus_wormhole::Engine;
use std::sync::Arc;

impl<O: Observer> Driver<'_, O> {
    /// Start an I/O demand of `pe`, which was generated in cycle `asked`.
    #[cold]
    pub(crate) fn io_demand(
        &mut self,
        engine: &mut Engine<Tag>,
        pe: u32,
        demand: Demand,
        asked: Cycles,
    ) {
        let now = engine.now();
        let (operation, blocks) = match demand {
            Demand::Read { blocks } => (Operation::Read, blocks),
            Demand::Write { blocks } => (Operation::Write, blocks),
            Demand::Broadcast => (Operation::Broadcast, 1),
            Demand::Scatter => (Operation::Scatter, 1),
            Demand::Gather => (Operation::Gather, 1),
            Demand::Message { .. } => unreachable!("messages are not I/O demands"),
        };
        let state = &mut *self.state;
        let open = state.open.insert(Open {
            operation,
            pe,
            generated: asked - state.machine.startup(),
            parts: 0,
            network: 0,
            last: now,
        });
        let mut ask = |from: u32, blocks: u32, data: bool| {
            let message = state.messages.insert(MessageState {
                open,
                stage: Stage::Send,
                step: Step::Ask { pe: from },
                blocks,
                network: 0,
                data,
                cause: u64::MAX,
            });
            state.open[open].parts += 1;
            message
        };
        let mut messages = Vec::new();
        match operation {
            Operation::Read | Operation::Write => {
                let split = state.lengths.split;
                for first in (0..blocks).step_by(split as usize) {
                    let part = split.min(blocks - first);
                    messages.push(ask(pe, part, operation == Operation::Write));
                }
            }
            Operation::Broadcast | Operation::Scatter => messages.push(ask(pe, 1, false)),
            Operation::Gather => {
                for member in state.traffic.group(pe) {
                    if state.machine.is_alive(member) {
                        messages.push(ask(member, 1, true));
                    }
                }
            }
        }
        for message in messages {
            self.send(engine, message);
        }
    }

    /// Continue a message of an I/O demand, because the event for which it waited has occurred.
    pub(crate) fn due(&mut self, engine: &mut Engine<Tag>, index: MessageId) {
        match self.state.messages[index].stage {
            Stage::Send => self.send(engine, index),
            Stage::Arrive => {
                let message = *self.state.messages.remove(index);
                self.arrived(engine, message);
            }
            Stage::Store => {
                let message = *self.state.messages.remove(index);
                self.part_done(engine, &message, engine.now());
            }
        }
    }

    /// Start the message of an I/O demand whose state has the number `index`.
    fn send(&mut self, engine: &mut Engine<Tag>, index: MessageId) {
        let state = &mut *self.state;
        let message = state.messages[index];
        let machine = &state.machine;
        let path = &mut state.path;
        path.clear();
        message.step.path(machine, path);
        let class = match message.step {
            Step::Ask { .. } if message.data => Class::Write,
            Step::Ask { .. } => Class::Request,
            Step::Redirect { .. } => Class::Redirect,
            Step::Forward { .. } => Class::Forward,
            Step::Reply { from, asked, .. } if from == asked => Class::ReplyLocal,
            Step::Reply { .. } => Class::ReplyRemote,
            Step::Spread { .. } | Step::Copy { .. } => Class::Broadcast,
        };
        let lengths = state.lengths;
        let carries_data = message.data;
        let header = if message.step.announces() {
            lengths.request
        } else {
            0
        };
        let length = if carries_data {
            header + lengths.block * message.blocks
        } else {
            lengths.request
        };
        let cause = (message.cause != u64::MAX).then_some(message.cause);
        self.start(
            engine,
            Tag {
                class,
                value: index.number(),
            },
            length,
            cause,
        );
    }

    /// Handle the arrival of the first flit of a message of an I/O demand. The next step starts when the last flit
    /// arrives.
    pub(crate) fn delivered_io_message(
        &mut self,
        engine: &mut Engine<Tag>,
        index: MessageId,
        leg: &Leg,
    ) {
        let mut message = *self.state.messages.remove(index);
        message.network += leg.header_latency();
        message.cause = leg.number;
        match message.step {
            Step::Reply { .. } | Step::Copy { .. } => self.part_done(engine, &message, leg.tail),
            _ => self.wait(engine, Stage::Arrive, message, leg.tail),
        }
    }

    /// Handle the complete arrival of a message of an I/O demand at an I/O node, or at the PE of a failed I/O
    /// node.
    fn arrived(&mut self, engine: &mut Engine<Tag>, message: MessageState) {
        let machine = &self.state.machine;
        match message.step {
            Step::Ask { pe } => {
                let asked = machine.io_node_of_pe(pe);
                let attends = machine.serving_io_node(asked);
                if attends == asked {
                    self.at_io_node(engine, message, asked);
                } else {
                    let step = Step::Redirect {
                        failed: asked,
                        to: attends,
                    };
                    let at = engine.now() + machine.startup();
                    self.follow(engine, MessageState { step, ..message }, at);
                }
            }
            Step::Redirect { to, .. } => self.at_io_node(engine, message, to),
            Step::Forward { to, .. } if message.data => self.store(engine, message, to),
            Step::Forward { from, to } => self.provide(engine, message, to, from),
            Step::Spread { root, to, .. } => self.spread(engine, message, root, to, engine.now()),
            Step::Reply { .. } | Step::Copy { .. } => {
                unreachable!("data for a PE end their chain when they are delivered")
            }
        }
    }

    /// Handle a request or a write at the I/O node `node`.
    fn at_io_node(&mut self, engine: &mut Engine<Tag>, message: MessageState, node: u32) {
        let state = &mut *self.state;
        let operation = state.open[message.open].operation;
        match operation {
            Operation::Write => self.store(engine, message, node),
            Operation::Read => {
                let pieces = match state.traffic.layout() {
                    FileLayout::Contiguous => 1,
                    FileLayout::Declustered => message.blocks,
                };
                state.open[message.open].parts += pieces - 1;
                for _ in 0..pieces {
                    let piece = MessageState {
                        blocks: message.blocks / pieces,
                        ..message
                    };
                    self.locate_data(engine, piece, node);
                }
            }
            Operation::Broadcast | Operation::Scatter => self.locate_data(engine, message, node),
            Operation::Gather => {
                // Collect the blocks at the I/O node that serves the PE of the demand.
                let pe = state.open[message.open].pe;
                let to = state
                    .machine
                    .serving_io_node(state.machine.io_node_of_pe(pe));
                if to == node {
                    self.store(engine, message, node);
                } else {
                    let step = Step::Forward { from: node, to };
                    let at = engine.now() + state.machine.startup();
                    self.follow(engine, MessageState { step, ..message }, at);
                }
            }
        }
    }

    /// Write the data of a message to the device of the I/O node `node`. The chain of messages of the I/O demand
    /// ends when the data is stored.
    fn store(&mut self, engine: &mut Engine<Tag>, message: MessageState, node: u32) {
        let done = self.serve(node, engine.now(), message.blocks);
        self.wait(engine, Stage::Store, message, done);
    }

    /// Find the I/O node that has the requested data, and send the request there.
    fn locate_data(&mut self, engine: &mut Engine<Tag>, message: MessageState, node: u32) {
        let state = &mut *self.state;
        let count = state.machine.placement().io_node_count();
        let stream = state.io_nodes[node as usize].stream();
        let holder = match state.traffic.locate(node, count, stream) {
            Location::Local => node,
            // A failed I/O node has a substitute, which accesses the devices of the failed one.
            Location::Remote(other) => state.machine.serving_io_node(other),
        };
        if holder == node {
            self.provide(engine, message, node, node);
        } else {
            let step = Step::Forward {
                from: node,
                to: holder,
            };
            let at = engine.now() + state.machine.startup();
            self.follow(engine, MessageState { step, ..message }, at);
        }
    }

    /// Read the requested data at the I/O node `node` and send it to the PE. The request arrived through the
    /// I/O node `asked`.
    fn provide(&mut self, engine: &mut Engine<Tag>, message: MessageState, node: u32, asked: u32) {
        let open = &mut self.state.open[message.open];
        let (pe, operation) = (open.pe, open.operation);
        if operation == Operation::Scatter {
            return self.scatter(engine, message, node, pe);
        }
        let ready = self.serve(node, engine.now(), message.blocks);
        if operation == Operation::Broadcast {
            let message = MessageState {
                data: true,
                ..message
            };
            return self.spread(engine, message, node, node, ready);
        }
        let step = Step::Reply {
            from: node,
            asked,
            pe,
        };
        self.reply(engine, message, step, ready);
    }

    /// Read a block for each working PE of the group of `pe` in one access at the I/O node `node`, and
    /// send each PE its block.
    fn scatter(&mut self, engine: &mut Engine<Tag>, message: MessageState, node: u32, pe: u32) {
        let state = &mut *self.state;
        let machine = Arc::clone(&state.machine);
        let members: Vec<u32> = state
            .traffic
            .group(pe)
            .filter(|&pe| machine.is_alive(pe))
            .collect();
        state.open[message.open].parts += members.len() as u32 - 1;
        let ready = self.serve(node, engine.now(), message.blocks * members.len() as u32);
        for member in members {
            let step = Step::Reply {
                from: node,
                asked: machine.serving_io_node(machine.io_node_of_pe(member)),
                pe: member,
            };
            self.reply(engine, message, step, ready);
        }
    }

    /// Send the data of an I/O demand, which is ready at `time`, in a message with the purpose `step`.
    fn reply(&mut self, engine: &mut Engine<Tag>, message: MessageState, step: Step, time: Cycles) {
        let at = time + self.state.machine.startup();
        let message = MessageState {
            step,
            data: true,
            ..message
        };
        self.follow(engine, message, at);
    }

    /// Send a broadcast block from the I/O node `node`, which has all of it at `time`, to its children in
    /// the tree from `root` and to the PEs that it serves.
    fn spread(
        &mut self,
        engine: &mut Engine<Tag>,
        message: MessageState,
        root: u32,
        node: u32,
        time: Cycles,
    ) {
        let state = &mut *self.state;
        let machine = Arc::clone(&state.machine);
        let tree = state
            .trees
            .entry(root)
            .or_insert_with(|| Arc::new(machine.broadcast(root)));
        let tree = Arc::clone(tree);
        let mut next: Vec<Step> = tree
            .children(node)
            .iter()
            .map(|&to| Step::Spread {
                root,
                from: node,
                to,
            })
            .collect();
        if node == root {
            // Add the working I/O nodes outside of the tree, to which the root sends directly.
            next.extend(
                (0..machine.placement().io_node_count())
                    .filter(|&other| {
                        machine.serving_io_node(other) == other && tree.step(other).is_none()
                    })
                    .map(|to| Step::Spread {
                        root,
                        from: root,
                        to,
                    }),
            );
        }
        let clients = machine.clients(node).iter();
        next.extend(clients.map(|&pe| Step::Copy { from: node, pe }));
        if next.is_empty() {
            self.part_done(engine, &message, time);
            return;
        }
        // Several messages follow: replace the chain of messages that ended here by one chain for each of them.
        let state = &mut *self.state;
        let open = &mut state.open[message.open];
        open.parts = open.parts + next.len() as u32 - 1;
        let at = time + machine.startup();
        for step in next {
            self.follow(engine, MessageState { step, ..message }, at);
        }
    }

    /// Access `blocks` blocks at the device of the I/O node `node`, from `time` on. Return the time of
    /// completion.
    fn serve(&mut self, node: u32, time: Cycles, blocks: u32) -> Cycles {
        let state = &mut *self.state;
        let bytes = state.lengths.block_bytes * u64::from(blocks);
        state.io_nodes[node as usize].serve(state.machine.times(), time, bytes)
    }

    /// Schedule the next message of a chain of messages of an I/O demand for `time`.
    fn follow(&mut self, engine: &mut Engine<Tag>, message: MessageState, time: Cycles) {
        self.wait(engine, Stage::Send, message, time);
    }

    /// Let a message of an I/O demand wait until `time`, when its event `stage` is due.
    fn wait(
        &mut self,
        engine: &mut Engine<Tag>,
        stage: Stage,
        message: MessageState,
        time: Cycles,
    ) {
        let index = self
            .state
            .messages
            .insert(MessageState { stage, ..message });
        engine.schedule(time, 2 * self.state.pes + index.number());
    }

    /// Handle the end of one chain of messages of an I/O demand at `time`. The end of the last chain completes the
    /// demand.
    fn part_done(&mut self, engine: &mut Engine<Tag>, message: &MessageState, time: Cycles) {
        let state = &mut *self.state;
        let open = &mut state.open[message.open];
        open.parts -= 1;
        open.network = open.network.max(message.network);
        open.last = open.last.max(time);
        if open.parts > 0 {
            return;
        }
        let open = *state.open.remove(message.open);
        self.observer.completed(&Completed {
            operation: open.operation,
            network: open.network,
            response: open.last - open.generated,
            time: open.last,
        });
        self.complete(engine, open.pe, open.last);
    }
}
