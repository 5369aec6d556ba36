//! State of the channels of the network: their lanes, and the queues of worms that wait for them.

use isthmus_kernel::{Cycles, Id, Table, id};
use std::iter;
use std::ops::Range;

/// Number of a channel; channels are numbered from 0 without gaps by the network description.
pub type ChannelId = u32;

id! {
    /// Number of a lane; lanes are numbered without gaps over all channels.
    pub(crate) struct LaneId;
    /// Number of the slot of a worm (a message in the network) in the engine.
    pub(crate) struct WormId;
}

/// Release time that stands for "unknown", of a lane that a worm occupies.
pub(crate) const HELD: Cycles = Cycles::MAX;
/// Release time of a lane that a worm occupies until an unknown time, while another worm waits for
/// the channel. When the release time becomes known, the queue of the channel must be woken.
const WANTED: Cycles = Cycles::MAX - 1;

/// Queue of the worms that wait for one channel, linked through the worms.
#[derive(Debug, Clone, Copy)]
struct Queue {
    head: WormId,
    tail: WormId,
    /// Earliest scheduled wake-up, or `HELD` if there is none.
    wake: Cycles,
}

impl Queue {
    /// A queue in which no worm waits, and for which no wake-up is scheduled.
    const EMPTY: Self = Self {
        head: WormId::NONE,
        tail: WormId::NONE,
        wake: HELD,
    };
}

/// State of all channels of the network: their lanes, queues and counters.
#[derive(Debug, Clone)]
pub struct Channels {
    /// First cycle in which each lane can be granted again. Lane c is the first lane of channel c,
    /// so that a channel with one lane needs one look-up. The further lanes of all channels follow.
    release: Table<LaneId, Cycles>,
    /// The lanes of channel c after its first one are numbered from `further[c]` to before
    /// `further[c + 1]`.
    further: Vec<LaneId>,
    queues: Vec<Queue>,
    /// Flits and messages that each channel has carried; empty if they are not counted.
    carried: Vec<Carried>,
    /// For each lane, the sum of all known release times minus the sum of all grant times: the
    /// cycles for which worms occupy the lane, future ones included. The value wraps while a
    /// release time is unknown. Empty if not counted.
    held: Table<LaneId, u64>,
}

/// Amount that a channel has carried since the call of [`Channels::count`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Carried {
    /// Number of flits. All flits of a message count when the channel is granted to the message.
    pub flits: u64,
    /// Number of messages to which a lane of the channel was granted.
    pub messages: u64,
}

impl Channels {
    /// Create channels with the given numbers of lanes, all of them free.
    ///
    /// # Panics
    /// If a channel has no lane or there are 2^31 lanes or more.
    pub fn new(lanes: impl IntoIterator<Item = u32>) -> Self {
        let mut further = vec![0];
        let mut total = 0u32;
        for count in lanes {
            assert!(count > 0, "channel {} has no lane", further.len() - 1);
            total = total.checked_add(count - 1).expect("fewer than 2^31 lanes");
            further.push(total);
        }
        let count = further.len() - 1;
        let lanes = u32::try_from(count)
            .ok()
            .and_then(|first_lanes| total.checked_add(first_lanes))
            .filter(|&lanes| lanes < 1 << 31)
            .expect("fewer than 2^31 lanes");
        let further = further.iter();
        Self {
            release: Table::of(lanes as usize, 0),
            further: further
                .map(|lane| LaneId::new(lane + count as u32))
                .collect(),
            queues: vec![Queue::EMPTY; count],
            carried: Vec::new(),
            held: Table::from(Vec::new()),
        }
    }

    /// Start to count the load of each channel and the time for which it is occupied, at cycle
    /// `now`. The engine's time must not be after `now`.
    pub fn count(&mut self, now: Cycles) {
        self.carried = vec![Carried::default(); self.len()];
        let left = |&release: &Cycles| match release {
            HELD | WANTED => now.wrapping_neg(),
            known => known.saturating_sub(now),
        };
        self.held = self.release.values().iter().map(left).collect();
    }

