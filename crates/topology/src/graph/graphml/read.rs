//! Reader of GraphML files.

use std::collections::{BTreeMap, HashMap};

use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};

use crate::graph::{Attributes, Edge, Graph, GraphError, GraphProblem};

pub(in crate::graph) fn read(text: &str) -> Result<Graph, GraphError> {
    let mut parser = Parser::default();
    let mut reader = Reader::from_str(text);
    let mut lines = Lines::new(text);
    loop {
        let line = lines.at(reader.buffer_position());
        let event = reader.read_event().map_err(|error| {
            let what = error.to_string();
            GraphProblem::Xml { what }.at(lines.at(reader.error_position()))
        })?;
        parser.line = line;
        let step = match event {
            Event::Start(start) => parser.start(&start),
            Event::Empty(start) => parser.start(&start).and_then(|()| parser.end()),
            Event::End(_) => parser.end(),
            Event::Text(text) => {
                parser.text(&text.xml_content(XmlVersion::Implicit1_0));
                Ok(())
            }
            Event::CData(text) => {
                parser.text(&text.xml_content(XmlVersion::Implicit1_0));
                Ok(())
            }
            Event::GeneralRef(reference) => match reference.resolve_char_ref() {
                Ok(Some(char)) => {
                    parser.text(char.encode_utf8(&mut [0; 4]));
                    Ok(())
                }
                Ok(None) => parser.entity(&reference.into_inner()),
                Err(error) => Err(GraphProblem::Xml {
                    what: error.to_string(),
                }),
            },
            Event::Eof => break,
            Event::Decl(_) | Event::PI(_) | Event::DocType(_) | Event::Comment(_) => Ok(()),
        };
        step.map_err(|problem| problem.at(line))?;
    }
    parser.line = lines.at(text.len() as u64);
    parser.finish()
}

/// Converter from byte offsets of a text, which must ascend, to line numbers.
struct Lines<'a> {
    text: &'a [u8],
    offset: usize,
    line: usize,
}

impl<'a> Lines<'a> {
    /// Create a converter from byte offsets in `text` to line numbers. It starts at the first line.
    fn new(text: &'a str) -> Self {
        Self {
            text: text.as_bytes(),
            offset: 0,
            line: 1,
        }
    }

    /// Return the line number of a byte offset.
    fn at(&mut self, offset: u64) -> usize {
        let end = (offset as usize).min(self.text.len());
        if end > self.offset {
            let passed = &self.text[self.offset..end];
            self.line += passed.iter().filter(|&&byte| byte == b'\n').count();
            self.offset = end;
        }
        self.line
    }
}

/// A `key` element: it declares the name of an attribute, the kind of element that has it, and its default value.
struct Key {
    name: String,
    /// The kind of element that the attribute belongs to: "node", "edge", "graph" or "all".
    domain: String,
    default: Option<String>,
}

/// An edge that the parser has found, with the names of its ends.
struct ReadEdge {
    ends: [String; 2],
    edge: Edge,
    line: usize,
}

/// A GraphML `data` element, which has the value of an attribute of a node or edge.
struct Data {
    name: String,
    value: String,
    /// Whether the data element contains other elements, as those of drawing programs do.
    nested: bool,
}

/// An XML element whose end tag the parser has not yet reached.
enum Open {
    Root,
    Key(String),
    Default(String, String),
    Graph,
    Node(String, Attributes),
    Edge(ReadEdge),
    /// A port of a node or an edge. Its data belong to that node or edge.
    Port,
    Data(Data),
    /// An element whose content the parser ignores, such as a description.
    Other,
}

/// State of the parser: open elements, declared keys, and the nodes and edges found so far.
#[derive(Default)]
struct Parser {
    line: usize,
    open: Vec<(String, Open)>,
    keys: BTreeMap<String, Key>,
    directed: bool,
    seen_graph: bool,
    graph: Graph,
    edges: Vec<ReadEdge>,
}

