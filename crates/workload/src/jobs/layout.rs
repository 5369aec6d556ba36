//! The nodes of servers and jobs on a machine of a given size.

use crate::jobs::spec::{
    Job, JobNodes, JobsTraffic, Listed, ListedTo, Mapping, Servers, Targets, Traffic,
};
use thiserror::Error;

/// Why jobs do not fit on a machine. A job is given by its index in the list.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// A server that is not there.
    #[error("node {node} does not exist; there are nodes 0 to {}", .nodes - 1)]
    ServerOutside {
        /// The server.
        node: u32,
        /// Nodes of the machine.
        nodes: u32,
    },
    /// More servers than nodes, or none where a number of them is asked for.
    #[error("{count} servers on {nodes} nodes")]
    ServerCount {
        /// How many are asked for.
        count: u32,
        /// Nodes of the machine.
        nodes: u32,
    },
    /// Distributed servers in one place.
    #[error("servers at a distance of 0 are one")]
    NoStride,
    /// A server twice.
    #[error("server {node} is listed twice")]
    ServerTwice {
        /// The server.
        node: u32,
    },
    /// A node of a job that is not there.
    #[error("node {node} does not exist; there are nodes 0 to {}", .nodes - 1)]
    NodeOutside {
        /// The job.
        job: usize,
        /// The node.
        node: u32,
        /// Nodes of the machine.
        nodes: u32,
    },
    /// A node twice in one job.
    #[error("node {node} is listed twice")]
    NodeTwice {
        /// The job.
        job: usize,
        /// The node.
        node: u32,
    },
    /// A job on a server that the mapping keeps to itself.
    #[error("node {node} is an I/O server, which a dedicated mapping keeps free of jobs")]
    OnServer {
        /// The job.
        job: usize,
        /// The server.
        node: u32,
    },
    /// Two jobs on one node that the mapping keeps to one.
    #[error("node {node} belongs to another job already, which a dedicated mapping forbids")]
    Overlap {
        /// The job that has the node.
        first: usize,
        /// The job that has it as well.
        job: usize,
        /// The node.
        node: u32,
    },
    /// A part number that is not there, or parts of nothing.
    #[error("there is no part {part} of {of}")]
    NoPart {
        /// The job.
        job: usize,
        /// The part asked for.
        part: u32,
        /// How many there are.
        of: u32,
    },
    /// A job with too few nodes for what it does.
    #[error("{nodes} nodes are too few; it needs {needed}")]
    TooFewNodes {
        /// The job.
        job: usize,
        /// Its nodes that take part.
        nodes: usize,
        /// The least number.
        needed: usize,
    },
    /// A job that writes to servers where there are none.
    #[error("there are no I/O servers")]
    NoServers {
        /// The job.
        job: usize,
    },
    /// A hot node that is not there.
    #[error("node {node} does not exist; there are nodes 0 to {}", .nodes - 1)]
    HotNodeOutside {
        /// The job.
        job: usize,
        /// The hot node.
        node: u32,
        /// Nodes of the machine.
        nodes: u32,
    },
    /// A grid of another size than the job.
    #[error("a grid of {grid} nodes for a job of {nodes}")]
    Grid {
        /// The job.
        job: usize,
        /// Nodes of the grid.
        grid: u64,
        /// Nodes of the job.
        nodes: usize,
    },
    /// Nodes that would send to themselves.
    #[error("an offset of {offset} leads each of {nodes} nodes to itself")]
    ToItself {
        /// The job.
        job: usize,
        /// From a node to its partner.
        offset: u32,
        /// Its nodes.
        nodes: usize,
    },
    /// A listed message from or to a rank that is not there.
    #[error("there is no rank {rank}; the job has {nodes} nodes")]
    RankOutside {
        /// The job.
        job: usize,
        /// The rank.
        rank: u32,
        /// Its nodes.
        nodes: usize,
    },
    /// A listed message to a server that is not there.
    #[error("there is no server {server}; there are {servers} I/O servers")]
    NoSuchServer {
        /// The job.
        job: usize,
        /// The server, by its place.
        server: u32,
        /// How many there are.
        servers: usize,
    },
    /// A listed message to the node that it is from.
    #[error("a message of rank {rank} goes to its own node")]
    ToOwnNode {
        /// The job.
        job: usize,
        /// The sender.
        rank: u32,
    },
    /// A node without a partner.
    #[error("{nodes} nodes do not make pairs")]
    OddNodes {
        /// The job.
        job: usize,
        /// Its nodes.
        nodes: usize,
    },
}

