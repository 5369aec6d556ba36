//! The measurements of the QsNET paper, straight on the engine.
//!
//! `cargo run --release -p isthmus-packet --example qsnet -- [ping] [hot] [hot64] [multi] [pause]
//! [compute] [combined] [speed [seconds]] [large]`

mod clients;
mod machine;

use clients::{Client, Length, Seen, run};
use isthmus_kernel::{Engine as _, RunUntil};
use isthmus_packet::ways::FatTree;
use isthmus_packet::{
    Age, AgeFrom, AgeTie, Delivery, Engine, Handler, Kind, Message, Offers, Rules,
};
use isthmus_topology::trees::{Ascent, Shape, Tree};
use machine::{MICROSECOND, main_memory, rules, tree, with_late};
use std::sync::Arc;
use std::time::Instant;

fn client(node: u32, partners: &[u32]) -> Client {
    Client {
        node,
        partners: partners.to_vec(),
        length: Length::Exponential(1e6),
        reads: 0.0,
        rate: None,
        pause: 0.0,
        queue: 0,
        job: 0,
    }
}

/// Mean and standard deviation over seeds of what `measure` gives.
fn seeds(count: u64, measure: impl Fn(u64) -> f64) -> String {
    let values: Vec<f64> = (0..count).map(measure).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let square = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
    let deviation = (square / (values.len() as f64 - 1.0).max(1.0)).sqrt();
    format!("{mean:7.1} +- {deviation:4.1}")
}

struct Last(Option<Delivery<()>>);

impl Handler for Last {
    type Tag = ();
    fn delivered(&mut self, delivery: &Delivery<()>, _: &mut Offers<()>) {
        self.0 = Some(*delivery);
    }
}

fn latency(tree: &Arc<FatTree>, bytes: u64) -> f64 {
    let mut engine = Engine::new(Arc::clone(tree), rules(), 0).unwrap();
    let message = Message {
        from: 0,
        to: 63,
        bytes,
        kind: Kind::Write,
        queue: 0,
        tag: (),
    };
    engine.offer(0, message);
    let mut last = Last(None);
    engine.run_until(1000 * MICROSECOND, &mut last);
    last.0.unwrap().arrived as f64 / MICROSECOND as f64
}

fn ping(tree: &Arc<FatTree>) {
    let long = |node, to| Client {
        length: Length::Fixed(8_000_000),
        ..client(node, &[to])
    };
    for (name, rules) in [("Elan", rules()), ("main", main_memory())] {
        let seen = run(tree, rules, &[long(0, 63)], 0.01, 0.1, 0);
        let wire = seen.job(0) * 378.0 / 320.0;
        let both = run(tree, rules, &[long(0, 63), long(63, 0)], 0.01, 0.1, 0);
        println!(
            "ping {name}: {:.1}, wire {wire:.1}; both ways {:.1} {:.1}",
            seen.job(0),
            both.client(0),
            both.client(1)
        );
    }
    println!(
        "latency: {:.3} {:.3} us",
        latency(tree, 0),
        latency(tree, 64)
    );
}

fn hot_clients(nodes: u32) -> Vec<Client> {
    let all = 1..nodes;
    all.map(|node| Client {
        length: Length::Fixed(1_000_000),
        ..client(node, &[0])
    })
    .collect()
}

fn hot(tree: &Arc<FatTree>) {
    for nodes in [2, 4, 8, 16, 32, 40, 48, 56, 64] {
        let [without, with] = [rules(), with_late()]
            .map(|rules| run(tree, rules, &hot_clients(nodes), 0.02, 0.2, 1).job(0));
        println!("hot spot, {nodes} nodes: {without:.1}, with the term {with:.1}");
    }
}

fn hot64(tree: &Arc<FatTree>) {
    let ages = [
        ("saturating", AgeFrom::Injection, Some(78 * MICROSECOND)),
        ("unlimited", AgeFrom::Injection, None),
        ("per switch", AgeFrom::Request, Some(78 * MICROSECOND)),
    ];
    for (name, from, saturates) in ages {
        for base in [rules(), with_late()] {
            let rules = Rules {
                age: Age {
                    from,
                    saturates,
                    tie: AgeTie::RoundRobin,
                },
                ..base
            };
            let seen = run(tree, rules, &hot_clients(64), 0.1, 0.4, 1);
            let group = |range: std::ops::Range<usize>| {
                let count = range.len() as f64;
                range.map(|node| seen.client(node - 1)).sum::<f64>() / count
            };
            println!(
                "hot spot groups, age {name}, term {}: {:.2} {:.2} {:.2}, in all {:.1}",
                rules.late.is_some(),
                group(1..4),
                group(4..16),
                group(16..64),
                seen.job(0)
            );
        }
    }
}

