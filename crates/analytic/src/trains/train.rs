//! Timing of the packets of a message, at its node and on links.

use crate::Error;
use crate::error::{check, check_not_negative, check_probability};

/// Packets of messages of one length: full packets and a last packet. Times are in ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Packets {
    /// Probability that a message has this length.
    pub probability: f64,
    /// Number of full packets before the last packet of the message.
    pub full: f64,
    /// Transmission time of a full packet.
    pub full_ns: f64,
    /// Time from the start of a full packet to the start of the next packet without other traffic; at least `full_ns`.
    pub full_pace_ns: f64,
    /// Transmission time of the last packet of the message, in ns.
    pub last_ns: f64,
    /// Time from the start of the last packet to the start of the next message; at least `last_ns`.
    pub last_pace_ns: f64,
}

/// Messages of one class as trains of packets: means over all lengths of messages, with times in ns.
///
/// Let packets of a train use a link for the share u of its time. Of two such trains of length T that overlap for l,
/// the one that ends last leaves (2u - 1) l of work, the other (2u - 1) l - (1 - u) (T - l), if that is above zero.
/// Over all l this is (2u - 1) (3u - 1) / (2 u) T^2 if u is above 1/2, with T^2 = S^2 / u^2: the part f = (2u - 1) (3u
/// - 1) / (2 u^3) of the work that trains without gaps leave. The rest of the trains meets packet by packet.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Train {
    /// Mean number of packets of a message.
    pub packets: f64,
    /// Transmission time of all packets of a message, in ns.
    pub work: f64,
    /// Time in ns that the packets of a message take at their node.
    pub pace: f64,
    /// Half the mean square of `pace`, in ns^2.
    pub pace_residual: f64,
    /// Time in ns from the start of the first packet of a message to that of the last, at the node.
    pub spread: f64,
    /// Transmission time of the last packet of a message, in ns.
    pub last: f64,
    /// Half the mean square of `work`, in ns^2.
    pub square: f64,
    /// Half the sum of the squared transmission times of the packets of a message, in ns^2.
    pub packet_residual: f64,
    /// Share of trains without gaps that meet other trains as a whole: 1, or 1/2 if packets take separate routes.
    pub together: f64,
}

/// Load that a train causes on a link.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct OnLink {
    /// Transmission time of all packets of the train on the link, in ns.
    pub work: f64,
    /// Half the mean square of the transmission times of trains, in ns^2, for the trains that meet other trains as a
    /// whole.
    pub residual: f64,
    /// Half the sum of the squared packet times of a message.
    pub packet_residual: f64,
    /// Transmission time, in ns, of a train's packets before the last one, for the trains that meet other trains as a
    /// whole.
    pub before_last: f64,
}

impl Train {
    /// Return the means over the possible lengths of messages. The probabilities of the lengths must add up to one.
    ///
    /// # Errors
    /// A time or probability is impossible, or a packet starts before the previous packet has left.
    pub fn new(lengths: impl IntoIterator<Item = Packets>) -> Result<Self, Error> {
        let mut train = Self {
            together: 1.0,
            ..Self::default()
        };
        for length in lengths {
            let Packets {
                probability,
                full,
                full_ns,
                full_pace_ns,
                last_ns,
                last_pace_ns,
            } = length;
            check_probability("probability of a length", probability)?;
            check_not_negative("packets of a message", full)?;
            check_not_negative("time of a packet", full_ns)?;
            check_not_negative("time of the last packet", last_ns)?;
            for (pace, ns) in [(full_pace_ns, full_ns), (last_pace_ns, last_ns)] {
                check("pace of packets", pace, "no less than a packet", pace >= ns)?;
            }
            let work = full * full_ns + last_ns;
            let spread = full * full_pace_ns;
            let pace = spread + last_pace_ns;
            train.packets += probability * (full + 1.0);
            train.work += probability * work;
            train.pace += probability * pace;
            train.pace_residual += probability * pace * pace / 2.0;
            train.spread += probability * spread;
            train.last += probability * last_ns;
            train.packet_residual +=
                probability * (full * full_ns * full_ns + last_ns * last_ns) / 2.0;
            train.square += probability * work * work / 2.0;
        }
        Ok(train)
    }

    /// Return the load of a link on which packets take `slower` times as long as without waits.
    pub fn on_link(&self, slower: f64) -> OnLink {
        let train_share = self.together * train_share(slower * self.work, self.pace);
        let square = train_share * self.square + (1.0 - train_share) * self.packet_residual;
        OnLink {
            work: slower * self.work,
            residual: slower * slower * square,
            packet_residual: slower * slower * self.packet_residual,
            before_last: slower * train_share * (self.work - self.last),
        }
    }

    /// Return the train if each packet of a message takes its own route. Such packets are together on the links near
    /// their source and their destination. Between these links they meet other messages packet by packet. The share of
    /// one half that meets as trains is fitted to simulations.
    pub fn on_separate_routes(self) -> Self {
        Self {
            together: 0.5,
            ..self
        }
    }

    /// Return whether each packet of a message takes its own route.
    pub(super) fn has_separate_routes(&self) -> bool {
        self.together < 1.0
    }
}

/// Return the share f of trains that meet other trains as a whole rather than packet by packet. `work` is the
/// transmission time of a train, `pace` the time for which its node sends it.
fn train_share(work: f64, pace: f64) -> f64 {
    let share = match pace > 0.0 {
        true => (work / pace).min(1.0),
        false => 1.0,
    };
    if share <= 0.5 {
        return 0.0;
    }
    (2.0 * share - 1.0) * (3.0 * share - 1.0) / (2.0 * share.powi(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return messages for the tests: `full` packets that take 2 ns each, then one that takes 1 ns, with `pace` ns
    /// between the starts of packets.
    fn packets_of(full: f64, pace: f64) -> Packets {
        Packets {
            probability: 1.0,
            full,
            full_ns: 2.0,
            full_pace_ns: pace,
            last_ns: 1.0,
            last_pace_ns: pace,
        }
    }

    /// Checks the means of a train of packets against a calculation by hand. The message has three packets of 2 ns and
    /// one of 1 ns, with a gap only after the last.
    #[test]
    fn a_train_by_hand() {
        let packets = Packets {
            last_pace_ns: 1.0,
            ..packets_of(3.0, 2.0)
        };
        let train = Train::new([packets]).unwrap();
        assert_eq!((train.packets, train.work, train.pace), (4.0, 7.0, 7.0));
        assert_eq!((train.spread, train.last), (6.0, 1.0));
        assert_eq!(
            (train.on_link(1.0).residual, train.packet_residual),
            (24.5, 6.5)
        );
        assert_eq!(train.on_link(1.0).before_last, 6.0);
        let half = Packets {
            probability: 0.5,
            ..packets
        };
        assert_eq!(Train::new([half, half]).unwrap(), train);
    }

    /// Checks that trains with long gaps have no part that meets other trains as a whole. Packets with gaps as long as
    /// themselves do not meet as trains.
    #[test]
    fn trains_with_gaps_meet_packet_by_packet() {
        let train = Train::new([packets_of(3.0, 4.0)]).unwrap();
        assert_eq!(train.on_link(1.0).residual, train.packet_residual);
        assert_eq!(train.on_link(1.0).before_last, 0.0);
        assert!((train_share(3.0, 4.0) - 0.5 * 1.25 / (2.0 * 0.421_875)).abs() < 1e-12);
        assert!(Train::new([packets_of(3.0, 1.0)]).is_err());
    }
}
