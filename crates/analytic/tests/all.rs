//! Tests of the models, in one program: each file beside this one is a part of it, and what it links is linked once.

mod against_simulation;
mod any_machine;
mod closed_loops;
mod paper;
mod sci_insertion;
mod section_6;
