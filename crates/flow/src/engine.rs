//! The event-driven engine: it begins, moves and ends transfers that share links.

use crate::counters::{Counters, Counting};
use crate::ends::{Ends, FlowId};
use crate::error::Error;
use crate::handler::Handler;
use crate::rate::{BYTES_MAX, Rate, work};
use crate::sharing::{NONE, Sharing};
use crate::transfer::{Delivered, Moving, Transfer};
use isthmus_kernel::{Cycles, Id, Ran, RunUntil, Slab};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Maximum length of a path in which repeated links are found by comparing all pairs; longer paths
/// are sorted.
const SEARCHED_MAX: usize = 16;

/// A future event. The variants have the order of events within a tick (rule 7 of the crate). Ends
/// of transfers are in their own heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A timer expires: its sequence number, and its value for the handler.
    Timer(u64, u32),
    /// A transfer begins: the sequence number of its offer, and its slot.
    Begin(u64, FlowId),
    /// The latency of a transfer ends, and its bytes start to move: the number of the transfer, and
    /// its slot.
    Move(u64, FlowId),
}

/// State of a transfer from its offer to its end.
#[derive(Debug, Clone, Copy)]
struct Flow<T> {
    number: u64,
    tag: T,
    bytes: u64,
    generated: Cycles,
    latency: Cycles,
    rate_max: Option<Rate>,
    /// Reserved rate of the transfer in steps of 2^-24 bytes per tick; 0 without a reservation.
    reserved: u64,
    /// Whether the latency of the transfer is over, so that its bytes move.
    moves: bool,
    /// Rate of the transfer since time `since`, in steps of 2^-24 bytes per tick.
    rate: u64,
    since: Cycles,
    /// Remaining work of the transfer at time `since`, in steps of 2^-24 bytes.
    left: u64,
}

impl<T> Flow<T> {
    /// Returns the work that the transfer has moved from its time `since` until now, in steps of
    /// 2^-24 bytes.
    #[inline]
    fn moved(&self, now: Cycles) -> u64 {
        self.rate * (now - self.since)
    }

    /// Returns the first tick by which all bytes of the transfer have moved.
    #[inline]
    fn end(&self) -> Cycles {
        match self.rate {
            0 => Cycles::MAX,
            rate => self.since.saturating_add(self.left.div_ceil(rate)),
        }
    }
}

/// The simulation engine: links, transfers under way, and future events.
#[derive(Debug, Clone)]
pub struct Engine<T> {
    capacities: Vec<Rate>,
    /// Reserved rate of each link in steps of 2^-24 bytes per tick, including reservations of
    /// future transfers.
    booked: Vec<u64>,
    sharing: Sharing,
    flows: Slab<FlowId, Flow<T>>,
    /// End times of all moving transfers.
    ends: Ends,
    /// Future events except ends of transfers.
    future: BinaryHeap<Reverse<(Cycles, Event)>>,
    /// Buffer for the transfers whose share of their links has changed.
    changed: Vec<FlowId>,
    /// Running counters; `None` before counting is started.
    counting: Option<Counting>,
    now: Cycles,
    /// Number of offers and timers so far, for the order of events.
    sequence: u64,
    /// Number of transfers that have started.
    started: u64,
    under_way: u64,
}

impl<T: Copy> Engine<T> {
    /// Creates an idle engine at time 0 with links of these capacities, numbered from 0.
    ///
    /// # Errors
    /// There are more than 2^32 - 1 links.
    pub fn new(capacities: Vec<Rate>) -> Result<Self, Error> {
        let links = capacities.len();
        if links > u32::MAX as usize {
            return Err(Error::TooManyLinks { links });
        }
        Ok(Self {
            booked: vec![0; links],
            sharing: Sharing::new(capacities.iter().map(|rate| rate.steps())),
            capacities,
            flows: Slab::new(),
            ends: Ends::default(),
            future: BinaryHeap::new(),
            changed: Vec::new(),
            counting: None,
            now: 0,
            sequence: 0,
            started: 0,
            under_way: 0,
        })
    }

