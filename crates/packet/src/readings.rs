//! Rules that differ between fabrics, and between readings of the papers on them.

use isthmus_kernel::Cycles;
use strum::{EnumString, VariantNames};

/// The time from which a packet's age counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum AgeFrom {
    /// From its injection; the header carries it from switch to switch.
    #[default]
    Injection,
    /// From the generation of its message. For the data of a read, from that of the read.
    Message,
    /// From its header's arrival at the switch, even if it is behind others in a buffer.
    Arrival,
    /// From its request for an output of the switch. With circuits that is its arrival. With
    /// cut-through the packet is then the first of its buffer, and the previous one has left.
    Request,
}

/// The choice among equally old packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum AgeTie {
    /// Round robin: the input after the one served last.
    #[default]
    RoundRobin,
    /// A random one, chosen again in each tick ([`random_rank`]).
    Random,
    /// The input with the lowest number.
    Lowest,
}

/// The priority of packets by age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Age {
    /// The time from which age counts.
    pub from: AgeFrom,
    /// Ages above this are equal. `None`: there is no maximum.
    pub saturates: Option<Cycles>,
    /// The choice among equally old packets.
    pub tie: AgeTie,
}

/// The measure of a link's load, among links that a packet could have now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum LinkLoad {
    /// Room. With circuits the most free lanes, then the earliest free transmitter. With
    /// cut-through the most credits over all its lanes, and with output buffers first the most room
    /// there.
    #[default]
    Room,
    /// Its transmitter only: all links with a free transmitter are equally good, followed by those
    /// that become free soonest.
    Idle,
}

/// The choice among equally loaded links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum LinkTie {
    /// A random one ([`tie`](crate::tie)).
    #[default]
    Random,
    /// The link whose transmitter has been free, or will be, for the longest time; a random one of
    /// several.
    LongestIdle,
    /// The link with the lowest number.
    Lowest,
}

/// The choice among several possible links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Adaptive {
    /// The measure of load.
    pub load: LinkLoad,
    /// The choice among equally loaded links.
    pub tie: LinkTie,
}

/// Applies two rounds of the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
pub(crate) fn mixed(outer: u64, inner: u64) -> u64 {
    let mix = |value: u64| {
        let mut z = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    mix(mix(outer) ^ inner)
}

/// Returns the random number of a header that waits at `input` for links from `link` on, at `time`:
/// of equally old packets the smallest number goes first. No two inputs have the same.
pub fn random_rank(seed: u64, time: Cycles, link: u32, input: u32) -> u64 {
    let place = u64::from(link) << 32 | u64::from(input);
    mixed(mixed(seed, time), place) >> 32 << 32 | u64::from(input)
}
