//! Fuzz target: streams that applications submit to a driver, with random settings.

use crate::draw::Draw;
use crate::manager::{connection_spec, near, spec};
use crate::near::{End, driver, turn};
use isthmus_stream::{ConnectionId, LinkId, StreamId};
use isthmus_stream_net::Ends;

/// Opens connections, submits streams, and makes other calls about them, as the fuzzer's bytes
/// select.
pub fn submit(data: &[u8]) {
    let mut draw = Draw::new(data);
    let (mut driver, app) = driver();
    let mut ends = Vec::new();
    for link in 0..3 {
        let (end, other) = End::pair();
        let attached = driver.attach(LinkId(link), Ends::socket(other.into()));
        attached.expect("a link that is new");
        ends.push(end);
    }
    for _ in 0..60 {
        if !draw.more() {
            break;
        }
        let stream = StreamId(near(&mut draw, 12) as u32);
        // Make a random call, and ignore its result: the driver may refuse the call.
        match draw.below(12) {
            0 | 1 => {
                let mut spec = connection_spec(&mut draw);
                spec.destination =
                    ["raw:given:a", "udp:given:b", "tcp:given:c"][draw.below(3)].into();
                let _ = driver.open(app, spec);
            }
            2 => {
                let (end, other) = End::pair();
                driver.provide_socket(["a", "c"][draw.below(2)], other);
                ends.push(end);
            }
            3..8 => {
                let specs: Vec<_> = (0..draw.below(4)).map(|_| spec(&mut draw)).collect();
                let _ = driver.submit_all(app, &specs);
            }
            8 => _ = driver.announce(stream, draw.number()),
            9 => _ = driver.finish(stream, draw.number()),
            10 if draw.flip() => _ = driver.cancel(stream),
            11 if draw.flip() => _ = driver.close(ConnectionId(near(&mut draw, 4) as u32)),
            _ => turn(&mut driver, 2),
        }
    }
    turn(&mut driver, 8);
}
