//! Answers requests about the placement of I/O nodes in a network.

use crate::graph::GraphRequest;
use crate::question::{NodeRef, Refusal, Whole, answer};
use isthmus_machine::hypercube::spec::PlacementSpec;
use isthmus_topology::{
    Adjacency, Budget, DominatingSet, Graph, Hypercube, Placement, PlacementError,
};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

/// Budget of the search for the smallest placement, with which other placements are compared.
const COMPARISON: Budget = Budget {
    solver_pes_max: 64,
    solver_nodes_max: 2_000,
    search_steps_max: 1 << 26,
};

/// A method that places I/O nodes in a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Method {
    Combined,
    Hamming,
    Dominating,
    Stride,
    Clustered,
    List,
}

#[derive(Default, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "an object with a method and what it needs, such as {\"method\": \"combined\"}"
)]
/// The part of a request that describes a placement of I/O nodes.
pub(crate) struct PlacementQuestion {
    pub method: Option<Method>,
    pub count: Option<Whole>,
    pub pes: Option<Vec<NodeRef>>,
}

/// A requested placement of I/O nodes, reduced to the fields that its method needs.
pub(crate) struct Choice {
    pub method: Method,
    count: u32,
    pes: Vec<NodeRef>,
    /// Prefix of the names of the placement's fields in messages.
    prefix: &'static str,
}

/// A placement of I/O nodes and, if it was found by a search, the bounds on the smallest placement.
pub(crate) struct Placed {
    pub placement: Placement,
    set: Option<DominatingSet>,
}

impl Choice {
    /// Return the placement that a request about a hypercube requests.
    pub(crate) fn of_cube(
        question: PlacementQuestion,
        prefix: &'static str,
    ) -> Result<Self, Refusal> {
        Self::new(question, Method::Combined, prefix)
    }

    /// Return the placement that a request about an imported graph requests.
    pub(crate) fn of_graph(
        question: PlacementQuestion,
        prefix: &'static str,
    ) -> Result<Self, Refusal> {
        let choice = Self::new(question, Method::Dominating, prefix)?;
        match choice.method {
            Method::Combined | Method::Hamming => {
                let problem = "codes need a hypercube; use dominating, stride, clustered or list";
                Err(choice.refuse("method", problem))
            }
            _ => Ok(choice),
        }
    }

    /// Check that the request has exactly the fields that its method needs.
    fn new(
        question: PlacementQuestion,
        usual: Method,
        prefix: &'static str,
    ) -> Result<Self, Refusal> {
        let method = question.method.unwrap_or(usual);
        let counted = matches!(method, Method::Stride | Method::Clustered);
        let listed = method == Method::List;
        let refuse = |field, problem| Err(Refusal::at(format!("{prefix}{field}"), problem));
        match (&question.count, &question.pes) {
            (None, _) if counted => {
                return refuse("count", "missing; stride and clustered need it");
            }
            (_, None) if listed => {
                return refuse("pes", "missing; list needs the PEs with an I/O node");
            }
            (Some(_), _) if !counted => {
                return refuse("count", "only stride and clustered have it; leave it out");
            }
            (_, Some(_)) if !listed => {
                return refuse("pes", "only list has it; leave it out");
            }
            _ => {}
        }
        Ok(Self {
            method,
            count: question.count.map_or(0, |count| count.0),
            pes: question.pes.unwrap_or_default(),
            prefix,
        })
    }

    /// Return an error about a field of the requested placement.
    fn refuse(&self, field: &str, problem: impl std::fmt::Display) -> Refusal {
        Refusal::at(format!("{}{field}", self.prefix), problem)
    }

    /// Return the requested placement in the form that a hypercube machine's description contains.
    pub(crate) fn spec(&self) -> Result<PlacementSpec, Refusal> {
        let count = self.count;
        Ok(match self.method {
            Method::Combined => PlacementSpec::Combined,
            Method::Hamming => PlacementSpec::Hamming,
            Method::Dominating => PlacementSpec::Dominating,
            Method::Stride => PlacementSpec::Stride { count },
            Method::Clustered => PlacementSpec::Clustered { count },
            Method::List => PlacementSpec::List(self.numbers(|_| None)?),
        })
    }

