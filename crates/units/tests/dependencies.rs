//! Which crate may use which: the manifests and the table of ARCHITECTURE.md against the table
//! below, which is the rule. It lives here because `units` is the one crate that all others may
//! use.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Each crate and the crates that it may use, in an order in which each uses only earlier ones.
const MAY_USE: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("topology", &[]),
    ("kernel", &[]),
    ("conformance", &["kernel"]),
    ("statistics", &[]),
    ("analytic", &["topology"]),
    ("flit", &[]),
    ("wormhole", &["kernel"]),
    ("sci", &["topology", "kernel"]),
    ("packet", &["topology", "kernel"]),
    ("flow", &["kernel"]),
    ("device", &["kernel"]),
    ("workload", &["units", "kernel"]),
    ("redistribute", &[]),
    ("stream", &[]),
    ("forward", &[]),
    ("ring", &[]),
    ("wire", &[]),
    ("daemon", &["wire"]),
    ("stream-sim", &["kernel", "flow", "redistribute", "stream"]),
    ("stream-net", &["stream", "ring", "wire"]),
    ("framebuffer", &["stream-net", "wire"]),
    (
        "stream-apps",
        &[
            "redistribute",
            "stream",
            "ring",
            "stream-sim",
            "stream-net",
            "framebuffer",
        ],
    ),
    ("nic-protocol", &["stream"]),
    (
        "nic",
        &[
            "stream",
            "ring",
            "wire",
            "daemon",
            "stream-net",
            "framebuffer",
            "nic-protocol",
        ],
    ),
    (
        "nic-client",
        &["stream", "ring", "wire", "stream-net", "nic-protocol"],
    ),
    (
        "fuzz-bodies",
        &["stream", "forward", "ring", "stream-net", "nic-protocol"],
    ),
    ("iod", &["forward", "wire", "daemon"]),
    ("iod-client", &["forward", "wire"]),
    (
        "machine",
        &[
            "units", "topology", "kernel", "wormhole", "sci", "packet", "device", "workload",
        ],
    ),
    ("describe", &[]),
    ("scenario", &["units", "describe"]),
    ("experiment", &["units", "kernel", "statistics", "scenario"]),
    (
        "kinds",
        &[
            "units",
            "topology",
            "kernel",
            "analytic",
            "workload",
            "stream-sim",
            "machine",
            "scenario",
            "experiment",
        ],
    ),
    (
        "py",
        &[
            "units",
            "topology",
            "analytic",
            "redistribute",
            "machine",
            "scenario",
            "experiment",
            "kinds",
            "stream",
            "stream-sim",
            "stream-net",
            "framebuffer",
            "stream-apps",
            "nic",
            "nic-client",
            "iod",
            "iod-client",
            "daemon",
            "wire",
        ],
    ),
];

/// What tests may use beyond that. The reference `flit` and the suite `conformance` appear here and
/// nowhere else.
const TESTS_MAY_USE: &[(&str, &[&str])] = &[
    ("flit", &["kernel", "conformance"]),
    ("wormhole", &["flit", "conformance"]),
    ("sci", &["conformance"]),
    ("packet", &["conformance"]),
    ("flow", &["conformance"]),
    ("machine", &["flit"]),
    ("nic", &["nic-client", "fuzz-bodies"]),
    ("forward", &["fuzz-bodies"]),
    ("iod", &["iod-client"]),
    ("stream-net", &["stream-sim"]),
    ("framebuffer", &["stream", "ring"]),
    ("nic-client", &["nic"]),
    // Only named there, see docs/decisions/0086-checks.md.
    ("py", &["bench"]),
];

/// Libraries that stand for something: files, threads, configuration, checksums, Python, chance. No other
/// crate may use them outside of its tests.
const ONLY_IN: &[(&str, &[&str])] = &[
    ("arbitrary", &["fuzz-bodies"]),
    ("crc-fast", &["forward", "py", "stream"]),
    ("fuser", &["iod-client"]),
    // The page of screens, see docs/decisions/0051-screens.md, and the metrics.
    ("httparse", &["daemon", "framebuffer"]),
    ("hdrhistogram", &["statistics"]),
    ("humantime", &["daemon"]),
    ("ipnet", &["daemon"]),
    ("loom", &["ring"]),
    ("microlp", &["topology"]),
    // What the kernel knows of a socket.
    ("netlink-sys", &["wire"]),
    ("numpy", &["py"]),
    ("object_store", &["iod"]),
    ("proc-macro2", &["describe"]),
    ("pyo3", &["py"]),
    ("quick-xml", &["topology"]),
    ("quote", &["describe"]),
    // Named there for its features alone, see docs/decisions/0028-one-build.md.
    ("rand", &["py"]),
    ("rand_core", &["kernel"]),
    ("rand_distr", &["kernel"]),
    ("rand_xoshiro", &["kernel"]),
    ("rayon", &["experiment", "redistribute"]),
    // Named there for its features alone, see docs/decisions/0097-objects.md.
    ("reqwest", &["iod"]),
    // The system: descriptors, sockets, files in memory, the host's name.
    (
        "rustix",
        &[
            "daemon",
            "experiment",
            "iod",
            "iod-client",
            "nic",
            "nic-client",
            "ring",
            "stream-net",
            "wire",
        ],
    ),
    (
        "serde_json",
        &["experiment", "kinds", "nic-protocol", "py", "scenario"],
    ),
    ("rustls", &["wire"]),
    ("sha2", &["experiment", "scenario"]),
    ("subtle", &["daemon"]),
    ("syn", &["describe"]),
    ("tokio", &["iod"]),
    ("toml", &["scenario"]),
    ("tungstenite", &["framebuffer"]),
    // Memory that other processes write, see docs/decisions/0046-rings.md.
    ("vm-memory", &["ring"]),
];

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the workspace has a root")
}

