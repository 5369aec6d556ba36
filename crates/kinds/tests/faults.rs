//! Axes over failures and studies of them, against lists made by hand from rings and cubes.

use isthmus_experiment::{Experiment, Options};
use isthmus_kinds::KINDS;
use isthmus_kinds::sci::study;
use isthmus_machine::hypercube::spec::HypercubeSpec;
use isthmus_machine::sci::spec::SciSpec;
use isthmus_scenario::{Axis, Scenario};
use isthmus_topology::rings::{Fabric, Faults, Shape};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn sci(machine: &str, sweep: &str) -> String {
    format!(
        "version = 1\nname = \"f\"\n[machine]\nkind = \"sci\"\n{machine}\n[workload]\n\
         load = \"1 GB/s\"\n[sweep]\n{sweep}\n[stop]\nrule = \"fixed\"\ntime = \"20 us\"\n"
    )
}

fn parsed(text: &str) -> Scenario {
    KINDS
        .parse(text, "f.toml", &[])
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn texts(axis: &Axis) -> Vec<&str> {
    axis.values
        .iter()
        .map(|value| value.text.as_str())
        .collect()
}

/// What has failed at each point.
fn failed(scenario: &Scenario) -> Vec<Faults> {
    let points = scenario.points();
    let faults = points
        .iter()
        .map(|point| &point.machine.expect::<SciSpec>().faults);
    faults.cloned().collect()
}

fn faults(nodes: &[u32], links: &[(u32, u32)]) -> Faults {
    Faults {
        nodes: nodes.to_vec(),
        links: links.to_vec(),
    }
}

#[test]
fn each_link_and_each_node_fails_by_itself() {
    // Two rings in opposite directions, so that either is enough; a failed node stops both.
    let text = sci(
        "fabric = \"rings\"\nrings = [[0, 1, 2], [2, 3, 4]]",
        "\"machine.faults\" = \"single\"",
    );
    let scenario = parsed(&text);
    let axis = &scenario.axes[0];
    assert_eq!((axis.key.as_str(), axis.unit.as_deref()), ("fault", None));
    // Node 2 is on both rings: nobody would be left.
    let labels = [
        "nothing", "link 0-1", "link 2-3", "node 0", "node 1", "node 3", "node 4",
    ];
    assert_eq!(texts(axis), labels);
    let expected = [
        faults(&[], &[]),
        faults(&[], &[(0, 1)]),
        faults(&[], &[(2, 3)]),
        faults(&[0], &[]),
        faults(&[1], &[]),
        faults(&[3], &[]),
        faults(&[4], &[]),
    ];
    assert_eq!(failed(&scenario), expected);
    // The effective file holds what the axis stands for, and says the same.
    let again = parsed(&scenario.canonical());
    assert_eq!(again, scenario);
    assert_eq!(again.digest(), scenario.digest());
    assert!(scenario.sweeps_faults() && !again.sweeps_faults());
}

#[test]
fn words_and_overrides_choose_the_parts() {
    let text = sci(
        "fabric = \"torus\"\nsize = \"3x3\"",
        "\"machine.faults\" = \"links\"",
    );
    assert_eq!(parsed(&text).axes[0].values.len(), 1 + 6);
    let of = |change: &str| {
        let scenario = KINDS.parse(&text, "f.toml", &[change.to_owned()]).unwrap();
        scenario.axes[0].values.len()
    };
    assert_eq!(of("sweep.machine.faults=nodes"), 1 + 9);
    assert_eq!(of("sweep.machine.faults=single"), 1 + 6 + 9);
    assert_eq!(
        of("sweep.machine.faults={ of = \"links\", double = 4 }"),
        1 + 6 + 4
    );
    assert_eq!(
        of("sweep.machine.faults={ double = 1000 }"),
        1 + 15 + 15 * 14 / 2
    );
    assert_eq!(of("sweep.machine.faults.double=3"), 1 + 6 + 3);
    assert_eq!(of("sweep.machine.faults.of=nodes"), 1 + 9);
    // A failed node leaves a fabric with other rings in service, and itself out.
    assert_eq!(of("machine.faults.nodes=[4]"), 1 + 4);
    let wanted = ["sweep.machine.faults=nodes".to_owned()];
    let changes = KINDS.parse(&text, "f.toml", &wanted).unwrap().changes();
    let changed: Vec<_> = changes
        .iter()
        .map(|c| (c.key.as_str(), c.to.as_deref()))
        .collect();
    assert_eq!(changed, [("sweep.fault", Some("nodes"))]);
}

#[test]
fn machines_with_failures_of_their_own_are_taken_into_the_axis() {
    let sweep = "\"machine.size\" = [\"3x3\", \"3x4\"]\n\"machine.queues.input\" = [2, 5]\n\
                 \"machine.faults\" = \"links\"\n\"workload.load\" = [\"1 GB/s\", \"2 GB/s\"]";
    let scenario = parsed(&sci("fabric = \"torus\"", sweep));
    let keys: Vec<_> = scenario.axes.iter().map(|axis| axis.key.as_str()).collect();
    assert_eq!(keys, ["fault", "machine.queues.input", "workload.load"]);
    let labels = texts(&scenario.axes[0]);
    // 3 + 3 rings, then 4 rows of three and 3 columns of four.
    assert_eq!(labels.len(), (1 + 6) + (1 + 7));
    assert_eq!(labels[..2], ["3x3: nothing", "3x3: link 0-1"]);
    assert_eq!(labels[7..9], ["3x4: nothing", "3x4: link 0-1"]);
    assert_eq!(scenario.points().len(), 15 * 2 * 2);
    assert_eq!(parsed(&scenario.canonical()), scenario);
}

#[test]
fn variants_and_axes_over_faults_are_machines_of_their_own() {
    let sweep = "\"machine.faults.nodes\" = [[], [4]]\n\"machine.faults\" = \"nodes\"";
    let scenario = parsed(&sci("fabric = \"torus\"\nsize = \"3x3\"", sweep));
    assert_eq!(scenario.axes.len(), 1);
    let labels = texts(&scenario.axes[0]);
    assert_eq!(labels[..3], ["[]: nothing", "[]: node 0", "[]: node 1"]);
    // Node 4 stops ring 1 and ring 4, so that no other node is lost.
    assert_eq!(labels[10..12], ["[4]: nothing", "[4]: node 0"]);
    assert_eq!(
        failed(&scenario)[10..12],
        [faults(&[4], &[]), faults(&[4, 0], &[])]
    );
    assert_eq!(parsed(&scenario.canonical()), scenario);
}

#[test]
fn pairs_are_drawn_under_the_seed() {
    let text = sci(
        "fabric = \"torus\"\nsize = \"4x4\"",
        "\"machine.faults\" = { double = 20 }",
    );
    let of = |seed: u32| {
        let scenario = KINDS
            .parse(&text, "f.toml", &[format!("seed={seed}")])
            .unwrap();
        texts(&scenario.axes[0])[1 + 24..]
            .iter()
            .map(|t| (*t).to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
    let different: BTreeSet<String> = of(1).into_iter().collect();
    assert_eq!(different.len(), 20);
}

#[test]
fn a_search_finds_the_knee_after_each_failure() {
    let text = sci(
        "fabric = \"torus\"\nsize = \"3x3\"",
        "\"machine.faults\" = \"links\"",
    );
    let search = "[search]\nover = \"workload.load\"\nfrom = \"1 GB/s\"\nto = \"9 GB/s\"\n";
    let scenario = parsed(&(text.replace("load = \"1 GB/s\"\n", "") + search));
    assert_eq!(scenario.search_lines().len(), 7);
}

const SWEEP: &str = "[sweep]\n\"machine.faults\" = \"single\"\n";

#[test]
fn hypercubes_fail_part_by_part() {
    let text = |more: &str| {
        format!(
            "version = 1\nname = \"f\"\n[machine]\nkind = \"hypercube\"\ndimension = 4\n{more}\n\
             [workload]\ninterarrival = \"1 ms\"\n{SWEEP}"
        )
    };
    let scenario = parsed(&text("lanes.io_link = 2"));
    // The combined placement has 2^(4 - 2) I/O nodes, a square.
    let labels = texts(&scenario.axes[0]);
    let of = |start: &str| {
        labels
            .iter()
            .filter(|label| label.starts_with(start))
            .count()
    };
    assert_eq!(
        (of("PE "), of("I/O node "), of("link "), of("I/O link ")),
        (16, 4, 32, 4)
    );
    assert_eq!(labels.len(), 1 + 16 + 4 + 32 + 4);
    let spec = |label: &str| {
        let at = labels.iter().position(|other| *other == label).unwrap();
        scenario.points()[at]
            .machine
            .expect::<HypercubeSpec>()
            .faults
            .clone()
    };
    assert_eq!(spec("link 5-7").links, [(5, 7)]);
    assert_eq!(spec("I/O node 3").io_nodes, [3]);
    // All of them can be built.
    let experiment =
        Experiment::build(&KINDS, scenario.clone(), Options::default(), <_>::default());
    assert!(experiment.is_ok());
    assert_eq!(parsed(&scenario.canonical()), scenario);
    // Without links between I/O nodes none of them can be asked to fail.
    let none = text("lanes = { io_link = 0, io_source = 0, io_to_pe = 0 }");
    let asked = ["sweep.machine.faults=io-links".to_owned()];
    let error = KINDS
        .parse(&none, "f.toml", &asked)
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with(
            "no such parts left that could fail; let other parts fail, or remove the axis"
        ),
        "{error}"
    );
    // A machine that its own faults cut apart is refused when it is built, as without the axis.
    let why = |sweep: &str| {
        let text = text("lanes.io_link = 2\nfaults = { links = [[0, 1]] }").replace(SWEEP, sweep);
        let apart = KINDS.parse(&text, "f.toml", &["machine.dimension=1".to_owned()]);
        let built = Experiment::build(&KINDS, apart.unwrap(), Options::default(), <_>::default());
        built.unwrap_err().to_string()
    };
    assert!(why(SWEEP).contains("machine.faults"), "{}", why(SWEEP));
    assert_eq!(why(SWEEP).replace(" (at fault = nothing)", ""), why(""));
    // Of two PEs none may fail, nor what joins them; the one I/O node neither.
    let pair = KINDS.parse(
        &text("lanes.io_link = 2"),
        "f.toml",
        &["machine.dimension=1".to_owned()],
    );
    let error = pair.unwrap_err().to_string();
    assert!(
        error.contains("cannot be run after any of these failures"),
        "{error}"
    );
    // Without a network of their own, I/O nodes have no links that fail.
    let without = parsed(&text(
        "lanes = { io_link = 0, io_source = 0, io_to_pe = 0 }",
    ));
    assert_eq!(without.axes[0].values.len(), 1 + 16 + 4 + 32);
    // What has failed fails no more, nor does a link of a failed PE.
    let harmed = parsed(&text(
        "lanes.io_link = 2\nfaults = { pes = [0], links = [[5, 7]] }",
    ));
    let labels = texts(&harmed.axes[0]);
    assert!(
        !labels.contains(&"PE 0") && !labels.contains(&"link 5-7") && !labels.contains(&"link 0-1")
    );
    let links = labels
        .iter()
        .filter(|label| label.starts_with("link "))
        .count();
    assert_eq!(links, 32 - 4 - 1);
}

#[test]
fn weights_of_all_pairs_are_those_of_pairs_of_parts() {
    let scenario = parsed(
        &sci("fabric = \"bidirectional-torus\"\nsize = \"3x4\"", "").replace("[sweep]\n", ""),
    );
    let study = study(&[scenario], u64::MAX, None).unwrap();
    let sum = |kinds: &[&str]| -> (u64, u64) {
        let weights = study.cases.iter().filter(|case| kinds.contains(&case.kind));
        weights.fold((0, 0), |(n, sum), case| (n + 1, sum + case.weight))
    };
    // Each node sends along x and y in both directions.
    assert_eq!(sum(&["one link"]).1, 12 * 4);
    let singles: Vec<u64> = (study.cases.iter())
        .filter(|case| ["one link", "one node"].contains(&case.kind))
        .map(|case| case.weight)
        .collect();
    let (all, squares) = (
        singles.iter().sum::<u64>(),
        singles.iter().map(|w| w * w).sum::<u64>(),
    );
    let n = singles.len() as u64;
    assert_eq!(
        sum(&["two parts"]),
        (n * (n - 1) / 2, (all * all - squares) / 2)
    );
    assert_eq!(study.sites[0].pairs, n * (n - 1) / 2);
}

#[test]
fn a_study_runs_what_the_axis_of_each_fabric_would() {
    let sweep = |fabric: &str| {
        let text = sci(
            &format!("fabric = \"{fabric}\"\nsize = \"3x3\""),
            "\"machine.faults\" = { double = 5 }",
        );
        parsed(&text)
    };
    let fabrics = "\"machine.fabric\" = [\"torus\", \"bidirectional-torus\"]";
    let whole = parsed(&sci("size = \"3x3\"", fabrics));
    let study = study(&[whole], 5, None).unwrap();
    let runs = parsed(&study.text);
    let machines: Vec<_> = runs
        .points()
        .into_iter()
        .map(|point| point.machine)
        .collect();
    let one_by_one: Vec<_> = ["torus", "bidirectional-torus"]
        .iter()
        .flat_map(|fabric| sweep(fabric).points())
        .map(|point| point.machine)
        .collect();
    assert_eq!(machines, one_by_one);
    assert_eq!(runs.stop, sweep("torus").stop);
    let labels: Vec<&str> = study.cases.iter().map(|case| case.label.as_str()).collect();
    assert_eq!(texts(&runs.axes[0]), labels);
}

/// Rings in service and the nodes that reach one another, by walking from every node.
fn live(
    rings: &[Vec<u32>],
    nodes: &BTreeSet<u32>,
    links: &BTreeSet<(u32, u32)>,
) -> (BTreeSet<usize>, BTreeSet<u32>) {
    let stops = |ring: &Vec<u32>| {
        (0..ring.len()).any(|at| {
            nodes.contains(&ring[at]) || links.contains(&(ring[at], ring[(at + 1) % ring.len()]))
        })
    };
    let serve: BTreeSet<usize> = (0..rings.len()).filter(|&at| !stops(&rings[at])).collect();
    let on: BTreeSet<u32> = serve
        .iter()
        .flat_map(|&at| rings[at].iter().copied())
        .collect();
    let reached = |from: u32| {
        let mut seen = BTreeSet::from([from]);
        loop {
            let more: BTreeSet<u32> = (serve.iter().map(|&at| &rings[at]))
                .filter(|ring| ring.iter().any(|node| seen.contains(node)))
                .flatten()
                .copied()
                .collect();
            if more.is_subset(&seen) {
                return seen;
            }
            seen.extend(more);
        }
    };
    // The largest group; the one with the lowest node of several.
    let groups = on.iter().map(|&node| reached(node));
    let largest = groups.fold(BTreeSet::new(), |best: BTreeSet<u32>, group| {
        if group.len() > best.len() {
            group
        } else {
            best
        }
    });
    (serve, largest)
}

fn machines() -> impl Strategy<Value = (&'static str, Vec<u32>)> {
    prop_oneof![
        (2u32..9).prop_map(|n| ("ring", vec![n])),
        (2u32..9).prop_map(|n| ("counter-rotating", vec![n])),
        (2u32..5, 2u32..5).prop_map(|(x, y)| ("torus", vec![x, y])),
        (2u32..4, 2u32..4, 2u32..4).prop_map(|(x, y, z)| ("torus", vec![x, y, z])),
        (2u32..5, 2u32..5).prop_map(|(x, y)| ("bidirectional-torus", vec![x, y])),
        (3u32..5, 3u32..5).prop_map(|(x, y)| ("uniform-ring-torus", vec![x, y])),
        (1u32..4, 1u32..4).prop_map(|(x, y)| ("manhattan", vec![2 * x, 2 * y])),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// The states of random fabrics with random faults are those that a walk over their rings finds.
    #[test]
    fn states_are_those_of_a_walk_over_the_rings(
        (fabric, sizes) in machines(),
        broken in prop::collection::btree_set(0u32..30, 0..3),
    ) {
        let words: Vec<String> = sizes.iter().map(u32::to_string).collect();
        let shape = shape_of(fabric, &sizes);
        let rings = Fabric::new(&shape).unwrap().rings().to_vec();
        let count: u32 = sizes.iter().product();
        let broken: BTreeSet<u32> = broken.into_iter().filter(|&node| node < count).collect();
        let (serve, whole) = live(&rings, &broken, &BTreeSet::new());
        prop_assume!(whole.len() >= 2);
        let size = match &words[..] {
            [one] => one.clone(),
            _ => format!("\"{}\"", words.join("x")),
        };
        let machine = format!(
            "fabric = \"{fabric}\"\nsize = {size}\nfaults = {{ nodes = {:?}, cut_off = \"leave-out\" }}",
            broken.iter().collect::<Vec<_>>()
        );
        // Links by the rings in service that they are on, those of a ring together.
        let mut alike: BTreeMap<Vec<usize>, u64> = BTreeMap::new();
        let links: BTreeMap<(usize, usize), (u32, u32)> = (serve.iter())
            .flat_map(|&ring| {
                let nodes = &rings[ring];
                (0..nodes.len()).map(move |at| ((ring, at), (nodes[at], nodes[(at + 1) % nodes.len()])))
            })
            .collect();
        for link in links.values() {
            let on: BTreeSet<usize> = links.iter().filter(|(_, l)| *l == link).map(|((r, _), _)| *r).collect();
            *alike.entry(on.into_iter().collect()).or_default() += 1;
        }
        let text = sci(&machine, "").replace("[sweep]\n", "");
        let study = study(&[parsed(&text)], 0, None).unwrap();
        let of_links: Vec<u64> = study.cases.iter().filter(|c| c.kind == "one link").map(|c| c.weight).collect();
        prop_assert_eq!(&of_links, &alike.values().copied().collect::<Vec<_>>());
        let of_nodes = study.cases.iter().filter(|case| case.kind == "one node");
        let of_nodes: Vec<u32> = of_nodes.map(|case| *case.failed.last().unwrap()).collect();
        prop_assert_eq!(of_nodes, whole.iter().copied().collect::<Vec<_>>());
        let mut runs = Vec::new();
        for case in &study.cases {
            let nodes: BTreeSet<u32> = case.failed.iter().copied().collect();
            let ends: Vec<u32> = case.failure.strip_prefix("link ").map_or(Vec::new(), |words| {
                let link = words.split(' ').next().unwrap();
                link.split('-').map(|end| end.parse().unwrap()).collect()
            });
            let links = ends.chunks(2).map(|ends| (ends[0], ends[1])).collect();
            let (_, left) = live(&rings, &nodes, &links);
            let left = if left.len() < 2 { 0 } else { left.len() };
            prop_assert_eq!(case.live as usize, left, "{}", case.label);
            if left >= 2 {
                runs.push(case.label.split(": ").nth(1).unwrap().to_owned());
            }
        }
        prop_assert_eq!(study.cases.len(), 1 + alike.len() + whole.len());
        // The axis has those that leave enough to run.
        if runs.len() > 1 {
            let scenario = parsed(&sci(&machine, "\"machine.faults\" = \"single\""));
            prop_assert_eq!(texts(&scenario.axes[0]), runs);
        }
    }
}

fn shape_of(fabric: &str, sizes: &[u32]) -> Shape {
    let two = || [sizes[0], sizes[1]];
    let sizes = sizes.to_vec();
    match fabric {
        "ring" => Shape::Ring { nodes: sizes[0] },
        "counter-rotating" => Shape::CounterRotating { nodes: sizes[0] },
        "torus" => Shape::Torus { sizes },
        "bidirectional-torus" => Shape::BidirectionalTorus { sizes },
        "uniform-ring-torus" => Shape::UniformRingTorus { sizes: two() },
        _ => Shape::Manhattan { sizes: two() },
    }
}
