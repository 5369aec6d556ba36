//! The event loop of the wormhole engine: heads of messages request channels, wait, and move on.

use crate::channels::{ChannelId, Channels, HELD, LaneId, WormId};
use crate::requests::{Request, Requests};
use isthmus_kernel::{Cycles, Engine as _, EventQueue, Id, Paths, Ran, RunUntil, Slab};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Smallest event number of a timer. Smaller numbers are wake-ups of channels. So within a cycle,
/// wake-ups come first, then timers, then the generation of messages. Requests come last and are in
/// a queue of their own.
const TIMER: u32 = 1 << 31;

/// Event after all timers of a cycle, which generates the messages offered for this cycle.
const GENERATE: u32 = u32::MAX;

/// Initial number of channels for which the table of paths has space per path. The first longer path enlarges it.
const STRIDE_MIN: usize = 16;

/// Minimum number of requests in a cycle for which the engine prefetches lanes.
const PREFETCH_MIN: usize = 64;

/// A message that a caller offers to the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a, T> {
    /// Length in flits, at least 1.
    pub length: u32,
    /// The channels that the message crosses, in order: at least one, fewer than 2^16, none twice.
    pub path: &'a [ChannelId],
    /// Data of the handler, returned in the reports on the message.
    pub tag: T,
}

/// A message whose head has crossed its last channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivered<T> {
    /// Message number, in order of generation.
    pub number: u64,
    /// The data that the handler attached to the message when it offered it.
    pub tag: T,
    /// Length of the message in flits.
    pub length: u32,
    /// Number of channels that the message crosses.
    pub hops: u32,
    /// The cycle in which the message requested its first channel.
    pub ready: Cycles,
    /// The cycle in which the first channel was granted.
    pub granted: Cycles,
    /// The cycle after the head crossed the last channel.
    pub header: Cycles,
    /// The cycle after the tail crosses the last channel; no earlier than `header`.
    pub tail: Cycles,
}

/// A user of the wormhole engine: it offers messages, and the engine calls its methods on events.
pub trait Handler {
    /// Type of the data that the handler attaches to a message.
    type Tag: Copy;

    /// Handle a timer set by [`Engine::schedule`]. Does nothing by default.
    #[inline]
    fn timer(&mut self, _engine: &mut Engine<Self::Tag>, _timer: u32) {}

    /// Handle the generation of an offered message, which gets this number. Does nothing by default.
    #[inline]
    fn generated(&mut self, _engine: &mut Engine<Self::Tag>, _number: u64, _tag: Self::Tag) {}

    /// Handle the arrival of a head. The tail arrives at `delivered.tail`, which may be in the future.
    fn delivered(&mut self, engine: &mut Engine<Self::Tag>, delivered: &Delivered<Self::Tag>);

    /// Called when the worm is granted channel `_hop` (from 0) of its path at `_time`. For tests and traces; does
    /// nothing by default.
    #[inline]
    fn granted(&mut self, _number: u64, _hop: u32, _time: Cycles) {}

    /// Return whether the run may end. Called after every event.
    fn finished(&self) -> bool;
}

/// State of a message that is offered or in the network: a worm of flits.
#[derive(Debug, Clone, Copy)]
struct Worm<T> {
    number: u64,
    ready: Cycles,
    granted: Cycles,
    length: u32,
    /// Next worm in the queue of the channel for which this worm waits.
    next: WormId,
    /// Number of channels that the worm has been granted so far, of the `hops` channels of its path.
    hop: u16,
    hops: u16,
    /// Whether each lane of the worm is released only when its release time is certain. This holds
    /// for three kinds of worms: shorter than their paths, blocked after their first channel, or
    /// granted the first channel while other worms waited. The flits of any other worm move in
    /// every cycle, and each lane is released `length` cycles after its grant.
    stalled: bool,
    tag: T,
}

impl<T> Worm<T> {
    /// Return the cycle from which a lane that this worm was granted at `time` can be granted again; `HELD` while the
    /// worm is stalled, because the cycle is then unknown.
    #[inline]
    fn release(&self, time: Cycles) -> Cycles {
        if self.stalled {
            HELD
        } else {
            time + Cycles::from(self.length)
        }
    }
}

/// Set the cycle from which an occupied lane can be granted again, and schedule the wake-up of a
/// worm (message) that waits for the lane.
#[inline]
fn release(channels: &mut Channels, queue: &mut EventQueue<u32>, lane: LaneId, time: Cycles) {
    if let Some((channel, at)) = channels.release_at(lane, time) {
        queue.push(at, channel);
    }
}

