//! The transmit half of a connection: packets to send, packets to send again, and timeouts.

use crate::config::Timeouts;
use crate::ids::{Instant, PacketId, StreamId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Number of packets, from the first missing one on, whose arrival a header reports.
const REPORTED_PACKETS: u64 = 65;
/// Maximum timeout in nanoseconds while the peer has all packets and still replies, for example if
/// it has no room for more data (as the persist timer of TCP).
const PERSIST_MAX_NS: u64 = 100_000_000;

/// A packet that the peer has not delivered yet, with its stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Awaited {
    pub stream: StreamId,
    /// The number of the packet's stream in packet headers.
    pub ordinal: u32,
    /// The number of the packet's application data unit (ADU). None for an end mark, which ends the
    /// stream.
    pub adu: Option<u64>,
    /// Whether the packet is confirmed. It is then awaited only because the receiver may still
    /// discard it.
    pub confirmed: bool,
}

/// State of the transmit half of a connection.
#[derive(Debug, Default)]
pub(crate) struct Transmit {
    /// The next sequence number to assign to a packet.
    pub next: u64,
    /// Packets that were not sent yet, in the order of their sequence numbers.
    pub queue: VecDeque<PacketId>,
    /// All packets below this sequence number were sent at least once.
    pub sent: u64,
    /// Sent packets that stay in memory until they are acknowledged, by sequence number.
    pub flight: BTreeMap<u64, PacketId>,
    /// Sequence numbers of the packets in `flight` that must be sent again.
    pub resend: BTreeSet<u64>,
    /// All packets that the peer has not delivered, by sequence number.
    pub awaited: BTreeMap<u64, Awaited>,
    /// Number of orders to send a packet that are not completed yet.
    pub sending: u64,
    /// Sequence numbers from the last header of the peer: it has acknowledged all packets below
    /// `acknowledged`, and delivered all packets below `delivered`.
    pub acknowledged: u64,
    pub granted: u64,
    pub delivered: u64,
    /// Cost in bytes, in terms of the peer's receive window, of the packets sent.
    pub spent: u64,
    /// Number of transmissions of packets so far on this connection. Each transmission, also a
    /// repeated one, gets the next number.
    pub transmissions: u64,
    /// Number of the newest transmission (see `transmissions`) that is known to have arrived.
    pub newest: u64,
    /// Number of timeouts since the last header arrived from the peer. `backoff` counts the
    /// timeouts since the last progress.
    pub silent: u32,
    pub backoff: u32,
    pub deadline: Option<Instant>,
    /// Number of probes that are still to be sent after the last packet of an unconfirmed
    /// connection.
    pub tails: u32,
    /// Mean and mean deviation of the measured round trip times, in nanoseconds; `None` before the
    /// first measurement.
    round_trip: Option<(u64, u64)>,
    /// The shortest round trip time in nanoseconds; 0 before one was measured.
    pub round_trip_min_ns: u64,
}

impl Transmit {
    /// Returns the number below which no packet will be sent (again). A packet that does not stay
    /// in memory until it is acknowledged counts as long as the driver has it, since the driver may
    /// delay it to pace the connection.
    pub fn floor(&self) -> u64 {
        let kept = self.flight.first_key_value().map(|(sequence, _)| *sequence);
        let awaited = || {
            self.awaited
                .first_key_value()
                .map(|(sequence, _)| *sequence)
        };
        let first = kept.or_else(awaited);
        first.map_or(self.sent, |sequence| sequence.min(self.sent))
    }

    /// Returns the sequence number after the last packet whose arrival a header of the peer can
    /// report now.
    pub fn reach(&self) -> u64 {
        self.acknowledged.saturating_add(REPORTED_PACKETS)
    }

    /// Returns the first packet in flight (sent, not acknowledged), and the last one that the
    /// acknowledgements in one header can report. Each has its sequence number. `None` if no packet
    /// is in flight.
    pub fn reported_ends(&self) -> Option<[(u64, PacketId); 2]> {
        let first = self.flight.first_key_value()?;
        let last = self.flight.range(..self.reach()).next_back();
        let own = |(sequence, packet): (&u64, &PacketId)| (*sequence, *packet);
        Some([own(first), own(last.unwrap_or(first))])
    }

    /// Returns the timeout without back-off, in nanoseconds (RFC 6298, section 2, in integers: each
    /// new sample has a weight of an eighth in the mean and a quarter in the deviation).
    pub fn base_timeout_ns(&self, times: &Timeouts) -> u64 {
        let timeout_ns = match self.round_trip {
            None => times.first_ns.max(times.least_ns),
            Some((mean, deviation)) => {
                mean.saturating_add(deviation.saturating_mul(4).max(times.least_ns))
            }
        };
        timeout_ns.min(times.most_ns)
    }

    /// Returns the timeout until packets are sent again, with back-off, in nanoseconds (RFC 6298,
    /// 5.5). Its maximum is lower while the peer has all packets and replies: then the path works,
    /// and the loss of one credit must not cause a long wait.
    pub fn timeout_ns(&self, times: &Timeouts) -> u64 {
        let base_ns = self.base_timeout_ns(times);
        let factor = 1u64.checked_shl(self.backoff).unwrap_or(u64::MAX);
        let max_ns = match self.flight.is_empty() && self.silent == 0 {
            true => times.most_ns.min(base_ns.max(PERSIST_MAX_NS)),
            false => times.most_ns,
        };
        base_ns.saturating_mul(factor).min(max_ns)
    }

    /// Updates the estimate of the round trip time with a sample. The sample must come from a
    /// packet that was sent only once (Karn's rule).
    pub fn measured(&mut self, sample_ns: u64) {
        self.round_trip_min_ns = match self.round_trip {
            None => sample_ns,
            Some(_) => self.round_trip_min_ns.min(sample_ns),
        };
        self.round_trip = Some(match self.round_trip {
            None => (sample_ns, sample_ns / 2),
            Some((mean, deviation)) => {
                let apart = mean.abs_diff(sample_ns);
                (
                    mean - mean / 8 + sample_ns / 8,
                    deviation - deviation / 4 + apart / 4,
                )
            }
        });
    }

    /// Returns whether the credit from the peer covers a packet of this cost in bytes.
    pub fn may_spend(&self, cost: u64) -> bool {
        cost == 0 || self.spent.saturating_add(cost) <= self.granted
    }

    /// Returns the number of end marks (last packets of streams) that the peer has not delivered.
    pub fn marks(&self) -> usize {
        let awaited = self.awaited.values();
        awaited.filter(|packet| packet.adu.is_none()).count()
    }

    /// Returns whether the peer must still acknowledge or deliver packets.
    pub fn waits(&self) -> bool {
        !self.queue.is_empty() || self.acknowledged < self.sent || !self.awaited.is_empty()
    }
}
