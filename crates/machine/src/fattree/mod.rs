//! Fat trees of circuit-switched or cut-through links, such as QsNET.

pub mod spec;
