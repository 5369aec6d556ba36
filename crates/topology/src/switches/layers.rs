//! Layers of virtual channels.

/// Of each switch the layer of all ways to it from switches with nodes. Nobody goes to a switch without nodes.
///
/// A way is wholly in one layer, and within a layer the links that packets wait for while they hold others
/// close no circle. The ways to one switch are a tree, so that they never do; those to the next switch join
/// the first layer in which that stays true, after Skeie, Lysne and Theiss, *Layered shortest path (LASH)
/// routing in irregular system area networks*, IPDPS 2002, who do so way by way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layers {
    /// The layer of the ways to each switch.
    pub of: Vec<u16>,
    /// How many there are.
    pub count: u16,
    /// The switches of a circle of waiting that one layer would have, if it would.
    pub circle: Vec<u32>,
}

/// One layer: of each link those that packets wait for while they hold it, and the other way around; and
/// places of all links that rise along every wait. A new wait moves only the links between its ends, after
/// Pearce and Kelly, *A dynamic topological sort algorithm for directed acyclic graphs*, ACM J. Exp.
/// Algorithmics 11, 2007.
struct Layer {
    wanted: Vec<Vec<u32>>,
    held: Vec<Vec<u32>>,
    place: Vec<u32>,
    /// Whether a search has been at a link.
    seen: Vec<bool>,
}

impl Layer {
    fn new(links: usize) -> Self {
        Self {
            wanted: vec![Vec::new(); links],
            held: vec![Vec::new(); links],
            place: (0..links as u32).collect(),
            seen: vec![false; links],
        }
    }

    /// Adds waits, or none of them if they would close a circle: the links of that.
    fn take(&mut self, waits: &[(u32, u32)]) -> Result<(), Vec<u32>> {
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

impl Layers {
    /// `has_nodes`: of each switch whether ways begin and end there.
    pub(super) fn new(has_nodes: &[bool], next: impl Fn(u32, u32) -> Option<u32>) -> Self {
        let switches = has_nodes.len() as u32;
        let ends = || (0..switches).filter(|&switch| has_nodes[switch as usize]);
        // Links between switches, numbered as they come.
        let mut links: Vec<(u32, u32)> = Vec::new();
        // By the switch that it leaves: that it leads to, ascending, and its number.
        let mut numbers: Vec<Vec<(u32, u32)>> = vec![Vec::new(); switches as usize];
        let find = |of: &[(u32, u32)], there: u32| of.binary_search_by_key(&there, |&(to, _)| to);
        for to in ends() {
            for at in 0..switches {
                let Some(there) = next(at, to) else { continue };
                let known = &mut numbers[at as usize];
                if let Err(place) = find(known, there) {
                    known.insert(place, (there, links.len() as u32));
                    links.push((at, there));
                }
            }
        }
        let number = |at: u32, there: u32| {
            let known = &numbers[at as usize];
            known[find(known, there).unwrap_or_else(|place| place)].1
        };
        let mut layers: Vec<Layer> = Vec::new();
        let mut found = Self {
            of: Vec::with_capacity(switches as usize),
            count: 0,
            circle: Vec::new(),
        };
        // The last switch to which a way led over each.
        let mut crossed = vec![u32::MAX; switches as usize];
        let mut waits: Vec<(u32, u32)> = Vec::new();
        for to in 0..switches {
            if !has_nodes[to as usize] {
                found.of.push(0);
                continue;
            }
            for from in ends() {
                let mut at = from;
                while std::mem::replace(&mut crossed[at as usize], to) != to {
                    let Some(there) = next(at, to) else { break };
                    at = there;
                }
            }
            waits.clear();
            waits.extend((0..switches).filter_map(|at| {
                let first = next(at, to).filter(|_| crossed[at as usize] == to)?;
                let second = next(first, to)?;
                Some((number(at, first), number(first, second)))
            }));
            let layer = layers
                .iter_mut()
                .position(|layer| match layer.take(&waits) {
                    Ok(()) => true,
                    Err(circle) => {
                        if found.circle.is_empty() {
                            let from = circle.iter().map(|&link| links[link as usize].0);
                            found.circle = from.collect();
                        }
                        false
                    }
                });
            found.of.push(layer.unwrap_or_else(|| {
                let mut layer = Layer::new(links.len());
                let alone = layer.take(&waits);
                debug_assert!(alone.is_ok(), "the ways to one switch are a tree");
                layers.push(layer);
                layers.len() - 1
            }) as u16);
        }
        found.count = layers.len() as u16;
        found
    }
}

#[cfg(test)]
mod tests {
    use crate::deadlock;
    use crate::switches::{Form, Shortest};

    /// Dally and Seitz: a ring needs two, a mesh whose ways go dimension by dimension one.
    #[test]
    fn rings_need_two_layers_and_meshes_one() {
        let layers = |form: Form| Shortest::new(&form, &form.wiring(1)).unwrap().layers();
        let ring = layers(Form::Ring { switches: 8 });
        assert_eq!(ring.count, 2);
        assert_eq!(ring.circle.len(), 8);
        // No way is long enough to close one of three.
        assert_eq!(layers(Form::Ring { switches: 3 }).count, 1);
        let mesh = layers(Form::Mesh {
            sizes: vec![4, 4, 3],
        });
        assert_eq!((mesh.count, mesh.circle), (1, vec![]));
    }

    /// Every way in a layer of its own number again: no circle in any.
    #[test]
    fn no_layer_of_a_torus_closes_a_circle() {
        let form = Form::Torus { sizes: vec![5, 4] };
        let ways = Shortest::new(&form, &form.wiring(1)).unwrap();
        let layers = ways.layers();
        assert!((2..=4).contains(&layers.count), "{layers:?}");
        for layer in 0..layers.count {
            let link = |from: u32, to: u32| (from * 20 + to) as usize;
            let mut waits = vec![Vec::new(); 400];
            for to in (0..20).filter(|&to| layers.of[to as usize] == layer) {
                for at in 0..20 {
                    let Some(first) = ways.next(at, to) else {
                        continue;
                    };
                    if let Some(second) = ways.next(first, to) {
                        waits[link(at, first)].push(link(first, second));
                    }
                }
            }
            assert!(deadlock::check(400, |link| waits[link].clone()).is_ok());
        }
    }
}
