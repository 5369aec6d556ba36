//! The nodes' interfaces: queues of messages, DMA engine, injection.

use super::core::{Core, Holding, NEVER, SET_OUT, way_link};
use super::event::{Event, Kind};
use super::lanes::LaneId;
use super::messages::{MessageId, State};
use super::packets::Packet;
use crate::rules::tie;
use crate::traffic::Message;
use crate::routes::{Header, Run, Routes};
use isthmus_kernel::Cycles;
use std::collections::VecDeque;

/// A node's interface. What each attempt to inject looks at is one line of the processor's caches.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub(super) struct Nic {
    /// When the DMA engine has done with its last packet.
    pub ready: Cycles,
    /// When the next attempt to inject is to come; never if none is.
    pub wake: Cycles,
    /// Messages whose packets are being sent, in the order of their turns.
    pub turns: VecDeque<MessageId>,
    /// Packets that the first of them may send before the next has its turn.
    left: u32,
    /// Packets sent so far.
    number: u32,
    /// Whether it is to be looked at at the end of this tick.
    pub dirty: bool,
    /// Ticks for which the DMA engine is taken, packets it has sent, bytes of data that have arrived,
    /// and packets: see [`Counters`](crate::Counters).
    pub dma: u64,
    pub sent: u64,
    pub bytes: u64,
    pub received: u64,
    /// Messages by queue: the first is being sent or will be next.
    queues: Vec<VecDeque<MessageId>>,
    /// Reads whose requests have arrived and whose data do not start yet, and when, in order of time.
    replies: VecDeque<(Cycles, MessageId)>,
    /// Messages to be generated and when, in order of time.
    to_come: VecDeque<(Cycles, MessageId)>,
}

const _: () = assert!(std::mem::offset_of!(Nic, dma) == 64);

impl Nic {
    pub fn new(queues: u32, slice: u32) -> Self {
        Self {
            ready: 0,
            dma: 0,
            sent: 0,
            bytes: 0,
            received: 0,
            wake: NEVER,
            turns: VecDeque::new(),
            left: slice,
            number: 0,
            dirty: false,
            queues: vec![VecDeque::new(); queues as usize],
            replies: VecDeque::new(),
            to_come: VecDeque::new(),
        }
    }

    /// Calls for what is asked of it when a message is generated, unless that is in the processor's
    /// caches.
    #[inline]
    pub fn call(&self) -> u64 {
        self.ready ^ self.to_come.len() as u64
    }

    /// The message to be generated next.
    #[inline]
    pub fn next_to_come(&self) -> Option<MessageId> {
        self.to_come.front().map(|&(_, message)| message)
    }
}

impl<T: Copy, W: Routes, S: Holding> Core<T, W, S> {
    /// Takes a message in for later.
    pub(super) fn accept(&mut self, time: Cycles, message: Message<T>) {
        let read = message.kind == crate::Kind::Read;
        let bytes = if read {
            u64::from(self.rules.interface.request)
        } else {
            message.bytes
        };
        let slot = self.messages.insert(State {
            message,
            generated: time,
            injected: None,
            data: !read,
            bytes,
            left: bytes,
            packets: self.rules.packets(bytes),
            arrived: 0,
            completed: 0,
            state: self.routes.state(message.from, message.to),
        });
        let to_come = &mut self.nics[message.from as usize].to_come;
        let at = to_come.partition_point(|&(earlier, _)| earlier <= time);
        to_come.insert(at, (time, slot));
        self.to_come += 1;
        self.queue
            .push(time, Event::new(Kind::Generate, message.from, 0));
    }

    /// The next message of a node enters its queue.
    pub(super) fn generate(&mut self, node: u32, now: Cycles) -> MessageId {
        let nic = &mut self.nics[node as usize];
        let (_, message) = nic.to_come.pop_front().expect("an event for each message");
        self.to_come -= 1;
        let number = self.messages[message].message.queue;
        let queue = &mut nic.queues[number as usize];
        queue.push_back(message);
        if queue.len() == 1 {
            let interface = &self.rules.interface;
            if interface.start == 0 && interface.queues == 1 {
                // Nothing of the node can start in between.
                self.start(node, number);
            } else {
                let time = now + interface.start;
                self.queue.push(time, Event::new(Kind::Start, node, number));
            }
        }
        message
    }

