//! Reads I/O servers and jobs from `[workload]` of a scenario file and checks them.

use super::misfit::misfit;
use super::table::{
    ArrivalsTable, CommonTable, Count, IndependentRequests, JobTable, Reads, ServersTable,
    ServersWord, TrafficTable, WorkloadTable,
};
use crate::values::{NodeLoad, OUTSTANDING_MAX};
use isthmus_scenario::format::{Describe, Layer, Problem, Settings, TIME_MAX, closest, shown};
use isthmus_units::{Bandwidth, Bytes, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::{
    Arrivals, Io, Job, JobsTraffic, Serve, Servers, Sizes, Targets, Traffic,
};
use isthmus_workload::storage::StorageSpec;

/// Default length of messages between the nodes of a job (section 3.5 of the QsNET paper: 256 KB).
const COMPUTE_MESSAGE: Bytes = Bytes::new(262_144);

/// Default length of messages to I/O servers and of pings (section 3.4 of the QsNET paper: 1 MB).
const IO_MESSAGE: Bytes = Bytes::new(1_000_000);

/// Shortest mean gap of an open loop: far shorter than any message, and long enough that simulated time advances.
const GAP_MIN: Time = Time::from_ns(1);

/// Properties of the nodes that jobs run on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nodes {
    /// Number of nodes of the machine.
    pub count: u32,
    /// Maximum bandwidth at which one node can send.
    pub can_send: Bandwidth,
    /// Whether a client of an open loop has at most one message in flight by default.
    pub one_by_one: bool,
}

impl WorkloadTable {
    /// Split the table into its common fields, the placement of the servers, and the number of requests that a
    /// server serves at a time.
    pub fn split(self) -> (CommonTable, Servers, Serve) {
        let ServersTable { placement, serve } = self.servers;
        (self.common, servers(placement), serve)
    }
}

/// Read the jobs and check them against the nodes of the machine.
pub(crate) fn jobs(
    settings: &Settings,
    table: &CommonTable,
    servers: Servers,
    nodes: Nodes,
) -> Result<JobsTraffic, Problem> {
    let names = settings.names();
    let active = table.active.as_deref();
    check_active(settings, active, names)?;
    let mut uses_common_load = false;
    let mut jobs = Vec::with_capacity(names.len());
    for name in names {
        let path = format!("workload.jobs.{name}");
        let job = JobTable::read(settings, &path);
        let mut reader = JobReader {
            settings,
            name,
            path,
            message: job.message,
            nodes,
            common_load: table.load,
            uses_common_load: false,
        };
        let given = job.traffic.outstanding();
        let traffic = reader.traffic(job.traffic)?;
        jobs.push(Job {
            name: name.clone(),
            nodes: job.nodes,
            outstanding: reader.outstanding(given, &traffic)?,
            traffic,
            active: active.is_none_or(|active| active.contains(name)),
        });
        uses_common_load |= reader.uses_common_load;
    }
    if table.load.is_some() && !uses_common_load {
        // Report the error on the field that sets the load: that of the search, or `workload.load`.
        let (key, problem, hint) = match settings.layer("workload.load") {
            Layer::Search => (
                "search.over",
                "no job is an open loop without a load of its own",
                "remove [search], or set arrivals = \"open\" in a job without a load",
            ),
            _ => (
                "workload.load",
                "it has no effect: no job is an open loop without a load of its own",
                "remove it, or set arrivals = \"open\" in a job without a load",
            ),
        };
        return Err(settings.problem(key, problem, hint));
    }
    let mut traffic = JobsTraffic {
        serve: Serve::All,
        storage: StorageSpec::None,
        servers,
        mapping: table.mapping,
        jobs,
    };
    shape_grids(settings, &mut traffic, nodes.count)?;
    match Layout::new(&traffic, nodes.count) {
        Ok(_) => Ok(traffic),
        Err(error) => Err(misfit(settings, &traffic, &error)),
    }
}

/// Check that the jobs listed in `workload.active` exist.
fn check_active(
    settings: &Settings,
    active: Option<&[String]>,
    names: &[String],
) -> Result<(), Problem> {
    let mut active = active.into_iter().flatten();
    let Some(name) = active.find(|name| !names.contains(name)) else {
        return Ok(());
    };
    let hint = match closest(name, names.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean \"{meant}\"?"),
        None => format!("the jobs are {}", names.join(", ")),
    };
    let problem = format!("there is no job {}", shown(name));
    Err(settings.problem("workload.active", problem, hint))
}

