//! Locks of byte ranges, against one entry for each byte and process.

use isthmus_forward::{Errno, Holder, Lock, LockMode, Locks};
use proptest::collection::vec;
use proptest::prelude::*;

/// Number of bytes of the file in the reference; the last stands for all that follow.
const BYTES: usize = 12;
/// Number of processes.
const PROCESSES: usize = 4;

/// The reference: what each process holds of each byte.
type Held = [[Option<LockMode>; PROCESSES]; BYTES];

/// A request of a process: bytes, and a mode or none to unlock.
#[derive(Clone, Debug)]
struct Request {
    process: usize,
    start: u64,
    end: u64,
    mode: Option<LockMode>,
}

/// Returns the holder of a process; two of them are the same number in different sessions.
fn holder(process: usize) -> Holder {
    Holder {
        session: (process / 2) as u32,
        process: (process % 2) as u32,
        client: b"host".to_vec(),
    }
}

/// Returns any request.
fn requests() -> impl Strategy<Value = Request> {
    let mode = prop_oneof![
        Just(None),
        Just(Some(LockMode::Shared)),
        Just(Some(LockMode::Exclusive))
    ];
    let ends = (0..BYTES as u64, 1..BYTES as u64);
    (0..PROCESSES, ends, mode).prop_map(|(process, (start, length), mode)| {
        let is_open = start + length >= BYTES as u64;
        let end = if is_open { u64::MAX } else { start + length };
        Request {
            process,
            start,
            end,
            mode,
        }
    })
}

/// Returns the bytes of the reference that a request covers.
fn covered(request: &Request) -> std::ops::Range<usize> {
    let end = (request.end.min(BYTES as u64)) as usize;
    (request.start as usize).min(end)..end
}

/// Returns whether two locks exclude each other.
fn excludes(one: LockMode, other: LockMode) -> bool {
    one == LockMode::Exclusive || other == LockMode::Exclusive
}

/// Carries out a request in the reference. Returns whether it was possible.
fn refer(held: &mut Held, request: &Request) -> bool {
    let bytes = covered(request);
    if let Some(mode) = request.mode {
        let mut others = held[bytes.clone()].iter().flat_map(|byte| {
            let each = byte.iter().enumerate();
            each.filter(|(process, _)| *process != request.process)
        });
        if others.any(|(_, other)| other.is_some_and(|other| excludes(mode, other))) {
            return false;
        }
    }
    for byte in &mut held[bytes] {
        byte[request.process] = request.mode;
    }
    true
}

proptest! {
    /// Checks that each request succeeds exactly when it does in the reference, and that all locks
    /// are the same afterwards.
    #[test]
    fn locks_are_as_byte_by_byte(requests in vec(requests(), 1..60), left in 0..2_u32) {
        let mut held = [[None; PROCESSES]; BYTES];
        let mut locks = Locks::default();
        for request in &requests {
            let wanted = refer(&mut held, request);
            let (holder, start, end) = (holder(request.process), request.start, request.end);
            let done = match request.mode {
                Some(mode) => locks.lock("file", Lock { holder, mode, start, end }).unwrap(),
                None => {
                    locks.unlock("file", holder, start, end);
                    true
                }
            };
            prop_assert_eq!(done, wanted);
        }
        compare(&locks, &held)?;
        locks.end_session(left);
        for byte in &mut held {
            byte[2 * left as usize] = None;
            byte[2 * left as usize + 1] = None;
        }
        compare(&locks, &held)?;
        // The rest belongs to another session, which has a lock of its own.
        let (mode, start, end) = (LockMode::Shared, 0, 1);
        let holder = Holder { session: 7, ..holder(0) };
        prop_assert_eq!(locks.lock("other", Lock { holder, mode, start, end }), Ok(true));
        let count = locks.count();
        locks.move_session(1 - left, 7);
        prop_assert_eq!(locks.count(), count - 1);
        compare(&locks, &held)?;
        locks.end_session(1 - left);
        compare(&locks, &held)?;
        locks.end_session(7);
        prop_assert_eq!(locks.count(), 0);
    }
}

/// Compares the locks of each byte with the reference.
fn compare(locks: &Locks<&str>, held: &Held) -> Result<(), TestCaseError> {
    let stranger = Holder {
        session: 9,
        process: 9,
        client: Vec::new(),
    };
    for (at, byte) in held.iter().enumerate() {
        for mode in [LockMode::Shared, LockMode::Exclusive] {
            let (start, end) = (at as u64, at as u64 + 1);
            let holder = stranger.clone();
            let wanted = Lock {
                holder,
                mode,
                start,
                end,
            };
            let found = locks.conflict(&"file", &wanted).is_some();
            let expected = byte.iter().flatten().any(|other| excludes(mode, *other));
            prop_assert_eq!(found, expected, "byte {}", at);
        }
    }
    Ok(())
}

/// Checks that locks of different files do not matter to each other, and that the lock in the way is
/// reported.
#[test]
fn a_conflict_names_the_lock_in_the_way() {
    let mut locks = Locks::default();
    let lock = |process, start, end| Lock {
        holder: holder(process),
        mode: LockMode::Exclusive,
        start,
        end,
    };
    assert_eq!(locks.lock("a", lock(0, 10, 20)), Ok(true));
    assert_eq!(locks.lock("b", lock(1, 10, 20)), Ok(true));
    assert!(locks.conflict(&"a", &lock(1, 20, 30)).is_none());
    assert_eq!(
        locks.conflict(&"a", &lock(1, 0, u64::MAX)),
        Some(&lock(0, 10, 20))
    );
    assert_eq!(locks.lock("a", lock(1, 19, 20)), Ok(false));
    assert_eq!(locks.count(), 2);
}

/// Checks that a session holds a limited number of locks, and that unlocking makes room.
#[test]
fn a_session_holds_a_limited_number_of_locks() {
    let mut locks = Locks::default();
    let lock = |start| Lock {
        holder: holder(0),
        mode: LockMode::Shared,
        start,
        end: start + 1,
    };
    for at in 0..10_000 {
        assert_eq!(locks.lock("file", lock(2 * at)), Ok(true));
    }
    assert_eq!(locks.lock("file", lock(1_000_000)), Err(Errno::NOLCK));
    locks.unlock("file", holder(0), 0, 2);
    assert_eq!(locks.lock("other", lock(0)), Ok(true));
    assert_eq!(locks.lock("other", lock(9)), Err(Errno::NOLCK));
    locks.end_session(0);
    assert_eq!((locks.count(), locks.lock("other", lock(9))), (0, Ok(true)));
}
