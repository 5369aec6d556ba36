//! Max-min fair shares of links, updated only where a change has an effect.
//!
//! Filling ([rule 3](crate)) gives each link a level: the share at which the link was settled, or
//! none if other links and bounds limit all its transfers. The share of a transfer is the minimum
//! of its bound and of the levels of its links. The level of a link depends only on lower levels.
//! It is the smallest share s for which the following holds: s is the capacity that the transfers
//! with shares below s do not use, divided by the number of the other transfers and rounded down.
//!
//! So a change of transfers propagates upwards, level by level. Links on which something changes
//! are *open*; all other links keep their levels. Each open link has an entry in a heap, and the
//! engine handles the entries in ascending order. The key of an entry, the *moment* of its link, is
//! the lower of two levels:
//! - the new level of the link, as far as it is known. When this entry is handled, the transfers of
//!   the link get that share. Links on which these transfers had a higher share are opened, because
//!   they can now give more to others;
//! - the old level of the link, if the new one is above. When this entry is handled, transfers that
//!   only this link limited become *loose*: as far as it is known, only their bounds limit them.
//!   Their other links are opened, because these transfers now use more of them.
//!
//! The known part of a new level is a lower bound. It is exact when the entry of the link is
//! handled, because it depends only on lower levels, which are settled by then. No moment is below
//! one that was handled before, so each link is settled once.

use crate::ends::FlowId;
use isthmus_kernel::{Id, Paths, Table, id};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

id! {
    /// Number of a link of the network.
    struct LinkId;
}

/// Value of a level (fair share of a link) or of a bound of a transfer that means no limit.
pub(crate) const NONE: u64 = u64::MAX;

/// Initial number of links for which the table of paths has space per path. The first longer path
/// enlarges it.
const STRIDE_MIN: usize = 8;

/// State of a link while shares are computed after transfers have started or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The level of the link (its fair share) is final: the computation no longer changes it.
    Closed,
    /// The level (fair share) of the link may change. For the new level, transfers whose share is
    /// at least the old level count as limited by this link only.
    Open,
    /// The level (fair share) of the link is out of date, because the new level will be higher.
    Expired,
}

/// State of a link while the fair shares of its transfers are computed.
#[derive(Debug, Clone)]
struct Link {
    /// Unreserved capacity of the link in steps of 2^-24 bytes per tick.
    free: u64,
    /// The level of the link: the share of those transfers that this link limits.
    level: u64,
    /// For an open link: its new level (fair share), as far as known.
    next: u64,
    /// For an open link: its moment, which is the level at which the link is handled and its key in
    /// the heap. Entries of the link with other moments are outdated.
    moment: u64,
    state: State,
    /// Whether the new level `next` may be too low, because the shares of other transfers have
    /// decreased since it was computed.
    low: bool,
    /// The transfers that move over the link, in any order.
    flows: Vec<FlowId>,
}

/// State of a transfer for the computation of the shares.
#[derive(Debug, Clone, Copy)]
struct Flow {
    /// The maximum share of the transfer in steps of 2^-24 bytes per tick.
    bound: u64,
    /// Number of links that the transfer crosses.
    hops: u16,
    /// Whether the transfer is in the list `changed` of transfers whose share may have changed.
    is_changed: bool,
}

/// Max-min fair shares of moving transfers on their links, in steps of 2^-24 bytes per tick.
#[derive(Debug, Clone)]
pub(crate) struct Sharing {
    links: Table<LinkId, Link>,
    /// The share of each transfer. While shares are computed, an entry may not be final.
    shares: Table<FlowId, u64>,
    flows: Table<FlowId, Flow>,
    paths: Paths<FlowId, u32>,
    /// Heap of the open links by their moments, the levels at which they are handled.
    moments: BinaryHeap<Reverse<(u64, u32)>>,
    /// All links that were opened (marked because their levels may change) since the shares were
    /// last computed.
    opened: Vec<LinkId>,
    /// Transfers whose share may have changed since the shares were last computed.
    changed: Vec<FlowId>,
    /// Reusable buffer: the limits of the transfers of a link.
    scratch: Vec<u64>,
    /// Reusable buffer: the transfers that a link limits.
    limited: Vec<FlowId>,
    /// Reusable buffer: the links that a change of shares affects.
    affected: Vec<LinkId>,
}

