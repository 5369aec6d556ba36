//! Classes of equivalent clients and parts (links, servers and interfaces). They are the coarsest partition in which
//! clients of one class use equally many parts of each class in the same manner, and parts of one class are used in the
//! same manner by equally many clients of each class. A result for one member of a class then applies to all members.

use super::loops::Client;
use std::collections::HashMap;

/// Use of one class of parts (links, servers or interfaces) by one class of clients, with one probability and one busy
/// time.
pub(super) struct ClassUse {
    pub part_class: usize,
    /// Number of parts of the part class that each client of the client class uses in the same manner.
    pub parts: f64,
    /// Number of clients of the client class that use each part of the part class in the same manner.
    pub clients: f64,
    pub probability: f64,
    pub busy: f64,
    pub is_stream: bool,
}

/// A class of equivalent clients, and the parts that they use.
pub(super) struct Class {
    /// Index of a client that represents the class.
    pub client: usize,
    pub uses: Vec<ClassUse>,
}

/// The partition of all clients and parts into classes of equivalent ones.
pub(super) struct Equivalence {
    pub classes: Vec<Class>,
    pub part_classes: usize,
    /// For each client, the index of its class.
    pub of_client: Vec<usize>,
}

/// Return the bits of a value without the last ones, which may differ between sums in different orders.
fn rounded_bits(value: f64) -> u64 {
    (value.to_bits() + (1 << 15)) >> 16
}

/// Number the keys in the order of their first occurrence. Return the number of each key, and the count of different
/// keys.
fn number_keys<K: std::hash::Hash + Eq>(keys: impl Iterator<Item = K>) -> (Vec<usize>, usize) {
    let mut seen = HashMap::new();
    let numbers = keys
        .map(|key| {
            let next = seen.len();
            *seen.entry(key).or_insert(next)
        })
        .collect();
    (numbers, seen.len())
}

/// Return the sorted values of a list, with the number of occurrences of each.
fn occurrences<T: Ord + Copy>(mut list: Vec<T>) -> Vec<(T, usize)> {
    list.sort_unstable();
    let runs = list.chunk_by(|a, b| a == b);
    runs.map(|run| (run[0], run.len())).collect()
}

/// Group equivalent clients and parts into classes.
pub(super) fn equivalence_classes(clients: &[Client]) -> Equivalence {
    let edges = Uses::new(clients);
    let (of_client, of_part) = refine(clients, &edges);
    let part_classes = of_part.iter().max().map_or(0, |most| most + 1);
    // For each class of parts, count the clients of one part, by client class and by manner of use (probability, busy
    // time, stream flag).
    let mut users = vec![HashMap::new(); part_classes];
    let mut seen = vec![false; part_classes];
    for (part, &class) in of_part.iter().enumerate() {
        if !std::mem::replace(&mut seen[class], true) {
            let here = edges.of_part[part].iter();
            let here = here.map(|&(client, way)| (of_client[client], way));
            users[class] = occurrences(here.collect()).into_iter().collect();
        }
    }
    let mut classes: Vec<Class> = Vec::new();
    for (client, &class) in of_client.iter().enumerate() {
        // Skip clients whose class is already in the list: classes are numbered in the order of their first clients.
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
            ClassUse {
                part_class,
                parts: parts as f64,
                clients: users[part_class][&(class, way)] as f64,
                probability: like.probability,
                busy: like.busy,
                is_stream: like.is_stream,
            }
        };
        let uses = occurrences(seen.collect()).into_iter().map(joint).collect();
        classes.push(Class { client, uses });
    }
    Equivalence {
        classes,
        part_classes,
        of_client,
    }
}

/// All uses of parts (links, servers, interfaces) by clients. Parts are numbered in the order of occurrence. So are
/// manners of use: the distinct combinations of probability, busy time and stream flag.
struct Uses {
    /// For each client, the parts that it uses, as pairs of the part's number and the number of the combination of
    /// probability, busy time and stream flag.
    of_client: Vec<Vec<(usize, usize)>>,
    /// For each part, the clients that use it, as pairs of the client's number and the number of the combination of
    /// probability, busy time and stream flag.
    of_part: Vec<Vec<(usize, usize)>>,
}

impl Uses {
    /// Return the lists of uses of parts by these clients.
    fn new(clients: &[Client]) -> Self {
        let uses = || clients.iter().flat_map(|client| &client.uses);
        let (parts, part_count) = number_keys(uses().map(|of| of.part));
        let (ways, _) = number_keys(uses().map(|of| {
            (
                rounded_bits(of.probability),
                rounded_bits(of.busy),
                of.is_stream,
            )
        }));
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

/// Return the class of each client and of each part. The function splits the classes of clients by the classes of their
/// parts and the reverse, in turns, until no class changes.
fn refine(clients: &[Client], edges: &Uses) -> (Vec<usize>, Vec<usize>) {
    let (mut of_client, mut client_classes) = number_keys(clients.iter().map(|client| {
        let times = [
            client.pause,
            client.transfer,
            client.offered,
            client.at_once,
        ];
        (client.under_way, times.map(rounded_bits))
    }));
    let (mut of_part, mut part_classes) = (vec![0; edges.of_part.len()], 1);
    let split = |own: &[usize], other: &[usize], edges: &[Vec<(usize, usize)>]| {
        number_keys(own.iter().zip(edges).map(|(&class, edges)| {
            let seen = edges.iter().map(|&(to, way)| (other[to], way));
            (class, occurrences(seen.collect()))
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
