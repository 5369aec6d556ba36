//! The queueing model on the routes of one machine, channel by channel.

use isthmus_analytic::Error;
use isthmus_analytic::hypercube_io::HypercubeIo;
use isthmus_analytic::path::MessageClass;
use isthmus_analytic::worms::{HeaderLatency, Network, Role, Start, Step};
use isthmus_machine::hypercube::{ChannelKind, Machine};
use std::collections::HashMap;

/// Most pairs of a PE and an I/O node whose routes are walked; larger machines are averaged over.
const PAIRS_MAX: u64 = 1 << 14;
/// Largest cube whose links are told apart.
const DIMENSION_MAX: u32 = 10;

// Kinds of length, by their position in the network's list.
const MESSAGE: usize = 0;
const REQUEST: usize = 1;
const REPLY: usize = 2;
const WRITE: usize = 3;

/// Relative precision of a saturation load.
const PRECISION: f64 = 1e-4;
/// Part of the saturation load at which channels are compared.
const NEARLY: f64 = 0.999;

/// Kinds of channel that have the same number of lanes.
const WIDTHS: [&[ChannelKind]; 6] = [
    &[ChannelKind::PeInject, ChannelKind::PeEject],
    &[ChannelKind::Link],
    &[ChannelKind::IoNodeIn, ChannelKind::IoNodeOut],
    &[ChannelKind::IoInject, ChannelKind::IoEject],
    &[ChannelKind::IoLink],
    &[ChannelKind::IoToPe],
];

/// The load in messages per cycle and PE that fills the machine, and the part that limits it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Limit {
    pub load: f64,
    pub part: String,
}

/// A machine's routes with what goes on them.
pub(super) struct Routes<'a> {
    machine: &'a Machine,
    network: Network,
}

impl<'a> Routes<'a> {
    /// The routes of `machine` under the traffic of `model`; none for machines too large to walk.
    pub fn new(machine: &'a Machine, model: &HypercubeIo) -> Result<Option<Self>, Error> {
        let pairs = u64::from(machine.cube().node_count()) * u64::from(model.io_nodes);
        if machine.cube().dimension() > DIMENSION_MAX || pairs > PAIRS_MAX {
            return Ok(None);
        }
        let mut walked = Walked::default();
        walked.messages(machine, model);
        walked.demands(machine, model);
        let traffic = &model.traffic;
        let lengths = vec![
            traffic.message,
            traffic.request,
            traffic.reply,
            traffic.write,
        ];
        let lanes = machine.layout().all_lanes().collect();
        let network = Network::new(lanes, lengths, walked.steps, walked.starts)?;
        Ok(Some(Self { machine, network }))
    }

    /// Mean header latencies by class, when each PE sends `rate` messages per cycle.
    pub fn headers(&self, rate: f64) -> Vec<HeaderLatency> {
        let solved = self.network.solve(rate);
        self.network.headers(&solved, MessageClass::ALL.len())
    }

    /// The load that fills the machine; the part that limits it is the kind of channel of which
    /// twice as many lanes would leave most room at that load (compare [`HypercubeIo::limit`]).
    pub fn limit(&self) -> Option<Limit> {
        let load = self.network.saturation(PRECISION)?;
        let solved = self.network.solve(NEARLY * load);
        let mut best: Option<(f64, String)> = None;
        for kinds in WIDTHS {
            let Some((kind, channel)) = self.most_held(kinds, &solved.utilisation) else {
                continue;
            };
            let wider = self.network.with_lanes(self.doubled(kinds));
            let held = wider.solve(load).utilisation;
            let fullest = held.iter().fold(0.0, |most, &held| {
                if held.is_nan() {
                    f64::INFINITY
                } else {
                    held.max(most)
                }
            });
            if best.as_ref().is_none_or(|(least, _)| fullest < *least) {
                best = Some((fullest, self.name(kind, channel)));
            }
        }
        best.map(|(_, part)| Limit { load, part })
    }

    fn most_held(&self, kinds: &[ChannelKind], held: &[f64]) -> Option<(ChannelKind, u32)> {
        let layout = self.machine.layout();
        let channels = kinds
            .iter()
            .flat_map(|&kind| layout.of_kind(kind).map(move |channel| (kind, channel)));
        channels
            .filter(|&(_, channel)| held[channel as usize] > 0.0)
            .max_by(|a, b| held[a.1 as usize].total_cmp(&held[b.1 as usize]))
    }

    fn doubled(&self, kinds: &[ChannelKind]) -> Vec<u32> {
        let mut lanes = self.network.lanes().to_vec();
        for &kind in kinds {
            for channel in self.machine.layout().of_kind(kind) {
                lanes[channel as usize] *= 2;
            }
        }
        lanes
    }

    /// A kind of channel, and the dimension that it crosses.
    fn name(&self, kind: ChannelKind, channel: u32) -> String {
        let layout = self.machine.layout();
        let index = (channel - layout.of_kind(kind).start) as usize;
        match kind {
            ChannelKind::PeInject => "PE to router".to_owned(),
            ChannelKind::PeEject => "router to PE".to_owned(),
            ChannelKind::Link => {
                format!(
                    "link, dimension {}",
                    self.machine.cube().hop(index).dimension
                )
            }
            ChannelKind::IoNodeIn => "router to I/O node".to_owned(),
            ChannelKind::IoNodeOut => "I/O node to router".to_owned(),
            ChannelKind::IoInject => "I/O node to I/O router".to_owned(),
            ChannelKind::IoEject => "I/O router to I/O node".to_owned(),
            ChannelKind::IoLink => {
                let dimension = self.machine.io_cube().hop(index).dimension;
                format!("I/O link, dimension {dimension}")
            }
            ChannelKind::IoToPe => "I/O router to router".to_owned(),
        }
    }
}

