//! Construction of a network of switches from its description.

use super::spec::{GraphSpec, Routing, Shape};
use crate::packets::{Network, NetworkError, Routed, RoutedError};
use isthmus_packet::routes::{Dragonfly, Hop, Routes, Rule, Table, TableError};
use isthmus_topology::switches::{self, Apart, Form, RouteError, Shortest, UpDown, no_circle};
use isthmus_topology::{self as topology, DragonflyError, Wiring};
use std::sync::Arc;
use thiserror::Error;

/// Reason why a network of switches cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MachineError {
    /// The network has disconnected parts.
    #[error(transparent)]
    Apart(#[from] Apart),
    /// The parameters do not form a dragonfly.
    #[error(transparent)]
    Dragonfly(#[from] DragonflyError),
    /// Listed routes do not reach their destination, or can deadlock.
    #[error(transparent)]
    Routes(#[from] RouteError),
    /// The routes do not fit into a table.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The links have fewer virtual channels than the routes need layers.
    #[error(
        "routes take {layers} layers of virtual channels and links have {channels}, so that packets could wait \
         for one another in a circle{}", through(.circle)
    )]
    Layers {
        /// Number of virtual channels of a link.
        channels: u32,
        /// Number of layers of virtual channels that the routes need.
        layers: u32,
        /// The switches of a dependency cycle in a single layer, if one is known.
        circle: Vec<String>,
    },
    /// The links, switches or interfaces are invalid.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The routes do not suit the links, switches and interfaces.
    #[error(transparent)]
    Routed(RoutedError),
}

/// Maximum number of switches of a dependency cycle that an error message lists.
const NAMED_MAX: usize = 12;

/// Return the part of an error message that names the switches of a dependency cycle; empty without a cycle.
fn through(circle: &[String]) -> String {
    let named = circle[..circle.len().min(NAMED_MAX)].join(", ");
    match circle.len() {
        0 => String::new(),
        n if n > NAMED_MAX => format!(", in a single layer at switches {named}, ..."),
        _ => format!(", in a single layer at switches {named}"),
    }
}

/// A network of switches, ready for simulations. `W` is the type of its routes.
#[derive(Debug)]
pub struct Machine<W> {
    spec: GraphSpec,
    routed: Routed<W>,
    deadlock: String,
}

/// A dragonfly or another network of switches, ready for simulations.
#[derive(Debug, Clone)]
pub enum Built {
    /// A network of any form except a dragonfly, with a table of routes.
    Switches(Arc<Machine<Table>>),
    /// A dragonfly.
    Dragonfly(Arc<Machine<Dragonfly>>),
}

impl Built {
    /// Build the network that `spec` describes.
    ///
    /// # Errors
    /// If the network is disconnected, links have fewer virtual channels than the routes need layers, or parameters
    /// contradict one another.
    pub fn new(spec: &GraphSpec) -> Result<Self, MachineError> {
        let network = Network::with_delays(&spec.network, &spec.shape.delays())?;
        match &spec.shape {
            Shape::Switches {
                form,
                nodes,
                routing,
                delay,
            } => {
                let wiring = Arc::new(form.wiring(nodes.clone()));
                let delay = network.ticks(*delay);
                let lengths = (0..wiring.link_count()).map(|link| {
                    let between = wiring.target(link).min(wiring.target(wiring.reverse(link)));
                    if between < wiring.node_count() {
                        0
                    } else {
                        delay
                    }
                });
                let lengths: Vec<_> = lengths.collect();
                let channels = spec.network.virtual_channels;
                let (table, deadlock) = match routing {
                    Routing::Minimal => minimal_table(form, &wiring, lengths, channels)?,
                    Routing::UpDown => up_down_table(form, &wiring, lengths)?,
                    Routing::Table(routes) => listed_table(routes, form, &wiring, lengths)?,
                };
                let machine = Machine::new(spec, wiring, table, network, deadlock)?;
                Ok(Self::Switches(Arc::new(machine)))
            }
            Shape::Dragonfly {
                nodes,
                routers,
                groups,
                links,
                routing,
                delay,
                global_delay,
            } => {
                let shape = topology::Dragonfly::new(*nodes, *routers, *groups, *links)?;
                let (local, global) = (network.ticks(*delay), network.ticks(*global_delay));
                let routes = Dragonfly::new(&shape, *routing, local, global);
                let reason = format!(
                    "free of deadlock: the class of virtual channels rises with the groups left, {} in all",
                    routes.classes()
                );
                let wiring = Arc::clone(routes.wiring());
                let machine = Machine::new(spec, wiring, routes, network, reason)?;
                Ok(Self::Dragonfly(Arc::new(machine)))
            }
        }
    }
}

