//! Suggestions for errors: the known word that is most similar to an unknown one.

/// Return the candidate that is most similar to `word`, if any is similar enough. Short words may have one
/// typing error, longer ones one per three letters. The first of equally similar candidates is returned.
pub fn closest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let word = word.to_lowercase();
    let length = word.chars().count();
    let allowed = (length / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let letters = candidate.chars().count();
        let limit = allowed.min(letters.saturating_sub(1));
        // Skip the comparison with a much shorter word: each additional letter counts as a typing error.
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
