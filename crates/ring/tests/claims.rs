//! Claims compared with a model of each single byte: the written bytes, and the held ones.

use isthmus_ring::{Claim, Error, ring};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::RefCell;
use std::io::Read;
use std::ops::Range;
use std::os::unix::net::UnixStream;

const CAPACITY: usize = 4096;

#[derive(Debug, Clone)]
enum Call {
    Write(usize),
    Read(usize),
    Claim(usize),
    /// The claim, and the position of the split.
    Split(prop::sample::Index, prop::sample::Index),
    /// The claim, and the other one.
    Join(prop::sample::Index, prop::sample::Index),
    Drop(prop::sample::Index),
    /// The claim, and its first byte.
    ToSocket(prop::sample::Index, prop::sample::Index),
    CloseConsumer,
    CloseProducer,
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let index = any::<prop::sample::Index>;
    let call = prop_oneof![
        12 => (0..=CAPACITY).prop_map(Call::Write),
        4 => (0..900_usize).prop_map(Call::Read),
        10 => (0..1200_usize).prop_map(Call::Claim),
        4 => (index(), index()).prop_map(|(a, b)| Call::Split(a, b)),
        6 => (index(), index()).prop_map(|(a, b)| Call::Join(a, b)),
        9 => index().prop_map(Call::Drop),
        3 => (index(), index()).prop_map(|(a, b)| Call::ToSocket(a, b)),
        1 => Just(Call::CloseConsumer),
        1 => Just(Call::CloseProducer),
    ];
    prop::collection::vec(call, 1..80)
}

#[derive(Debug, Default)]
struct Counts {
    bytes: usize,
    claims: usize,
    most_claims: usize,
    wrapped: usize,
    early: usize,
    too_much: usize,
    too_few: usize,
    out_of_order: usize,
    full: usize,
    behind: usize,
    outlived: usize,
    orphaned: usize,
    joined: usize,
    apart: usize,
}

/// Returns byte `n` of all written bytes.
fn byte(n: usize) -> u8 {
    (n as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0]
}

