//! Message-level, flit-exact wormhole engine.
//!
//! A message is a worm of `length` flits. It occupies one lane of every channel that it crosses
//! until its tail has left the buffer of that lane. The engine moves only the head and computes the
//! position of the tail. All grants are the same as if it moved every flit (crate `isthmus-flit`,
//! which the tests run beside it).
//!
//! # The rules
//! Channels have one or more lanes. Each lane has a buffer of one flit and the full speed of a
//! channel (section 4.1 of the hypercube paper).
//! 1. A lane granted in cycle t is crossed in t; the head requests the next channel in t + 1.
//! 2. The buffer of a lane belongs to one worm at a time. A lane can be granted when its buffer is
//!    empty as the cycle begins, or if it is then certain that the buffer becomes empty in the
//!    cycle: it has the tail of a worm whose head has arrived. When the head crosses the last of P
//!    channels in cycle T, channel j (from 1) can be granted again from cycle T + L - (P - j), the
//!    cycle after the tail crosses it. A worm shorter than its path (L < P) leaves the buffer of
//!    channel j when its head crosses channel j + L <= P; the channel can be granted again from the
//!    next cycle.
//! 3. Within a cycle releases precede requests, and requests are ordered by message number.
//! 4. A head that is not granted waits in the channel's queue, first come first served.
//!
//! The crate has no devices, workloads or files. It never decides when to stop: a [`Handler`]
//! receives every delivery and returns whether it has finished.

mod channels;
mod engine;
mod requests;

pub use channels::{Carried, ChannelId, Channels};
pub use engine::{Delivered, Engine, Handler, Message};
