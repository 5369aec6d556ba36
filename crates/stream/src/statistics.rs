//! Counters of a stream manager: bytes, packets and timeouts. The caller prints them.

/// Counters of a manager since its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Data bytes of packets sent for the first time.
    pub bytes_sent: u64,
    /// Data bytes of complete packets that were received and accepted.
    pub bytes_held: u64,
    /// Data bytes delivered to ranks without errors.
    pub bytes_delivered: u64,
    /// Packets with sequence numbers sent for the first time.
    pub packets_sent: u64,
    /// Packets stored while the rest of their TU was still fetched (cut-through).
    pub stored_early: u64,
    /// Packets that were received and accepted.
    pub packets_held: u64,
    /// Packets sent again.
    pub retransmissions: u64,
    /// Timeouts of the transmit half.
    pub timeouts: u64,
    /// Headers without data that were sent: acknowledgements and probes.
    pub controls: u64,
    /// Packets that came in order and took the fast path (header prediction).
    pub predicted: u64,
    /// Packets that came twice or too late.
    pub duplicates: u64,
    /// Packets with corrupted data.
    pub corrupted: u64,
    /// Packets discarded because their stream had ended.
    pub discarded: u64,
    /// Packets refused for lack of room, which the driver delays or drops.
    pub refused: u64,
    /// Packets of another channel, or with impossible numbers.
    pub stray: u64,
    /// Packets that the sender gave up as lost.
    pub given_up: u64,
    /// ADUs moved.
    pub adus: u64,
    /// Number of times that a stream got its resources, swaps included.
    pub activations: u64,
    /// Streams swapped out before they had moved all their data.
    pub swaps: u64,
    /// Reports on orders that were not under way.
    pub stale: u64,
    /// Maximum staging memory in use in bytes, by direction.
    pub staging_most: [u64; 2],
    /// Maximum number of engines in use, by direction.
    pub engines_most: [u32; 2],
    /// Maximum data bytes in network memory, by direction.
    pub network_most: [u64; 2],
}
