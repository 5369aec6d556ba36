//! The reference and the parser read one table; these tests hold them to it.

use isthmus_scenario::{Scenario, schema};
use std::collections::BTreeSet;

#[test]
fn keys_are_unique_and_rows_complete() {
    let fields = schema::fields();
    let keys: BTreeSet<&str> = fields.iter().map(|field| field.key.as_str()).collect();
    assert_eq!(keys.len(), fields.len());
    for field in &fields {
        let complete = [&field.holds, &field.default, &field.range, &field.meaning];
        assert!(complete.iter().all(|text| !text.is_empty()), "{field:?}");
    }
}

/// Writing every default out changes nothing: the reference tells the truth about them.
#[test]
fn stated_defaults_are_the_defaults() {
    let base = "version = 1\nname = \"d\"\nmachine.kind = \"hypercube\"\nmachine.dimension = 4\n\
                machine.lanes.io_link = 2\nworkload.interarrival = \"1 ms\"\n";
    let implicit = Scenario::parse(base, "base", &[]).expect("it is right");
    let mut checked = 0;
    for field in schema::fields() {
        let stated = toml::from_str::<toml::Table>(&format!("x = {}", field.default)).is_ok();
        if !stated || !field.applies.is_empty() || field.key.starts_with("sweep.") {
            continue;
        }
        if field.key.starts_with("search.") {
            continue;
        }
        let text = format!("{base}{} = {}\n", field.key, field.default);
        let explicit = Scenario::parse(&text, "explicit", &[]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(explicit.machine, implicit.machine, "{}", field.key);
        assert_eq!(explicit.workload, implicit.workload, "{}", field.key);
        assert_eq!(explicit.stop, implicit.stop, "{}", field.key);
        assert_eq!(explicit.measure, implicit.measure, "{}", field.key);
        assert_eq!(explicit.verdict, implicit.verdict, "{}", field.key);
        assert_eq!(explicit.seed, implicit.seed, "{}", field.key);
        checked += 1;
    }
    assert!(checked > 30, "only {checked} fields state a default");
}

/// Every key of the reference is one that the parser knows.
#[test]
fn documented_keys_are_known() {
    let base = "version = 1\nname = \"d\"\n";
    for field in schema::fields() {
        if field.key.starts_with("sweep.") {
            continue;
        }
        let setting = format!("{}={{}}", field.key);
        let error = Scenario::parse(base, "base", &[setting]).expect_err("{} is no value");
        assert_ne!(error.problem, "no such key", "{}", field.key);
    }
}

#[test]
fn rows_are_objects_for_scripts() {
    let json = serde_json::to_value(schema::fields()).expect("rows are plain");
    let row = json
        .as_array()
        .and_then(|rows| rows.iter().find(|row| row["key"] == "machine.lanes.pe"))
        .expect("the reference has k");
    assert_eq!(row["type"], "a whole number of lanes");
    assert_eq!(row["range"], "1 to 65535");
    assert_eq!(row["default"], "dimension + 2");
    let row = json
        .as_array()
        .and_then(|rows| rows.iter().find(|row| row["key"] == "workload.burst_gap"))
        .expect("the reference has the gap of a burst");
    assert_eq!(row["applies"], "workload.arrival = \"bursty\"");
    assert_eq!(row["units"], "ps, ns, us, ms, s, min, h");
}
