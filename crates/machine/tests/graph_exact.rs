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
use isthmus_machine::graph::spec::{Form, GraphSpec, Nodes, Routes, Routing, Shape};
use isthmus_machine::graph::{Built, Machine, MachineError};
use isthmus_machine::packets::routes::Table;
use isthmus_machine::packets::spec::NetworkSpec;
use isthmus_packet::{CHANNELS_MAX, Rules, Switching};
use isthmus_topology::Wiring;
use isthmus_topology::switches::{Change, Layers, Shortest};
use isthmus_units::Time;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use reference::{Flight, Network, Report};
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

/// Routes through a network of switches, searched again at every step.
struct Naive<'m> {
    machine: &'m Machine<Table>,
    form: &'m Form,
    routing: &'m Routing,
    /// The classes of channels, if there are several.
    layers: Option<Layers>,
    delay: Cycles,
}

impl Naive<'_> {
    fn wiring(&self) -> &Wiring {
        self.machine.wiring()
    }

    fn is_up_down(&self) -> bool {
        *self.routing == Routing::UpDown
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
                    let state = match (self.is_up_down(), down && !goes_down) {
                        (false, _) => (other, false),
                        (true, true) => continue,
                        (true, false) => (other, goes_down),
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
        let places = match self.is_up_down() {
            false => vec![0; self.wiring().switch_count() as usize],
            true => self.places(),
        };
        let left = self.distance(&places, at, down, to).unwrap();
        let mut nearer = self.beside(at);
        nearer.retain(|&other| {
            let goes_down = places[other as usize] > places[at as usize];
            let allowed = !self.is_up_down() || goes_down || !down;
            let then = self.is_up_down() && goes_down;
            allowed && self.distance(&places, other, then, to) == Some(left - 1)
        });
        match self.form {
            Form::Cables { .. } => nearer[(at + to) as usize % nearer.len()],
            _ => nearer[self.form.choice(at, to, &nearer)],
        }
    }
}

impl Naive<'_> {
    /// The layer of the next link of the way through a torus: 1 as long as the way along the same dimension still
    /// has to cross the cable between its first and its last place.
    fn dateline(&self, mut at: u32, to: u32) -> u16 {
        let Form::Torus { sizes } = self.form else {
            unreachable!("other forms need no datelines");
        };
        let places = |mut switch: u32| {
            let place = |&size: &u32| {
                let place = switch % size;
                switch /= size;
                place
            };
            sizes.iter().map(place).collect::<Vec<u32>>()
        };
        let mut along = None;
        while at != to {
            let next = self.next(at, false, to);
            let [here, there] = [at, next].map(places);
            let dimension = (0..sizes.len()).find(|&each| here[each] != there[each]);
            if along.is_some() && along != dimension {
                return 0;
            }
            along = dimension;
            let changed = dimension.unwrap();
            if here[changed].abs_diff(there[changed]) > 1 {
                return 1;
            }
            at = next;
        }
        0
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
        self.layers.as_ref().map_or(1, |layers| layers.count.into())
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
        let down = self.is_up_down() && {
            let places = self.places();
            let places = switches.iter().map(|&at| places[at as usize]);
            !places.is_sorted_by(|a, b| a > b)
        };
        let next = self.next(at - nodes, down, last - nodes);
        let class = self.layers.as_ref().map_or(0, |layers| {
            let (at, last) = (at - nodes, last - nodes);
            match layers.change() {
                Some(Change::Dateline) => self.dateline(at, last),
                _ => layers.of(at, last),
            }
        });
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
        // Large enough for datelines.
        (5u32..7).prop_map(|size| Form::Torus {
            sizes: vec![5, size],
        }),
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
            routing: routing.clone(),
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
    /// Those whose routes are listed.
    listed: Cell<u64>,
    /// Tori with datelines.
    datelines: Cell<u64>,
    /// Packets over two classes of channels.
    layered: Cell<u64>,
    longest: Cell<usize>,
    stuck: Cell<u64>,
}

fn add(cell: &Cell<u64>, more: u64) {
    cell.set(cell.get() + more);
}

