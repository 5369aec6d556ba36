//! The nodes' interfaces: queues of messages, DMA engine, injection.

use super::core::{Core, NEVER, ROUTE_CHOICE, SwitchingMethod, network_choice};
use super::event::{Event, Kind};
use super::lanes::LaneId;
use super::messages::MessageState;
use super::packets::{MessageId, Packet};
use crate::routes::{Header, Routes, Run};
use crate::rules::tie;
use crate::traffic::Message;
use isthmus_kernel::Cycles;
use std::collections::VecDeque;

/// Network interface of a node. One cache line has all fields that each attempt to inject reads.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub(super) struct Nic {
    /// Time at which the DMA engine has finished its last packet.
    pub ready: Cycles,
    /// Time of the next attempt to inject; `NEVER` if none is scheduled.
    pub wake: Cycles,
    /// Messages that send their packets in turn (round-robin). The turn is that of the first one.
    pub turns: VecDeque<MessageId>,
    /// Number of packets that the first message of `turns` may still send in this turn.
    slice_left: u32,
    /// Number of the next packet of the node, which counts the packets that the node has sent.
    next_number: u32,
    /// Whether an attempt to inject is due at the end of this tick.
    pub dirty: bool,
    /// Number of ticks in which the DMA engine was busy.
    pub dma: u64,
    /// Number of packets sent.
    pub sent: u64,
    /// Number of bytes of data received.
    pub bytes: u64,
    /// Number of packets received.
    pub received: u64,
    /// Messages by queue. The first message of a queue is being sent or will be sent next.
    queues: Vec<VecDeque<MessageId>>,
    /// Reads whose requests have arrived and whose data is not being sent yet, with the start times
    /// of the DMA of the data, in order of time.
    replies: VecDeque<(Cycles, MessageId)>,
    /// Messages to be generated, with their times of generation, in order of time.
    scheduled: VecDeque<(Cycles, MessageId)>,
}

const _: () = assert!(std::mem::offset_of!(Nic, dma) == 64);

impl Nic {
    /// Return an idle interface with this number of queues. `slice` is the number of packets that
    /// the DMA engine sends of one message per turn.
    pub fn new(queues: u32, slice: u32) -> Self {
        Self {
            ready: 0,
            dma: 0,
            sent: 0,
            bytes: 0,
            received: 0,
            wake: NEVER,
            turns: VecDeque::new(),
            slice_left: slice,
            next_number: 0,
            dirty: false,
            queues: vec![VecDeque::new(); queues as usize],
            replies: VecDeque::new(),
            scheduled: VecDeque::new(),
        }
    }

    /// Read the fields that the generation of a message uses, so that the processor caches them.
    /// The result has no meaning.
    #[inline]
    pub fn prefetch(&self) -> u64 {
        self.ready ^ self.scheduled.len() as u64
    }

    /// Return the message of this node that is generated next; `None` if none is scheduled.
    #[inline]
    pub fn next_scheduled(&self) -> Option<MessageId> {
        self.scheduled.front().map(|&(_, message)| message)
    }
}

impl<T: Copy, W: Routes, S: SwitchingMethod> Core<T, W, S> {
    /// Schedule the generation of a message at its source node, at `time`.
    pub(super) fn accept(&mut self, time: Cycles, message: Message<T>) {
        let read = message.kind == crate::Kind::Read;
        let bytes = if read {
            u64::from(self.rules.interface.request)
        } else {
            message.bytes
        };
        let slot = self.messages.insert(MessageState {
            message,
            generated: time,
            injected: None,
            data: !read,
            bytes,
            unsent: bytes,
            packets: self.rules.packets(bytes),
            arrived: 0,
            completed: 0,
            state: self.routes.initial_state(message.from, message.to),
        });
        let scheduled = &mut self.nics[message.from as usize].scheduled;
        let at = scheduled.partition_point(|&(earlier, _)| earlier <= time);
        scheduled.insert(at, (time, slot));
        self.scheduled += 1;
        self.queue
            .push(time, Event::new(Kind::Generate, message.from, 0));
    }

    /// Generate the next scheduled message of a node: move it to its queue. Return the message's
    /// number.
    pub(super) fn generate(&mut self, node: u32, now: Cycles) -> MessageId {
        let nic = &mut self.nics[node as usize];
        let (_, message) = nic
            .scheduled
            .pop_front()
            .expect("an event for each message");
        self.scheduled -= 1;
        let number = self.messages[message].message.queue;
        let queue = &mut nic.queues[number as usize];
        queue.push_back(message);
        if queue.len() == 1 {
            let interface = &self.rules.interface;
            if interface.start == 0 && interface.queues == 1 {
                // Start the DMA at once, because no other DMA of the node can start earlier.
                self.start(node, number);
            } else {
                let time = now + interface.start;
                self.queue.push(time, Event::new(Kind::Start, node, number));
            }
        }
        message
    }