/// What one manifest asks for, by name of the package.
#[derive(Default)]
struct Manifest {
    used: BTreeSet<String>,
    used_by_tests: BTreeSet<String>,
}

impl Manifest {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let table: Table = text
            .parse()
            .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let mut manifest = Self::default();
        manifest.collect(&table);
        let targets = table.get("target").and_then(Value::as_table);
        for target in targets.into_iter().flat_map(Table::values) {
            manifest.collect(target.as_table().expect("a target is a table"));
        }
        manifest
    }

    fn collect(&mut self, table: &Table) {
        let names = |key: &str| -> Vec<String> {
            let dependencies = table.get(key).and_then(Value::as_table);
            let entries = dependencies.into_iter().flatten();
            entries
                .map(|(name, value)| {
                    let renamed = value.get("package").and_then(Value::as_str);
                    renamed.unwrap_or(name).to_owned()
                })
                .collect()
        };
        self.used.extend(names("dependencies"));
        self.used.extend(names("build-dependencies"));
        self.used_by_tests.extend(names("dev-dependencies"));
    }
}

/// The crates of this workspace among `names`, without their prefix.
fn own(names: &BTreeSet<String>) -> BTreeSet<&str> {
    let own = names
        .iter()
        .filter_map(|name| name.strip_prefix("isthmus-"));
    own.collect()
}

fn manifests() -> BTreeMap<String, Manifest> {
    let folder = root().join("crates");
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    entries
        .map(|entry| entry.expect("the folder can be listed").path())
        .filter(|path| path.join("Cargo.toml").is_file())
        .map(|path| {
            let name = path.file_name().expect("a crate's folder has a name");
            let manifest = Manifest::read(&path.join("Cargo.toml"));
            (name.to_string_lossy().into_owned(), manifest)
        })
        .collect()
}

fn listed(table: &[(&str, &'static [&'static str])], name: &str) -> BTreeSet<&'static str> {
    let row = table.iter().find(|(crate_name, _)| *crate_name == name);
    row.into_iter()
        .flat_map(|(_, used)| *used)
        .copied()
        .collect()
}

#[test]
fn every_crate_has_a_row_and_uses_only_earlier_ones() {
    let manifests = manifests();
    let folders: BTreeSet<&str> = manifests.keys().map(String::as_str).collect();
    let rows: BTreeSet<&str> = MAY_USE.iter().map(|(name, _)| *name).collect();
    assert_eq!(folders, rows, "crates/ against the table of this test");
    for (at, (name, used)) in MAY_USE.iter().enumerate() {
        for other in *used {
            let earlier = MAY_USE[..at].iter().any(|(before, _)| before == other);
            assert!(
                earlier,
                "`{name}` may use `{other}`, which does not come before it"
            );
        }
    }
}

#[test]
fn crates_use_what_they_may() {
    for (name, manifest) in manifests() {
        let (may, tests_may) = (listed(MAY_USE, &name), listed(TESTS_MAY_USE, &name));
        for other in own(&manifest.used) {
            assert!(
                may.contains(other),
                "`{name}` uses `{other}`: forbidden; see the table in {}",
                file!()
            );
        }
        for other in own(&manifest.used_by_tests) {
            assert!(
                may.contains(other) || tests_may.contains(other),
                "tests of `{name}` use `{other}`: forbidden; see the tables in {}",
                file!()
            );
        }
    }
}

#[test]
fn files_threads_and_chance_stay_where_they_belong() {
    for (name, manifest) in manifests() {
        for (library, homes) in ONLY_IN {
            assert!(
                !manifest.used.contains(*library) || homes.contains(&name.as_str()),
                "`{name}` uses `{library}`, which only {homes:?} may use"
            );
        }
    }
}

#[test]
fn what_is_named_for_its_features_is_not_called() {
    let mut found = Vec::new();
    sources(&root().join("crates/py/src"), &mut found);
    assert!(!found.is_empty());
    for path in found {
        let text = fs::read_to_string(&path).unwrap();
        let calls = text.contains("use rand") || text.contains(" rand::");
        assert!(!calls, "{} calls rand", path.display());
    }
}

