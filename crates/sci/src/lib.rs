//! SCI rings joined by switch nodes.
