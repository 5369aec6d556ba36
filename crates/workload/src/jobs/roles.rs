//! Roles of the nodes of a job by its kind of traffic: members of a collective operation, or
//! independent clients.

use crate::jobs::client::{ArrivalProcess, ticks};
use crate::jobs::collective::Plan;
use crate::jobs::partners::partners;
use crate::jobs::spec::{Arrivals, Destinations, Io, Sizes, Targets, Traffic};
use isthmus_units::Time;

/// The client processes of a job: the node of each, and the settings of their messages.
pub(super) struct Clients {
    pub(super) asking: ArrivalProcess,
    pub(super) sizes: Sizes,
    pub(super) read_ratio: f64,
    /// Length of the last message of a burst in bytes; the other messages have the full size.
    pub(super) tail: u64,
    /// Nodes to which messages of clients without a fixed partner are sent.
    pub(super) targets: Vec<u32>,
    /// Number of the node of each client process, with the client's fixed partner if it has one.
    pub(super) nodes: Vec<(u32, Option<u32>)>,
}

/// Return the steps of a collective operation among `ranks` ranks, and the pause between its rounds; `None` if the
/// traffic is no collective operation.
pub(super) fn plan(traffic: &Traffic, ranks: u32) -> Option<(Plan, Time)> {
    match traffic {
        Traffic::AllToAll { message, pause } => {
            let bytes = message.get();
            Some((Plan::AllToAll { ranks, bytes }, *pause))
        }
        Traffic::AllReduce {
            vector,
            algorithm,
            pause,
        } => Some((Plan::all_reduce(*algorithm, ranks, vector.get()), *pause)),
        Traffic::Neighbours {
            grid,
            wrap,
            message,
            pause,
        } => Some((Plan::neighbours(grid, *wrap, message.get()), *pause)),
        Traffic::Listed {
            messages, pause, ..
        } => Some((Plan::listed(messages, ranks), *pause)),
        Traffic::Uniform { .. }
        | Traffic::Shift { .. }
        | Traffic::Checkpoint { .. }
        | Traffic::Io(_)
        | Traffic::Ping { .. } => None,
    }
}

/// Return the processor time that each message of a collective operation takes at its sender; zero unless messages are
/// listed.
pub(super) fn overhead(traffic: &Traffic) -> Time {
    match traffic {
        Traffic::Listed { overhead, .. } => *overhead,
        _ => Time::ZERO,
    }
}

/// Return the processes that send the messages of a job. The traffic must not be a collective operation.
pub(super) fn clients(traffic: &Traffic, nodes: &[u32], servers: &[u32], tick: Time) -> Clients {
    let writes = |asking, sizes| Clients {
        asking,
        sizes,
        read_ratio: 0.0,
        tail: 0,
        targets: Vec::new(),
        nodes: nodes.iter().map(|&node| (node, None)).collect(),
    };
    match traffic {
        Traffic::Uniform { sizes, arrivals } => Clients {
            targets: nodes.to_vec(),
            ..writes(ArrivalProcess::new(*arrivals, *sizes, tick), *sizes)
        },
        Traffic::Shift {
            offset,
            sizes,
            arrivals,
        } => {
            let ahead = *offset as usize % nodes.len();
            let partners = nodes.iter().cycle().skip(ahead).copied().map(Some);
            Clients {
                nodes: nodes.iter().copied().zip(partners).collect(),
                ..writes(ArrivalProcess::new(*arrivals, *sizes, tick), *sizes)
            }
        }
        Traffic::Checkpoint {
            period,
            volume,
            message,
            destinations,
        } => {
            let messages = volume.get().div_ceil(message.get());
            let bursts = ArrivalProcess::Bursts {
                period: ticks(*period, tick),
                messages,
            };
            Clients {
                tail: volume.get() - (messages - 1) * message.get(),
                ..writes(bursts, Sizes::fixed(*message)).with_servers(*destinations, servers)
            }
        }
        Traffic::Io(Io {
            targets,
            read_ratio,
            sizes,
            arrivals,
        }) => {
            let mut clients = Clients {
                read_ratio: *read_ratio,
                ..writes(ArrivalProcess::new(*arrivals, *sizes, tick), *sizes)
            };
            match *targets {
                Targets::Servers(destinations) => clients.with_servers(destinations, servers),
                Targets::HotNode(hot) => {
                    clients.nodes.retain(|&(node, _)| node != hot);
                    for (_, partner) in &mut clients.nodes {
                        *partner = Some(hot);
                    }
                    clients
                }
            }
        }
        Traffic::Ping {
            message,
            both_ways,
            pause,
        } => {
            let (pauses, sizes) = (Arrivals::equal_pauses(*pause), Sizes::fixed(*message));
            let pairs = nodes.as_chunks::<2>().0.iter();
            let there = pairs.flat_map(|&[first, second]| {
                let back = both_ways.then_some((second, Some(first)));
                [Some((first, Some(second))), back]
            });
            Clients {
                nodes: there.flatten().collect(),
                ..writes(ArrivalProcess::new(pauses, sizes, tick), sizes)
            }
        }
        Traffic::AllToAll { .. }
        | Traffic::AllReduce { .. }
        | Traffic::Neighbours { .. }
        | Traffic::Listed { .. } => {
            unreachable!("collective operations have a plan")
        }
    }
}

impl Clients {
    /// Assign each client its server, or a random one for each message. Remove clients whose only server would be their
    /// own node.
    fn with_servers(mut self, destinations: Destinations, servers: &[u32]) -> Self {
        let nodes: Vec<u32> = self.nodes.iter().map(|&(node, _)| node).collect();
        let partners = partners(destinations, &nodes, servers);
        let random = destinations == Destinations::Random;
        self.nodes = nodes.into_iter().zip(partners).collect();
        self.nodes.retain(|&(node, partner)| match random {
            true => servers != [node],
            false => partner.is_some(),
        });
        self.targets = servers.to_vec();
        self
    }
}
