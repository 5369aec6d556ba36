//! How fast data is summed by CRC32C on this machine: the library, and lanes woven with folds.
//!
//! `cargo run --release -p isthmus-stream --example sums`

use isthmus_stream::checksum::{Woven, crc32c};
use std::hint::black_box;
use std::time::Instant;

/// Bytes of a run.
const MOVED: usize = 64 << 20;
/// Runs of each, in turns.
const RUNS: usize = 15;

/// GB/s of one run.
fn run(data: &[u8], sum: impl Fn(&[u8]) -> u32) -> f64 {
    let begin = Instant::now();
    for _ in 0..MOVED / data.len() {
        black_box(sum(black_box(data)));
    }
    MOVED as f64 / begin.elapsed().as_secs_f64() / 1e9
}

/// Least, median and greatest.
fn told(mut rates: Vec<f64>) -> String {
    rates.sort_by(f64::total_cmp);
    let (least, most) = (rates[0], rates[RUNS - 1]);
    format!("{:5.1} ({least:.1}-{most:.1})", rates[RUNS / 2])
}

fn main() {
    println!("GB/s, median (least-greatest) of {RUNS} runs of 64 MiB in turns");
    for kib in [1, 4, 16, 64, 256, 1024] {
        let data: Vec<u8> = (0..kib << 10).map(|at: u32| (at >> 3) as u8).collect();
        let (mut library, mut woven) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            library.push(run(&data, crc32c));
            woven.extend(Woven::here().map(|way| run(&data, |data| way.crc32c(data))));
        }
        let woven = match woven.is_empty() {
            true => "not on this processor".to_owned(),
            false => told(woven),
        };
        println!(
            "blocks of {kib:4} KiB: crc-fast {}, woven {woven}",
            told(library)
        );
    }
}
