//! Rules that fabrics, and readers of the papers on them, differ in.

use isthmus_kernel::Cycles;
use strum::{EnumString, VariantNames};

/// From when a packet's age counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum AgeFrom {
    /// From its injection; the header carries it from switch to switch.
    #[default]
    Injection,
    /// From the generation of its message, that of the read for the data of one.
    Message,
    /// From its header's arrival at the switch, behind others in a buffer or not.
    Arrival,
    /// From its request for an output of the switch. With circuits that is its arrival; with
    /// cut-through it is when the packet is the first of its buffer and the one before has left.
    Request,
}

/// Who goes first of those equally old.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum AgeTie {
    /// That at the input after the one served last, going around.
    #[default]
    RoundRobin,
    /// Any, by a lot drawn anew in each tick ([`lot`]).
    Random,
    /// That at the input of the lowest number.
    Lowest,
}

/// What makes a packet go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Age {
    /// From when it counts.
    pub from: AgeFrom,
    /// Above this all are equally old. `None`: it counts on for ever.
    pub saturates: Option<Cycles>,
    /// Who goes first of those equally old.
    pub tie: AgeTie,
}

/// What makes a link the least loaded one of those that a packet could have now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum LinkLoad {
    /// Room: with circuits most free lanes, then the earliest free transmitter; with cut-through most
    /// credits over all its lanes, with output buffers most room there before that.
    #[default]
    Room,
    /// Its transmitter alone: all links whose transmitters are free are equally good, before those
    /// whose are free sooner than others.
    Idle,
}

/// Which of several links is taken that are loaded alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum LinkTie {
    /// Any, by lot ([`tie`](crate::tie)).
    #[default]
    Random,
    /// That whose transmitter has been free, or will be, from the earliest time on; of those any.
    LongestIdle,
    /// That of the lowest number.
    Lowest,
}

/// How packets choose among links where several lead on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Adaptive {
    /// What makes a link better.
    pub load: LinkLoad,
    /// Which of equally good ones is taken.
    pub tie: LinkTie,
}

/// Two rounds of the finaliser of SplitMix64 (Steele, Lea, Flood 2014) over what lots depend on.
pub(crate) fn mixed(outer: u64, inner: u64) -> u64 {
    let mix = |value: u64| {
        let mut z = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    mix(mix(outer) ^ inner)
}

/// The lot of a header that waits at `input` for links from `link` on, drawn at `time`: of those
/// equally old the one with the smallest goes first. No two inputs have the same.
pub fn lot(seed: u64, time: Cycles, link: u32, input: u32) -> u64 {
    let place = u64::from(link) << 32 | u64::from(input);
    mixed(mixed(seed, time), place) >> 32 << 32 | u64::from(input)
}