    /// Returns the capacity of each link.
    pub fn capacities(&self) -> &[Rate] {
        &self.capacities
    }

    /// Returns the unreserved rate of a link, with the reservations of future transfers subtracted.
    /// `None` if the link does not exist or is fully reserved.
    pub fn unbooked(&self, link: u32) -> Option<Rate> {
        let capacity = self.capacities.get(link as usize)?;
        Rate::of(capacity.steps() - self.booked[link as usize])
    }

    /// Checks that [`offer`](isthmus_kernel::Engine::offer) would accept a transfer at `time`.
    ///
    /// # Errors
    /// The reason for which `offer` would refuse the transfer.
    pub fn check(&self, time: Cycles, transfer: &Transfer<'_, T>) -> Result<(), Error> {
        let &Transfer { bytes, path, .. } = transfer;
        if time < self.now {
            let now = self.now;
            return Err(Error::Past { time, now });
        }
        if bytes > BYTES_MAX {
            return Err(Error::TooLarge { bytes });
        }
        if path.len() > usize::from(u16::MAX) {
            return Err(Error::LongPath { links: path.len() });
        }
        let links = self.capacities.len() as u32;
        if let Some(&link) = path.iter().find(|&&link| link >= links) {
            return Err(Error::NoSuchLink { link, links });
        }
        if let Some(link) = crossed_twice(path) {
            return Err(Error::LinkTwice { link });
        }
        let Some(reserved) = transfer.reserved else {
            return Ok(());
        };
        if let Some(rate_max) = transfer.rate_max.filter(|&rate_max| rate_max < reserved) {
            return Err(Error::BelowReserved { rate_max, reserved });
        }
        for &link in path {
            let left = self.unbooked(link);
            if left.is_none_or(|left| left < reserved) {
                return Err(Error::Booked {
                    link,
                    reserved,
                    left,
                });
            }
        }
        Ok(())
    }

    /// Offers a transfer for `time` as [`offer`](isthmus_kernel::Engine::offer) does, but returns
    /// an error if the engine refuses the transfer.
    ///
    /// # Errors
    /// The errors of [`Engine::check`]; the engine is then unchanged.
    pub fn try_offer(&mut self, time: Cycles, transfer: Transfer<'_, T>) -> Result<(), Error> {
        self.check(time, &transfer)?;
        let reserved = transfer.reserved.map_or(0, Rate::steps);
        let flow = self.flows.insert(Flow {
            number: 0,
            tag: transfer.tag,
            bytes: transfer.bytes,
            generated: time,
            latency: transfer.latency,
            rate_max: transfer.rate_max,
            reserved,
            moves: false,
            rate: 0,
            since: 0,
            left: work(transfer.bytes),
        });
        self.sharing.store_path(flow, transfer.path);
        if reserved > 0 {
            for &link in transfer.path {
                self.booked[link as usize] += reserved;
            }
        }
        let event = Event::Begin(self.sequence, flow);
        self.sequence += 1;
        self.future.push(Reverse((time, event)));
        Ok(())
    }

    /// Sets a timer: at `time`, the engine calls [`Handler::timer`] with the value `timer`.
    ///
    /// # Panics
    /// The time is in the past.
    pub fn schedule(&mut self, time: Cycles, timer: u32) {
        let now = self.now;
        assert!(
            time >= now,
            "a timer was set for tick {time}; it is {now} already"
        );
        let event = Event::Timer(self.sequence, timer);
        self.sequence += 1;
        self.future.push(Reverse((time, event)));
    }

