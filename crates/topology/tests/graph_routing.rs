//! Routes of graphs of any shape: they are routes, as short as their rule allows, and what is said of
//! all of them together is what walking them one by one finds.

use isthmus_topology::deadlock::Dependencies;
use isthmus_topology::graph::{Attributes, Channels, Edge, ShortestPaths, UpDown};
use isthmus_topology::{Graph, distance};
use proptest::prelude::*;

fn graph(node_count: u32, edges: impl IntoIterator<Item = (u32, u32)>) -> Graph {
    let mut graph = Graph::new();
    for node in 0..node_count {
        graph
            .add_node(node.to_string(), Attributes::new())
            .expect("numbers differ");
    }
    for (from, to) in edges {
        if from % node_count != to % node_count {
            graph
                .add_edge(from % node_count, to % node_count, Edge::default())
                .expect("both ends exist and differ");
        }
    }
    graph
}

fn ring(node_count: u32) -> Graph {
    graph(node_count, (0..node_count).map(|node| (node, node + 1)))
}

fn graphs() -> impl Strategy<Value = Graph> {
    let edges = prop::collection::vec((any::<u32>(), any::<u32>()), 0..36);
    (1u32..18, edges).prop_map(|(node_count, edges)| graph(node_count, edges))
}

/// Hops between all pairs over the links that `allowed` allows, by Floyd and Warshall's relaxation;
/// a large number where there is no path.
fn relaxed(graph: &Graph, allowed: impl Fn(u32, u32) -> bool) -> Vec<Vec<u32>> {
    let count = graph.node_count() as usize;
    let mut hops = vec![vec![u32::MAX / 4; count]; count];
    for (from, hops) in hops.iter_mut().enumerate() {
        hops[from] = 0;
        for &to in graph.neighbors(from as u32) {
            if allowed(from as u32, to) {
                hops[to as usize] = 1;
            }
        }
    }
    for over in 0..count {
        for from in 0..count {
            for to in 0..count {
                hops[from][to] = hops[from][to].min(hops[from][over] + hops[over][to]);
            }
        }
    }
    hops
}

fn pairs(graph: &Graph) -> impl Iterator<Item = (u32, u32)> {
    let nodes = 0..graph.node_count();
    nodes
        .clone()
        .flat_map(move |from| nodes.clone().map(move |to| (from, to)))
}

/// Walks all routes; returns the dependencies and the pairs by hops. `shortest` is how long a route
/// may be.
fn check_routes(
    graph: &Graph,
    route: impl Fn(u32, u32) -> Option<Vec<u32>>,
    shortest: impl Fn(u32, u32) -> u32,
) -> (Dependencies, Vec<u64>) {
    let channels = Channels::new(graph);
    let mut dependencies = Dependencies::new(channels.count());
    let mut by_hops = Vec::new();
    for (from, to) in pairs(graph) {
        let Some(route) = route(from, to) else {
            assert!(shortest(from, to) >= graph.node_count(), "{from} to {to}");
            continue;
        };
        assert_eq!((route[0], route[route.len() - 1]), (from, to));
        assert_eq!(route.len() as u32, shortest(from, to) + 1, "{from} to {to}");
        if by_hops.len() < route.len() {
            by_hops.resize(route.len(), 0);
        }
        by_hops[route.len() - 1] += 1;
        dependencies.add_path(route.windows(2).map(|ends| {
            let channel = channels.between(ends[0], ends[1]);
            channel.expect("routes go from neighbour to neighbour")
        }));
    }
    (dependencies, by_hops)
}

fn assert_same(graph: &Graph, found: &Dependencies, expected: &Dependencies) {
    for channel in 0..Channels::new(graph).count() {
        assert_eq!(found.successors(channel), expected.successors(channel));
    }
}

fn check_shortest_paths(graph: &Graph) {
    let routing = ShortestPaths::new(graph);
    let hops = relaxed(graph, |_, _| true);
    let (dependencies, by_hops) = check_routes(
        graph,
        |from, to| routing.route(from, to),
        |from, to| hops[from as usize][to as usize],
    );
    assert_same(graph, &routing.dependencies(), &dependencies);
    assert_eq!(
        distance::histogram(graph, 0..graph.node_count()),
        by_hops,
        "routes are as long as distances"
    );
}

