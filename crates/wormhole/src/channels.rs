//! Lanes and who waits for them.

use isthmus_kernel::Cycles;

/// Number of a channel, dense from 0.
pub type ChannelId = u32;
/// Number of a lane, dense over all channels.
pub(crate) type LaneId = u32;
/// Number of a worm under way.
pub(crate) type WormId = u32;

pub(crate) const NONE: u32 = u32::MAX;

/// Marks a lane whose release time is not known yet.
const HELD: Cycles = Cycles::MAX;
/// As `HELD`, and somebody waits for the channel: tell when the release becomes known.
const WANTED: Cycles = Cycles::MAX - 1;

/// The queue of worms that wait for one channel, linked through the worms.
#[derive(Debug, Clone, Copy)]
struct Queue {
    head: WormId,
    tail: WormId,
    /// Earliest wake-up under way; `HELD` if there is none.
    wake: Cycles,
}

/// The outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Granted(LaneId),
    Busy,
}

/// The state of all channels.
#[derive(Debug, Clone)]
pub struct Channels {
    /// Channel c has the lanes `first[c] .. first[c + 1]`.
    first: Vec<LaneId>,
    /// Per lane: the first cycle in which it can be granted again.
    release: Vec<Cycles>,
    queues: Vec<Queue>,
    /// Flits accepted by each channel; empty if not counted.
    flits: Vec<u64>,
}

impl Channels {
    /// Free channels with the given numbers of lanes.
    ///
    /// # Panics
    /// If a channel has no lane or there are more than 2^32 - 2 lanes.
    pub fn new(lanes: impl IntoIterator<Item = u32>) -> Self {
        let mut first = vec![0];
        let mut total: LaneId = 0;
        for count in lanes {
            assert!(count > 0, "channel {} has no lane", first.len() - 1);
            total = total.checked_add(count).expect("fewer than 2^32 lanes");
            first.push(total);
        }
        let count = first.len() - 1;
        let queue = Queue {
            head: NONE,
            tail: NONE,
            wake: HELD,
        };
        Self {
            first,
            release: vec![0; total as usize],
            queues: vec![queue; count],
            flits: Vec::new(),
        }
    }

    /// Counts the flits that each channel accepts from now on.
    pub fn count_flits(&mut self) {
        self.flits = vec![0; self.len()];
    }

    /// Flits accepted by each channel since [`Channels::count_flits`]; empty if never asked for.
    pub fn flits(&self) -> &[u64] {
        &self.flits
    }

    /// Number of channels.
    pub fn len(&self) -> usize {
        self.first.len() - 1
    }

    /// Whether there is no channel.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of lanes of `channel`.
    pub fn lanes(&self, channel: ChannelId) -> u32 {
        self.first[channel as usize + 1] - self.first[channel as usize]
    }

    /// Takes a lane of `channel` at `time`, if one is free.
    #[inline]
    pub(crate) fn request(&mut self, channel: ChannelId, time: Cycles, length: u32) -> Answer {
        let c = channel as usize;
        let (from, to) = (self.first[c] as usize, self.first[c + 1] as usize);
        let free = self.release[from..to].iter().position(|&at| at <= time);
        let Some(offset) = free else {
            return Answer::Busy;
        };
        let lane = from + offset;
        self.release[lane] = HELD;
        if let Some(count) = self.flits.get_mut(c) {
            *count += u64::from(length);
        }
        Answer::Granted(lane as LaneId)
    }

    /// Queues `worm` for `channel` after a request was refused. Returns a time at which the
    /// channel must be woken, if there is a new one. `link` sets a worm's successor.
    pub(crate) fn enqueue(
        &mut self,
        channel: ChannelId,
        worm: WormId,
        link: impl FnOnce(WormId, WormId),
    ) -> Option<Cycles> {
        let queue = &mut self.queues[channel as usize];
        if queue.head != NONE {
            link(queue.tail, worm);
            queue.tail = worm;
            return None;
        }
        queue.head = worm;
        queue.tail = worm;
        self.watch(channel)
    }

    /// The worm that waits longest for `channel`.
    pub(crate) fn waiting(&self, channel: ChannelId) -> Option<WormId> {
        let head = self.queues[channel as usize].head;
        (head != NONE).then_some(head)
    }

    /// Removes the worm that waits longest, whose successor is `next`.
    pub(crate) fn dequeue(&mut self, channel: ChannelId, next: WormId) {
        self.queues[channel as usize].head = next;
    }

    /// Asks to be woken when a lane of `channel` becomes free, since somebody waits for it.
    /// Returns the wake-up to schedule now, if there is a new one.
    pub(crate) fn watch(&mut self, channel: ChannelId) -> Option<Cycles> {
        let c = channel as usize;
        let (from, to) = (self.first[c] as usize, self.first[c + 1] as usize);
        let mut earliest = HELD;
        for release in &mut self.release[from..to] {
            if *release >= WANTED {
                *release = WANTED;
            } else {
                earliest = earliest.min(*release);
            }
        }
        self.wake_at(channel, earliest)
    }

    /// Notes that a wake-up of `channel` at `time` has come.
    pub(crate) fn woken(&mut self, channel: ChannelId, time: Cycles) {
        let queue = &mut self.queues[channel as usize];
        if queue.wake == time {
            queue.wake = HELD;
        }
    }

    fn wake_at(&mut self, channel: ChannelId, time: Cycles) -> Option<Cycles> {
        let queue = &mut self.queues[channel as usize];
        if time < queue.wake {
            queue.wake = time;
            Some(time)
        } else {
            None
        }
    }

    /// Fixes the first cycle in which `lane` can be granted again. Returns the channel and the
    /// time of a wake-up to schedule, if somebody waits for it.
    #[inline]
    pub(crate) fn release_at(&mut self, lane: LaneId, time: Cycles) -> Option<(ChannelId, Cycles)> {
        let wanted = self.release[lane as usize] == WANTED;
        self.release[lane as usize] = time;
        if wanted {
            self.wanted_release(lane, time)
        } else {
            None
        }
    }

    #[cold]
    fn wanted_release(&mut self, lane: LaneId, time: Cycles) -> Option<(ChannelId, Cycles)> {
        let channel = self.channel_of(lane);
        if self.queues[channel as usize].head == NONE {
            return None;
        }
        self.wake_at(channel, time).map(|at| (channel, at))
    }

    fn channel_of(&self, lane: LaneId) -> ChannelId {
        (self.first.partition_point(|&first| first <= lane) - 1) as ChannelId
    }
}
