//! Measures one thing and prints it as JSON; `bench/run.py` calls it and keeps the results.

use std::process::ExitCode;

fn main() -> ExitCode {
    isthmus_bench::main()
}
