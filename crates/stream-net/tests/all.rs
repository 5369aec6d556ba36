//! Tests of the drivers, in one program.
