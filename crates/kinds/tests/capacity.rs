//! Demand and supply of the parts of each kind of machine, against calculations by hand.

use isthmus_experiment::capacity::{Capacity, PartKind};
use isthmus_experiment::{Experiment, Options};
use isthmus_kinds::KINDS;
use isthmus_machine::sci::Machine;
use isthmus_workload::packets::spec::PacketTraffic;

/// Return the experiment that a scenario describes.
pub fn experiment(text: &str) -> Experiment {
    let scenario = KINDS.parse(text, "s.toml", &[]);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    Experiment::new(&KINDS, scenario, Options::default()).expect("a good experiment")
}

/// Return the capacity estimate of a scenario.
fn capacity_of(text: &str) -> Capacity {
    experiment(text).capacity()[0].clone()
}

/// Return the entry of a capacity estimate for the kind of part with this name.
fn part<'c>(capacity: &'c Capacity, name: &str) -> &'c PartKind {
    let found = capacity.parts.iter().find(|part| part.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", capacity.parts))
}

/// Check that a value is close to the expected one.
fn close(value: Option<f64>, expected: f64) {
    let value = value.unwrap();
    assert!(
        (value - expected).abs() < 1e-6 * expected,
        "{value} for {expected}"
    );
}

/// Checks demand and supply against a calculation by hand. 128 PEs at 5 /ms with 4% I/O on 16 I/O nodes: 1.6
/// requests per ms and node. Half of them miss, 20 ms each: 0.1 /ms. A PE sends 5 messages /ms of 32 B (requests
/// are as long): 160 B/ms = 0.16 MB/s, on 9 lanes of 20 MB/s.
#[test]
fn demand_and_supply_on_a_hypercube_are_as_calculated_by_hand() {
    let found = capacity_of(
        r#"
version = 1
name = "x"
[machine]
kind = "hypercube"
dimension = 7
lanes.io_link = 2
device = { cache_hit_rate = 0.5, service = "queue" }
[workload]
rate = "5 /ms"
io_probability = 0.04
"#,
    );
    close(part(&found, "I/O node, requests").demand, 1.6);
    close(part(&found, "I/O node, requests").supply, 0.1);
    close(part(&found, "PE to its router").demand, 0.16);
    close(part(&found, "PE to its router").supply, 180.0);
    assert_eq!(found.load, Some(5.0));
}

/// Checks the demand on a link against a calculation by hand. On a ring of 8 nodes, uniform packets cross 4 of 8
/// links on average, echoes the other 4. A packet has s symbols and its echo e, so each packet of any node loads
/// a link with half of s + 1 and half of e + 1. The link is full at one symbol per cycle.
#[test]
fn the_demand_on_a_ring_is_as_calculated_by_hand() {
    let text = r#"
version = 1
name = "x"
[machine]
kind = "sci"
fabric = "ring"
size = 8
[workload]
load = "0.5 GB/s"
"#;
    let found = capacity_of(text);
    let scenario = KINDS.parse(text, "s.toml", &[]).unwrap();
    let machine = Machine::new(scenario.machine.expect()).unwrap();
    let traffic: &PacketTraffic = scenario.workload.expect();
    let request = f64::from(machine.lengths(traffic).request);
    let slots = (request + 1.0 + f64::from(machine.echo_symbols()) + 1.0) / 2.0;
    let payload = traffic.payload.get() as f64;
    let full = payload / slots / (machine.clock().cycle_us() * 1e3) * 1e3;
    let fabric = &found.parts[1];
    assert!(
        (fabric.supply.unwrap() - full).abs() < 1e-9 * full,
        "{fabric:?} {full}"
    );
    assert_eq!(fabric.demand, Some(500.0));
    assert_eq!(found.parts[0].demand, Some(62.5));
    assert_eq!(found.load, Some(0.5));
}

/// Scenario of a QsNET with 16 nodes, of which 4 are I/O servers.
const QSNET: &str = r#"
version = 1
name = "x"
[machine]
kind = "fat-tree"
arity = 4
levels = 2
[workload.servers]
placement = "clustered"
count = 4
[workload.jobs.io]
traffic = "io"
load = "100 MB/s"
"#;

