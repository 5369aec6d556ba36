//! Cases small enough to be followed by hand, on both engines.

use crate::drive::{self, Answer, Demand, Log, Part};
use isthmus_kernel::RunUntil;
use isthmus_sci::{
    ChangeFrom, Class, Delivery, Fabric, FlowControl, RingEngine, Rules, Source, StallKind, event,
    symbol,
};
use isthmus_topology::rings::Segment;

/// The paper's lengths: sends of 40 symbols, echoes of 4.
const RULES: Rules = Rules {
    hop: 17,
    ring_change: 33,
    change_from: ChangeFrom::Header,
    symbols_max: 40,
    echo: 4,
    input_slots: 5,
    output_slots: 5,
    client_slots: 5,
    source: Source::Unbounded,
    flow_control: FlowControl::None,
};

fn demand(time: u64, node: u32, route: &[(u32, u32)]) -> Demand {
    Demand {
        time,
        node,
        symbols: 40,
        route: route
            .iter()
            .map(|&(ring, hops)| Segment { ring, hops })
            .collect(),
        answer: None,
    }
}

fn both(rings: &[Vec<u32>], rules: Rules, demands: &[Demand], cycles: u64) -> Log {
    let nodes = rings.iter().flatten().max().unwrap() + 1;
    let fabric = Fabric::new(nodes, rings).unwrap();
    let patience = 1000;
    let fast = drive::run::<event::Engine<_>>(&fabric, rules, demands, 1, cycles, patience);
    let slow = drive::run::<symbol::Engine<_>>(&fabric, rules, demands, 1, cycles, patience);
    assert_eq!(fast, slow);
    fast
}

fn headers(log: &Log) -> Vec<u64> {
    let header = |delivery: &Delivery<_>| delivery.header;
    log.delivered.iter().map(header).collect()
}

#[test]
fn one_packet_on_one_ring() {
    let log = both(&[vec![0, 1, 2, 3]], RULES, &[demand(5, 1, &[(0, 2)])], 1000);
    // Generated and sent in 5; two hops of 17; 40 symbols.
    let delivery = Delivery {
        tag: (0, Class::Request),
        node: 3,
        class: Class::Request,
        symbols: 40,
        generated: 5,
        admitted: 5,
        sent: 5,
        header: 5 + 2 * 17,
        tail: 5 + 2 * 17 + 40,
        ring_changes: 0,
        links: 2,
        retries: 0,
    };
    assert_eq!(log.delivered, [delivery]);
    // The send crosses two links, the echo the other two.
    assert_eq!(log.counters.send_symbols, [0, 41, 41, 0]);
    assert_eq!(log.counters.echo_symbols, [5, 0, 0, 5]);
    assert_eq!(log.counters.sends, [0, 1, 0, 0]);
    assert_eq!(log.counters.delivered, [0, 0, 0, 1]);
}

#[test]
fn one_packet_through_an_agent() {
    // Node 1 joins two rings of two.
    let rings = [vec![0, 1], vec![1, 2]];
    let log = both(&rings, RULES, &[demand(0, 0, &[(0, 1), (1, 1)])], 1000);
    let delivery = log.delivered[0];
    // Header at the agent in 17, out 33 later, one more hop.
    assert_eq!(delivery.header, 17 + 33 + 17);
    assert_eq!((delivery.ring_changes, delivery.links), (1, 2));
}

#[test]
fn packets_follow_one_another_on_a_link() {
    // Two of one node: the second starts when the first and its idle are out.
    let demands = [demand(0, 0, &[(0, 1)]), demand(0, 0, &[(0, 1)])];
    let log = both(&[vec![0, 1, 2]], RULES, &demands, 1000);
    assert_eq!(headers(&log), [17, 41 + 17]);
}

