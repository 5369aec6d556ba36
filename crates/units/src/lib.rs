//! Quantities with a dimension: exact integer types, parsing and printing.
//!
//! A quantity in a file or on a command line always carries its unit: `"0.156 ms"`, `"32 B"`,
//! `"20 MB/s"`, `"6.4 /ms"`. A bare number is an error. Decimal prefixes are powers of ten
//! (`MB` = 10^6 bytes), binary ones powers of two (`MiB` = 2^20 bytes).
//!
//! This crate depends on no other crate.

mod bandwidth;
mod bytes;
mod clock;
mod parse;
mod rate;
mod time;

pub use bandwidth::Bandwidth;
pub use bytes::Bytes;
pub use clock::Clock;
pub use parse::UnitError;
pub use rate::Rate;
pub use time::Time;
