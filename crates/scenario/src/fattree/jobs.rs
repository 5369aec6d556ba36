//! `[workload]` of a fat tree from its settings: I/O servers and jobs.

use super::misfit::misfit;
use crate::document::shown;
use crate::error::Problem;
use crate::field::OUTSTANDING_MAX;
use crate::settings::Settings;
use crate::suggest::closest;
use crate::value::{TIME_MAX, Value};
use isthmus_machine::fattree::spec::{FatTreeSpec, Switching};
use isthmus_units::{Bandwidth, Bytes, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::{
    AllReduce, Arrivals, Destinations, Io, Job, JobsTraffic, Mapping, Servers, Sizes, Spread,
    Targets, Traffic,
};

/// Length of messages between the nodes of a job (section 3.5: 256 KB).
const COMPUTE_MESSAGE: Bytes = Bytes::new(262_144);

/// Length of messages to I/O servers and of pings (section 3.4: 1 MB).
const IO_MESSAGE: Bytes = Bytes::new(1_000_000);

/// The shortest mean gap of an open loop: far below any message, far above what would keep a
/// generator from ever getting on.
const GAP_MIN: Time = Time::from_ns(1);

/// The jobs, checked against the tree that they run on.
pub(super) fn build(settings: &Settings, machine: &FatTreeSpec) -> Result<JobsTraffic, Problem> {
    let names = settings.schema().names();
    let active = active(settings, names)?;
    let can_send = machine.injection_bandwidth();
    let mut uses_common_load = false;
    let mut jobs = Vec::with_capacity(names.len());
    for name in names {
        let mut reader = JobReader {
            settings,
            name,
            can_send,
            uses_common_load: false,
        };
        let traffic = reader.traffic()?;
        jobs.push(Job {
            name: name.clone(),
            nodes: settings.job_nodes(&reader.key("nodes")).clone(),
            outstanding: reader.outstanding(&traffic, &machine.switching)?,
            traffic,
            active: active.is_none_or(|active| active.contains(name)),
        });
        uses_common_load |= reader.uses_common_load;
    }
    if settings.given("workload.load").is_some() && !uses_common_load {
        return Err(settings.problem(
            "workload.load",
            "it has no effect: no job is an open loop without a load of its own",
            "remove it, or set arrivals = \"open\" in a job",
        ));
    }
    let mut traffic = JobsTraffic {
        servers: servers(settings),
        mapping: match settings.text("workload.mapping").as_str() {
            "shared" => Mapping::Shared,
            _ => Mapping::Dedicated,
        },
        jobs,
    };
    // The shape has been checked with the machine.
    let nodes = machine.shape.node_count().unwrap_or(0);
    shape_grids(settings, &mut traffic, nodes)?;
    match Layout::new(&traffic, nodes) {
        Ok(_) => Ok(traffic),
        Err(error) => Err(misfit(settings, &traffic, &error)),
    }
}

/// The names of the jobs that run; `None`: all.
fn active<'s>(settings: &'s Settings, names: &[String]) -> Result<Option<&'s [String]>, Problem> {
    let key = "workload.active";
    if settings.given(key).is_none() {
        return Ok(None);
    }
    let active = settings.names(key);
    match active.iter().find(|name| !names.contains(name)) {
        None => Ok(Some(active)),
        Some(name) => {
            let hint = match closest(name, names.iter().map(String::as_str)) {
                Some(meant) => format!("did you mean \"{meant}\"?"),
                None => format!("the jobs are {}", names.join(", ")),
            };
            let problem = format!("there is no job {}", shown(name));
            Err(settings.problem(key, problem, hint))
        }
    }
}

fn servers(settings: &Settings) -> Servers {
    let count = || settings.small("workload.servers.count");
    match settings.text("workload.servers.placement").as_str() {
        "clustered" => Servers::Clustered { count: count() },
        "distributed" => Servers::Distributed {
            count: count(),
            stride: settings.small_given("workload.servers.stride"),
            offset: settings.small("workload.servers.offset"),
        },
        "list" => Servers::Listed(settings.nodes("workload.servers.nodes").to_vec()),
        _ => Servers::None,
    }
}