#[test]
fn what_passes_waits_for_an_own_packet() {
    // The header from node 0 comes to node 1 in 17, when node 1 has been sending since 10: it
    // waits in the bypass FIFO to 10 + 41.
    let demands = [demand(0, 0, &[(0, 2)]), demand(10, 1, &[(0, 1)])];
    let log = both(&[vec![0, 1, 2]], RULES, &demands, 1000);
    assert_eq!(headers(&log), [51 + 17, 10 + 17]);
    // In the same cycle the own packet goes first.
    let demands = [demand(0, 0, &[(0, 2)]), demand(17, 1, &[(0, 1)])];
    let log = both(&[vec![0, 1, 2]], RULES, &demands, 1000);
    assert_eq!(headers(&log), [17 + 41 + 17, 17 + 17]);
    // One cycle later it waits for what passes.
    let demands = [demand(0, 0, &[(0, 2)]), demand(18, 1, &[(0, 1)])];
    let log = both(&[vec![0, 1, 2]], RULES, &demands, 1000);
    assert_eq!(headers(&log), [17 + 17, 17 + 41 + 17]);
}

#[test]
fn an_echo_takes_the_last_places_of_its_send() {
    // Node 1 receives from node 0 with the header in 17: free idles to 17 + 35, the echo from 53.
    // An own packet of node 1 that is ready in 40 starts at once; the echo waits to 40 + 41 and
    // comes to node 0, one link on, in 98: then node 0, with one slot, may send its second packet.
    let rules = Rules {
        client_slots: 1,
        ..RULES
    };
    let demands = [
        demand(0, 0, &[(0, 1)]),
        demand(1, 0, &[(0, 1)]),
        demand(40, 1, &[(0, 1)]),
    ];
    let log = both(&[vec![0, 1]], rules, &demands, 1000);
    assert_eq!(log.delivered[1].admitted, 81 + 17);
    // Without the own packet: 17 + 36 + 17.
    let log = both(&[vec![0, 1]], rules, &demands[..2], 1000);
    assert_eq!(log.delivered[1].admitted, 17 + 36 + 17);
    assert_eq!(log.delivered[1].header, 70 + 17);
}

#[test]
fn a_refused_packet_is_sent_again_when_its_echo_is_back() {
    // Three packets go through the agent, node 1, which has one slot in each queue. The first is
    // in transfer from 17 to 57. The second comes in 58: its slot of the input queue is free, but
    // it has to wait there for the output slot, to the first's good echo in
    // 17 + 33 + 17 + 36 + 17 = 120. The third comes in 99 and is refused; its busy echo is back in
    // 99 + 36 + 17 = 152. Sent again it comes in 169, when the second's transfer (120 to 160) is
    // done; it waits for the second's good echo, in 120 + (120 - 17) = 223.
    let rules = Rules {
        input_slots: 1,
        output_slots: 1,
        change_from: ChangeFrom::Transfer,
        ..RULES
    };
    let rings = [vec![0, 1], vec![1, 2]];
    let demands = vec![demand(0, 0, &[(0, 1), (1, 1)]); 3];
    let log = both(&rings, rules, &demands, 1000);
    let out = |transfer: u64| transfer + 33 + 17;
    assert_eq!(headers(&log), [out(17), out(120), out(223)]);
    let retries: Vec<u32> = log.delivered.iter().map(|d| d.retries).collect();
    assert_eq!(retries, [0, 0, 1]);
    assert_eq!(log.counters.retries, [1, 0, 0, 0]);
}

#[test]
fn a_decision_before_the_transfer_keeps_the_input_slot() {
    // As above, but the crossbar begins 33 after the header has come: with the first in 50, to 90. So
    // the second is refused in 58 and back in 111, when the third is on its way (from 82 to 123). The
    // third comes in 99, is decided on in 132 and finds the output slot free since the first's good
    // echo in 120. The second is sent again in 123, refused in 140, sent again in 193, comes in 210.
    let rules = Rules {
        input_slots: 1,
        output_slots: 1,
        ..RULES
    };
    let rings = [vec![0, 1], vec![1, 2]];
    let demands = vec![demand(0, 0, &[(0, 1), (1, 1)]); 3];
    let log = both(&rings, rules, &demands, 1000);
    assert_eq!(headers(&log), [17 + 33 + 17, 210 + 33 + 17, 99 + 33 + 17]);
    let retries: Vec<u32> = log.delivered.iter().map(|d| d.retries).collect();
    assert_eq!(retries, [0, 2, 0]);
}