impl Sharing {
    /// Creates links with these unreserved capacities, in steps of 2^-24 bytes per tick.
    pub(crate) fn new(capacities: impl Iterator<Item = u64>) -> Self {
        let links = capacities.map(|free| Link {
            free,
            level: NONE,
            next: NONE,
            moment: NONE,
            state: State::Closed,
            low: false,
            flows: Vec::new(),
        });
        Self {
            links: links.collect(),
            shares: Table::from(Vec::new()),
            flows: Table::from(Vec::new()),
            paths: Paths::new(STRIDE_MIN),
            moments: BinaryHeap::new(),
            opened: Vec::new(),
            changed: Vec::new(),
            scratch: Vec::new(),
            limited: Vec::new(),
            affected: Vec::new(),
        }
    }

    /// Stores the path of a transfer that does not move yet.
    pub(crate) fn store_path(&mut self, flow: FlowId, path: &[u32]) {
        self.paths.make_room(flow, path.len());
        self.paths.of_mut(flow, path.len()).copy_from_slice(path);
        let kept = Flow {
            bound: NONE,
            hops: path.len() as u16,
            is_changed: false,
        };
        if let Some(old) = self.flows.get_mut(flow) {
            *old = kept;
            self.shares[flow] = 0;
        } else {
            self.flows.push(kept);
            self.shares.push(0);
        }
    }

    /// Returns the links that a transfer crosses.
    #[inline]
    pub(crate) fn path(&self, flow: FlowId) -> &[u32] {
        self.paths.of(flow, self.flows[flow].hops.into())
    }

    /// Returns the number of transfers that move over a link.
    #[inline]
    pub(crate) fn transfer_count(&self, link: u32) -> usize {
        self.links[LinkId::new(link)].flows.len()
    }

    /// Returns the share of a moving transfer, in steps of 2^-24 bytes per tick.
    #[inline]
    pub(crate) fn share(&self, flow: FlowId) -> u64 {
        self.shares[flow]
    }

    /// Adds a transfer that starts to move. It has `reserved` steps per tick on its links, and gets
    /// a share of at most `bound` of the unreserved capacity.
    pub(crate) fn join(&mut self, flow: FlowId, bound: u64, reserved: u64) {
        self.flows[flow].bound = bound;
        self.shares[flow] = bound;
        self.mark_changed(flow);
        for hop in 0..self.flows[flow].hops.into() {
            let link = self.step(flow, hop);
            let state = &mut self.links[link];
            state.free -= reserved;
            state.flows.push(flow);
            self.open(link);
        }
    }

    /// Removes a moving transfer that has ended, with its reservation of `reserved` steps per tick.
    pub(crate) fn leave(&mut self, flow: FlowId, reserved: u64) {
        for hop in 0..self.flows[flow].hops.into() {
            let link = self.step(flow, hop);
            let state = &mut self.links[link];
            state.free += reserved;
            // The linear search costs little, because a change of a link visits all of its
            // transfers in any case.
            let place = state.flows.iter().position(|&other| other == flow);
            state
                .flows
                .swap_remove(place.expect("it moved over all of its links"));
            self.open(link);
        }
        if self.flows[flow].is_changed {
            self.flows[flow].is_changed = false;
            self.changed.retain(|&other| other != flow);
        }
    }

