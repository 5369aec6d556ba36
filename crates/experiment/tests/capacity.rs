//! The JSON of capacity estimates.

use isthmus_experiment::capacity::PartKind;

/// Return a kind of machine part for the tests, with this demand and this maximum throughput.
fn part(demand: Option<f64>, supply: Option<f64>) -> PartKind {
    PartKind {
        name: "link".to_owned(),
        demand,
        at_most: false,
        supply,
        unit: "MB/s",
        basis: String::new(),
    }
}

/// Checks the field `share` of the JSON form: demand divided by supply, or null if one of them is
/// unknown.
#[test]
fn as_json_a_part_has_its_share_or_null() {
    let json = |demand, supply| serde_json::to_value(part(demand, supply)).expect("plain data");
    assert_eq!(json(Some(30.0), Some(40.0))["share"], 0.75);
    assert_eq!(json(Some(0.0), Some(40.0))["share"], 0.0);
    for (demand, supply) in [
        (None, Some(40.0)),
        (Some(30.0), None),
        (Some(30.0), Some(0.0)),
    ] {
        assert!(json(demand, supply)["share"].is_null());
    }
    assert_eq!(json(None, None).as_object().map(|part| part.len()), Some(7));
}