#[test]
fn one_that_waits_for_the_crossbar_is_decided_on_meanwhile() {
    // The first is in transfer from 50 to 90. The second comes in 58, is decided on in 91, one cycle
    // after the crossbar is free, and leaves when the first is out, in 91. With the delay after the
    // transfer has started the second is in transfer from 58 and may leave in 91 as well.
    let rings = [vec![0, 1], vec![1, 2]];
    let demands = vec![demand(0, 0, &[(0, 1), (1, 1)]); 2];
    for change_from in [ChangeFrom::Header, ChangeFrom::Transfer] {
        let rules = Rules {
            change_from,
            ..RULES
        };
        let log = both(&rings, rules, &demands, 1000);
        assert_eq!(headers(&log), [67, 91 + 17]);
    }
    // With one output slot the second waits for the first's good echo in 120, and then leaves at once
    // or after the delay of the change.
    for (change_from, leaves) in [(ChangeFrom::Header, 120), (ChangeFrom::Transfer, 120 + 33)] {
        let rules = Rules {
            output_slots: 1,
            change_from,
            ..RULES
        };
        let log = both(&rings, rules, &demands, 1000);
        assert_eq!(headers(&log), [67, leaves + 17]);
    }
}

#[test]
fn a_bounded_source_drops_what_finds_no_slot() {
    let rules = Rules {
        client_slots: 2,
        source: Source::Bounded,
        ..RULES
    };
    let demands = vec![demand(3, 0, &[(0, 1)]); 4];
    let log = both(&[vec![0, 1]], rules, &demands, 1000);
    assert_eq!(headers(&log), [20, 61]);
    let dropped: Vec<(u32, u64)> = log.dropped.iter().map(|d| (d.tag.0, d.time)).collect();
    assert_eq!(dropped, [(2, 3), (3, 3)]);
}

#[test]
fn a_full_ring_in_turn_serves_its_queues() {
    // Node 1 sends on ring 1 what it generates and what comes through it from ring 0, in turn.
    let rings = [vec![0, 1], vec![1, 2]];
    let mut demands = vec![demand(0, 0, &[(0, 1), (1, 1)]); 2];
    demands.extend(vec![demand(45, 1, &[(1, 1)]); 3]);
    let log = both(&rings, RULES, &demands, 1000);
    // Own packet in 45; the transit ready in 17 + 33 = 50 goes next, in 86; own in 127; transit,
    // ready in 58 + 33, in 168; own in 209.
    assert_eq!(
        headers(&log),
        [86 + 17, 168 + 17, 45 + 17, 127 + 17, 209 + 17]
    );
}

#[test]
fn a_read_is_answered() {
    // A request of 8 symbols, a turnaround of 100 cycles, a response of 40.
    let mut read = demand(0, 0, &[(0, 1)]);
    read.symbols = 8;
    read.answer = Some(Answer {
        turnaround: 100,
        symbols: 40,
        route: vec![Segment { ring: 0, hops: 2 }],
    });
    let log = both(&[vec![0, 1, 2]], RULES, &[read], 1000);
    let [request, response] = log.delivered[..] else {
        panic!("{:?}", log.delivered)
    };
    assert_eq!((request.header, request.tail), (17, 25));
    assert_eq!(response.class, Class::Response);
    assert_eq!(response.generated, 125);
    assert_eq!(response.tail, 125 + 2 * 17 + 40);
}

