//! Queueing formulas and the models of the papers.
