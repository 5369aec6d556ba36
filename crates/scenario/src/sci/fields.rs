//! The rows of `[machine]` of an SCI fabric. Sections and tables are those of the SCI paper.

use crate::field::Default::{self, Derived, Required, Value};
use crate::field::{Field, Kind};

const SLOTS: Kind = Kind::Integer {
    min: 1,
    max: 65_535,
};

/// The fabrics that a size describes.
pub(super) const SIZED: &[&str] = &[
    "ring",
    "counter-rotating",
    "torus",
    "bidirectional-torus",
    "uniform-ring-torus",
    "manhattan",
];

pub(super) fn fields() -> Vec<Field> {
    vec![
    Field::new(
        "machine.fabric",
        Kind::Choice(&[
            "ring",
            "counter-rotating",
            "torus",
            "bidirectional-torus",
            "uniform-ring-torus",
            "manhattan",
            "rings",
        ]),
        Required,
        "fabric",
        "Rings of the fabric: one, two in opposite directions (section 4.1); one or two along \
         each line of a k-ary n-cube (section 4.2); the unit squares of a torus (section 4.3); \
         rows and columns in alternating directions; the rings listed",
    )
    .such_as("\"torus\""),
    Field::new(
        "machine.size",
        Kind::Size,
        Required,
        "size",
        "Nodes in each dimension, x first: one number for a single or counter-rotating ring, two \
         for a uniform-ring torus (3 or more) and a Manhattan network (even)",
    )
    .only("machine.fabric", SIZED),
    Field::new(
        "machine.rings",
        Kind::Rings,
        Required,
        "rings",
        "The rings, each a list of its nodes in the order in which packets pass them; nodes on \
         several rings are agents",
    )
    .only("machine.fabric", &["rings"]),
    Field::new(
        "machine.routing",
        Kind::Choice(&["dimension-order", "fixed", "random", "fewest-changes"]),
        Default::following(&[], "machine.fabric", &[
                ("ring", "dimension-order"),
                ("counter-rotating", "dimension-order"),
                ("torus", "dimension-order"),
                ("bidirectional-torus", "dimension-order"),
                ("uniform-ring-torus", "fewest-changes"),
                ("manhattan", "fewest-changes"),
                ("rings", "fewest-changes"),
            ]),
        "routing",
        "Which shortest path a packet takes: x first, then y, of two equally long directions one \
         at random; the first; any at random; one with the fewest changes of ring, at random",
    ),
    Field::new(
        "machine.bandwidth",
        Kind::Bandwidth,
        Value("\"1 GB/s\""),
        "link bandwidth",
        "Bandwidth of a link, headers and idles included (Table 1)",
    ),
    Field::new(
        "machine.symbol",
        Kind::DATA,
        Value("\"2 B\""),
        "symbol length",
        "Length of a symbol (Table 1); one cycle is the time of one symbol",
    ),
    Field::new(
        "machine.hop",
        Kind::Time {
            zero: false,
            usual: "ns",
        },
        Value("\"34 ns\""),
        "time per hop",
        "h: from the output of a node through the next one's address decoder and bypass FIFO \
         (section 2) to its output; not stated there, this value fits Tables 3, 5, 6 and 8",
    ),
    Field::new(
        "machine.ring_change",
        Kind::Time {
            zero: true,
            usual: "ns",
        },
        Value("\"66 ns\""),
        "time per change of ring",
        "c: from the address decoder of an agent to its output on another ring: the 10 ns of the \
         routing decision (Table 1) and what more fits Tables 5, 6 and 8",
    ),
    Field::new(
        "machine.ring_change_from",
        Kind::Choice(&["header", "transfer"]),
        Value("\"header\""),
        "begin of a change of ring",
        "When `ring_change` begins: when the header comes to the agent, whose crossbar follows \
         (Figure 4: routers, then queues and crossbar), or when the crossbar begins; it matters where \
         input queues are short",
    ),
    Field::new(
        "machine.overhead",
        Kind::DATA,
        Value("\"16 B\""),
        "packet overhead",
        "Header and check sum of a send packet (Table 1)",
    ),
    Field::new(
        "machine.echo",
        Kind::DATA,
        Value("\"8 B\""),
        "echo length",
        "Length of an echo packet (section 4.1: 4 symbols); an idle symbol follows every packet",
    ),
    Field::new(
        "machine.source",
        Kind::Choice(&["unbounded", "bounded"]),
        Value("\"unbounded\""),
        "client queue",
        "Where packets wait for a client slot: in a FIFO without bound, or nowhere, so that they \
         are dropped",
    ),
    Field::new(
        "machine.flow_control",
        Kind::Choice(&["none", "go-bits"]),
        Value("\"none\""),
        "flow control",
        "How a node that sends too much is held back: not at all, or by the go bits of IEEE 1596",
    ),
    Field::new(
        "machine.patience",
        Kind::Time {
            zero: false,
            usual: "ns",
        },
        Derived(
            "20 us, or four times a change to the longest ring and a trip round it if that is more",
        ),
        "patience",
        "Time without a delivery, packets waiting, after which the fabric counts as collapsed",
    ),
    Field::new(
        "machine.queues.input",
        SLOTS,
        Value("5"),
        "input slots",
        "Packets that an interface can hold at its input (Table 1)",
    ),
    Field::new(
        "machine.queues.output",
        SLOTS,
        Value("5"),
        "output slots",
        "Packets that an interface can hold for each input port that feeds it (Table 1)",
    ),
    Field::new(
        "machine.queues.client",
        SLOTS,
        Value("5"),
        "client slots",
        "Packets of its own node that an interface can hold (Table 1)",
    ),
    Field::new(
        "machine.faults.nodes",
        Kind::Nodes,
        Value("[]"),
        "failed nodes",
        "Nodes that have failed, and with them all their rings (section 4.3)",
    ),
    Field::new(
        "machine.faults.links",
        Kind::Links { directed: true },
        Value("[]"),
        "failed links",
        "Links that have failed, each from a node to the next, and with them their rings \
         (section 4.3)",
    ),
    Field::new(
        "machine.faults.cut_off",
        Kind::Choice(&["refuse", "leave-out"]),
        Value("\"refuse\""),
        "nodes cut off",
        "What becomes of nodes that faults cut off: an error, or they neither send nor receive",
    ),
]
}