    /// Place the I/O nodes on a hypercube.
    pub(crate) fn on_cube(&self, cube: Hypercube) -> Result<Placed, Refusal> {
        let placement = match self.spec()? {
            PlacementSpec::Combined => Ok(Placement::combined(cube)),
            PlacementSpec::Hamming => Placement::hamming(cube),
            PlacementSpec::Dominating => {
                let (placement, set) = Placement::dominating(cube, Budget::default());
                return Ok(Placed {
                    placement,
                    set: Some(set),
                });
            }
            PlacementSpec::Stride { count } => Placement::stride(&cube, count),
            PlacementSpec::Clustered { count } => Placement::clustered(&cube, count),
            PlacementSpec::List(pes) => Placement::list(&cube, &pes),
        };
        self.placed(placement, None)
    }

    /// Place the I/O nodes on a graph. The methods stride and clustered use node numbers, as on a
    /// hypercube.
    pub(crate) fn on_graph(&self, graph: &Graph) -> Result<Placed, Refusal> {
        let placement = match self.method {
            Method::List => Placement::list(graph, &self.numbers(|name| graph.find(name))?),
            Method::Stride => Placement::stride(graph, self.count),
            Method::Clustered => Placement::clustered(graph, self.count),
            Method::Combined | Method::Hamming | Method::Dominating => {
                let set = DominatingSet::find(graph, None, Budget::default());
                let placement = Placement::nearest(graph, set.pes().to_vec());
                return self.placed(placement, Some(set));
            }
        };
        if let Err(PlacementError::Unreachable { pe }) = placement {
            let problem = format!(
                "node {pe} (\"{}\") has no path to any I/O node; each connected part needs one",
                graph.node(pe).name
            );
            return Err(self.refuse(self.culprit(), problem));
        }
        self.placed(placement, None)
    }

    /// Return a computed placement with the bounds from a search, or convert its error to a refusal
    /// that names the field of the request.
    fn placed(
        &self,
        placement: Result<Placement, PlacementError>,
        set: Option<DominatingSet>,
    ) -> Result<Placed, Refusal> {
        let field = match &placement {
            Err(PlacementError::NotPerfect { .. }) => "method",
            _ => self.culprit(),
        };
        let placement = placement.map_err(|error| self.refuse(field, error))?;
        Ok(Placed { placement, set })
    }

    /// Return the name of the field that determines where the I/O nodes are.
    fn culprit(&self) -> &'static str {
        match self.method {
            Method::List => "pes",
            Method::Stride | Method::Clustered => "count",
            Method::Combined | Method::Hamming | Method::Dominating => "method",
        }
    }

    /// Return the numbers of the nodes that the request lists; `find` returns the number of a node
    /// by its name.
    fn numbers(&self, find: impl Fn(&str) -> Option<u32>) -> Result<Vec<u32>, Refusal> {
        let number = |node: &NodeRef| match node {
            NodeRef::Number(number) => Ok(*number),
            NodeRef::Name(name) => find(name).ok_or_else(|| {
                let problem = format!("no node has the name \"{name}\"; give a number or a name");
                self.refuse("pes", problem)
            }),
        };
        self.pes.iter().map(number).collect()
    }
}

/// The request about a placement of I/O nodes, in JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    dimension: Option<Whole>,
    graph: Option<GraphRequest>,
    method: Option<Method>,
    count: Option<Whole>,
    pes: Option<Vec<NodeRef>>,
}

/// The answer about a placement of I/O nodes, in JSON.
#[derive(Serialize)]
struct Answer {
    method: Method,
    pes: u32,
    io_nodes: Vec<u32>,
    servers: Vec<u32>,
    names: Option<Vec<String>>,
    coverage: Vec<u32>,
    mean_distance: f64,
    pes_per_io_node: (u32, u32),
    dominating: bool,
    perfect: bool,
    optimal: Option<bool>,
    lower_bound: u32,
    fewest_known: u32,
    note: String,
}

