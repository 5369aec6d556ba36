//! Fields that have no effect at some points only, or because of overrides; and presets in sweeps.

use crate::advice::quoted;
use isthmus_kinds::KINDS;
use isthmus_machine::fattree::spec::FatTreeSpec;
use isthmus_machine::graph::Built;
use isthmus_machine::graph::spec::{DragonflyRouting, GraphSpec, Shape};
use isthmus_scenario::{FieldInfo, Scenario, StopRule};
use isthmus_units::{Bandwidth, Bytes};

fn parse(text: &str, overrides: &[&str]) -> Scenario {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    let scenario = KINDS
        .parse(text, "s.toml", &overrides)
        .unwrap_or_else(|e| panic!("{e}"));
    let again = KINDS.parse(&scenario.canonical(), "c.toml", &[]);
    assert_eq!(again.as_ref(), Ok(&scenario), "{}", scenario.canonical());
    scenario
}

const CUBE: &str = r#"
version = 1
name = "x"
[machine]
kind = "hypercube"
dimension = 4
lanes = { io_source = 6, io_to_pe = 3 }
device.disk.seek = "9 ms"
[workload]
interarrival = "1 ms"
locality = 0.5
[sweep]
"machine.lanes.io_link" = [0, 2]
"workload.io_probability" = [0, 0.1]
"machine.device.cache_hit_rate" = [1, 0.7]
"#;

#[test]
fn a_field_may_be_of_no_use_at_some_points() {
    assert_eq!(parse(CUBE, &[]).points().len(), 8);
}

/// What an override has made useless is left out, as for other fields.
#[test]
fn overrides_may_make_fields_useless() {
    let scenario = parse(
        CUBE,
        &["machine.lanes.io_link=0", "workload.io_probability=0"],
    );
    let canonical = scenario.canonical();
    assert!(
        !canonical.contains("io_source") && !canonical.contains("locality"),
        "{canonical}"
    );
    assert!(canonical.contains("seek"));
}

const TREE: &str = r#"
version = 1
name = "x"
[machine]
kind = "fat-tree"
arity = 4
levels = 2
[workload.jobs.a]
traffic = "uniform"
"#;

fn bandwidths(scenario: &Scenario) -> Vec<Bandwidth> {
    let points = scenario.points().into_iter();
    let trees = points.filter_map(|point| point.machine.as_::<FatTreeSpec>().cloned());
    trees.map(|tree| tree.network.bandwidth).collect()
}

#[test]
fn what_is_given_goes_before_the_preset() {
    let text = TREE.replace("levels = 2", "levels = 2\npreset = \"infiniband-hdr\"");
    let usual = parse(&text, &[]);
    assert_eq!(bandwidths(&usual), ["25 GB/s".parse().unwrap()]);
    let faster = parse(
        &text,
        &["machine.bandwidth=50 GB/s", "machine.nic.payload=2 KiB"],
    );
    assert_eq!(bandwidths(&faster), ["50 GB/s".parse().unwrap()]);
    let tree = faster.machine.as_::<FatTreeSpec>().unwrap();
    assert_eq!(
        (tree.network.nic.payload, tree.network.nic.overhead),
        (Bytes::new(2048), Bytes::new(26))
    );
    // A circuit has no buffers: those of the preset are left out.
    parse(&text, &["machine.switching=circuit"]);
    assert_ne!(usual.digest(), parse(TREE, &[]).digest());
}

