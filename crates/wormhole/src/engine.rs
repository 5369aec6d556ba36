//! The event loop: heads ask, wait, move on.

use crate::channels::{ChannelId, Channels, HELD, LaneId, WormId};
use crate::requests::{Request, Requests};
use isthmus_kernel::{Cycles, Engine as _, EventQueue, Id, Paths, Ran, RunUntil, Slab};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Marks the timers among the events, which are numbers: below it are channels to be woken. So
/// within a cycle releases come first, then the handler's timers, then messages offered for it.
/// Requests come last and have a queue of their own.
const TIMER: u32 = 1 << 31;

/// The event after all timers: messages offered for this cycle are generated.
const GENERATE: u32 = u32::MAX;

/// Channels that a path has room for before the first longer one.
const STRIDE_MIN: usize = 16;

/// Requests of one cycle from which on it pays to look ahead.
const LOOK_AHEAD_MIN: usize = 64;

/// A message to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a, T> {
    /// Length in flits, at least 1.
    pub length: u32,
    /// The channels that it crosses, at least one, fewer than 2^16, none twice.
    pub path: &'a [ChannelId],
    /// What the handler wants to know again.
    pub tag: T,
}

/// A message whose head has crossed its last channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivered<T> {
    /// Message number, in order of generation.
    pub number: u64,
    /// What the handler attached.
    pub tag: T,
    /// Length in flits.
    pub length: u32,
    /// Channels on the path.
    pub hops: u32,
    /// The cycle of the first request.
    pub ready: Cycles,
    /// The cycle in which the first channel was granted.
    pub granted: Cycles,
    /// The cycle after the head crossed the last channel.
    pub header: Cycles,
    /// The cycle after the tail crosses the last channel; no earlier than `header`.
    pub tail: Cycles,
}

/// What drives the engine and learns from it.
pub trait Handler {
    /// What is attached to a message.
    type Tag: Copy;

    /// A timer set by [`Engine::schedule`] is due. Does nothing by default.
    #[inline]
    fn timer(&mut self, _engine: &mut Engine<Self::Tag>, _timer: u32) {}

    /// The time of an offered message has come, which has this number now. Does nothing by default.
    #[inline]
    fn generated(&mut self, _engine: &mut Engine<Self::Tag>, _number: u64, _tag: Self::Tag) {}

    /// A head has arrived. The tail follows at `delivered.tail`, which may lie in the future.
    fn delivered(&mut self, engine: &mut Engine<Self::Tag>, delivered: &Delivered<Self::Tag>);

    /// A message was granted the channel number `hop` (from 0) of its path in the present cycle.
    /// For tests and traces; does nothing by default.
    #[inline]
    fn granted(&mut self, _number: u64, _hop: u32, _time: Cycles) {}

    /// Whether the run may end. Asked after every event.
    fn finished(&self) -> bool;
}

#[derive(Debug, Clone, Copy)]
struct Worm<T> {
    number: u64,
    ready: Cycles,
    granted: Cycles,
    length: u32,
    /// The next worm in a channel's queue.
    next: WormId,
    /// Channels granted so far.
    hop: u16,
    hops: u16,
    /// Whether the lanes that it holds are released when that is known for sure: it is shorter than
    /// its path, or has had to wait behind its first channel, or was granted that one before others
    /// who wait for it. Until then its flits move in every cycle, and each lane is released
    /// `length` cycles after it was granted.
    stalled: bool,
    tag: T,
}

impl<T> Worm<T> {
    /// What is known of the release of a lane granted at `time`.
    #[inline]
    fn release(&self, time: Cycles) -> Cycles {
        if self.stalled {
            HELD
        } else {
            time + Cycles::from(self.length)
        }
    }
}

/// Fixes the release of a lane that was held, and wakes who waits for it.
#[inline]
fn release(channels: &mut Channels, queue: &mut EventQueue<u32>, lane: LaneId, time: Cycles) {
    if let Some((channel, at)) = channels.release_at(lane, time) {
        queue.push(at, channel);
    }
}

/// The engine: channels, worms under way and the event queue.
#[derive(Debug, Clone)]
pub struct Engine<T> {
    queue: EventQueue<u32>,
    requests: Requests,
    channels: Channels,
    worms: Slab<WormId, Worm<T>>,
    /// Of each worm the numbers of channels still to be asked for, of lanes once granted.
    paths: Paths<WormId, u32>,
    /// Messages to be generated: when, and of those of one cycle in the order of their offers.
    to_come: BinaryHeap<Reverse<(Cycles, u64, WormId)>>,
    offered: u64,
    started: u64,
    under_way: u64,
    /// The limit to which it has run.
    reached: Cycles,
}

impl<T: Copy> Engine<T> {
    /// An idle engine at cycle 0.
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

    /// The channels.
    pub fn channels(&self) -> &Channels {
        &self.channels
    }

    /// The channels, to begin counting.
    pub fn channels_mut(&mut self) -> &mut Channels {
        &mut self.channels
    }

    /// Calls [`Handler::timer`] with `timer` at `time`, not before now. Timers of one cycle are
    /// served by their number; one set twice for the same cycle is served twice.
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

