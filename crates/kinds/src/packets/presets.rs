//! Presets of current hardware, and of the QsNET paper, by name. Each value names its source; a value without a
//! public source is marked as an assumption.

use isthmus_scenario::format::Default::Absent;
use isthmus_scenario::format::{Choice, Field, Preset, PresetValue, Presets};

/// Key of the field that selects a preset.
const KEY: &str = "machine.preset";

/// Return the field that selects a preset.
pub(crate) fn preset() -> Field {
    Field::new(
        KEY,
        &Choice(NAMES),
        Absent("each field has its own default"),
        "preset",
        "Hardware by its name: values for bandwidth, switches, packets and interface that are not \
         given; isthmus check --resolved shows each with its source",
    )
}

/// Presets of fat trees.
pub(crate) const OF_TREES: Presets = Presets {
    key: KEY,
    rows: TREES,
};

/// Presets of networks of switches in any topology.
pub(crate) const OF_GRAPHS: Presets = Presets {
    key: KEY,
    rows: GRAPHS,
};

/// Expand `KEY = VALUE: SOURCE` to a value of a preset. The key is relative to the table `machine`.
macro_rules! value {
    ($($key:ident).+ = $value:literal: $source:literal) => {
        PresetValue {
            key: concat!("machine" $(, ".", stringify!($key))+),
            value: $value,
            source: $source,
        }
    };
}

/// Define presets as `NAME { VALUE; ... } tree { VALUE; ... } graph { VALUE; ... }`: values for all networks, for trees
/// only and for graphs only.
macro_rules! presets {
    ($($name:literal { $($($key:ident).+ = $value:literal: $source:literal;)+ }
       tree { $($($of_tree:ident).+ = $in_tree:literal: $from_tree:literal;)* }
       graph { $($($of_graph:ident).+ = $in_graph:literal: $from_graph:literal;)* })+) => {
        /// Names of all presets.
        const NAMES: &[&str] = &[$($name),+];

        /// Presets of fat trees.
        const TREES: &[Preset] = &[$(Preset {
            name: $name,
            values: &[
                $(value!($($key).+ = $value: $source),)+
                $(value!($($of_tree).+ = $in_tree: $from_tree),)*
            ],
        }),+];

        /// Presets of networks of switches in any topology.
        const GRAPHS: &[Preset] = &[$(Preset {
            name: $name,
            values: &[
                $(value!($($key).+ = $value: $source),)+
                $(value!($($of_graph).+ = $in_graph: $from_graph),)*
            ],
        }),+];
    };
}

