//! The stages on the path of each message class, with their probabilities.

use super::channel::{Layout, count_labels_with_bit, link_shares};
use super::input::HypercubeIo;
use super::reading::{ClassOneWait, PathLength, Reading, Uniform};
use crate::moments::ratio;
use crate::path::MessageClass;
use crate::staged::{Message, Stage, Visit, apportion};

/// Probabilities that a path crosses, in one dimension of the PE cube, a link from a router with an
/// I/O node (channel D), a link to one (channel A), or another link.
type Links = [f64; 3];
/// The probabilities of the three kinds of links, for a dimension that a path never crosses.
const NO_LINK: Links = [0.0; 3];

// The following constants are states of a message on its path.
// State SOURCE: the message is at its source and has crossed no dimension.
const SOURCE: usize = 0;
/// State of a path: the message is in the I/O cube and has crossed at least one dimension.
const IO_MOVED: usize = 1;
/// State of a path: the message comes from an I/O node or I/O router, is at the router of a PE with
/// an I/O node (class I), and has crossed no dimension of the PE cube.
const CLASS_ONE_START: usize = 2;
/// State of a path: the message is at an intermediate router with an I/O node (class I).
const CLASS_ONE: usize = 3;
/// State of a path: the message is at an intermediate router without an I/O node (class II).
const CLASS_TWO: usize = 4;
/// State of a path: the message is between a PE and the PE's own I/O node.
const HOMEWARD: usize = 5;

/// Steps of the Markov chain of a path in one dimension: the state before, the probability of each
/// kind of link, and the state after a link of each kind.
type Transitions = Vec<(usize, Links, [usize; 3])>;

/// Return the message classes in the order of [`MessageClass::ALL`].
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

/// Computation of the stages of the message classes, for a machine and an interpretation of the paper (a set of
/// assumptions).
struct Routes<'a> {
    cube: &'a HypercubeIo,
    reading: &'a Reading,
    layout: Layout,
    shares: [f64; 3],
}

