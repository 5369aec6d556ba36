//! Process optimisation with the real manager.

#![cfg(target_os = "linux")]

use isthmus_stream_apps::optimise::{Spec, run};
use std::time::Duration;

fn spec(nodes: u32, samples_per_s: Option<f64>) -> Spec {
    Spec {
        nodes,
        samples_per_s,
        time: Duration::from_millis(700),
    }
}

#[test]
fn samples_arrive_and_are_right_at_the_rate_of_the_nodes() {
    let report = run(&spec(15, Some(20_000.0)), &|| false).unwrap();
    assert!(report.samples > 0 && report.samples.is_multiple_of(16384));
    assert!(report.checked >= report.samples / 61);
    // Ranks are no faster than their setting.
    let most = 60.0 * 20_000.0 * report.ns as f64 / 1e9;
    assert!(report.samples as f64 <= most + 60.0 * 4096.0, "{report:?}");
    for parts in [report.nodes, report.forwarders] {
        assert!((parts.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{report:?}");
    }
}

#[test]
fn ranks_go_as_fast_as_they_can() {
    let report = run(&spec(2, None), &|| false).unwrap();
    assert!(report.samples > 0, "{report:?}");
}

#[test]
fn it_ends_on_request() {
    let long = Spec {
        time: Duration::from_secs(3600),
        ..spec(3, Some(1e6))
    };
    let report = run(&long, &|| true).unwrap();
    assert!(report.ns < 60_000_000_000);
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |spec: Spec, part: &str| {
        let error = run(&spec, &|| false).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    refused(spec(0, None), "give 1 to 256");
    refused(spec(257, None), "give 1 to 256");
    refused(spec(1, Some(0.0)), "1 /s to 1000000000 /s");
    refused(spec(1, Some(f64::NAN)), "1 /s to 1000000000 /s");
}