/// What makes results depend on the hour or the machine, or puts text where a result belongs.
const IN_NO_CORE: &[&str] = &[
    "Instant::now",
    "SystemTime",
    "from_entropy",
    "print!(",
    "println!(",
];

/// Crates and modules that wait for other processes, until a deadline, or measure: these read the clock. Nothing
/// that they read there reaches a result that is simulated.
const WAIT_FOR_OTHERS: &[&str] = &[
    "daemon",
    "experiment/src/claims",
    "framebuffer",
    "fuzz-bodies",
    "iod",
    "iod-client",
    "nic",
    "nic-client",
    "ring",
    "stream-apps",
    "stream-net",
    "wire",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for entry in entries {
        let path = entry.expect("the folder can be listed").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Whether a file belongs to what waits for others.
fn waits(path: &Path) -> bool {
    let crates = root().join("crates");
    let mut names = WAIT_FOR_OTHERS.iter();
    names.any(|name| path.starts_with(crates.join(name)))
}

#[test]
fn no_core_reads_a_clock_or_prints() {
    let mut files = Vec::new();
    for (name, _) in MAY_USE {
        sources(&root().join("crates").join(name).join("src"), &mut files);
    }
    assert!(files.len() > MAY_USE.len());
    for path in files {
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        for (number, line) in code.enumerate() {
            let mut words = IN_NO_CORE.iter().filter(|word| line.contains(**word));
            // The daemon's log says when. How much work a finished part was decides whether it is kept.
            // A file in the cache of the I/O daemon has the time of its last write, and files of a mount have times.
            let names = ["daemon/src/log.rs", "iod/src/cache/clients.rs"];
            let logs = names.iter().any(|name| path.ends_with(name))
                || path.starts_with(root().join("crates/iod-client/src/mount"));
            let keeps = path.ends_with("experiment/src/kept.rs");
            let word = words.find(|word| match **word {
                "Instant::now" => !(waits(&path) || keeps),
                "SystemTime" => !logs,
                _ => true,
            });
            assert_eq!(word, None, "{}, code line {}", path.display(), number + 1);
        }
    }
}

/// `wire` opens all sockets of daemons, clients and drivers.
#[test]
fn only_wire_opens_sockets() {
    let opens = [
        "TcpListener::bind",
        "TcpStream::connect",
        "UdpSocket::bind",
        "UnixListener::bind",
        "UnixStream::connect",
        "UnixStream::pair",
        "net::socket",
        "rustls",
    ];
    let mut files = Vec::new();
    for name in ["daemon", "nic", "nic-client", "nic-protocol", "stream-net"] {
        sources(&root().join("crates").join(name).join("src"), &mut files);
    }
    assert!(files.len() > 50);
    for path in files {
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for call in opens {
            assert!(!code.contains(call), "{}: {call}", path.display());
        }
    }
}

/// The row of a crate: `| `name` | owns | may use | knows nothing of |`.
fn row<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let start = format!("| `{name}` |");
    let mut rows = text.lines().filter(|line| line.starts_with(&start));
    let row = rows
        .next()
        .unwrap_or_else(|| panic!("ARCHITECTURE.md has no row for `{name}`"));
    assert!(
        rows.next().is_none(),
        "ARCHITECTURE.md has two rows for `{name}`"
    );
    let cells = row.trim_matches('|').split('|').map(str::trim);
    cells.collect()
}

#[test]
fn the_map_says_the_same() {
    let path = root().join("ARCHITECTURE.md");
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    for (name, _) in MAY_USE {
        let cells = row(&text, name);
        assert_eq!(cells.len(), 4, "the row of `{name}` in ARCHITECTURE.md");
        let documented: BTreeSet<&str> = cells[2].split('`').skip(1).step_by(2).collect();
        assert_eq!(documented, listed(MAY_USE, name), "what `{name}` may use");
    }
}

/// A file that the list forgets would be compiled by nobody, and its tests would never fail.
#[test]
fn all_tests_of_a_crate_are_in_its_list() {
    let mut lists = 0;
    for (name, _) in MAY_USE {
        let folder = root().join("crates").join(name).join("tests");
        let Ok(list) = fs::read_to_string(folder.join("all.rs")) else {
            continue;
        };
        lists += 1;
        let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        for entry in entries {
            let path = entry.expect("the folder can be listed").path();
            let stem = path
                .file_stem()
                .expect("files have names")
                .to_string_lossy();
            let is_part = path.extension().is_some_and(|ending| ending == "rs") && stem != "all";
            let line = format!("mod {stem};");
            assert!(
                !is_part || list.lines().any(|listed| listed == line),
                "{} is not in all.rs beside it: add `{line}`",
                path.display()
            );
        }
    }
    assert!(lists >= 12, "{lists} crates whose tests are one program");
}