/// Checks that each preset, and a file that gives each of its values, describe the same machine, in the same canonical
/// form and with the same digest. Jobs read, so that the length of requests has an effect.
#[test]
fn a_preset_is_equivalent_to_a_list_of_its_values() {
    let dragonfly = "kind = \"graph\"\ngraph = \"dragonfly\"\nnodes = 2\nrouters = 4\ngroups = 9\n";
    let tree = "kind = \"fat-tree\"\narity = 4\nlevels = 2\n";
    let jobs = "[workload]\nservers = { placement = \"clustered\", count = 2 }\n\
                [workload.jobs.a]\ntraffic = \"io\"\nread_ratio = 1\n";
    let fields = KINDS.formats().fields();
    for (kind, machine) in [("fat-tree", tree), ("graph", dragonfly)] {
        let is_preset = |field: &&FieldInfo| field.key == "machine.preset" && field.machine == kind;
        let field = fields.iter().find(is_preset).expect("a field of presets");
        let names = quoted(&field.range);
        assert!(names.len() > 3, "{}", field.range);
        for name in names {
            let file = |preset: &str| {
                format!("version = 1\nname = \"x\"\n[machine]\n{machine}{preset}{jobs}")
            };
            let named = parse(&file(&format!("preset = \"{name}\"\n")), &[]);
            let rows = named.resolved().into_iter();
            let values: Vec<String> = rows
                .filter(|row| row.from == format!("preset {name}"))
                .map(|row| format!("{}={}", row.key, row.value))
                .collect();
            assert!(values.len() > 5, "{name}: {values:?}");
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            let listed = parse(&file(""), &values);
            assert_eq!(named.canonical(), listed.canonical(), "{name}");
            assert_eq!(named.digest(), listed.digest());
            assert_eq!(named, listed);
            assert!(!named.canonical().contains("preset"));
        }
    }
}

#[test]
fn presets_may_be_swept() {
    let text = format!("{TREE}[sweep]\n\"machine.preset\" = [\"qsnet\", \"roce-100g\"]\n");
    let scenario = parse(&text, &[]);
    let fast = "12.5 GB/s".parse().unwrap();
    assert_eq!(bandwidths(&scenario), [Bandwidth::from_mb_per_s(400), fast]);
    let names: Vec<String> = scenario.axes[0]
        .values
        .iter()
        .map(|v| v.text.clone())
        .collect();
    assert_eq!(names, ["qsnet", "roce-100g"]);
    // In variants, with a preset for those that name none.
    let text = TREE.replace("levels = 2", "levels = 2\npreset = \"infiniband-hdr\"");
    let text = format!(
        "{text}[[sweep.net]]\nlabel = \"old\"\nmachine.preset = \"qsnet\"\n\
         [[sweep.net]]\nlabel = \"half\"\nmachine.bandwidth = \"20 GB/s\"\n"
    );
    let scenario = parse(&text, &[]);
    let half = "20 GB/s".parse().unwrap();
    assert_eq!(bandwidths(&scenario), [Bandwidth::from_mb_per_s(400), half]);
    let points = scenario.points();
    let second = points[1].machine.as_::<FatTreeSpec>().unwrap();
    assert_eq!(second.network.nic.payload, Bytes::new(4096));
}

#[test]
fn swept_presets_are_credited_with_their_own_sources() {
    // Both name 130 ns, of which only that of HDR is from a data sheet.
    for (order, name, source) in [
        (
            ["infiniband-ndr", "infiniband-hdr"],
            "infiniband-ndr",
            "assumption: as Quantum HDR",
        ),
        (
            ["infiniband-hdr", "infiniband-ndr"],
            "infiniband-hdr",
            "NVIDIA Quantum QM8700",
        ),
    ] {
        let text = format!("{TREE}[sweep]\n\"machine.preset\" = {order:?}\n");
        let resolved = parse(&text, &[]).resolved();
        let latency = resolved
            .iter()
            .find(|row| row.key == "machine.switch_latency");
        let latency = latency.expect("the latency of switches is resolved");
        assert_eq!(latency.value, "130 ns");
        assert_eq!(latency.from, format!("preset {name}"));
        assert!(latency.source.starts_with(source), "{}", latency.source);
    }
}

#[test]
fn a_value_that_two_presets_share_is_credited_to_its_own() {
    // The first variant names none: the file's preset is its own.
    let text = TREE.replace("levels = 2", "levels = 2\npreset = \"infiniband-ndr\"");
    let text = format!(
        "{text}[[sweep.net]]\nlabel = \"file's\"\nmachine.taper = 1\n\
         [[sweep.net]]\nlabel = \"old\"\nmachine.preset = \"infiniband-hdr\"\n"
    );
    let resolved = parse(&text, &[]).resolved();
    let from = |row: &&isthmus_scenario::Resolved| row.from.starts_with("preset");
    let credited: Vec<_> = resolved.iter().filter(from).collect();
    assert!(credited.len() > 10);
    assert!(
        credited
            .iter()
            .all(|row| row.from == "preset infiniband-ndr")
    );
}