impl Routes<'_> {
    /// Return the stages on the path of PE-PE messages: the source's lane to its router (k), e-cube
    /// links, the router's lane to the destination (k).
    fn pe_pe(&self) -> Vec<Stage> {
        let pes = self.cube.pes();
        let counted = pes / (2.0 * (pes - 1.0));
        let rate = crossing_probability(self.reading.pe_rate, pes, counted);
        let path = self.path_probability(counted);
        let mut stages = vec![certain_stage(Layout::PE_INJECT, SOURCE)];
        stages.extend(self.dimensions_descending().map(|dimension| {
            let start = self.link_probabilities(first_of_uniform(dimension));
            let mut given = self.uniform_onward(0.0);
            given.push((SOURCE, start, self.states_after()));
            let given = self.if_blocking(given);
            self.dimension_stage(
                dimension,
                self.link_probabilities(rate),
                self.link_probabilities(path),
                given,
            )
        }));
        stages.push(certain_stage(self.layout.pe_eject(), SOURCE));
        stages
    }

    /// Return the stages on the path of requests and writes: the PE's lane to its router (k), e-cube
    /// links, the lane from the router to the I/O node (m).
    fn request(&self) -> Vec<Stage> {
        let serving = &self.cube.serving;
        let mut stages = vec![certain_stage(Layout::PE_INJECT, SOURCE)];
        stages.extend(self.dimensions_descending().map(|dimension| {
            let (crossing, last) = (serving.crossing[dimension], serving.last[dimension]);
            let way = self.probabilities_toward_io(last, crossing - last);
            let split = |probability: f64| {
                if crossing > 0.0 {
                    let last = probability * last / crossing;
                    self.probabilities_toward_io(last, probability - last)
                } else {
                    NO_LINK
                }
            };
            let given = self.if_blocking(vec![
                (SOURCE, split(self.crosses_first(dimension)), [HOMEWARD; 3]),
                (
                    HOMEWARD,
                    split(self.crosses_later(dimension)),
                    [HOMEWARD; 3],
                ),
            ]);
            self.dimension_stage(dimension, way, way, given)
        }));
        stages.push(certain_stage(self.layout.to_io_node(), SOURCE));
        stages
    }

    /// Return the stages on the path of requests that an I/O node forwards to another: its lane to
    /// the I/O router (r), e-cube in the I/O cube, a lane r. Without an I/O network: a lane to the PE
    /// router (m), e-cube, a lane m.
    fn forward(&self) -> Vec<Stage> {
        if self.cube.has_io_network() {
            let mut stages = vec![certain_stage(Layout::IO_INJECT, SOURCE)];
            stages.extend(self.io_cube());
            stages.push(certain_stage(self.layout.io_eject(), CLASS_ONE_START));
            // Some interpretations of the paper make every message on the I/O links also wait for channels D, for a
            // share of the usual wait.
            if let Some(weight) = self.charged_wait() {
                stages.extend(self.dimensions_descending().map(|dimension| {
                    let given = self.charged_links(weight, dimension);
                    self.dimension_stage(dimension, NO_LINK, NO_LINK, given)
                }));
            }
            return stages;
        }
        let io_nodes = f64::from(self.cube.io_nodes);
        let mut stages = vec![certain_stage(Layout::FROM_IO_NODE, CLASS_ONE_START)];
        stages.extend(self.dimensions_descending().map(|dimension| {
            let ones = self.cube.serving.class_one_ones[dimension];
            let counted = ratio(2.0 * ones * (1.0 - ones) * io_nodes, io_nodes - 1.0);
            self.across_pe_cube(dimension, counted, 0.5f64.powi(dimension as i32))
        }));
        stages.push(certain_stage(self.layout.to_io_node(), SOURCE));
        stages
    }

    /// Return the stages on the path of local replies: the lane from the I/O node to the PE router
    /// (m), e-cube links, the lane to the PE (k).
    fn reply_local(&self) -> Vec<Stage> {
        let mut stages = vec![certain_stage(Layout::FROM_IO_NODE, CLASS_ONE_START)];
        stages.extend(self.dimensions_descending().map(|dimension| {
            let way = self.links_leaving(dimension);
            self.dimension_stage(
                dimension,
                way,
                way,
                self.if_blocking(self.serving_path(dimension)),
            )
        }));
        stages.push(certain_stage(self.layout.pe_eject(), SOURCE));
        stages
    }

    /// Return the stages on the path of remote replies: the I/O node's lane to its I/O router (r),
    /// e-cube in the I/O cube, a lane to the PE router (n), e-cube, the lane to the PE (k). Without an
    /// I/O network: a lane to the PE router (m), e-cube, the lane to the PE (k).
    fn reply_remote(&self) -> Vec<Stage> {
        if self.cube.has_io_network() {
            let mut stages = vec![certain_stage(Layout::IO_INJECT, SOURCE)];
            stages.extend(self.io_cube());
            stages.push(certain_stage(self.layout.io_to_pe(), CLASS_ONE_START));
            stages.extend(self.dimensions_descending().map(|dimension| {
                let way = self.links_leaving(dimension);
                let given = match (self.reading.class_one_wait, self.charged_wait()) {
                    (ClassOneWait::Omitted, _) => Vec::new(),
                    (_, Some(weight)) => self.charged_links(weight, dimension),
                    (_, None) => self.serving_path(dimension),
                };
                self.dimension_stage(dimension, way, way, given)
            }));
            stages.push(certain_stage(self.layout.pe_eject(), SOURCE));
            return stages;
        }
        let io_nodes = f64::from(self.cube.io_nodes);
        let mut stages = vec![certain_stage(Layout::FROM_IO_NODE, CLASS_ONE_START)];
        stages.extend(self.dimensions_descending().map(|dimension| {
            // Exclude the PEs that the I/O node serves itself: replies to them are local, and these are remote.
            let crossing = self.cube.serving.crossing[dimension];
            let counted = ratio(io_nodes / 2.0 - crossing, io_nodes - 1.0);
            self.across_pe_cube(dimension, counted, 0.0)
        }));
        stages.push(certain_stage(self.layout.pe_eject(), SOURCE));
        stages
    }

    /// Return one stage for each dimension of the I/O cube, highest dimension first.
    fn io_cube(&self) -> impl Iterator<Item = Stage> + '_ {
        let nodes = self.cube.io_nodes;
        let io_nodes = f64::from(nodes);
        (0..self.cube.io_dimension() as usize)
            .rev()
            .map(move |dimension| {
                let count_labels_with_bit = count_labels_with_bit(nodes, dimension);
                let counted = 2.0 * count_labels_with_bit * (io_nodes - count_labels_with_bit)
                    / (io_nodes * (io_nodes - 1.0));
                let group = self.layout.io_link(dimension);
                let rate = crossing_probability(self.reading.io_rate, io_nodes, counted);
                let path = self.path_probability(counted);
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

    /// Return the stage of one dimension on a path from a router with an I/O node (class I) across the PE cube, in a
    /// machine without an I/O network. `counted` is the exact probability that a path crosses this dimension. Such a
    /// path ends behind it, at another class I router, with probability `ends`.
    fn across_pe_cube(&self, dimension: usize, counted: f64, ends: f64) -> Stage {
        let above = 0.5f64.powi(self.cube.dimension as i32 - 1 - dimension as i32);
        let split = |crossing: f64| {
            let first = crossing * above;
            let last = (crossing * ends).min(crossing - first);
            let mut links = self.link_probabilities(crossing - first - last);
            links[0] += first;
            links[self.inward_index()] += last;
            links
        };
        let rate = split(crossing_probability(
            self.reading.io_rate,
            f64::from(self.cube.io_nodes),
            counted,
        ));
        let mut given = self.uniform_onward(ends);
        given.push((
            CLASS_ONE_START,
            [first_of_uniform(dimension), 0.0, 0.0],
            self.states_after(),
        ));
        let given = self.if_blocking(given);
        self.dimension_stage(
            dimension,
            rate,
            split(self.path_probability(counted)),
            given,
        )
    }

    /// Return the transitions in one dimension for uniform traffic that has crossed a higher dimension. From a router
    /// with an I/O node (class I) a message leaves through a channel D. From another router (class II) it reaches class
    /// I routers in proportion to their number.
    fn uniform_onward(&self, ends: f64) -> Transitions {
        let [_, entering, ordinary] = self.shares;
        let to_class_one = if entering > 0.0 {
            ends + (1.0 - ends) * entering / (entering + ordinary)
        } else {
            0.0
        };
        vec![
            (CLASS_ONE, [0.5, 0.0, 0.0], self.states_after()),
            (
                CLASS_TWO,
                [0.0, 0.5 * to_class_one, 0.5 * (1.0 - to_class_one)],
                self.states_after(),
            ),
        ]
    }

    /// Return the states of uniform traffic after a link from a router with an I/O node (D), after a
    /// link to one (A), and after another link.
    fn states_after(&self) -> [usize; 3] {
        let all_class_one = self.shares[0] > 1.0 - 1e-12;
        let behind = if all_class_one { CLASS_ONE } else { CLASS_TWO };
        [behind, CLASS_ONE, CLASS_TWO]
    }

    /// Return the transitions of one dimension on the path from the router of an I/O node to a PE
    /// that this I/O node serves.
    fn serving_path(&self, dimension: usize) -> Transitions {
        vec![
            (
                CLASS_ONE_START,
                [self.crosses_first(dimension), 0.0, 0.0],
                [HOMEWARD; 3],
            ),
            (
                HOMEWARD,
                self.ordinary_links(self.crosses_later(dimension)),
                [HOMEWARD; 3],
            ),
        ]
    }

    /// Return the transitions in one dimension by which a message waits for a channel D. Over all dimensions the
    /// probability of a wait is `weight`; the dimensions share it in proportion to the replies.
    fn charged_links(&self, weight: f64, dimension: usize) -> Transitions {
        let above: f64 = (dimension + 1..self.cube.dimension as usize)
            .map(|higher| self.share_of_replies(higher))
            .sum();
        let left = 1.0 - weight * above;
        let here = ratio(weight * self.share_of_replies(dimension), left).min(1.0);
        vec![(CLASS_ONE_START, [here, 0.0, 0.0], [HOMEWARD; 3])]
    }

    /// Return the transitions `given` if this interpretation of the paper includes blocking inside the PE cube;
    /// otherwise none.
    fn if_blocking(&self, given: Transitions) -> Transitions {
        if self.reading.pe_blocking {
            given
        } else {
            Vec::new()
        }
    }

    /// Return the dimensions of the PE cube, highest first.
    fn dimensions_descending(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.cube.dimension as usize).rev()
    }

    /// Return the probability that a path crosses a dimension, from which the path length is computed. Depending on the
    /// interpretation of the paper it is 1/2 or `counted`, the exact probability.
    fn path_probability(&self, counted: f64) -> f64 {
        match self.reading.path_length {
            PathLength::Printed => 0.5,
            PathLength::Exact => counted,
        }
    }

    /// Return for each kind of link the probability that a path uses a link of this kind in one dimension, which the
    /// path crosses with probability `crossing`. The kinds share this probability by their numbers of links.
    fn link_probabilities(&self, crossing: f64) -> Links {
        self.shares.map(|share| share * crossing)
    }

    /// Return the probability `crossing` as that of links between routers without I/O nodes (class II). If no such
    /// links exist, divide it among all kinds of links.
    fn ordinary_links(&self, crossing: f64) -> Links {
        if self.shares[2] > 1e-12 {
            [0.0, 0.0, crossing.max(0.0)]
        } else {
            self.link_probabilities(crossing.max(0.0))
        }
    }

    /// Return the probability of each kind of link for a step of a path in one dimension. The step
    /// ends the path, at a router with an I/O node (class I), with probability `last`; otherwise it
    /// crosses any link, with probability `others`.
    fn probabilities_toward_io(&self, last: f64, others: f64) -> Links {
        let mut links = self.ordinary_links(others);
        links[self.inward_index()] += last;
        links
    }

    /// Return the index in [`Links`] of the links into routers with I/O nodes (class I): that of
    /// channels D if all routers have I/O nodes.
    fn inward_index(&self) -> usize {
        usize::from(self.shares[1] > 1e-12)
    }

    /// Return the probabilities of the links of a dimension on paths from the router of an I/O node
    /// to the PEs that this I/O node serves.
    fn links_leaving(&self, dimension: usize) -> Links {
        let serving = &self.cube.serving;
        let first = serving.first[dimension];
        let mut links = self.ordinary_links(serving.crossing[dimension] - first);
        links[0] += first;
        links
    }

    /// Return the probability that a path between a PE and its I/O node crosses this dimension if
    /// it crosses no higher dimension.
    fn crosses_first(&self, dimension: usize) -> f64 {
        let first = &self.cube.serving.first;
        let above: f64 = first[dimension + 1..].iter().sum();
        ratio(first[dimension], 1.0 - above).min(1.0)
    }

    /// Return the probability that a path between a PE and its I/O node crosses this dimension, given that it crosses a
    /// higher one. Return 0 if no path does.
    fn crosses_later(&self, dimension: usize) -> f64 {
        let serving = &self.cube.serving;
        let above: f64 = serving.first[dimension + 1..].iter().sum();
        let later = serving.crossing[dimension] - serving.first[dimension];
        ratio(later, above).clamp(0.0, 1.0)
    }

    /// Return the share of the replies whose first link is in this dimension.
    fn share_of_replies(&self, dimension: usize) -> f64 {
        let first = &self.cube.serving.first;
        let all: f64 = first.iter().sum();
        ratio(first[dimension], all)
    }

    /// Return the factor of the wait for channels D that is added to the time of every message on the I/O links; `None`
    /// if this reading of the paper adds none.
    fn charged_wait(&self) -> Option<f64> {
        match self.reading.class_one_wait {
            ClassOneWait::Half => Some(0.5),
            ClassOneWait::Full => Some(1.0),
            ClassOneWait::Omitted | ClassOneWait::ByPath => None,
        }
    }

    /// Return the stage with the links of one dimension. If a kind of link is visited several times, the first visit
    /// gets all of `rate` and `path`; [`apportion`] then divides them among the visits.
    fn dimension_stage(
        &self,
        dimension: usize,
        rate: Links,
        path: Links,
        given: Transitions,
    ) -> Stage {
        let group = self.layout.links(dimension);
        let mut visits = Vec::new();
        for kind in 0..3 {
            let mut alternatives: Vec<(f64, Option<usize>, usize)> = (given.iter())
                .filter(|(_, links, _)| links[kind] > 0.0)
                .map(|(from, links, to)| (links[kind], Some(*from), to[kind]))
                .collect();
            if alternatives.is_empty() && (rate[kind] > 0.0 || path[kind] > 0.0) {
                alternatives.push((0.0, None, SOURCE));
            }
            for (number, (given, from, to)) in alternatives.into_iter().enumerate() {
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

/// Return the probability that uniform traffic to another node crosses this dimension if it crosses
/// no higher dimension: 2^i of the remaining 2^(i+1) - 1 nodes are beyond it.
fn first_of_uniform(dimension: usize) -> f64 {
    let nodes = 2f64.powi(dimension as i32);
    nodes / (2.0 * nodes - 1.0)
}

/// Return the probability that uniform traffic crosses a dimension, for this interpretation of the paper.
fn crossing_probability(reading: Uniform, nodes: f64, counted: f64) -> f64 {
    match reading {
        _ if nodes <= 1.0 => 0.0,
        Uniform::Half => 0.5,
        Uniform::HalfMoving => 0.5 * (nodes - 1.0) / nodes,
        Uniform::OtherNodes => 0.5 * nodes / (nodes - 1.0),
        Uniform::Counted => counted,
    }
}

/// Return the stage for a group of channels that every message crosses once. Afterwards the messages are in state `to`.
fn certain_stage(group: usize, to: usize) -> Stage {
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
