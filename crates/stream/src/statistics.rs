//! Counters of a stream manager: bytes, packets and timeouts.

/// Counters of a stream manager since its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Number of data bytes in packets sent for the first time.
    pub bytes_sent: u64,
    /// Number of data bytes in complete packets that were received and accepted.
    pub bytes_held: u64,
    /// Number of data bytes delivered to ranks without errors.
    pub bytes_delivered: u64,
    /// Number of packets with sequence numbers that were sent for the first time.
    pub packets_sent: u64,
    /// Number of packets stored while the rest of their transfer unit (TU) was still fetched
    /// (cut-through).
    pub stored_early: u64,
    /// Number of packets that were received and accepted.
    pub packets_held: u64,
    /// Number of packets sent again.
    pub retransmissions: u64,
    /// Number of timeouts of the transmit halves of connections, which wait for acknowledgements or
    /// credit.
    pub timeouts: u64,
    /// Number of headers without data that were sent: acknowledgements and probes.
    pub controls: u64,
    /// Number of packets that arrived in order and took the fast path (header prediction).
    pub predicted: u64,
    /// Number of packets that arrived twice or too late.
    pub duplicates: u64,
    /// Number of packets that arrived with corrupted data.
    pub corrupted: u64,
    /// Number of packets that were discarded because their stream had ended.
    pub discarded: u64,
    /// Number of packets that were refused for lack of room in memory; the driver delays or drops
    /// them.
    pub refused: u64,
    /// Number of received packets that belong to another channel or have an impossible sequence
    /// number.
    pub stray: u64,
    /// Number of packets that the sender gave up as lost.
    pub given_up: u64,
    /// Number of application data units (ADUs) that streams have moved.
    pub adus: u64,
    /// Number of times that a stream received its resources, including each swap-in.
    pub activations: u64,
    /// Number of times that a stream was swapped out before it had moved all its data.
    pub swaps: u64,
    /// Number of reports on orders that were not under way. They have no effect.
    pub stale: u64,
    /// Maximum staging memory that was in use, in bytes, by direction.
    pub staging_most: [u64; 2],
    /// Maximum number of link engines that were in use at a time, by direction (transmit, receive).
    /// A link engine moves data between ranks and staging memory.
    pub engines_most: [u32; 2],
    /// Maximum number of data bytes in network memory, by direction.
    pub network_most: [u64; 2],
}
