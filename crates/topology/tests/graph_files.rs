//! Graph files: what a writer escapes is read back, and nothing that is read brings the reader down.

use std::collections::BTreeSet;

use isthmus_topology::Graph;
use isthmus_topology::graph::{Attributes, Edge, Node};
use proptest::prelude::*;

/// Any text that XML can carry: no control characters but tab, line feed and carriage return.
fn text() -> impl Strategy<Value = String> {
    proptest::string::string_regex("[\\t\\n\\r -~\u{a0}-\u{d7ff}\u{1f600}]{1,8}")
        .expect("the pattern is valid")
}

/// `text` with every character that could be taken for syntax as a reference of XML.
fn escaped(text: &str) -> String {
    let one = |char: char| match char.is_alphanumeric() {
        true => char.to_string(),
        false => format!("&#{};", u32::from(char)),
    };
    text.chars().map(one).collect()
}

/// `text` in double quotes, as an edge list takes it.
fn quoted(text: &str) -> String {
    let one = |char: char| match char {
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        '"' | '\\' => format!("\\{char}"),
        _ => char.to_string(),
    };
    format!("\"{}\"", text.chars().map(one).collect::<String>())
}

/// The nodes and edges of a graph.
#[derive(Debug, PartialEq)]
struct Parts {
    nodes: Vec<Node>,
    edges: Vec<(u32, u32, Edge)>,
}

impl Parts {
    fn of(graph: &Graph) -> Self {
        let edges = graph.edges();
        Self {
            nodes: graph.nodes().cloned().collect(),
            edges: edges
                .map(|(from, to, edge)| (from, to, edge.clone()))
                .collect(),
        }
    }

    fn name(&self, node: u32) -> &str {
        &self.nodes[node as usize].name
    }
}

/// The graph as a cautious program writes it: nothing is left to guess.
fn as_graphml(graph: &Parts) -> String {
    let data = |all: &Attributes| -> String {
        let one = |(name, value): (&String, &String)| {
            format!("<data key=\"{}\">{}</data>", escaped(name), escaped(value))
        };
        all.iter().map(one).collect()
    };
    let mut keys = BTreeSet::new();
    let mut body = String::new();
    for node in &graph.nodes {
        keys.extend(node.attributes.keys());
        let (name, data) = (escaped(&node.name), data(&node.attributes));
        body += &format!("<node id=\"{name}\">{data}</node>\n");
    }
    for (from, to, edge) in &graph.edges {
        keys.extend(edge.attributes.keys());
        let [from, to] = [from, to].map(|&node| escaped(graph.name(node)));
        let data = data(&edge.attributes);
        body += &format!("<edge source=\"{from}\" target=\"{to}\">{data}</edge>\n");
    }
    let keys: String = keys
        .iter()
        .map(|name| {
            let name = escaped(name);
            format!("<key id=\"{name}\" for=\"all\" attr.name=\"{name}\"/>\n")
        })
        .collect();
    format!("<graphml>\n{keys}<graph edgedefault=\"undirected\">\n{body}</graph>\n</graphml>\n")
}

/// The same as an edge list, for which nodes have no attributes.
fn as_edge_list(graph: &Parts) -> String {
    let nodes = graph.nodes.iter();
    let mut text: String = nodes.map(|node| quoted(&node.name) + "\n").collect();
    for (from, to, edge) in &graph.edges {
        let [from, to] = [from, to].map(|&node| quoted(graph.name(node)));
        let one =
            |(name, value): (&String, &String)| format!("{}: {}", quoted(name), quoted(value));
        let entries: Vec<String> = edge.attributes.iter().map(one).collect();
        text += &format!("{from} {to} {{{}}}\n", entries.join(", "));
    }
    text
}

