//! The unconfirmed bytes of a resumable link, compared with a model that keeps every byte.

use isthmus_stream_net::unconfirmed::{InvalidPosition, Unconfirmed};
use proptest::prelude::*;

/// The model: all bytes that were ever added, and positions.
#[derive(Default)]
struct All {
    bytes: Vec<u8>,
    first: usize,
    written: usize,
    reached: usize,
}

/// The peer's data: bytes that were written to the current socket.
#[derive(Default)]
struct Other {
    had: Vec<u8>,
    /// Bytes on their way to the peer, which are lost with the socket.
    flying: Vec<u8>,
}

#[derive(Clone, Debug)]
enum Act {
    Put(usize),
    Write(usize),
    Arrive(usize),
    /// The peer confirms this many fewer bytes than it has.
    Confirm(usize),
    TakeBack,
    /// The socket is cut and replaced.
    Cut,
    /// An arbitrary position is confirmed or resumed from.
    Odd(u64, bool),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0..40usize).prop_map(Act::Put),
        4 => (0..40usize).prop_map(Act::Write),
        3 => (0..40usize).prop_map(Act::Arrive),
        2 => (0..20usize).prop_map(Act::Confirm),
        2 => Just(Act::Cut),
        1 => Just(Act::TakeBack),
        1 => (0..300u64, any::<bool>()).prop_map(|(at, again)| Act::Odd(at, again)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn nothing_is_lost_or_doubled(most in 1..64usize, acts in prop::collection::vec(act(), 1..80)) {
        let mut kept = Unconfirmed::new(most);
        let (mut all, mut other) = (All::default(), Other::default());
        let mut next = 0u8;
        for act in acts {
            match act {
                Act::Put(bytes) => {
                    let bytes: Vec<u8> = (0..bytes).map(|at| next.wrapping_add(at as u8)).collect();
                    let room = most - (all.bytes.len() - all.first);
                    // In one piece, or as a header and its data.
                    let (head, data) = bytes.split_at(bytes.len() / 3);
                    let took = match bytes.len() % 2 {
                        0 => kept.put(&bytes),
                        _ => kept.put_frame(head, data),
                    };
                    prop_assert_eq!(took, bytes.len().min(room));
                    all.bytes.extend(&bytes[..took]);
                    next = next.wrapping_add(took as u8);
                }
                Act::Write(bytes) => {
                    let pending = kept.pending().concat();
                    prop_assert_eq!(&pending[..], &all.bytes[all.written..]);
                    let now = bytes.min(pending.len());
                    other.flying.extend(&pending[..now]);
                    kept.mark_written(now);
                    all.written += now;
                    all.reached = all.reached.max(all.written);
                }
                Act::Arrive(bytes) => {
                    let now = bytes.min(other.flying.len());
                    other.had.extend(other.flying.drain(..now));
                }
                Act::Confirm(fewer) => {
                    let at = other.had.len().saturating_sub(fewer);
                    prop_assert_eq!(kept.confirm(at as u64), Ok(()));
                    all.first = all.first.max(at);
                }
                Act::TakeBack => {
                    kept.discard_pending();
                    next = next.wrapping_sub((all.bytes.len() - all.reached) as u8);
                    all.bytes.truncate(all.reached);
                }
                Act::Cut => {
                    other.flying.clear();
                    let at = other.had.len();
                    prop_assert_eq!(kept.resume_at(at as u64), Ok(()));
                    (all.first, all.written) = (all.first.max(at), at);
                }
                Act::Odd(at, again) => {
                    let most = if again { all.reached } else { all.written };
                    let valid = (all.first as u64, most as u64);
                    let odd = at > valid.1 || again && at < valid.0;
                    if !odd {
                        continue;
                    }
                    let said = if again { kept.resume_at(at) } else { kept.confirm(at) };
                    prop_assert_eq!(said, Err(InvalidPosition { position: at, valid }));
                }
            }
            prop_assert_eq!(kept.end(), all.bytes.len() as u64);
            prop_assert_eq!(kept.written(), all.written as u64);
            prop_assert_eq!(kept.highest_written(), all.reached as u64);
            prop_assert_eq!(kept.is_pending(), all.written < all.bytes.len());
            prop_assert!(all.bytes.starts_with(&other.had));
        }
        // The rest arrives in the end.
        let pending = kept.pending().concat();
        other.had.append(&mut other.flying);
        other.had.extend(pending);
        prop_assert_eq!(&other.had, &all.bytes);
    }
}
