//! A fat tree from its settings.

use crate::error::Problem;
use crate::machine::Machine;
use crate::quantity::rounded;
use crate::settings::Settings;
use isthmus_machine::fattree::spec::{
    Adaptive, Age, AgeFrom, AgeTie, Ascent, FatTreeSpec, LatePackets, LinkLoad, LinkTie, Nic,
    Readings, Shape, Switching,
};
use isthmus_topology::trees::{Ports, TreesError};
use isthmus_units::{Bandwidth, Time};

/// Longest packet on a link; engines count its time in 32 bits of picoseconds.
const PACKET_MAX: Time = Time::from_us(4_000);

/// The tree, checked.
pub(super) fn build(settings: &Settings) -> Result<FatTreeSpec, Problem> {
    let spec = FatTreeSpec {
        shape: shape(settings)?,
        ascent: match settings.text("machine.ascent").as_str() {
            "destination" => Ascent::Destination,
            "source" => Ascent::Source,
            "random" => Ascent::Random,
            _ => Ascent::Adaptive,
        },
        bandwidth: settings.bandwidth("machine.bandwidth"),
        switch_latency: settings.time("machine.switch_latency"),
        virtual_channels: settings.small("machine.virtual_channels"),
        switching: switching(settings)?,
        age: match settings.text("machine.age").as_str() {
            "unlimited" => Age::Unlimited,
            "per-switch" => Age::PerSwitch,
            _ => Age::Saturating {
                limit: settings.time("machine.age_limit"),
            },
        },
        readings: readings(settings),
        nic: nic(settings)?,
        late: (settings.text("machine.late") == "charged").then(|| LatePackets {
            after: settings.time("machine.late_after"),
            cost: settings.time("machine.late_cost"),
        }),
    };
    check_links(settings, &spec)?;
    Ok(spec)
}

fn readings(settings: &Settings) -> Readings {
    Readings {
        age_from: match settings.text("machine.age_from").as_str() {
            "message" => AgeFrom::Message,
            "arrival" => AgeFrom::Arrival,
            "request" => AgeFrom::Request,
            _ => AgeFrom::Injection,
        },
        age_tie: match settings.text("machine.age_tie").as_str() {
            "random" => AgeTie::Random,
            "lowest" => AgeTie::Lowest,
            _ => AgeTie::RoundRobin,
        },
        adaptive: Adaptive {
            load: match settings.text("machine.ascent_load").as_str() {
                "idle" => LinkLoad::Idle,
                _ => LinkLoad::Room,
            },
            tie: match settings.text("machine.ascent_tie").as_str() {
                "longest-idle" => LinkTie::LongestIdle,
                "lowest" => LinkTie::Lowest,
                _ => LinkTie::Random,
            },
        },
    }
}

/// The times that follow from the switches and the memory.
pub(super) fn derived(machine: &Machine) -> Vec<(&'static str, String)> {
    let Machine::FatTree(tree) = machine else {
        return Vec::new();
    };
    let hop = match tree.switching {
        Switching::Circuit {
            acknowledgement_hop,
            ..
        } => ("machine.acknowledgement_hop", acknowledgement_hop),
        Switching::CutThrough { credit, .. } => ("machine.credit", credit),
    };
    let times = [
        hop,
        ("machine.nic.dma_period", tree.nic.dma_period),
        ("machine.nic.receive_delay", tree.nic.receive_delay),
    ];
    times.map(|(key, time)| (key, time.to_string())).to_vec()
}

fn shape(settings: &Settings) -> Result<Shape, Problem> {
    match settings.text("machine.tree").as_str() {
        "ports" => by_ports(settings),
        "generalised" => {
            let down = settings.counts("machine.down").to_vec();
            let levels = down.len();
            let shape = Shape::Generalised {
                up: settings.counts("machine.up").to_vec(),
                parallel: match settings.given("machine.parallel") {
                    Some(_) => settings.counts("machine.parallel").to_vec(),
                    None => vec![1; levels],
                },
                down,
            };
            shape.check().map_err(|error| {
                let key = match &error {
                    TreesError::Lengths { up, .. } if *up != levels => "machine.up",
                    TreesError::Lengths { .. } => "machine.parallel",
                    _ => "machine.down",
                };
                tree_problem(settings, key, &error)
            })?;
            Ok(shape)
        }
        _ => {
            let (arity, levels) = (
                settings.small("machine.arity"),
                settings.small("machine.levels"),
            );
            let shape = Shape::KAry { arity, levels };
            shape
                .check()
                .map_err(|error| tree_problem(settings, "machine.levels", &error))?;
            match settings.small("machine.taper") {
                1 => Ok(shape),
                taper => Shape::tapered(arity, levels, taper)
                    .map_err(|error| tree_problem(settings, "machine.taper", &error)),
            }
        }
    }
}

fn by_ports(settings: &Settings) -> Result<Shape, Problem> {
    let down = settings.counts("machine.ports.down");
    let up = settings.counts("machine.ports.up");
    if up.len() + 1 != down.len() {
        let problem = format!(
            "ports up of {} levels where machine.ports.down has {}",
            up.len(),
            down.len()
        );
        return Err(settings.problem(
            "machine.ports.up",
            problem,
            "give those of each level but the top, which has none",
        ));
    }
    let top = std::iter::once(&0);
    let ports = down.iter().zip(up.iter().chain(top));
    let ports: Vec<Ports> = ports.map(|(&down, &up)| Ports { down, up }).collect();
    let nodes = settings.small("machine.nodes");
    Shape::from_ports(nodes, &ports).map_err(|error| {
        let key = match &error {
            TreesError::Nodes { .. } => "machine.nodes",
            _ => "machine.ports.down",
        };
        tree_problem(settings, key, &error)
    })
}

