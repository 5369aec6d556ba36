//! Writing GraphML.

use std::collections::BTreeSet;

use quick_xml::escape::escape;

use crate::graph::{Attributes, Graph};

pub(in crate::graph) fn write(graph: &Graph) -> String {
    let node_keys = Keys::new('n', graph.nodes().map(|node| &node.attributes));
    let edge_keys = Keys::new('e', graph.edges().map(|(_, _, edge)| &edge.attributes));
    let directed = graph.edge_count() > 0 && graph.edges().all(|(_, _, edge)| edge.directed);
    let mut text = String::from(concat!(
        r#"<?xml version="1.0" encoding="UTF-8"?>"#,
        "\n",
        r#"<graphml xmlns="http://graphml.graphdrawing.org/xmlns">"#,
        "\n",
    ));
    node_keys.declare("node", &mut text);
    edge_keys.declare("edge", &mut text);
    let default = if directed { "directed" } else { "undirected" };
    text += &format!("  <graph edgedefault=\"{default}\">\n");
    for node in graph.nodes() {
        text += &format!(r#"    <node id="{}""#, quoted(&node.name));
        node_keys.finish("node", &node.attributes, &mut text);
    }
    for (from, to, edge) in graph.edges() {
        let (from, to) = (&graph.node(from).name, &graph.node(to).name);
        text += &format!(
            r#"    <edge source="{}" target="{}""#,
            quoted(from),
            quoted(to)
        );
        if edge.directed != directed {
            text += &format!(r#" directed="{}""#, edge.directed);
        }
        edge_keys.finish("edge", &edge.attributes, &mut text);
    }
    text += "  </graph>\n</graphml>\n";
    text
}

/// Escaped for an attribute in double quotes, where blanks other than spaces would be lost.
fn quoted(text: &str) -> String {
    let text = escape(text).replace('\n', "&#10;");
    text.replace('\r', "&#13;").replace('\t', "&#9;")
}

/// The attribute names of all nodes or all edges, with the narrowest GraphML type for each.
struct Keys<'a> {
    /// What identifiers begin with; the place in `names` follows.
    letter: char,
    names: Vec<(&'a str, &'static str)>,
}

impl<'a> Keys<'a> {
    fn new(letter: char, all: impl Iterator<Item = &'a Attributes> + Clone) -> Self {
        let names: BTreeSet<&str> = all
            .clone()
            .flat_map(|attributes| attributes.keys().map(String::as_str))
            .collect();
        let kind = |name: &str| {
            let every = |fits: fn(&str) -> bool| {
                let mut values = all.clone().filter_map(|attributes| attributes.get(name));
                values.all(|value| fits(value))
            };
            if every(|value| value.parse::<i64>().is_ok()) {
                "long"
            } else if every(|value| value.parse::<f64>().is_ok()) {
                "double"
            } else if every(|value| value.parse::<bool>().is_ok()) {
                "boolean"
            } else {
                "string"
            }
        };
        Self {
            letter,
            names: names.into_iter().map(|name| (name, kind(name))).collect(),
        }
    }

    fn declare(&self, domain: &str, text: &mut String) {
        for (place, (name, kind)) in self.names.iter().enumerate() {
            *text += &format!(
                r#"  <key id="{}{place}" for="{domain}" attr.name="{}" attr.type="{kind}"/>"#,
                self.letter,
                quoted(name)
            );
            text.push('\n');
        }
    }

    /// The rest of an element whose tag is open.
    fn finish(&self, element: &str, attributes: &Attributes, text: &mut String) {
        if attributes.is_empty() {
            *text += "/>\n";
            return;
        }
        *text += ">\n";
        for (place, (name, _)) in self.names.iter().enumerate() {
            if let Some(value) = attributes.get(*name) {
                // A bare carriage return would be read back as a line feed.
                let value = escape(value).replace('\r', "&#13;");
                *text += &format!(
                    "      <data key=\"{}{place}\">{value}</data>\n",
                    self.letter
                );
            }
        }
        *text += &format!("    </{element}>\n");
    }
}
