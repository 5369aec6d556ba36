//! Where the waits of trains hold.

/// Largest uncertainty as a share of the latency: see [`Wait::uncertainty`](super::Wait::uncertainty).
const UNCERTAINTY_MAX: f64 = 0.05;
/// Largest utilisation of the busiest node or link.
const BUSIEST_MAX: f64 = 0.75;
/// The same where packets hold circuits, whose waits for one another the model does not know.
const CIRCUITS_MAX: f64 = 0.3;
/// Largest utilisation of the throughput of buffers that hold less than their link's round trip.
const SHORT_MAX: f64 = 0.4;
/// The same where the buffers of a lane hold less than a message.
const WHOLE_MAX: f64 = 0.3;

/// What the domain depends on.
///
/// The limits are those that kept 96% of 200 random networks within 10% of the simulation (`bench/estimates.py graph`,
/// seed 1616). They are tested on others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Utilisation of the busiest node or link.
    pub busiest: f64,
    /// The uncertainty of the waits of all messages, as a share of their latency.
    pub uncertainty: f64,
    /// Whether packets hold circuits.
    pub circuits: bool,
    /// Offered load over the throughput of the buffer behind the busiest link.
    pub buffered: f64,
    /// Smallest throughput of the buffer behind a link, as a share of the link's.
    pub let_through: f64,
    /// Packets of a message over those that the buffers of the lanes of one class hold.
    pub messages: f64,
}

impl Load {
    /// Return why the model does not hold, in one phrase. None inside the domain.
    pub fn outside(&self) -> Option<&'static str> {
        if self.busiest > BUSIEST_MAX {
            return Some("the busiest link or node is used above 75%");
        }
        if self.uncertainty.is_nan() || self.uncertainty > UNCERTAINTY_MAX {
            return Some("head-of-line blocking is uncertain by more than 5% of the latency");
        }
        if self.circuits {
            let many = self.busiest > CIRCUITS_MAX;
            return many.then_some("the busiest link or node is used above 30% with circuits");
        }
        if self.let_through < 1.0 && self.buffered > SHORT_MAX {
            return Some(
                "buffers are shorter than a link's round trip and used above 40% of their throughput",
            );
        }
        if self.messages > 1.0 && self.buffered > WHOLE_MAX {
            return Some(
                "buffers are shorter than a message and used above 30% of their throughput",
            );
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One load inside, and what each limit says of one step beyond it.
    #[test]
    fn each_limit_is_named() {
        let inside = Load {
            busiest: 0.3,
            uncertainty: 0.05,
            circuits: false,
            buffered: 0.3,
            let_through: 0.5,
            messages: 2.0,
        };
        assert_eq!(inside.outside(), None);
        let circuits = Load {
            circuits: true,
            ..inside
        };
        assert_eq!(circuits.outside(), None);
        for (load, word) in [
            (
                Load {
                    busiest: 0.76,
                    ..inside
                },
                "75%",
            ),
            (
                Load {
                    uncertainty: 0.06,
                    ..inside
                },
                "head-of-line",
            ),
            (
                Load {
                    busiest: 0.31,
                    ..circuits
                },
                "30% with circuits",
            ),
            (
                Load {
                    buffered: 0.41,
                    ..inside
                },
                "round trip",
            ),
            (
                Load {
                    buffered: 0.31,
                    let_through: 1.0,
                    ..inside
                },
                "message",
            ),
        ] {
            assert!(load.outside().unwrap().contains(word), "{load:?}");
        }
    }
}
