//! Tests of the stream manager, in one program: each file beside this one is a part of it.
