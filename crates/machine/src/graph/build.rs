//! From the description of switches to what a simulation runs on.

use super::spec::{GraphSpec, Routing, Shape};
use crate::packets::{Network, NetworkError, Routed, RoutedError};
use isthmus_packet::routes::{Dragonfly, Hop, Routes, Rule, Table, TableError};
use isthmus_topology::switches::{self, Apart, Form, RouteError, Shortest, UpDown, no_circle};
use isthmus_topology::{self as topology, DragonflyError, Wiring};
use std::sync::Arc;
use thiserror::Error;

/// Why a network of switches cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MachineError {
    /// Parts of it that nothing joins.
    #[error(transparent)]
    Apart(#[from] Apart),
    /// Its numbers make no dragonfly.
    #[error(transparent)]
    Dragonfly(#[from] DragonflyError),
    /// Routes of a list that do not arrive, or deadlock.
    #[error(transparent)]
    Routes(#[from] RouteError),
    /// Routes that cannot be kept.
    #[error(transparent)]
    Table(#[from] TableError),
    /// Fewer virtual channels than layers.
    #[error(
        "routes take {layers} layers of virtual channels and links have {channels}, so that packets could wait \
         for one another in a circle{}", through(.circle)
    )]
    Layers {
        /// Virtual channels that there are.
        channels: u32,
        /// How many there must be.
        layers: u32,
        /// The switches of a circle that a single layer would have, where it is known.
        circle: Vec<String>,
    },
    /// Its links, switches or interfaces cannot be.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// Its routes and these do not go together.
    #[error(transparent)]
    Routed(RoutedError),
}

/// Most switches of a circle that are named.
const NAMED_MAX: usize = 12;

fn through(circle: &[String]) -> String {
    let named = circle[..circle.len().min(NAMED_MAX)].join(", ");
    match circle.len() {
        0 => String::new(),
        n if n > NAMED_MAX => format!(", in a single layer at switches {named}, ..."),
        _ => format!(", in a single layer at switches {named}"),
    }
}

/// A network of switches, with routes of one type.
#[derive(Debug)]
pub struct Machine<W> {
    spec: GraphSpec,
    routed: Routed<W>,
    deadlock: String,
}

/// A network of switches.
#[derive(Debug, Clone)]
pub enum Built {
    /// Of any form.
    Switches(Arc<Machine<Table>>),
    /// A dragonfly.
    Dragonfly(Arc<Machine<Dragonfly>>),
}

impl Built {
    /// Builds what `spec` describes.
    ///
    /// # Errors
    /// Switches that nothing joins, fewer virtual channels than layers, rules that contradict one another.
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
                    Routing::Minimal => minimal(form, &wiring, lengths, channels)?,
                    Routing::UpDown => up_down(form, &wiring, lengths)?,
                    Routing::Table(routes) => listed(routes, form, &wiring, lengths)?,
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
                let said = format!(
                    "free of deadlock: the class of virtual channels rises with the groups left, {} in all",
                    routes.classes()
                );
                let wiring = Arc::clone(routes.wiring());
                let machine = Machine::new(spec, wiring, routes, network, said)?;
                Ok(Self::Dragonfly(Arc::new(machine)))
            }
        }
    }
}

/// A table, and the reason why it is free of deadlock.
type Proven = (Table, String);

fn minimal(
    form: &Form,
    wiring: &Arc<Wiring>,
    lengths: Vec<u64>,
    channels: u32,
) -> Result<Proven, MachineError> {
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
    Ok((table, free(layers.count, layers.reason())))
}

fn up_down(form: &Form, wiring: &Arc<Wiring>, lengths: Vec<u64>) -> Result<Proven, MachineError> {
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
    Ok((table, free(1, UpDown::REASON)))
}

fn listed(
    listed: &switches::Routes,
    form: &Form,
    wiring: &Arc<Wiring>,
    lengths: Vec<u64>,
) -> Result<Proven, MachineError> {
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
    Ok((table, free(routes.layers(), no_circle(routes.layers()))))
}

/// That routes in this number of layers are free of deadlock, and why.
fn free(layers: u16, reason: &str) -> String {
    match layers {
        1 => format!("free of deadlock: {reason}"),
        _ => format!("free of deadlock in {layers} layers of virtual channels: {reason}"),
    }
}

impl<W: Routes> Machine<W> {
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
    /// The description it was built from.
    pub fn spec(&self) -> &GraphSpec {
        &self.spec
    }

    /// Its network and the routes through it.
    pub fn routed(&self) -> &Routed<W> {
        &self.routed
    }

    /// Nodes, switches and links.
    pub fn wiring(&self) -> &Wiring {
        self.routed.wiring()
    }

    /// Where packets may go.
    pub fn routes(&self) -> &Arc<W> {
        self.routed.routes()
    }

    /// Its links, switches and interfaces.
    pub fn network(&self) -> &Network {
        self.routed.network()
    }

    /// Why its routes are free of deadlock.
    pub fn deadlock(&self) -> &str {
        &self.deadlock
    }
}
