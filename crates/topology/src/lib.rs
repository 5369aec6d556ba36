//! Graphs, hypercubes, routing, I/O-node placement, deadlock check, importers.