/// A routing table and the reason why it is free of deadlock.
type TableWithReason = (Table, String);

/// Return a table of shortest routes, with the layers of virtual channels that break dependency cycles.
fn minimal_table(
    form: &Form,
    wiring: &Arc<Wiring>,
    lengths: Vec<u64>,
    channels: u32,
) -> Result<TableWithReason, MachineError> {
    let routes = Shortest::new(form, wiring)?;
    let layers = routes.layers(channels);
    if channels < u32::from(layers.count) {
        return Err(MachineError::Layers {
            channels,
            layers: layers.count.into(),
            circle: layers
                .circle
                .iter()
                .map(|&at| form.shortened_name(at))
                .collect(),
        });
    }
    let rule = Rule {
        classes: layers.count,
        states: 1,
        start: |_, _| 0,
        next: |_, at, to| {
            Some(Hop {
                to: routes.next(at, to)?,
                class: layers.of(at, to),
                state: 0,
            })
        },
    };
    let table = Table::new(Arc::clone(wiring), lengths, rule)?;
    Ok((table, deadlock_statement(layers.count, layers.reason())))
}

/// Return a table of routes that lead up a tree of switches, then down.
fn up_down_table(
    form: &Form,
    wiring: &Arc<Wiring>,
    lengths: Vec<u64>,
) -> Result<TableWithReason, MachineError> {
    let routes = UpDown::new(form, wiring)?;
    let rule = Rule {
        classes: 1,
        states: 2,
        start: |_, _| 0,
        next: |state, at, to| {
            let (to, down) = routes.next(state == 1, at, to)?;
            Some(Hop {
                to,
                class: 0,
                state: u16::from(down),
            })
        },
    };
    let table = Table::new(Arc::clone(wiring), lengths, rule)?;
    Ok((table, deadlock_statement(1, UpDown::REASON)))
}

/// Return a table of the routes that the description lists.
fn listed_table(
    listed: &switches::Routes,
    form: &Form,
    wiring: &Arc<Wiring>,
    lengths: Vec<u64>,
) -> Result<TableWithReason, MachineError> {
    let routes = listed.ways(form, wiring)?;
    let rule = Rule {
        classes: routes.layers(),
        states: 1,
        start: |_, _| 0,
        next: |_, at, to| {
            let (to, class) = routes.next(at, to)?;
            Some(Hop {
                to,
                class,
                state: 0,
            })
        },
    };
    let table = Table::new(Arc::clone(wiring), lengths, rule)?;
    Ok((
        table,
        deadlock_statement(routes.layers(), no_circle(routes.layers())),
    ))
}

/// Return the statement that routes in `layers` layers are free of deadlock, with the reason.
fn deadlock_statement(layers: u16, reason: &str) -> String {
    match layers {
        1 => format!("free of deadlock: {reason}"),
        _ => format!("free of deadlock in {layers} layers of virtual channels: {reason}"),
    }
}

impl<W: Routes> Machine<W> {
    /// Return the network with these deadlock-free routes, after a check that links have enough virtual
    /// channels.
    fn new(
        spec: &GraphSpec,
        wiring: Arc<Wiring>,
        routes: W,
        network: Network,
        deadlock: String,
    ) -> Result<Self, MachineError> {
        let routed = Routed::proven(wiring, routes, network).map_err(|error| match error {
            RoutedError::Classes { channels, classes } => MachineError::Layers {
                channels,
                layers: classes,
                circle: Vec::new(),
            },
            error => MachineError::Routed(error),
        })?;
        Ok(Self {
            spec: spec.clone(),
            routed,
            deadlock,
        })
    }
}

impl<W> Machine<W> {
    /// Return the description of the network.
    pub fn spec(&self) -> &GraphSpec {
        &self.spec
    }

    /// Return the network together with its routes.
    pub fn routed(&self) -> &Routed<W> {
        &self.routed
    }

    /// Return the nodes, switches and links.
    pub fn wiring(&self) -> &Wiring {
        self.routed.wiring()
    }

    /// Return the routes of packets.
    pub fn routes(&self) -> &Arc<W> {
        self.routed.routes()
    }

    /// Return the properties of the network's links, switches and interfaces.
    pub fn network(&self) -> &Network {
        self.routed.network()
    }

    /// Return a sentence that explains why the routes of the network are free of deadlock.
    pub fn deadlock(&self) -> &str {
        &self.deadlock
    }
}
