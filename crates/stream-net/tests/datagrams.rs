//! Datagrams of UDP: lost ones are sent again, and sending is paced.

use crate::outsides::{ADU, LINK, Sends, TU, all, config};
use crate::rig::ranks::{Links, soon};
use isthmus_stream::{ConnectionSpec, Direction, End, Format, Limits, Protocol, StreamSpec};
use isthmus_stream_net::{Driver, Service};
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Returns two sockets, connected by a path that loses `per_mille` of the datagrams at random in
/// both directions, and the number of lost datagrams with data.
fn lossy(seed: u64, per_mille: u64) -> (UdpSocket, UdpSocket, Arc<AtomicU64>) {
    let pair = || {
        let [near, far] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        near.connect(far.local_addr().unwrap()).unwrap();
        far.connect(near.local_addr().unwrap()).unwrap();
        (near, far)
    };
    let ((left, one), (right, other)) = (pair(), pair());
    let lost = Arc::new(AtomicU64::new(0));
    let back = (right.try_clone().unwrap(), left.try_clone().unwrap());
    for (direction, (from, to)) in [(0, (left, right)), (1, back)] {
        let lost = Arc::clone(&lost);
        std::thread::spawn(move || {
            let mut room = vec![0; 1 << 16];
            let mut state = seed << 1 | direction;
            while let Ok(len) = from.recv(&mut room) {
                // SplitMix64.
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let word = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
                if (word ^ word >> 31) % 1000 < per_mille {
                    lost.fetch_add(u64::from(len > 1000), Ordering::Relaxed);
                    continue;
                }
                let _ = to.send(&room[..len]);
            }
        });
    }
    (one, other, lost)
}

#[test]
fn datagrams_that_are_lost_are_repaired() {
    let (near, far, lost) = lossy(1, 300);
    let mut sends = Sends::new();
    let protocol = Protocol::Confirmed { repair: true };
    let connection = sends.open("udp:given:out", protocol);
    sends.call(move |driver| driver.provide_datagrams("out", near));
    let mut driver = Driver::new(config()).unwrap();
    let app = driver.add_application(Limits::NONE);
    let spec = ConnectionSpec::new("udp:given:in", protocol, 256 << 10);
    let inwards = driver.open(app, spec).unwrap();
    driver.provide_datagrams("in", far);
    let format = Format::fixed(ADU, TU, &[LINK]);
    let spec = StreamSpec::new(inwards, Direction::Receive, format, 8);
    driver.submit(app, &spec).unwrap();
    let (log, ends) = crate::rig::ranks::reader(Links::Ring, usize::MAX);
    driver.attach(LINK, ends).unwrap();
    let service = Service::start(driver, |_| ()).unwrap();
    // A packet that does not fit in a datagram is refused, and the message names a size that fits.
    let app = sends.app;
    let large = StreamSpec::new(
        connection,
        Direction::Transmit,
        Format::fixed(ADU, ADU, &[LINK]),
        1,
    );
    let refused = sends
        .call(move |driver| driver.submit(app, &large))
        .unwrap_err();
    assert!(
        refused.to_string().contains("a datagram carries 65395"),
        "{refused}"
    );
    let stream = sends.send(connection, 8 << 10, 8);
    assert_eq!(sends.end(stream), End::Done);
    let came = || {
        log.lock()
            .unwrap()
            .iter()
            .filter(|(_, had, _)| had.is_some())
            .count()
    };
    // The stream is done when the links have the data; ranks read it a little later.
    let deadline = soon();
    while came() < 16 {
        assert!(Instant::now() < deadline, "{} SUs came", came());
        std::thread::yield_now();
    }
    let data: Vec<u8> = log
        .lock()
        .unwrap()
        .iter()
        .flat_map(|(_, had, _)| {
            had.iter()
                .flat_map(|had| had.data.clone())
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(data == all(8));
    let lost = lost.load(Ordering::Relaxed);
    let again = sends.call(|driver| driver.manager().statistics().retransmissions);
    assert!(lost > 5 && again >= lost, "{lost} lost, {again} sent again");
    service.stop().unwrap();
}

#[test]
fn datagrams_are_paced() {
    let there = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = there.local_addr().unwrap();
    let mut sends = Sends::new();
    let destination = format!("udp:{address}?mb_per_s=1");
    let connection = sends.open(&destination, Protocol::Unconfirmed { reorder: 0 });
    let begin = Instant::now();
    let stream = sends.send(connection, 8 << 10, 3);
    assert_eq!(sends.end(stream), End::Done);
    let took = begin.elapsed();
    // All datagrams except the last are waited for, and pacing may catch up 2 ms: this is the
    // minimum.
    let least = Duration::from_nanos((3 * ADU - (8 << 10)) * 1000) - Duration::from_millis(2);
    assert!(took >= least, "{took:?} for what takes {least:?} at least");
}