    /// Returns the moving transfers in order of their numbers, with their rates in the last
    /// completed tick (rule 6). It reads the whole state, so it is for pictures and tests.
    pub fn moving(&self) -> Vec<Moving<'_, T>> {
        let used = self.flows.used();
        let places = (0..).map(FlowId::new).zip(self.flows.values()).zip(used);
        let moving = places.filter(|((_, flow), used)| *used && flow.moves);
        let mut moving: Vec<Moving<'_, T>> = moving
            .map(|((place, flow), _)| Moving {
                number: flow.number,
                tag: flow.tag,
                rate: Rate::of(flow.rate),
                path: self.sharing.path(place),
            })
            .collect();
        moving.sort_unstable_by_key(|moving| moving.number);
        moving
    }

    /// Starts the counters, all at 0. Before this call the engine counts nothing.
    pub fn count_from_now(&mut self) {
        self.counting = Some(Counting::new(self.capacities.len(), self.now));
        let now = self.now;
        for (flow, used) in self.flows.used().into_iter().enumerate() {
            let flow = &mut self.flows.values_mut()[flow];
            if used && flow.moves {
                flow.left -= flow.moved(now).min(flow.left);
                flow.since = now;
            }
        }
    }

    /// Returns the counters up to now, all 0 if counting was not started. It reads the whole state.
    pub fn counted(&self) -> Counters {
        let links = self.capacities.len();
        let Some(mut counting) = self.counting.clone() else {
            return Counting::new(links, self.now).counters();
        };
        for (place, used) in self.flows.used().into_iter().enumerate() {
            let (place, flow) = (FlowId::new(place as u32), &self.flows.values()[place]);
            if used && flow.moves {
                let moved = flow.moved(self.now).min(flow.left);
                counting.carry(self.sharing.path(place), moved);
            }
        }
        for link in (0..links as u32).filter(|&link| self.sharing.transfer_count(link) > 0) {
            counting.link_idle(link, self.now);
        }
        counting.counters()
    }

    /// Computes the rates of moving transfers that apply from now on, and updates the end times of
    /// these transfers.
    fn settle(&mut self) {
        let now = self.now;
        let mut changed = std::mem::take(&mut self.changed);
        self.sharing.settle(&mut changed);
        for place in changed.drain(..) {
            let share = self.sharing.share(place);
            let flow = &mut self.flows[place];
            let rate = flow.reserved + share;
            if rate == flow.rate {
                continue;
            }
            let moved = flow.moved(now);
            flow.left -= moved;
            flow.since = now;
            flow.rate = rate;
            self.ends.set(place, flow.end());
            if let Some(counting) = &mut self.counting {
                counting.carry(self.sharing.path(place), moved);
            }
        }
        self.changed = changed;
    }

    /// Serves an event that is not the end of a transfer: a timer, the start of a transfer, or the
    /// end of its latency.
    #[inline]
    fn serve<H: Handler<Tag = T>>(&mut self, event: Event, handler: &mut H) {
        match event {
            Event::Timer(_, timer) => handler.timer(self, timer),
            Event::Begin(_, place) => {
                let flow = &mut self.flows[place];
                let number = self.started;
                flow.number = number;
                self.started += 1;
                self.under_way += 1;
                let (tag, latency) = (flow.tag, flow.latency);
                if latency == 0 {
                    self.begin_to_move(place);
                } else {
                    let event = Event::Move(number, place);
                    let time = self.now.saturating_add(latency);
                    self.future.push(Reverse((time, event)));
                }
                handler.generated(self, number, tag);
            }
            Event::Move(_, place) => self.begin_to_move(place),
        }
    }

    /// Starts to move a transfer whose latency is over.
    fn begin_to_move(&mut self, place: FlowId) {
        let now = self.now;
        let flow = &mut self.flows[place];
        flow.moves = true;
        flow.since = now;
        let bound = flow
            .rate_max
            .map_or(NONE, |rate| rate.steps() - flow.reserved);
        let path = self.sharing.path(place);
        if flow.left == 0 || (path.is_empty() && bound == NONE) {
            flow.left = 0;
            flow.moves = false;
            self.ends.insert(place, flow.number, now);
            return;
        }
        if let Some(counting) = &mut self.counting {
            for &link in path {
                if self.sharing.transfer_count(link) == 0 {
                    counting.link_busy(link, now);
                }
            }
        }
        self.ends.insert(place, flow.number, Cycles::MAX);
        self.sharing.join(place, bound, flow.reserved);
    }

    /// Ends the transfer with the earliest end time and reports it to the handler.
    fn end<H: Handler<Tag = T>>(&mut self, handler: &mut H) {
        let place = self.ends.pop().expect("an end is due");
        let now = self.now;
        let flow = *self.flows.remove(place);
        if flow.moves {
            self.sharing.leave(place, flow.reserved);
        }
        let path = self.sharing.path(place);
        if flow.reserved > 0 {
            for &link in path {
                self.booked[link as usize] -= flow.reserved;
            }
        }
        if let Some(counting) = self.counting.as_mut().filter(|_| flow.moves) {
            counting.carry(path, flow.left);
            for &link in path {
                if self.sharing.transfer_count(link) == 0 {
                    counting.link_idle(link, now);
                }
            }
        }
        self.under_way -= 1;
        let delivered = Delivered {
            number: flow.number,
            tag: flow.tag,
            bytes: flow.bytes,
            generated: flow.generated,
            moved: flow.generated.saturating_add(flow.latency),
            arrived: now,
        };
        handler.delivered(self, &delivered);
    }
}

