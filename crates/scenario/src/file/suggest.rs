//! "Did you mean": the known word nearest to one that is not known.

/// The candidate that `word` was most likely meant to be, if any is near enough: one typing error
/// for short words, one in three letters for longer ones. The first of equals wins.
pub fn closest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let word = word.to_lowercase();
    let length = word.chars().count();
    let allowed = (length / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let letters = candidate.chars().count();
        let limit = allowed.min(letters.saturating_sub(1));
        // Each letter more is an error by itself; words of megabytes are not compared.
        if length > letters + limit {
            continue;
        }
        let distance = strsim::damerau_levenshtein(&word, &candidate.to_lowercase());
        if distance <= limit && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}
