//! Hardware of the day, and that of the QsNET paper, by name. Each value says where it is from; what no
//! public source gives is marked as an assumption.

use crate::field::Default::Absent;
use crate::field::{Field, Kind};
use crate::preset::{Preset, PresetValue, Presets};

const KEY: &str = "machine.preset";

/// The names, in the order of the rows below.
const NAMES: &[&str] = &[
    "infiniband-hdr",
    "infiniband-ndr",
    "slingshot-11",
    "roce-100g",
    "qsnet",
];

/// The field that names one.
pub(super) fn field() -> Field {
    Field::new(
        KEY,
        Kind::Choice(NAMES),
        Absent("each field has its own default"),
        "preset",
        "Hardware by its name: values for bandwidth, switches, packets and interface that are not \
         given; isthmus check --resolved shows each with its source",
    )
}

pub(super) const PRESETS: Presets = Presets {
    key: KEY,
    rows: ROWS,
};

const ROWS: &[Preset] = &[
    Preset {
        name: "infiniband-hdr",
        values: &[
            PresetValue {
                key: "machine.ascent",
                value: "\"destination\"",
                source: "assumption: static routing, as a subnet manager sets it up unless told otherwise",
            },
            PresetValue {
                key: "machine.bandwidth",
                value: "\"25 GB/s\"",
                source: "200 Gbit/s: NVIDIA ConnectX-6 user manual, Introduction",
            },
            PresetValue {
                key: "machine.switch_latency",
                value: "\"130 ns\"",
                source: "NVIDIA Quantum QM8700 data sheet: below 130 ns from port to port",
            },
            PresetValue {
                key: "machine.virtual_channels",
                value: "1",
                source: "assumption: one data virtual lane in use, as subnet managers set it up",
            },
            PresetValue {
                key: "machine.switching",
                value: "\"cut-through\"",
                source: "InfiniBand Architecture Specification, volume 1: credits for each virtual lane of a link",
            },
            PresetValue {
                key: "machine.buffer",
                value: "16",
                source: "assumption: data sheets do not say",
            },
            PresetValue {
                key: "machine.age",
                value: "\"per-switch\"",
                source: "assumption: switches do not know when a packet was injected",
            },
            PresetValue {
                key: "machine.nic.payload",
                value: "\"4096 B\"",
                source: "InfiniBand Architecture Specification, volume 1: the largest MTU",
            },
            PresetValue {
                key: "machine.nic.overhead",
                value: "\"26 B\"",
                source: "InfiniBand Architecture Specification, volume 1: local route header 8, base transport header 12, check sums 4 and 2",
            },
            PresetValue {
                key: "machine.nic.padding",
                value: "\"4 B\"",
                source: "InfiniBand Architecture Specification, volume 1: payload is padded to 4 bytes",
            },
            PresetValue {
                key: "machine.nic.request",
                value: "\"16 B\"",
                source: "InfiniBand Architecture Specification, volume 1: RDMA extended transport header",
            },
            PresetValue {
                key: "machine.nic.dma_period",
                value: "\"4651 ps\"",
                source: "215 million messages per second: NVIDIA ConnectX-6 user manual, Introduction",
            },
            PresetValue {
                key: "machine.nic.receive_delay",
                value: "\"0 s\"",
                source: "assumption: both directions at full rate",
            },
            PresetValue {
                key: "machine.nic.software_latency",
                value: "\"600 ns\"",
                source: "below 600 ns: NVIDIA ConnectX-6 user manual, Introduction",
            },
        ],
    },
    Preset {
        name: "infiniband-ndr",
        values: &[
            PresetValue {
                key: "machine.ascent",
                value: "\"destination\"",
                source: "assumption: static routing, as a subnet manager sets it up unless told otherwise",
            },
            PresetValue {
                key: "machine.bandwidth",
                value: "\"50 GB/s\"",
                source: "400 Gbit/s: NVIDIA ConnectX-7 user manual, Introduction",
            },
            PresetValue {
                key: "machine.switch_latency",
                value: "\"130 ns\"",
                source: "assumption: as Quantum HDR; NVIDIA gives none for Quantum-2, resellers between 130 and 330 ns",
            },
            PresetValue {
                key: "machine.virtual_channels",
                value: "1",
                source: "assumption: one data virtual lane in use, as subnet managers set it up",
            },
            PresetValue {
                key: "machine.switching",
                value: "\"cut-through\"",
                source: "InfiniBand Architecture Specification, volume 1: credits for each virtual lane of a link",
            },
            PresetValue {
                key: "machine.buffer",
                value: "16",
                source: "assumption: data sheets do not say",
            },
            PresetValue {
                key: "machine.age",
                value: "\"per-switch\"",
                source: "assumption: switches do not know when a packet was injected",
            },
            PresetValue {
                key: "machine.nic.payload",
                value: "\"4096 B\"",
                source: "InfiniBand Architecture Specification, volume 1: the largest MTU",
            },
            PresetValue {
                key: "machine.nic.overhead",
                value: "\"26 B\"",
                source: "InfiniBand Architecture Specification, volume 1: local route header 8, base transport header 12, check sums 4 and 2",
            },
            PresetValue {
                key: "machine.nic.padding",
                value: "\"4 B\"",
                source: "InfiniBand Architecture Specification, volume 1: payload is padded to 4 bytes",
            },
            PresetValue {
                key: "machine.nic.request",
                value: "\"16 B\"",
                source: "InfiniBand Architecture Specification, volume 1: RDMA extended transport header",
            },
            PresetValue {
                key: "machine.nic.dma_period",
                value: "\"3030 ps\"",
                source: "NVIDIA ConnectX-7 data sheet: 330 million messages per second or more",
            },
            PresetValue {
                key: "machine.nic.receive_delay",
                value: "\"0 s\"",
                source: "assumption: both directions at full rate",
            },
            PresetValue {
                key: "machine.nic.software_latency",
                value: "\"600 ns\"",
                source: "assumption: as ConnectX-6",
            },
        ],
    },
    Preset {
        name: "slingshot-11",
        values: &[
            PresetValue {
                key: "machine.ascent",
                value: "\"adaptive\"",
                source: "De Sensi and others, An In-Depth Analysis of the Slingshot Interconnect (SC20): adaptive routing packet by packet",
            },
            PresetValue {
                key: "machine.bandwidth",
                value: "\"25 GB/s\"",
                source: "200 Gbit/s: De Sensi and others, An In-Depth Analysis of the Slingshot Interconnect (SC20)",
            },
            PresetValue {
                key: "machine.switch_latency",
                value: "\"350 ns\"",
                source: "De Sensi and others, An In-Depth Analysis of the Slingshot Interconnect (SC20): mean and median of Rosetta",
            },
            PresetValue {
                key: "machine.virtual_channels",
                value: "1",
                source: "assumption: one traffic class in use",
            },
            PresetValue {
                key: "machine.switching",
                value: "\"cut-through\"",
                source: "assumption: link-level credits, without loss",
            },
            PresetValue {
                key: "machine.buffer",
                value: "16",
                source: "assumption: not published",
            },
            PresetValue {
                key: "machine.age",
                value: "\"per-switch\"",
                source: "assumption: switches do not know when a packet was injected",
            },
            PresetValue {
                key: "machine.nic.payload",
                value: "\"2048 B\"",
                source: "assumption: HPC Ethernet packets of the Cassini interface",
            },
            PresetValue {
                key: "machine.nic.overhead",
                value: "\"62 B\"",
                source: "assumption: Ethernet, IP, UDP and transport headers with check sums, as for RoCE without the gap between packets",
            },
            PresetValue {
                key: "machine.nic.padding",
                value: "\"4 B\"",
                source: "assumption: as InfiniBand",
            },
            PresetValue {
                key: "machine.nic.request",
                value: "\"16 B\"",
                source: "assumption: as InfiniBand",
            },
            PresetValue {
                key: "machine.nic.dma_period",
                value: "\"5 ns\"",
                source: "assumption: 200 million packets per second, as comparable interfaces",
            },
            PresetValue {
                key: "machine.nic.receive_delay",
                value: "\"0 s\"",
                source: "assumption: both directions at full rate",
            },
            PresetValue {
                key: "machine.nic.software_latency",
                value: "\"1 us\"",
                source: "assumption: measured end-to-end latencies are near 2 us",
            },
        ],
    },
    Preset {
        name: "roce-100g",
        values: &[
            PresetValue {
                key: "machine.ascent",
                value: "\"destination\"",
                source: "assumption: equal paths chosen by a hash, one for each flow",
            },
            PresetValue {
                key: "machine.bandwidth",
                value: "\"12500 MB/s\"",
                source: "100 Gbit/s: IEEE 802.3, 100 Gigabit Ethernet",
            },
            PresetValue {
                key: "machine.switch_latency",
                value: "\"300 ns\"",
                source: "Mellanox Spectrum SN2700, announced with 300 ns from port to port at 100 Gbit/s",
            },
            PresetValue {
                key: "machine.virtual_channels",
                value: "1",
                source: "assumption: one lossless priority",
            },
            PresetValue {
                key: "machine.switching",
                value: "\"cut-through\"",
                source: "assumption: priority flow control without loss, as credits",
            },
            PresetValue {
                key: "machine.buffer",
                value: "16",
                source: "assumption: a share of the shared buffer of a switch",
            },
            PresetValue {
                key: "machine.age",
                value: "\"per-switch\"",
                source: "assumption: switches do not know when a packet was injected",
            },
            PresetValue {
                key: "machine.nic.payload",
                value: "\"4096 B\"",
                source: "InfiniBand Architecture Specification, annex A17 (RoCEv2): the largest MTU",
            },
            PresetValue {
                key: "machine.nic.overhead",
                value: "\"82 B\"",
                source: "IEEE 802.3: preamble 8, header 14, check sum 4, gap 12; IPv4 20, UDP 8; annex A17: transport header 12, check sum 4",
            },
            PresetValue {
                key: "machine.nic.padding",
                value: "\"4 B\"",
                source: "InfiniBand Architecture Specification, annex A17: as InfiniBand",
            },
            PresetValue {
                key: "machine.nic.request",
                value: "\"16 B\"",
                source: "InfiniBand Architecture Specification: RDMA extended transport header",
            },
            PresetValue {
                key: "machine.nic.dma_period",
                value: "\"5 ns\"",
                source: "assumption: 200 million messages per second, as told of ConnectX-5",
            },
            PresetValue {
                key: "machine.nic.receive_delay",
                value: "\"0 s\"",
                source: "assumption: both directions at full rate",
            },
            PresetValue {
                key: "machine.nic.software_latency",
                value: "\"600 ns\"",
                source: "below 600 ns: Mellanox ConnectX-5 EN product brief",
            },
        ],
    },
    Preset {
        name: "qsnet",
        values: &[
            PresetValue {
                key: "machine.ascent",
                value: "\"adaptive\"",
                source: "Coll, Petrini, Frachtenberg and Hoisie, section 2.2.1",
            },
            PresetValue {
                key: "machine.bandwidth",
                value: "\"400 MB/s\"",
                source: "Coll, Petrini, Frachtenberg and Hoisie, section 2.2",
            },
            PresetValue {
                key: "machine.switch_latency",
                value: "\"35 ns\"",
                source: "Coll, Petrini, Frachtenberg and Hoisie, section 2.2",
            },
            PresetValue {
                key: "machine.virtual_channels",
                value: "2",
                source: "Coll, Petrini, Frachtenberg and Hoisie, section 2.2",
            },
            PresetValue {
                key: "machine.switching",
                value: "\"circuit\"",
                source: "Coll, Petrini, Frachtenberg and Hoisie, section 2.2.1",
            },
            PresetValue {
                key: "machine.acknowledgement",
                value: "\"50 ns\"",
                source: "assumption: from the reading of the paper",
            },
            PresetValue {
                key: "machine.age",
                value: "\"saturating\"",
                source: "assumption: from the reading of the paper",
            },
            PresetValue {
                key: "machine.age_limit",
                value: "\"78 us\"",
                source: "assumption: from the reading of the paper",
            },
            PresetValue {
                key: "machine.memory",
                value: "\"elan\"",
                source: "Coll, Petrini, Frachtenberg and Hoisie, section 4.1",
            },
            PresetValue {
                key: "machine.nic.payload",
                value: "\"320 B\"",
                source: "Coll, Petrini, Frachtenberg and Hoisie, section 2.2.1",
            },
            PresetValue {
                key: "machine.nic.overhead",
                value: "\"58 B\"",
                source: "Coll, Petrini, Frachtenberg and Hoisie, section 4.1",
            },
            PresetValue {
                key: "machine.nic.padding",
                value: "\"64 B\"",
                source: "Coll, Petrini, Frachtenberg and Hoisie, section 2.2.1",
            },
            PresetValue {
                key: "machine.nic.request",
                value: "\"64 B\"",
                source: "assumption: from the reading of the paper",
            },
            PresetValue {
                key: "machine.nic.packets_in_flight",
                value: "2",
                source: "assumption: one for each virtual channel",
            },
            PresetValue {
                key: "machine.nic.dma_period",
                value: "\"955200 ps\"",
                source: "assumption: fits the pings of section 4.1",
            },
            PresetValue {
                key: "machine.nic.receive_delay",
                value: "\"188 ns\"",
                source: "assumption: fits the bidirectional pings of section 4.2",
            },
            PresetValue {
                key: "machine.nic.software_latency",
                value: "\"1880 ns\"",
                source: "assumption: fits the latency of section 4.1",
            },
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    const TREE: &str = "version = 1\nname = \"x\"\n[machine]\nkind = \"fat-tree\"\narity = 4\n\
                        levels = 2\n";
    /// It reads, so that the lengths of requests count.
    const JOB: &str = "[workload]\nservers = { placement = \"clustered\", count = 2 }\n\
                       [workload.jobs.a]\ntraffic = \"io\"\nread_ratio = 1\n";

    #[test]
    fn names_are_those_of_the_rows() {
        let rows: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
        assert_eq!(rows, NAMES);
    }

    /// Written out, the values of a preset give the same machine, canonical form and digest.
    #[test]
    fn a_preset_is_its_values() {
        for row in ROWS {
            let by_name = format!("{TREE}preset = \"{}\"\n{JOB}", row.name);
            let values: Vec<String> = row
                .values
                .iter()
                .map(|value| {
                    let key = value.key.trim_start_matches("machine.");
                    format!("{key} = {}\n", value.value)
                })
                .collect();
            let by_value = format!("{TREE}{}{JOB}", values.concat());
            let [named, written] = [by_name, by_value].map(|text| {
                Scenario::parse(&text, "x.toml", &[]).unwrap_or_else(|error| panic!("{error}"))
            });
            assert_eq!(named.canonical(), written.canonical(), "{}", row.name);
            assert_eq!(named.digest(), written.digest());
            assert_eq!(named, written);
            assert!(!named.canonical().contains("preset"));
        }
    }
}
