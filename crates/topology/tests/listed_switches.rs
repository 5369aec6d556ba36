//! Networks of switches in edge lists and GraphML files.

use isthmus_topology::switches::{Leaves, ListSummary, Nodes, listed};

/// Checks that leaves are assumed to be nodes if they are most of the vertices. The list has 535 hosts at five
/// switches in a ring: 5 * 107 leaves of 540 vertices.
#[test]
fn hosts_of_a_list_are_nodes() {
    let ring = (0..5).map(|at| format!("s{at} s{} 4\n", (at + 1) % 5));
    let hosts = (0..535).map(|at| format!("h{at} s{}\n", at % 5));
    let text: String = ring.chain(hosts).collect();
    let account = ListSummary::of(&text, "").unwrap();
    assert_eq!((account.vertices, account.leaves), (540, 535));
    assert_eq!(account.leaves_are, Leaves::Nodes);
    let parts = (account.switches, account.nodes, account.cables);
    assert_eq!(parts, (5, 535, 5 * 4));
}

/// Checks that leaves are assumed to be switches if they are few or have invalid cables. Half of the vertices are
/// not most of them. A host with two cables is no node, and neither are two hosts that are joined to each other.
#[test]
fn few_or_invalid_leaves_are_switches() {
    for (text, obstacle) in [
        ("a b\nb c\nc d\n", false),
        ("s a 2\ns b\n", true),
        ("a b\n", true),
    ] {
        let account = ListSummary::of(text, "").unwrap();
        assert_eq!(account.leaves_are, Leaves::Switches, "{text}");
        assert_eq!(account.obstacle.is_some(), obstacle, "{text}");
        assert_eq!(account.switches, account.vertices);
    }
}

/// Checks that switches, nodes and cable widths are read from an edge list.
#[test]
fn switches_nodes_and_widths_are_read() {
    let text = "# two switches\nleft right 2\nleft right\nleft a\nb right width=1\nleft c\n";
    let all = listed(text, Leaves::Switches, "").unwrap();
    assert_eq!((all.form.switch_count(), all.nodes), (5, None));
    let found = listed(text, Leaves::Nodes, "").unwrap();
    assert_eq!(found.form.cables(), [(0, 1); 3]);
    assert_eq!(found.nodes, Some(Nodes::At(vec![0, 1, 0])));
    // The list describes one switch, which has only nodes as neighbours.
    let star = listed("s a\ns b\n", Leaves::Nodes, "").unwrap();
    assert_eq!((star.form.switch_count(), star.form.cables().len()), (1, 0));
}

/// Checks that the attribute `role` of a vertex decides whether it is a switch or a node. The option for
/// vertices with one neighbour (leaves) applies only to vertices without the attribute.
#[test]
fn roles_override_leaves() {
    let text = r#"<graphml><key id="r" for="node" attr.name="role"/><key id="w" for="edge"
        attr.name="width"/><graph edgedefault="undirected">
        <node id="a"><data key="r">node</data></node><node id="s"/>
        <node id="t"><data key="r">switch</data></node>
        <edge source="s" target="a"/><edge source="t" target="s"><data key="w">3</data></edge>
        </graph></graphml>"#;
    for leaves in [Leaves::Nodes, Leaves::Switches] {
        let found = listed(text, leaves, "").unwrap();
        assert_eq!(found.form.cables(), [(1, 0); 3]);
        assert_eq!(found.nodes, Some(Nodes::At(vec![0])));
    }
}

/// Checks the messages of errors in lists, and that each error has the number of the line with the problem.
#[test]
fn errors_have_a_line() {
    let cases = [
        (
            "a b\nb c 0\n",
            "a width of 0 between \"b\" and \"c\"",
            Some(2),
        ),
        (
            "a b 1.5\n",
            "a width of 1.5 between \"a\" and \"b\"",
            Some(1),
        ),
        (
            "a b width=-1\n",
            "a width of -1 between \"a\" and \"b\"",
            Some(1),
        ),
        ("a b\n\nc d\n", "no way leads from \"c\" to \"a\"", Some(3)),
        (
            "a b\nb a\nb b\n",
            "edge from node \"b\" to itself; an edge joins two different nodes",
            Some(3),
        ),
        ("", "no switch at all", None),
    ];
    for (text, problem, line) in cases {
        let error = listed(text, Leaves::Switches, "").unwrap_err();
        assert_eq!((error.to_string().as_str(), error.line()), (problem, line));
    }
    let of_nodes = [
        ("s t\ns a\na\n", None),
        // The list is a single edge between two leaves, which both count as nodes.
        ("a b\n", Some(("no switch at all", None))),
        (
            "s t\ns u\ns a 2\n",
            Some((
                "node \"a\" is joined to \"s\", and not by one cable to one switch alone",
                Some(3),
            )),
        ),
    ];
    for (text, wrong) in of_nodes {
        let found =
            listed(text, Leaves::Nodes, "").map_err(|error| (error.to_string(), error.line()));
        let wrong = wrong.map(|(problem, line)| (problem.to_owned(), line));
        assert_eq!(found.err(), wrong, "{text}");
    }
    let wide: String = (0..1200)
        .map(|at| format!("s{at} s{} 1024\n", at + 1))
        .collect();
    let error = listed(&wide, Leaves::Switches, "").unwrap_err();
    assert_eq!(error.line(), Some(1025));
}
