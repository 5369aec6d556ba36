#![allow(missing_docs)]
use isthmus_topology::*;
#[test]
fn dbg() {
    let h = |i: usize| ((i as u64 + 3).wrapping_mul(0x9e3779b97f4a7c15) >> 20) as u32;
    for seed in 0..20usize {
        let ns: Vec<u32> = (0..2).map(|i| h(i * 31 + seed * 1001) % 128).collect();
        let f = FaultyCube::with_search_limit(
            CubeFaults::new(Hypercube::new(7).unwrap(), &ns, &[]).unwrap(),
            0,
        );
        eprintln!("{ns:?} {:07b} {:?}", ns[0] ^ ns[1], f.scheme());
    }
}