#[test]
fn the_resolved_scenario_says_where_values_are_from() {
    let text = TREE.replace("levels = 2", "levels = 2\npreset = \"infiniband-hdr\"");
    let scenario = parse(&text, &["machine.taper=2"]);
    let resolved = scenario.resolved();
    let of = |key: &str| {
        let row = resolved.iter().find(|row| row.key == key);
        let row = row.unwrap_or_else(|| panic!("{key} is not resolved"));
        (row.value.as_str(), row.from.as_str())
    };
    assert_eq!(
        of("machine.bandwidth"),
        ("25 GB/s", "preset infiniband-hdr")
    );
    assert_eq!(of("machine.levels"), ("2", "given"));
    assert_eq!(of("machine.taper"), ("2", "override"));
    assert_eq!(of("machine.nic.dma_slice"), ("1", "default"));
    assert_eq!(of("machine.credit"), ("130 ns", "derived"));
    assert!(resolved.iter().all(|row| !row.value.is_empty()));
    assert!(
        !resolved
            .iter()
            .any(|row| row.key == "machine.acknowledgement")
    );
    assert!(matches!(scenario.stop.rule, StopRule::Precision { .. }));
}

/// A packet of less data than requests and padding have by default: both are cut to it.
#[test]
fn packets_may_be_shorter_than_the_defaults_of_requests() {
    let text = TREE.replace("levels = 2", "levels = 2\nnic.payload = \"32 B\"");
    for (traffic, reads) in [("uniform", false), ("io", true)] {
        let text = text.replace("\"uniform\"", &format!("\"{traffic}\""));
        let servers = [
            "workload.servers.placement=clustered",
            "workload.servers.count=2",
        ];
        let reading = [servers[0], servers[1], "workload.jobs.a.read_ratio=1"];
        let scenario = parse(&text, if reads { &reading } else { &[] });
        let nic = &scenario.machine.as_::<FatTreeSpec>().unwrap().network.nic;
        assert_eq!((nic.padding, nic.request), (Bytes::new(32), Bytes::new(32)));
        let resolved = scenario.resolved();
        let padding = resolved.iter().find(|row| row.key == "machine.nic.padding");
        assert_eq!(
            padding.map(|row| (&*row.value, &*row.from)),
            Some(("32 B", "derived"))
        );
    }
}

/// The presets of graphs bring the channels that routes of their forms need, and for Slingshot the routes of its dragonflies.
#[test]
fn presets_describe_graphs() {
    let graph = |form: &str| {
        let text = TREE.replace("kind = \"fat-tree\"\narity = 4\nlevels = 2", form);
        let preset = "preset = \"slingshot-11\"\n[workload.jobs.a]";
        parse(&text.replace("[workload.jobs.a]", preset), &[])
    };
    let dragonfly =
        graph("kind = \"graph\"\ngraph = \"dragonfly\"\nnodes = 2\nrouters = 4\ngroups = 9");
    let spec = dragonfly.machine.as_::<GraphSpec>().unwrap();
    assert!(matches!(
        spec.shape,
        Shape::Dragonfly {
            routing: DragonflyRouting::Ugal,
            ..
        }
    ));
    assert_eq!(spec.network.bandwidth, "25 GB/s".parse().unwrap());
    Built::new(spec).unwrap();
    // Where there is no third group, what the preset says of it is left out.
    let two = graph("kind = \"graph\"\ngraph = \"dragonfly\"\nnodes = 2\nrouters = 4\ngroups = 2");
    assert!(!two.canonical().contains("group_routing"));
    let torus = graph("kind = \"graph\"\ngraph = \"torus\"\nsize = \"4x4\"");
    Built::new(torus.machine.as_::<GraphSpec>().unwrap()).unwrap();
}