fn parts(node_attributes: bool) -> impl Strategy<Value = Parts> {
    let attributes = || prop::collection::btree_map("[a-z&\"' <=]{1,3}[a-z]", text(), 0..3);
    let names = prop::collection::btree_set(text(), 2..8);
    let edges = prop::collection::vec((any::<u32>(), any::<u32>(), attributes()), 0..12);
    (names, edges, attributes()).prop_map(move |(names, edges, shared)| {
        let attributes = match node_attributes {
            true => shared,
            false => Attributes::new(),
        };
        let nodes = names.into_iter().map(|name| Node {
            name,
            attributes: attributes.clone(),
        });
        let nodes: Vec<Node> = nodes.collect();
        let count = nodes.len() as u32;
        let edges = edges.into_iter().map(|(from, to, attributes)| {
            let edge = Edge {
                directed: false,
                attributes,
            };
            (from % count, to % count, edge)
        });
        let edges = edges.filter(|(from, to, _)| from != to).collect();
        Parts { nodes, edges }
    })
}

/// Pieces of both formats, right and wrong, to be put together at random.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "<graphml>",
        "</graphml>",
        "<graph edgedefault=\"undirected\">",
        "</graph>",
        "<node id=\"a\"/>",
        "<node id='b'>",
        "</node>",
        "<edge source=\"a\" target=\"b\"/>",
        "<edge source='a'",
        "<data key=\"k\">",
        "</data>",
        "<key id=\"k\" for=\"node\"/>",
        "<default>",
        "&amp;",
        "&#x0;",
        "&nothing;",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<?xml version=\"1.0\"?>",
        "<!DOCTYPE a [",
        "\u{feff}",
        "<",
        ">",
        "\"",
        "a b",
        "\n",
        "0 1\n",
        "{'weight': ",
        "}",
        "\\",
        "#",
        ",",
        "=",
        "\u{1f600}",
        "\u{0}",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn graphml_round_trip(parts in parts(true)) {
        let text = as_graphml(&parts);
        match Graph::from_graphml(&text) {
            Ok(back) => prop_assert_eq!(Parts::of(&back), parts),
            Err(error) => prop_assert!(false, "{}\n{}", error, text),
        }
    }

    #[test]
    fn edge_list_round_trip(parts in parts(false)) {
        let text = as_edge_list(&parts);
        match Graph::from_edge_list(&text) {
            Ok(back) => prop_assert_eq!(as_edge_list(&Parts::of(&back)), text),
            Err(error) => prop_assert!(false, "{}\n{}", error, text),
        }
    }

    #[test]
    fn garbage_is_read_or_refused_with_a_line_that_exists(text in prop_oneof![pieces(), any::<String>()]) {
        let last = text.split('\n').count();
        for error in [Graph::from_graphml(&text).err(), Graph::from_edge_list(&text).err()]
            .into_iter()
            .flatten()
        {
            prop_assert!((1..=last).contains(&error.line), "{error}");
            prop_assert!(!error.problem.to_string().is_empty());
        }
    }
}

#[test]
fn deep_nesting_is_no_danger() {
    let text = format!("<graphml>{}", "<x>".repeat(200_000));
    assert!(Graph::from_graphml(&text).is_err());
}

/// Read as an edge list it would be a network of nodes called `SwitchName=s0` and `Nodes=n[0-5]`.
#[test]
fn a_topology_conf_of_slurm_is_refused_by_name() {
    let tree = "# two leaves\nSwitchName=s0 Nodes=n[0-5]\nSwitchName=s1 Nodes=n[6-11]\n\
                SwitchName=top Switches=s[0-1]\n";
    for (text, line) in [
        (tree.to_owned(), 2),
        (tree.to_lowercase(), 2),
        ("BlockName=b1 Nodes=n[0-3]\n".to_owned(), 1),
    ] {
        let error = Graph::from_edge_list(&text).unwrap_err();
        assert_eq!(error.line, line);
        let said = error.to_string();
        assert!(
            said.contains("a topology.conf of Slurm, which lists switches, not edges; "),
            "{said}"
        );
        assert!(said.contains("kind = \"fat-tree\"") && !said.contains('\n'));
    }
    // A node of such a name is possible, in quotes.
    let named = Graph::from_edge_list("\"SwitchName=a\" b").expect("quotes make it a name");
    assert_eq!(named.node_count(), 2);
}