impl LayoutError {
    /// The job that does not fit; `None` if the servers do not.
    pub fn job(&self) -> Option<usize> {
        match *self {
            Self::ServerOutside { .. }
            | Self::ServerCount { .. }
            | Self::NoStride
            | Self::ServerTwice { .. } => None,
            Self::NodeOutside { job, .. }
            | Self::NodeTwice { job, .. }
            | Self::OnServer { job, .. }
            | Self::Overlap { job, .. }
            | Self::NoPart { job, .. }
            | Self::TooFewNodes { job, .. }
            | Self::NoServers { job }
            | Self::HotNodeOutside { job, .. }
            | Self::Grid { job, .. }
            | Self::ToItself { job, .. }
            | Self::RankOutside { job, .. }
            | Self::NoSuchServer { job, .. }
            | Self::ToOwnNode { job, .. }
            | Self::OddNodes { job, .. } => Some(job),
        }
    }
}

/// Where everything runs.
///
/// ```
/// use isthmus_workload::Outstanding;
/// use isthmus_workload::storage::StorageSpec;
/// use isthmus_workload::jobs::Layout;
/// use isthmus_workload::jobs::spec::{Job, JobNodes, JobsTraffic, Mapping, Serve, Servers};
/// use isthmus_workload::jobs::spec::Traffic;
/// use isthmus_units::{Bytes, Time};
///
/// // Section 3.5 of the QsNET paper: two jobs of 28 nodes beside 8 dedicated servers.
/// let job = |name: &str, part: u32| Job {
///     name: name.to_owned(),
///     nodes: JobNodes::Part { part, of: 2 },
///     traffic: Traffic::AllToAll { message: Bytes::new(4096), pause: Time::ZERO },
///     active: true,
///     outstanding: Outstanding::ONE,
/// };
/// let traffic = JobsTraffic {
///     serve: Serve::All,
///     servers: Servers::Distributed { count: 8, stride: None, offset: 0 },
///     storage: StorageSpec::None,
///     mapping: Mapping::Dedicated,
///     jobs: vec![job("lower", 1), job("upper", 2)],
/// };
/// let layout = Layout::new(&traffic, 64)?;
/// assert_eq!(layout.servers, [0, 8, 16, 24, 32, 40, 48, 56]);
/// assert_eq!(layout.jobs[0].len(), 28);
/// assert_eq!(layout.jobs[1][0], 33);
/// # Ok::<(), isthmus_workload::jobs::LayoutError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The I/O servers, ascending or as listed; beyond the nodes, if they are apart.
    pub servers: Vec<u32>,
    /// For each job its nodes in the order of their ranks.
    pub jobs: Vec<Vec<u32>>,
}

impl Layout {
    /// The nodes of servers and jobs on a machine of `nodes` nodes.
    ///
    /// # Errors
    /// Nodes that are not there or twice, what a dedicated mapping forbids, and jobs whose nodes
    /// cannot do what the job does. Jobs that are not active are checked as well.
    pub fn new(traffic: &JobsTraffic, nodes: u32) -> Result<Self, LayoutError> {
        let servers = servers(&traffic.servers, nodes)?;
        let mut use_of = Uses::new(nodes, traffic.mapping, &servers);
        let mut jobs = Vec::with_capacity(traffic.jobs.len());
        for (number, job) in traffic.jobs.iter().enumerate() {
            let listed = use_of.nodes_of(number, &job.nodes)?;
            check_traffic(number, job, &listed, &servers, nodes)?;
            use_of.occupy(number, &listed)?;
            jobs.push(listed);
        }
        Ok(Self { servers, jobs })
    }
}

