//! Random networks of switches, built as scenarios are, under the engine and under the naive reference: packet
//! by packet the same.

#[path = "../../packet/tests/engine/drive.rs"]
mod drive;
#[expect(
    dead_code,
    unused_imports,
    reason = "shared with the tests of the engine"
)]
#[path = "../../packet/tests/engine/reference/mod.rs"]
mod reference;

use drive::{Load, PARTS, both, load, rules};
use isthmus_kernel::Cycles;
use isthmus_machine::fattree::spec::FatTreeSpec;
use isthmus_machine::graph::spec::{Form, GraphSpec, Nodes, Routing, Shape};
use isthmus_machine::graph::{Built, Machine, MachineError};
use isthmus_machine::packets::spec::NetworkSpec;
use isthmus_machine::packets::ways::Table;
use isthmus_packet::{CHANNELS_MAX, Rules, Switching};
use isthmus_topology::Wiring;
use isthmus_topology::switches::Shortest;
use isthmus_units::Time;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use reference::{Flight, Network, Told};
use std::cell::Cell;
use std::ops::Range;

/// Ways through a network of switches, looked for anew at every step.
struct Naive<'m> {
    machine: &'m Machine<Table>,
    form: &'m Form,
    routing: Routing,
    /// Of each switch the class of the ways to it, and how many classes there are.
    layers: (Vec<u16>, u32),
    delay: Cycles,
}

impl Naive<'_> {
    fn wiring(&self) -> &Wiring {
        self.machine.wiring()
    }

    /// Switches beside one, by their cables.
    fn beside(&self, at: u32) -> Vec<u32> {
        let nodes = self.nodes();
        let mut found = Vec::new();
        for link in self.wiring().out_of(nodes + at) {
            let other = self.wiring().target(link);
            if other >= nodes && !found.contains(&(other - nodes)) {
                found.push(other - nodes);
            }
        }
        found
    }

    /// Places of all switches in the tree of `up-down`: by distance from the root, those behind one switch
    /// together, the lower number first.
    fn places(&self) -> Vec<usize> {
        let switches = 0..self.wiring().switch_count();
        let most = switches.clone().map(|at| self.beside(at).len()).max();
        let root = switches
            .clone()
            .find(|&at| Some(self.beside(at).len()) == most);
        let mut order = vec![root.unwrap()];
        let mut next = 0;
        while next < order.len() {
            let mut others = self.beside(order[next]);
            others.sort_unstable();
            others.retain(|other| !order.contains(other));
            order.extend(others);
            next += 1;
        }
        let place = |at| order.iter().position(|&other| other == at).unwrap();
        switches.map(place).collect()
    }

    /// Links to a switch, whether or not one has gone down; none if there is no way.
    fn distance(&self, places: &[usize], at: u32, down: bool, to: u32) -> Option<usize> {
        let mut seen = vec![(at, down)];
        let mut edge = seen.clone();
        for links in 0.. {
            if edge.iter().any(|&(at, _)| at == to) {
                return Some(links);
            }
            let mut next = Vec::new();
            for &(at, down) in &edge {
                for other in self.beside(at) {
                    let goes_down = places[other as usize] > places[at as usize];
                    let state = match self.routing {
                        Routing::Minimal => (other, false),
                        Routing::UpDown if down && !goes_down => continue,
                        Routing::UpDown => (other, goes_down),
                    };
                    if !seen.contains(&state) {
                        seen.push(state);
                        next.push(state);
                    }
                }
            }
            if next.is_empty() {
                return None;
            }
            edge = next;
        }
        None
    }

    /// The next switch on the way to another.
    fn next(&self, at: u32, down: bool, to: u32) -> u32 {
        let places = match self.routing {
            Routing::Minimal => vec![0; self.wiring().switch_count() as usize],
            Routing::UpDown => self.places(),
        };
        let left = self.distance(&places, at, down, to).unwrap();
        let mut nearer = self.beside(at);
        nearer.retain(|&other| {
            let goes_down = places[other as usize] > places[at as usize];
            let allowed = self.routing == Routing::Minimal || goes_down || !down;
            let then = self.routing == Routing::UpDown && goes_down;
            allowed && self.distance(&places, other, then, to) == Some(left - 1)
        });
        match self.form {
            Form::Cables { .. } => nearer[(at + to) as usize % nearer.len()],
            _ => nearer[self.form.choice(at, to, &nearer)],
        }
    }
}

