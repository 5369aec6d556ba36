//! Message-level, flit-exact wormhole engine.
