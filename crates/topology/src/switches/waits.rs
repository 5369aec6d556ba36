//! Waits of packets: pairs of links such that packets wait for one link while they hold the other.

/// Waits of packets, which form no cycle: for each link the links that packets wait for while they hold it, and the
/// reverse. All links have positions that increase along every wait. A new wait moves only the links between its two
/// ends, after Pearce and Kelly, *A dynamic topological sort algorithm for directed acyclic graphs*, ACM J. Exp.
/// Algorithmics 11, 2007.
pub(super) struct Waits {
    requested: Vec<Vec<u32>>,
    held: Vec<Vec<u32>>,
    position: Vec<u32>,
    /// For each link, whether the current search has visited it.
    seen: Vec<bool>,
}

impl Waits {
    /// Return the waits between `links` links: at first no link waits for another.
    pub fn new(links: usize) -> Self {
        Self {
            requested: vec![Vec::new(); links],
            held: vec![Vec::new(); links],
            position: (0..links as u32).collect(),
            seen: vec![false; links],
        }
    }

    /// Add all waits (held link, requested link), or none if they would close a cycle. The error contains the links of
    /// the cycle.
    pub fn add_all(&mut self, waits: &[(u32, u32)]) -> Result<(), Vec<u32>> {
        let mut added = Vec::new();
        for &(held, requested) in waits {
            if self.requested[held as usize].contains(&requested) {
                continue;
            }
            if let Err(circle) = self.add(held, requested) {
                for (held, requested) in added.into_iter().rev() {
                    // Remove the waits that were added. Positions still increase along the remaining ones.
                    self.requested[held as usize].pop();
                    self.held[requested as usize].pop();
                }
                return Err(circle);
            }
            added.push((held, requested));
        }
        Ok(())
    }

    /// Add one wait, and move links so that the positions increase along every wait. If the wait would close a cycle,
    /// return the links of the cycle.
    fn add(&mut self, held: u32, requested: u32) -> Result<(), Vec<u32>> {
        let (upper, lower) = (
            self.position[held as usize],
            self.position[requested as usize],
        );
        if upper >= lower {
            let after = Self::search(&self.requested, &mut self.seen, requested, |link| {
                self.position[link as usize] <= upper
            });
            if let Some(end) = after.iter().position(|&(link, _)| link == held) {
                return Err(trace_path(&after, end));
            }
            let before = Self::search(&self.held, &mut self.seen, held, |link| {
                self.position[link as usize] >= lower
            });
            let sorted = |found: Vec<(u32, usize)>| {
                let mut links: Vec<u32> = found.into_iter().map(|(link, _)| link).collect();
                links.sort_unstable_by_key(|&link| self.position[link as usize]);
                links
            };
            let links: Vec<u32> = [sorted(before), sorted(after)].concat();
            let mut places: Vec<u32> = links
                .iter()
                .map(|&link| self.position[link as usize])
                .collect();
            places.sort_unstable();
            for (link, position) in links.into_iter().zip(places) {
                self.position[link as usize] = position;
            }
        }
        self.requested[held as usize].push(requested);
        self.held[requested as usize].push(held);
        Ok(())
    }

    /// Search breadth-first from link `from` along the waits in `next`, over links for which `within` is true. Return
    /// the links found, each with the index in the result of the link from which it was found.
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

/// Return the path by which a search found the link at index `at` of its result `found`, from the first link on.
fn trace_path(found: &[(u32, usize)], mut at: usize) -> Vec<u32> {
    let mut links = vec![found[at].0];
    while at > 0 {
        at = found[at].1;
        links.push(found[at].0);
    }
    links.reverse();
    links
}