/// Place I/O nodes on a hypercube or a graph, and return the placement as JSON.
#[pyfunction]
pub(crate) fn place(py: Python<'_>, spec_json: &str) -> PyResult<String> {
    answer(py, spec_json, |question, _| assess(question))
}

/// Compute the answer to a request about a placement.
fn assess(question: Question) -> Result<Answer, Refusal> {
    let placement = PlacementQuestion {
        method: question.method,
        count: question.count,
        pes: question.pes,
    };
    match (question.dimension, question.graph) {
        (Some(dimension), None) => {
            let cube = Hypercube::new(dimension.0).map_err(|e| Refusal::at("dimension", e))?;
            let choice = Choice::of_cube(placement, "")?;
            Ok(assessed(&cube, &choice, choice.on_cube(cube)?, None))
        }
        (None, Some(graph)) => {
            let graph = graph.read("graph.")?;
            let choice = Choice::of_graph(placement, "")?;
            let names = graph.nodes().map(|node| node.name.clone()).collect();
            let placed = choice.on_graph(&graph)?;
            Ok(assessed(&graph, &choice, placed, Some(names)))
        }
        _ => Err(Refusal::at(
            "dimension",
            "give either dimension for a hypercube or graph for any other network",
        )),
    }
}

/// Return the answer about a placement that was computed.
fn assessed(
    network: &impl Adjacency,
    choice: &Choice,
    placed: Placed,
    names: Option<Vec<String>>,
) -> Answer {
    let placement = &placed.placement;
    let set = placed
        .set
        .unwrap_or_else(|| DominatingSet::find(network, Some(placement.io_nodes()), COMPARISON));
    let coverage = placement.coverage();
    Answer {
        method: choice.method,
        pes: placement.pe_count(),
        io_nodes: placement.io_nodes().to_vec(),
        servers: placement.servers().to_vec(),
        names,
        coverage: coverage.distance_histogram().to_vec(),
        mean_distance: coverage.mean_distance(),
        pes_per_io_node: coverage.served_range(),
        dominating: coverage.is_dominating(),
        perfect: coverage.is_perfect(),
        optimal: placement.is_smallest(&set),
        lower_bound: set.lower_bound(),
        fewest_known: set.pes().len() as u32,
        note: note(choice.method, placement, &set),
    }
}

/// Return a sentence about how close the placement is to the smallest one.
fn note(method: Method, placement: &Placement, set: &DominatingSet) -> String {
    let coverage = placement.coverage();
    let count = placement.io_node_count();
    let (fewest, bound) = (set.pes().len() as u32, set.lower_bound());
    let how = match method {
        _ if coverage.is_perfect() => {
            "perfect: every PE is within one hop of exactly one I/O node".to_owned()
        }
        Method::Combined | Method::Hamming => {
            // A Hamming code on a cube of d = 2^m - 1 dimensions assigns d + 1 PEs to each I/O
            // node, so d follows from the largest number of PEs per I/O node.
            let block = coverage.served_range().1 - 1;
            format!("Hamming codes of {block}-cubes, combined (section 3.2 of the hypercube paper)")
        }
        Method::Dominating if set.is_optimal() => "a smallest set, proven".to_owned(),
        Method::Dominating => "the smallest set found, not proven to be a smallest".to_owned(),
        _ => match coverage.longest_distance() {
            0 => "every PE has an I/O node".to_owned(),
            1 => "every PE is within one hop of an I/O node".to_owned(),
            hops => format!("PEs are up to {hops} hops from their I/O node"),
        },
    };
    let verdict = if coverage.is_dominating() && fewest >= count {
        if count <= bound {
            return how;
        }
        format!("a placement within one hop needs {bound} I/O nodes or more")
    } else {
        let known = if bound >= fewest { "are" } else { "would be" };
        format!("{fewest} I/O nodes {known} enough for all PEs within one hop")
    };
    format!("{how}; {verdict}")
}