/// Returns a link that occurs twice in a path, if there is one.
fn crossed_twice(path: &[u32]) -> Option<u32> {
    if path.len() <= SEARCHED_MAX {
        let mut hops = (1..path.len()).filter(|&hop| path[..hop].contains(&path[hop]));
        return hops.next().map(|hop| path[hop]);
    }
    let mut sorted = path.to_vec();
    sorted.sort_unstable();
    let pair = sorted.windows(2).find(|pair| pair[0] == pair[1]);
    pair.map(|pair| pair[0])
}

impl<T: Copy> isthmus_kernel::Engine for Engine<T> {
    /// Type of the messages that are offered to this engine.
    type Message<'a> = Transfer<'a, T>;

    /// Returns the present time of the simulation in ticks.
    #[inline]
    fn now(&self) -> Cycles {
        self.now
    }

    /// Offers a transfer, which begins at `time`.
    ///
    /// # Panics
    /// The time is in the past, or [`Engine::check`] returns an error; [`Engine::try_offer`] does
    /// not panic.
    fn offer(&mut self, time: Cycles, transfer: Transfer<'_, T>) {
        if let Err(error) = self.try_offer(time, transfer) {
            panic!("{error}");
        }
    }

    #[inline]
    /// Returns the number of transfers that were offered and have not ended.
    fn under_way(&self) -> u64 {
        self.under_way
    }
}

impl<T: Copy, H: Handler<Tag = T>> RunUntil<H> for Engine<T> {
    /// Runs all events before the time `limit`, or until the handler has finished.
    fn run_until(&mut self, limit: Cycles, handler: &mut H) -> Ran {
        while !handler.finished() {
            let coming = self.future.peek();
            let coming = coming.map_or(Cycles::MAX, |Reverse((time, _))| *time);
            if coming.min(self.ends.next_time()) > self.now && !self.sharing.is_settled() {
                self.settle();
            }
            let end = self.ends.next_time();
            let time = end.min(coming);
            if time >= limit {
                if limit < Cycles::MAX {
                    self.now = self.now.max(limit);
                }
                return Ran::at_limit(time < Cycles::MAX, self.under_way);
            }
            self.now = time;
            if end <= coming {
                self.end(handler);
            } else if let Some(Reverse((_, event))) = self.future.pop() {
                self.serve(event, handler);
            }
        }
        Ran::Finished
    }
}
