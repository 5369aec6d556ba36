//! Graphs in GraphML files.

use isthmus_topology::Graph;

/// A small GraphML file with keys, defaults, nodes and edges.
const SMALL: &str = r#"<?xml version="1.0"?>
<!DOCTYPE graphml>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
  <key id="d0" for="node" attr.name="kind" attr.type="string"><default>pe</default></key>
  <key id="d1" for="edge" attr.name="lanes" attr.type="int"/>
  <key id="d2" for="node" yfiles.type="nodegraphics"/>
  <graph id="G" edgedefault="undirected">
<edge source="a" target="b"><data key="d1">4</data></edge>
<node id="a"/>
<node id="b &amp; c"><port name="north"/><data key="d0">i&#47;o</data></node>
<node id="b">
  <data key="d2"><y:ShapeNode>
    <y:NodeLabel>left</y:NodeLabel>
  </y:ShapeNode></data>
</node>
<edge source="b" target="b &amp; c" directed="true"/>
  </graph>
</graphml>
"#;

/// Checks that nodes, edges, default values and attributes of a GraphML file are read.
#[test]
fn nodes_edges_defaults_and_data_are_read() {
    let graph = Graph::from_graphml(SMALL).unwrap();
    let names: Vec<_> = graph.nodes().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["a", "b & c", "b"]);
    assert_eq!(graph.node(0).attributes["kind"], "pe");
    assert_eq!(graph.node(1).attributes["kind"], "i/o");
    assert_eq!(graph.node(2).attributes["nodegraphics"], "left");
    let edges: Vec<_> = graph.edges().collect();
    assert_eq!((edges[0].0, edges[0].1), (0, 2));
    assert_eq!(edges[0].2.attributes["lanes"], "4");
    assert!(!edges[0].2.directed && edges[1].2.directed);
}

/// Checks that error messages contain the number of the line and the problem.
#[test]
fn errors_name_the_line() {
    let wrap = |inner: &str| format!("<graphml>\n<graph>\n{inner}\n</graph>\n</graphml>");
    let cases = [
        (
            wrap("<node id='a'/>\n<node id='a'/>"),
            r#"line 4: node "a" is there already; names must differ"#,
        ),
        (
            wrap("<node/>"),
            r#"line 3: element "node" has no attribute "id""#,
        ),
        (
            wrap("<node id='a'/>\n\n<edge source='a' target='z'/>"),
            r#"line 5: edge to node "z", which the file does not declare"#,
        ),
        (
            wrap("<node id='a'><data key='d9'>1</data></node>"),
            r#"line 3: data for key "d9", which the file does not declare before"#,
        ),
        (
            wrap("<hyperedge/>"),
            r#"line 3: element "hyperedge" cannot be read; edges must have two ends"#,
        ),
        (
            wrap("<node id='a'><graph/></node>"),
            r#"line 3: element "graph" is nested in a node or edge, which cannot be read"#,
        ),
        (wrap("<node id='&who;'/>"), "line 3: not well-formed XML: "),
        (wrap("<node id='a'>"), "line 4: not well-formed XML: "),
        (
            "<graphml>\n<graph>\n".into(),
            r#"line 3: the file ends inside element "graph""#,
        ),
        ("<graphml/>".into(), r#"line 1: no "graph" element"#),
        (String::new(), r#"line 1: no "graph" element"#),
        (
            "<svg/>".into(),
            r#"line 1: element "svg" cannot be the outermost; it must be "graphml""#,
        ),
        (
            "<graphml><graph edgedefault='both'/></graphml>".into(),
            r#"line 1: "both" for edgedefault; it must be "directed" or "undirected""#,
        ),
    ];
    for (text, message) in cases {
        let error = Graph::from_graphml(&text).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error} is not {message}");
    }
}
