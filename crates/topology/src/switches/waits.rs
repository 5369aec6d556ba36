//! Links that packets wait for while they hold others.

use std::collections::VecDeque;

/// Waits that close no circle: of each link those that packets want while they hold it, and places of all
/// links that rise along every wait. New waits move only links whose places are between those of their ends (after
/// Pearce and Kelly, *A dynamic topological sort algorithm for directed acyclic graphs*, ACM J. Exp.
/// Algorithmics 11, 2007), all that come together at once.
pub(super) struct Waits {
    wanted: Vec<Vec<u32>>,
    place: Vec<u32>,
    /// The link at each place.
    at: Vec<u32>,
    /// Of each link how many that are not yet placed wait for it; zero between calls.
    before: Vec<u32>,
}

impl Waits {
    /// None among so many links.
    pub fn new(links: usize) -> Self {
        Self {
            wanted: vec![Vec::new(); links],
            place: (0..links as u32).collect(),
            at: (0..links as u32).collect(),
            before: vec![0; links],
        }
    }

    /// Adds these, links that are held and that are wanted, or none of them if they would close a circle: whether
    /// it did.
    pub fn take(&mut self, waits: &[(u32, u32)]) -> bool {
        let mut added = Vec::new();
        let (mut low, mut high) = (u32::MAX, 0);
        for &(held, wanted) in waits {
            let known = &mut self.wanted[held as usize];
            if !known.contains(&wanted) {
                known.push(wanted);
                added.push(held);
                let (upper, lower) = (self.place[held as usize], self.place[wanted as usize]);
                if upper >= lower {
                    low = low.min(lower);
                    high = high.max(upper);
                }
            }
        }
        if low > high || self.sort(low, high) {
            return true;
        }
        for held in added {
            self.wanted[held as usize].pop();
        }
        false
    }

    /// Sorts the links of these places so that places rise along all waits; false, and as it was, if that cannot be.
    fn sort(&mut self, low: u32, high: u32) -> bool {
        let links = &self.at[low as usize..=high as usize];
        let within = |place: u32| (low..=high).contains(&place);
        for &link in links {
            for &wanted in &self.wanted[link as usize] {
                self.before[wanted as usize] += u32::from(within(self.place[wanted as usize]));
            }
        }
        let mut sorted: Vec<u32> = Vec::with_capacity(links.len());
        sorted.extend(
            links
                .iter()
                .filter(|&&link| self.before[link as usize] == 0),
        );
        let mut done = 0;
        while let Some(&link) = sorted.get(done) {
            done += 1;
            for &wanted in &self.wanted[link as usize] {
                if within(self.place[wanted as usize]) {
                    let before = &mut self.before[wanted as usize];
                    *before -= 1;
                    if *before == 0 {
                        sorted.push(wanted);
                    }
                }
            }
        }
        if sorted.len() < links.len() {
            for &link in links {
                self.before[link as usize] = 0;
            }
            return false;
        }
        for (place, link) in (low..).zip(sorted) {
            self.place[link as usize] = place;
            self.at[place as usize] = link;
        }
        true
    }

    /// The circle that the first of these waits closes which closes one with those before it; the links of a
    /// shortest one, from that which is wanted to that which is held.
    pub fn circle(&mut self, waits: &[(u32, u32)]) -> Vec<u32> {
        // With the first `good` there is none, with the first `bad` there is.
        let (mut good, mut bad) = (0, waits.len());
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            let mut copy = Self {
                wanted: self.wanted.clone(),
                place: self.place.clone(),
                at: self.at.clone(),
                before: self.before.clone(),
            };
            match copy.take(&waits[..middle]) {
                true => good = middle,
                false => bad = middle,
            }
        }
        let Some(&(held, wanted)) = waits.get(good) else {
            return Vec::new();
        };
        let mut next = self.wanted.clone();
        for &(held, wanted) in &waits[..good] {
            if !next[held as usize].contains(&wanted) {
                next[held as usize].push(wanted);
            }
        }
        let mut from = vec![u32::MAX; next.len()];
        from[wanted as usize] = wanted;
        let mut queue = VecDeque::from([wanted]);
        while let Some(link) = queue.pop_front().filter(|&link| link != held) {
            for &other in &next[link as usize] {
                if from[other as usize] == u32::MAX {
                    from[other as usize] = link;
                    queue.push_back(other);
                }
            }
        }
        let mut links = vec![held];
        while let Some(&link) = links.last().filter(|&&link| link != wanted) {
            links.push(from[link as usize]);
        }
        links.reverse();
        links
    }
}
