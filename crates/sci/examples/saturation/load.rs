//! Uniform Poisson traffic of moves, in the units of the SCI paper.

use isthmus_kernel::{Cycles, Gap, RunUntil, Stream, Streams, Uniform};
use isthmus_sci::{Class, Delivery, Fabric, Handler, Offers, Packet, RingEngine, Rules};
use isthmus_topology::rings::{self, Routes, Routing, Segment, Shape};

/// Payload of a move, in bytes.
const PAYLOAD: f64 = 64.0;
/// Symbols of a move: 64 bytes of payload and 16 of header, at 2 bytes each.
const SYMBOLS: u32 = 40;
/// Nanoseconds of a symbol.
const CYCLE_NS: f64 = 2.0;

/// A fabric and its routes.
pub struct Network {
    pub fabric: Fabric,
    routes: Routes,
}

impl Network {
    pub fn new(shape: &Shape, routing: Routing) -> Self {
        let rings = rings::Fabric::new(shape).expect("a shape of the paper");
        Self {
            fabric: Fabric::new(rings.node_count(), rings.rings()).expect("its rings"),
            routes: Routes::new(&rings, routing).expect("a routing of the shape"),
        }
    }
}

/// The sources, and what came out.
pub struct Load<'a> {
    network: &'a Network,
    /// Mean cycles between the packets of a node.
    gap: f64,
    arrivals: Vec<(Gap, Stream)>,
    destinations: Vec<Stream>,
    route: Vec<Segment>,
    pub generated: u64,
    pub delivered: u64,
    latency: u64,
    /// The run's length.
    length: Cycles,
}

impl<'a> Load<'a> {
    /// `offered` in GB/s of payload, by all nodes together.
    pub fn new(network: &'a Network, offered: f64, length: Cycles, seed: u64) -> Self {
        let nodes = network.fabric.node_count();
        let streams = Streams::new(seed, 0);
        let stream = |name| move |node| streams.stream(name, u64::from(node));
        let arrivals = (0..nodes).map(stream("arrival"));
        Self {
            network,
            gap: PAYLOAD * f64::from(nodes) / offered / CYCLE_NS,
            arrivals: arrivals.map(|stream| (Gap::default(), stream)).collect(),
            destinations: (0..nodes).map(stream("destination")).collect(),
            route: Vec::new(),
            generated: 0,
            delivered: 0,
            latency: 0,
            length,
        }
    }

    /// Offers the first packet of each node.
    pub fn start<E: RingEngine<()>>(&mut self, engine: &mut E) {
        for node in 0..self.network.fabric.node_count() {
            let time = self.next(node, 0);
            engine.offer(time, packet(node, &self.route));
        }
    }

    /// Runs one engine from cycle 0.
    pub fn run<E: RingEngine<()> + RunUntil<Self>>(&mut self, engine: &mut E) {
        self.start(engine);
        engine.run_until(self.length, self);
    }

    /// Draws what a run at saturation would draw, and runs nothing. Returns how many packets.
    pub fn draw_only(&mut self) -> u64 {
        for node in 0..self.network.fabric.node_count() {
            let mut time = 0;
            while time < self.length {
                time = self.next(node, time);
                self.generated += 1;
            }
        }
        self.generated
    }

    /// Draws the next packet of `node` after `time`, and its route.
    fn next(&mut self, node: u32, time: Cycles) -> Cycles {
        let (gap, stream) = &mut self.arrivals[node as usize];
        let time = time + gap.exponential(self.gap, stream);
        let stream = &mut self.destinations[node as usize];
        let nodes = self.network.fabric.node_count();
        let mut to = Uniform::below(nodes - 1).draw(stream);
        to += u32::from(to >= node);
        let mut choose = |n| Uniform::below(n).draw(stream);
        self.network
            .routes
            .route(node, to, &mut choose, &mut self.route);
        time
    }

    /// Payload delivered, in GB/s.
    pub fn throughput(&self) -> f64 {
        self.delivered as f64 * PAYLOAD / (self.length as f64 * CYCLE_NS)
    }

    /// Mean time from generation to the tail's arrival, in ns.
    pub fn latency_ns(&self) -> f64 {
        self.latency as f64 * CYCLE_NS / self.delivered as f64
    }
}

fn packet(node: u32, route: &[Segment]) -> Packet<'_, ()> {
    Packet {
        node,
        class: Class::Request,
        symbols: SYMBOLS,
        route,
        tag: (),
    }
}

impl Handler for Load<'_> {
    type Tag = ();

    fn generated(&mut self, node: u32, time: Cycles, (): (), offers: &mut Offers<()>) {
        self.generated += 1;
        let time = self.next(node, time);
        if time < self.length {
            offers.offer(time, packet(node, &self.route));
        }
    }

    fn delivered(&mut self, delivery: &Delivery<()>, _: &mut Offers<()>) {
        if delivery.tail <= self.length {
            self.delivered += 1;
            self.latency += delivery.tail - delivery.generated;
        }
    }
}

/// The paper's rules, with the cycles of a hop and of a ring change.
pub fn rules(hop: Cycles, ring_change: Cycles, source: isthmus_sci::Source) -> Rules {
    Rules {
        hop,
        ring_change,
        change_from: isthmus_sci::ChangeFrom::Header,
        symbols_max: SYMBOLS,
        echo: 4,
        input_slots: 5,
        output_slots: 5,
        client_slots: 5,
        source,
        flow_control: isthmus_sci::FlowControl::None,
    }
}
