//! Devices behind the I/O servers of jobs, by hand and to the tick.
//!
//! One switch of the QsNET: a byte takes 2.5 ns, the switch 35 ns, the software 1.88 us before each message;
//! a packet of 320 B has 378 B on the wire, 945 ns, and 955.2 ns in the engine that sends it; a request,
//! like the answer to a write, is 122 B, 305 ns. So a write of 320 B is there 2.86 us after it is asked for,
//! and the answer 2.22 us after the device has taken it.

use isthmus_device::Disk;
use isthmus_kernel::{Cycles, Streams};
use isthmus_machine::fattree::Machine;
use isthmus_machine::fattree::spec::FatTreeSpec;
use isthmus_machine::jobs::{Completed, Observer, Packet, Phase, Replication as _, Stored};
use isthmus_machine::packets::Simulation;
use isthmus_machine::packets::spec::Age;
use isthmus_units::{Bandwidth, Bytes, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::{
    Arrivals, Destinations, Io, Job, JobNodes, JobsTraffic, Mapping, Serve, Servers, Sizes, Spread,
    Targets, Traffic,
};
use isthmus_workload::storage::{DiskSpec, StorageSpec};

/// Ticks of 100 ps in a ns.
pub(crate) const NS: Cycles = 10;

/// From a write of 320 B being asked for to its being there.
pub(crate) const THERE: Cycles = 2_860 * NS;

/// From a device having taken it to its client knowing, as from a request to its being there.
pub(crate) const ANSWER: Cycles = 2_220 * NS;

/// One switch without ages, whose interfaces receive at once and read after a while.
fn qsnet() -> FatTreeSpec {
    let mut tree = FatTreeSpec::qsnet(1);
    tree.network.age = Age::Unlimited;
    tree.network.nic.receive_delay = Time::ZERO;
    tree.network.nic.read_turnaround = Time::from_ns(300);
    tree
}

/// Node 3 is the server of a job on nodes 0 to `clients` - 1.
pub(crate) fn work(
    storage: StorageSpec,
    clients: u32,
    traffic: Traffic,
    most: Outstanding,
) -> JobsTraffic {
    JobsTraffic {
        serve: Serve::All,
        servers: Servers::Clustered { count: 1 },
        storage,
        mapping: Mapping::Dedicated,
        jobs: vec![Job {
            name: "job".to_owned(),
            nodes: JobNodes::Listed((0..clients).collect()),
            traffic,
            active: true,
            outstanding: most,
        }],
    }
}

/// One message of 320 B after the other, all reads or all writes.
pub(crate) fn io(read_ratio: f64) -> Traffic {
    Traffic::Io(Io {
        targets: Targets::Servers(Destinations::Random),
        read_ratio,
        sizes: Sizes {
            mean: Bytes::new(320),
            spread: Spread::Fixed,
        },
        arrivals: Arrivals::equal_pauses(Time::ZERO),
    })
}

/// A disk that only transfers.
pub(crate) fn transfer(mb_per_s: u64) -> DiskSpec {
    DiskSpec {
        seek: Time::ZERO,
        rotation: Time::ZERO,
        transfer: Some(Bandwidth::from_mb_per_s(mb_per_s)),
    }
}

#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) completed: Vec<Completed>,
    phases: Vec<Phase>,
    /// Bytes in packets, and taken by devices.
    arrived: u64,
    stored: u64,
    answers: u64,
    enough: usize,
}

impl Observer for Seen {
    fn offered(&mut self, _: u32) {}
    fn packet(&mut self, packet: &Packet) {
        self.answers += u64::from(packet.answer);
        self.arrived += if packet.answer { 0 } else { packet.bytes };
    }
    fn stored(&mut self, stored: &Stored) {
        self.stored += stored.bytes;
    }
    fn completed(&mut self, completed: &Completed) {
        self.completed.push(*completed);
    }
    fn phase(&mut self, phase: &Phase) {
        self.phases.push(*phase);
    }
    fn finished(&self) -> bool {
        self.completed.len() >= self.enough
    }
}

pub(crate) fn run(traffic: &JobsTraffic, enough: usize) -> Seen {
    let machine = Machine::new(&qsnet()).unwrap();
    assert_eq!(machine.network().tick(), Time::from_ps(100));
    let layout = Layout::new(traffic, 4).unwrap();
    let mut simulation =
        Simulation::new(machine.network(), machine.routes(), traffic, &layout, 7, 2).unwrap();
    let mut seen = Seen {
        enough,
        ..Seen::default()
    };
    simulation.run_until(&mut seen, Cycles::MAX);
    seen
}

pub(crate) fn responses(seen: &Seen) -> Vec<Cycles> {
    let completed = seen.completed.iter();
    completed.map(|completed| completed.response).collect()
}