    /// Return the load that each channel has carried since the call of [`Channels::count`]; empty
    /// without such a call.
    pub fn carried(&self) -> &[Carried] {
        &self.carried
    }

    /// Return for each channel the cycles from [`Channels::count`] to `now` in which worms occupied
    /// its lanes, summed over the lanes. `now` must not be before the engine's time. The result is
    /// empty if counting was not started.
    pub fn held(&self, now: Cycles) -> Vec<u64> {
        if self.held.values().is_empty() {
            return Vec::new();
        }
        let lane = |lane: LaneId| match self.release[lane] {
            HELD | WANTED => self.held[lane].wrapping_add(now),
            known => self.held[lane] - known.saturating_sub(now),
        };
        let channels = 0..self.len() as ChannelId;
        channels
            .map(|channel| self.lanes_of(channel).map(lane).sum())
            .collect()
    }

    /// Return the number of channels of the network.
    pub fn len(&self) -> usize {
        self.queues.len()
    }

    /// Return whether the network has no channels.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Return the number of lanes of `channel`.
    pub fn lanes(&self, channel: ChannelId) -> u32 {
        1 + self.further_lanes(channel).len() as u32
    }

    /// Return the range of the numbers of a channel's lanes after the first one.
    #[inline]
    fn further_lanes(&self, channel: ChannelId) -> Range<usize> {
        let channel = channel as usize;
        self.further[channel].index()..self.further[channel + 1].index()
    }

    /// Return the numbers of all lanes of a channel.
    fn lanes_of(&self, channel: ChannelId) -> impl Iterator<Item = LaneId> + use<> {
        let further = self
            .further_lanes(channel)
            .map(|lane| LaneId::new(lane as u32));
        iter::once(LaneId::new(channel)).chain(further)
    }

    /// Return the cycle in which the first lane of `channel` can be granted again; a special value
    /// stands for "unknown".
    #[inline]
    pub(crate) fn peek(&self, channel: ChannelId) -> Cycles {
        self.release[LaneId::new(channel)]
    }

    /// Grant a free lane of `channel` at `time` to a worm of `length` flits; return `None` if no
    /// lane is free. The lane is free again at `release`, unless [`Channels::hold`] withdraws that
    /// time.
    #[inline]
    pub(crate) fn request(
        &mut self,
        channel: ChannelId,
        time: Cycles,
        length: u32,
        release: Cycles,
    ) -> Option<LaneId> {
        let first = LaneId::new(channel);
        let lane = if self.release[first] <= time {
            self.release[first] = release;
            first
        } else {
            self.request_further(channel, time, release)?
        };
        if let Some(carried) = self.carried.get_mut(channel as usize) {
            carried.flits += u64::from(length);
            carried.messages += 1;
            let until = if release == HELD { 0 } else { release };
            let held = &mut self.held[lane];
            *held = held.wrapping_add(until.wrapping_sub(time));
        }
        Some(lane)
    }

    /// Grant a free lane of `channel` other than its first one and return it; return `None` if
    /// there is none.
    fn request_further(
        &mut self,
        channel: ChannelId,
        time: Cycles,
        release: Cycles,
    ) -> Option<LaneId> {
        let further = self.further_lanes(channel);
        let lanes = &mut self.release.values_mut()[further.clone()];
        let offset = lanes.iter().position(|&at| at <= time)?;
        lanes[offset] = release;
        Some(LaneId::new((further.start + offset) as u32))
    }

    /// Add `worm` to the end of the queue of `channel`, because its request was refused. `link`
    /// makes it the successor of the last worm. Return the time of a wake-up if the caller must
    /// schedule one.
    pub(crate) fn enqueue(
        &mut self,
        channel: ChannelId,
        worm: WormId,
        link: impl FnOnce(WormId, WormId),
    ) -> Option<Cycles> {
        let queue = &mut self.queues[channel as usize];
        if queue.head != WormId::NONE {
            link(queue.tail, worm);
            queue.tail = worm;
            return None;
        }
        queue.head = worm;
        queue.tail = worm;
        self.watch(channel)
    }

