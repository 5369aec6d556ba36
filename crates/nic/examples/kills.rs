//! Run rounds in which manager, rank and sink are killed in turn, and print a line for each: `cargo
//! run --release -p isthmus-nic --example kills -- --rounds 200 --seed 1`.

#[path = "../tests/kills/mod.rs"]
mod kills;

use kills::{Victim, round};

/// Column titles: B are bytes, `beyond` are the bytes of an incomplete ADU.
const HEAD: &str = "round killed  links     ADU_B   TU_B done sink beyond  what the rank said";

fn main() {
    if std::env::var(kills::ROLE).is_ok() {
        return kills::roles::run();
    }
    let (mut rounds, mut seed) = (6, 1);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let number = words.next().and_then(|number| number.parse().ok());
        match (word.as_str(), number) {
            ("--rounds", Some(number)) => rounds = number,
            ("--seed", Some(number)) => seed = number,
            _ => {
                eprintln!("{word}: give --rounds NUMBER or --seed NUMBER");
                std::process::exit(2);
            }
        }
    }
    let victims = [Victim::Manager, Victim::Rank, Victim::Sink];
    println!("isthmus {}, seed {seed}", env!("CARGO_PKG_VERSION"));
    println!("{HEAD}");
    for number in 0..rounds {
        let victim = victims[(number % 3) as usize];
        let row = round(seed << 32 | number, victim);
        println!("{number:5} {row}");
    }
}
