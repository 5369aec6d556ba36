//! Clients that meet in shared parts against closed forms, limits and exact mean value analysis.

use isthmus_analytic::packets::loops::{Client, Use, fair_shares, solve};
use proptest::prelude::*;

fn client(under_way: u32, pause: f64, uses: &[(u32, f64, f64)]) -> Client {
    Client {
        under_way,
        at_once: under_way.into(),
        pause,
        transfer: 1.0,
        offered: f64::INFINITY,
        uses: uses
            .iter()
            .map(|&(part, probability, busy)| Use {
                part,
                probability,
                busy,
                is_stream: false,
            })
            .collect(),
    }
}

/// Part of the time in which each of so many servers is busy, all of which are alike and hold a message of
/// each client at a time, by Gordon and Newell (1967).
fn balanced(clients: u32, servers: u32) -> f64 {
    f64::from(clients) / f64::from(clients + servers - 1)
}

/// Messages per time of clients that pause, all of which ask one server for a time of 1 at its full speed;
/// for one client it works at a speed of `alone`. Exact mean value analysis, client by client (Reiser and
/// Lavenberg, *Mean-value analysis of closed multichain queuing networks*, JACM 27, 1980).
fn by_mean_values(count: u32, pause: f64, alone: f64) -> f64 {
    let (mut waiting, mut idle, mut rate) = (0.0, 1.0, 0.0);
    for clients in 1..=count {
        let time = 1.0 + waiting + (1.0 / alone - 1.0) * idle;
        rate = f64::from(clients) / (pause + time);
        waiting = rate * time;
        idle = (1.0 - rate * (1.0 + (1.0 / alone - 1.0) * idle)).max(0.0);
    }
    rate
}

fn rate(clients: &[Client]) -> f64 {
    solve(clients)
        .unwrap()
        .iter()
        .map(|pace| pace.throughput)
        .sum()
}

#[test]
fn clients_that_choose_at_random_keep_so_many_servers_busy() {
    for (clients, servers) in [(1, 4), (3, 2), (15, 1), (56, 8), (200, 16)] {
        let uses: Vec<_> = (0..servers)
            .map(|server| (server, 1.0 / f64::from(servers), 1.0))
            .collect();
        let found = rate(&vec![client(1, 0.0, &uses); clients as usize]);
        let exact = f64::from(servers) * balanced(clients, servers);
        assert!(
            (found / exact - 1.0).abs() < 1e-6,
            "{clients} of {servers}: {found}, not {exact}"
        );
    }
}

proptest! {
    /// One server, clients that pause: exact mean value analysis within what the approximation costs.
    #[test]
    fn near_exact_mean_values(count in 1u32..60, pause in 0.0f64..40.0, alone in 0.5f64..=1.0) {
        let found = rate(&vec![client(1, pause, &[(0, 1.0, alone)]); count as usize]);
        let exact = by_mean_values(count, pause / alone, alone) / alone;
        prop_assert!((found / exact - 1.0).abs() < 0.06, "{found}, exactly {exact}");
    }

    /// No part does more than it can, no client more than when it is alone or than it is offered; order
    /// and the numbers of parts do not matter.
    #[test]
    fn within_all_bounds(
        drawn in prop::collection::vec(
            (1u32..4, 0.0f64..3.0, 0.5f64..2.0, prop::option::of(0.0f64..2.0),
             prop::collection::btree_map(0u32..6, (0.05f64..=1.0, 0.05f64..=1.0), 1..5)),
            1..12,
        ),
    ) {
        let clients: Vec<Client> = drawn.iter().map(|(under_way, pause, transfer, offered, uses)| Client {
            under_way: *under_way,
            at_once: f64::from(*under_way),
            pause: *pause,
            transfer: *transfer,
            offered: offered.unwrap_or(f64::INFINITY),
            uses: uses.iter().map(|(&part, &(probability, busy))| Use { part, probability, busy: busy * transfer, is_stream: false }).collect(),
        }).collect();
        let paces = solve(&clients).unwrap();
        let mut busy = [0.0; 6];
        for (client, pace) in clients.iter().zip(&paces) {
            prop_assert!(pace.time >= client.transfer * (1.0 - 1e-9));
            let alone = f64::from(client.under_way) / (client.pause + client.transfer);
            prop_assert!(pace.throughput <= alone.min(client.offered) * (1.0 + 1e-9));
            for of in &client.uses {
                busy[of.part as usize] += pace.throughput * of.probability * of.busy;
            }
        }
        for busy in busy {
            prop_assert!(busy <= 1.02, "{busy}");
        }
        let mut others: Vec<Client> = clients.iter().rev().cloned().collect();
        for of in others.iter_mut().flat_map(|client| &mut client.uses) {
            of.part = 100 - of.part;
        }
        for (pace, other) in paces.iter().zip(solve(&others).unwrap().iter().rev()) {
            prop_assert!((pace.throughput - other.throughput).abs() <= 1e-6 * pace.throughput.max(1e-9));
        }
    }
}

