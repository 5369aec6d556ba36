//! Messages out of a stream, however the stream is cut.

use isthmus_forward::Frames;
use isthmus_forward::message::Malformed;
use proptest::collection::vec;
use proptest::prelude::*;

/// Puts bytes into a stream, as many as fit at once but at most `most`, and takes all messages.
fn feed(frames: &mut Frames, mut bytes: &[u8], most: usize) -> Result<Vec<Vec<u8>>, Malformed> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let space = frames.space();
        let count = space.len().min(most).min(bytes.len());
        assert!(count > 0, "there is always space");
        space[..count].copy_from_slice(&bytes[..count]);
        frames.filled(count);
        bytes = &bytes[count..];
        while let Some(message) = frames.take()? {
            found.push(message.to_vec());
        }
        frames.shrink();
    }
    Ok(found)
}

/// Returns a message of this size.
fn message(size: usize) -> Vec<u8> {
    let mut bytes = vec![size as u8; size];
    bytes[..4].copy_from_slice(&(size as u32).to_le_bytes());
    bytes
}

proptest! {
    /// Checks that the messages of a stream do not depend on how its bytes arrive.
    #[test]
    fn messages_do_not_depend_on_how_bytes_arrive(
        sizes in vec(prop_oneof![7_usize..60, 100_000_usize..300_000], 1..20),
        most in prop_oneof![1_usize..50, 1000_usize..200_000],
    ) {
        let most = if sizes.iter().sum::<usize>() > 10_000 { most.max(1000) } else { most };
        let messages: Vec<_> = sizes.into_iter().map(message).collect();
        let mut frames = Frames::new(300_000);
        let found = feed(&mut frames, &messages.concat(), most).unwrap();
        prop_assert_eq!(found, messages);
        prop_assert_eq!(frames.has_message(), Ok(false));
    }
}

/// Checks that a message that is too large or too small ends the stream, and that the limit can
/// change between messages.
#[test]
fn sizes_are_checked_before_a_message_has_arrived() {
    let mut frames = Frames::new(100);
    assert_eq!(feed(&mut frames, &message(100), 7).unwrap().len(), 1);
    let huge = u32::MAX.to_le_bytes();
    assert_eq!(feed(&mut frames, &huge, 4), Err(Malformed::Size(u32::MAX)));
    assert_eq!(frames.has_message(), Err(Malformed::Size(u32::MAX)));
    let mut frames = Frames::new(100);
    let small = 6_u32.to_le_bytes();
    assert_eq!(feed(&mut frames, &small, 4), Err(Malformed::Size(6)));
    let mut frames = Frames::new(100);
    frames.set_limit(200);
    assert_eq!(feed(&mut frames, &message(200), 50).unwrap().len(), 1);
}
