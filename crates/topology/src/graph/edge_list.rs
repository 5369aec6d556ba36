//! Edge lists: one edge a line.

use std::collections::HashMap;

use super::{Attributes, Edge, Graph, GraphError, GraphProblem};

/// A word of a line; quoted ones are never taken for syntax.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub text: String,
    pub quoted: bool,
}

pub(super) fn read(text: &str) -> Result<Graph, GraphError> {
    let mut names: Vec<(String, usize)> = Vec::new();
    let mut index: HashMap<String, u32> = HashMap::new();
    let mut edges = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line_number = number + 1;
        let at = |problem: GraphProblem| problem.at(line_number);
        let line = if number == 0 {
            line.trim_start_matches('\u{feff}')
        } else {
            line
        };
        let (words, dictionary) = words(line).map_err(at)?;
        if words
            .first()
            .is_some_and(|word| !word.quoted && is_of_slurm(&word.text))
        {
            return Err(at(GraphProblem::SlurmTopology));
        }
        let mut node = |word: &Word| {
            if word.text.is_empty() {
                return Err(at(GraphProblem::EmptyName));
            }
            if let Some(&known) = index.get(&word.text) {
                return Ok(known);
            }
            let number = names.len() as u32;
            names.push((word.text.clone(), line_number));
            index.insert(word.text.clone(), number);
            Ok(number)
        };
        let (from, to, rest) = match &words[..] {
            [] if dictionary.is_none() => continue,
            [] => return Err(at(GraphProblem::EmptyName)),
            [name] if dictionary.is_none() => {
                node(name)?;
                continue;
            }
            [_] => {
                let word = dictionary.unwrap_or_default().to_owned();
                return Err(at(GraphProblem::NotAnAttribute { word }));
            }
            [from, to, rest @ ..] => (node(from)?, node(to)?, rest),
        };
        if from == to {
            let name = words[0].text.clone();
            return Err(at(GraphProblem::SelfLoop { name }));
        }
        let attributes = attributes(rest, dictionary).map_err(at)?;
        edges.push((from, to, attributes, line_number));
    }
    build(names, edges)
}

/// Whether a word begins a line of Slurm's topology.conf, where names of parameters are written
/// in any case (slurm: topology.conf(5)).
fn is_of_slurm(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    ["switchname", "blockname"].contains(&name.to_ascii_lowercase().as_str())
}

type ReadEdge = (u32, u32, Attributes, usize);

/// `names`: with the lines of their first mention.
fn build(names: Vec<(String, usize)>, edges: Vec<ReadEdge>) -> Result<Graph, GraphError> {
    let place = by_number(&names).unwrap_or_else(|| (0..names.len() as u32).collect());
    let mut sorted = vec![(String::new(), 0); names.len()];
    for (name, &place) in names.into_iter().zip(&place) {
        sorted[place as usize] = name;
    }
    let mut graph = Graph::new();
    for (name, line) in sorted {
        let node = graph
            .add_node(name, Attributes::new())
            .map_err(|problem| problem.at(1))?;
        graph.set_node_line(node, line);
    }
    let edges = edges.into_iter().map(|(from, to, attributes, line)| {
        let edge = Edge {
            directed: false,
            attributes,
        };
        (place[from as usize], place[to as usize], edge, line)
    });
    graph.add_edges(edges)?;
    Ok(graph)
}

/// The number that each name is, when they are exactly those from 0 up.
fn by_number(names: &[(String, usize)]) -> Option<Vec<u32>> {
    let mut seen = vec![false; names.len()];
    names
        .iter()
        .map(|(name, _)| {
            let number: u32 = name.parse().ok()?;
            let seen = seen.get_mut(number as usize)?;
            // "01" is not the name that node 1 would be written back with.
            (!std::mem::replace(seen, true) && *name == number.to_string()).then_some(number)
        })
        .collect()
}

/// The words of a line up to a comment, and the dictionary that ends it, if any.
pub(crate) fn words(line: &str) -> Result<(Vec<Word>, Option<&str>), GraphProblem> {
    let mut words: Vec<Word> = Vec::new();
    let mut word: Option<Word> = None;
    let mut chars = line.char_indices().enumerate();
    while let Some((column, (offset, char))) = chars.next() {
        match char {
            ',' | ';' => words.extend(word.take()),
            _ if char.is_whitespace() => words.extend(word.take()),
            '#' | '%' if word.is_none() => break,
            '{' if word.is_none() => return Ok((words, Some(&line[offset..]))),
            '"' => {
                let word = word.get_or_insert(Word {
                    text: String::new(),
                    quoted: true,
                });
                loop {
                    let (_, (_, char)) = chars
                        .next()
                        .ok_or(GraphProblem::OpenQuote { column: column + 1 })?;
                    match char {
                        '"' => break,
                        '\\' => {
                            let escaped = chars.next().map(|(_, (_, char))| char);
                            let open = GraphProblem::OpenQuote { column: column + 1 };
                            word.text.push(unescaped(escaped.ok_or(open)?));
                        }
                        char => word.text.push(char),
                    }
                }
            }
            char => {
                word.get_or_insert(Word {
                    text: String::new(),
                    quoted: false,
                })
                .text
                .push(char);
            }
        }
    }
    words.extend(word);
    Ok((words, None))
}