fn servers(servers: &Servers, nodes: u32) -> Result<Vec<u32>, LayoutError> {
    match servers {
        Servers::None => Ok(Vec::new()),
        &Servers::Clustered { count } | &Servers::Distributed { count, .. }
            if count == 0 || count > nodes =>
        {
            Err(LayoutError::ServerCount { count, nodes })
        }
        &Servers::Clustered { count } => Ok((nodes - count..nodes).collect()),
        &Servers::Apart { count } => Ok((nodes..nodes + count).collect()),
        &Servers::Distributed {
            count,
            stride,
            offset,
        } => {
            let stride = stride.unwrap_or(nodes / count);
            if stride == 0 && count > 1 {
                return Err(LayoutError::NoStride);
            }
            let place = |i: u32| u64::from(offset) + u64::from(i) * u64::from(stride);
            let inside = |i: u32| match u32::try_from(place(i)) {
                Ok(node) if node < nodes => Ok(node),
                other => Err(LayoutError::ServerOutside {
                    node: other.unwrap_or(u32::MAX),
                    nodes,
                }),
            };
            (0..count).map(inside).collect()
        }
        Servers::Listed(listed) => {
            let mut seen = vec![false; nodes as usize];
            for &node in listed {
                match seen.get_mut(node as usize) {
                    None => return Err(LayoutError::ServerOutside { node, nodes }),
                    Some(true) => return Err(LayoutError::ServerTwice { node }),
                    Some(seen) => *seen = true,
                }
            }
            Ok(listed.clone())
        }
    }
}

/// Which node serves whom.
struct Uses {
    mapping: Mapping,
    is_server: Vec<bool>,
    job: Vec<Option<usize>>,
    /// The job that has listed a node last.
    listed_by: Vec<Option<usize>>,
}

impl Uses {
    fn new(nodes: u32, mapping: Mapping, servers: &[u32]) -> Self {
        let mut is_server = vec![false; nodes as usize];
        for &server in servers {
            if let Some(is_server) = is_server.get_mut(server as usize) {
                *is_server = true;
            }
        }
        Self {
            mapping,
            is_server,
            job: vec![None; nodes as usize],
            listed_by: vec![None; nodes as usize],
        }
    }

    fn nodes_of(&mut self, job: usize, wanted: &JobNodes) -> Result<Vec<u32>, LayoutError> {
        let nodes = self.is_server.len() as u32;
        let shared = self.mapping == Mapping::Shared;
        let available = || (0..nodes).filter(|&node| shared || !self.is_server[node as usize]);
        match *wanted {
            JobNodes::All => Ok(available().collect()),
            JobNodes::Part { part, of } => {
                if part == 0 || part > of {
                    return Err(LayoutError::NoPart { job, part, of });
                }
                let available: Vec<u32> = available().collect();
                let cut = |part: u32| {
                    // No more than the number of nodes, so that it fits.
                    (available.len() as u64 * u64::from(part) / u64::from(of)) as usize
                };
                Ok(available[cut(part - 1)..cut(part)].to_vec())
            }
            JobNodes::Listed(ref listed) => {
                for &node in listed {
                    match self.listed_by.get_mut(node as usize) {
                        None => return Err(LayoutError::NodeOutside { job, node, nodes }),
                        Some(last) if *last == Some(job) => {
                            return Err(LayoutError::NodeTwice { job, node });
                        }
                        Some(last) => *last = Some(job),
                    }
                    if !shared && self.is_server[node as usize] {
                        return Err(LayoutError::OnServer { job, node });
                    }
                }
                Ok(listed.clone())
            }
        }
    }