fn check_up_down(graph: &Graph) {
    let routing = UpDown::new(graph);
    let hops = relaxed(graph, |_, _| true);
    let rank = |node: u32| {
        let from_all = &hops[node as usize];
        let root = from_all.iter().position(|&hops| hops < u32::MAX / 4);
        (from_all[root.expect("a node reaches itself")], node)
    };
    let is_up = |from: u32, to: u32| rank(to) < rank(from);
    // Up to some node and down from it; going down is going up backwards.
    let up = relaxed(graph, is_up);
    let shortest = |from: u32, to: u32| {
        let over = up[from as usize].iter().zip(&up[to as usize]);
        over.map(|(up, down)| up + down).min().expect("has nodes")
    };
    let route = |from, to| {
        let route = routing.route(from, to)?;
        let ups: Vec<_> = route
            .windows(2)
            .map(|ends| is_up(ends[0], ends[1]))
            .collect();
        assert!(ups.is_sorted_by(|a, b| a >= b), "{route:?} goes up again");
        Some(route)
    };
    let (dependencies, by_hops) = check_routes(graph, route, shortest);
    let walked = routing.walk();
    assert_same(graph, &walked.dependencies, &dependencies);
    assert_eq!(walked.hops, by_hops);
    if let Err(cycle) = walked.dependencies.check() {
        panic!("up*/down*: {cycle}");
    }
    for (from, to) in pairs(graph) {
        let joined = hops[from as usize][to as usize] < graph.node_count();
        assert_eq!(routing.route(from, to).is_some(), joined);
    }
}

#[test]
fn a_ring_shows_its_circle_and_up_down_breaks_it() {
    for node_count in 5..10 {
        let ring = ring(node_count);
        check_shortest_paths(&ring);
        check_up_down(&ring);
        let cycle = ShortestPaths::new(&ring).dependencies().check();
        let cycle = cycle.expect_err("all go round").channels;
        assert_eq!(cycle.len(), node_count as usize);
        let channels = Channels::new(&ring);
        for (index, &held) in cycle.iter().enumerate() {
            let asked = channels.ends(cycle[(index + 1) % cycle.len()]);
            assert_eq!(channels.ends(held).1, asked.0);
        }
    }
}

#[test]
fn a_square_is_free_of_deadlock_by_its_ties() {
    // Routes over two hops: 0-1-2, 2-1-0, 1-0-3, 3-0-1; none crosses node 2 or 3.
    let square = ring(4);
    let routing = ShortestPaths::new(&square);
    assert_eq!(routing.route(3, 1), Some(vec![3, 0, 1]));
    let dependencies = routing.dependencies();
    assert_eq!(dependencies.len(), 4);
    assert!(dependencies.check().is_ok());
}

#[test]
fn a_tree_has_one_routing() {
    let tree = graph(9, (1..9).map(|node| (node, (node - 1) / 2)));
    check_shortest_paths(&tree);
    check_up_down(&tree);
    let up_down = UpDown::new(&tree).walk();
    let shortest = ShortestPaths::new(&tree).dependencies();
    assert_same(&tree, &up_down.dependencies, &shortest);
    assert!(shortest.check().is_ok());
}

#[test]
fn nodes_without_links_are_reached_from_nowhere_else() {
    let apart = graph(4, [(1, 2)]);
    assert_eq!(ShortestPaths::new(&apart).route(0, 0), Some(vec![0]));
    assert_eq!(ShortestPaths::new(&apart).route(0, 1), None);
    assert_eq!(UpDown::new(&apart).route(3, 3), Some(vec![3]));
    assert_eq!(UpDown::new(&apart).route(1, 3), None);
    assert_eq!(UpDown::new(&apart).walk().hops, [4, 2]);
    assert_eq!(UpDown::new(&Graph::new()).walk().hops, []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn shortest_paths_are_shortest(graph in graphs()) {
        check_shortest_paths(&graph);
    }

    #[test]
    fn up_down_is_free_of_deadlock_and_as_short_as_allowed(graph in graphs()) {
        check_up_down(&graph);
    }
}
