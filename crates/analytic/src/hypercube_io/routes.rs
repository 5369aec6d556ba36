//! The stages that each message class crosses, and with which probability.

use super::channel::{Layout, link_shares, ones};
use super::input::HypercubeIo;
use super::reading::{ClassOneWait, PathLength, Reading, Uniform};
use crate::moments::ratio;
use crate::path::MessageClass;
use crate::staged::{Message, Stage, Visit, apportion};

/// Probabilities of D, A and ordinary links in one dimension of the PE cube.
type Links = [f64; 3];
const NO_LINK: Links = [0.0; 3];

// States of a path. Every path starts at its source, not having crossed a dimension.
const SOURCE: usize = 0;
/// In the I/O cube, at least one dimension crossed.
const IO_MOVED: usize = 1;
/// At a class I router from its I/O node or I/O router, no dimension of the PE cube crossed.
const CLASS_ONE_START: usize = 2;
/// At a class I router on the way.
const CLASS_ONE: usize = 3;
/// At a class II router on the way.
const CLASS_TWO: usize = 4;
/// On the way between a PE and its own I/O node.
const HOMEWARD: usize = 5;

/// Given probabilities of the links of one dimension: state before, links, states after.
type Given = Vec<(usize, Links, [usize; 3])>;

/// The message classes in the order of [`MessageClass::ALL`].
pub(super) fn messages(cube: &HypercubeIo, reading: &Reading) -> Vec<Message> {
    let routes = Routes {
        cube,
        reading,
        layout: Layout::new(cube),
        shares: link_shares(cube),
    };
    let traffic = &cube.traffic;
    let transfers = cube.reads() * traffic.replies_per_read;
    MessageClass::ALL
        .into_iter()
        .map(|class| {
            let (rate, length, mut stages) = match class {
                MessageClass::PePe => (
                    1.0 - traffic.io_probability,
                    traffic.message,
                    routes.pe_pe(),
                ),
                MessageClass::Request => (cube.reads(), traffic.request, routes.request()),
                MessageClass::Write => (
                    traffic.io_probability - cube.reads(),
                    traffic.write,
                    routes.request(),
                ),
                MessageClass::Forward => (
                    transfers * (1.0 - traffic.locality),
                    traffic.request,
                    routes.forward(),
                ),
                MessageClass::ReplyLocal => (
                    transfers * traffic.locality,
                    traffic.reply,
                    routes.reply_local(),
                ),
                MessageClass::ReplyRemote => (
                    transfers * (1.0 - traffic.locality),
                    traffic.reply,
                    routes.reply_remote(),
                ),
            };
            apportion(&mut stages);
            Message {
                rate: (rate * cube.pes()).max(0.0),
                length,
                stages,
            }
        })
        .collect()
}

struct Routes<'a> {
    cube: &'a HypercubeIo,
    reading: &'a Reading,
    layout: Layout,
    shares: [f64; 3],
}