    /// Return the first worm in the queue of `channel`; `None` if the queue is empty.
    pub(crate) fn waiting(&self, channel: ChannelId) -> Option<WormId> {
        let head = self.queues[channel as usize].head;
        (head != WormId::NONE).then_some(head)
    }

    /// Remove the first worm from the queue of `channel`. `next` is the worm after it, which
    /// becomes the first.
    pub(crate) fn dequeue(&mut self, channel: ChannelId, next: WormId) {
        self.queues[channel as usize].head = next;
    }

    /// Request a wake-up of `channel`, for which a worm waits, at the time when one of its lanes
    /// becomes free. Return the time if the caller must schedule the wake-up.
    pub(crate) fn watch(&mut self, channel: ChannelId) -> Option<Cycles> {
        let mut earliest = HELD;
        for lane in self.lanes_of(channel) {
            let release = &mut self.release[lane];
            if *release >= WANTED {
                *release = WANTED;
            } else {
                earliest = earliest.min(*release);
            }
        }
        self.wake_at(channel, earliest)
    }

    /// Clear the scheduled wake-up of `channel` if it is the one at `time`, which has just
    /// occurred.
    pub(crate) fn woken(&mut self, channel: ChannelId, time: Cycles) {
        let queue = &mut self.queues[channel as usize];
        if queue.wake == time {
            queue.wake = HELD;
        }
    }

    /// Schedule a wake-up of `channel` at `time` and return `time`; return `None` if an earlier one
    /// is scheduled already.
    fn wake_at(&mut self, channel: ChannelId, time: Cycles) -> Option<Cycles> {
        let queue = &mut self.queues[channel as usize];
        if time < queue.wake {
            queue.wake = time;
            Some(time)
        } else {
            None
        }
    }

    /// Replace the release time of `lane` that was passed to [`Channels::request`] by "unknown".
    ///
    /// A worm that waits for the channel still wakes up at the withdrawn time, finds the lane busy
    /// and requests another wake-up.
    pub(crate) fn hold(&mut self, lane: LaneId) {
        let release = std::mem::replace(&mut self.release[lane], HELD);
        debug_assert!(release < WANTED, "the release of a lane is taken back once");
        if let Some(held) = self.held.get_mut(lane) {
            *held = held.wrapping_sub(release);
        }
    }

    /// Set the first cycle in which `lane` can be granted again. If a worm waits for the channel of
    /// the lane, return the channel and the time at which the caller must schedule its wake-up.
    #[inline]
    pub(crate) fn release_at(&mut self, lane: LaneId, time: Cycles) -> Option<(ChannelId, Cycles)> {
        let wanted = self.release[lane] == WANTED;
        debug_assert!(self.release[lane] >= WANTED, "a lane is released once");
        self.release[lane] = time;
        if let Some(held) = self.held.get_mut(lane) {
            *held = held.wrapping_add(time);
        }
        if wanted {
            self.wanted_release(lane, time)
        } else {
            None
        }
    }

    /// Return the channel of `lane` and the time at which the caller must schedule a wake-up of it.
    /// Return `None` if no worm waits for the channel, or if an earlier wake-up is scheduled.
    #[cold]
    fn wanted_release(&mut self, lane: LaneId, time: Cycles) -> Option<(ChannelId, Cycles)> {
        let channel = self.channel_of(lane);
        if self.queues[channel as usize].head == WormId::NONE {
            return None;
        }
        self.wake_at(channel, time).map(|at| (channel, at))
    }

    /// Return the number of the channel to which a lane belongs.
    fn channel_of(&self, lane: LaneId) -> ChannelId {
        if lane.index() < self.len() {
            return lane.number();
        }
        (self.further.partition_point(|&further| further <= lane) - 1) as ChannelId
    }
}
