//! What overrides change of what a file says, for titles that may no longer hold.

use isthmus_kinds::KINDS;

const FILE: &str = r#"
version = 1
name = "cube"
title = "128 PEs"
[machine]
kind = "hypercube"
dimension = 7
[workload]
rate = "2 /ms"
[sweep]
"machine.lanes.io_link" = [0, 1, 2]
[[sweep.network]]
label = "narrow"
workload.locality = 0.1
[[sweep.network]]
label = "wide"
workload.locality = 0.3
"#;

fn changes(overrides: &[&str]) -> Vec<(String, Option<String>, Option<String>)> {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    let scenario = KINDS
        .parse(FILE, "cube.toml", &overrides)
        .expect("a good scenario");
    let changes = scenario.changes().into_iter();
    changes
        .map(|change| (change.key, change.from, change.to))
        .collect()
}

fn row(key: &str, from: &str, to: &str) -> (String, Option<String>, Option<String>) {
    (key.to_owned(), Some(from.to_owned()), Some(to.to_owned()))
}

#[test]
fn nothing_is_changed_without_overrides_or_by_those_that_say_the_same() {
    assert_eq!(changes(&[]), []);
    assert_eq!(changes(&["machine.dimension=7"]), []);
    assert_eq!(
        changes(&["stop.precision=20%", "seed=4", "title=Another"]),
        []
    );
}

#[test]
fn fields_axes_and_defaults_that_change_are_listed() {
    assert_eq!(
        changes(&["machine.dimension=5"]),
        [row("machine.dimension", "7", "5")]
    );
    // The default of the reference page.
    assert_eq!(
        changes(&["workload.read_ratio=0.5"]),
        [row("workload.read_ratio", "1.0", "0.5")]
    );
    assert_eq!(
        changes(&["machine.lanes.io_link=1"]),
        [row("machine.lanes.io_link", "0, 1, 2", "1")]
    );
    assert_eq!(
        changes(&["sweep.machine.lanes.io_link=[0, 1, 2, 3, 4, 5, 6]"]),
        [row("machine.lanes.io_link", "0, 1, 2", "0 to 6 (7 values)")]
    );
    assert_eq!(
        changes(&["sweep.network=[{label=\"wide\", workload.locality=0.3}]"]),
        [row("sweep.network", "narrow, wide", "wide")]
    );
}

#[test]
fn a_load_in_another_form_changes_both_fields() {
    assert_eq!(
        changes(&["sweep.workload.rate=[\"1 /ms\", \"4 /ms\"]"]),
        [row("workload.rate", "2 /ms", "1 /ms, 4 /ms")]
    );
    assert_eq!(
        changes(&["workload.interarrival=\"1 ms\""]),
        [
            (
                "workload.interarrival".to_owned(),
                None,
                Some("1 ms".to_owned())
            ),
            ("workload.rate".to_owned(), Some("2 /ms".to_owned()), None),
        ]
    );
}
