//! The bottleneck of a machine, and the rows of the use of its parts.

use isthmus_experiment::subject::Overlay;
use isthmus_experiment::uses::{Part, find_bottleneck, rows};

/// Return a part of a machine at node `from`, which 20 messages occupied for `busy` times 100 us in total.
fn part(kind: &str, from: u32, utilisation: f64, busy: f64) -> Part {
    Part {
        kind: kind.to_owned(),
        from,
        to: None,
        utilisation,
        busy,
        held: Some((busy * 100.0, 20.0)),
        let_through: None,
    }
}

/// Checks that the bottleneck is the part that carries most among the parts that are occupied for about the longest
/// time.
#[test]
fn the_busiest_part_is_the_bottleneck() {
    // The expected bottleneck is the link. The injection channel is occupied longer, but by messages that wait for
    // the link.
    let parts = [
        part("inject", 0, 0.2, 0.99),
        part("link", 0, 0.95, 0.97),
        part("disk", 0, 0.5, 0.5),
    ];
    assert_eq!(
        find_bottleneck(&parts).map(|part| &*part.kind),
        Some("link")
    );
    let parts = [part("link", 0, 0.4, 0.5), part("disk", 0, 0.98, 0.98)];
    assert_eq!(
        find_bottleneck(&parts).map(|part| &*part.kind),
        Some("disk")
    );
    assert_eq!(find_bottleneck(&[part("link", 0, 0.0, 0.0)]), None);
}

/// Checks that the rows contain the mean and the highest use of each kind of part.
#[test]
fn each_kind_of_part_has_a_row_with_its_mean_and_highest_use() {
    let parts = [
        part("a", 0, 0.2, 0.4),
        part("b", 0, 0.3, 0.3),
        part("a", 1, 0.4, 0.8),
    ];
    let rows = rows(&parts, &Overlay::default(), false);
    assert_eq!(rows.len(), 2);
    let a = &rows[0];
    assert!((a.utilisation - 0.3).abs() < 1e-12 && (a.busy - 0.6).abs() < 1e-12);
    assert_eq!((a.highest, a.busiest), (Some(0.4), Some(0.8)));
    // Each of the two parts of kind `a` was occupied by 20 messages, for 40 and 80 us in total. This makes 3 us per
    // message.
    assert_eq!(a.held_us, Some(3.0));
}
