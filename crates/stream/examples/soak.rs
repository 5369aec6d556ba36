//! Runs the seeded simulator of the tests for a number of steps, and prints a summary: `cargo run
//! --release -p isthmus-stream --example soak -- --steps 10000000 --seed 1`. With `--episode N` it
//! repeats the episode named in a failure.

#[path = "../tests/world/mod.rs"]
mod world;

use world::Counts;
use world::episode::play;

fn main() {
    let (mut steps, mut seed, mut episode) = (100_000, 1, None);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let number = words.next().and_then(|number| number.parse().ok());
        let Some(number) = number else {
            eprintln!("{word} takes a number");
            std::process::exit(2);
        };
        match word.as_str() {
            "--steps" => steps = number,
            "--seed" => seed = number,
            "--episode" => episode = Some(number),
            _ => {
                eprintln!("{word} is not known: give --steps, --seed or --episode");
                std::process::exit(2);
            }
        }
    }
    if let Some(episode) = episode {
        println!("{:#?}", play(episode));
        return;
    }
    let (mut all, mut episodes) = (Counts::default(), 0);
    while all.steps < steps {
        all.add(&play(world::rng::Rng(seed << 32 | episodes).next() >> 1));
        episodes += 1;
    }
    println!("episodes of seed {seed}: {episodes}\n{all:#?}");
}