/// Checks demand and supply against a calculation by hand. 12 clients of 100 MB/s use 4 servers: 300 MB/s each. A
/// packet with 320 B of data is 378 B on a link of 400 MB/s: 945 ns, 338.6 MB/s. The DMA engine makes a packet in
/// 955.2 ns, 335 MB/s. The servers are all nodes below one leaf switch, so all 1200 MB/s pass the switch's 4
/// links from above.
#[test]
fn demand_and_supply_on_the_qsnet_are_as_calculated_by_hand() {
    let found = capacity_of(QSNET);
    close(
        part(&found, "interface of a node").supply,
        320.0 / 955.2 * 1e3,
    );
    close(part(&found, "interface of a node").demand, 100.0);
    close(part(&found, "link of a node").supply, 320.0 / 945.0 * 1e3);
    let server = part(&found, "I/O server, written to");
    close(server.demand, 300.0);
    close(server.share(), 300.0 / (320.0 / 945.0 * 1e3));
    let down = found
        .parts
        .iter()
        .find(|part| part.name.starts_with("link down"))
        .unwrap();
    close(down.demand, 300.0);
    close(part(&found, "link into a node, busiest").demand, 300.0);
    assert!(!found.parts.iter().any(|part| part.at_most));
}

/// Checks the demand on a server that serves one request at a time. Half of the 300 MB/s are read and half
/// written. A server that works on one request at a time must serve the sum, and its interface carries 335 MB/s.
#[test]
fn reads_and_writes_share_a_server_that_works_on_one_request() {
    let half = QSNET.replace("traffic = \"io\"", "traffic = \"io\"\nread_ratio = 0.5");
    let name = "I/O server, one request at a time";
    let all = capacity_of(&half);
    assert!(all.parts.iter().all(|part| part.name != name));
    let one = capacity_of(&half.replace("count = 4", "count = 4\nserve = \"one\""));
    close(part(&one, name).demand, 300.0);
    close(part(&one, name).supply, 320.0 / 955.2 * 1e3);
    close(part(&one, "I/O server, written to").demand, 150.0);
}

/// Checks that faster links alone do not speed the interface up: it sends 335 MB/s on links of 25 GB/s.
#[test]
fn the_interface_not_the_link_is_the_limit() {
    let found = capacity_of(&QSNET.replace("levels = 2", "levels = 2\nbandwidth = \"25 GB/s\""));
    assert_eq!(
        found.remarks[0],
        "A node can send at most 335 MB/s: its interface (955 ns for each packet of 320 B), not its \
         25 GB/s link, is the limit."
    );
    close(part(&found, "link of a node").supply, 320.0 / 378.0 * 25e3);
}

/// Checks the demand of reads and of closed loops. For reads, the servers send the demand of 12 clients. A closed
/// loop demands at most the rate that it can send.
#[test]
fn the_demand_of_reads_and_closed_loops_is_as_calculated_by_hand() {
    let closed = QSNET.replace("load = \"100 MB/s\"", "read_ratio = 1");
    let found = capacity_of(&closed);
    let server = part(&found, "I/O server, read from");
    close(server.demand, 3.0 * 320.0 / 955.2 * 1e3);
    assert!(server.at_most);
    assert!(
        !found
            .parts
            .iter()
            .any(|part| part.name == "I/O server, written to")
    );
}
/// Checks that a node with two equivalent links sends and receives twice as much, half on each link.
#[test]
fn nodes_with_two_links_send_and_receive_twice_as_much() {
    let tree = "tree = \"generalised\"\ndown = [4, 4]\nup = [2, 2]\n[machine.nic]\ndma_period = \"1 ns\"\n\
                dma_block = \"0 s\"\npackets_in_flight = 8";
    let two = QSNET.replace("arity = 4\nlevels = 2", tree);
    let found = capacity_of(&two.replace("[machine.nic]", "virtual_channels = 8\n[machine.nic]"));
    let wire = 320.0 / 945.0 * 1e3;
    let interface = part(&found, "interface of a node");
    close(interface.supply, 2.0 * wire);
    assert_eq!(interface.basis, "as fast as its links");
    close(part(&found, "link of a node").demand, 50.0);
    close(part(&found, "link of a node").supply, wire);
    let server = part(&found, "I/O server, written to");
    assert_eq!(
        (server.demand, &*server.basis),
        (Some(300.0), "what its links carry")
    );
    close(server.supply, 2.0 * wire);
    close(part(&found, "link into a node, busiest").demand, 150.0);
}
