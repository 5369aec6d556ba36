//! Assignment of the nodes of a machine to I/O servers and jobs.

use crate::jobs::spec::{
    Job, JobNodes, JobsTraffic, ListedTo, Mapping, MessageRun, Servers, Targets, Traffic,
};
use thiserror::Error;

/// Reason why the servers and jobs do not fit on a machine. A job is identified by its index in the list of jobs.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// The list of servers contains a node that does not exist.
    #[error("node {node} does not exist; there are nodes 0 to {}", .nodes - 1)]
    ServerOutside {
        /// Number of the node that the list contains.
        node: u32,
        /// Number of nodes of the machine.
        nodes: u32,
    },
    /// The number of servers is zero or exceeds the number of nodes.
    #[error("{count} servers on {nodes} nodes")]
    ServerCount {
        /// Requested number of servers.
        count: u32,
        /// Number of nodes of the machine.
        nodes: u32,
    },
    /// The servers are distributed over the nodes with a stride of zero.
    #[error("servers at a distance of 0 are one")]
    NoStride,
    /// The list of servers contains a node twice.
    #[error("server {node} is listed twice")]
    ServerTwice {
        /// Number of the node that is listed twice.
        node: u32,
    },
    /// A job lists a node that does not exist.
    #[error("node {node} does not exist; there are nodes 0 to {}", .nodes - 1)]
    NodeOutside {
        /// Index, in the list of jobs, of the job with this error.
        job: usize,
        /// Number of the node that the list contains.
        node: u32,
        /// Number of nodes of the machine.
        nodes: u32,
    },
    /// A job lists a node twice.
    #[error("node {node} is listed twice")]
    NodeTwice {
        /// Index, in the list of jobs, of the job with this error.
        job: usize,
        /// Number of the node that is listed twice.
        node: u32,
    },
    /// A job lists a server node, which the dedicated mapping reserves.
    #[error("node {node} is an I/O server, which a dedicated mapping keeps free of jobs")]
    OnServer {
        /// Index, in the list of jobs, of the job with this error.
        job: usize,
        /// Number of the node that is a server.
        node: u32,
    },
    /// Two jobs list the same node, where the mapping allows only one job per node.
    #[error("node {node} belongs to another job already, which a dedicated mapping forbids")]
    Overlap {
        /// Index of the first job that lists the node.
        first: usize,
        /// Index of the other job that lists the node.
        job: usize,
        /// The node that both jobs list.
        node: u32,
    },
    /// A job requests a numbered part of the nodes that does not exist, such as part 3 of 2.
    #[error("there is no part {part} of {of}")]
    NoPart {
        /// Index, in the list of jobs, of the job with this error.
        job: usize,
        /// Requested number of the part, from 1.
        part: u32,
        /// Number of parts into which the nodes are split.
        of: u32,
    },
    /// A job has too few nodes for its traffic.
    #[error("{nodes} nodes are too few; it needs {needed}")]
    TooFewNodes {
        /// Index, in the list of jobs, of the job with this error.
        job: usize,
        /// Number of nodes of the job that take part in its traffic.
        nodes: usize,
        /// Smallest number of nodes that this traffic permits.
        needed: usize,
    },
    /// A job uses I/O servers on a machine without any server.
    #[error("there are no I/O servers")]
    NoServers {
        /// Index, in the list of jobs, of the job with this error.
        job: usize,
    },
    /// The hot node of a job, which receives all its messages, does not exist.
    #[error("node {node} does not exist; there are nodes 0 to {}", .nodes - 1)]
    HotNodeOutside {
        /// Index, in the list of jobs, of the job with this error.
        job: usize,
        /// Number of the requested hot node.
        node: u32,
        /// Number of nodes of the machine.
        nodes: u32,
    },
    /// The size of a job's grid differs from the job's number of nodes.
    #[error("a grid of {grid} nodes for a job of {nodes}")]
    Grid {
        /// Index, in the list of jobs, of the job with this error.
        job: usize,
        /// Number of nodes of the grid.
        grid: u64,
        /// Number of nodes of the job.
        nodes: usize,
    },
    /// The offset of a shift makes each node its own partner.
    #[error("an offset of {offset} leads each of {nodes} nodes to itself")]
    ToItself {
        /// Index, in the list of jobs, of the job with this error.
        job: usize,
        /// Offset from the rank of a node to the rank of its partner.
        offset: u32,
        /// Number of nodes of the job.
        nodes: usize,
    },
    /// A listed message has a sender or receiver rank that does not exist.
    #[error("there is no rank {rank}; the job has {nodes} nodes")]
    RankOutside {
        /// Index, in the list of jobs, of the job with this error.
        job: usize,
        /// The rank that does not exist.
        rank: u32,
        /// Number of nodes of the job.
        nodes: usize,
    },
    /// A listed message goes to a server that does not exist.
    #[error("there is no server {server}; there are {servers} I/O servers")]
    NoSuchServer {
        /// Index, in the list of jobs, of the job with this error.
        job: usize,
        /// Index of the server in the listed message.
        server: u32,
        /// Number of I/O servers.
        servers: usize,
    },
    /// The receiver of a listed message is its sender.
    #[error("a message of rank {rank} goes to its own node")]
    ToOwnNode {
        /// Index, in the list of jobs, of the job with this error.
        job: usize,
        /// Rank of the node that sends the listed message.
        rank: u32,
    },
    /// A job of pairs has an odd number of nodes, so that one node has no partner.
    #[error("{nodes} nodes do not make pairs")]
    OddNodes {
        /// Index, in the list of jobs, of the job with this error.
        job: usize,
        /// Number of nodes of the job.
        nodes: usize,
    },
}

