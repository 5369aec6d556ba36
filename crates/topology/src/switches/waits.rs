//! Links that packets wait for while they hold others.

/// Waits that close no circle: of each link those that packets wait for while they hold it, and the other way
/// around; and places of all links that rise along every wait. A new wait moves only the links between its ends, after
/// Pearce and Kelly, *A dynamic topological sort algorithm for directed acyclic graphs*, ACM J. Exp.
/// Algorithmics 11, 2007.
pub(super) struct Waits {
    wanted: Vec<Vec<u32>>,
    held: Vec<Vec<u32>>,
    place: Vec<u32>,
    /// Whether a search has been at a link.
    seen: Vec<bool>,
}

impl Waits {
    /// None among so many links.
    pub fn new(links: usize) -> Self {
        Self {
            wanted: vec![Vec::new(); links],
            held: vec![Vec::new(); links],
            place: (0..links as u32).collect(),
            seen: vec![false; links],
        }
    }

    /// Adds waits, or none of them if they would close a circle: the links of that.
    pub fn take(&mut self, waits: &[(u32, u32)]) -> Result<(), Vec<u32>> {
        let mut added = Vec::new();
        for &(held, wanted) in waits {
            if self.wanted[held as usize].contains(&wanted) {
                continue;
            }
            if let Err(circle) = self.add(held, wanted) {
                for (held, wanted) in added.into_iter().rev() {
                    // The places still rise along the others.
                    self.wanted[held as usize].pop();
                    self.held[wanted as usize].pop();
                }
                return Err(circle);
            }
            added.push((held, wanted));
        }
        Ok(())
    }

    fn add(&mut self, held: u32, wanted: u32) -> Result<(), Vec<u32>> {
        let (upper, lower) = (self.place[held as usize], self.place[wanted as usize]);
        if upper >= lower {
            let after = Self::search(&self.wanted, &mut self.seen, wanted, |link| {
                self.place[link as usize] <= upper
            });
            if let Some(end) = after.iter().position(|&(link, _)| link == held) {
                return Err(trace(&after, end));
            }
            let before = Self::search(&self.held, &mut self.seen, held, |link| {
                self.place[link as usize] >= lower
            });
            let sorted = |found: Vec<(u32, usize)>| {
                let mut links: Vec<u32> = found.into_iter().map(|(link, _)| link).collect();
                links.sort_unstable_by_key(|&link| self.place[link as usize]);
                links
            };
            let links: Vec<u32> = [sorted(before), sorted(after)].concat();
            let mut places: Vec<u32> = links
                .iter()
                .map(|&link| self.place[link as usize])
                .collect();
            places.sort_unstable();
            for (link, place) in links.into_iter().zip(places) {
                self.place[link as usize] = place;
            }
        }
        self.wanted[held as usize].push(wanted);
        self.held[wanted as usize].push(held);
        Ok(())
    }

    /// What can be reached from a link over links within bounds, each with the place in the list of the one
    /// that it was reached from.
    fn search(
        next: &[Vec<u32>],
        seen: &mut [bool],
        from: u32,
        within: impl Fn(u32) -> bool,
    ) -> Vec<(u32, usize)> {
        let mut found = vec![(from, 0)];
        seen[from as usize] = true;
        let mut done = 0;
        while let Some(&(link, _)) = found.get(done) {
            for &other in &next[link as usize] {
                if !seen[other as usize] && within(other) {
                    seen[other as usize] = true;
                    found.push((other, done));
                }
            }
            done += 1;
        }
        for &(link, _) in &found {
            seen[link as usize] = false;
        }
        found
    }
}

/// The links from the first that was found to one of the others.
fn trace(found: &[(u32, usize)], mut at: usize) -> Vec<u32> {
    let mut links = vec![found[at].0];
    while at > 0 {
        at = found[at].1;
        links.push(found[at].0);
    }
    links.reverse();
    links
}
