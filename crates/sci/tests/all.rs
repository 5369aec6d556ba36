//! Tests of the engines for rings, in one program: each file beside this one is a part of it, and what it links is linked once.

mod by_hand;
mod conformance;
mod drive;
mod equal;
mod go_bits;
