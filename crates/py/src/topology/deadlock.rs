//! Determines whether messages in a network can wait for one another in a cycle.

use isthmus_topology::deadlock::DependencyCycle;
use isthmus_topology::{CubeFaults, FaultyCube, RoutingScheme};
use serde::Serialize;

/// Maximum number of nodes of a hypercube without faults for which all dependences between links
/// are checked.
const WALKED_MAX: u32 = 1 << 16;
/// Maximum number of nodes of a hypercube with faults for which the routes between all pairs of
/// nodes are checked, under routings other than up*/down*.
const ROUTED_MAX: u32 = 1 << 12;
/// Maximum number of nodes of a hypercube for which the routes between all pairs of nodes are
/// checked under up*/down* routing, which searches for every route.
const SEARCHED_MAX: u32 = 1 << 10;

/// The verdict whether a machine's networks are free of deadlock, in JSON.
#[derive(Serialize)]
pub(super) struct Deadlock {
    pub free: bool,
    pub routing: String,
    pub channels: usize,
    pub dependencies: Option<u64>,
    /// Number of layers of virtual channels that the routes of an imported graph use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layers: Option<u16>,
    pub proof: String,
    /// Channels of a cycle of dependencies; empty if there is none. A topology given as a graph is free
    /// of them by layers: these are the channels of the cycle that it would have with a single layer.
    pub cycle: Vec<String>,
    pub alternative: Option<Alternative>,
}

/// Another routing, for networks whose links have fewer virtual channels than the first routing
/// needs.
#[derive(Serialize)]
pub(super) struct Alternative {
    pub routing: String,
    pub free: bool,
    pub proof: String,
    /// Number of ordered pairs of nodes, by the number of hops of their route.
    pub hops: Vec<u64>,
}

/// The proof of freedom from deadlock for routings whose channels can be numbered.
const NUMBERED: &str = "the channels are numbered so that every route rises";
/// The proof of freedom from deadlock for up*/down* routing.
const UP_DOWN: &str = "no route goes up again after it went down, so no circle can close";

/// One network of a hypercube machine, among its PEs or among its I/O nodes.
pub(super) struct CubeNetwork<'a> {
    pub name: &'static str,
    pub faults: &'a CubeFaults,
    /// Number of working channels: each link has two, one in each direction.
    pub channels: usize,
    /// Number of ordered pairs of nodes that would be two hops apart without faults.
    pub pairs_at_two: u64,
}

/// Result of the check whether one network is free of deadlock.
struct Verdict {
    routing: String,
    dependencies: Option<u64>,
    proof: Result<&'static str, DependencyCycle>,
}

/// Return the verdict on all networks of a machine. No cycle spans two of them: a message passes
/// from the I/O network to the network of the PEs and never back, and channels to end nodes lead
/// nowhere else.
pub(super) fn of_cubes(networks: &[CubeNetwork<'_>]) -> Deadlock {
    let verdicts: Vec<Verdict> = networks.iter().map(judge).collect();
    let cycle = networks
        .iter()
        .zip(&verdicts)
        .find_map(|(network, verdict)| {
            let cycle = verdict.proof.as_ref().err()?;
            Some(names(network, cycle))
        });
    let proofs = verdicts.iter().map(|verdict| verdict.proof.as_ref().ok());
    Deadlock {
        free: cycle.is_none(),
        routing: joined(networks, verdicts.iter().map(|verdict| &*verdict.routing)),
        channels: networks.iter().map(|network| network.channels).sum(),
        dependencies: verdicts.iter().map(|verdict| verdict.dependencies).sum(),
        layers: None,
        proof: match &cycle {
            None => joined(networks, proofs.map(|proof| proof.copied().unwrap_or(""))),
            Some(_) => String::new(),
        },
        cycle: cycle.unwrap_or_default(),
        alternative: None,
    }
}

/// Join the texts of all networks: one text if they are equal, otherwise a list with the names of
/// the networks.
fn joined<'a>(networks: &[CubeNetwork<'_>], texts: impl Iterator<Item = &'a str>) -> String {
    let texts: Vec<&str> = texts.collect();
    if texts.windows(2).all(|pair| pair[0] == pair[1]) {
        return texts.first().copied().unwrap_or_default().to_owned();
    }
    let named = networks.iter().zip(texts);
    let named: Vec<_> = named
        .map(|(network, text)| format!("{} network: {text}", network.name))
        .collect();
    named.join("; ")
}

/// Return the names of the channels in a cycle.
fn names(network: &CubeNetwork<'_>, cycle: &DependencyCycle) -> Vec<String> {
    let cube = network.faults.cube();
    let name = |&channel: &usize| {
        let hop = cube.hop(channel);
        format!("{} {} to {}", network.name, hop.node, hop.target())
    };
    cycle.channels.iter().map(name).collect()
}

/// Return the verdict on one network of the machine.
fn judge(network: &CubeNetwork<'_>) -> Verdict {
    let cube = network.faults.cube();
    if !network.faults.is_none() {
        return judge_faulty(network.faults);
    }
    let by_order = if cube.is_complete() {
        "every route crosses its dimensions in falling order (section 4.2 of the hypercube paper)"
    } else {
        "every route crosses its dimensions in falling order, but for the climb into a part that is \
         not complete, which comes last"
    };
    let walked = cube.node_count() <= WALKED_MAX;
    Verdict {
        routing: "e-cube, highest dimension first".to_owned(),
        // A message that holds one link requests another exactly if the two links form a route. So
        // there is one dependence for each pair of nodes two hops apart.
        dependencies: Some(network.pairs_at_two),
        proof: match walked.then(|| cube.check_deadlock()) {
            None => Ok(by_order),
            Some(Ok(_)) => Ok(NUMBERED),
            Some(Err(cycle)) => Err(cycle),
        },
    }
}

/// Return the verdict on a network with faults, by checking the routes between all pairs of nodes.
fn judge_faulty(faults: &CubeFaults) -> Verdict {
    let faulty = FaultyCube::new(faults.clone());
    let nodes = faults.cube().node_count();
    let (routing, by_construction, walked_max) = match faulty.scheme() {
        RoutingScheme::Unaffected => (
            "e-cube, highest dimension first".to_owned(),
            "every route crosses its dimensions in falling order",
            ROUTED_MAX,
        ),
        RoutingScheme::Detours { affected } => (
            format!("e-cube; detours for {affected} pairs"),
            "each detour was taken only because it closes no circle with the other routes",
            ROUTED_MAX,
        ),
        RoutingScheme::LocalDetours { places } => (
            format!("e-cube; local detours at {places} places"),
            "each detour was taken only because it closes no circle with the other routes",
            ROUTED_MAX,
        ),
        RoutingScheme::UpDown => ("up*/down*".to_owned(), UP_DOWN, SEARCHED_MAX),
    };
    if nodes > walked_max {
        return Verdict {
            routing,
            dependencies: None,
            proof: Ok(by_construction),
        };
    }
    let dependencies = faulty.dependencies();
    Verdict {
        routing,
        dependencies: Some(dependencies.len() as u64),
        proof: dependencies.check().map(|_| NUMBERED),
    }
}
