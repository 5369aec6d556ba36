//! Dragonflies.

use isthmus_topology::Dragonfly;

/// Checks that the numbers of global links of two routers differ by at most one. The largest dragonfly for h = 2 of
/// the paper's Figure 5, and some with unused ports.
#[test]
fn global_ports_are_spread_evenly() {
    for (nodes, routers, groups, links) in [(2, 4, 9, 1), (1, 3, 5, 2), (1, 4, 4, 1), (2, 1, 6, 1)]
    {
        let dragonfly = Dragonfly::new(nodes, routers, groups, links).unwrap();
        let wiring = dragonfly.wiring();
        let node_count = dragonfly.node_count();
        let ports = (0..dragonfly.router_count()).map(|router| {
            let of = |target: u32| match target.checked_sub(node_count) {
                None => 0,
                Some(other) if other / routers == router / routers => 1,
                Some(_) => 2,
            };
            let mut counts = [0; 3];
            for link in wiring.out_of(node_count + router) {
                counts[of(wiring.target(link))] += 1;
            }
            assert_eq!(counts[..2], [nodes, routers - 1]);
            counts[2]
        });
        let ports: Vec<u32> = ports.collect();
        assert!(ports.iter().max().unwrap() - ports.iter().min().unwrap() <= 1);
        assert_eq!(ports.iter().sum::<u32>(), groups * (groups - 1) * links);
    }
}

/// Checks that dragonflies with a size of 0 or too many groups or cables are refused.
#[test]
fn impossible_dragonflies_are_refused() {
    let error = |nodes, groups| Dragonfly::new(nodes, 4, groups, 1).unwrap_err().to_string();
    assert_eq!(error(0, 2), "nodes to a router: there must be 1 or more");
    assert_eq!(error(1, 0), "groups: there must be 1 or more");
    assert_eq!(
        error(1 << 22, 2),
        "33554445 cables; there may be 16777216 at most"
    );
    assert_eq!(error(1, 5_000), "5000 groups; there may be 4096 at most");
}
