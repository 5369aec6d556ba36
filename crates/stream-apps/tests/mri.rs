//! Medical imaging with the real manager.

#![cfg(target_os = "linux")]

use isthmus_stream_apps::mri::run;
use std::cell::Cell;

#[test]
fn triangles_of_all_ranks_arrive_in_order() {
    let report = run(2, &|| false).unwrap();
    assert_eq!(report.images, 2);
    assert_eq!(report.bytes, 40 * report.triangles);
    // About as many as in the paper, 580,000 and 22 MB of an image.
    assert!(
        (1_100_000..1_220_000).contains(&report.triangles),
        "{report:?}"
    );
    // Some ranks have none at all.
    assert_eq!(report.of_rank[0], 0);
    assert!(report.of_rank[1] > 25_000, "{report:?}");
    assert!(report.sending_ns <= report.ns);
}

#[test]
fn it_ends_between_images_on_request() {
    let asked = Cell::new(0);
    let over = || {
        asked.set(asked.get() + 1);
        asked.get() > 2
    };
    let report = run(1000, &over).unwrap();
    assert!(report.images < 1000, "{report:?}");
    assert_eq!(report.bytes, 40 * report.triangles);
}

#[test]
fn no_images_are_refused() {
    for images in [0, 1001] {
        let error = run(images, &|| false).unwrap_err().to_string();
        assert!(error.contains("give 1 to 1000"), "{error}");
    }
}
