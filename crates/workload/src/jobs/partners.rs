//! Fixed partners: the I/O server of each client.

use crate::jobs::spec::Destinations;

/// Return the server of each client, or `None` for random destinations and for a client that is the
/// only server. No client is its own server, and the numbers of clients of two servers differ by at
/// most one.
///
/// Client number i of n has server i mod S (interleaved) or floor(i S / n) (blocked) of S servers.
/// If this server is the client itself, the client swaps servers with the next client for which
/// neither becomes its own server.
pub(super) fn partners(
    destinations: Destinations,
    clients: &[u32],
    servers: &[u32],
) -> Vec<Option<u32>> {
    let count = servers.len();
    if count == 0 || destinations == Destinations::Random {
        return vec![None; clients.len()];
    }
    let first = |rank: usize| match destinations {
        Destinations::Blocked => rank * count / clients.len(),
        _ => rank % count,
    };
    let mut chosen: Vec<usize> = (0..clients.len()).map(first).collect();
    for rank in 0..clients.len() {
        let own = clients[rank];
        if servers[chosen[rank]] != own {
            continue;
        }
        let others = (1..clients.len()).map(|ahead| (rank + ahead) % clients.len());
        let fits = |&other: &usize| {
            let server = servers[chosen[other]];
            server != own && own != clients[other]
        };
        match others.into_iter().find(fits) {
            Some(other) => chosen.swap(rank, other),
            // No client can swap. There are then fewer clients than servers, so take the next
            // server.
            None => chosen[rank] = (chosen[rank] + 1) % count,
        }
    }
    let partner = |(client, place): (&u32, usize)| {
        let server = servers[place];
        (server != *client).then_some(server)
    };
    clients.iter().zip(chosen).map(partner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return the number of clients of each server. Assert that no client is its own server.
    fn balance(destinations: Destinations, clients: &[u32], servers: &[u32]) -> Vec<usize> {
        let partners = partners(destinations, clients, servers);
        for (client, partner) in clients.iter().zip(&partners) {
            assert_ne!(Some(*client), *partner);
        }
        let load = |server: &u32| partners.iter().filter(|p| **p == Some(*server)).count();
        servers.iter().map(load).collect()
    }

    /// Checks the numbers of clients of each server that the QsNET paper states. Section 3.4 of the
    /// QsNET paper: 7 clients for each of 8 servers, 8 if servers are clients.
    #[test]
    fn the_paper_servers_are_balanced() {
        let all: Vec<u32> = (0..64).collect();
        let clustered: Vec<u32> = (56..64).collect();
        let distributed: Vec<u32> = (0..8).map(|i| 8 * i).collect();
        for destinations in [Destinations::Interleaved, Destinations::Blocked] {
            for servers in [&clustered, &distributed] {
                assert_eq!(balance(destinations, &all, servers), [8; 8]);
                let clients: Vec<u32> = (0..64).filter(|node| !servers.contains(node)).collect();
                assert_eq!(balance(destinations, &clients, servers), [7; 8]);
            }
        }
        let interleaved = partners(Destinations::Interleaved, &all[..56], &clustered);
        assert_eq!(interleaved[9], Some(57));
        let blocked = partners(Destinations::Blocked, &all[..56], &clustered);
        assert_eq!((blocked[6], blocked[7]), (Some(56), Some(57)));
    }

    /// Checks that the numbers of clients of two servers differ by at most one.
    #[test]
    fn every_set_of_clients_and_servers_is_balanced() {
        for nodes in 2..14u32 {
            for count in 1..=nodes {
                let servers: Vec<u32> = (nodes - count..nodes).collect();
                for begin in 0..nodes {
                    let clients: Vec<u32> = (begin..nodes).collect();
                    for destinations in [Destinations::Interleaved, Destinations::Blocked] {
                        let loads = balance(destinations, &clients, &servers);
                        if clients.len() > servers.len() && count > 1 {
                            let most = loads.iter().max().unwrap_or(&0);
                            let least = loads.iter().min().unwrap_or(&0);
                            assert!(most - least <= 1, "{nodes} {count} {begin} {loads:?}");
                        }
                    }
                }
            }
        }
    }

    /// Checks that a node that is the only server has no server as a client.
    #[test]
    fn the_only_server_is_no_client() {
        let partners = partners(Destinations::Interleaved, &[3, 4], &[4]);
        assert_eq!(partners, [Some(4), None]);
    }
}