    /// Schedule the data of a read whose request has arrived; the data is ready at `ready`.
    pub(super) fn reply(&mut self, message: MessageId, ready: Cycles) {
        let packets = &self.rules;
        let state = &mut self.messages[message];
        state.data = true;
        // Reset the routing state for the data packets, which go from the receiver of the request
        // back to its sender.
        state.state = self
            .routes
            .initial_state(state.message.to, state.message.from);
        state.bytes = state.message.bytes;
        state.unsent = state.bytes;
        state.packets = packets.packets(state.bytes);
        state.arrived = 0;
        let server = state.message.to;
        let interface = &self.rules.interface;
        let start = ready + interface.turnaround;
        let replies = &mut self.nics[server as usize].replies;
        let at = replies.partition_point(|&(earlier, _)| earlier <= start);
        replies.insert(at, (start, message));
        self.queue
            .push(start, Event::new(Kind::Start, server, interface.queues));
    }

    /// Start the DMA transfer of the first message in a queue of a node.
    pub(super) fn start(&mut self, node: u32, queue: u32) {
        let nic = &mut self.nics[node as usize];
        let message = match nic.queues.get(queue as usize) {
            Some(queue) => queue[0],
            None => nic.replies.pop_front().expect("an event for each reply").1,
        };
        nic.turns.push_back(message);
        self.request_injection(node);
    }

    /// Schedule an attempt to inject at `time`, unless there is an earlier one.
    #[inline]
    pub(super) fn schedule_injection(&mut self, node: u32, time: Cycles) {
        let nic = &mut self.nics[node as usize];
        if time < nic.wake {
            nic.wake = time;
            self.queue.push(time, Event::new(Kind::Inject, 0, node));
        }
    }

    /// Schedule an attempt to inject at the end of this tick.
    #[inline]
    pub(super) fn request_injection(&mut self, node: u32) {
        let nic = &mut self.nics[node as usize];
        if !nic.dirty {
            nic.dirty = true;
            self.dirty_nics.push(node);
        }
    }

    /// Inject the packets of a node that can start now, and schedule the next attempt.
    pub(super) fn inject(&mut self, node: u32, now: Cycles) {
        while let Some(&message) = self.nics[node as usize].turns.front() {
            let (header, run) = self.next_header(node, message);
            let free = S::links_free(self, &header, run, message, now);
            let ready = self.nics[node as usize].ready;
            match free {
                Some(free) if free.max(ready) <= now => self.inject_now(header, run, message, now),
                Some(free) => return self.schedule_injection(node, free.max(ready)),
                // Schedule nothing: the event that frees a link schedules an injection.
                None => return,
            }
        }
    }

    /// Return the header of the next packet of a message, and the links over which it may leave its
    /// source.
    #[inline]
    fn next_header(&self, node: u32, message: MessageId) -> (Header, Run) {
        let number = self.nics[node as usize].next_number;
        let state = &self.messages[message];
        let mut header = Header {
            from: node,
            to: state.ends().1,
            links: 0,
            state: state.state,
            class: 0,
        };
        let random = || tie(self.seed, node, number, network_choice::<W>(0));
        let run = self.routes.first_links(&mut header, random);
        (header, run)
    }

    /// Inject a packet with this header over one of the links of `run`, at `now`.
    fn inject_now(&mut self, mut header: Header, run: Run, message: MessageId, now: Cycles) {
        let node = header.from;
        if !W::PLAIN {
            let number = self.nics[node as usize].next_number;
            let random = || tie(self.seed, node, number, ROUTE_CHOICE);
            header.state = self.routes.choose_route(&header, self, random);
        }
        let rules = &self.rules;
        let state = &mut self.messages[message];
        let payload = state.unsent.min(u64::from(rules.payload));
        state.unsent -= payload;
        let last = state.unsent == 0;
        let wire = rules.wire_bytes(payload);
        let nic = &mut self.nics[node as usize];
        let number = nic.next_number;
        nic.next_number = nic.next_number.wrapping_add(1);
        let busy = rules.interface.packet + rules.interface.packet_block * rules.blocks(payload);
        nic.ready = now + busy;
        nic.dma += busy;
        nic.sent += 1;
        nic.slice_left -= 1;
        if last {
            nic.turns.pop_front();
            nic.slice_left = rules.interface.slice;
        } else if nic.slice_left == 0 {
            nic.turns.rotate_left(1);
            nic.slice_left = rules.interface.slice;
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
