//! Clock, totally ordered event queue, named random streams, distributions.
