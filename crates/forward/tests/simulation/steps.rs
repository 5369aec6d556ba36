//! What happens in a simulation, at random.

use super::client::SLOTS;
use proptest::prelude::*;

/// The number of clients at a time.
pub const CLIENTS: usize = 2;

/// The names of files.
pub const NAMES: [&[u8]; 3] = [b"a", b"b", b"c"];

/// Something that happens.
#[derive(Clone, Debug)]
pub enum Step {
    Begin {
        client: usize,
        slot: usize,
        wish: Wish,
    },
    /// Bytes of a connection arrive, in one of the directions.
    Deliver {
        which: usize,
        bytes: usize,
    },
    /// A request that is carried out elsewhere goes on.
    Serve {
        which: usize,
    },
    Connect {
        client: usize,
    },
    /// A connection breaks. The daemon may still get what was sent.
    Cut {
        client: usize,
        is_lost: bool,
    },
    /// The daemon finds that a connection is broken.
    Notice {
        which: usize,
    },
    KillClient {
        client: usize,
    },
    BeginTask,
    EndTask {
        which: usize,
        is_ok: bool,
    },
    Postpone {
        which: usize,
    },
    EndFetch {
        which: usize,
        is_ok: bool,
    },
    Wait {
        ms: u64,
    },
    Drop {
        bytes: u64,
    },
    BeginSync {
        file: usize,
    },
    EndSync {
        which: usize,
        outcome: SyncOutcome,
    },
    /// Whether there is no room for the log.
    FillLog {
        is_full: bool,
    },
    /// The next sync of the log fails.
    FailLog,
    Abandon {
        file: usize,
    },
    RewriteLog,
    Store {
        is_gone: bool,
    },
    /// The daemon is killed, after this number of records and operations of the store. The store may lose data that it
    /// has not synced.
    Kill {
        after: u32,
        is_lost: bool,
    },
    /// The host fails: see [`super::daemon::Daemon::start`].
    Lose {
        records: usize,
        mask: u64,
    },
}

impl Step {
    /// Returns whether a client may get an error after it.
    pub fn can_fail(&self) -> bool {
        match self {
            Self::EndTask { is_ok, .. } | Self::EndFetch { is_ok, .. } => !is_ok,
            Self::Cut { .. }
            | Self::KillClient { .. }
            | Self::Wait { .. }
            | Self::FillLog { .. }
            | Self::FailLog
            | Self::Abandon { .. } => true,
            Self::Store { is_gone } => *is_gone,
            Self::EndSync { outcome, .. } => *outcome != SyncOutcome::Done,
            Self::Kill { .. } | Self::Lose { .. } => true,
            _ => false,
        }
    }
}

/// How a sync in the cache ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncOutcome {
    Done,
    DataFailed,
    NamesFailed,
}

/// What a client would like to do.
#[derive(Clone, Debug)]
pub enum Wish {
    Open { name: usize, creates: bool },
    Write { offset: u64, bytes: u8, value: u8 },
    Read { offset: u64, count: u32 },
    Sync { level: u8 },
    Cut { size: u64 },
    Close,
    Fetch { name: usize },
    Rename { from: usize, to: usize },
    Remove { name: usize },
}

/// Returns an arbitrary wish.
fn wishes() -> impl Strategy<Value = Wish> {
    let (name, offset) = (0..NAMES.len(), 0..64u64);
    prop_oneof![
        4 => (name.clone(), any::<bool>()).prop_map(|(name, creates)| Wish::Open { name, creates }),
        8 => (offset.clone(), 1..20u8, any::<u8>())
            .prop_map(|(offset, bytes, value)| Wish::Write { offset, bytes, value }),
        4 => (offset.clone(), 1..30u32).prop_map(|(offset, count)| Wish::Read { offset, count }),
        4 => (0..3u8).prop_map(|level| Wish::Sync { level }),
        1 => offset.prop_map(|size| Wish::Cut { size }),
        1 => Just(Wish::Close),
        2 => name.clone().prop_map(|name| Wish::Fetch { name }),
        1 => (name.clone(), name.clone()).prop_map(|(from, to)| Wish::Rename { from, to }),
        1 => name.prop_map(|name| Wish::Remove { name }),
    ]
}

/// Returns an arbitrary step.
pub fn steps() -> impl Strategy<Value = Step> {
    let (client, which) = (0..CLIENTS, any::<usize>());
    let is_ok = prop::bool::weighted(0.9);
    let work = prop_oneof![
        16 => (client.clone(), 0..SLOTS, wishes())
            .prop_map(|(client, slot, wish)| Step::Begin { client, slot, wish }),
        24 => (which, 1..1000usize).prop_map(|(which, bytes)| Step::Deliver { which, bytes }),
        8 => which.prop_map(|which| Step::Serve { which }),
        6 => Just(Step::BeginTask),
        6 => (which, is_ok).prop_map(|(which, is_ok)| Step::EndTask { which, is_ok }),
        4 => (which, is_ok).prop_map(|(which, is_ok)| Step::EndFetch { which, is_ok }),
        8 => client.clone().prop_map(|client| Step::Connect { client }),
    ];
    let outcome = prop_oneof![
        4 => Just(SyncOutcome::Done),
        1 => Just(SyncOutcome::DataFailed),
        1 => Just(SyncOutcome::NamesFailed),
    ];
    let rare = prop_oneof![
        2 => (client.clone(), any::<bool>()).prop_map(|(client, is_lost)| Step::Cut { client, is_lost }),
        2 => which.prop_map(|which| Step::Notice { which }),
        1 => client.prop_map(|client| Step::KillClient { client }),
        1 => which.prop_map(|which| Step::Postpone { which }),
        2 => (1..7000u64).prop_map(|ms| Step::Wait { ms }),
        1 => (1..100u64).prop_map(|bytes| Step::Drop { bytes }),
        2 => which.prop_map(|file| Step::BeginSync { file }),
        2 => (which, outcome).prop_map(|(which, outcome)| Step::EndSync { which, outcome }),
        1 => any::<bool>().prop_map(|is_full| Step::FillLog { is_full }),
        1 => Just(Step::FailLog),
        1 => which.prop_map(|file| Step::Abandon { file }),
        1 => Just(Step::RewriteLog),
        1 => any::<bool>().prop_map(|is_gone| Step::Store { is_gone }),
        1 => (0..12u32, any::<bool>()).prop_map(|(after, is_lost)| Step::Kill { after, is_lost }),
        2 => (which, any::<u64>()).prop_map(|(records, mask)| Step::Lose { records, mask }),
    ];
    prop_oneof![30 => work, 1 => rare]
}
