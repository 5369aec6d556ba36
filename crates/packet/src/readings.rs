//! Rules for the order and choice of packets and links. They differ between fabrics, and between
//! interpretations of the papers about them.

use isthmus_kernel::Cycles;
use strum::{EnumString, VariantNames};

/// The event from which the age of a packet counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum AgeFrom {
    /// The age counts from the injection of the packet into the network. The header carries the age
    /// from switch to switch.
    #[default]
    Injection,
    /// The age counts from the generation of the packet's message; for the data of a read, from the
    /// generation of the read request.
    Message,
    /// The age counts from the arrival of the header at the switch, even if the packet is behind
    /// other packets in a buffer.
    Arrival,
    /// The age counts from the packet's request for an output of the switch. With circuits that is
    /// the arrival of its header. With cut-through the packet is then the first of its buffer, and
    /// the previous packet has left.
    Request,
}

/// The rule that selects one of several equally old packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum AgeTie {
    /// Round robin: the packet of the first input after the input served last.
    #[default]
    RoundRobin,
    /// A random packet. Each tick has a new random order of the inputs ([`random_rank`]).
    Random,
    /// The packet of the input with the lowest number.
    Lowest,
}

/// The rule that serves the oldest waiting packet first: how age is measured, and how ties are
/// broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Age {
    /// The event from which the age of a packet counts.
    pub from: AgeFrom,
    /// Ages above this number of ticks count as equal. `None`: ages have no maximum.
    pub saturates: Option<Cycles>,
    /// The rule that selects one of several equally old packets.
    pub tie: AgeTie,
}

/// The measure of the load of a link, by which a packet chooses one of several available links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum LinkLoad {
    /// Compare the free resources of the links. With circuits, the best link has the most free
    /// lanes (virtual channels), then the earliest free transmitter. With cut-through, it has the
    /// most credits over all its lanes; with output buffers, first the most free space in its
    /// output buffer.
    #[default]
    Room,
    /// Compare only the transmitters of the links. All links with a free transmitter are equally
    /// good. If none is free, take the link whose transmitter becomes free first.
    Idle,
}

/// The rule that selects one of several equally loaded links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum LinkTie {
    /// A random link ([`tie`](crate::tie)).
    #[default]
    Random,
    /// The link whose transmitter has been free, or will be free, from the earliest time; a random
    /// link of several with the same time.
    LongestIdle,
    /// The link with the lowest number.
    Lowest,
}

/// The rules by which a packet chooses one of several possible links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Adaptive {
    /// The measure of the load of a link.
    pub load: LinkLoad,
    /// The rule that selects one of several equally loaded links.
    pub tie: LinkTie,
}

/// Mixes two numbers into a random number by two rounds of the finaliser of SplitMix64 (Steele,
/// Lea, Flood 2014).
pub(crate) fn mixed(outer: u64, inner: u64) -> u64 {
    let mix = |value: u64| {
        let mut z = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    mix(mix(outer) ^ inner)
}

/// Returns the random rank of a header that waits at input `input` for the group of links that
/// starts with `link`, at `time`. Of equally old packets the packet with the lowest rank is served
/// first. No two inputs have the same rank.
pub fn random_rank(seed: u64, time: Cycles, link: u32, input: u32) -> u64 {
    let place = u64::from(link) << 32 | u64::from(input);
    mixed(mixed(seed, time), place) >> 32 << 32 | u64::from(input)
}