#[derive(Default)]
struct Walked {
    steps: Vec<Step>,
    starts: Vec<Start>,
    /// Of paths, by channel, length and the step after it: from there on ways that meet are one.
    ahead: HashMap<(u32, usize, Option<u32>), u32>,
}

impl Walked {
    /// Messages between PEs. Once a message has crossed a dimension, it crosses each lower one with
    /// probability 1/2, so that one step for each channel is enough.
    fn messages(&mut self, machine: &Machine, model: &HypercubeIo) {
        let rate = 1.0 - model.traffic.io_probability;
        if rate <= 0.0 {
            return;
        }
        let (cube, layout) = (machine.cube(), machine.layout());
        let (pes, dimension) = (cube.node_count(), cube.dimension());
        let add = |steps: &mut Vec<Step>, channel, next| {
            steps.push(Step {
                channel,
                length: MESSAGE,
                next,
            });
            (steps.len() - 1) as u32
        };
        let eject: Vec<u32> = (0..pes)
            .map(|pe| {
                let channel = layout.channel(ChannelKind::PeEject, pe);
                add(&mut self.steps, channel, Vec::new())
            })
            .collect();
        // By dimension, lowest first, then PE: the link that leaves it.
        let mut links: Vec<Vec<u32>> = Vec::new();
        for crossed in 0..dimension {
            let across = (0..pes)
                .map(|pe| {
                    let to = pe ^ (1 << crossed);
                    let mut next: Vec<(f64, u32)> = (0..crossed)
                        .map(|lower| {
                            let probability = 0.5f64.powi((crossed - lower) as i32);
                            (probability, links[lower as usize][to as usize])
                        })
                        .collect();
                    next.push((0.5f64.powi(crossed as i32), eject[to as usize]));
                    let link = cube.link(pe, crossed) as u32;
                    add(
                        &mut self.steps,
                        layout.channel(ChannelKind::Link, link),
                        next,
                    )
                })
                .collect();
            links.push(across);
        }
        let others = f64::from(pes - 1);
        for pe in 0..pes {
            let next = (0..dimension)
                .map(|first| {
                    let probability = f64::from(1u32 << first) / others;
                    (probability, links[first as usize][pe as usize])
                })
                .collect();
            let channel = layout.channel(ChannelKind::PeInject, pe);
            let step = add(&mut self.steps, channel, next);
            self.starts.push(Start {
                class: MessageClass::PePe as usize,
                step,
                rate,
                role: Role::Alone,
            });
        }
    }

    /// Requests, writes, forwards and replies on the machine's own paths.
    fn demands(&mut self, machine: &Machine, model: &HypercubeIo) {
        let traffic = &model.traffic;
        let io_nodes = machine.placement().io_node_count();
        let reads = traffic.io_probability * traffic.read_ratio;
        let writes = traffic.io_probability - reads;
        let local = reads * traffic.replies_per_read * traffic.locality;
        let remote = if io_nodes > 1 {
            reads * traffic.replies_per_read * (1.0 - traffic.locality) / f64::from(io_nodes - 1)
        } else {
            0.0
        };
        let mut path = Vec::new();
        for pe in machine.cube().nodes() {
            let asked = machine.asks(pe);
            machine.path_ask(pe, asked, &mut path);
            self.walk((MessageClass::Request, Role::Alone), reads, REQUEST, &path);
            self.walk((MessageClass::Write, Role::Alone), writes, WRITE, &path);
            path.clear();
            machine.path_reply(asked, asked, pe, &mut path);
            self.walk((MessageClass::ReplyLocal, Role::Alone), local, REPLY, &path);
            path.clear();
            for from in (0..io_nodes).filter(|&from| from != asked && remote > 0.0) {
                machine.path_reply(from, asked, pe, &mut path);
                self.walk(
                    (MessageClass::ReplyRemote, Role::Answers(asked)),
                    remote,
                    REPLY,
                    &path,
                );
                path.clear();
            }
        }
        for asked in (0..io_nodes).filter(|_| remote > 0.0) {
            let rate = remote * machine.clients(asked).len() as f64;
            for to in (0..io_nodes).filter(|&to| to != asked) {
                machine.path_forward(asked, to, &mut path);
                self.walk(
                    (MessageClass::Forward, Role::Requests(asked)),
                    rate,
                    REQUEST,
                    &path,
                );
                path.clear();
            }
        }
    }

    fn walk(
        &mut self,
        (class, role): (MessageClass, Role),
        rate: f64,
        length: usize,
        path: &[u32],
    ) {
        if rate <= 0.0 {
            return;
        }
        let mut next = None;
        for &channel in path.iter().rev() {
            let steps = &mut self.steps;
            let step = self
                .ahead
                .entry((channel, length, next))
                .or_insert_with(|| {
                    steps.push(Step {
                        channel,
                        length,
                        next: next.map(|step| (1.0, step)).into_iter().collect(),
                    });
                    (steps.len() - 1) as u32
                });
            next = Some(*step);
        }
        if let Some(step) = next {
            self.starts.push(Start {
                class: class as usize,
                step,
                rate,
                role,
            });
        }
    }
}