/// Reads one job.
struct JobReader<'s> {
    settings: &'s Settings,
    name: &'s str,
    /// What a node can send at most.
    can_send: Bandwidth,
    /// Whether it takes the load that the workload has for all.
    uses_common_load: bool,
}

impl JobReader<'_> {
    fn key(&self, field: &str) -> String {
        format!("workload.jobs.{}.{field}", self.name)
    }

    fn time(&self, field: &str) -> Time {
        self.settings.time(&self.key(field))
    }

    fn word(&self, field: &str) -> String {
        self.settings.text(&self.key(field))
    }

    fn traffic(&mut self) -> Result<Traffic, Problem> {
        let traffic = self.word("traffic");
        Ok(match traffic.as_str() {
            "all-to-all" => Traffic::AllToAll {
                message: self.message(COMPUTE_MESSAGE)?,
                pause: self.time("pause"),
            },
            "all-reduce" => Traffic::AllReduce {
                vector: self.message(COMPUTE_MESSAGE)?,
                algorithm: match self.word("algorithm").as_str() {
                    "recursive-doubling" => AllReduce::RecursiveDoubling,
                    _ => AllReduce::Ring,
                },
                pause: self.time("pause"),
            },
            "neighbours" => Traffic::Neighbours {
                grid: match self.settings.given(&self.key("grid")) {
                    Some(_) => self.settings.sizes(&self.key("grid")).to_vec(),
                    None => Vec::new(),
                },
                wrap: self.settings.flag(&self.key("wrap")),
                message: self.message(COMPUTE_MESSAGE)?,
                pause: self.time("pause"),
            },
            "checkpoint" => Traffic::Checkpoint {
                period: self.time("period"),
                volume: self.settings.bytes(&self.key("volume")),
                message: self.message(IO_MESSAGE)?,
                destinations: self.destinations(),
            },
            "io" | "hot-spot" => {
                let targets = match traffic.as_str() {
                    "io" => Targets::Servers(self.destinations()),
                    _ => Targets::HotNode(self.settings.small(&self.key("hot_node"))),
                };
                let sizes = self.sizes(IO_MESSAGE)?;
                Traffic::Io(Io {
                    targets,
                    read_ratio: self.settings.number(&self.key("read_ratio")),
                    sizes,
                    arrivals: self.arrivals(sizes.mean)?,
                })
            }
            "ping" => Traffic::Ping {
                message: self.given_message(IO_MESSAGE),
                both_ways: self.settings.flag(&self.key("both_ways")),
                pause: self.time("pause"),
            },
            _ => {
                let sizes = self.sizes(COMPUTE_MESSAGE)?;
                Traffic::Uniform {
                    sizes,
                    arrivals: self.arrivals(sizes.mean)?,
                }
            }
        })
    }

    /// Messages under way: circuits and closed loops take one after another, interfaces of networks
    /// with cut-through whatever they are given.
    fn outstanding(
        &self,
        traffic: &Traffic,
        switching: &Switching,
    ) -> Result<Outstanding, Problem> {
        let open = match traffic {
            Traffic::Io(Io { arrivals, .. }) | Traffic::Uniform { arrivals, .. } => {
                matches!(arrivals, Arrivals::Open { .. })
            }
            _ => false,
        };
        let key = self.key("outstanding");
        let Some(given) = self.settings.outstanding(&key) else {
            return Ok(match traffic {
                Traffic::Neighbours { .. } => Outstanding::Unlimited,
                _ if open && matches!(switching, Switching::CutThrough { .. }) => {
                    Outstanding::Unlimited
                }
                _ => Outstanding::ONE,
            });
        };
        let loops = !open
            && matches!(
                traffic,
                Traffic::Io(_) | Traffic::Uniform { .. } | Traffic::Ping { .. }
            );
        if loops && given == Outstanding::Unlimited {
            return Err(self.settings.problem(
                &key,
                "a closed loop keeps a number of messages under way",
                match traffic {
                    Traffic::Ping { .. } => format!("give 1 to {OUTSTANDING_MAX}"),
                    _ => format!("give 1 to {OUTSTANDING_MAX}, or set arrivals = \"open\""),
                },
            ));
        }
        Ok(given)
    }

    fn given_message(&self, usual: Bytes) -> Bytes {
        let key = self.key("message");
        match self.settings.given(&key) {
            Some(_) => self.settings.bytes(&key),
            None => usual,
        }
    }

    fn message(&self, usual: Bytes) -> Result<Bytes, Problem> {
        let message = self.given_message(usual);
        if message.get() > 0 {
            return Ok(message);
        }
        let traffic = self.word("traffic");
        Err(self.settings.problem(
            &self.key("message"),
            format!("messages of 0 B move nothing with traffic = \"{traffic}\""),
            "give 1 B or more; only a ping may be empty",
        ))
    }

    fn spread(&self, field: &str) -> Spread {
        match self.word(field).as_str() {
            "exponential" => Spread::Exponential,
            "uniform" => Spread::Uniform,
            _ => Spread::Fixed,
        }
    }

    fn sizes(&self, usual: Bytes) -> Result<Sizes, Problem> {
        Ok(Sizes {
            mean: self.message(usual)?,
            spread: self.spread("sizes"),
        })
    }

    fn destinations(&self) -> Destinations {
        match self.word("destinations").as_str() {
            "interleaved" => Destinations::Interleaved,
            "blocked" => Destinations::Blocked,
            _ => Destinations::Random,
        }
    }

    fn arrivals(&mut self, message: Bytes) -> Result<Arrivals, Problem> {
        if self.word("arrivals") != "open" {
            return Ok(Arrivals::Closed {
                think: self.time("think"),
            });
        }
        let own = self.key("load");
        let key = match self.settings.given(&own) {
            Some(_) => own,
            None => {
                self.uses_common_load = true;
                "workload.load".to_owned()
            }
        };
        let Some(given) = self.settings.given(&key) else {
            return Err(self.settings.problem(
                &self.key("load"),
                "it is missing, and arrivals = \"open\" needs it",
                "write, for example, load = \"20 MB/s\", or workload.load for all jobs",
            ));
        };
        let load = match given.value {
            Value::Bandwidth(bandwidth) => bandwidth,
            Value::Number(share) => {
                let bits_per_s = self.can_send.bits_per_s() as f64 * share;
                Bandwidth::from_bits_per_s(bits_per_s.round() as u64)
            }
            _ => unreachable!("a load is a bandwidth or a share"),
        };
        self.check_gap(&key, load, message)?;
        Ok(Arrivals::Open {
            load,
            gaps: self.spread("gaps"),
        })
    }

    /// The mean gap must be a time that a generator can count.
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

/// Gives each grid that the file leaves open two dimensions, as square as its job allows.
fn shape_grids(settings: &Settings, traffic: &mut JobsTraffic, nodes: u32) -> Result<(), Problem> {
    let open =
        |job: &Job| matches!(&job.traffic, Traffic::Neighbours { grid, .. } if grid.is_empty());
    if !traffic.jobs.iter().any(open) {
        return Ok(());
    }
    // Grids of one line hold for any number of nodes, so that nothing else is wrong with them.
    let mut lines = traffic.clone();
    for job in lines.jobs.iter_mut().filter(|job| open(job)) {
        job.traffic = Traffic::AllToAll {
            message: Bytes::new(1),
            pause: Time::ZERO,
        };
    }
    let layout = match Layout::new(&lines, nodes) {
        Ok(layout) => layout,
        Err(error) => return Err(misfit(settings, &lines, &error)),
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