    /// Generates a message now, without a detour: it asks for its first channel in the present cycle.
    /// Returns its number. To be called from [`Handler::timer`] only: a delivery may be reported after the
    /// requests of the same cycle.
    ///
    /// # Panics
    /// If the message is one that [`Engine::offer`](isthmus_kernel::Engine::offer) would not take.
    #[inline]
    pub fn start(&mut self, message: Message<'_, T>) -> u64 {
        let (number, channel) = (self.started, message.path.first().copied());
        let index = self.take_in(self.queue.now(), number, message);
        self.enter(index, channel.expect("a path has at least one channel"));
        number
    }
}

impl<T: Copy> isthmus_kernel::Engine for Engine<T> {
    type Message<'a> = Message<'a, T>;

    #[inline]
    fn now(&self) -> Cycles {
        self.queue.now().max(self.reached)
    }

    fn offer(&mut self, time: Cycles, message: Message<'_, T>) {
        assert!(
            time >= self.now(),
            "a message was offered for cycle {time}, now is {}",
            self.now()
        );
        // It gets its number when it is generated.
        let index = self.take_in(time, u64::MAX, message);
        self.to_come.push(Reverse((time, self.offered, index)));
        self.offered += 1;
        self.queue.push(time, GENERATE);
    }

    fn under_way(&self) -> u64 {
        self.under_way
    }
}

impl<T: Copy, H: Handler<Tag = T>> RunUntil<H> for Engine<T> {
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
                self.requests.turn();
                self.look_ahead();
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
    /// Finds a place for a message that is generated at `time`.
    #[inline(always)]
    fn take_in(&mut self, time: Cycles, number: u64, message: Message<'_, T>) -> WormId {
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
            // Its tail leaves a buffer when its head is granted another lane; nothing is known before.
            stalled: (length as usize) < path.len(),
            tag,
        });
        self.paths.make_room(index, path.len());
        self.paths.of_mut(index, path.len()).copy_from_slice(path);
        index
    }

    /// A message is generated now, whose first channel this is.
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

    /// Generates the messages offered for this cycle.
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

    /// Reads what the requests of this cycle will need, if there are many: so the caches of the
    /// processor fetch all of it at once rather than one after another.
    #[inline]
    fn look_ahead(&self) {
        let requests = self.requests.present();
        if requests.len() >= LOOK_AHEAD_MIN {
            let seen = requests.iter().fold(0, |seen, request| {
                seen ^ self.channels.peek(request.channel)
            });
            std::hint::black_box(seen);
        }
    }

    /// When the next request is due; `Cycles::MAX` if there is none.
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

    /// Serves a request, and goes on with it before `limit` as long as no other event comes in
    /// between.
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
                self.requests.go_on(request);
                return;
            }
            now += 1;
        }
        worm.hop = hop as u16;
        self.queue.advance_to(now);
        self.deliver(handler, request.worm);
    }

    /// Moves the head of `index` over `lane` in the present cycle. Returns the channel that it
    /// asks for next; none if that was the last.
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
            // Shorter than its path: the tail leaves the buffer of an earlier lane in this cycle.
            let left = usize::from(worm.hop) - 1 - worm.length as usize;
            let left = LaneId::new(self.paths.step(index, left));
            release(&mut self.channels, &mut self.queue, left, now + 1);
        }
        Some(self.paths.step(index, worm.hop.into()))
    }

    /// The head has crossed its last channel: all releases are known.
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

    /// Releases what a stalled worm still holds, now that its head crosses its last channel.
    fn release_all(&mut self, index: WormId) {
        let worm = self.worms[index];
        let now = self.queue.now();
        let (length, hops) = (u64::from(worm.length), u64::from(worm.hops));
        // Lanes whose buffers a short worm has left already keep the release they have.
        for hop in hops.saturating_sub(length + 1)..hops {
            let lane = LaneId::new(self.paths.step(index, hop as usize));
            let behind = hops - 1 - hop;
            // The one whose buffer it leaves as the head arrives was not known to be emptied.
            let time = now + (length - behind).max(1);
            release(&mut self.channels, &mut self.queue, lane, time);
        }
    }

    /// Queues `index` for `channel`, which has no free lane in the present cycle.
    fn wait(&mut self, channel: ChannelId, index: WormId) {
        self.stall(index);
        let worms = &mut self.worms;
        worms[index].next = WormId::NONE;
        let wake = self.channels.enqueue(channel, index, |last, new| {
            worms[last].next = new;
        });
        self.wake_up(channel, wake);
    }

    /// Holds the lanes of `index`, now that its head waits. Its tail has left none of them: those of
    /// a worm shorter than its path are held from the beginning.
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

    fn wake_up(&mut self, channel: ChannelId, at: Option<Cycles>) {
        if let Some(at) = at {
            self.queue.push(at, channel);
        }
    }

    /// Grants the lanes of `channel` that are free now to those who wait longest.
    fn wake(&mut self, handler: &mut impl Handler<Tag = T>, channel: ChannelId) {
        let now = self.queue.now();
        self.channels.woken(channel, now);
        while let Some(index) = self.channels.waiting(channel) {
            let worm = &mut self.worms[index];
            // A head that waits behind it is better woken once, when the release is known for sure.
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