/// A link of several that are alike holds nobody back while there are no more messages than links.
#[test]
fn links_side_by_side() {
    let wide = [(0, 1.0, 0.25)];
    for (count, expected) in [(1, 1.0), (4, 4.0), (8, 4.0), (40, 4.0)] {
        let found = rate(&vec![client(1, 0.0, &wide); count]);
        assert!((found / expected - 1.0).abs() < 1e-6, "{count}: {found}");
    }
}

/// What all comes to a part from one before it has waited there; what comes from elsewhere has not.
#[test]
fn messages_of_one_stream_wait_once() {
    let uses = [(0, 1.0, 1.0), (1, 1.0, 1.0)];
    let stream = Use {
        part: 2,
        probability: 1.0,
        busy: 1.0,
        is_stream: true,
    };
    let mut behind = client(1, 2.0, &uses);
    behind.uses.push(stream);
    let alone = rate(&vec![client(1, 2.0, &uses[..1]); 5]);
    assert!((rate(&vec![behind.clone(); 5]) / alone - 1.0).abs() < 1e-9);
    // One more that comes to part 1 by itself is in the way of all, and these of it.
    let other = client(1, 2.0, &uses[1..]);
    let mut all = vec![behind; 5];
    all.push(other);
    let paces = solve(&all).unwrap();
    assert!(rate(&all[..5]) > 5.0 * paces[0].throughput);
    assert!(paces[5].time > 1.5, "{paces:?}");
}

/// Three clients on a link of 1, of which two also share one of 2/3: these get 1/3 each there, and the third what is left of
/// the first link. One with a pause of 4 takes what it gets alone, 1/5, and leaves the others more.
#[test]
fn shares_are_max_min_fair() {
    let narrow = [(0, 1.0, 1.0), (1, 1.0, 1.0), (2, 1.0, 1.0)];
    let wide = [(0, 1.0, 1.0), (3, 1.0, 1.0)];
    let near = |clients: &[Client], expected: &[f64]| {
        let found = fair_shares(clients).unwrap();
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
        }
    };
    let both = |pause| client(1, pause, &narrow);
    near(
        &[both(0.0), both(0.0), client(1, 0.0, &wide)],
        &[1.0 / 3.0; 3],
    );
    let slow = Client {
        transfer: 1.0,
        ..client(1, 0.0, &[(0, 1.0, 1.0), (1, 1.0, 1.0)])
    };
    let mut halved = slow;
    halved.uses[1].busy = 1.0;
    near(&[halved.clone(), client(1, 4.0, &wide)], &[0.8, 0.2]);
    near(
        &[both(0.0), both(0.0), client(1, 4.0, &wide)],
        &[0.4, 0.4, 0.2],
    );
}

/// More messages under way fill what one leaves idle, up to what the client's own part does.
#[test]
fn messages_under_way() {
    let own = [(0, 1.0, 1.0)];
    let mut last = 0.0;
    for under_way in [1, 2, 4, 16, 256] {
        let found = rate(&[client(under_way, 3.0, &own)]);
        assert!(found > last && found <= 1.0 + 1e-9);
        last = found;
    }
    assert!(last > 0.99);
}

/// Sent one after the other they fill the pauses of one, and meet no others of their own.
#[test]
fn messages_in_order() {
    let own = [(0, 1.0, 1.0), (1, 1.0, 1.0)];
    for (under_way, pause, expected) in
        [(1, 3.0, 0.25), (2, 3.0, 0.5), (4, 3.0, 1.0), (9, 3.0, 1.0)]
    {
        let in_order = Client {
            at_once: 1.0,
            ..client(under_way, pause, &own)
        };
        let found = rate(&[in_order]);
        assert!((found - expected).abs() < 1e-9, "{under_way}: {found}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |client: Client| solve(&[client]).unwrap_err().to_string();
    let good = client(1, 0.0, &[(0, 1.0, 1.0)]);
    assert!(solve(&[]).unwrap().is_empty());
    assert!(
        refused(Client {
            under_way: 0,
            at_once: 1.0,
            ..good.clone()
        })
        .contains("under way of a client is 0")
    );
    assert!(
        refused(Client {
            at_once: 2.0,
            ..good.clone()
        })
        .contains("move at once is 2")
    );
    assert!(
        refused(Client {
            pause: -1.0,
            ..good.clone()
        })
        .contains("pause")
    );
    assert!(
        refused(Client {
            transfer: 0.0,
            ..good.clone()
        })
        .contains("transfer of a message is 0")
    );
    assert!(
        refused(Client {
            offered: f64::NAN,
            ..good
        })
        .contains("messages offered")
    );
    assert!(refused(client(1, 0.0, &[(0, 1.1, 1.0)])).contains("probability of a use"));
    assert!(refused(client(1, 0.0, &[(0, 1.0, 1.5)])).contains("busy time of a part"));
}