    fn occupy(&mut self, job: usize, nodes: &[u32]) -> Result<(), LayoutError> {
        for &node in nodes {
            match self.job[node as usize].replace(job) {
                Some(first) if self.mapping == Mapping::Dedicated => {
                    return Err(LayoutError::Overlap { first, job, node });
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether these nodes can do what the job does.
fn check_traffic(
    number: usize,
    job: &Job,
    nodes: &[u32],
    servers: &[u32],
    machine_nodes: u32,
) -> Result<(), LayoutError> {
    let at_least = |nodes: usize, needed: usize| {
        if nodes >= needed {
            return Ok(());
        }
        Err(LayoutError::TooFewNodes {
            job: number,
            nodes,
            needed,
        })
    };
    match &job.traffic {
        Traffic::Uniform { .. } | Traffic::AllToAll { .. } | Traffic::AllReduce { .. } => {
            at_least(nodes.len(), 2)
        }
        &Traffic::Shift { offset, .. } => {
            at_least(nodes.len(), 2)?;
            match offset as usize % nodes.len() {
                0 => Err(LayoutError::ToItself {
                    job: number,
                    offset,
                    nodes: nodes.len(),
                }),
                _ => Ok(()),
            }
        }
        Traffic::Neighbours { grid, .. } => {
            let product = grid
                .iter()
                .fold(1u64, |all, &n| all.saturating_mul(u64::from(n)));
            if product != nodes.len() as u64 {
                return Err(LayoutError::Grid {
                    job: number,
                    grid: product,
                    nodes: nodes.len(),
                });
            }
            at_least(nodes.len(), 2)
        }
        Traffic::Ping { .. } => {
            at_least(nodes.len(), 2)?;
            if nodes.len().is_multiple_of(2) {
                return Ok(());
            }
            Err(LayoutError::OddNodes {
                job: number,
                nodes: nodes.len(),
            })
        }
        Traffic::Io(io) => match io.targets {
            Targets::HotNode(node) => {
                if node >= machine_nodes {
                    return Err(LayoutError::HotNodeOutside {
                        job: number,
                        node,
                        nodes: machine_nodes,
                    });
                }
                at_least(nodes.iter().filter(|&&other| other != node).count(), 1)
            }
            Targets::Servers(_) => check_clients(number, nodes, servers),
        },
        Traffic::Checkpoint { .. } => check_clients(number, nodes, servers),
        Traffic::Listed { messages, .. } => check_listed(number, messages, nodes, servers),
    }
}

/// Every message must have a sender and another node that it goes to.
fn check_listed(
    job: usize,
    messages: &[Listed],
    nodes: &[u32],
    servers: &[u32],
) -> Result<(), LayoutError> {
    let node = |rank: u32| {
        (nodes.get(rank as usize).copied()).ok_or(LayoutError::RankOutside {
            job,
            rank,
            nodes: nodes.len(),
        })
    };
    for message in messages {
        let to = match message.to {
            ListedTo::Rank(rank) => node(rank)?,
            ListedTo::Server(server) => {
                let place = servers.get(server as usize).copied();
                place.ok_or(LayoutError::NoSuchServer {
                    job,
                    server,
                    servers: servers.len(),
                })?
            }
        };
        if node(message.from)? == to {
            return Err(LayoutError::ToOwnNode {
                job,
                rank: message.from,
            });
        }
    }
    Ok(())
}

/// Somebody must have a server other than itself.
fn check_clients(job: usize, nodes: &[u32], servers: &[u32]) -> Result<(), LayoutError> {
    let clients = match servers {
        [] => return Err(LayoutError::NoServers { job }),
        [only] => nodes.iter().filter(|&node| node != only).count(),
        _ => nodes.len(),
    };
    if clients > 0 {
        return Ok(());
    }
    Err(LayoutError::TooFewNodes {
        job,
        nodes: clients,
        needed: 1,
    })
}
