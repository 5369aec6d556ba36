//! Clients and parts that are alike: the coarsest partition in which clients of one class use as many
//! parts of each class in the same way, and parts are used so by as many clients of each class. What
//! holds for one of a class then holds for all of it.

use super::loops::Client;
use std::collections::HashMap;

/// How a class of clients uses a class of parts.
pub(super) struct Joint {
    pub part_class: usize,
    /// Parts of that class that each client uses in this way.
    pub parts: f64,
    /// Clients of the class that use each part so.
    pub clients: f64,
    pub probability: f64,
    pub busy: f64,
    pub is_stream: bool,
}

pub(super) struct Class {
    /// One of them.
    pub client: usize,
    pub uses: Vec<Joint>,
}

pub(super) struct Lumps {
    pub classes: Vec<Class>,
    pub part_classes: usize,
    /// The class of each client.
    pub of_client: Vec<usize>,
}

/// Equal but for what rounding does to sums in another order.
fn rounded(value: f64) -> u64 {
    (value.to_bits() + (1 << 15)) >> 16
}

/// Numbers keys in the order in which they come.
fn number<K: std::hash::Hash + Eq>(keys: impl Iterator<Item = K>) -> (Vec<usize>, usize) {
    let mut seen = HashMap::new();
    let numbers = keys
        .map(|key| {
            let next = seen.len();
            *seen.entry(key).or_insert(next)
        })
        .collect();
    (numbers, seen.len())
}

/// Times that each of a list occurs, in order.
fn counted<T: Ord + Copy>(mut list: Vec<T>) -> Vec<(T, usize)> {
    list.sort_unstable();
    let runs = list.chunk_by(|a, b| a == b);
    runs.map(|run| (run[0], run.len())).collect()
}

pub(super) fn lumps(clients: &[Client]) -> Lumps {
    let edges = Edges::new(clients);
    let (of_client, of_part) = refined(clients, &edges);
    let part_classes = of_part.iter().max().map_or(0, |most| most + 1);
    // Clients of each class and way at one part of each class.
    let mut users = vec![HashMap::new(); part_classes];
    let mut seen = vec![false; part_classes];
    for (part, &class) in of_part.iter().enumerate() {
        if !std::mem::replace(&mut seen[class], true) {
            let here = edges.of_part[part].iter();
            let here = here.map(|&(client, way)| (of_client[client], way));
            users[class] = counted(here.collect()).into_iter().collect();
        }
    }
    let mut classes: Vec<Class> = Vec::new();
    for (client, &class) in of_client.iter().enumerate() {
        // They are numbered in the order in which they come.
        if class < classes.len() {
            continue;
        }
        let own = &edges.of_client[client];
        let seen = own.iter().map(|&(part, way)| (of_part[part], way));
        let joint = |((part_class, way), parts): ((usize, usize), usize)| {
            let like = own
                .iter()
                .position(|&(part, of)| (of_part[part], of) == (part_class, way));
            let like = &clients[client].uses[like.expect("it was counted")];
            Joint {
                part_class,
                parts: parts as f64,
                clients: users[part_class][&(class, way)] as f64,
                probability: like.probability,
                busy: like.busy,
                is_stream: like.is_stream,
            }
        };
        let uses = counted(seen.collect()).into_iter().map(joint).collect();
        classes.push(Class { client, uses });
    }
    Lumps {
        classes,
        part_classes,
        of_client,
    }
}

/// Who uses what, and in which way: parts and ways of using them are numbered as they come.
struct Edges {
    /// Of each client part and way of each of its uses.
    of_client: Vec<Vec<(usize, usize)>>,
    /// Of each part clients and ways.
    of_part: Vec<Vec<(usize, usize)>>,
}

impl Edges {
    fn new(clients: &[Client]) -> Self {
        let uses = || clients.iter().flat_map(|client| &client.uses);
        let (parts, part_count) = number(uses().map(|of| of.part));
        let (ways, _) =
            number(uses().map(|of| (rounded(of.probability), rounded(of.busy), of.is_stream)));
        let mut all = parts.into_iter().zip(ways);
        let mut of_part = vec![Vec::new(); part_count];
        let of_client = clients.iter().enumerate().map(|(number, client)| {
            let own: Vec<_> = all.by_ref().take(client.uses.len()).collect();
            for &(part, way) in &own {
                of_part[part].push((number, way));
            }
            own
        });
        Self {
            of_client: of_client.collect(),
            of_part,
        }
    }
}

/// The class of each client and of each part: split by what is seen from one side, then from the other,
/// until nothing is split any more.
fn refined(clients: &[Client], edges: &Edges) -> (Vec<usize>, Vec<usize>) {
    let (mut of_client, mut client_classes) = number(clients.iter().map(|client| {
        let times = [
            client.pause,
            client.transfer,
            client.offered,
            client.at_once,
        ];
        (client.under_way, times.map(rounded))
    }));
    let (mut of_part, mut part_classes) = (vec![0; edges.of_part.len()], 1);
    let split = |own: &[usize], other: &[usize], edges: &[Vec<(usize, usize)>]| {
        number(own.iter().zip(edges).map(|(&class, edges)| {
            let seen = edges.iter().map(|&(to, way)| (other[to], way));
            (class, counted(seen.collect()))
        }))
    };
    loop {
        let before = (client_classes, part_classes);
        (of_part, part_classes) = split(&of_part, &of_client, &edges.of_part);
        (of_client, client_classes) = split(&of_client, &of_part, &edges.of_client);
        if (client_classes, part_classes) == before {
            return (of_client, of_part);
        }
    }
}