    /// The request of a read has arrived: its server is to send the data, which are to be had at
    /// `there`.
    pub(super) fn reply(&mut self, message: MessageId, there: Cycles) {
        let packets = &self.rules;
        let state = &mut self.messages[message];
        state.data = true;
        // Its packets go the other way.
        state.state = self.routes.state(state.message.to, state.message.from);
        state.bytes = state.message.bytes;
        state.left = state.bytes;
        state.packets = packets.packets(state.bytes);
        state.arrived = 0;
        let server = state.message.to;
        let interface = &self.rules.interface;
        let start = there + interface.turnaround;
        let replies = &mut self.nics[server as usize].replies;
        let at = replies.partition_point(|&(earlier, _)| earlier <= start);
        replies.insert(at, (start, message));
        self.queue
            .push(start, Event::new(Kind::Start, server, interface.queues));
    }

    /// The DMA of the first message of a queue starts.
    pub(super) fn start(&mut self, node: u32, queue: u32) {
        let nic = &mut self.nics[node as usize];
        let message = match nic.queues.get(queue as usize) {
            Some(queue) => queue[0],
            None => nic.replies.pop_front().expect("an event for each reply").1,
        };
        nic.turns.push_back(message);
        self.look_at_nic(node);
    }

    /// Tries to inject at `time`, unless that will be tried before.
    #[inline]
    pub(super) fn inject_at(&mut self, node: u32, time: Cycles) {
        let nic = &mut self.nics[node as usize];
        if time < nic.wake {
            nic.wake = time;
            self.queue.push(time, Event::new(Kind::Inject, 0, node));
        }
    }

    #[inline]
    pub(super) fn look_at_nic(&mut self, node: u32) {
        let nic = &mut self.nics[node as usize];
        if !nic.dirty {
            nic.dirty = true;
            self.dirty_nics.push(node);
        }
    }

    /// Injects a packet if there is one and nothing is in the way, and sees to it that this is
    /// tried again in time.
    pub(super) fn inject(&mut self, node: u32, now: Cycles) {
        while let Some(&message) = self.nics[node as usize].turns.front() {
            let (header, run) = self.heading(node, message);
            let free = S::links_free(self, &header, run, message, now);
            let ready = self.nics[node as usize].ready;
            match free {
                Some(free) if free.max(ready) <= now => self.inject_now(header, run, message, now),
                Some(free) => return self.inject_at(node, free.max(ready)),
                // The event that makes it known wakes this node.
                None => return,
            }
        }
    }

    /// The header of the next packet of a message, and the links that it may take from its source.
    #[inline]
    fn heading(&self, node: u32, message: MessageId) -> (Header, Run) {
        let number = self.nics[node as usize].number;
        let state = &self.messages[message];
        let mut header = Header {
            from: node,
            to: state.ends().1,
            links: 0,
            state: state.state,
            class: 0,
        };
        let lot = || tie(self.seed, node, number, way_link::<W>(0));
        let run = self.routes.first(&mut header, lot);
        (header, run)
    }

    fn inject_now(&mut self, mut header: Header, run: Run, message: MessageId, now: Cycles) {
        let node = header.from;
        if !W::PLAIN {
            let number = self.nics[node as usize].number;
            let lot = || tie(self.seed, node, number, SET_OUT);
            header.state = self.routes.set_out(&header, self, lot);
        }
        let rules = &self.rules;
        let state = &mut self.messages[message];
        let payload = state.left.min(u64::from(rules.payload));
        state.left -= payload;
        let last = state.left == 0;
        let wire = rules.wire_bytes(payload);
        let nic = &mut self.nics[node as usize];
        let number = nic.number;
        nic.number = nic.number.wrapping_add(1);
        let taken = rules.interface.packet + rules.interface.packet_block * rules.blocks(payload);
        nic.ready = now + taken;
        nic.dma += taken;
        nic.sent += 1;
        nic.left -= 1;
        if last {
            nic.turns.pop_front();
            nic.left = rules.interface.slice;
        } else if nic.left == 0 {
            nic.turns.rotate_left(1);
            nic.left = rules.interface.slice;
        }
        if last && !(state.data && state.message.kind == crate::Kind::Read) {
            let number = state.message.queue;
            let queue = &mut nic.queues[number as usize];
            queue.pop_front();
            if let Some(&next) = queue.front() {
                let time = self.messages[next].generated + rules.interface.start;
                if time <= now {
                    nic.turns.push_back(next);
                } else {
                    self.queue.push(time, Event::new(Kind::Start, node, number));
                }
            }
        }
        let packet = self.packets.insert(Packet {
            injected: now,
            message,
            header,
            ticks: (wire * rules.byte) as u32,
            wire: wire as u32,
            payload: payload as u32,
            number,
            lane: LaneId::default(),
            run,
            input: 0,
            ready: false,
        });
        let start = S::inject(self, packet, run, now);
        self.packets.get_mut(packet).injected = start;
        let message = &mut self.messages[message];
        message.injected.get_or_insert(start);
    }
}
