//! Tests of layouts, plans and transfers, in one program: each file beside this one is a part of it, and what it
//! links is linked once.

mod families;
mod huge;
mod io_distribution;
mod layouts;
mod oracle;
mod spans;
mod transfers;