fn clustered() -> Vec<u32> {
    (56..64).collect()
}

fn distributed() -> Vec<u32> {
    (0..8).map(|i| 8 * i).collect()
}

fn clients_of(servers: &[u32], dedicated: bool) -> Vec<u32> {
    let all = 0..64;
    all.filter(|node| !(dedicated && servers.contains(node)))
        .collect()
}

fn per_server(seen: &Seen) -> f64 {
    seen.job(0) / 8.0
}

/// Random and deterministic destinations.
pub fn multi_rules(tree: &Arc<FatTree>, rules: Rules, count: u64, reads: f64) {
    for (name, servers) in [("clustered", clustered()), ("distributed", distributed())] {
        for dedicated in [true, false] {
            let nodes = clients_of(&servers, dedicated);
            let random: Vec<Client> = nodes
                .iter()
                .map(|&n| Client {
                    reads,
                    ..client(n, &servers)
                })
                .collect();
            let random = seeds(count, |seed| {
                per_server(&run(tree, rules, &random, 0.05, 0.3, seed))
            });
            // Balanced fixed partners; the mapping is stated: client i to server i mod 8, or to
            // server i / (clients per server), never itself.
            let fixed = |server_of: &dyn Fn(usize) -> usize| {
                let clients: Vec<Client> = nodes
                    .iter()
                    .enumerate()
                    .map(|(i, &n)| {
                        let mut at = server_of(i);
                        if servers[at] == n {
                            at = (at + 1) % 8;
                        }
                        Client {
                            reads,
                            ..client(n, &[servers[at]])
                        }
                    })
                    .collect();
                seeds(count.min(2), |seed| {
                    per_server(&run(tree, rules, &clients, 0.05, 0.3, seed))
                })
            };
            let per = nodes.len() / 8;
            let modulo = fixed(&|i| i % 8);
            let blocks = fixed(&|i| i / per);
            let kind = if dedicated { "dedicated" } else { "shared" };
            println!(
                "{name} {kind} (reads {reads}): random {random}; deterministic i mod 8 {modulo}, \
                 blocks {blocks}"
            );
        }
    }
}

fn compute_clients(nodes: &[u32], job: usize) -> Vec<Client> {
    let client = |&node: &u32| Client {
        length: Length::Fixed(262_144),
        queue: 1,
        job,
        ..client(node, nodes)
    };
    nodes.iter().map(client).collect()
}

/// What comes out if a client pauses after each message, for as long in the mean as the message
/// would take if its share of the load offered were exactly what the servers' links (or its own
/// link) can carry.
fn pause(tree: &Arc<FatTree>) {
    let link = 320.0 / 378.0 * 400e6;
    for (name, servers) in [("clustered", clustered()), ("distributed", distributed())] {
        for dedicated in [true, false] {
            let nodes = clients_of(&servers, dedicated);
            let mean = nodes.len() as f64 / 8.0 * 1e6 / link;
            let measure = |random: bool| {
                let clients: Vec<Client> = nodes
                    .iter()
                    .enumerate()
                    .map(|(i, &n)| {
                        let mut at = i % 8;
                        if servers[at] == n {
                            at = (at + 1) % 8;
                        }
                        let partner = [servers[at]];
                        let partners = if random { &servers[..] } else { &partner };
                        Client {
                            pause: mean,
                            ..client(n, partners)
                        }
                    })
                    .collect();
                seeds(5, |seed| {
                    per_server(&run(tree, rules(), &clients, 0.1, 0.5, seed))
                })
            };
            let kind = if dedicated { "dedicated" } else { "shared" };
            println!(
                "{name} {kind}, pausing: random {}; deterministic i mod 8 {}",
                measure(true),
                measure(false)
            );
        }
    }
    for nodes in [28u32, 32] {
        let all: Vec<u32> = (0..nodes).collect();
        let mut clients = compute_clients(&all, 0);
        for client in &mut clients {
            client.pause = 262_144.0 / link;
        }
        let value = seeds(5, |seed| {
            let seen = run(tree, rules(), &clients, 0.02, 0.1, seed);
            seen.job(0) / f64::from(nodes)
        });
        println!("compute alone on {nodes} nodes, pausing: {value}");
    }
}

fn compute(tree: &Arc<FatTree>) {
    for nodes in [28u32, 32] {
        let all: Vec<u32> = (0..nodes).collect();
        let value = seeds(4, |seed| {
            let seen = run(tree, rules(), &compute_clients(&all, 0), 0.02, 0.1, seed);
            seen.job(0) / f64::from(nodes)
        });
        println!("compute alone on {nodes} nodes: {value}");
    }
    let spread: Vec<u32> = (0..64).filter(|n| n % 2 == 1).collect();
    let value = seeds(4, |seed| {
        let seen = run(tree, rules(), &compute_clients(&spread, 0), 0.02, 0.1, seed);
        seen.job(0) / 32.0
    });
    println!("compute alone on every other node: {value}");
}

