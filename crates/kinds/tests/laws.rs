//! Laws that hold for any file.

use isthmus_kinds::KINDS;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

/// A file of a hypercube.
const HYPERCUBE: &str = include_str!("good/hypercube_128.toml");

/// All files of the folder `good`, by name.
static GOOD: LazyLock<Vec<String>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/good");
    let files = fs::read_dir(folder).expect("the folder of right files");
    let mut paths: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    paths.sort();
    let read = |path| fs::read_to_string(path).expect("a file of text");
    paths.iter().map(read).collect()
});

fn cases(count: u32) -> ProptestConfig {
    ProptestConfig {
        cases: count,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Parsing must end in a scenario that survives its canonical form, or in an error with a message.
fn check(text: &str, overrides: &[String]) -> Result<(), TestCaseError> {
    match KINDS.parse(text, "any.toml", overrides) {
        Err(error) => {
            prop_assert!(
                !error.problem.is_empty() && !error.hint.is_empty(),
                "{:?}",
                error
            );
            prop_assert!(!error.to_string().contains('\n'), "{}", error);
            if let Some(line) = error.line() {
                prop_assert!(
                    line as usize <= text.lines().count().max(1) + 1,
                    "{}",
                    error
                );
            }
        }
        Ok(scenario) => {
            let canonical = scenario.canonical();
            let again = KINDS.parse(&canonical, "canonical.toml", &[]);
            prop_assert_eq!(again.as_ref().map_err(ToString::to_string), Ok(&scenario));
            prop_assert_eq!(again.map(|s| s.canonical()), Ok(canonical));
        }
    }
    Ok(())
}

fn time() -> impl Strategy<Value = String> {
    (1u32..5000, select(vec!["us", "ms", "ns"])).prop_map(|(n, unit)| format!("\"{n} {unit}\""))
}

fn share() -> impl Strategy<Value = String> {
    prop_oneof![
        (0u32..=100).prop_map(|n| format!("\"{n}%\"")),
        (0u32..=1000).prop_map(|n| format!("{}", f64::from(n) / 1000.0)),
    ]
}

/// An axis with its values, all of them possible in a machine of 3 dimensions or more.
fn axis() -> impl Strategy<Value = Vec<String>> {
    let shares = |key: &'static str| {
        vec(share(), 1..4).prop_map(move |values| format!("\"{key}\" = [{}]", values.join(", ")))
    };
    let all = (
        subsequence(vec!["0", "1", "2", "3"], 1..4)
            .prop_map(|b| format!("machine.lanes.io_link = [{}]", b.join(", "))),
        subsequence(vec!["3", "5", "6", "7"], 1..4)
            .prop_map(|d| format!("\"machine.dimension\" = [{}]", d.join(", "))),
        shares("workload.locality"),
        shares("workload.read_ratio"),
        vec(time(), 1..4).prop_map(|t| format!("workload.interarrival = [{}]", t.join(", "))),
        (1u32..50, 51u32..900, 2u32..6, select(vec!["linear", "log"])).prop_map(
            |(from, to, points, spacing)| {
                format!(
                    "workload.message = {{ from = \"{from} B\", to = \"{to} B\", \
                     points = {points}, spacing = \"{spacing}\" }}"
                )
            },
        ),
        Just(
            "service = [{ machine.device.service = \"queue\" }, { label = 2, \
             machine.device.service = \"delay\", machine.device.access = \"1 us\" }]"
                .to_owned(),
        ),
    );
    all.prop_flat_map(|(a, b, c, d, e, f, g)| subsequence(vec![a, b, c, d, e, f, g], 0..5))
        .prop_shuffle()
}

fn file() -> impl Strategy<Value = String> {
    let machine = (3u32..=8, 1u32..20, 0u32..5, prop::option::of(1u32..9));
    let placement = select(vec![
        "\"combined\"",
        "\"dominating\"",
        "{ kind = \"stride\", count = 3 }",
        "{ kind = \"clustered\", count = 8 }",
        "{ kind = \"list\", pes = [7, 0, 3] }",
    ]);
    let arrival = prop_oneof![
        time().prop_map(|t| format!("interarrival = {t}")),
        (1u32..900).prop_map(|r| format!("rate = \"{r} /ms\"\narrival = \"deterministic\"")),
        (1u32..900).prop_map(|n| format!(
            "interarrival = \"{n} us\"\narrival = \"bursty\"\nburst_gap = \"{} ns\"\n\
             burst_messages = 2.5",
            n * 10
        )),
    ];
    let rest = (
        share(),
        1u32..5,
        any::<bool>(),
        0u64..u64::MAX / 2,
        "\\PC{0,20}",
    );
    (machine, placement, arrival, rest, axis()).prop_map(
        |((d, k, b, n), placement, arrival, (locality, blocks, fixed, seed, title), axes)| {
            // Without an I/O network there is nothing for them to do, and so they are refused.
            let none_swept = axes
                .iter()
                .any(|axis| axis == "machine.lanes.io_link = [0]");
            let n = n.filter(|_| b > 0 && !none_swept);
            let n = n.map_or_else(String::new, |n| format!("lanes.io_to_pe = {n}\n"));
            let stop = if fixed {
                "rule = \"fixed\"\nmessages = 60000"
            } else {
                "precision = \"1%\""
            };
            let title = toml::Value::String(title);
            format!(
                "version = 1\nname = \"any\"\nseed = {seed}\ntitle = {title}\n[machine]\n\
                 kind = \"hypercube\"\ndimension = {d}\nlanes.pe = {k}\nlanes.io_link = {b}\n{n}\
                 placement = {placement}\n[workload]\n{arrival}\nlocality = {locality}\n\
                 file_blocks = {{ min = {blocks}, max = 40 }}\n[stop]\n{stop}\n[sweep]\n{}\n",
                axes.join("\n")
            )
        },
    )
}

/// An axis with its values, all of them possible in any fabric of the strategy below.
fn fabric_axis() -> impl Strategy<Value = Vec<String>> {
    let load = prop_oneof![
        vec(1u32..40, 1..4).prop_map(|loads| {
            let loads: Vec<String> = loads.iter().map(|n| format!("\"{n}.5 GB/s\"")).collect();
            format!("workload.load = [{}]", loads.join(", "))
        }),
        (1u32..9, 10u32..40, 2u32..6, select(vec!["linear", "log"])).prop_map(
            |(from, to, points, spacing)| {
                format!(
                    "workload.load = {{ from = \"{from} GB/s\", to = \"{to} GB/s\", \
                     points = {points}, spacing = \"{spacing}\" }}"
                )
            },
        ),
    ];
    let all = (
        subsequence(vec!["\"4x4\"", "\"6x6\"", "\"4x6\"", "\"8x4\""], 1..4)
            .prop_map(|sizes| format!("\"machine.size\" = [{}]", sizes.join(", "))),
        subsequence(
            vec![
                "torus",
                "bidirectional-torus",
                "uniform-ring-torus",
                "manhattan",
            ],
            1..4,
        )
        .prop_map(|fabrics| format!("machine.fabric = {fabrics:?}")),
        load,
        subsequence(vec!["\"64 B\"", "\"128 B\"", "\"256 B\""], 1..4)
            .prop_map(|payloads| format!("workload.payload = [{}]", payloads.join(", "))),
        Just(
            "faults = [{ label = \"none\" }, { machine.faults.links = [[0, 1]] }, \
             { machine.faults.nodes = [5], machine.queues.input = 2 }]"
                .to_owned(),
        ),
    );
    all.prop_flat_map(|(a, b, c, d, e)| subsequence(vec![a, b, c, d, e], 0..4))
        .prop_shuffle()
}

fn fabric_file() -> impl Strategy<Value = String> {
    let machine = select(vec![
        "fabric = \"bidirectional-torus\"\nsize = \"4x4\"",
        "fabric = \"uniform-ring-torus\"\nsize = \"6x4\"\nrouting = \"random\"",
        "fabric = \"manhattan\"\nsize = \"4x6\"\nqueues.client = 7",
        "fabric = \"torus\"\nsize = \"8x4\"\nsource = \"bounded\"\nhop = \"18 ns\"",
    ]);
    let workload = select(vec![
        "",
        "transaction = \"read\"\nturnaround = \"100 ns\"",
        "spacing = \"deterministic\"\nsenders = [0, 1, 2, 15]",
        "hot_node = { node = 11, probability = \"12.5%\" }",
    ]);
    let stop = select(vec![
        "",
        "rule = \"fixed\"\ntime = \"200 us\"",
        "rule = \"fixed\"\nmessages = 4000\nwarmup = \"none\"",
        "of = [\"latency\", \"network\"]\nwarmup = \"fixed\"\nwarmup_messages = 100",
    ]);
    let search = select(vec![
        "",
        "[search]\nover = \"workload.load\"\nfrom = \"1 GB/s\"\nto = \"30 GB/s\"\n",
    ]);
    (machine, workload, stop, search, fabric_axis()).prop_map(
        |(machine, workload, stop, search, axes)| {
            format!(
                "version = 1\nname = \"any\"\n[machine]\nkind = \"sci\"\n\
                 faults.cut_off = \"leave-out\"\n{machine}\n[workload]\nload = \"2 GB/s\"\n\
                 {workload}\n{search}[stop]\n{stop}\n[sweep]\n{}\n",
                axes.join("\n")
            )
        },
    )
}

fn override_text() -> impl Strategy<Value = String> {
    let keys: Vec<String> = KINDS
        .formats()
        .fields()
        .into_iter()
        // The good files of fat trees have a job called io.
        .map(|field| field.key.replace("NAME", "io"))
        .collect();
    let value = select(vec![
        "0",
        "1",
        "5",
        "0.5",
        "5%",
        "1 ms",
        "6 /ms",
        "32 B",
        "closed",
        "bursty",
        "fixed",
        "list",
        "[]",
        "[0, 1]",
        "[[0, 1]]",
        "{}",
        "{from=1, to=3}",
        "true",
        "nan",
        "",
        "\"x\"",
        "mser5",
        "none",
        "8",
        "4x4",
        "torus",
        "2 GB/s",
        "[[0, 1, 2]]",
        "sci",
        "fat-tree",
        "ping",
        "pairs",
        "[\"io\"]",
        "part 1 of 2",
        "[4, 4]",
        "cut-through",
    ]);
    (any::<bool>(), select(keys), value).prop_map(|(sweep, key, value)| {
        format!("{}{key}={value}", if sweep { "sweep." } else { "" })
    })
}

/// An axis with its values, all of them possible with any jobs of the strategy below.
fn tree_axis() -> impl Strategy<Value = Vec<String>> {
    let load = (1u32..9, 10u32..40, 2u32..6).prop_map(|(from, to, points)| {
        format!(
            "workload.jobs.io.load = {{ from = \"{from} MB/s\", to = \"{to} MB/s\", \
             points = {points} }}"
        )
    });
    let all = (
        subsequence(vec!["2", "3", "4"], 1..4)
            .prop_map(|levels| format!("machine.levels = [{}]", levels.join(", "))),
        subsequence(vec!["adaptive", "destination", "source", "random"], 1..4)
            .prop_map(|ascents| format!("machine.ascent = {ascents:?}")),
        load,
        select(vec!["alone", "pairs"]).prop_map(|word| format!("workload.active = \"{word}\"")),
        subsequence(vec!["dedicated", "shared"], 1..3)
            .prop_map(|mappings| format!("workload.mapping = {mappings:?}")),
        Just(
            "kind = [{ label = \"io\" }, { workload.jobs.io.destinations = \"blocked\" }, \
             { workload.jobs.compute.traffic = \"all-to-all\", machine.taper = 2 }]"
                .to_owned(),
        ),
    );
    all.prop_flat_map(|(a, b, c, d, e, f)| subsequence(vec![a, b, c, d, e, f], 0..5))
        .prop_shuffle()
}

fn tree_file() -> impl Strategy<Value = String> {
    let machine = select(vec![
        "",
        "switching = \"cut-through\"\nbuffer = 6\nvirtual_channels = 3\n",
        "memory = \"main\"\nlate = \"charged\"\n",
        "nic = { payload = \"64 B\", dma_period = \"1 us\" }\nage = \"unlimited\"\n",
    ]);
    let servers = select(vec![
        "placement = \"clustered\"\ncount = 4\n",
        "placement = \"distributed\"\ncount = 2\noffset = 3\n",
        "placement = \"list\"\nnodes = [5, 0, 15]\n",
    ]);
    let io = select(vec![
        "load = 0.25",
        "load = \"2 MB/s\"\ngaps = \"uniform\"\nread_ratio = \"30%\"",
        "load = 0.01\nsizes = \"fixed\"\nmessage = \"3 kB\"\ndestinations = \"interleaved\"",
    ]);
    let third = select(vec![
        "",
        "[workload.jobs.C-3]\ntraffic = \"checkpoint\"\nperiod = \"1 ms\"\nvolume = \"1 MB\"\n\
         nodes = \"part 3 of 3\"\n",
        "[workload.jobs._]\ntraffic = \"all-reduce\"\nnodes = \"part 3 of 3\"\n",
    ]);
    (machine, servers, io, third, tree_axis()).prop_map(|(machine, servers, io, third, axes)| {
        format!(
            "version = 1\nname = \"any\"\n[machine]\nkind = \"fat-tree\"\narity = 4\n\
             levels = 3\n{machine}[workload.servers]\n{servers}[workload.jobs.io]\n\
             traffic = \"io\"\nnodes = \"part 1 of 3\"\n{io}\n[workload.jobs.compute]\n\
             traffic = \"uniform\"\nnodes = \"part 2 of 3\"\n{third}[sweep]\n{}\n",
            axes.join("\n")
        )
    })
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn a_right_file_survives_its_canonical_form(text in file()) {
        let scenario = KINDS.parse(&text, "any.toml", &[]);
        // Bursts of a swept load may come too close, and axes may repeat a value; nothing else
        // may fail.
        if let Err(error) = &scenario {
            let twice = error.problem.ends_with("occurs twice");
            prop_assert!(twice || error.field == "workload.burst_gap", "{}\n{}", error, text);
        }
        check(&text, &[])?;
    }

    #[test]
    fn a_right_file_of_a_fabric_survives_its_canonical_form(text in fabric_file()) {
        // Axes may repeat a value; nothing else may fail.
        if let Err(error) = KINDS.parse(&text, "any.toml", &[]) {
            prop_assert!(error.problem.ends_with("occurs twice"), "{}\n{}", error, text);
        }
        check(&text, &[])?;
    }

    #[test]
    fn a_right_file_of_a_tree_survives_its_canonical_form(text in tree_file()) {
        if let Err(error) = KINDS.parse(&text, "any.toml", &[]) {
            prop_assert!(false, "{}\n{}", error, text);
        }
        check(&text, &[])?;
    }

    #[test]
    fn points_are_the_product_of_the_axes(text in file()) {
        if let Ok(scenario) = KINDS.parse(&text, "any.toml", &[]) {
            let count: usize = scenario.axes.iter().map(|axis| axis.values.len()).product();
            let points = scenario.points();
            prop_assert_eq!(points.len(), count);
            for point in &points {
                // The place of a point, written in the mixed radix of the axes, first one highest.
                let mut place = 0;
                for (axis, value) in scenario.axes.iter().zip(&point.values) {
                    let digit = axis.values.iter().position(|other| other == value);
                    place = place * axis.values.len() + digit.unwrap_or(usize::MAX / 1_000_000);
                }
                prop_assert_eq!(place, point.index);
            }
        }
    }

    #[test]
    fn overrides_end_in_a_scenario_or_an_error(
        which in 0..GOOD.len(),
        overrides in vec(override_text(), 1..4),
    ) {
        check(&GOOD[which], &overrides)?;
    }

    #[test]
    fn damaged_files_end_in_a_scenario_or_an_error(
        which in 0..GOOD.len(),
        cuts in vec((any::<Index>(), any::<Index>(), 0usize..6), 1..3),
    ) {
        let mut lines: Vec<String> = GOOD[which].lines().map(str::to_owned).collect();
        for (at, from, what) in cuts {
            let (at, from) = (at.index(lines.len()), from.index(lines.len()));
            match what {
                0 => { lines.remove(at); }
                1 => lines.swap(at, from),
                2 => { let line = lines[from].clone(); lines.insert(at, line); }
                3 => lines[at] = lines[at].replace('"', ""),
                4 => lines[at] = lines[at].replace(|c: char| c.is_ascii_digit(), "9"),
                _ => { let half = lines[at].chars().take(12).collect(); lines[at] = half; }
            }
        }
        check(&lines.join("\n"), &[])?;
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,60}", overrides in vec("\\PC{0,20}", 0..3)) {
        check(&text, &overrides)?;
        check(&format!("version = 1\n{text}"), &overrides)?;
        check(HYPERCUBE, &overrides)?;
    }

    #[test]
    fn no_text_in_the_grammar_panics(
        tokens in vec(select(vec![
            "[", "]", "{", "}", "=", ".", ",", "\"", "\n", " ", "[[", "]]", "machine", "sweep",
            "workload", "dimension", "io_link", "1", "0.5", "\"1 ms\"", "search", "over", "size",
            "version = 1\n", "name = \"x\"\n", "'", "#", "from", "to", "label", "-", "nan",
        ]), 0..40),
    ) {
        check(&tokens.concat(), &[])?;
    }
}