impl Network for Naive<'_> {
    fn nodes(&self) -> u32 {
        self.wiring().node_count()
    }

    fn links(&self) -> u32 {
        self.wiring().link_count()
    }

    fn target(&self, link: u32) -> u32 {
        self.wiring().target(link)
    }

    fn port(&self, link: u32) -> (u32, u32) {
        let out = self.wiring().out_of(self.target(link));
        (self.wiring().reverse(link) - out.start, out.len() as u32)
    }

    fn of_node(&self, node: u32) -> Range<u32> {
        self.wiring().out_of(node)
    }

    fn classes(&self) -> u32 {
        self.layers.1
    }

    fn length(&self, link: u32) -> Cycles {
        let ends = [link, self.wiring().reverse(link)].map(|link| self.target(link));
        match ends.iter().all(|&end| end >= self.nodes()) {
            true => self.delay,
            false => 0,
        }
    }

    fn wanted(&self, at: u32, flight: &Flight, _lot: u64) -> (Range<u32>, u32) {
        let nodes = self.nodes();
        let all_to = |target: u32| {
            let out = self.wiring().out_of(at);
            let links: Vec<u32> = out.filter(|&link| self.target(link) == target).collect();
            links[0]..links[0] + links.len() as u32
        };
        let switch = |node: u32| self.target(self.of_node(node).start);
        let last = switch(flight.to);
        if at < nodes {
            return (all_to(switch(at)), 0);
        }
        if at == last {
            return (all_to(flight.to), 0);
        }
        let path = flight.path.iter().map(|lane| self.target(lane.link));
        let switches: Vec<u32> = path.map(|vertex| vertex - nodes).collect();
        let down = self.routing == Routing::UpDown && {
            let places = self.places();
            let places = switches.iter().map(|&at| places[at as usize]);
            !places.is_sorted_by(|a, b| a > b)
        };
        let next = self.next(at - nodes, down, last - nodes);
        let class = self.layers.0[(last - nodes) as usize];
        (all_to(nodes + next), class.into())
    }
}

/// Rings, grids and lists of cables with widths, some of whose switches have no nodes.
fn shapes() -> impl Strategy<Value = Shape> {
    let grid = prop::collection::vec(2u32..4, 1..4);
    let cables = (2u32..9).prop_flat_map(|switches| {
        let tree: Vec<_> = (1..switches).map(|switch| 0..switch).collect();
        let more = prop::collection::vec((0..switches, 1..switches), 0..8);
        (tree, more).prop_map(move |(tree, more)| {
            let tree = tree.into_iter().zip(1..);
            let more = more
                .into_iter()
                .map(move |(a, step)| (a, (a + step) % switches));
            Form::of_cables(tree.chain(more).collect())
        })
    });
    let forms = prop_oneof![
        (2u32..9).prop_map(|switches| Form::Ring { switches }),
        grid.clone().prop_map(|sizes| Form::Torus { sizes }),
        grid.prop_map(|sizes| Form::Mesh { sizes }),
        cables.clone(),
        cables,
    ];
    let routings = prop::sample::select(vec![Routing::Minimal, Routing::UpDown]);
    (forms, routings, 0u64..40).prop_flat_map(|(form, routing, delay)| {
        let switches = form.switch_count();
        let nodes = prop_oneof![
            (1u32..3).prop_map(Nodes::Each),
            prop::collection::vec(0..switches, 2..14).prop_map(Nodes::At),
        ];
        nodes.prop_map(move |nodes| Shape::Switches {
            form: form.clone(),
            nodes,
            routing,
            delay: Time::from_ps(100 * delay),
        })
    })
}