    /// Returns whether the shares are up to date: no transfer has joined or left since they were
    /// computed.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        self.opened.is_empty() && self.changed.is_empty()
    }

    /// Computes the shares of all moving transfers. Appends to `changed`, which must be empty, the
    /// transfers whose share may have changed.
    pub(crate) fn settle(&mut self, changed: &mut Vec<FlowId>) {
        for at in 0..self.opened.len() {
            self.compute_level(self.opened[at]);
        }
        while let Some(Reverse((moment, link))) = self.moments.pop() {
            let link = LinkId::new(link);
            let state = &self.links[link];
            if state.state == State::Closed || state.moment != moment {
                continue;
            }
            if state.low {
                self.compute_level(link);
                if self.links[link].moment != moment {
                    continue;
                }
                // The entry was not outdated, so handle the link now. A second entry of the link
                // becomes outdated when the link gets its level.
            }
            if self.links[link].next == moment {
                self.close(link, moment);
            } else {
                self.expire(link, moment);
            }
        }
        for link in self.opened.drain(..) {
            let state = &mut self.links[link];
            if state.state != State::Closed {
                state.state = State::Closed;
                state.level = NONE;
            }
        }
        std::mem::swap(&mut self.changed, changed);
        for &flow in changed.iter() {
            self.flows[flow].is_changed = false;
        }
    }

    /// Returns the link at position `hop` of the path of a transfer.
    #[inline]
    fn step(&self, flow: FlowId, hop: usize) -> LinkId {
        LinkId::new(self.paths.step(flow, hop))
    }

    /// Adds a transfer to the transfers whose share may have changed.
    #[inline]
    fn mark_changed(&mut self, flow: FlowId) {
        let state = &mut self.flows[flow];
        if !state.is_changed {
            state.is_changed = true;
            self.changed.push(flow);
        }
    }

    /// Changes the state of a link from closed to open: its level (fair share) may change. The
    /// caller must then compute the moment of the link, which is its key in the heap.
    #[inline]
    fn open(&mut self, link: LinkId) {
        let state = &mut self.links[link];
        if state.state == State::Closed {
            state.state = State::Open;
            state.moment = NONE;
            state.low = false;
            self.opened.push(link);
        }
    }

    /// Adds an open link to the heap, with its key `moment`: the level at which the link is
    /// handled.
    #[inline]
    fn queue(&mut self, link: LinkId, moment: u64) {
        self.links[link].moment = moment;
        if moment != NONE {
            self.moments.push(Reverse((moment, link.number())));
        }
    }

    /// Computes a lower bound of the new level (fair share) of an open link, and its moment (heap
    /// key).
    fn compute_level(&mut self, link: LinkId) {
        let state = &mut self.links[link];
        let old = match state.state {
            State::Expired => NONE,
            _ => state.level,
        };
        self.scratch.clear();
        for &flow in &state.flows {
            let share = self.shares[flow];
            self.scratch.push(if share < old { share } else { NONE });
        }
        state.next = level(state.free, &mut self.scratch);
        state.low = false;
        let moment = state.next.min(old);
        self.queue(link, moment);
    }

    /// Closes an open link: sets its new level (fair share), and the shares of the transfers that
    /// the link limits.
    fn close(&mut self, link: LinkId, level: u64) {
        let state = &mut self.links[link];
        state.level = level;
        state.state = State::Closed;
        self.limited.clear();
        for &flow in &state.flows {
            if self.shares[flow] > level {
                self.limited.push(flow);
            }
        }
        for at in 0..self.limited.len() {
            let flow = self.limited[at];
            self.mark_changed(flow);
            self.shares[flow] = level;
            for hop in 0..self.flows[flow].hops.into() {
                let other = self.step(flow, hop);
                let state = &mut self.links[other];
                match state.state {
                    // Such a link stays closed. Either its level is not above `level`, as for the
                    // link that is being closed, or it limits no transfer before and after the
                    // change.
                    State::Closed if state.level <= level || state.level == NONE => {}
                    State::Closed => {
                        let moment = state.level;
                        self.open(other);
                        self.links[other].low = true;
                        self.links[other].next = 0;
                        self.queue(other, moment);
                    }
                    State::Open | State::Expired => state.low = true,
                }
            }
        }
    }

    /// Handles a link whose new level (fair share) is higher than the old one. Transfers that only
    /// this link limited are now limited by their own bounds only, until another link limits them.
    fn expire(&mut self, link: LinkId, old: u64) {
        let state = &mut self.links[link];
        state.state = State::Expired;
        self.limited.clear();
        for &flow in &state.flows {
            if self.shares[flow] == old && self.flows[flow].bound != old {
                self.limited.push(flow);
            }
        }
        self.affected.clear();
        for at in 0..self.limited.len() {
            let flow = self.limited[at];
            let hops = usize::from(self.flows[flow].hops);
            let is_held = (0..hops).any(|hop| {
                let other = &self.links[self.step(flow, hop)];
                other.state == State::Closed && other.level == old
            });
            if is_held {
                continue;
            }
            self.mark_changed(flow);
            self.shares[flow] = self.flows[flow].bound;
            for hop in 0..hops {
                let other = self.step(flow, hop);
                if !self.affected.contains(&other) {
                    self.open(other);
                    self.affected.push(other);
                }
            }
        }
        if self.affected.is_empty() {
            self.affected.push(link);
        }
        for at in 0..self.affected.len() {
            self.compute_level(self.affected[at]);
        }
    }
}

/// Returns the level (fair share) of a link with `free` unreserved capacity. `elsewhere` has, for
/// each transfer, the limit that its other links and its bound set, as far as known. Returns
/// [`NONE`] if these limit all transfers.
#[inline]
fn level(mut free: u64, elsewhere: &mut Vec<u64>) -> u64 {
    let mut level = 0;
    loop {
        let Some(next) = free.checked_div(elsewhere.len() as u64) else {
            return NONE;
        };
        if next == level {
            return level;
        }
        level = next;
        let mut kept = 0;
        for at in 0..elsewhere.len() {
            let limited = elsewhere[at];
            // Below, `free -= limited` cannot underflow: each of these transfers gets less than
            // `level`, so that together they get less than `free`.
            elsewhere[kept] = limited;
            if limited < level {
                free -= limited;
            } else {
                kept += 1;
            }
        }
        elsewhere.truncate(kept);
    }
}
