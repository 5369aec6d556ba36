//! Tests of experiments, in one program. Each file in this folder is a module.
//!
//! The modules of `src` at the end are private. Their unit tests run here, so that the library is not compiled
//! a second time for them.

mod capacity;
mod claims;
mod columns;
mod comparison;
mod tasks;
mod uses;

use isthmus_experiment::result;

#[allow(dead_code)]
#[path = "../src/bracket.rs"]
mod bracket;
#[allow(dead_code)]
#[path = "../src/ends.rs"]
mod ends;
#[allow(dead_code)]
#[path = "../src/envelope.rs"]
mod envelope;
#[allow(dead_code)]
#[path = "../src/memory.rs"]
mod memory;
#[allow(dead_code)]
#[path = "../src/claims/name.rs"]
mod name;
#[allow(dead_code)]
#[path = "../src/run/order.rs"]
mod order;
#[allow(dead_code)]
#[path = "../src/processors.rs"]
mod processors;
#[allow(dead_code)]
#[path = "../src/run_length.rs"]
mod run_length;