/// The wormhole engine: channels, messages in the network and event queue.
#[derive(Debug, Clone)]
pub struct Engine<T> {
    queue: EventQueue<u32>,
    requests: Requests,
    channels: Channels,
    worms: Slab<WormId, Worm<T>>,
    /// For each worm, the numbers of the lanes granted so far, followed by the channels still to be
    /// requested.
    paths: Paths<WormId, u32>,
    /// Messages to be generated, in the order of their times, and for equal times in the order of
    /// the offers.
    to_come: BinaryHeap<Reverse<(Cycles, u64, WormId)>>,
    /// Number of messages offered so far.
    offered: u64,
    /// Number of messages generated so far.
    started: u64,
    under_way: u64,
    /// Cycle at which the last run ended at the latest: its time limit.
    reached: Cycles,
}

impl<T: Copy> Engine<T> {
    /// Return an idle engine at cycle 0.
    pub fn new(channels: Channels) -> Self {
        Self {
            queue: EventQueue::new(),
            requests: Requests::default(),
            channels,
            worms: Slab::new(),
            paths: Paths::new(STRIDE_MIN),
            to_come: BinaryHeap::new(),
            offered: 0,
            started: 0,
            under_way: 0,
            reached: 0,
        }
    }

    /// Return the channels of the network.
    pub fn channels(&self) -> &Channels {
        &self.channels
    }

    /// Return mutable access to the channels of the network, for example to start counting their use.
    pub fn channels_mut(&mut self) -> &mut Channels {
        &mut self.channels
    }

    /// Set a timer: the engine calls [`Handler::timer`] with `timer` at `time`, which must not be
    /// in the past. Timers of one cycle are served in ascending order; a timer set twice for the
    /// same cycle is served twice.
    ///
    /// # Panics
    /// If `timer` is 2^31 - 1 or more, or the time has passed.
    #[inline]
    pub fn schedule(&mut self, time: Cycles, timer: u32) {
        assert!(
            time >= self.now(),
            "a timer was set for cycle {time}, now is {}",
            self.now()
        );
        assert!(
            timer < GENERATE - TIMER,
            "timers are numbered below 2^31 - 1, not {timer}"
        );
        self.queue.push(time, TIMER | timer);
    }

    /// Generate a message now, which requests its first channel in the present cycle. Return the
    /// number of the message. Only [`Handler::timer`] may call this, because a delivery may be
    /// reported after the requests of the same cycle.
    ///
    /// # Panics
    /// If [`Engine::offer`](isthmus_kernel::Engine::offer) would refuse the message.
    #[inline]
    pub fn start(&mut self, message: Message<'_, T>) -> u64 {
        let (number, channel) = (self.started, message.path.first().copied());
        let index = self.store(self.queue.now(), number, message);
        self.enter(index, channel.expect("a path has at least one channel"));
        number
    }
}

impl<T: Copy> isthmus_kernel::Engine for Engine<T> {
    /// Message that callers offer to the engine.
    type Message<'a> = Message<'a, T>;

    /// Return the present cycle.
    #[inline]
    fn now(&self) -> Cycles {
        self.queue.now().max(self.reached)
    }

    /// Store a message that the engine generates at `time`.
    fn offer(&mut self, time: Cycles, message: Message<'_, T>) {
        assert!(
            time >= self.now(),
            "a message was offered for cycle {time}, now is {}",
            self.now()
        );
        // Store an invalid number: the message gets its number when it is generated.
        let index = self.store(time, u64::MAX, message);
        self.to_come.push(Reverse((time, self.offered, index)));
        self.offered += 1;
        self.queue.push(time, GENERATE);
    }

    /// Return the number of messages in the network.
    fn under_way(&self) -> u64 {
        self.under_way
    }
}

impl<T: Copy, H: Handler<Tag = T>> RunUntil<H> for Engine<T> {
    /// Handle events until the handler has finished, no event is left, or `limit` is reached.
    #[inline]
    fn run_until(&mut self, limit: Cycles, handler: &mut H) -> Ran {
        while !handler.finished() {
            let now = self.queue.now();
            let event = self.queue.next_time();
            let request = self.next_request();
            let time = event.min(request);
            if time >= limit {
                if limit < Cycles::MAX {
                    self.reached = self.reached.max(limit);
                }
                return Ran::at_limit(time < Cycles::MAX, self.under_way);
            }
            if time > now {
                self.requests.next_cycle();
                self.prefetch();
            }
            if event <= request {
                let event = self.queue.pop_until(time).expect("an event is due");
                if event < TIMER {
                    self.wake(handler, event);
                } else if event < GENERATE {
                    handler.timer(self, event - TIMER);
                } else {
                    self.generate(handler);
                }
            } else {
                self.queue.advance_to(time);
                let request = self.requests.pop();
                self.advance(handler, request, limit);
            }
        }
        Ran::Finished
    }
}

