//! The bytes of one file in the cache: ranges, and the state of each.

use rangemap::RangeMap;
use std::collections::BTreeMap;
use std::ops::Range;

/// The state of bytes of a file. Bytes without a state are not in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Being read from the store, by the fetch with this number.
    Fetching(u64),
    /// Read from the store.
    Fetched,
    /// Written by a client, and synced in the store.
    Stored,
    /// Written by a client in this round, and not yet in the store.
    Dirty(u64),
    /// Being written to the store by the drain with this number, or written and not yet synced.
    Draining(u64),
}

/// The ranges of one file that are in the cache.
#[derive(Debug, Default)]
pub(super) struct Extents {
    ranges: RangeMap<u64, State>,
    /// The number of dirty bytes of each round.
    dirty: BTreeMap<u64, u64>,
    draining: u64,
    /// The number of bytes that are stored or being fetched.
    clean: u64,
}

impl Extents {
    /// Return the number of bytes that take space in the cache.
    pub fn bytes(&self) -> u64 {
        self.clean + self.unstored()
    }

    /// Return the number of bytes that are not synced in the store.
    pub fn unstored(&self) -> u64 {
        self.dirty.values().sum::<u64>() + self.draining
    }

    /// Return the oldest round with dirty bytes.
    pub fn oldest_round(&self) -> Option<u64> {
        self.dirty.keys().next().copied()
    }

    /// Return the parts of a range that have a state.
    pub fn within(&self, range: Range<u64>) -> impl Iterator<Item = (Range<u64>, State)> + '_ {
        // An empty range overlaps nothing.
        let parts = (!range.is_empty()).then(|| self.ranges.overlapping(range.clone()));
        let parts = parts.into_iter().flatten();
        parts.map(move |(part, state)| {
            let clipped = part.start.max(range.start)..part.end.min(range.end);
            (clipped, *state)
        })
    }

    /// Return the parts of a range that have no state.
    pub fn missing(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        match range.is_empty() {
            true => Vec::new(),
            false => self.ranges.gaps(range).collect(),
        }
    }

    /// Give a range a state, or none.
    pub fn set(&mut self, range: Range<u64>, state: Option<State>) {
        if range.is_empty() {
            return;
        }
        let before: Vec<_> = self.within(range.clone()).collect();
        for (part, state) in before {
            let bytes = part.end - part.start;
            match state {
                State::Fetching(_) | State::Fetched | State::Stored => self.clean -= bytes,
                State::Draining(_) => self.draining -= bytes,
                State::Dirty(round) => {
                    let left = self.dirty.get_mut(&round).expect("the bytes were counted");
                    *left -= bytes;
                    if *left == 0 {
                        self.dirty.remove(&round);
                    }
                }
            }
        }
        let bytes = range.end - range.start;
        match state {
            None => return self.ranges.remove(range),
            Some(State::Fetching(_) | State::Fetched | State::Stored) => self.clean += bytes,
            Some(State::Draining(_)) => self.draining += bytes,
            Some(State::Dirty(round)) => *self.dirty.entry(round).or_default() += bytes,
        }
        self.ranges.insert(range, state.expect("it is not `None`"));
    }

    /// Mark a range as written in this round. Bytes that were dirty before keep their round: a client that
    /// waits for them waits until they are in the store.
    pub fn write(&mut self, range: Range<u64>, round: u64) {
        let older = self.within(range.clone());
        let older = older.filter(|(_, state)| matches!(state, State::Dirty(at) if *at < round));
        let older: Vec<_> = older.collect();
        self.set(range, Some(State::Dirty(round)));
        for (part, state) in older {
            self.set(part, Some(state));
        }
    }

    /// Change the parts of a range that have one state, and return them.
    pub fn change(&mut self, range: Range<u64>, from: State, to: Option<State>) -> Vec<Range<u64>> {
        let parts = self.within(range).filter(|(_, state)| *state == from);
        let parts: Vec<_> = parts.map(|(part, _)| part).collect();
        for part in &parts {
            self.set(part.clone(), to);
        }
        parts
    }

    /// Mark what a drain was for as dirty again, in the round of the drain, and with it what clients have
    /// written over it meanwhile: the store has neither.
    pub fn undo(&mut self, range: Range<u64>, ticket: u64, round: u64) {
        let parts = self.within(range).filter(|(_, state)| match state {
            State::Draining(by) => *by == ticket,
            State::Dirty(at) => *at > round,
            State::Fetching(_) | State::Fetched | State::Stored => false,
        });
        let parts: Vec<_> = parts.map(|(part, _)| part).collect();
        for part in parts {
            self.set(part, Some(State::Dirty(round)));
        }
    }

    /// Return the first dirty bytes from `start` on, and their oldest round. The range ends at a
    /// multiple of `part` bytes at the latest.
    pub fn first_dirty(&self, start: u64, part: u64) -> Option<(Range<u64>, u64)> {
        let mut found: Option<(Range<u64>, u64)> = None;
        for (range, state) in self.within(start..u64::MAX) {
            let State::Dirty(round) = state else {
                continue;
            };
            found = match found {
                None => Some((range, round)),
                Some((known, oldest)) if known.end == range.start => {
                    Some((known.start..range.end, oldest.min(round)))
                }
                Some(known) => return Some(at_most(known, part)),
            };
            if found
                .as_ref()
                .is_some_and(|(range, _)| range.end - range.start >= part)
            {
                break;
            }
        }
        found.map(|found| at_most(found, part))
    }
}

/// End a range at a multiple of `part` bytes at the latest.
fn at_most((range, round): (Range<u64>, u64), part: u64) -> (Range<u64>, u64) {
    let end = (range.start / part + 1) * part;
    (range.start..range.end.min(end), round)
}
