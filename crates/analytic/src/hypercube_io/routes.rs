//! The stages that each message class crosses, and with which probability.

use super::channel::{Layout, io_links, link_shares, ones};
use super::input::HypercubeIo;
use super::reading::{ClassOneWait, PathLength, Reading, Uniform};
use crate::path::MessageClass;
use crate::staged::{Message, Stage, Visit};

const SOURCE: u32 = 0;
const IO_CUBE: u32 = 1;
const CROSS_OVER: u32 = 2;
const PE_CUBE: u32 = 3;
const SINK: u32 = 4;

/// Probabilities of D, A and ordinary links in one stage of the PE cube.
type Links = [f64; 3];
const NO_LINK: Links = [0.0; 3];

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
            let (rate, length, stages) = match class {
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
            self.links(
                dimension,
                self.passing(rate),
                self.passing(path),
                self.passing(0.5),
                self.passing(path),
            )
        }));
        stages.push(certain(self.layout.pe_eject(), SINK));
        stages
    }

    /// k, e-cube to the own class I PE, m; the way of writes, too.
    fn request(&self) -> Vec<Stage> {
        let serving = &self.cube.serving;
        let mut stages = vec![certain(Layout::PE_INJECT, SOURCE)];
        stages.extend(self.descending().map(|dimension| {
            let (crossing, last) = (serving.crossing[dimension], serving.last[dimension]);
            let way = self.entering(last, crossing - last);
            let again = self.again(dimension);
            let within = if crossing > 0.0 {
                self.entering(again * last / crossing, again * (1.0 - last / crossing))
            } else {
                NO_LINK
            };
            self.links(dimension, way, way, within, way)
        }));
        stages.push(certain(self.layout.to_io_node(), SINK));
        stages
    }

    /// r, I/O e-cube, r; in the control cube m, e-cube, m.
    fn forward(&self) -> Vec<Stage> {
        if self.cube.has_io_network() {
            let mut stages = vec![certain(Layout::IO_INJECT, SOURCE)];
            stages.extend(self.io_cube());
            stages.push(certain(self.layout.io_eject(), SINK));
            // Where a reading charges the I/O links with the wait for D whatever the message.
            if let Some(weight) = self.charged_wait() {
                stages.extend(self.descending().map(|dimension| {
                    let beyond = [weight * self.share_of_replies(dimension), 0.0, 0.0];
                    self.links(dimension, NO_LINK, NO_LINK, NO_LINK, beyond)
                }));
            }
            return stages;
        }
        let io_nodes = f64::from(self.cube.io_nodes);
        let mut stages = vec![certain(Layout::FROM_IO_NODE, SOURCE)];
        stages.extend(self.descending().map(|dimension| {
            let ones = self.cube.serving.class_one_ones[dimension];
            let counted = if io_nodes > 1.0 {
                2.0 * ones * (1.0 - ones) * io_nodes / (io_nodes - 1.0)
            } else {
                0.0
            };
            let split = |crossing: f64| {
                let first = crossing * self.none_above(dimension);
                let last = (crossing * none_below(dimension)).min(crossing - first);
                let mut links = self.passing(crossing - first - last);
                links[0] += first;
                links[1] += last;
                links
            };
            let rate = split(uniform(self.reading.io_rate, io_nodes, counted));
            let path = split(self.path(counted));
            let last = 0.5 * none_below(dimension);
            let mut within = self.passing(0.5 - last);
            within[1] += last;
            self.links(dimension, rate, path, within, path)
        }));
        stages.push(certain(self.layout.to_io_node(), SINK));
        stages
    }

    /// m, D links, k.
    fn reply_local(&self) -> Vec<Stage> {
        let mut stages = vec![certain(Layout::FROM_IO_NODE, SOURCE)];
        stages.extend(self.descending().map(|dimension| {
            let way = self.leaving(dimension);
            self.links(dimension, way, way, self.leaving_within(dimension), way)
        }));
        stages.push(certain(self.layout.pe_eject(), SINK));
        stages
    }

    /// r, I/O e-cube, n, e-cube, k; in the control cube m, e-cube to the requester, k.
    fn reply_remote(&self) -> Vec<Stage> {
        if self.cube.has_io_network() {
            let mut stages = vec![certain(Layout::IO_INJECT, SOURCE)];
            stages.extend(self.io_cube());
            stages.push(certain(self.layout.io_to_pe(), CROSS_OVER));
            stages.extend(self.descending().map(|dimension| {
                let way = self.leaving(dimension);
                let beyond = match (self.reading.class_one_wait, self.charged_wait()) {
                    (ClassOneWait::Omitted, _) => NO_LINK,
                    (_, Some(weight)) => [weight * self.share_of_replies(dimension), 0.0, 0.0],
                    (_, None) => way,
                };
                self.links(dimension, way, way, self.leaving_within(dimension), beyond)
            }));
            stages.push(certain(self.layout.pe_eject(), SINK));
            return stages;
        }
        let io_nodes = f64::from(self.cube.io_nodes);
        let mut stages = vec![certain(Layout::FROM_IO_NODE, SOURCE)];
        stages.extend(self.descending().map(|dimension| {
            // Pairs of a class I PE and a PE that another one serves.
            let counted = if io_nodes > 1.0 {
                (io_nodes / 2.0 - self.cube.serving.crossing[dimension]) / (io_nodes - 1.0)
            } else {
                0.0
            };
            let split = |crossing: f64| {
                let first = crossing * self.none_above(dimension);
                let mut links = self.passing(crossing - first);
                links[0] += first;
                links
            };
            let rate = split(uniform(self.reading.io_rate, io_nodes, counted));
            let path = split(self.path(counted));
            self.links(dimension, rate, path, self.passing(0.5), path)
        }));
        stages.push(certain(self.layout.pe_eject(), SINK));
        stages
    }

    fn io_cube(&self) -> impl Iterator<Item = Stage> + '_ {
        let io_nodes = f64::from(self.cube.io_nodes);
        (0..self.cube.io_dimension() as usize)
            .rev()
            .map(move |dimension| {
                let ones = ones(self.cube.io_nodes, dimension);
                let counted = 2.0 * ones * (io_nodes - ones) / (io_nodes * (io_nodes - 1.0));
                let path = self.path(counted);
                debug_assert!(io_links(self.cube.io_nodes, dimension) > 0.0);
                let group = self.layout.io_link(dimension);
                Stage {
                    segment: IO_CUBE,
                    port: group as u32,
                    visits: vec![Visit {
                        group,
                        rate: uniform(self.reading.io_rate, io_nodes, counted),
                        path,
                        within: 0.5,
                        beyond: path,
                    }],
                }
            })
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
        links[if self.shares[1] > 1e-12 { 1 } else { 0 }] += last;
        links
    }

    fn leaving(&self, dimension: usize) -> Links {
        let serving = &self.cube.serving;
        let first = serving.first[dimension];
        let mut links = self.ordinary(serving.crossing[dimension] - first);
        links[0] += first;
        links
    }

    fn leaving_within(&self, dimension: usize) -> Links {
        self.ordinary(self.again(dimension))
    }

    /// Probability that a way between PE and I/O node which crosses a higher dimension crosses this
    /// one, too; zero where all ways have length one.
    fn again(&self, dimension: usize) -> f64 {
        let serving = &self.cube.serving;
        let above: f64 = serving.first[dimension + 1..].iter().sum();
        if above > 0.0 {
            ((serving.crossing[dimension] - serving.first[dimension]) / above).clamp(0.0, 1.0)
        } else {
            0.0
        }
    }

    /// Share of the replies' first links that cross this dimension.
    fn share_of_replies(&self, dimension: usize) -> f64 {
        let first = &self.cube.serving.first;
        let all: f64 = first.iter().sum();
        if all > 0.0 {
            first[dimension] / all
        } else {
            0.0
        }
    }

    fn charged_wait(&self) -> Option<f64> {
        match self.reading.class_one_wait {
            ClassOneWait::Half => Some(0.5),
            ClassOneWait::Full => Some(1.0),
            ClassOneWait::Omitted | ClassOneWait::ByPath => None,
        }
    }

    /// Probability that uniform traffic which crosses this dimension crosses none above it.
    fn none_above(&self, dimension: usize) -> f64 {
        0.5f64.powi(self.cube.dimension as i32 - 1 - dimension as i32)
    }

    fn links(
        &self,
        dimension: usize,
        rate: Links,
        path: Links,
        within: Links,
        beyond: Links,
    ) -> Stage {
        let group = self.layout.links(dimension);
        let within = if self.reading.pe_blocking {
            within
        } else {
            NO_LINK
        };
        Stage {
            segment: PE_CUBE,
            port: group as u32,
            visits: (0..3)
                .map(|kind| Visit {
                    group: group + kind,
                    rate: rate[kind],
                    path: path[kind],
                    within: within[kind],
                    beyond: beyond[kind],
                })
                .collect(),
        }
    }
}

/// Probability that uniform traffic which crosses `dimension` crosses none below it.
fn none_below(dimension: usize) -> f64 {
    0.5f64.powi(dimension as i32)
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

fn certain(group: usize, segment: u32) -> Stage {
    Stage {
        segment,
        port: group as u32,
        visits: vec![Visit {
            group,
            rate: 1.0,
            path: 1.0,
            within: 1.0,
            beyond: 1.0,
        }],
    }
}
