//! The loads between which a search has found the saturation load.

use isthmus_statistics::Bracket;

/// Return the bracket `inner`, which a search inside the bracket `outer` has found. A load that `inner` lacks (stable
/// or saturated) comes from `outer`, unless `inner` contradicts it.
pub(crate) fn narrowed(outer: Bracket, inner: Bracket) -> Bracket {
    let below = |end: &f64| inner.saturated.is_none_or(|saturated| *end < saturated);
    let above = |end: &f64| inner.stable.is_none_or(|stable| *end > stable);
    Bracket {
        stable: inner.stable.or(outer.stable.filter(below)),
        saturated: inner.saturated.or(outer.saturated.filter(above)),
        undecided: inner.undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return a bracket with these ends and without undecided loads.
    fn bracket(stable: Option<f64>, saturated: Option<f64>) -> Bracket {
        Bracket {
            stable,
            saturated,
            undecided: None,
        }
    }

    /// Checks how the result of an inner search changes the outer bracket: an end that the search has found replaces
    /// the outer one; an end that it has not found stays, or becomes unknown if the search has found it on the wrong
    /// side.
    #[test]
    fn an_inner_search_replaces_or_clears_the_ends_of_a_bracket() {
        let outer = bracket(Some(2.0), Some(4.0));
        let narrow = narrowed(outer, bracket(Some(2.5), Some(3.0)));
        assert_eq!((narrow.stable, narrow.saturated), (Some(2.5), Some(3.0)));
        let one_sided = narrowed(outer, bracket(Some(2.5), None));
        assert_eq!(
            (one_sided.stable, one_sided.saturated),
            (Some(2.5), Some(4.0))
        );
        let low_saturated = narrowed(outer, bracket(None, Some(2.0)));
        assert_eq!(
            (low_saturated.stable, low_saturated.saturated),
            (None, Some(2.0))
        );
        let high_stable = narrowed(outer, bracket(Some(4.0), None));
        assert_eq!(
            (high_stable.stable, high_stable.saturated),
            (Some(4.0), None)
        );
    }
}