/// Convert the word for the placement of the I/O servers, as read from the file.
fn servers(placement: ServersWord) -> Servers {
    match placement {
        ServersWord::None => Servers::None,
        ServersWord::Clustered(Count { count }) => Servers::Clustered { count },
        ServersWord::Distributed {
            count: Count { count },
            stride,
            offset,
        } => Servers::Distributed {
            count,
            stride,
            offset,
        },
        ServersWord::List { nodes } => Servers::Listed(nodes),
    }
}

impl TrafficTable {
    /// Return the limit on messages in flight, if the file sets one.
    fn outstanding(&self) -> Option<Outstanding> {
        match self {
            Self::Uniform(asking)
            | Self::Shift { asking, .. }
            | Self::Io { asking, .. }
            | Self::HotSpot { asking, .. } => asking.under_way.outstanding,
            Self::AllToAll { under_way, .. }
            | Self::Neighbours { under_way, .. }
            | Self::Listed { under_way, .. }
            | Self::Checkpoint { under_way, .. }
            | Self::Ping { under_way, .. } => under_way.outstanding,
            Self::AllReduce { .. } => None,
        }
    }
}

/// Reader of the scenario table of one job.
struct JobReader<'s> {
    settings: &'s Settings,
    name: &'s str,
    /// Key of the scenario table of the job, such as `workload.jobs.io`.
    path: String,
    /// Length of the job's messages, if the file sets it.
    message: Option<Bytes>,
    nodes: Nodes,
    /// Load in `workload.load`, which applies to all jobs without a load of their own.
    common_load: Option<NodeLoad>,
    /// Whether the job uses the load in `workload.load`.
    uses_common_load: bool,
}