impl Routes<'_> {
    /// k, e-cube, k.
    fn pe_pe(&self) -> Vec<Stage> {
        let pes = self.cube.pes();
        let counted = pes / (2.0 * (pes - 1.0));
        let rate = uniform(self.reading.pe_rate, pes, counted);
        let path = self.path(counted);
        let mut stages = vec![certain(Layout::PE_INJECT, SOURCE)];
        stages.extend(self.descending().map(|dimension| {
            let start = self.passing(first_of_uniform(dimension));
            let mut given = self.wandering(0.0);
            given.push((SOURCE, start, self.after()));
            let given = self.if_blocking(given);
            self.links(dimension, self.passing(rate), self.passing(path), given)
        }));
        stages.push(certain(self.layout.pe_eject(), SOURCE));
        stages
    }

    /// k, e-cube to the own class I PE, m; the way of writes, too.
    fn request(&self) -> Vec<Stage> {
        let serving = &self.cube.serving;
        let mut stages = vec![certain(Layout::PE_INJECT, SOURCE)];
        stages.extend(self.descending().map(|dimension| {
            let (crossing, last) = (serving.crossing[dimension], serving.last[dimension]);
            let way = self.entering(last, crossing - last);
            let split = |probability: f64| {
                if crossing > 0.0 {
                    let last = probability * last / crossing;
                    self.entering(last, probability - last)
                } else {
                    NO_LINK
                }
            };
            let given = self.if_blocking(vec![
                (SOURCE, split(self.sets_out(dimension)), [HOMEWARD; 3]),
                (HOMEWARD, split(self.again(dimension)), [HOMEWARD; 3]),
            ]);
            self.links(dimension, way, way, given)
        }));
        stages.push(certain(self.layout.to_io_node(), SOURCE));
        stages
    }

    /// r, I/O e-cube, r; in the control cube m, e-cube, m.
    fn forward(&self) -> Vec<Stage> {
        if self.cube.has_io_network() {
            let mut stages = vec![certain(Layout::IO_INJECT, SOURCE)];
            stages.extend(self.io_cube());
            stages.push(certain(self.layout.io_eject(), CLASS_ONE_START));
            // Where a reading charges the I/O links with the wait for D whatever the message.
            if let Some(weight) = self.charged_wait() {
                stages.extend(self.descending().map(|dimension| {
                    let given = self.charged(weight, dimension);
                    self.links(dimension, NO_LINK, NO_LINK, given)
                }));
            }
            return stages;
        }
        let io_nodes = f64::from(self.cube.io_nodes);
        let mut stages = vec![certain(Layout::FROM_IO_NODE, CLASS_ONE_START)];
        stages.extend(self.descending().map(|dimension| {
            let ones = self.cube.serving.class_one_ones[dimension];
            let counted = ratio(2.0 * ones * (1.0 - ones) * io_nodes, io_nodes - 1.0);
            self.across(dimension, counted, 0.5f64.powi(dimension as i32))
        }));
        stages.push(certain(self.layout.to_io_node(), SOURCE));
        stages
    }

    /// m, D links, k.
    fn reply_local(&self) -> Vec<Stage> {
        let mut stages = vec![certain(Layout::FROM_IO_NODE, CLASS_ONE_START)];
        stages.extend(self.descending().map(|dimension| {
            let way = self.leaving(dimension);
            self.links(
                dimension,
                way,
                way,
                self.if_blocking(self.homeward(dimension)),
            )
        }));
        stages.push(certain(self.layout.pe_eject(), SOURCE));
        stages
    }

    /// r, I/O e-cube, n, e-cube, k; in the control cube m, e-cube to the requester, k.
    fn reply_remote(&self) -> Vec<Stage> {
        if self.cube.has_io_network() {
            let mut stages = vec![certain(Layout::IO_INJECT, SOURCE)];
            stages.extend(self.io_cube());
            stages.push(certain(self.layout.io_to_pe(), CLASS_ONE_START));
            stages.extend(self.descending().map(|dimension| {
                let way = self.leaving(dimension);
                let given = match (self.reading.class_one_wait, self.charged_wait()) {
                    (ClassOneWait::Omitted, _) => Vec::new(),
                    (_, Some(weight)) => self.charged(weight, dimension),
                    (_, None) => self.homeward(dimension),
                };
                self.links(dimension, way, way, given)
            }));
            stages.push(certain(self.layout.pe_eject(), SOURCE));
            return stages;
        }
        let io_nodes = f64::from(self.cube.io_nodes);
        let mut stages = vec![certain(Layout::FROM_IO_NODE, CLASS_ONE_START)];
        stages.extend(self.descending().map(|dimension| {
            // Pairs of a class I PE and a PE that another one serves.
            let crossing = self.cube.serving.crossing[dimension];
            let counted = ratio(io_nodes / 2.0 - crossing, io_nodes - 1.0);
            self.across(dimension, counted, 0.0)
        }));
        stages.push(certain(self.layout.pe_eject(), SOURCE));
        stages
    }

    fn io_cube(&self) -> impl Iterator<Item = Stage> + '_ {
        let nodes = self.cube.io_nodes;
        let io_nodes = f64::from(nodes);
        (0..self.cube.io_dimension() as usize)
            .rev()
            .map(move |dimension| {
                let ones = ones(nodes, dimension);
                let counted = 2.0 * ones * (io_nodes - ones) / (io_nodes * (io_nodes - 1.0));
                let group = self.layout.io_link(dimension);
                let rate = uniform(self.reading.io_rate, io_nodes, counted);
                let path = self.path(counted);
                let visit = |from, rate, path, given| Visit {
                    group,
                    rate,
                    path,
                    given,
                    from: Some(from),
                    to: IO_MOVED,
                };
                let start = first_of_uniform(dimension);
                Stage {
                    port: group as u32,
                    visits: vec![
                        visit(SOURCE, 0.0, 0.0, start),
                        visit(IO_MOVED, rate, path, 0.5),
                    ],
                }
            })
    }

    /// One dimension on the way from a class I router across the control cube's PE cube. The path
    /// ends here, at a class I router, with probability `ends` if this dimension is crossed.
    fn across(&self, dimension: usize, counted: f64, ends: f64) -> Stage {
        let above = 0.5f64.powi(self.cube.dimension as i32 - 1 - dimension as i32);
        let split = |crossing: f64| {
            let first = crossing * above;
            let last = (crossing * ends).min(crossing - first);
            let mut links = self.passing(crossing - first - last);
            links[0] += first;
            links[self.inward()] += last;
            links
        };
        let rate = split(uniform(
            self.reading.io_rate,
            f64::from(self.cube.io_nodes),
            counted,
        ));
        let mut given = self.wandering(ends);
        given.push((
            CLASS_ONE_START,
            [first_of_uniform(dimension), 0.0, 0.0],
            self.after(),
        ));
        let given = self.if_blocking(given);
        self.links(dimension, rate, split(self.path(counted)), given)
    }

    /// One dimension for uniform traffic that has crossed an earlier one: it leaves a class I
    /// router by D and finds a class I router behind a class II one as often as there are any.
    fn wandering(&self, ends: f64) -> Given {
        let [_, entering, ordinary] = self.shares;
        let to_class_one = if entering > 0.0 {
            ends + (1.0 - ends) * entering / (entering + ordinary)
        } else {
            0.0
        };
        vec![
            (CLASS_ONE, [0.5, 0.0, 0.0], self.after()),
            (
                CLASS_TWO,
                [0.0, 0.5 * to_class_one, 0.5 * (1.0 - to_class_one)],
                self.after(),
            ),
        ]
    }

    /// Where uniform traffic stands after a link D, A or an ordinary one.
    fn after(&self) -> [usize; 3] {
        let all_class_one = self.shares[0] > 1.0 - 1e-12;
        let behind = if all_class_one { CLASS_ONE } else { CLASS_TWO };
        [behind, CLASS_ONE, CLASS_TWO]
    }

    /// One dimension on the way from the own class I router to the PE.
    fn homeward(&self, dimension: usize) -> Given {
        vec![
            (
                CLASS_ONE_START,
                [self.sets_out(dimension), 0.0, 0.0],
                [HOMEWARD; 3],
            ),
            (
                HOMEWARD,
                self.ordinary(self.again(dimension)),
                [HOMEWARD; 3],
            ),
        ]
    }

    /// A wait for D with probability `weight` in all, spread over the dimensions as replies are.
    fn charged(&self, weight: f64, dimension: usize) -> Given {
        let above: f64 = (dimension + 1..self.cube.dimension as usize)
            .map(|higher| self.share_of_replies(higher))
            .sum();
        let left = 1.0 - weight * above;
        let here = ratio(weight * self.share_of_replies(dimension), left).min(1.0);
        vec![(CLASS_ONE_START, [here, 0.0, 0.0], [HOMEWARD; 3])]
    }

    fn if_blocking(&self, given: Given) -> Given {
        if self.reading.pe_blocking {
            given
        } else {
            Vec::new()
        }
    }

    fn descending(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.cube.dimension as usize).rev()
    }

    fn path(&self, counted: f64) -> f64 {
        match self.reading.path_length {
            PathLength::Printed => 0.5,
            PathLength::Exact => counted,
        }
    }

    /// Links met on the way, without regard to which routers they join.
    fn passing(&self, crossing: f64) -> Links {
        self.shares.map(|share| share * crossing)
    }

    /// Links of class II routers, or any where there are none.
    fn ordinary(&self, crossing: f64) -> Links {
        if self.shares[2] > 1e-12 {
            [0.0, 0.0, crossing.max(0.0)]
        } else {
            self.passing(crossing.max(0.0))
        }
    }

    fn entering(&self, last: f64, others: f64) -> Links {
        let mut links = self.ordinary(others);
        links[self.inward()] += last;
        links
    }

    /// Index of the links into class I routers: D where all routers are of class I.
    fn inward(&self) -> usize {
        usize::from(self.shares[1] > 1e-12)
    }

    fn leaving(&self, dimension: usize) -> Links {
        let serving = &self.cube.serving;
        let first = serving.first[dimension];
        let mut links = self.ordinary(serving.crossing[dimension] - first);
        links[0] += first;
        links
    }

    /// Probability that a way between PE and I/O node that crosses no higher dimension crosses this
    /// one.
    fn sets_out(&self, dimension: usize) -> f64 {
        let first = &self.cube.serving.first;
        let above: f64 = first[dimension + 1..].iter().sum();
        ratio(first[dimension], 1.0 - above).min(1.0)
    }

    /// Probability that a way between PE and I/O node which crosses a higher dimension crosses this
    /// one, too; zero where all ways have length one.
    fn again(&self, dimension: usize) -> f64 {
        let serving = &self.cube.serving;
        let above: f64 = serving.first[dimension + 1..].iter().sum();
        let later = serving.crossing[dimension] - serving.first[dimension];
        ratio(later, above).clamp(0.0, 1.0)
    }

    /// Share of the replies' first links that cross this dimension.
    fn share_of_replies(&self, dimension: usize) -> f64 {
        let first = &self.cube.serving.first;
        let all: f64 = first.iter().sum();
        ratio(first[dimension], all)
    }

    fn charged_wait(&self) -> Option<f64> {
        match self.reading.class_one_wait {
            ClassOneWait::Half => Some(0.5),
            ClassOneWait::Full => Some(1.0),
            ClassOneWait::Omitted | ClassOneWait::ByPath => None,
        }
    }

    /// The links of one dimension, with `rate` and `path` on the first visit of each kind;
    /// [`apportion`] spreads them over the states.
    fn links(&self, dimension: usize, rate: Links, path: Links, given: Given) -> Stage {
        let group = self.layout.links(dimension);
        let mut visits = Vec::new();
        for kind in 0..3 {
            let mut ways: Vec<(f64, Option<usize>, usize)> = (given.iter())
                .filter(|(_, links, _)| links[kind] > 0.0)
                .map(|(from, links, to)| (links[kind], Some(*from), to[kind]))
                .collect();
            if ways.is_empty() && (rate[kind] > 0.0 || path[kind] > 0.0) {
                ways.push((0.0, None, SOURCE));
            }
            for (number, (given, from, to)) in ways.into_iter().enumerate() {
                visits.push(Visit {
                    group: group + kind,
                    rate: if number == 0 { rate[kind] } else { 0.0 },
                    path: if number == 0 { path[kind] } else { 0.0 },
                    given,
                    from,
                    to,
                });
            }
        }
        Stage {
            port: group as u32,
            visits,
        }
    }
}

/// Probability that uniform traffic to another node, which crosses no dimension above this one,
/// crosses this one: 2^i of the 2^(i+1) - 1 nodes that are left.
fn first_of_uniform(dimension: usize) -> f64 {
    let nodes = 2f64.powi(dimension as i32);
    nodes / (2.0 * nodes - 1.0)
}

fn uniform(reading: Uniform, nodes: f64, counted: f64) -> f64 {
    match reading {
        _ if nodes <= 1.0 => 0.0,
        Uniform::Half => 0.5,
        Uniform::HalfMoving => 0.5 * (nodes - 1.0) / nodes,
        Uniform::OtherNodes => 0.5 * nodes / (nodes - 1.0),
        Uniform::Counted => counted,
    }
}

fn certain(group: usize, to: usize) -> Stage {
    Stage {
        port: group as u32,
        visits: vec![Visit {
            group,
            rate: 1.0,
            path: 1.0,
            given: 1.0,
            from: None,
            to,
        }],
    }
}
