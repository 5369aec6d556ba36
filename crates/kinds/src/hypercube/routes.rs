//! Queueing model of a hypercube that treats each channel by itself, on the routes of the machine.

use isthmus_analytic::Error;
use isthmus_analytic::hypercube_io::HypercubeIo;
use isthmus_analytic::path::MessageClass;
use isthmus_analytic::worms::{HeaderLatency, Network, Role, Start, Step};
use isthmus_machine::hypercube::{ChannelKind, Machine};
use std::collections::HashMap;

/// Maximum number of pairs of a PE and an I/O node for which routes are followed; above it the model uses averages.
const PAIRS_MAX: u64 = 1 << 14;
/// Maximum dimension of a hypercube for which the model treats each link by itself.
const DIMENSION_MAX: u32 = 10;

/// Index of PE-PE messages in the list of message lengths.
const MESSAGE: usize = 0;
/// Index of requests of PEs to I/O nodes in the list of message lengths.
const REQUEST: usize = 1;
/// Index of replies of I/O nodes in the list of message lengths.
const REPLY: usize = 2;
/// Index of writes in the list of message lengths.
const WRITE: usize = 3;

/// Relative precision to which the saturation load is computed.
const PRECISION: f64 = 1e-4;
/// Load at which the utilisation of channels is compared to find the bottleneck, as a fraction of the saturation load.
const COMPARISON_LOAD: f64 = 0.999;

/// Groups of kinds of channel that have the same number of lanes.
const WIDTHS: [&[ChannelKind]; 6] = [
    &[ChannelKind::PeInject, ChannelKind::PeEject],
    &[ChannelKind::Link],
    &[ChannelKind::IoNodeIn, ChannelKind::IoNodeOut],
    &[ChannelKind::IoInject, ChannelKind::IoEject],
    &[ChannelKind::IoLink],
    &[ChannelKind::IoToPe],
];

/// Saturation load of a machine, and the part that limits this load.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Limit {
    /// Saturation load in messages per cycle and PE.
    pub load: f64,
    /// Name of the bottleneck in words.
    pub part: String,
}

/// The routes of a hypercube with the traffic on them, as a network of the queueing model.
pub(super) struct Routes<'a> {
    machine: &'a Machine,
    network: Network,
}

impl<'a> Routes<'a> {
    /// Return the routes of `machine` under the traffic of `model`, or `None` if the machine is too large.
    pub fn new(machine: &'a Machine, model: &HypercubeIo) -> Result<Option<Self>, Error> {
        let pairs = u64::from(machine.cube().node_count()) * u64::from(model.io_nodes);
        if machine.cube().dimension() > DIMENSION_MAX || pairs > PAIRS_MAX {
            return Ok(None);
        }
        let mut walked = RouteTable::default();
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

    /// Return the mean header latency of each message class, in cycles, if each PE sends `rate` messages per cycle.
    pub fn headers(&self, rate: f64) -> Vec<HeaderLatency> {
        let solved = self.network.solve(rate);
        self.network.headers(&solved, MessageClass::ALL.len())
    }

    /// Return the saturation load and the bottleneck. The bottleneck is the kind of channel whose number of lanes, if
    /// doubled, reduces the highest utilisation at that load most (compare [`HypercubeIo::limit`]).
    pub fn limit(&self) -> Option<Limit> {
        let load = self.network.saturation(PRECISION)?;
        let solved = self.network.solve(COMPARISON_LOAD * load);
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

    /// Return the channel of these kinds with the highest utilisation, if any of these channels carries traffic.
    fn most_held(&self, kinds: &[ChannelKind], held: &[f64]) -> Option<(ChannelKind, u32)> {
        let layout = self.machine.layout();
        let channels = kinds
            .iter()
            .flat_map(|&kind| layout.of_kind(kind).map(move |channel| (kind, channel)));
        channels
            .filter(|&(_, channel)| held[channel as usize] > 0.0)
            .max_by(|a, b| held[a.1 as usize].total_cmp(&held[b.1 as usize]))
    }

    /// Return the number of lanes of every channel, with twice the lanes for channels of these kinds.
    fn doubled(&self, kinds: &[ChannelKind]) -> Vec<u32> {
        let mut lanes = self.network.lanes().to_vec();
        for &kind in kinds {
            for channel in self.machine.layout().of_kind(kind) {
                lanes[channel as usize] *= 2;
            }
        }
        lanes
    }

    /// Return words for a channel: its kind and, for a link, its dimension.
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

/// Routes that have been added to the queueing model so far, each as a start and a sequence of steps over channels.
#[derive(Default)]
struct RouteTable {
    steps: Vec<Step>,
    starts: Vec<Start>,
    /// Steps by channel, length and next step, so that routes with a common end share its steps.
    known_steps: HashMap<(u32, usize, Option<u32>), u32>,
}

impl RouteTable {
    /// Add the messages between PEs to the queueing model. After a message has crossed a dimension, it crosses each
    /// lower one with probability 1/2, so one step for each channel is enough.
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
        // Steps of the queueing model over the link out of each PE: links[dimension][PE], lowest dimension first.
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

    /// Add to the queueing model the messages of I/O demands (requests, writes, forwards and replies) on the paths of
    /// the machine.
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
            let own = machine.io_node_of_pe(pe);
            machine.path_ask(pe, own, &mut path);
            self.walk((MessageClass::Request, Role::Alone), reads, REQUEST, &path);
            self.walk((MessageClass::Write, Role::Alone), writes, WRITE, &path);
            path.clear();
            machine.path_reply(own, own, pe, &mut path);
            self.walk((MessageClass::ReplyLocal, Role::Alone), local, REPLY, &path);
            path.clear();
            for from in (0..io_nodes).filter(|&from| from != own && remote > 0.0) {
                machine.path_reply(from, own, pe, &mut path);
                self.walk(
                    (MessageClass::ReplyRemote, Role::Answers(own)),
                    remote,
                    REPLY,
                    &path,
                );
                path.clear();
            }
        }
        for forwarder in (0..io_nodes).filter(|_| remote > 0.0) {
            let rate = remote * machine.clients(forwarder).len() as f64;
            for to in (0..io_nodes).filter(|&to| to != forwarder) {
                machine.path_forward(forwarder, to, &mut path);
                self.walk(
                    (MessageClass::Forward, Role::Requests(forwarder)),
                    rate,
                    REQUEST,
                    &path,
                );
                path.clear();
            }
        }
    }

    /// Add to the queueing model a path over channels, with the rate of the messages that take it.
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
                .known_steps
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