/// What has been seen in all cases.
#[derive(Default)]
struct Count {
    cases: Cell<u64>,
    circuits: Cell<u64>,
    packets: Cell<u64>,
    /// Packets over two classes of channels.
    layered: Cell<u64>,
    longest: Cell<usize>,
    stuck: Cell<u64>,
}

fn add(cell: &Cell<u64>, more: u64) {
    cell.set(cell.get() + more);
}

fn compare(
    shape: Shape,
    mut rules: Rules,
    load: &Load,
    count: &Count,
) -> Result<(), TestCaseError> {
    let spec = GraphSpec {
        shape,
        network: NetworkSpec {
            virtual_channels: CHANNELS_MAX,
            ..FatTreeSpec::qsnet(1).network
        },
    };
    let machine = match Built::new(&spec) {
        Ok(Built::Switches(machine)) => machine,
        Err(MachineError::Layers { layers, .. }) if layers > CHANNELS_MAX => return Ok(()),
        other => return Err(TestCaseError::fail(format!("{other:?}"))),
    };
    let Shape::Switches {
        form,
        routing,
        delay,
        ..
    } = &spec.shape
    else {
        unreachable!("no dragonflies here");
    };
    let switches = form.switch_count() as usize;
    let layers = match routing {
        Routing::Minimal => {
            let layers = Shortest::new(form, machine.wiring()).unwrap().layers();
            (layers.of, layers.count.into())
        }
        Routing::UpDown => (vec![0; switches], 1),
    };
    let classes = layers.1;
    let network = Naive {
        delay: machine.network().ticks(*delay),
        machine: &machine,
        form,
        routing: *routing,
        layers,
    };
    rules.channels = rules.channels.min(CHANNELS_MAX / classes);
    if let (Switching::CutThrough { outputs, .. }, true) = (&mut rules.switching, classes > 1) {
        *outputs = None;
    }
    let (shown, _) = both(Table::clone(machine.ways()), &network, rules, load)?;
    add(&count.cases, 1);
    let circuit = matches!(rules.switching, Switching::Circuit { .. });
    add(&count.circuits, circuit.into());
    add(&count.stuck, u64::from(shown.1[PARTS as usize - 1][0] > 0));
    for told in &shown.0 {
        if let Told::Packet { path, .. } = told {
            add(&count.packets, 1);
            let high = path.iter().any(|lane| lane.channel >= rules.channels);
            add(&count.layered, high.into());
            count.longest.set(count.longest.get().max(path.len()));
        }
    }
    Ok(())
}

/// Beside the 1,000 of the engine's own tests; `PROPTEST_CASES=1000 cargo test -p isthmus-machine --test graph_exact --
/// --nocapture` for more.
#[test]
fn engine_and_reference_tell_the_same_of_networks_of_switches() {
    let given = std::env::var_os("PROPTEST_CASES").is_some();
    let config = Config::default();
    let mut runner = TestRunner::new(Config {
        cases: if given { config.cases } else { 250 },
        failure_persistence: None,
        ..config
    });
    let count = Count::default();
    let case = |(shape, rules, load): (Shape, Rules, Load)| compare(shape, rules, &load, &count);
    runner.run(&(shapes(), rules(), load()), case).unwrap();
    println!(
        "{} random networks of switches ({} of circuits): {} packets, {} of them in a layer beyond the first, over \
         {} links at most; {} were cut short with messages under way: no difference, and in the end all \
         delivered, none twice",
        count.cases.get(),
        count.circuits.get(),
        count.packets.get(),
        count.layered.get(),
        count.longest.get(),
        count.stuck.get(),
    );
    assert!(given || (count.cases.get() > 240 && count.circuits.get() > 50));
    assert!(given || (count.layered.get() > 100 && count.longest.get() >= 6));
}