/// What the topology finds wrong with the tree, at the field that says so.
fn tree_problem(settings: &Settings, key: &str, error: &TreesError) -> Problem {
    let text = error.to_string();
    // The topology says what is wrong, and after that what would be right where one thing would.
    let (problem, hint) = match text.split_once("; ") {
        Some((problem, hint)) => (problem.to_owned(), hint.to_owned()),
        None => (text, "give another tree".to_owned()),
    };
    settings.problem(key, problem, hint)
}

fn switching(settings: &Settings) -> Result<Switching, Problem> {
    let latency = settings.time("machine.switch_latency");
    let or_latency = |key: &str| match settings.given(key) {
        Some(_) => settings.time(key),
        None => latency,
    };
    if settings.text("machine.switching") != "cut-through" {
        return Ok(Switching::Circuit {
            acknowledgement: settings.time("machine.acknowledgement"),
            acknowledgement_hop: or_latency("machine.acknowledgement_hop"),
        });
    }
    let key = "machine.buffer";
    let (buffer, channels) = (
        settings.small(key),
        settings.small("machine.virtual_channels"),
    );
    if channels > buffer {
        let places = if buffer == 1 { "packet" } else { "packets" };
        return Err(settings.problem(
            key,
            format!("{channels} virtual channels, but buffers of {buffer} {places}"),
            format!("give {channels} or more, one for each, or fewer virtual channels"),
        ));
    }
    Ok(Switching::CutThrough {
        buffer,
        credit: or_latency("machine.credit"),
        output_buffer: settings.small("machine.output_buffer"),
        speedup: settings.small("machine.speedup"),
    })
}

fn nic(settings: &Settings) -> Result<Nic, Problem> {
    // From the reading of section 4: they give the peaks of uni- and bidirectional pings.
    let (period, delay) = match settings.text("machine.memory").as_str() {
        "main" => (Time::from_ns(1_600), Time::from_ns(2_400)),
        _ => (Time::from_ps(955_200), Time::from_ns(188)),
    };
    let or = |key: &str, preset: Time| match settings.given(key) {
        Some(_) => settings.time(key),
        None => preset,
    };
    let nic = Nic {
        payload: settings.bytes("machine.nic.payload"),
        overhead: settings.bytes("machine.nic.overhead"),
        padding: settings.bytes("machine.nic.padding"),
        request: settings.bytes("machine.nic.request"),
        packets_in_flight: settings.small("machine.nic.packets_in_flight"),
        dma_period: or("machine.nic.dma_period", period),
        dma_block: settings.time("machine.nic.dma_block"),
        receive_delay: or("machine.nic.receive_delay", delay),
        software_latency: settings.time("machine.nic.software_latency"),
        read_turnaround: settings.time("machine.nic.read_turnaround"),
        dma_slice: settings.small("machine.nic.dma_slice"),
    };
    if nic.request > nic.payload {
        return Err(settings.problem(
            "machine.nic.request",
            format!(
                "{} is more than a packet can hold, {}",
                nic.request, nic.payload
            ),
            format!("give at most {}", nic.payload),
        ));
    }
    let key = "machine.nic.padding";
    if nic.padding > nic.payload && settings.given(key).is_some() {
        return Err(settings.problem(
            key,
            format!(
                "{} is more than a packet can hold, {}: most of each packet would be padding",
                nic.padding, nic.payload
            ),
            format!("give at most {}", nic.payload),
        ));
    }
    if nic.overhead.get() == 0 && nic.request.get() == 0 {
        return Err(settings.problem(
            "machine.nic.overhead",
            "packets without data would have no length at all",
            "give 1 B or more",
        ));
    }
    Ok(nic)
}

/// A byte must take a whole number of picoseconds on a link, and a packet no ages.
fn check_links(settings: &Settings, spec: &FatTreeSpec) -> Result<(), Problem> {
    let key = "machine.bandwidth";
    let bits_per_s = spec.bandwidth.bits_per_s();
    let ps = 8e12 / bits_per_s as f64;
    if 8_000_000_000_000 % bits_per_s != 0 {
        return Err(settings.problem(
            key,
            format!(
                "a byte takes {} ps, which is not a whole number of picoseconds",
                rounded(ps, 6)
            ),
            format!(
                "give one with whole picoseconds for each byte, {}",
                near(ps)
            ),
        ));
    }
    let nic = &spec.nic;
    let padded = nic.payload.get().next_multiple_of(nic.padding.get());
    let longest = (padded + nic.overhead.get()) as f64 * ps;
    if longest <= PACKET_MAX.ps() as f64 {
        return Ok(());
    }
    Err(settings.problem(
        key,
        format!(
            "a full packet takes {} us on a link",
            rounded(longest / 1e6, 6)
        ),
        format!("give faster links or shorter packets, {PACKET_MAX} at most"),
    ))
}

/// The nearest bandwidths whose bytes take whole picoseconds.
fn near(ps: f64) -> String {
    let bandwidth = |ps: f64| Bandwidth::from_bits_per_s((8e12 / ps) as u64);
    let exact = |ps: &f64| 8_000_000_000_000 % (*ps as u64) == 0;
    let slower = (0..10_000)
        .map(|more| ps.ceil() + f64::from(more))
        .find(exact);
    match slower {
        Some(slower) => format!("for example {}", bandwidth(slower)),
        None => "for example 400 MB/s".to_owned(),
    }
}