/// The minimal routes as a table of them has them; some of the destinations as a star.
fn written(form: &Form, wiring: &Wiring, star: u32) -> Routing {
    let routes = Shortest::new(form, wiring).unwrap();
    let layers = routes.layers(CHANNELS_MAX);
    let mut text = String::from("# at, to, next, layer\n");
    for at in 0..form.switch_count() {
        let route = |to: u32| routes.next(at, to).map(|next| (next, layers.of(at, to)));
        let all = route(star);
        for to in 0..form.switch_count() {
            match route(to) {
                Some(own) if to == star => text += &format!("{at},*,{},{}\n", own.0, own.1),
                Some(own) if all != Some(own) => {
                    text += &format!("{at} {to} {} layer={}\n", own.0, own.1)
                }
                _ => {}
            }
        }
    }
    Routing::Table(Arc::new(Routes::read(&text, form).unwrap()))
}

fn compare(
    shape: Shape,
    listed: bool,
    mut rules: Rules,
    load: &Load,
    count: &Count,
) -> Result<(), TestCaseError> {
    let mut spec = GraphSpec {
        shape: shape.clone(),
        network: NetworkSpec {
            virtual_channels: CHANNELS_MAX,
            ..FatTreeSpec::qsnet(1).network
        },
    };
    if let (
        true,
        Shape::Switches {
            form,
            nodes,
            routing,
            ..
        },
    ) = (listed, &mut spec.shape)
        && *routing == Routing::Minimal
    {
        *routing = written(form, &form.wiring(nodes.clone()), form.switch_count() / 2);
        add(&count.listed, 1);
    }
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
    } = &shape
    else {
        unreachable!("no dragonflies here");
    };
    let layers = match routing {
        Routing::Minimal => {
            let routes = Shortest::new(form, machine.wiring()).unwrap();
            Some(routes.layers(CHANNELS_MAX))
        }
        _ => None,
    };
    let change = layers.as_ref().and_then(Layers::change);
    add(&count.datelines, (change == Some(Change::Dateline)).into());
    let network = Naive {
        delay: machine.network().ticks(*delay),
        machine: &machine,
        form,
        routing,
        layers,
    };
    let classes = network.classes();
    rules.channels = rules.channels.min(CHANNELS_MAX / classes);
    if let (Switching::CutThrough { outputs, .. }, true) = (&mut rules.switching, classes > 1) {
        *outputs = None;
    }
    let (shown, _) = both(Table::clone(machine.routes()), &network, rules, load)?;
    add(&count.cases, 1);
    let circuit = matches!(rules.switching, Switching::Circuit { .. });
    add(&count.circuits, circuit.into());
    add(&count.stuck, u64::from(shown.1[PARTS as usize - 1][0] > 0));
    for report in &shown.0 {
        if let Report::Packet { path, .. } = report {
            add(&count.packets, 1);
            let high = path.iter().any(|lane| lane.channel >= rules.channels);
            add(&count.layered, high.into());
            count.longest.set(count.longest.get().max(path.len()));
        }
    }
    Ok(())
}

/// Beside the 1,000 of the engine's own tests; for more of them
/// `PROPTEST_CASES=1000 cargo test -p isthmus-machine --test all graph_exact -- --nocapture`.
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
    let case = |(shape, listed, rules, load): (Shape, bool, Rules, Load)| {
        compare(shape, listed, rules, &load, &count)
    };
    let cases = (shapes(), any::<bool>(), rules(), load());
    runner.run(&cases, case).unwrap();
    println!(
        "{} random networks of switches ({} of circuits, {} by tables of routes, {} with datelines): {} packets, {} of them in a \
         layer beyond the first, over {} links at most; {} were cut short with messages under way: no difference, and in the end all \
         delivered, none twice",
        count.cases.get(),
        count.circuits.get(),
        count.listed.get(),
        count.datelines.get(),
        count.packets.get(),
        count.layered.get(),
        count.longest.get(),
        count.stuck.get(),
    );
    assert!(given || (count.cases.get() > 240 && count.circuits.get() > 50));
    assert!(given || (count.layered.get() > 100 && count.longest.get() >= 6));
    // About one of 20 cases: none of 250 with a probability of 0.95^250 = 3 * 10^-6.
    assert!(given || count.datelines.get() > 0);
}