impl Parser {
    /// Handle the start tag of an element.
    fn start(&mut self, start: &BytesStart) -> Result<(), GraphProblem> {
        let element = start.local_name().as_ref().to_owned();
        if let Some((_, Open::Data(data))) = self.open.last_mut() {
            data.nested = true;
        }
        let parent = self.open.last().map(|(_, open)| open);
        let refuse = |why| {
            Err(GraphProblem::Element {
                element: element.clone(),
                why,
            })
        };
        let open = match (parent, element.as_str()) {
            (None, "graphml") => Open::Root,
            (None, _) => return refuse("cannot be the outermost; it must be \"graphml\""),
            (Some(Open::Root), "key") => {
                let mut attributes = attributes(start)?;
                let id = take_attribute(&mut attributes, "key", "id")?;
                // Name a key without a name by its type: drawing programs define such keys for their own use.
                let name = attributes.remove("attr.name");
                let key = Key {
                    name: name
                        .or_else(|| attributes.remove("yfiles.type"))
                        .unwrap_or_else(|| id.clone()),
                    domain: attributes.remove("for").unwrap_or_else(|| "all".into()),
                    default: None,
                };
                self.keys.insert(id.clone(), key);
                Open::Key(id)
            }
            (Some(Open::Key(id)), "default") => Open::Default(id.clone(), String::new()),
            (Some(Open::Root), "graph") => {
                if self.seen_graph {
                    return refuse("appears a second time; one graph a file can be read");
                }
                self.seen_graph = true;
                let default = attributes(start)?.remove("edgedefault");
                self.directed = match default.as_deref() {
                    Some("directed") => true,
                    Some("undirected") | None => false,
                    Some(value) => {
                        return Err(GraphProblem::Value {
                            attribute: "edgedefault",
                            value: value.to_owned(),
                            allowed: "\"directed\" or \"undirected\"",
                        });
                    }
                };
                Open::Graph
            }
            (Some(Open::Graph), "node") => {
                let mut attributes = attributes(start)?;
                let id = take_attribute(&mut attributes, "node", "id")?;
                Open::Node(id, self.with_defaults("node", attributes))
            }
            (Some(Open::Graph), "edge") => Open::Edge(self.edge(start)?),
            (Some(Open::Graph), "hyperedge") => {
                return refuse("cannot be read; edges must have two ends");
            }
            (Some(Open::Node(..) | Open::Edge(_)), "graph") => {
                return refuse("is nested in a node or edge, which cannot be read");
            }
            (Some(Open::Node(..)), "port") => Open::Port,
            (
                Some(Open::Node(..) | Open::Edge(_) | Open::Port | Open::Graph | Open::Root),
                "data",
            ) => {
                let mut attributes = attributes(start)?;
                let key = take_attribute(&mut attributes, "data", "key")?;
                let Some(declared) = self.keys.get(&key) else {
                    return Err(GraphProblem::UnknownKey { key });
                };
                Open::Data(Data {
                    name: declared.name.clone(),
                    value: String::new(),
                    nested: false,
                })
            }
            (Some(Open::Root | Open::Other), "node" | "edge") => {
                return refuse("is outside the graph");
            }
            (Some(_), _) => Open::Other,
        };
        self.open.push((element, open));
        Ok(())
    }

    /// Return the edge that a start tag describes.
    fn edge(&self, start: &BytesStart) -> Result<ReadEdge, GraphProblem> {
        let mut attributes = attributes(start)?;
        let ends = [
            take_attribute(&mut attributes, "edge", "source")?,
            take_attribute(&mut attributes, "edge", "target")?,
        ];
        let directed = match attributes.remove("directed").as_deref() {
            None => self.directed,
            Some("true" | "1") => true,
            Some("false" | "0") => false,
            Some(value) => {
                return Err(GraphProblem::Value {
                    attribute: "directed",
                    value: value.to_owned(),
                    allowed: "\"true\" or \"false\"",
                });
            }
        };
        // Drop attributes that GraphML itself defines: they only identify the edge and its ports.
        for defined in ["id", "sourceport", "targetport"] {
            attributes.remove(defined);
        }
        Ok(ReadEdge {
            ends,
            edge: Edge {
                directed,
                attributes: self.with_defaults("edge", attributes),
            },
            line: self.line,
        })
    }

    /// Return the attributes of a node or edge: the defaults of all keys, replaced by the XML attributes `written` in
    /// its tag. XML attributes with a dot (`yfiles.foldertype`) are internal to other programs and are ignored.
    fn with_defaults(&self, domain: &str, written: HashMap<String, String>) -> Attributes {
        let defaults = self
            .keys
            .values()
            .filter(|key| key.domain == domain || key.domain == "all")
            .filter_map(|key| Some((key.name.clone(), key.default.clone()?)));
        let written = written.into_iter().filter(|(name, _)| !name.contains('.'));
        defaults.chain(written).collect()
    }