#[test]
fn responses_do_not_wait_for_requests() {
    // Node 0 reads from node 2 through the agent, node 1. The answer comes back to an agent whose
    // slots for requests from node 2 are all taken; it passes them.
    let rules = Rules {
        input_slots: 1,
        output_slots: 1,
        change_from: ChangeFrom::Transfer,
        ..RULES
    };
    let rings = [vec![0, 1], vec![1, 2]];
    let mut read = demand(0, 0, &[(0, 1), (1, 1)]);
    read.answer = Some(Answer {
        turnaround: 0,
        symbols: 40,
        route: vec![Segment { ring: 1, hops: 1 }, Segment { ring: 0, hops: 1 }],
    });
    let mut demands = vec![read];
    demands.extend(vec![demand(0, 2, &[(1, 1), (0, 1)]); 8]);
    let log = both(&rings, rules, &demands, 5000);
    // The read arrives in 67 and is complete in 107, when its answer is generated. Node 2 sends
    // requests in 0, 41 and 82, then in 123 the echo of the read, then the answer.
    let response = log.delivered[1];
    assert_eq!(response.class, Class::Response);
    assert_eq!(response.generated, 107);
    assert_eq!(response.sent, 128);
    // It comes to the agent in 145. There the second request has been in transfer since 120, when
    // the first one's good echo came, to 160. The answer is next, and may leave in 193. The second
    // request leaves from 153 to 194.
    assert_eq!(response.header, 194 + 17);
    // The third request was refused in 99.
    assert!(log.counters.retries[3] > 0);
    // With the decision before the transfer the second request is refused, and the third, which comes
    // in 99, is in transfer from 132 to 172. The answer is decided on in 178.
    let rules = Rules {
        change_from: ChangeFrom::Header,
        ..rules
    };
    let response = both(&rings, rules, &demands, 5000).delivered[1];
    assert_eq!((response.sent, response.header), (128, 145 + 33 + 17));
}

#[test]
fn a_circle_of_full_queues_is_found() {
    // A triangle of rings of two; every node sends all around it, with one slot for each queue. The
    // first packet of each is in transfer from 17 to 57 and comes to the next agent in
    // 17 + 33 + 17 = 67, but the second, which left its source in 41, has taken the input slot there
    // in 58. It waits for the output slot that the first of another node holds: all three firsts are
    // refused for ever.
    let rings = [vec![0, 1], vec![1, 2], vec![2, 0]];
    let rules = Rules {
        input_slots: 1,
        output_slots: 1,
        ..RULES
    };
    let mut demands = Vec::new();
    for _ in 0..2 {
        demands.push(demand(0, 0, &[(0, 1), (1, 1), (2, 1), (0, 1)]));
        demands.push(demand(0, 1, &[(1, 1), (2, 1), (0, 1), (1, 1)]));
        demands.push(demand(0, 2, &[(2, 1), (0, 1), (1, 1), (2, 1)]));
    }
    let log = both(&rings, rules, &demands, 20_000);
    let Part {
        under_way,
        stall,
        wedged,
        ..
    } = &log.parts[0];
    assert_eq!(*wedged, [0, 1, 2]);
    let stall = stall.as_ref().expect("a stall");
    // The refused packets go on being sent.
    assert_eq!(stall.kind, StallKind::Livelock);
    assert_eq!(stall.since, 0);
    assert_eq!(stall.nodes, [0, 1, 2]);
    assert_eq!(stall.under_way, *under_way);
}

#[test]
fn a_run_without_limit_ends_with_the_handler() {
    let fabric = Fabric::new(3, &[vec![0, 1, 2]]).unwrap();
    let segment = Segment { ring: 0, hops: 2 };
    let packet = isthmus_sci::Packet {
        node: 0,
        class: Class::Request,
        symbols: 40,
        route: &[segment],
        tag: 7,
    };
    struct First(Option<Delivery<u32>>);
    impl isthmus_sci::Handler for First {
        type Tag = u32;
        fn delivered(&mut self, d: &Delivery<u32>, _: &mut isthmus_sci::Offers<u32>) {
            self.0 = Some(*d);
        }
        fn finished(&self) -> bool {
            self.0.is_some()
        }
    }
    fn check<E: RingEngine<u32> + RunUntil<First>>(
        fabric: &Fabric,
        packet: isthmus_sci::Packet<'_, u32>,
    ) {
        let mut engine = E::new(fabric, RULES).unwrap();
        engine.offer(1, packet);
        engine.run_until(u64::MAX, &mut First(None));
        // It ends with the handler, in the window of the delivery.
        assert!(engine.now() > 35 && engine.now() <= 35 + 17);
        assert_eq!(engine.counters().delivered, [0, 0, 1]);
    }
    check::<event::Engine<u32>>(&fabric, packet);
    check::<symbol::Engine<u32>>(&fabric, packet);
}
