//! Counts, kept as things happen. Numbers only: who prints them is no matter of the manager.

/// Counts of a manager, of all its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Data bytes of packets sent for the first time.
    pub bytes_sent: u64,
    /// Data bytes of packets that came whole and were held.
    pub bytes_held: u64,
    /// Data bytes that went over links to ranks as good.
    pub bytes_delivered: u64,
    /// Packets with sequence numbers sent for the first time.
    pub packets_sent: u64,
    /// Packets stored while the rest of their TU was fetched still (cut-through).
    pub stored_early: u64,
    /// Packets held.
    pub packets_held: u64,
    /// Packets sent again.
    pub retransmissions: u64,
    /// Time-outs of the transmit half.
    pub timeouts: u64,
    /// Acknowledgements and probes sent by themselves.
    pub controls: u64,
    /// Packets that were the ones expected next, and took the short way (header prediction).
    pub predicted: u64,
    /// Packets that came a second time, or late.
    pub duplicates: u64,
    /// Packets whose data was not what was sent.
    pub corrupted: u64,
    /// Packets that came for streams that nobody wants any more.
    pub discarded: u64,
    /// Packets refused because there was no room; the driver keeps them back or drops them.
    pub refused: u64,
    /// Packets of another channel, or with numbers that cannot be.
    pub stray: u64,
    /// Packets given up as lost, at the sender.
    pub given_up: u64,
    /// ADUs moved.
    pub adus: u64,
    /// Streams that took resources, swaps included.
    pub activations: u64,
    /// Streams swapped out before they were through.
    pub swaps: u64,
    /// Reports of orders that were not, or not any more, under way.
    pub stale: u64,
    /// Most bytes of staging memory that were held, by direction.
    pub staging_most: [u64; 2],
    /// Most engines that were held, by direction.
    pub engines_most: [u32; 2],
    /// Most data bytes in network memory, by direction.
    pub network_most: [u64; 2],
}
