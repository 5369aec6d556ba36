//! Where the waits of trains hold.

/// Most of the latency that may be in doubt: see [`Wait::doubt`](super::Wait::doubt).
const DOUBT_MAX: f64 = 0.05;
/// Most that the busiest node or link may be asked for.
const BUSIEST_MAX: f64 = 0.75;
/// The same where packets hold circuits, whose waits for one another the model does not know.
const CIRCUITS_MAX: f64 = 0.3;
/// The most that is asked for of what buffers let through, where they hold less than a round trip of their link.
const SHORT_MAX: f64 = 0.4;
/// The same where a lane's buffers hold less than a message.
const WHOLE_MAX: f64 = 0.3;

/// What the domain depends on.
///
/// The limits are those that kept 96% of 200 random networks within 10% of the simulation (`bench/estimates.py graph`,
/// seed 1616). They are tested on others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// The share of its time that the busiest node or link is asked for.
    pub busiest: f64,
    /// The doubt in the waits of all messages, by their latency.
    pub doubt: f64,
    /// Whether packets hold circuits.
    pub circuits: bool,
    /// The share of what the buffer behind the busiest link lets through that is asked for.
    pub buffered: f64,
    /// The least that the buffer behind a link lets through, by the link: 1 if all.
    pub let_through: f64,
    /// Packets of a message over those that the buffers of the lanes of one class hold.
    pub messages: f64,
}

impl Load {
    /// Why the model does not hold, in one phrase.
    pub fn outside(&self) -> Option<&'static str> {
        if self.busiest > BUSIEST_MAX {
            return Some("the busiest part is asked for more than 75% of what it does");
        }
        if self.doubt.is_nan() || self.doubt > DOUBT_MAX {
            return Some("packets that wait in an input hold up others for too long");
        }
        if self.circuits {
            let many = self.busiest > CIRCUITS_MAX;
            return many.then_some("circuits above 30% of what the busiest part does");
        }
        if self.let_through < 1.0 && self.buffered > SHORT_MAX {
            return Some("buffers of less than a round trip above 40% of what they let through");
        }
        if self.messages > 1.0 && self.buffered > WHOLE_MAX {
            return Some("buffers of less than a message above 30% of what they let through");
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
            doubt: 0.05,
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
                    doubt: 0.06,
                    ..inside
                },
                "input",
            ),
            (
                Load {
                    busiest: 0.31,
                    ..circuits
                },
                "circuits",
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
