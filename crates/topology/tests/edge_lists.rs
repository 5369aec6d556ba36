//! Graphs, and the edge lists that describe them.

use isthmus_topology::Graph;
use isthmus_topology::graph::Attributes;

/// Return the value of the attribute `name` of edge number `edge`, or `None` if the edge does not have it.
fn attribute<'a>(graph: &'a Graph, edge: usize, name: &str) -> Option<&'a str> {
    let (_, _, edge) = graph.edges().nth(edge)?;
    edge.attributes.get(name).map(String::as_str)
}

/// Checks that edge lists are read in all notations of edges and attributes.
#[test]
fn all_forms_of_edges_are_read() {
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

/// Checks that if all names are the numbers from 0 up without gaps, each node has the index of its name.
#[test]
fn numbers_from_0_up_name_their_index() {
    let graph = Graph::from_edge_list("2 1\n0 2\n").unwrap();
    assert_eq!(graph.node(0).name, "0");
    assert_eq!(graph.neighbors(2), [0, 1]);
    let gap = Graph::from_edge_list("2 1\n3 2\n").unwrap();
    assert_eq!(gap.node(0).name, "2");
}

/// Checks that a graph with many edges at one node is read in a short time. Adding the edges one by one would take
/// too long: each edge of a star in descending order would move all previous neighbours, 8 * 10^10 moves in total.
#[test]
fn a_node_may_have_many_neighbours_in_any_order() {
    let edges: Vec<String> = (1..400_000)
        .rev()
        .map(|leaf| format!("0 {leaf}\n"))
        .collect();
    let graph = Graph::from_edge_list(&edges.concat()).unwrap();
    assert!(graph.neighbors(0).iter().copied().eq(1..400_000));
}

/// Checks that error messages show only the beginning of long words.
#[test]
fn long_words_are_cut_in_errors() {
    let text = format!("a b {}", "x".repeat(10_000));
    let error = Graph::from_edge_list(&text).unwrap_err().to_string();
    let begin = format!("line 1: \"{}…\" after", "x".repeat(60));
    assert!(error.starts_with(&begin), "{error}");
}

/// Checks that error messages contain the number of the line and the problem.
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

/// Checks that duplicate and empty names and edges from a node to itself are refused.
#[test]
fn nodes_and_edges_are_checked() {
    let mut graph = Graph::new();
    let a = graph.add_node("a", Attributes::new()).unwrap();
    let b = graph.add_node("b", Attributes::new()).unwrap();
    assert_eq!(graph.find("b"), Some(b));
    assert_eq!(graph.find("c"), None);
    assert!(graph.add_node("a", Attributes::new()).is_err());
    assert!(graph.add_node("", Attributes::new()).is_err());
    let error = Graph::from_edge_list("a\nb\na a\n").unwrap_err();
    assert_eq!(error.line, 3);
    let graph = Graph::from_edge_list("a b\nb a\n").unwrap();
    assert_eq!(graph.edge_count(), 2);
    assert_eq!(graph.neighbors(a), [b]);
}