/// The example of ibnetdiscover(8), which would be a network of nodes called `vendid=0x8f1` and `Non-Chassis`.
#[test]
fn output_of_ibnetdiscover_is_refused_by_name() {
    let full = "#\n# Topology file: generated on Tue Jun  5 14:15:10 2007\n#\n\nNon-Chassis Nodes\n\n\
                vendid=0x8f1\ndevid=0x5a06\nswitchguid=0x5442ba00003080(5442ba00003080)\n\
                Switch\t24 \"S-005442ba00003080\"\t# \"ISR9024\" base port 0 lid 6 lmc 0\n\
                [22]\t\"H-0008f10403961354\"[1](8f10403961355)\t# \"MT23108\" lid 4 4xSDR\n";
    for (text, line) in [
        (full, 7),
        ("\nCa\t2 \"H-0008f10403961354\"\t# \"MT23108\"\n", 2),
        (
            "Switch\t : 0x0008f10400410015 ports 24 devid 0x5a06 vendid 0x8f1 \"ISR9024\"\n",
            1,
        ),
        (
            "SW     6 22 0x005442ba00003080 4x SDR - CA     4  1 0x0008f10403961355\n",
            1,
        ),
        ("Chassis 1 (guid 0x8f1000001)\n", 1),
    ] {
        let error = Graph::from_edge_list(text).unwrap_err();
        assert_eq!(error.line, line, "{error}");
        assert!(
            error.to_string().contains("output of ibnetdiscover"),
            "{error}"
        );
    }
    let named = Graph::from_edge_list("Switch 24\nCa Switch\n\"vendid=1\" Ca\n");
    assert_eq!(named.expect("names of vertices").node_count(), 4);
}

#[test]
fn vertices_of_a_list_have_attributes() {
    let text = "a b\na role=switch x=1\nc role=\"a node\"\n\"d=1\" a\n";
    let graph = Graph::from_edge_list(text).expect("it is right");
    assert_eq!((graph.node_count(), graph.edge_count()), (4, 2));
    assert_eq!(graph.node(0).attributes["role"], "switch");
    assert_eq!(
        (
            graph.node(2).attributes["role"].as_str(),
            graph.node_line(0)
        ),
        ("a node", 2)
    );
    for (text, wrong) in [
        (
            "a=1 b\n",
            "line 1: \"a=1\" where the name of a node belongs",
        ),
        (
            "a b\na x=1\nb x=2\na x=3\n",
            "line 4: attribute \"x\" is given twice",
        ),
        ("a x=1 b\n", "line 1: \"b\" after the two node names"),
    ] {
        let error = Graph::from_edge_list(text).unwrap_err().to_string();
        assert!(error.starts_with(wrong), "{error}");
    }
}

/// Attributes of ports are those of their node, XML attributes that GraphML lacks those of their element, and data of
/// the graph are kept; what programs note for themselves is not.
#[test]
fn no_attribute_of_graphml_is_lost() {
    let text = "<graphml><key id='d' for='all' attr.name='rate'/><graph><data key='d'>9</data>\n\
                <node id='a' role='node' yfiles.foldertype='x'><port name='p'><data key='d'>1</data></port></node>\n\
                <node id='b' y:role='node'/>\n\
                <edge source='a' target='b' sourceport='p' speed='10'/></graph></graphml>";
    let graph = Graph::from_graphml(text).expect("it is right");
    let [a, b] = [0, 1].map(|node| graph.node(node).attributes.clone());
    assert_eq!(
        (a["role"].as_str(), a["rate"].as_str(), a.len()),
        ("node", "1", 2)
    );
    assert_eq!(b.len(), 0);
    let (_, _, edge) = graph.edges().next().expect("an edge");
    let names: Vec<&String> = edge.attributes.keys().collect();
    assert_eq!(names, ["speed"]);
    assert_eq!(graph.own_attributes().get("rate"), Some(&1));
}