impl<T: Copy> Engine<T> {
    /// Store a message that is generated at `time`. Return its slot.
    #[inline(always)]
    fn store(&mut self, time: Cycles, number: u64, message: Message<'_, T>) -> WormId {
        let Message { length, path, tag } = message;
        assert!(length > 0, "a message has at least one flit");
        assert!(!path.is_empty(), "a path has at least one channel");
        debug_assert!(
            (1..path.len()).all(|hop| !path[..hop].contains(&path[hop])),
            "a path must not cross a channel twice: {path:?}"
        );
        let index = self.worms.insert(Worm {
            number,
            ready: time,
            granted: time,
            length,
            next: WormId::NONE,
            hop: 0,
            hops: u16::try_from(path.len()).expect("fewer than 2^16 channels"),
            // If a worm is shorter than its path, the tail cannot leave a buffer before the head is granted another
            // lane. Then the release times are not known in advance.
            stalled: (length as usize) < path.len(),
            tag,
        });
        self.paths.make_room(index, path.len());
        self.paths.of_mut(index, path.len()).copy_from_slice(path);
        index
    }

    /// Generate the stored message `index` now. `channel` is its first channel.
    #[inline]
    fn enter(&mut self, index: WormId, channel: ChannelId) {
        let number = self.started;
        self.started += 1;
        self.under_way += 1;
        self.requests.start(Request {
            number,
            worm: index,
            channel,
        });
    }

    /// Generate the messages offered for this cycle.
    fn generate(&mut self, handler: &mut impl Handler<Tag = T>) {
        let now = self.queue.now();
        while let Some(&Reverse((time, _, index))) = self.to_come.peek()
            && time == now
        {
            self.to_come.pop();
            let number = self.started;
            self.worms[index].number = number;
            self.enter(index, self.paths.step(index, 0));
            handler.generated(self, number, self.worms[index].tag);
        }
    }

    /// Prefetch the lanes that the requests of this cycle need, if there are many requests. The
    /// processor then loads the lanes in parallel instead of one after another.
    #[inline]
    fn prefetch(&self) {
        let requests = self.requests.present();
        if requests.len() >= PREFETCH_MIN {
            let seen = requests.iter().fold(0, |seen, request| {
                seen ^ self.channels.peek(request.channel)
            });
            std::hint::black_box(seen);
        }
    }

    /// Return the cycle of the next request, or `Cycles::MAX` if there is none.
    #[inline]
    fn next_request(&self) -> Cycles {
        if self.requests.is_due() {
            self.queue.now()
        } else if self.requests.is_next() {
            self.queue.now() + 1
        } else {
            Cycles::MAX
        }
    }

    /// Serve a request, and then the next requests of the same worm, until another event is due or
    /// `limit` is reached.
    #[inline]
    fn advance(
        &mut self,
        handler: &mut impl Handler<Tag = T>,
        mut request: Request,
        limit: Cycles,
    ) {
        let mut next = self.next_request().min(self.queue.next_time()).min(limit);
        let worm = &mut self.worms[request.worm];
        let path = self.paths.of_mut(request.worm, worm.hops.into());
        let mut hop = usize::from(worm.hop);
        let mut now = self.queue.now();
        loop {
            let Some(lane) =
                self.channels
                    .request(request.channel, now, worm.length, worm.release(now))
            else {
                worm.hop = hop as u16;
                self.queue.advance_to(now);
                self.wait(request.channel, request.worm);
                return;
            };
            path[hop] = lane.number();
            handler.granted(request.number, hop as u32, now);
            hop += 1;
            let Some(&channel) = path.get(hop) else {
                break;
            };
            request.channel = channel;
            if hop > worm.length as usize {
                let left = LaneId::new(path[hop - 1 - worm.length as usize]);
                release(&mut self.channels, &mut self.queue, left, now + 1);
                next = next.min(self.queue.next_time());
            }
            if next <= now + 1 {
                worm.hop = hop as u16;
                self.queue.advance_to(now);
                self.requests.continue_next(request);
                return;
            }
            now += 1;
        }
        worm.hop = hop as u16;
        self.queue.advance_to(now);
        self.deliver(handler, request.worm);
    }

