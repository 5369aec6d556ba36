//! Tests of the work, in one program: each file beside this one is a part of it, and what it links is linked once.

mod jobs;
mod jobs_layout;
mod jobs_phases;
mod packets;