presets! {
    "infiniband-hdr" {
        bandwidth = "\"25 GB/s\"": "200 Gbit/s: NVIDIA ConnectX-6 user manual, Introduction";
        switch_latency = "\"130 ns\"":
            "NVIDIA Quantum QM8700 data sheet: below 130 ns from port to port";
        switching = "\"cut-through\"":
            "InfiniBand Architecture Specification, volume 1: credits for each virtual lane of a link";
        buffer = "16": "assumption: data sheets do not say";
        age = "\"per-switch\"": "assumption: switches do not know when a packet was injected";
        nic.payload = "\"4096 B\"":
            "InfiniBand Architecture Specification, volume 1: the largest MTU";
        nic.overhead = "\"26 B\"":
            "InfiniBand Architecture Specification, volume 1: local route header 8, base transport header 12, check sums 4 and 2";
        nic.padding = "\"4 B\"":
            "InfiniBand Architecture Specification, volume 1: payload is padded to 4 bytes";
        nic.request = "\"16 B\"":
            "InfiniBand Architecture Specification, volume 1: RDMA extended transport header";
        nic.dma_period = "\"4651 ps\"":
            "215 million messages per second: NVIDIA ConnectX-6 user manual, Introduction";
        nic.receive_delay = "\"0 s\"": "assumption: both directions at full rate";
        nic.software_latency = "\"600 ns\"":
            "below 600 ns: NVIDIA ConnectX-6 user manual, Introduction";
    } tree {
        ascent = "\"destination\"":
            "assumption: static routing, the default of subnet managers";
        virtual_channels = "1":
            "assumption: one data virtual lane in use, as subnet managers set it up";
    } graph {
        virtual_channels = "8":
            "InfiniBand Architecture Specification, volume 1: ports have 1, 2, 4, 8 or 15 data virtual lanes; assumption: 8, for routes in layers";
    }
    "infiniband-ndr" {
        bandwidth = "\"50 GB/s\"": "400 Gbit/s: NVIDIA ConnectX-7 user manual, Introduction";
        switch_latency = "\"130 ns\"":
            "assumption: as Quantum HDR; NVIDIA gives none for Quantum-2, resellers between 130 and 330 ns";
        switching = "\"cut-through\"":
            "InfiniBand Architecture Specification, volume 1: credits for each virtual lane of a link";
        buffer = "16": "assumption: data sheets do not say";
        age = "\"per-switch\"": "assumption: switches do not know when a packet was injected";
        nic.payload = "\"4096 B\"":
            "InfiniBand Architecture Specification, volume 1: the largest MTU";
        nic.overhead = "\"26 B\"":
            "InfiniBand Architecture Specification, volume 1: local route header 8, base transport header 12, check sums 4 and 2";
        nic.padding = "\"4 B\"":
            "InfiniBand Architecture Specification, volume 1: payload is padded to 4 bytes";
        nic.request = "\"16 B\"":
            "InfiniBand Architecture Specification, volume 1: RDMA extended transport header";
        nic.dma_period = "\"3030 ps\"":
            "NVIDIA ConnectX-7 data sheet: 330 million messages per second or more";
        nic.receive_delay = "\"0 s\"": "assumption: both directions at full rate";
        nic.software_latency = "\"600 ns\"": "assumption: as ConnectX-6";
    } tree {
        ascent = "\"destination\"":
            "assumption: static routing, the default of subnet managers";
        virtual_channels = "1":
            "assumption: one data virtual lane in use, as subnet managers set it up";
    } graph {
        virtual_channels = "8":
            "InfiniBand Architecture Specification, volume 1: ports have 1, 2, 4, 8 or 15 data virtual lanes; assumption: 8, for routes in layers";
    }
    "slingshot-11" {
        bandwidth = "\"25 GB/s\"":
            "200 Gbit/s: De Sensi and others, An In-Depth Analysis of the Slingshot Interconnect (SC20)";
        switch_latency = "\"350 ns\"":
            "De Sensi and others, An In-Depth Analysis of the Slingshot Interconnect (SC20): mean and median of Rosetta";
        switching = "\"cut-through\"": "assumption: link-level credits, without loss";
        age = "\"per-switch\"": "assumption: switches do not know when a packet was injected";
        nic.payload = "\"2048 B\"": "assumption: HPC Ethernet packets of the Cassini interface";
        nic.overhead = "\"62 B\"":
            "assumption: Ethernet, IP, UDP and transport headers with check sums, as for RoCE without the gap between packets";
        nic.padding = "\"4 B\"": "assumption: as InfiniBand";
        nic.request = "\"16 B\"": "assumption: as InfiniBand";
        nic.dma_period = "\"5 ns\"":
            "assumption: 200 million packets per second, as comparable interfaces";
        nic.receive_delay = "\"0 s\"": "assumption: both directions at full rate";
        nic.software_latency = "\"1 us\"":
            "assumption: measured end-to-end latencies are near 2 us";
    } tree {
        buffer = "16": "assumption: not published";
        ascent = "\"adaptive\"":
            "De Sensi and others, An In-Depth Analysis of the Slingshot Interconnect (SC20): adaptive routing packet by packet";
        virtual_channels = "1": "assumption: one traffic class in use";
    } graph {
        buffer = "48":
            "assumption: 16 packets for each channel, which keep a link of 30 m busy";
        virtual_channels = "3":
            "assumption: one traffic class in use, with a channel for each layer of the routes of a dragonfly";
        group_routing = "\"ugal\"":
            "De Sensi and others, An In-Depth Analysis of the Slingshot Interconnect (SC20): adaptive routing packet by packet, over minimal and other ways";
    }
    "roce-100g" {
        bandwidth = "\"12500 MB/s\"": "100 Gbit/s: IEEE 802.3, 100 Gigabit Ethernet";
        switch_latency = "\"300 ns\"":
            "Mellanox Spectrum SN2700, announced with 300 ns from port to port at 100 Gbit/s";
        switching = "\"cut-through\"": "assumption: priority flow control without loss, as credits";
        buffer = "16": "assumption: a share of the shared buffer of a switch";
        age = "\"per-switch\"": "assumption: switches do not know when a packet was injected";
        nic.payload = "\"4096 B\"":
            "InfiniBand Architecture Specification, annex A17 (RoCEv2): the largest MTU";
        nic.overhead = "\"82 B\"":
            "IEEE 802.3: preamble 8, header 14, check sum 4, gap 12; IPv4 20, UDP 8; annex A17: transport header 12, check sum 4";
        nic.padding = "\"4 B\"": "InfiniBand Architecture Specification, annex A17: as InfiniBand";
        nic.request = "\"16 B\"":
            "InfiniBand Architecture Specification: RDMA extended transport header";
        nic.dma_period = "\"5 ns\"":
            "assumption: 200 million messages per second, as reported for ConnectX-5";
        nic.receive_delay = "\"0 s\"": "assumption: both directions at full rate";
        nic.software_latency = "\"600 ns\"": "below 600 ns: Mellanox ConnectX-5 EN product brief";
    } tree {
        ascent = "\"destination\"": "assumption: equal paths chosen by a hash, one for each flow";
        virtual_channels = "1": "assumption: one lossless priority";
    } graph {
        virtual_channels = "8":
            "IEEE 802.1Qbb: eight priorities; assumption: all without loss, for routes in layers";
    }
    "qsnet" {
        bandwidth = "\"400 MB/s\"": "Coll, Petrini, Frachtenberg and Hoisie, section 2.2";
        switch_latency = "\"35 ns\"": "Coll, Petrini, Frachtenberg and Hoisie, section 2.2";
        virtual_channels = "2": "Coll, Petrini, Frachtenberg and Hoisie, section 2.2";
        switching = "\"circuit\"": "Coll, Petrini, Frachtenberg and Hoisie, section 2.2.1";
        acknowledgement = "\"50 ns\"": "assumption: from the reading of the paper";
        age = "\"saturating\"": "assumption: from the reading of the paper";
        age_limit = "\"78 us\"": "assumption: from the reading of the paper";
        memory = "\"elan\"": "Coll, Petrini, Frachtenberg and Hoisie, section 4.1";
        nic.payload = "\"320 B\"": "Coll, Petrini, Frachtenberg and Hoisie, section 2.2.1";
        nic.overhead = "\"58 B\"": "Coll, Petrini, Frachtenberg and Hoisie, section 4.1";
        nic.padding = "\"64 B\"": "Coll, Petrini, Frachtenberg and Hoisie, section 2.2.1";
        nic.request = "\"64 B\"": "assumption: from the reading of the paper";
        nic.packets_in_flight = "2": "assumption: one for each virtual channel";
        nic.dma_period = "\"955200 ps\"": "assumption: fits the pings of section 4.1";
        nic.receive_delay = "\"188 ns\"": "assumption: fits the bidirectional pings of section 4.2";
        nic.software_latency = "\"1880 ns\"": "assumption: fits the latency of section 4.1";
    } tree {
        ascent = "\"adaptive\"": "Coll, Petrini, Frachtenberg and Hoisie, section 2.2.1";
    } graph {
    }
}