impl JobReader<'_> {
    /// Return the key of a field in the table of the job, such as `workload.jobs.io.load`.
    fn key(&self, field: &str) -> String {
        format!("{}.{field}", self.path)
    }

    /// Return the traffic that the job's table describes.
    fn traffic(&mut self, table: TrafficTable) -> Result<Traffic, Problem> {
        Ok(match table {
            TrafficTable::Uniform(asking) => {
                let sizes = self.sizes(&asking, COMPUTE_MESSAGE)?;
                Traffic::Uniform {
                    sizes,
                    arrivals: self.arrivals(asking.arrivals, sizes.mean)?,
                }
            }
            TrafficTable::Shift { asking, offset } => {
                let sizes = self.sizes(&asking, COMPUTE_MESSAGE)?;
                Traffic::Shift {
                    offset,
                    sizes,
                    arrivals: self.arrivals(asking.arrivals, sizes.mean)?,
                }
            }
            TrafficTable::AllToAll { rest, .. } => Traffic::AllToAll {
                message: self.message(COMPUTE_MESSAGE)?,
                pause: rest.pause,
            },
            TrafficTable::AllReduce { algorithm, rest } => Traffic::AllReduce {
                vector: self.message(COMPUTE_MESSAGE)?,
                algorithm,
                pause: rest.pause,
            },
            TrafficTable::Neighbours {
                grid, wrap, rest, ..
            } => Traffic::Neighbours {
                grid: grid.unwrap_or_default(),
                wrap,
                message: self.message(COMPUTE_MESSAGE)?,
                pause: rest.pause,
            },
            TrafficTable::Listed {
                messages,
                overhead,
                rest,
                ..
            } => Traffic::Listed {
                messages,
                overhead,
                pause: rest.pause,
            },
            TrafficTable::Checkpoint {
                period, volume, to, ..
            } => Traffic::Checkpoint {
                period,
                volume,
                message: self.message(IO_MESSAGE)?,
                destinations: to.destinations,
            },
            TrafficTable::Io { asking, reads, to } => {
                self.io(Targets::Servers(to.destinations), &reads, asking)?
            }
            TrafficTable::HotSpot {
                asking,
                reads,
                hot_node,
            } => self.io(Targets::HotNode(hot_node), &reads, asking)?,
            TrafficTable::Ping {
                both_ways, rest, ..
            } => Traffic::Ping {
                message: self.message.unwrap_or(IO_MESSAGE),
                both_ways,
                pause: rest.pause,
            },
        })
    }

    /// Return the traffic of a job that reads from and writes to I/O servers or a hot node (one common target).
    fn io(
        &mut self,
        targets: Targets,
        reads: &Reads,
        asking: IndependentRequests,
    ) -> Result<Traffic, Problem> {
        let sizes = self.sizes(&asking, IO_MESSAGE)?;
        Ok(Traffic::Io(Io {
            targets,
            read_ratio: reads.read_ratio,
            sizes,
            arrivals: self.arrivals(asking.arrivals, sizes.mean)?,
        }))
    }

    /// Return the limit on messages in flight. By default there is no limit for neighbour and listed traffic, nor
    /// for open loops except on circuits. All other traffic has one message in flight at a time.
    fn outstanding(
        &self,
        given: Option<Outstanding>,
        traffic: &Traffic,
    ) -> Result<Outstanding, Problem> {
        let open = match traffic {
            Traffic::Io(Io { arrivals, .. })
            | Traffic::Uniform { arrivals, .. }
            | Traffic::Shift { arrivals, .. } => {
                matches!(arrivals, Arrivals::Open { .. })
            }
            _ => false,
        };
        let Some(given) = given else {
            return Ok(match traffic {
                Traffic::Neighbours { .. } | Traffic::Listed { .. } => Outstanding::Unlimited,
                _ if open && !self.nodes.one_by_one => Outstanding::Unlimited,
                _ => Outstanding::ONE,
            });
        };
        let loops = !open
            && matches!(
                traffic,
                Traffic::Io(_)
                    | Traffic::Uniform { .. }
                    | Traffic::Shift { .. }
                    | Traffic::Ping { .. }
            );
        if loops && given == Outstanding::Unlimited {
            return Err(self.settings.problem(
                &self.key("outstanding"),
                "a closed loop keeps a number of messages under way",
                match traffic {
                    Traffic::Ping { .. } => format!("give 1 to {OUTSTANDING_MAX}"),
                    _ => format!("give 1 to {OUTSTANDING_MAX}, or set arrivals = \"open\""),
                },
            ));
        }
        Ok(given)
    }

    /// Return the length of the job's messages, `usual` by default; a length of 0 is a problem.
    fn message(&self, usual: Bytes) -> Result<Bytes, Problem> {
        let message = self.message.unwrap_or(usual);
        if message.get() > 0 {
            return Ok(message);
        }
        let traffic = self.settings.text(&self.key("traffic"));
        Err(self.settings.problem(
            &self.key("message"),
            format!("messages of 0 B move nothing with traffic = \"{traffic}\""),
            "give 1 B or more; only a ping may be empty",
        ))
    }

    /// Return the distribution of the job's message lengths. Its mean is `usual` if the file does not set it.
    fn sizes(&self, asking: &IndependentRequests, usual: Bytes) -> Result<Sizes, Problem> {
        Ok(Sizes {
            mean: self.message(usual)?,
            spread: asking.sizes,
        })
    }

    /// Return when the nodes of the job request messages: as a closed loop, or as an open loop with a load.
    fn arrivals(&mut self, table: ArrivalsTable, message: Bytes) -> Result<Arrivals, Problem> {
        let (own, gaps) = match table {
            ArrivalsTable::Closed {
                think,
                think_times: spread,
            } => return Ok(Arrivals::Closed { think, spread }),
            ArrivalsTable::Open { load, gaps } => (load, gaps),
        };
        let key = match own {
            Some(_) => self.key("load"),
            None => {
                self.uses_common_load = true;
                "workload.load".to_owned()
            }
        };
        let load = match own.or(self.common_load) {
            Some(NodeLoad::Bandwidth(bandwidth)) => bandwidth,
            Some(NodeLoad::Share(share)) => {
                let bits_per_s = self.nodes.can_send.bits_per_s() as f64 * share;
                Bandwidth::from_bits_per_s(bits_per_s.round() as u64)
            }
            None => {
                return Err(self.settings.problem(
                    &self.key("load"),
                    "it is missing, and arrivals = \"open\" needs it",
                    "write, for example, load = \"20 MB/s\", or workload.load for all jobs",
                ));
            }
        };
        self.check_gap(&key, load, message)?;
        Ok(Arrivals::Open { load, gaps })
    }

    /// Check that the mean gap between messages is in the range that the generator of messages supports.
    fn check_gap(&self, key: &str, load: Bandwidth, message: Bytes) -> Result<(), Problem> {
        let gap_ps = message.get() as f64 * 8e12 / load.bits_per_s() as f64;
        let (problem, hint) = if gap_ps < GAP_MIN.ps() as f64 {
            ("more than one message in each ns", "give less load")
        } else if gap_ps > TIME_MAX.ps() as f64 {
            ("less than one message in 24 h", "give more load")
        } else {
            return Ok(());
        };
        Err(self.settings.problem(
            key,
            format!("at {load} each node of {} asks for {problem}", self.name),
            hint,
        ))
    }
}

