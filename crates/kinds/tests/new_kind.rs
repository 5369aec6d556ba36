//! A kind of machine from outside, whole: the example of the guide's page "Add a kind of machine".

use isthmus_experiment::result::RunResult;
use isthmus_experiment::{Experiment, Kinds, Options, Row};
use isthmus_scenario::format::Format as _;

mod hubs {
    // --8<-- [start:table]
    use isthmus_kinds::packets::{self, NetworkTable};
    use isthmus_scenario::format::{Describe, Whole};

    /// `[machine]`.
    #[derive(Describe)]
    struct MachineTable {
        /// Leaf switches, each joined to every hub.
        #[describe(holds = Whole::new(2, 64), example = "4")]
        leaves: u32,
        /// Hubs.
        #[describe(holds = Whole::new(1, 16), default = 1)]
        hubs: u32,
        /// Nodes at each leaf switch.
        #[describe(holds = Whole::new(1, 64), default = 1)]
        nodes_per_leaf: u32,
        #[describe(flatten)]
        network: NetworkTable,
    }
    // --8<-- [end:table]

    // --8<-- [start:format]
    use isthmus_machine::packets::spec::{Adaptive, NetworkSpec};
    use isthmus_scenario::format::{Format, Problem, Rows, Settings, Tables, Watch};
    use isthmus_workload::jobs::spec::JobsTraffic;

    /// What was read, as plain values.
    #[derive(Debug, Clone, PartialEq)]
    pub struct HubsSpec {
        /// Leaf switches.
        pub leaves: u32,
        /// Hubs.
        pub hubs: u32,
        /// Nodes at each leaf switch.
        pub nodes_per_leaf: u32,
        /// Links, switches and interfaces.
        pub network: NetworkSpec,
    }

    impl HubsSpec {
        /// Number of nodes.
        pub fn nodes(&self) -> u32 {
            self.leaves * self.nodes_per_leaf
        }
    }

    /// The kind.
    #[derive(Debug)]
    pub struct Hubs;

    impl Format for Hubs {
        const NAME: &'static str = "hubs";
        const TABLES: Tables = packets::tables(|| Rows::of::<MachineTable>("machine"), None);
        type Machine = HubsSpec;
        type Work = JobsTraffic;

        fn machine(settings: &Settings) -> Result<HubsSpec, Problem> {
            let table = MachineTable::read(settings, "machine");
            if table.hubs > table.leaves {
                let problem = format!("{} hubs for {} leaves", table.hubs, table.leaves);
                let hint = format!("give {} hubs or fewer", table.leaves);
                return Err(settings.problem("machine.hubs", problem, hint));
            }
            Ok(HubsSpec {
                leaves: table.leaves,
                hubs: table.hubs,
                nodes_per_leaf: table.nodes_per_leaf,
                network: packets::network(settings, table.network, Adaptive::default())?,
            })
        }

        fn work(settings: &Settings, machine: &HubsSpec) -> Result<JobsTraffic, Problem> {
            packets::jobs(settings, &machine.network, machine.nodes())
        }

        fn watch(watch: &mut Watch<'_>, machine: &HubsSpec, work: &JobsTraffic) {
            packets::watch(watch, &machine.network, work, machine.nodes());
        }

        fn derived(machine: &HubsSpec) -> Vec<(&'static str, String)> {
            packets::derived(&machine.network)
        }
    }
    // --8<-- [end:format]

    // --8<-- [start:routes]
    use isthmus_machine::packets::routes::{Hop, Rule, Table};
    use isthmus_machine::packets::{Network, Routed};
    use isthmus_topology::Wiring;

    /// Nodes first, then leaf switches, then hubs: a cable is the numbers of its two ends.
    fn wiring(spec: &HubsSpec) -> Wiring {
        let (nodes, leaves) = (spec.nodes(), spec.leaves);
        let mut cables = Vec::new();
        for node in 0..nodes {
            cables.push((node, nodes + node / spec.nodes_per_leaf));
        }
        for leaf in 0..leaves {
            for hub in 0..spec.hubs {
                cables.push((nodes + leaf, nodes + leaves + hub));
            }
        }
        Wiring::new(nodes, leaves + spec.hubs, &cables)
    }

    /// The rule: of several hubs that whose number the two leaf switches give together.
    fn routes(spec: &HubsSpec, wiring: &Wiring) -> Table {
        let (leaves, hubs) = (spec.leaves, spec.hubs);
        let rule = Rule {
            classes: 1,
            states: 1,
            start: |_, _| 0,
            next: |_, at, to| {
                let next = if at < leaves {
                    leaves + (at + to) % hubs
                } else {
                    to
                };
                Some(Hop {
                    to: next,
                    class: 0,
                    state: 0,
                })
            },
        };
        let lengths = vec![0; wiring.link_count() as usize];
        Table::new(wiring.clone(), lengths, rule).expect("a hub is next to every leaf switch")
    }
    // --8<-- [end:routes]