    /// Handle the end tag of the innermost open XML element.
    fn end(&mut self) -> Result<(), GraphProblem> {
        let Some((_, open)) = self.open.pop() else {
            return Ok(());
        };
        match open {
            Open::Default(id, value) => {
                if let Some(key) = self.keys.get_mut(&id) {
                    key.default = Some(value);
                }
            }
            Open::Data(data) => {
                let value = match data.nested {
                    true => data.value.trim().to_owned(),
                    false => data.value,
                };
                let mut open = self.open.iter_mut().rev().map(|(_, open)| open);
                match open.find(|open| !matches!(open, Open::Port)) {
                    Some(Open::Node(_, attributes)) => {
                        attributes.insert(data.name, value);
                    }
                    Some(Open::Edge(edge)) => {
                        edge.edge.attributes.insert(data.name, value);
                    }
                    _ => {
                        self.graph.own.entry(data.name).or_insert(self.line);
                    }
                }
            }
            Open::Node(name, attributes) => {
                let node = self.graph.add_node(name, attributes)?;
                self.graph.set_node_line(node, self.line);
            }
            Open::Edge(edge) => self.edges.push(edge),
            Open::Root | Open::Key(_) | Open::Graph | Open::Port | Open::Other => {}
        }
        Ok(())
    }

    /// Handle text inside an element.
    fn text(&mut self, text: &str) {
        // Add the text to the innermost open `data` or `default` element. Drawing programs nest other elements,
        // such as labels, in it.
        for (_, open) in self.open.iter_mut().rev() {
            match open {
                Open::Data(data) => return data.value.push_str(text),
                Open::Default(_, value) => return value.push_str(text),
                Open::Other => {}
                _ => return,
            }
        }
    }

    /// Handle a reference to an entity, such as `&amp;`.
    fn entity(&mut self, name: &str) -> Result<(), GraphProblem> {
        let text = resolve_predefined_entity(name).ok_or_else(|| GraphProblem::Xml {
            what: format!("unknown entity \"&{name};\""),
        })?;
        self.text(text);
        Ok(())
    }

    /// Check that the file is complete, and return its graph.
    fn finish(mut self) -> Result<Graph, GraphError> {
        if let Some((element, _)) = self.open.pop() {
            return Err(GraphProblem::Truncated { element }.at(self.line));
        }
        if !self.seen_graph {
            return Err(GraphProblem::NoGraph.at(self.line));
        }
        let mut edges = Vec::with_capacity(self.edges.len());
        for ReadEdge { ends, edge, line } in self.edges {
            // Edges may precede their nodes in the file, so names are resolved at the end.
            let find = |name: &String| {
                self.graph.find(name).ok_or_else(|| {
                    let name = name.clone();
                    GraphProblem::UnknownNode { name }.at(line)
                })
            };
            edges.push((find(&ends[0])?, find(&ends[1])?, edge, line));
        }
        self.graph.add_edges(edges)?;
        Ok(self.graph)
    }
}

/// Return the XML attributes of a start tag by name.
fn attributes(start: &BytesStart) -> Result<HashMap<String, String>, GraphProblem> {
    let malformed = |what: String| GraphProblem::Xml { what };
    let mut attributes = HashMap::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| malformed(error.to_string()))?;
        if attribute.key.prefix().is_some() || attribute.key.as_ref() == "xmlns" {
            // Skip XML namespace declarations, and attributes that have a namespace prefix.
            continue;
        }
        let value = attribute
            .normalized_value(XmlVersion::Implicit1_0)
            .map_err(|error| malformed(error.to_string()))?;
        let name = attribute.key.local_name().as_ref().to_owned();
        attributes.insert(name, value.into_owned());
    }
    Ok(attributes)
}

/// Remove a required XML attribute of an element from `attributes` and return its value, or an error if it is
/// missing.
fn take_attribute(
    attributes: &mut HashMap<String, String>,
    element: &'static str,
    attribute: &'static str,
) -> Result<String, GraphProblem> {
    attributes
        .remove(attribute)
        .ok_or(GraphProblem::MissingAttribute { element, attribute })
}