    /// Move the head of worm `index` over `lane` in the present cycle. Return the channel that the
    /// worm requests next, or `None` after the last channel.
    #[inline]
    fn cross(
        &mut self,
        handler: &mut impl Handler<Tag = T>,
        index: WormId,
        lane: LaneId,
    ) -> Option<ChannelId> {
        let now = self.queue.now();
        let worm = &mut self.worms[index];
        *self.paths.step_mut(index, worm.hop.into()) = lane.number();
        handler.granted(worm.number, u32::from(worm.hop), now);
        worm.hop += 1;
        let worm = *worm;
        if worm.hop == worm.hops {
            self.deliver(handler, index);
            return None;
        }
        if u32::from(worm.hop) > worm.length {
            // The worm is shorter than its path: its tail leaves the buffer of an earlier lane in this cycle.
            let left = usize::from(worm.hop) - 1 - worm.length as usize;
            let left = LaneId::new(self.paths.step(index, left));
            release(&mut self.channels, &mut self.queue, left, now + 1);
        }
        Some(self.paths.step(index, worm.hop.into()))
    }

    /// Report the delivery of a worm whose head has crossed its last channel. All release times of
    /// the worm are known.
    #[inline]
    fn deliver(&mut self, handler: &mut impl Handler<Tag = T>, index: WormId) {
        let worm = self.worms[index];
        let now = self.queue.now();
        if worm.stalled {
            self.release_all(index);
        }
        self.worms.remove(index);
        self.under_way -= 1;
        let delivered = Delivered {
            number: worm.number,
            tag: worm.tag,
            length: worm.length,
            hops: u32::from(worm.hops),
            ready: worm.ready,
            granted: worm.granted,
            header: now + 1,
            tail: now + Cycles::from(worm.length),
        };
        handler.delivered(self, &delivered);
    }

    /// Set the release times of all lanes that a stalled worm still occupies as its head crosses
    /// the last channel.
    fn release_all(&mut self, index: WormId) {
        let worm = self.worms[index];
        let now = self.queue.now();
        let (length, hops) = (u64::from(worm.length), u64::from(worm.hops));
        // Only the last lanes lack release times: the tail of a short worm has already left the buffers of the earlier
        // lanes.
        for hop in hops.saturating_sub(length + 1)..hops {
            let lane = LaneId::new(self.paths.step(index, hop as usize));
            let behind = hops - 1 - hop;
            // The tail leaves this buffer only now, as the head arrives, so its release time is not set yet.
            let time = now + (length - behind).max(1);
            release(&mut self.channels, &mut self.queue, lane, time);
        }
    }

    /// Queue worm `index` for `channel`, which has no free lane in the present cycle.
    fn wait(&mut self, channel: ChannelId, index: WormId) {
        self.stall(index);
        let worms = &mut self.worms;
        worms[index].next = WormId::NONE;
        let wake = self.channels.enqueue(channel, index, |last, new| {
            worms[last].next = new;
        });
        self.wake_up(channel, wake);
    }

    /// Make the release times of the lanes of worm `index` unknown again, because its head has to wait. The tail has
    /// left none of these lanes. A worm shorter than its path has no release times here.
    #[inline]
    fn stall(&mut self, index: WormId) {
        let worm = &mut self.worms[index];
        if worm.stalled || worm.hop == 0 {
            return;
        }
        worm.stalled = true;
        let hop = usize::from(worm.hop);
        for &lane in self.paths.of(index, hop) {
            self.channels.hold(LaneId::new(lane));
        }
    }

    /// Schedule a wake-up of `channel`, if a time for it is given.
    fn wake_up(&mut self, channel: ChannelId, at: Option<Cycles>) {
        if let Some(at) = at {
            self.queue.push(at, channel);
        }
    }

    /// Grant the free lanes of `channel` to the first worms in its queue.
    fn wake(&mut self, handler: &mut impl Handler<Tag = T>, channel: ChannelId) {
        let now = self.queue.now();
        self.channels.woken(channel, now);
        while let Some(index) = self.channels.waiting(channel) {
            let worm = &mut self.worms[index];
            // If more worms wait behind this one, release its lanes only when their release times are certain, so that
            // a single wake-up is enough.
            worm.stalled |= worm.next != WormId::NONE;
            let Some(lane) = self
                .channels
                .request(channel, now, worm.length, worm.release(now))
            else {
                let wake = self.channels.watch(channel);
                self.wake_up(channel, wake);
                return;
            };
            self.channels.dequeue(channel, worm.next);
            if worm.hop == 0 {
                worm.granted = now;
            }
            let number = worm.number;
            if let Some(channel) = self.cross(handler, index, lane) {
                self.requests.wake(Request {
                    number,
                    worm: index,
                    channel,
                });
            }
        }
    }
}
