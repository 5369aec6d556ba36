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
    let uses = || clients.iter().flat_map(|client| &client.uses);
    let (parts, part_count) = number(uses().map(|of| of.part));
    let (ways, _) = number(uses().map(|of| (rounded(of.probability), rounded(of.busy))));
    // Part and way of each use of each client.
    let mut at = 0;
    let edges: Vec<Vec<(usize, usize)>> = clients
        .iter()
        .map(|client| {
            let own = at..at + client.uses.len();
            at = own.end;
            parts[own.clone()]
                .iter()
                .copied()
                .zip(ways[own].iter().copied())
                .collect()
        })
        .collect();
    let mut by_part: Vec<Vec<(usize, usize)>> = vec![Vec::new(); part_count];
    for (client, edges) in edges.iter().enumerate() {
        for &(part, way) in edges {
            by_part[part].push((client, way));
        }
    }
    let (mut of_client, mut client_classes) = number(clients.iter().map(|client| {
        let times = [client.pause, client.transfer, client.offered];
        (client.under_way, times.map(rounded))
    }));
    let (mut of_part, mut part_classes) = (vec![0; part_count], 1);
    loop {
        let next = number(by_part.iter().enumerate().map(|(part, edges)| {
            let seen = edges.iter().map(|&(client, way)| (of_client[client], way));
            (of_part[part], counted(seen.collect()))
        }));
        let grown = next.1 > part_classes;
        (of_part, part_classes) = next;
        let next = number(edges.iter().enumerate().map(|(client, edges)| {
            let seen = edges.iter().map(|&(part, way)| (of_part[part], way));
            (of_client[client], counted(seen.collect()))
        }));
        let split = next.1 > client_classes;
        (of_client, client_classes) = next;
        if !grown && !split {
            break;
        }
    }
    let mut first_client = vec![usize::MAX; client_classes];
    for (client, &class) in of_client.iter().enumerate().rev() {
        first_client[class] = client;
    }
    let mut first_part = vec![usize::MAX; part_classes];
    for (part, &class) in of_part.iter().enumerate().rev() {
        first_part[class] = part;
    }
    // Clients of each class and way at a part of each class.
    let users: Vec<HashMap<(usize, usize), usize>> = first_part
        .iter()
        .map(|&part| match by_part.get(part) {
            None => HashMap::new(),
            Some(edges) => {
                let seen = edges.iter().map(|&(client, way)| (of_client[client], way));
                counted(seen.collect()).into_iter().collect()
            }
        })
        .collect();
    let classes = first_client.iter().enumerate().map(|(class, &client)| {
        let seen = edges[client]
            .iter()
            .map(|&(part, way)| (of_part[part], way));
        let uses = counted(seen.collect())
            .into_iter()
            .map(|((part_class, way), parts)| {
                let like = edges[client]
                    .iter()
                    .position(|&(part, of)| (of_part[part], of) == (part_class, way));
                let like = &clients[client].uses[like.expect("it was counted")];
                Joint {
                    part_class,
                    parts: parts as f64,
                    clients: users[part_class][&(class, way)] as f64,
                    probability: like.probability,
                    busy: like.busy,
                }
            });
        Class {
            client,
            uses: uses.collect(),
        }
    });
    Lumps {
        classes: classes.collect(),
        part_classes,
        of_client,
    }
}
