//! Points, replications, stopping rules, provenance.