    // --8<-- [start:kind]
    use isthmus_experiment::Flaw;
    use isthmus_experiment::subject::Subject;
    use serde::Serialize;
    use std::sync::Arc;

    /// The machine in figures, as results keep it.
    #[derive(Debug, Clone, PartialEq, Serialize)]
    pub struct HubsSummary {
        /// Leaf switches.
        pub leaves: u32,
        /// Hubs.
        pub hubs: u32,
        /// Nodes.
        pub nodes: u32,
    }

    impl isthmus_experiment::Kind for Hubs {
        type Built = (HubsSpec, Arc<Routed<Table>>);
        type Summary = HubsSummary;

        fn build(spec: &HubsSpec) -> Result<Self::Built, Flaw> {
            let network = Network::new(&spec.network).map_err(|error| packets::flaw(&error))?;
            let wiring = wiring(spec);
            let routes = routes(spec, &wiring);
            let routed = Routed::new(wiring, routes, network);
            let routed = routed.map_err(|error| packets::unroutable(&error))?;
            Ok((spec.clone(), Arc::new(routed)))
        }

        fn subject(
            (_, routed): &Self::Built,
            work: &JobsTraffic,
        ) -> Result<Arc<dyn Subject>, Flaw> {
            packets::subject(routed, work)
        }

        fn summary((spec, _): &Self::Built) -> HubsSummary {
            HubsSummary {
                leaves: spec.leaves,
                hubs: spec.hubs,
                nodes: spec.nodes(),
            }
        }

        fn measures(work: &JobsTraffic) -> Vec<String> {
            packets::names(work)
        }
    }
    // --8<-- [end:kind]
}

// --8<-- [start:row]
static KINDS: Kinds = Kinds::new(&[Row::of::<hubs::Hubs>()]);
// --8<-- [end:row]

fn text(machine: &str, work: &str) -> String {
    format!(
        "version = 1\nname = \"h\"\n[machine]\nkind = \"hubs\"\n{machine}\n[workload]\n{work}\n"
    )
}

fn run(machine: &str, work: &str) -> RunResult {
    let scenario = KINDS.parse(&text(machine, work), "h.toml", &[]);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let experiment = Experiment::new(&KINDS, scenario, Options::default());
    let experiment = experiment.unwrap_or_else(|error| panic!("{error}"));
    experiment.run().unwrap_or_else(|error| panic!("{error}"))
}

/// Packets of 100 B take 100 ns, a switch 10 ns.
const PLAIN: &str = "bandwidth = \"1 GB/s\"\nswitch_latency = \"10 ns\"\nswitching = \"cut-through\"\n\
    nic = { payload = \"96 B\", overhead = \"4 B\", padding = \"1 B\", dma_period = \"1 ns\", \
    receive_delay = \"0 s\", software_latency = \"0 s\" }";

// --8<-- [start:test]
/// Two nodes of one leaf switch pass that alone; others two leaf switches and a hub.
#[test]
fn a_ping_takes_its_way() {
    for (to, switches) in [(1, 1), (2, 3), (7, 3)] {
        let result = run(
            &format!("leaves = 4\nhubs = 2\nnodes_per_leaf = 2\n{PLAIN}"),
            &format!(
                "[workload.jobs.p]\ntraffic = \"ping\"\nnodes = [0, {to}]\nmessage = \"96 B\"\n\
                 [stop]\nrule = \"fixed\"\nmessages = 100\nwarmup = \"none\""
            ),
        );
        let mut measures = result.points[0].measures.iter();
        let packet = measures.find(|measure| measure.name == "p.packet").unwrap();
        let expected = 0.1 + f64::from(switches) * 0.01;
        assert!((packet.mean.unwrap() / expected - 1.0).abs() < 1e-9, "{to}");
    }
}
// --8<-- [end:test]

#[test]
fn its_tables_hang_together() {
    assert_eq!(KINDS.formats().flaws(), [""; 0]);
    assert_eq!(hubs::Hubs::NAME, "hubs");
}

#[test]
fn errors_name_their_place() {
    let work = "[workload.jobs.p]\ntraffic = \"uniform\"";
    let error = KINDS.parse(&text("leaves = 2\nhubs = 3", work), "h.toml", &[]);
    assert_eq!(
        error.unwrap_err().to_string(),
        "h.toml:6: machine.hubs: 3 hubs for 2 leaves; give 2 hubs or fewer"
    );
    let error = KINDS.parse(&text("hubs = 3", work), "h.toml", &[]);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("machine.leaves"), "{error}");
}