impl LayoutError {
    /// Return the index of the job that causes this error, or `None` if the servers cause it.
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

/// The nodes of all I/O servers and of all jobs on a machine.
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
    /// The nodes of the I/O servers, ascending or in the listed order. Servers that are not nodes have the numbers
    /// after the last node.
    pub servers: Vec<u32>,
    /// For each job, its nodes in the order of their ranks.
    pub jobs: Vec<Vec<u32>>,
}

impl Layout {
    /// Return the nodes of servers and jobs on a machine of `nodes` nodes.
    ///
    /// # Errors
    /// If a node does not exist or is listed twice, a dedicated mapping is violated, or the nodes of a
    /// job do not suit its traffic. Inactive jobs are checked as well.
    pub fn new(traffic: &JobsTraffic, nodes: u32) -> Result<Self, LayoutError> {
        let servers = servers(&traffic.servers, nodes)?;
        let mut uses = Uses::new(nodes, traffic.mapping, &servers);
        let mut jobs = Vec::with_capacity(traffic.jobs.len());
        for (number, job) in traffic.jobs.iter().enumerate() {
            let listed = uses.nodes_of(number, &job.nodes)?;
            check_traffic(number, job, &listed, &servers, nodes)?;
            uses.occupy(number, &listed)?;
            jobs.push(listed);
        }
        Ok(Self { servers, jobs })
    }
}

/// Return the nodes of the I/O servers, ascending or in the listed order.
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

/// Record of the role of each node while the layout is built.
struct Uses {
    mapping: Mapping,
    is_server: Vec<bool>,
    job: Vec<Option<usize>>,
    /// For each node, the index of the last job that listed the node.
    listed_by: Vec<Option<usize>>,
}

impl Uses {
    /// Return the roles of `nodes` nodes before any job is placed.
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

    /// Return the nodes of the job with index `job`, in the order of their ranks.
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
                    // The result is at most the number of nodes, so it fits into usize.
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

    /// Assign `nodes` to the job with index `job`, or report the first node that it cannot use.
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

/// Check whether the nodes of a job suit its traffic.
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

/// Check that every listed message has an existing sender and a different, existing receiver.
fn check_listed(
    job: usize,
    messages: &[MessageRun],
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

/// Check that at least one node of a job has a server other than itself.
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
