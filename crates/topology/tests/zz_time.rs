#![allow(missing_docs)]
use isthmus_topology::*;
use std::time::Instant;
fn t<T>(name: &str, f: impl FnOnce() -> T) -> T {
    let s = Instant::now();
    let r = f();
    println!("{name}: {:.3}s", s.elapsed().as_secs_f64());
    r
}
#[test]
fn placements() {
    let c = Hypercube::new(20).unwrap();
    t("combined20", || Placement::combined(c));
    t("stride20 65536", || Placement::stride(c, 65536).unwrap());
    let p = t("stride20 70001", || Placement::stride(c, 70001).unwrap());
    println!("{:?}", p.coverage().served_range());
    t("clustered20 65536", || {
        Placement::clustered(c, 65536).unwrap()
    });
    t("clustered20 70001", || {
        Placement::clustered(c, 70001).unwrap()
    });
    t("list20 1", || Placement::list(c, &[5]).unwrap());
}
#[test]
fn broadcast() {
    let c = Hypercube::new(20).unwrap();
    let f = t("faults none 20", || CubeFaults::none(c));
    t("bc20", || BroadcastTree::new(&f, 5).unwrap().step_count());
    let f = t("faults 20", || {
        CubeFaults::new(c, &[77], &[(0, 1)]).unwrap()
    });
    let s = t("bc20 faulty", || {
        BroadcastTree::new(&f, 5).unwrap().step_count()
    });
    println!("steps {s}");
}
#[test]
fn faults() {
    for (d, nodes, links) in [
        (7u32, 1usize, 0usize),
        (7, 0, 4),
        (7, 4, 8),
        (7, 10, 30),
        (10, 1, 0),
        (10, 0, 1),
        (10, 2, 4),
        (10, 10, 20),
        (10, 30, 200),
        (10, 100, 0),
        (12, 1, 1),
        (13, 1, 0),
        (13, 0, 1),
        (14, 0, 1),
        (20, 0, 1),
    ] {
        let c = Hypercube::new(d).unwrap();
        let n = c.node_count();
        let h = |i: usize| ((i as u64 + 3).wrapping_mul(0x9e3779b97f4a7c15) >> 20) as u32;
        let ns: Vec<u32> = (0..nodes).map(|i| h(i) % n).collect();
        let ls: Vec<(u32, u32)> = (0..links)
            .map(|i| {
                let a = h(i + 1000) % n;
                (a, a ^ 1 << (h(i + 5000) % d))
            })
            .collect();
        let f = CubeFaults::new(c, &ns, &ls).unwrap();
        let fc = t(&format!("d{d} {nodes} nodes {links} links"), || {
            FaultyCube::new(f)
        });
        println!("   {:?}", fc.scheme());
        let s = Instant::now();
        let mut hops = 0;
        let mut k = 0u32;
        for i in 0..1000usize {
            if let Ok(r) = fc.route(h(i) % n, h(i + 7777) % n) {
                hops += r.count();
                k += 1;
            }
        }
        println!(
            "   {:.2} us per route, {:.2} hops",
            s.elapsed().as_secs_f64() * 1e3,
            hops as f64 / k as f64
        );
    }
}
#[test]
fn dominating() {
    for d in [5, 6, 7, 8, 9, 10, 11, 20] {
        let c = Hypercube::new(d).unwrap();
        let (_, s) = t(&format!("dom {d}"), || {
            Placement::dominating(c, Budget::default())
        });
        println!("   {} >= {}", s.pes().len(), s.lower_bound());
    }
}

#[test]
fn success() {
    let d = 7;
    let c = Hypercube::new(d).unwrap();
    let h = |i: usize| ((i as u64 + 3).wrapping_mul(0x9e3779b97f4a7c15) >> 20) as u32;
    for (nodes, links) in [
        (0, 2),
        (0, 4),
        (0, 6),
        (0, 8),
        (0, 12),
        (0, 16),
        (0, 24),
        (1, 0),
        (2, 0),
        (3, 0),
        (4, 0),
        (6, 0),
    ] {
        let (mut ok, mut loc, mut time) = (0, 0, 0.0);
        for seed in 0..20usize {
            let ns: Vec<u32> = (0..nodes).map(|i| h(i * 31 + seed * 1001) % 128).collect();
            let ls: Vec<(u32, u32)> = (0..links)
                .map(|i| {
                    let a = h(i * 17 + seed * 7919) % 128;
                    (a, a ^ 1 << (h(i * 13 + 5000 + seed * 977) % d))
                })
                .collect();
            let s = Instant::now();
            let f = FaultyCube::new(CubeFaults::new(c, &ns, &ls).unwrap());
            time += s.elapsed().as_secs_f64();
            if matches!(f.scheme(), RoutingScheme::Detours { .. }) {
                ok += 1;
            }
            if !matches!(
                FaultyCube::with_search_limit(f.faults().clone(), 0).scheme(),
                RoutingScheme::UpDown
            ) {
                loc += 1;
            }
        }
        println!(
            "nodes {nodes} links {links}: {ok}/20, local {loc}/20, {:.3} s each",
            time / 20.0
        );
    }
}

#[test]
fn many() {
    let d = 10;
    let c = Hypercube::new(d).unwrap();
    let n = 1024;
    let h = |i: usize| ((i as u64 + 3).wrapping_mul(0x9e3779b97f4a7c15) >> 20) as u32;
    for (nodes, links) in [(5, 0), (10, 0), (10, 20), (0, 50), (0, 100)] {
        let ns: Vec<u32> = (0..nodes).map(|i| h(i) % n).collect();
        let ls: Vec<(u32, u32)> = (0..links)
            .map(|i| {
                let a = h(i + 1000) % n;
                (a, a ^ 1 << (h(i + 5000) % d))
            })
            .collect();
        let f = CubeFaults::new(c, &ns, &ls).unwrap();
        let fc = t(&format!("d{d} {nodes} nodes {links} links"), || {
            FaultyCube::new(f)
        });
        println!("   {:?}", fc.scheme());
    }
}
