//! "Did you mean": the known word nearest to one that is not known.

/// The candidate that `word` was most likely meant to be, if any is near enough: one typing error
/// for short words, one in three letters for longer ones. The first of equals wins.
pub(crate) fn closest<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    let word = word.to_lowercase();
    let allowed = (word.chars().count() / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let distance = strsim::damerau_levenshtein(&word, &candidate.to_lowercase());
        let limit = allowed.min(candidate.chars().count().saturating_sub(1));
        if distance <= limit && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}
