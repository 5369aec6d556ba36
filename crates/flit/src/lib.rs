//! Naive flit-by-flit reference for the wormhole engine.
