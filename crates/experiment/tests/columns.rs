//! Columns of histograms and channels, from the JSON of results.

use isthmus_experiment::columns::{BinColumns, ChannelColumns};
use isthmus_experiment::result::ChannelUse;

/// Parse an invalid JSON list of histograms. Return the position and the description of the error.
fn refused(json: &str) -> (usize, String) {
    let mut columns = BinColumns::default();
    let misfit = columns.add(&[json.as_bytes()]).expect_err(json);
    assert_eq!(columns, BinColumns::default());
    (misfit.at, misfit.problem)
}

/// Checks that the columns contain the bins of all lists in the order of the lists.
#[test]
fn bins_of_several_lists_are_concatenated_in_order() {
    let mut columns = BinColumns::default();
    let first =
        r#"[{"lower":[0,4],"upper":[4,6],"count":[1,2]},{"lower":[7],"upper":[8],"count":[3]}]"#;
    columns.add(&[first.as_bytes()]).unwrap();
    columns.add(&[b"[]"]).unwrap();
    columns
        .add(&[br#"[{"lower":[1],"upper":[2],"count":[9]}]"#])
        .unwrap();
    assert_eq!(columns.lengths, [2, 1, 1]);
    assert_eq!(columns.lower, [0, 4, 7, 1]);
    assert_eq!(columns.upper, [4, 6, 8, 2]);
    assert_eq!(columns.count, [1, 2, 3, 9]);
    let (lower, upper) = columns.take_bounds(&[0.5, 3.0, 0.1]);
    assert_eq!(lower, [0.0, 2.0, 21.0, 0.1]);
    assert_eq!(upper, [2.0, 3.0, 24.0, 0.2]);
}

/// Checks that parallel parsing keeps the order of the lists, and that the error is that of the first
/// invalid list.
#[test]
fn lists_parsed_in_parallel_keep_their_order() {
    let bins = |from: u64| format!(r#"{{"lower":[{from}],"upper":[{}],"count":[1]}}"#, from + 1);
    let list = |all: &[u64]| {
        format!(
            "[{}]",
            all.iter().map(|&n| bins(n)).collect::<Vec<_>>().join(",")
        )
    };
    let lists = [list(&[3, 1]), list(&[]), list(&[4]), list(&[1, 5, 9])];
    let lists: Vec<&[u8]> = lists.iter().map(String::as_bytes).collect();
    let mut columns = BinColumns::default();
    columns.add(&lists).unwrap();
    assert_eq!(columns.lower, [3, 1, 4, 1, 5, 9]);
    columns.add(&[]).unwrap();
    // The error names the first invalid list, although the lists are parsed in any order.
    for (wrong, at) in [(&[3][..], 4), (&[2], 2), (&[2, 3], 2), (&[0, 3], 1)] {
        let mut given = lists.clone();
        for &list in wrong {
            given[list] = if list == 2 {
                b"[7]"
            } else {
                br#"[{"lower":[1],"upper":[2],"count":[1]},8]"#
            };
        }
        let misfit = columns.add(&given).unwrap_err();
        assert_eq!(misfit.at, at, "{wrong:?}");
    }
    assert_eq!(columns.lengths, [1; 6]);
}

/// Checks the error messages for histograms whose JSON is invalid, such as columns of different
/// lengths.
#[test]
fn invalid_histograms_are_refused() {
    let good = r#"{"lower":[1],"upper":[2],"count":[9]}"#;
    let second = |bins: &str| refused(&format!("[{good},{bins}]"));
    for (bins, expected) in [
        (r#"{"lower":[],"upper":[],"count":[]}"#, "0 lower bounds"),
        (
            r#"{"lower":[1,2],"upper":[2,3],"count":[1]}"#,
            "1 counts; expected as many",
        ),
        (
            r#"{"lower":[2],"upper":[1],"count":[1]}"#,
            "bin 0 ends at 1; expected more than 2",
        ),
        (
            r#"{"lower":[2],"upper":[2],"count":[1]}"#,
            "bin 0 ends at 2; expected more than 2",
        ),
        (
            r#"{"lower":[4,1],"upper":[5,2],"count":[1,1]}"#,
            "bin 1 begins at 1; expected 5 or more",
        ),
        (
            r#"{"lower":[1,3],"upper":[2,4],"count":[0,0]}"#,
            "bin 0 has a count of 0; expected 1 or more",
        ),
        (
            r#"{"lower":[1],"upper":[9223372036854775808],"count":[1]}"#,
            "2^63",
        ),
        (
            r#"{"lower":[1],"upper":[2],"count":[18446744073709551615]}"#,
            "2^63",
        ),
        (r#"{"lower":[0.5],"upper":[2],"count":[1]}"#, "invalid type"),
        (r#"{"lower":[-1],"upper":[2],"count":[1]}"#, "invalid value"),
        (r#"{"lower":[1],"upper":[2]}"#, "missing field `count`"),
        ("[]", "invalid length"),
    ] {
        let (at, problem) = second(bins);
        assert!(
            at == 1 && problem.contains(expected),
            "{bins}: {at} {problem}"
        );
    }
}

/// Checks that columns made from the JSON of channels have the values of these channels, in order.
#[test]
fn channel_columns_have_the_values_of_the_parsed_channels() {
    let mean = ChannelUse {
        kind: "link \"a\"".to_owned(),
        from: None,
        to: None,
        utilisation: 0.25,
        highest: Some(0.5),
        busy: 0.75,
        busiest: Some(1.0),
        held_us: None,
        analytic: Some(0.125),
    };
    let single = ChannelUse {
        kind: "disk".to_owned(),
        from: Some(3),
        to: Some(0),
        highest: None,
        busiest: None,
        held_us: Some(2.5),
        analytic: None,
        ..mean.clone()
    };
    let given = vec![
        vec![mean.clone(), single.clone()],
        vec![],
        vec![single, mean],
    ];
    let mut columns = ChannelColumns::default();
    columns
        .add(&[&serde_json::to_vec(&given).unwrap()])
        .unwrap();
    assert_eq!(columns.lengths, [2, 0, 2]);
    assert_eq!(columns.kinds, ["link \"a\"", "disk"]);
    assert_eq!(columns.kind, [0, 1, 1, 0]);
    assert_eq!(columns.from, [-1, 3, 3, -1]);
    assert_eq!(columns.to, [-1, 0, 0, -1]);
    assert_eq!(columns.utilisation, [0.25; 4]);
    assert!(columns.held_us[0].is_nan() && columns.held_us[1..3] == [2.5, 2.5]);
    assert!(columns.analytic[1].is_nan() && columns.analytic[0] == 0.125);
}

/// Checks that the JSON of a channel is refused if any one of its fields is missing.
#[test]
fn a_channel_with_a_missing_field_is_refused() {
    let whole = serde_json::json!({
        "kind": "link", "from": null, "to": null, "utilisation": 0.5, "highest": null, "busy": 0.5,
        "busiest": null, "held_us": null, "analytic": null
    });
    let mut columns = ChannelColumns::default();
    columns
        .add(&[&serde_json::to_vec(&[[&whole]]).unwrap()])
        .unwrap();
    let fields = whole.as_object().unwrap();
    for field in fields.keys() {
        let mut less = fields.clone();
        less.remove(field);
        let json = serde_json::to_vec(&[vec![], vec![&less]]).unwrap();
        let misfit = columns.add(&[&json]).unwrap_err();
        assert_eq!(misfit.at, 1);
        assert!(
            misfit.problem.contains(&format!("missing field `{field}`")),
            "{misfit}"
        );
    }
    assert_eq!(columns.lengths, [1]);
}
