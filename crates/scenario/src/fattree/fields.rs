//! The rows of `[machine]` of a fat tree. Sections are those of the QsNET paper.

use crate::field::Default::{Absent, Derived, Required, Value};
use crate::field::{Field, Kind};
use isthmus_topology::trees::MAX_PORTS;

const PORTS_MAX: u64 = MAX_PORTS as u64;

/// Most virtual channels of a link, as engines number them.
const CHANNELS_MAX: u64 = 16;

const PACKETS: Kind = Kind::Integer {
    min: 1,
    max: 65_535,
};

const SPAN: Kind = Kind::Time {
    zero: true,
    usual: "ns",
};

const PERIOD: Kind = Kind::Time {
    zero: false,
    usual: "ns",
};

/// Data of a packet, which is far shorter than a message.
const PART: Kind = Kind::Bytes {
    min: 1,
    max: 1 << 20,
};

const PART_OR_NONE: Kind = Kind::Bytes {
    min: 0,
    max: 1 << 20,
};

pub(super) fn fields() -> Vec<Field> {
    vec![
    Field::new(
        super::presets::KEY,
        Kind::Choice(super::presets::NAMES),
        Absent("each field has its own default"),
        "preset",
        "Hardware by its name: values for bandwidth, switches, packets and interface that are not \
         given; isthmus check --resolved shows each with its source",
    ),
    Field::new(
        "machine.tree",
        Kind::Choice(&["k-ary", "ports", "generalised"]),
        Value("\"k-ary\""),
        "tree",
        "How the tree is described: arity and levels (section 2.2), the ports of its switches, or \
         the numbers of an extended generalised fat tree",
    ),
    Field::new(
        "machine.arity",
        Kind::Integer {
            min: 2,
            max: PORTS_MAX / 2,
        },
        Required,
        "arity",
        "k: links down, and up, of each switch; there are k^n nodes (section 2.2: 4)",
    )
    .such_as("4")
    .only("machine.tree", &["k-ary"]),
    Field::new(
        "machine.levels",
        Kind::Integer { min: 1, max: 16 },
        Required,
        "levels",
        "n: levels of switches (section 2.2: 3)",
    )
    .such_as("3")
    .only("machine.tree", &["k-ary"]),
    Field::new(
        "machine.taper",
        Kind::Integer {
            min: 1,
            max: PORTS_MAX,
        },
        Value("1"),
        "taper",
        "Links down of a leaf switch for each link up; it must divide the arity",
    )
    .only("machine.tree", &["k-ary"]),
    Field::new(
        "machine.nodes",
        Kind::Integer {
            min: 2,
            max: crate::field::NODES_MAX as u64,
        },
        Required,
        "nodes",
        "Number of nodes, each with one link",
    )
    .such_as("648")
    .only("machine.tree", &["ports"]),
    Field::new(
        "machine.down",
        Kind::Levels,
        Required,
        "children",
        "m: children of a switch of each level, leaf switches first; the nodes are their product",
    )
    .such_as("[8, 8]")
    .only("machine.tree", &["generalised"]),
    Field::new(
        "machine.up",
        Kind::Levels,
        Required,
        "parents",
        "w: parents of a child of each level: of a node, of a leaf switch and so on; fewer than the \
         links down below taper the tree",
    )
    .such_as("[1, 4]")
    .only("machine.tree", &["generalised"]),
    Field::new(
        "machine.parallel",
        Kind::Levels,
        Derived("1 on each level"),
        "parallel links",
        "Links between a child of each level and each of its parents",
    )
    .only("machine.tree", &["generalised"]),
    Field::new(
        "machine.ascent",
        Kind::Choice(&["adaptive", "destination", "source", "random"]),
        Value("\"adaptive\""),
        "ascent",
        "Which link up a packet takes: the least loaded (section 2.2.1), by ascent_load and \
         ascent_tie; the one that the destination or the source gives; any",
    ),
    Field::new(
        "machine.ascent_load",
        Kind::Choice(&["room", "idle"]),
        Value("\"room\""),
        "load of a link",
        "Which of the links that a packet can have is the least loaded: that with most free virtual \
         channels, then the earliest free (with cut-through: most room in the buffers behind it); or \
         any that carries no packet now, then the earliest free",
    )
    .only("machine.ascent", &["adaptive"]),
    Field::new(
        "machine.ascent_tie",
        Kind::Choice(&["random", "longest-idle", "lowest"]),
        Value("\"random\""),
        "tie of links",
        "Which of several links loaded alike a packet takes: any; that which has carried no packet \
         for longest; that of the lowest number",
    )
    .only("machine.ascent", &["adaptive"]),
    Field::new(
        "machine.bandwidth",
        Kind::Bandwidth,
        Value("\"400 MB/s\""),
        "link bandwidth",
        "Bandwidth of a link in one direction, headers included (section 2.2)",
    ),
    Field::new(
        "machine.switch_latency",
        PERIOD,
        Value("\"35 ns\""),
        "switch latency",
        "From a header's start on a link to its request for a link beyond the next switch \
         (section 2.2)",
    ),
    Field::new(
        "machine.virtual_channels",
        Kind::Integer {
            min: 1,
            max: CHANNELS_MAX,
        },
        Value("2"),
        "virtual channels",
        "Virtual channels of a link in one direction (section 2.2)",
    ),
    Field::new(
        "machine.switching",
        Kind::Choice(&["circuit", "cut-through"]),
        Value("\"circuit\""),
        "switching",
        "How packets hold links: from the header to the acknowledgement (section 2.2.1), or while \
         they cross them into a buffer with room for all of a packet",
    ),
    Field::new(
        "machine.acknowledgement",
        SPAN,
        Value("\"50 ns\""),
        "acknowledgement",
        "From the last byte of a packet at its destination to the acknowledgement; not in the \
         paper, from the reading of it",
    )
    .only("machine.switching", &["circuit"]),
    Field::new(
        "machine.acknowledgement_hop",
        SPAN,
        Derived("switch_latency"),
        "acknowledgement per hop",
        "What the acknowledgement takes for each switch on its way back",
    )
    .only("machine.switching", &["circuit"]),
    Field::new(
        "machine.buffer",
        PACKETS,
        Value("16"),
        "buffer",
        "Packets that an input of a switch can hold, all its virtual channels together; each \
         channel has an equal part, whole packets",
    )
    .only("machine.switching", &["cut-through"]),
    Field::new(
        "machine.output_buffer",
        Kind::Integer {
            min: 0,
            max: 65_535,
        },
        Value("0"),
        "output buffer",
        "Packets that an output of a switch can hold behind the crossbar, all virtual channels \
         together; 0: none, a packet crosses onto the link and holds its input for so long",
    )
    .only("machine.switching", &["cut-through"]),
    Field::new(
        "machine.speedup",
        Kind::Integer { min: 1, max: 64 },
        Value("1"),
        "crossbar speed-up",
        "How many times as fast as a link the crossbar of a switch is into each output buffer",
    )
    .only("machine.switching", &["cut-through"]),
    Field::new(
        "machine.credit",
        SPAN,
        Derived("switch_latency"),
        "credit latency",
        "From a place of a buffer being free to the sender's knowing it",
    )
    .only("machine.switching", &["cut-through"]),
    Field::new(
        "machine.age",
        Kind::Choice(&["saturating", "unlimited", "per-switch"]),
        Value("\"saturating\""),
        "age",
        "How the age of a packet counts, of which the oldest goes first: since age_from up to a \
         limit, since age_from without limit, since it asks for its output of the switch",
    ),
    Field::new(
        "machine.age_from",
        Kind::Choice(&["injection", "message", "arrival", "request"]),
        Value("\"injection\""),
        "age from",
        "Since when the age of a packet counts: its start on the link of its node; its message being \
         handed to the interface; its header's arrival at the switch; its request for an output there, \
         which with cut-through is when it is the first of its buffer",
    )
    .only("machine.age", &["saturating", "unlimited"]),
    Field::new(
        "machine.age_tie",
        Kind::Choice(&["round-robin", "random", "lowest"]),
        Value("\"round-robin\""),
        "tie of ages",
        "Which of several packets equally old goes first: that at the input after the one served \
         last, going around; any; that at the input of the lowest number",
    ),
    Field::new(
        "machine.age_limit",
        SPAN,
        Value("\"78 us\""),
        "age limit",
        "Age beyond which all packets are equally old; not in the paper, from the reading of it",
    )
    .only("machine.age", &["saturating"]),
    Field::new(
        "machine.memory",
        Kind::Choice(&["elan", "main"]),
        Value("\"elan\""),
        "memory",
        "Where messages lie (section 4.1): in the memory of the network interface or in main memory \
         behind its bus; sets the times of the DMA engine unless they are given",
    ),
    Field::new(
        "machine.late",
        Kind::Choice(&["free", "charged"]),
        Value("\"free\""),
        "late packets",
        "Whether packets that wait long cost their last link more: an empirical term for the 64 \
         nodes of section 4.3",
    ),
    Field::new(
        "machine.late_after",
        SPAN,
        Value("\"78 us\""),
        "late after",
        "Time since its injection after which a packet is late",
    )
    .only("machine.late", &["charged"]),
    Field::new(
        "machine.late_cost",
        SPAN,
        Value("\"87 ns\""),
        "cost of late packets",
        "How much longer a late packet occupies its last link",
    )
    .only("machine.late", &["charged"]),
    Field::new(
        "machine.ports.down",
        Kind::Levels,
        Required,
        "ports down",
        "Ports towards the nodes of the switches of each level, leaf switches first",
    )
    .such_as("[24, 27]")
    .only("machine.tree", &["ports"]),
    Field::new(
        "machine.ports.up",
        Kind::Levels,
        Required,
        "ports up",
        "Ports towards the top of the switches of each level but the top",
    )
    .such_as("[12]")
    .only("machine.tree", &["ports"]),
    Field::new(
        "machine.nic.payload",
        PART,
        Value("\"320 B\""),
        "payload",
        "Most data of one packet (section 2.2.1)",
    ),
    Field::new(
        "machine.nic.overhead",
        PART_OR_NONE,
        Value("\"58 B\""),
        "packet overhead",
        "What a packet has beside its data (section 4.1)",
    ),
    Field::new(
        "machine.nic.padding",
        PART,
        Value("\"64 B\""),
        "padding",
        "Data of a packet is padded to a multiple of this (section 2.2.1)",
    ),
    Field::new(
        "machine.nic.request",
        PART_OR_NONE,
        Value("\"64 B\""),
        "read request",
        "Data of the packet that asks for a read",
    ),
    Field::new(
        "machine.nic.packets_in_flight",
        PACKETS,
        Value("2"),
        "packets in flight",
        "Packets of a node that may wait for their acknowledgement; each holds a virtual channel \
         of the node's link",
    )
    .only("machine.switching", &["circuit"]),
    Field::new(
        "machine.nic.dma_period",
        PERIOD,
        Derived("955.2 ns with machine.memory = \"elan\", 1600 ns with \"main\""),
        "DMA period",
        "From one packet of the DMA engine to its next; not in the paper, these fit its pings",
    ),
    Field::new(
        "machine.nic.dma_block",
        SPAN,
        Value("\"0 s\""),
        "DMA time per block",
        "What each block of nic.padding bytes adds to the DMA period",
    ),
    Field::new(
        "machine.nic.receive_delay",
        SPAN,
        Derived("188 ns with machine.memory = \"elan\", 2400 ns with \"main\""),
        "receive delay",
        "What each packet that comes in delays a busy DMA engine; not in the paper, these fit its \
         bidirectional pings",
    ),
    Field::new(
        "machine.nic.software_latency",
        SPAN,
        Value("\"1.88 us\""),
        "software latency",
        "From a message being asked for to its first packet; not in the paper, fits its latency",
    ),
    Field::new(
        "machine.nic.read_turnaround",
        SPAN,
        Value("\"0 s\""),
        "read turnaround",
        "From the arrival of a read request to the first packet of its data",
    ),
    Field::new(
        "machine.nic.dma_slice",
        PACKETS,
        Value("1"),
        "DMA slice",
        "Packets that the DMA engine sends of one message before the next that waits has its turn",
    ),
]
}