fn combined(tree: &Arc<FatTree>) {
    let half = |first: u32| -> Vec<u32> { (first..first + 32).collect() };
    let without = |nodes: Vec<u32>, servers: &[u32]| -> Vec<u32> {
        let all = nodes.into_iter();
        all.filter(|node| !servers.contains(node)).collect()
    };
    for reads in [0.0, 0.5] {
        for (name, servers, compute, io) in [
            ("shared Ic", clustered(), half(0), half(32)),
            ("shared Ii", clustered(), half(32), half(0)),
            ("shared distributed", distributed(), half(0), half(32)),
            (
                "dedicated Ic",
                clustered(),
                (0..28).collect(),
                (28..56).collect(),
            ),
            (
                "dedicated Ii",
                clustered(),
                (28..56).collect(),
                (0..28).collect(),
            ),
            (
                "dedicated distributed",
                distributed(),
                without(half(0), &distributed()),
                without(half(32), &distributed()),
            ),
        ] {
            let mut row = Vec::new();
            for load in [0.0, 0.1, 0.3, 0.5] {
                let mut clients = compute_clients(&compute, 0);
                if load > 0.0 {
                    clients.extend(io.iter().map(|&n| Client {
                        reads,
                        rate: Some(load * 335e6 / 1e6),
                        job: 1,
                        ..client(n, &servers)
                    }));
                }
                let count = compute.len() as f64;
                let sum: f64 = (0..3)
                    .map(|seed| run(tree, rules(), &clients, 0.05, 0.2, seed).job(0))
                    .sum();
                row.push(sum / 3.0 / count);
            }
            let loss = |at: usize| 100.0 * (1.0 - row[at] / row[0]);
            println!(
                "combined {name}, reads {reads}: alone {:.1}; losses {:.0} {:.0} {:.0} %",
                row[0],
                loss(1),
                loss(2),
                loss(3)
            );
        }
    }
}

fn speed(tree: &Arc<FatTree>, seconds: f64) {
    let servers = clustered();
    let clients: Vec<Client> = clients_of(&servers, true)
        .iter()
        .map(|&n| client(n, &servers))
        .collect();
    for _ in 0..1 {
        let start = Instant::now();
        let seen = run(tree, rules(), &clients, 0.0, seconds, 1);
        let spent = start.elapsed().as_secs_f64();
        println!(
            "clustered random: {} packets in {spent:.2} s, {:.2} M/s",
            seen.packets,
            seen.packets as f64 / spent / 1e6
        );
    }
}

/// 4,096 nodes, 512 servers: the combined workload with shared, distributed servers.
fn large(seconds: f64) {
    let shape = Shape::KAry {
        arity: 4,
        levels: 6,
    };
    let tree = Tree::new(&shape).expect("a tree of six levels");
    let tree = Arc::new(FatTree::new(&tree, Ascent::Adaptive));
    let servers: Vec<u32> = (0..512).map(|i| 8 * i).collect();
    let mut clients = compute_clients(&(0..2048).collect::<Vec<u32>>(), 0);
    clients.extend((2048..4096).map(|n| Client {
        rate: Some(0.3 * 335e6 / 1e6),
        job: 1,
        ..client(n, &servers)
    }));
    let start = Instant::now();
    let seen = run(&tree, rules(), &clients, 0.0, seconds, 1);
    let spent = start.elapsed().as_secs_f64();
    println!(
        "4,096 nodes, {seconds} s: {} packets in {spent:.2} s, {:.2} M/s; compute {:.1}",
        seen.packets,
        seen.packets as f64 / spent / 1e6,
        seen.job(0) / 2048.0
    );
}

fn main() {
    let tree = tree();
    let cases: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |name: &str| cases.is_empty() || cases.iter().any(|case| case == name);
    if wanted("ping") {
        ping(&tree);
    }
    if wanted("hot") {
        hot(&tree);
    }
    if wanted("hot64") {
        hot64(&tree);
    }
    if wanted("multi") {
        multi_rules(&tree, rules(), 5, 0.0);
        multi_rules(&tree, rules(), 5, 0.5);
    }
    if wanted("pause") {
        pause(&tree);
    }
    if wanted("compute") {
        compute(&tree);
    }
    if wanted("combined") {
        combined(&tree);
    }
    if wanted("speed") {
        let seconds = cases.iter().find_map(|case| case.parse().ok());
        speed(&tree, seconds.unwrap_or(1.0));
    }
    if cases.iter().any(|case| case == "large") {
        large(0.005);
    }
}