/// Choose two dimensions, as close to square as possible, for each job whose grid the file leaves out.
fn shape_grids(settings: &Settings, traffic: &mut JobsTraffic, nodes: u32) -> Result<(), Problem> {
    let open =
        |job: &Job| matches!(&job.traffic, Traffic::Neighbours { grid, .. } if grid.is_empty());
    if !traffic.jobs.iter().any(open) {
        return Ok(());
    }
    // Replace grids by all-to-all traffic, which fits any number of nodes, so that the layout finds all other errors.
    let mut without_grids = traffic.clone();
    for job in without_grids.jobs.iter_mut().filter(|job| open(job)) {
        job.traffic = Traffic::AllToAll {
            message: Bytes::new(1),
            pause: Time::ZERO,
        };
    }
    let layout = match Layout::new(&without_grids, nodes) {
        Ok(layout) => layout,
        Err(error) => return Err(misfit(settings, &without_grids, &error)),
    };
    for (job, nodes) in traffic.jobs.iter_mut().zip(&layout.jobs) {
        if let Traffic::Neighbours { grid, .. } = &mut job.traffic
            && grid.is_empty()
        {
            let count = nodes.len() as u32;
            let divides = |side: &u32| count.is_multiple_of(*side);
            let side = (1..=count.isqrt()).rev().find(divides).unwrap_or(1);
            *grid = vec![count / side, side];
        }
    }
    Ok(())
}

/// Check that no job or server is on a failed node. `live` lists the nodes in service in ascending order, out of
/// `count` nodes. `faults` are the keys of the fields that list failures.
pub(crate) fn check_live(
    settings: &Settings,
    traffic: &JobsTraffic,
    (count, live): (u32, &[u32]),
    faults: &[&str],
) -> Result<(), Problem> {
    // Do nothing if all nodes are in service, or if the layout of the jobs is wrong: the check of the jobs has already
    // reported it.
    let (true, Ok(layout)) = (live.len() < count as usize, Layout::new(traffic, count)) else {
        return Ok(());
    };
    let is_dead = |node: &&u32| **node < count && live.binary_search(node).is_err();
    let swept = (faults.iter()).any(|key| settings.layer(key) == Layer::Axis);
    let problem = |key: &str, node: u32, hint: &str| {
        let problem = format!("faults have taken node {node} out of service");
        let hint = match swept {
            false => hint,
            true => {
                "jobs need all of their nodes: list nodes that no failure takes out of service, \
                 or let other parts fail"
            }
        };
        Err(settings.problem(key, problem, hint))
    };
    if let Some(&node) = layout.servers.iter().find(is_dead) {
        let key = match traffic.servers {
            Servers::Listed(_) => "workload.servers.nodes",
            _ => "workload.servers.placement",
        };
        return problem(key, node, "list nodes that are in service");
    }
    for (job, nodes) in traffic.jobs.iter().zip(&layout.jobs) {
        let key = |field: &str| format!("workload.jobs.{}.{field}", job.name);
        if let Some(&node) = nodes.iter().find(is_dead) {
            return problem(&key("nodes"), node, "list nodes that are in service");
        }
        if let Traffic::Io(Io {
            targets: Targets::HotNode(hot),
            ..
        }) = &job.traffic
            && is_dead(&hot)
        {
            return problem(&key("hot_node"), *hot, "name a node that is in service");
        }
    }
    Ok(())
}
