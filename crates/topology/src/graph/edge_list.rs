//! Reader of edge lists: text files that describe a graph with one edge per line.

use std::collections::HashMap;

use super::{Attributes, Edge, Graph, GraphError, GraphProblem};

/// A word of a line in an edge list. A word in quotes is never an attribute or a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub text: String,
    pub quoted: bool,
}

/// A node of a graph file, with its attributes and the line that first names it or gives the attributes.
struct ReadNode {
    name: String,
    line: usize,
    attributes: Attributes,
}

/// An edge of a graph file: the indices of its two nodes, its attributes and the number of its line.
type ReadEdge = (u32, u32, Attributes, usize);

/// The nodes and edges that the reader of an edge list has found so far.
#[derive(Default)]
struct Reader {
    nodes: Vec<ReadNode>,
    index: HashMap<String, u32>,
    edges: Vec<ReadEdge>,
}

/// Parse the text of an edge list into a graph.
pub(super) fn read(text: &str) -> Result<Graph, GraphError> {
    let mut reader = Reader::default();
    let text = text.trim_start_matches('\u{feff}');
    for (number, line) in (1..).zip(text.lines()) {
        let read = reader.read_line(line, number);
        read.map_err(|problem| problem.at(number))?;
    }
    reader.into_graph()
}

impl Reader {
    /// Add the content of line number `number` (from 1) of an edge list to the graph.
    fn read_line(&mut self, line: &str, number: usize) -> Result<(), GraphProblem> {
        let (words, dictionary) = words(line)?;
        if let Some(problem) = foreign_format(&words) {
            return Err(problem);
        }
        let (from, to, rest) = match &words[..] {
            [] if dictionary.is_none() => return Ok(()),
            [] => return Err(GraphProblem::EmptyName),
            [name, rest @ ..] if rest.first().map_or(dictionary.is_none(), is_attribute) => {
                let node = self.node_number(name, number)? as usize;
                return self.set_attributes(node, attributes(rest, dictionary)?, number);
            }
            [_] => {
                let word = dictionary.unwrap_or_default().to_owned();
                return Err(GraphProblem::NotAnAttribute { word });
            }
            [from, to, rest @ ..] => (
                self.node_number(from, number)?,
                self.node_number(to, number)?,
                rest,
            ),
        };
        if from == to {
            let name = words[0].text.clone();
            return Err(GraphProblem::SelfLoop { name });
        }
        let attributes = attributes(rest, dictionary)?;
        self.edges.push((from, to, attributes, number));
        Ok(())
    }

    /// Return the index of the node with this name. Add the node if it is new.
    fn node_number(&mut self, word: &Word, line: usize) -> Result<u32, GraphProblem> {
        if word.text.is_empty() {
            return Err(GraphProblem::EmptyName);
        }
        if is_attribute(word) {
            let word = word.text.clone();
            return Err(GraphProblem::NotAName { word });
        }
        if let Some(&known) = self.index.get(&word.text) {
            return Ok(known);
        }
        let number = self.nodes.len() as u32;
        self.nodes.push(ReadNode {
            name: word.text.clone(),
            line,
            attributes: Attributes::new(),
        });
        self.index.insert(word.text.clone(), number);
        Ok(number)
    }

    /// Set attributes of node number `node`, as read from line number `line`. Return a problem if the node already has
    /// one of them.
    fn set_attributes(
        &mut self,
        node: usize,
        attributes: Attributes,
        line: usize,
    ) -> Result<(), GraphProblem> {
        let node = &mut self.nodes[node];
        for (name, value) in attributes {
            node.line = line;
            if node.attributes.insert(name.clone(), value).is_some() {
                return Err(GraphProblem::DuplicateAttribute { name });
            }
        }
        Ok(())
    }

    /// Return the graph of all nodes and edges that the file contains.
    fn into_graph(self) -> Result<Graph, GraphError> {
        let Self { nodes, edges, .. } = self;
        let place = by_number(&nodes).unwrap_or_else(|| (0..nodes.len() as u32).collect());
        let mut nodes: Vec<_> = place.iter().zip(nodes).collect();
        nodes.sort_unstable_by_key(|&(place, _)| *place);
        let mut graph = Graph::new();
        for (_, node) in nodes {
            let number = graph
                .add_node(node.name, node.attributes)
                .map_err(|problem| problem.at(node.line))?;
            graph.set_node_line(number, node.line);
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
}

/// Return whether a word of an edge list has the form `name=value`.
fn is_attribute(word: &Word) -> bool {
    !word.quoted && word.text.find('=').is_some_and(|place| place > 0)
}

/// Return a problem if the words belong to a Slurm topology file or to output of `ibnetdiscover`, not to an edge list.
fn foreign_format(words: &[Word]) -> Option<GraphProblem> {
    let bare = |place: usize| {
        let word = words.get(place).filter(|word| !word.quoted);
        word.map_or("", |word| word.text.as_str())
    };
    let (first, second) = (bare(0), bare(1));
    let parameter = first.split_once('=').map_or("", |(name, _)| name);
    // Parameter names of a Slurm file may have any case (topology.conf(5)).
    let slurm = ["switchname", "blockname"].contains(&parameter.to_ascii_lowercase().as_str());
    // The reader accepts the format of ibnetdiscover(8) of infiniband-diags, section "Topology file format", without
    // the options -l and -p, which change it.
    let guid = [
        "vendid",
        "devid",
        "sysimgguid",
        "switchguid",
        "caguid",
        "rtguid",
    ];
    let is_kind = ["Switch", "Ca", "Rt"].contains(&first);
    let quoted = words.get(2).is_some_and(|word| word.quoted);
    let infiniband = guid.contains(&parameter)
        || is_kind && second.parse::<u32>().is_ok() && quoted
        || is_kind && second == ":" && bare(2).starts_with("0x")
        || ["SW", "CA", "RT"].contains(&first) && bare(3).starts_with("0x")
        || first == "Chassis" && bare(2).starts_with("(guid");
    match (slurm, infiniband) {
        (true, _) => Some(GraphProblem::SlurmTopology),
        (_, true) => Some(GraphProblem::Ibnetdiscover),
        _ => None,
    }
}

/// Return the names of the nodes as numbers, if they are exactly the numbers from 0 up, else `None`.
fn by_number(nodes: &[ReadNode]) -> Option<Vec<u32>> {
    let mut seen = vec![false; nodes.len()];
    nodes
        .iter()
        .map(|ReadNode { name, .. }| {
            let number: u32 = name.parse().ok()?;
            let seen = seen.get_mut(number as usize)?;
            // Reject names such as "01": output files would show this node as "1".
            (!std::mem::replace(seen, true) && *name == number.to_string()).then_some(number)
        })
        .collect()
}

/// Return the words of a line, without its comment, and the text of the dictionary with attributes at its end, `None`
/// if there is no dictionary.
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

/// Return the attributes of an edge-list line: from the words after the two node names, or from `dictionary`, the text
/// of a Python dictionary.
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

/// Parse a Python dictionary `{'name': value, ...}` without nested values, as NetworkX writes it. Return names and
/// values, or `None` if the text has another form.
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

/// Read a quoted text, or a word up to the next punctuation mark, at the start of `text`. Return it and the rest of
/// `text`, or `None` if there is none.
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

/// Return the character that the escape sequence of `\` and `char` stands for.
fn unescaped(char: char) -> char {
    match char {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        char => char,
    }
}