fn drive(calls: &[Call], counts: &mut Counts) {
    let (producer, consumer) = ring(CAPACITY as u64).unwrap();
    let (mut producer, mut consumer) = (Some(producer), Some(consumer));
    let mut claims: Vec<(Range<usize>, Claim)> = Vec::new();
    // For each written byte, whether the producer may overwrite it.
    let mut free: Vec<bool> = Vec::new();
    let mut cursor = 0;
    for call in calls {
        let written = free.len();
        let head = free.iter().position(|free| !free).unwrap_or(written);
        match call {
            Call::Write(len) => {
                let Some(producer) = &mut producer else {
                    continue;
                };
                let bytes: Vec<u8> = (written..written + len).map(byte).collect();
                let wrote = match producer.try_write(&bytes) {
                    Ok(wrote) => wrote,
                    Err(Error::Closed { .. }) if consumer.is_none() => continue,
                    Err(error) => panic!("{error}"),
                };
                let room = CAPACITY - (written - head);
                assert_eq!(wrote, room.min(*len));
                counts.full += usize::from(wrote < *len && !claims.is_empty());
                counts.bytes += wrote;
                free.resize(written + wrote, false);
            }
            Call::Read(len) => {
                let Some(consumer) = &mut consumer else {
                    continue;
                };
                let mut bytes = vec![0; *len];
                let read = consumer.try_read(&mut bytes).unwrap().unwrap_or(0);
                assert_eq!(read, (*len).min(written - cursor));
                assert!(
                    bytes[..read]
                        .iter()
                        .copied()
                        .eq((cursor..).take(read).map(byte))
                );
                free[cursor..cursor + read].fill(true);
                counts.behind += usize::from(read > 0 && !claims.is_empty());
                cursor += read;
            }
            Call::Claim(len) => {
                let Some(consumer) = &mut consumer else {
                    continue;
                };
                match consumer.claim(*len) {
                    Err(Error::TooMuch { wanted, most }) => {
                        assert_eq!(most as usize, CAPACITY / 2);
                        assert_eq!(wanted as usize, cursor - head.min(cursor) + len);
                        assert!(wanted > most);
                        counts.too_much += 1;
                    }
                    Ok(None) => {
                        assert!(written - cursor < *len);
                        counts.too_few += 1;
                    }
                    Ok(Some(claim)) => {
                        assert_eq!(claim.len(), *len);
                        counts.claims += 1;
                        let begin = cursor % CAPACITY;
                        counts.wrapped += usize::from(begin + len > CAPACITY);
                        claims.push((cursor..cursor + len, claim));
                        cursor += len;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            Call::Split(which, at) if !claims.is_empty() => {
                let which = which.index(claims.len());
                let (range, claim) = &mut claims[which];
                let at = at.index(range.len() + 1);
                let rest = claim.split_off(at);
                let (begin, end) = (range.start, range.end);
                *range = begin..begin + at;
                claims.push((begin + at..end, rest));
            }
            Call::Join(which, other) if claims.len() > 1 => {
                let (next_range, next) = claims.swap_remove(other.index(claims.len()));
                let which = which.index(claims.len());
                let (range, claim) = &mut claims[which];
                match claim.join(next) {
                    Ok(()) => {
                        assert_eq!(range.end, next_range.start, "only what follows is joined");
                        range.end = next_range.end;
                        counts.joined += usize::from(!next_range.is_empty());
                    }
                    Err(next) => {
                        assert_ne!(range.end, next_range.start, "what follows is joined");
                        claims.push((next_range, next));
                        counts.apart += 1;
                    }
                }
            }
            Call::Drop(which) if !claims.is_empty() => {
                let (range, claim) = claims.swap_remove(which.index(claims.len()));
                counts.out_of_order += usize::from(range.start > head);
                drop(claim);
                free[range].fill(true);
            }
            Call::ToSocket(which, from) if !claims.is_empty() => {
                let (range, claim) = &claims[which.index(claims.len())];
                let from = from.index(range.len() + 1);
                let (near, mut far) = UnixStream::pair().unwrap();
                let wrote = claim.write_to(&near, from).unwrap();
                let begin = (range.start + from) % CAPACITY;
                assert_eq!(wrote, (range.len() - from).min(CAPACITY - begin));
                drop(near);
                let mut bytes = Vec::new();
                far.read_to_end(&mut bytes).unwrap();
                let right = (range.start + from..).take(wrote).map(byte);
                assert!(bytes.iter().copied().eq(right));
            }
            Call::CloseConsumer => {
                counts.outlived += usize::from(consumer.take().is_some() && !claims.is_empty());
            }
            Call::CloseProducer => {
                counts.orphaned += usize::from(producer.take().is_some() && !claims.is_empty());
            }
            _ => {}
        }
        counts.most_claims = counts.most_claims.max(claims.len());
        for (range, claim) in &claims {
            let mut bytes = vec![0; range.len() + 1];
            assert_eq!(claim.get(0, &mut bytes), range.len());
            assert!(
                bytes[..range.len()]
                    .iter()
                    .copied()
                    .eq(range.clone().map(byte))
            );
            let middle = range.len() / 2;
            assert_eq!(claim.get(middle, &mut bytes), range.len() - middle);
            assert!(range.is_empty() || bytes[0] == byte(range.start + middle));
        }
        let written = free.len();
        let head = free.iter().position(|free| !free).unwrap_or(written);
        if let Some(consumer) = &mut consumer {
            assert_eq!(consumer.held() as usize, cursor - head.min(cursor));
            assert_eq!(consumer.read_so_far() as usize, cursor);
        }
        if let (Some(producer), Some(_)) = (&mut producer, &consumer) {
            assert_eq!(
                producer.room().unwrap() as usize,
                CAPACITY - (written - head)
            );
            counts.early += usize::from(head > 0 && !claims.is_empty());
        }
    }
}

#[test]
fn claims_keep_their_bytes_and_give_them_back() {
    let counts = RefCell::new(Counts::default());
    let config = Config {
        cases: 600,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&calls(), |calls| {
            drive(&calls, &mut counts.borrow_mut());
            Ok(())
        })
        .unwrap();
    let counts = counts.into_inner();
    println!("{counts:?}");
    for (what, count, least) in [
        ("bytes", counts.bytes, 1_000_000),
        ("claims", counts.claims, 500),
        ("claims at once", counts.most_claims, 4),
        ("claims that wrap", counts.wrapped, 20),
        ("claims of too much", counts.too_much, 100),
        ("claims of what is not there", counts.too_few, 100),
        ("claims dropped before older ones", counts.out_of_order, 50),
        ("a ring that claims keep full", counts.full, 100),
        ("reads behind claims", counts.behind, 50),
        ("claims while others were given back", counts.early, 100),
        ("claims that outlive their consumer", counts.outlived, 20),
        ("claims that outlive the producer", counts.orphaned, 20),
        ("claims that were joined", counts.joined, 50),
        ("claims that lie apart", counts.apart, 50),
    ] {
        assert!(count >= least, "{what}: only {count}");
    }
}

#[test]
fn who_sleeps_for_room_is_woken_when_the_claim_is_given_back() {
    let (mut producer, mut consumer) = ring(CAPACITY as u64).unwrap();
    producer.try_write(&[7; CAPACITY]).unwrap();
    let claim = consumer.claim(CAPACITY / 2).unwrap().unwrap();
    assert!(producer.arm(1).unwrap(), "there is no room");
    assert!(consumer.producer_sleeps());
    // Data behind the claim can be read, but frees no room.
    let mut bytes = vec![0; CAPACITY / 2];
    assert_eq!(consumer.try_read(&mut bytes).unwrap(), Some(CAPACITY / 2));
    assert_eq!(producer.room().unwrap(), 0);
    drop(claim);
    assert_eq!(consumer.held(), 0);
    assert!(!consumer.producer_sleeps(), "it was woken");
    assert_eq!(producer.room().unwrap() as usize, CAPACITY);
}