fn attributes(words: &[Word], dictionary: Option<&str>) -> Result<Attributes, GraphProblem> {
    let mut attributes = Attributes::new();
    let mut add = |name: &str, value: &str| {
        let name = name.to_owned();
        match attributes.insert(name.clone(), value.to_owned()) {
            None => Ok(()),
            Some(_) => Err(GraphProblem::DuplicateAttribute { name }),
        }
    };
    for (place, word) in words.iter().enumerate() {
        match word.text.split_once('=') {
            Some((name, value)) if !name.is_empty() => add(name, value)?,
            _ if place == 0 && !word.quoted && word.text.parse::<f64>().is_ok() => {
                add("weight", &word.text)?;
            }
            _ => {
                let word = word.text.clone();
                return Err(GraphProblem::NotAnAttribute { word });
            }
        }
    }
    if let Some(text) = dictionary {
        let not_one = || GraphProblem::NotAnAttribute {
            word: text.to_owned(),
        };
        for (name, value) in entries(text).ok_or_else(not_one)? {
            add(&name, &value)?;
        }
    }
    Ok(attributes)
}

/// The entries of `{'name': value, ...}` with flat values, as NetworkX writes them.
fn entries(text: &str) -> Option<Vec<(String, String)>> {
    let mut rest = text.strip_prefix('{')?.trim_start();
    let mut entries = Vec::new();
    loop {
        if let Some(after) = rest.strip_prefix('}') {
            let after = after.trim_start();
            return (after.is_empty() || after.starts_with(['#', '%'])).then_some(entries);
        }
        let (name, after) = scalar(rest)?;
        let after = after.trim_start().strip_prefix(':')?;
        let (value, after) = scalar(after.trim_start())?;
        entries.push((name, value));
        rest = after.trim_start();
        if let Some(after) = rest.strip_prefix(',') {
            rest = after.trim_start();
        } else if !rest.starts_with('}') {
            return None;
        }
    }
}

/// A quoted text, or a bare word up to the next punctuation; and what follows it.
fn scalar(text: &str) -> Option<(String, &str)> {
    let Some(quote) = text.chars().next().filter(|char| "'\"".contains(*char)) else {
        let end = text.find([',', ':', '{', '}', '[', ']', '\'', '"'])?;
        let word = text[..end].trim_end();
        return (!word.is_empty()).then(|| (word.to_owned(), &text[end..]));
    };
    let mut value = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((offset, char)) = chars.next() {
        match char {
            '\\' => value.push(unescaped(chars.next()?.1)),
            _ if char == quote => return Some((value, &text[offset + 1..])),
            _ => value.push(char),
        }
    }
    None
}

/// What a character stands for after `\`.
fn unescaped(char: char) -> char {
    match char {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        char => char,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute<'a>(graph: &'a Graph, edge: usize, name: &str) -> Option<&'a str> {
        let (_, _, edge) = graph.edges().nth(edge)?;
        edge.attributes.get(name).map(String::as_str)
    }

    #[test]
    fn all_ways_to_write_an_edge_are_read() {
        let text = "\u{feff}# a comment\n\n\
                    a b 2.5\n\
                    b,c kind=io width=\"4 lanes\" # wide\n\
                    c;\"d e\"\n\
                    alone\n\
                    a c {'weight': 3, \"kind\": 'x, y'}\n\
                    b \"d e\" {}\n";
        let graph = Graph::from_edge_list(text).unwrap();
        let names: Vec<_> = graph.nodes().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c", "d e", "alone"]);
        assert_eq!(graph.edge_count(), 5);
        assert_eq!(graph.neighbors(2), [0, 1, 3]);
        assert_eq!(attribute(&graph, 0, "weight"), Some("2.5"));
        assert_eq!(attribute(&graph, 1, "width"), Some("4 lanes"));
        assert_eq!(attribute(&graph, 3, "kind"), Some("x, y"));
        assert_eq!(attribute(&graph, 4, "weight"), None);
    }

    #[test]
    fn numbers_from_0_up_name_their_index() {
        let graph = Graph::from_edge_list("2 1\n0 2\n").unwrap();
        assert_eq!(graph.node(0).name, "0");
        assert_eq!(graph.neighbors(2), [0, 1]);
        let gap = Graph::from_edge_list("2 1\n3 2\n").unwrap();
        assert_eq!(gap.node(0).name, "2");
    }

    /// Each edge of a star in falling order would push all neighbours before it one further, 8 * 10^10
    /// moves in all, if they were kept in order one by one.
    #[test]
    fn a_node_may_have_many_neighbours_in_any_order() {
        let edges: Vec<String> = (1..400_000)
            .rev()
            .map(|leaf| format!("0 {leaf}\n"))
            .collect();
        let graph = Graph::from_edge_list(&edges.concat()).unwrap();
        assert!(graph.neighbors(0).iter().copied().eq(1..400_000));
    }

    #[test]
    fn long_words_are_cut_in_errors() {
        let text = format!("a b {}", "x".repeat(10_000));
        let error = Graph::from_edge_list(&text).unwrap_err().to_string();
        let begin = format!("line 1: \"{}…\" after", "x".repeat(60));
        assert!(error.starts_with(&begin), "{error}");
    }

    #[test]
    fn errors_name_the_line() {
        let cases = [
            (
                "a b\nb b\n",
                "line 2: edge from node \"b\" to itself; an edge joins two different nodes",
            ),
            (
                "a \"b\n",
                "line 1: the quote opened in column 3 is not closed on its line",
            ),
            (
                "a b\n\na c heavy\n",
                "line 3: \"heavy\" after the two node names; attributes are a number, name=value, \
                 or a dictionary {'name': value}",
            ),
            ("a b k=1 k=2", "line 1: attribute \"k\" is given twice"),
            ("a \"\"", "line 1: a node needs a name"),
        ];
        for (text, message) in cases {
            assert_eq!(
                Graph::from_edge_list(text).unwrap_err().to_string(),
                message
            );
        }
        for text in [
            "a b {'k': }",
            "a b {'k': 1",
            "a b {'k' 1}",
            "a {}",
            "a b {1: [2]}",
        ] {
            assert!(Graph::from_edge_list(text).is_err(), "{text}");
        }
    }
}
