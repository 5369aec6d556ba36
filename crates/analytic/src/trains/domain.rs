//! Where the waits of trains hold.

/// Largest uncertainty as a share of the latency: see [`Wait::uncertainty`](super::Wait::uncertainty).
const UNCERTAINTY_MAX: f64 = 0.15;
/// Largest utilisation of the busiest node or link.
const BUSIEST_MAX: f64 = 0.75;
/// The same where packets hold circuits.
const CIRCUITS_MAX: f64 = 0.35;
/// Largest share of the latency that circuits wait for links and channels.
const WAITS_MAX: f64 = 0.2;
/// Largest utilisation of the throughput of buffers that hold less than their link's round trip.
const SHORT_MAX: f64 = 0.4;
/// The same where the buffers of a lane hold less than a message.
const WHOLE_MAX: f64 = 0.3;
/// Smallest throughput of buffers that hold no more than a message.
const LET_THROUGH_MIN: f64 = 0.25;

/// What the domain depends on.
///
/// The limits were set on 1000 random networks (`bench/estimates.py graph`, seeds 2, 41, 1616, 1717 and 1818). They
/// are tested on others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Utilisation of the busiest node or link.
    pub busiest: f64,
    /// The uncertainty of the waits of all messages, as a share of their latency.
    pub uncertainty: f64,
    /// Waits for links and channels as a share of the latency. None where packets hold no circuits.
    pub circuits: Option<f64>,
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
        if self.busiest.is_nan() || self.busiest > BUSIEST_MAX {
            return Some("the busiest link or node is used above 75%");
        }
        if self.uncertainty.is_nan() || self.uncertainty > UNCERTAINTY_MAX {
            return Some("head-of-line blocking is uncertain by more than 15% of the latency");
        }
        if let Some(waits) = self.circuits {
            if self.busiest > CIRCUITS_MAX {
                return Some("the busiest link or node is used above 35% with circuits");
            }
            if waits.is_nan() || waits > WAITS_MAX {
                return Some("circuits wait for links and channels above 20% of the latency");
            }
            return None;
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
        if self.messages >= 1.0 && self.let_through < LET_THROUGH_MIN {
            return Some(
                "buffers hold no more than a message and let less than 25% of a link through",
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
            busiest: 0.5,
            uncertainty: 0.15,
            circuits: None,
            buffered: 0.3,
            let_through: 0.5,
            messages: 2.0,
        };
        assert_eq!(inside.outside(), None);
        let with = |busiest: f64, waits: f64| Load {
            busiest,
            circuits: Some(waits),
            ..inside
        };
        assert_eq!(with(0.35, 0.2).outside(), None);
        let with_buffers = |buffered: f64, let_through: f64, messages: f64| Load {
            buffered,
            let_through,
            messages,
            ..inside
        };
        let used = |busiest: f64, uncertainty: f64| Load {
            busiest,
            uncertainty,
            ..inside
        };
        for (load, word) in [
            (used(0.76, 0.1), "75%"),
            (used(0.5, 0.16), "head-of-line"),
            (used(0.5, f64::NAN), "head-of-line"),
            (with(0.36, 0.1), "35% with circuits"),
            (with(0.35, 0.21), "20%"),
            (with_buffers(0.41, 0.9, 1.0), "round trip"),
            (with_buffers(0.31, 1.0, 2.0), "30%"),
            (with_buffers(0.3, 0.24, 1.0), "25%"),
        ] {
            assert!(load.outside().unwrap().contains(word), "{load:?}");
        }
    }
}