/// At 10 MB/s 320 B take 32 us.
#[test]
fn a_write_is_complete_when_its_answer_is_back() {
    let disk = StorageSpec::Disk(transfer(10));
    let seen = run(&work(disk, 1, io(0.0), Outstanding::ONE), 5);
    assert_eq!(responses(&seen), [THERE + 32_000 * NS + ANSWER; 5]);
    assert_eq!((seen.arrived, seen.stored, seen.answers), (1_600, 1_600, 5));
    assert!(seen.completed.iter().all(|of| of.network == of.response));
    // Without a device it is complete with the acknowledgement, 85 ns after it is there.
    let seen = run(&work(StorageSpec::None, 1, io(0.0), Outstanding::ONE), 5);
    assert_eq!(responses(&seen), [THERE + 85 * NS; 5]);
    assert_eq!((seen.arrived, seen.stored, seen.answers), (1_600, 0, 0));
}

/// The data follow the disk and the turnaround, 980 ns behind them.
#[test]
fn a_read_waits_for_its_data() {
    let alone = ANSWER + (300 + 980) * NS;
    let disk = StorageSpec::Disk(transfer(10));
    let seen = run(&work(disk, 1, io(1.0), Outstanding::ONE), 5);
    assert_eq!(responses(&seen), [alone + 32_000 * NS; 5]);
    assert_eq!((seen.arrived, seen.stored, seen.answers), (1_600, 0, 0));
    let seen = run(&work(StorageSpec::None, 1, io(1.0), Outstanding::ONE), 5);
    assert_eq!(responses(&seen), [alone; 5]);
}

/// The second write comes over the link behind the first, 945 ns later, and waits for its disk.
#[test]
fn the_device_serves_one_after_the_other() {
    let disk = StorageSpec::Disk(transfer(10));
    let seen = run(&work(disk, 2, io(0.0), Outstanding::ONE), 2);
    let alone = THERE + 32_000 * NS + ANSWER;
    assert_eq!(responses(&seen), [alone, alone + 32_000 * NS]);
}

/// Seeks and latencies are those of the stream of the server's device, wherever it stands.
#[test]
fn draws_are_those_of_the_server() {
    let spec = DiskSpec {
        seek: Time::from_us(12_000),
        rotation: Time::from_us(16_000),
        transfer: Some(Bandwidth::from_mb_per_s(10)),
    };
    let disk = Disk {
        seek: 120e6,
        rotation: 160e6,
        per_byte: 1_000.0,
    };
    let mut stream = Streams::new(7, 2).stream("device 0", 0);
    let expected: Vec<Cycles> = (0..20)
        .map(|_| THERE + disk.access(320, &mut stream) + ANSWER)
        .collect();
    for servers in [Servers::Clustered { count: 1 }, Servers::Listed(vec![2])] {
        let mut traffic = work(StorageSpec::Disk(spec), 1, io(0.0), Outstanding::ONE);
        traffic.servers = servers;
        assert_eq!(responses(&run(&traffic, 20)), expected);
    }
}

/// Messages of ten packets at 335 MB/s, one every 9.552 us, absorbed at 1 GB/s in 3.2 us and drained at
/// 100 MB/s.
fn checkpoint(messages: u64) -> Traffic {
    Traffic::Checkpoint {
        period: Time::from_us(1_000_000),
        volume: Bytes::new(3_200 * messages),
        message: Bytes::new(3_200),
        destinations: Destinations::Random,
    }
}

/// What fits is absorbed as fast as it comes. Of V bytes beyond the capacity C, V - C have drained when
/// the last is taken: (V - C) / d after the first has arrived, whatever the network does.
#[test]
fn a_checkpoint_goes_at_the_speed_of_the_network_then_of_the_drain() {
    let buffer = |capacity: u64| StorageSpec::BurstBuffer {
        capacity: Bytes::new(capacity),
        absorb: Bandwidth::from_mb_per_s(1_000),
        drain: Bandwidth::from_mb_per_s(100),
    };
    // Ticks from the begin to the arrival of so many packets.
    let arrived = |packets: u64| (1_880 + 35 + 945) * NS + (packets - 1) * 9_552;
    let took = |capacity: u64| {
        let messages = 200;
        let traffic = work(
            buffer(capacity),
            1,
            checkpoint(messages),
            Outstanding::Unlimited,
        );
        let seen = run(&traffic, messages as usize);
        assert_eq!(seen.stored, 3_200 * messages);
        let [phase] = seen.phases[..] else {
            panic!("one checkpoint")
        };
        phase.end - phase.start
    };
    assert_eq!(took(1_000_000), arrived(2_000) + 3_200 * NS + ANSWER);
    // 440,000 bytes at 100 MB/s are 4.4 ms.
    assert_eq!(took(200_000), arrived(10) + 4_400_000 * NS + ANSWER);
}
