//! Fuzz target: rings in shared memory whose words another process overwrites.

use crate::draw::Draw;
use isthmus_ring::{Consumer, Error, Handles, Producer, ring as pair};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Instant;

/// Capacity of the ring in bytes.
const CAPACITY: u64 = 4096;
/// Byte offsets of the control words (positions, flags) of both sides in the memory of a ring.
const WORDS: [u64; 8] = [128, 256, 384, 512, 640, 768, 896, 1024];

/// Checks that the result of a call on a ring is permitted: at most `most` moved bytes, or an
/// expected error.
fn judge(outcome: Result<usize, Error>, most: usize) {
    match outcome {
        Ok(moved) => assert!(moved <= most, "{moved} bytes where {most} were asked for"),
        Err(Error::Corrupt(found)) => {
            assert!(found.found < found.least || found.found > found.most)
        }
        Err(Error::TimedOut { .. } | Error::Closed { .. } | Error::PeerGone { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}

/// Runs both ends of a ring while another writer changes its memory: before the ends are attached,
/// and between their calls.
pub fn ring(data: &[u8]) {
    let mut draw = Draw::new(data);
    let (producer, consumer) = pair(CAPACITY).expect("memory of a ring");
    let (memory, line) = producer.into_handles().into_descriptors();
    let liar = File::from(memory.try_clone().expect("a second descriptor"));
    let lie = |draw: &mut Draw| {
        let at = match draw.below(4) {
            0 => u64::from(draw.byte()) * 8,
            _ => WORDS[draw.below(WORDS.len())],
        };
        let value = draw.number().to_ne_bytes();
        liar.write_all_at(&value, at)
            .expect("memory that is writable");
    };
    for _ in 0..draw.below(3) {
        lie(&mut draw);
    }
    let ends = [
        Producer::attach(Handles::new(memory, line), CAPACITY).map(|end| (Some(end), None)),
        Consumer::attach(consumer.into_handles(), CAPACITY).map(|end| (None, Some(end))),
    ];
    let [Ok((Some(mut producer), _)), Ok((_, Some(mut consumer)))] = ends else {
        return;
    };
    let mut room = vec![7; 5000];
    for _ in 0..200 {
        if !draw.more() {
            break;
        }
        let len = usize::from(draw.byte()) * 19;
        let (now, worth) = (Instant::now(), (len as u64 % 2048).max(1));
        match draw.below(12) {
            0 => lie(&mut draw),
            1 | 2 => judge(producer.try_write(&room[..len]), len),
            3 | 4 => judge(
                consumer
                    .try_read(&mut room[..len])
                    .map(Option::unwrap_or_default),
                len,
            ),
            5 => judge(producer.write_all(&room[..len], now).map(|()| len), len),
            6 => judge(
                consumer.read_exact(&mut room[..len], now).map(|()| len),
                len,
            ),
            7 => judge(producer.arm(worth).map(usize::from), 1),
            8 => judge(consumer.arm(worth).map(usize::from), 1),
            9 => judge(producer.mark_ready().map(|_| 0), 0),
            10 => judge(consumer.mark_ready().map(|_| 0), 0),
            _ => {
                let bytes = len.min(2048);
                if let Ok(mut place) = producer.reserve(bytes, now) {
                    place.put(0, &room[..bytes]);
                    place.commit(bytes);
                }
                if let Ok(Some(claimed)) = consumer.claim(bytes) {
                    claimed.get(0, &mut room[..bytes]);
                }
            }
        }
    }
}
