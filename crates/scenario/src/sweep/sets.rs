//! Expansion of the words `alone` and `pairs` on an axis over sets of jobs, for studies of interference
//! between jobs.

use crate::file::error::Problem;
use crate::file::suggest::closest;
use crate::file::tree::{Node, Tree, shown};
use crate::value::SET_WORDS;

/// Expand `word` to the sets of names for which it stands, as lists in the order of the file. Errors name no
/// field.
///
/// `"alone"` stands for each name by itself. `"pairs"` stands for each name by itself, then each pair. Both
/// end with the set of all names, unless the list includes it already.
pub(crate) fn sets(names: &[String], word: &str, node: &Node) -> Result<Vec<Node>, Problem> {
    let origin = node.origin;
    let mut sets: Vec<Vec<&str>> = names.iter().map(|name| vec![name.as_str()]).collect();
    match word {
        "alone" => {}
        "pairs" => {
            for (at, first) in names.iter().enumerate() {
                sets.extend(
                    names[at + 1..]
                        .iter()
                        .map(|second| vec![first.as_str(), second]),
                );
            }
        }
        _ => {
            let hint = match closest(word, SET_WORDS.iter().copied()) {
                Some(meant) => format!("did you mean \"{meant}\"?"),
                None => "give \"alone\", \"pairs\" or a list of sets".to_owned(),
            };
            return Err(node.problem(format!("{} is not known here", shown(word)), hint));
        }
    }
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    if !all.is_empty() && !sets.contains(&all) {
        sets.push(all);
    }
    let text = |name: &&str| Node {
        tree: Tree::Text((*name).to_owned()),
        origin,
    };
    let set = |set: &Vec<&str>| Node {
        tree: Tree::Array(set.iter().map(text).collect()),
        origin,
    };
    Ok(sets.iter().map(set).collect())
}
