//! Cubes and whole machines as graphs, to be written to files and drawn.

use super::{Attributes, Edge, Graph};
use crate::{Hypercube, IncompleteHypercube, Placement};

fn attributes<const N: usize>(pairs: [(&str, String); N]) -> Attributes {
    pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn edge<const N: usize>(pairs: [(&str, String); N]) -> Edge {
    Edge {
        directed: false,
        attributes: attributes(pairs),
    }
}

/// Adds the nodes that `name` names and the edges of `cube` among them.
fn add_cube(
    graph: &mut Graph,
    cube: IncompleteHypercube,
    network: &str,
    name: impl Fn(u32) -> (String, Attributes),
) {
    let first = graph.node_count();
    for node in cube.nodes() {
        let (name, attributes) = name(node);
        graph
            .add_node(name, attributes)
            .expect("names of cube nodes differ");
    }
    for node in cube.nodes() {
        for dimension in 0..cube.dimension() {
            let neighbor = cube.neighbor(node, dimension);
            if let Some(neighbor) = neighbor.filter(|&neighbor| node < neighbor) {
                let edge = edge([
                    ("dimension", dimension.to_string()),
                    ("network", network.to_owned()),
                ]);
                graph
                    .add_edge(first + node, first + neighbor, edge)
                    .expect("neighbours differ");
            }
        }
    }
}

fn address(node: u32, dimension: u32) -> String {
    format!("{node:0width$b}", width = dimension as usize)
}

impl From<IncompleteHypercube> for Graph {
    /// Nodes are named by their label in decimal and carry it in binary as `address`; edges carry
    /// their `dimension`.
    fn from(cube: IncompleteHypercube) -> Self {
        let mut graph = Self::new();
        add_cube(&mut graph, cube, "pe", |node| {
            let address = address(node, cube.dimension());
            (node.to_string(), attributes([("address", address)]))
        });
        graph
    }
}

impl From<Hypercube> for Graph {
    /// As for an [`IncompleteHypercube`].
    fn from(cube: Hypercube) -> Self {
        IncompleteHypercube::from(cube).into()
    }
}

impl Graph {
    /// A hypercube with its I/O nodes, as Fig. 1 of the hypercube paper shows it: PEs `0..`, then
    /// the I/O nodes `io0..` by index. Nodes carry `kind` (pe, io) and `address` in the augmented
    /// cube, PEs their `server`; edges carry `network` (pe, io, attach) and, within a network, their
    /// `dimension`.
    ///
    /// `io_network` says whether the I/O nodes are linked to one another.
    pub fn of_machine(cube: Hypercube, placement: &Placement, io_network: bool) -> Self {
        let mut graph = Self::new();
        let width = cube.dimension() + 1;
        add_cube(&mut graph, cube.into(), "pe", |pe| {
            let server = placement.servers().get(pe as usize);
            let server = server.map(|index| format!("io{index}")).unwrap_or_default();
            let attributes = attributes([
                ("address", address(pe, width)),
                ("kind", "pe".to_owned()),
                ("server", server),
            ]);
            (pe.to_string(), attributes)
        });
        let io_node = |index: u32| {
            let pe = placement.io_nodes()[index as usize];
            let attributes = attributes([
                ("address", address(cube.node_count() | pe, width)),
                ("kind", "io".to_owned()),
            ]);
            (format!("io{index}"), attributes)
        };
        let first = graph.node_count();
        match IncompleteHypercube::new(placement.io_node_count()) {
            Ok(io_cube) if io_network => add_cube(&mut graph, io_cube, "io", io_node),
            _ => {
                for index in 0..placement.io_node_count() {
                    let (name, attributes) = io_node(index);
                    graph
                        .add_node(name, attributes)
                        .expect("names of I/O nodes differ");
                }
            }
        }
        for (index, &pe) in placement.io_nodes().iter().enumerate() {
            graph
                .add_edge(
                    pe,
                    first + index as u32,
                    edge([("network", "attach".to_owned())]),
                )
                .expect("a PE is no I/O node");
        }
        graph
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cube_becomes_a_graph_with_the_same_neighbours() {
        let cube = IncompleteHypercube::new(11).unwrap();
        let graph = Graph::from(cube);
        assert_eq!(graph.node_count(), 11);
        for node in cube.nodes() {
            let mut expected: Vec<_> = cube.neighbors(node).collect();
            expected.sort_unstable();
            assert_eq!(graph.neighbors(node), expected);
            assert_eq!(graph.find(&node.to_string()), Some(node));
        }
        assert_eq!(graph.node(10).attributes["address"], "1010");
        assert_eq!(Graph::from(Hypercube::new(7).unwrap()).edge_count(), 448);
    }

    #[test]
    fn figure_1_has_16_pes_and_4_io_nodes_in_a_square() {
        let cube = Hypercube::new(4).unwrap();
        let placement = Placement::combined(cube);
        let graph = Graph::of_machine(cube, &placement, true);
        assert_eq!(graph.node_count(), 20);
        assert_eq!(graph.edge_count(), 32 + 4 + 4);
        let io = graph.find("io2").unwrap();
        assert_eq!(graph.node(io).attributes["address"], "11001");
        assert_eq!(graph.neighbors(io), [9, 16, 19]);
        assert_eq!(graph.node(8).attributes["server"], "io2");
        let control = Graph::of_machine(cube, &placement, false);
        assert_eq!(control.edge_count(), 32 + 4);
        let text = graph.to_graphml();
        assert_eq!(Graph::from_graphml(&text), Ok(graph));
    }
}
