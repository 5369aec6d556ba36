//! The manager's state of one stream.

use crate::config::{Finished, StreamSpec};
use crate::format::{Adu, Format, Tu};
use crate::ids::{AppId, BufferId, ConnectionId, Direction, Instant, LinkId, StreamId};
use crate::order::{End, State};
use crate::scheduler::Need;
use std::collections::{BTreeMap, VecDeque};

/// The number of a group of streams that are in lock step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Group(pub u32);

/// The stage of one of the two buffers of an active stream, which are filled and emptied in turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Stage {
    /// The buffer has no data.
    #[default]
    Empty,
    /// Data flows into the buffer: from links, or from network memory.
    Filling,
    /// The buffer is full, and waits to be emptied.
    Full,
    /// Data flows out of the buffer: to network memory, or to links.
    Emptying,
}

/// One of the two buffers of an active stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buffer {
    pub id: BufferId,
    pub stage: Stage,
    pub tu: Tu,
    /// Size in bytes of the application data unit (ADU) to which the buffer's transfer unit (TU)
    /// belongs.
    pub adu_bytes: u64,
    /// Number of orders under way that use this buffer.
    pub pending_orders: u64,
    /// Transmit with cut-through: number of contiguous bytes of the transfer unit (TU) in the
    /// buffer, from its start. Receive: number of bytes of the TU that arrived or are lost.
    pub covered: u64,
    /// Receive: whether any bytes of the TU are lost.
    pub void: bool,
    /// Receive: all packets below this sequence number are loaded into this buffer or an earlier
    /// one.
    pub taken: u64,
    /// With cut-through: lengths in bytes of the striping units (SUs) in the buffer that are beyond
    /// a gap, by the position of their first byte in the transfer unit (TU).
    pub beyond: BTreeMap<u64, u64>,
    /// With cut-through: number of packets of the transfer unit (TU) for which the order to store
    /// them in network memory was issued early, before the buffer was full.
    pub early: usize,
    /// With cut-through: number of these early orders that are not complete.
    pub storing: u64,
}

impl Buffer {
    /// With cut-through: records that `bytes` bytes from `offset` of the transfer unit (TU) are in
    /// the buffer.
    pub fn cover(&mut self, offset: u64, bytes: u64) {
        self.beyond.insert(offset, bytes);
        while let Some(bytes) = self.beyond.remove(&self.covered) {
            self.covered += bytes;
        }
    }
}

/// The position of a stream in its data: the application data unit (ADU) whose transfer units (TUs)
/// are being filled into buffers, and the next of these TUs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    pub adu: u64,
    pub bytes: u64,
    pub next_tu: u64,
}

/// One link of a transmit stream, with the numbers of bytes that ranks offered on it and that the
/// driver was ordered to fetch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub id: LinkId,
    pub offered: u64,
    pub ordered: u64,
}

/// The record of one application data unit (ADU): its packets that are not confirmed yet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ledger {
    pub packets: u64,
    pub moved: bool,
    pub lost: bool,
}

/// Returns the state of a stream, if it exists and has not ended.
pub(crate) fn live(streams: &BTreeMap<StreamId, Stream>, id: StreamId) -> Option<&Stream> {
    streams.get(&id).filter(|stream| stream.end.is_none())
}

/// Returns a mutable reference to the state of a stream, if it exists and has not ended.
pub(crate) fn live_mut(
    streams: &mut BTreeMap<StreamId, Stream>,
    id: StreamId,
) -> Option<&mut Stream> {
    streams.get_mut(&id).filter(|stream| stream.end.is_none())
}

/// The manager's state of one stream.
#[derive(Debug)]
pub(crate) struct Stream {
    pub app: AppId,
    pub connection: ConnectionId,
    pub direction: Direction,
    pub format: Format,
    pub adus: Option<u64>,
    pub quantum: u32,
    pub permanent: bool,
    pub after: Vec<StreamId>,
    pub group: Option<Group>,
    pub finished_when: Finished,
    pub cut_through: bool,
    /// Number of streams that the application registered earlier on the same connection and
    /// direction.
    pub ordinal: u32,
    pub state: State,
    /// The outcome of the stream; `None` until it has ended.
    pub end: Option<End>,
    /// Whether the event `Ended` was reported to the application.
    pub end_reported: bool,
    pub links: Vec<Link>,
    /// Sizes in bytes of the announced application data units (ADUs) that have not started.
    pub lengths: VecDeque<u64>,
    pub started: u64,
    pub moved: u64,
    pub done: u64,
    /// The records of application data units (ADUs) with unconfirmed packets, from ADU number
    /// `done` on.
    pub ledger: VecDeque<Ledger>,
    pub buffers: Option<[Buffer; 2]>,
    /// Index of the buffer to fill next.
    pub fill: usize,
    /// Index of the buffer to empty next.
    pub empty: usize,
    pub cursor: Option<Cursor>,
    pub quantum_left: u32,
    /// Transmit: whether the end mark of the stream has a sequence number.
    pub marked: bool,
    /// Receive: the total number of application data units (ADUs) that the peer reported for the
    /// stream; `None` before that.
    pub peer_adus: Option<u64>,
    /// Receive: whether the packet that marks the end of the stream was lost.
    pub end_lost: bool,
    /// Receive: whether all data of the ADU arrived that is now being written to the links.
    pub good: bool,
    pub progress_at: Instant,
    pub state_at: Instant,
    pub times_ns: [u64; State::COUNT],
    pub bytes: u64,
    pub retransmissions: u64,
    pub packets: u64,
}

impl Stream {
    /// Creates the state of a stream that an application has just registered.
    pub fn new(app: AppId, spec: &StreamSpec, ordinal: u32, now: Instant) -> Self {
        let links = spec.format.links().into_iter().map(|id| Link {
            id,
            offered: 0,
            ordered: 0,
        });
        Self {
            app,
            connection: spec.connection,
            direction: spec.direction,
            links: links.collect(),
            format: spec.format.clone(),
            adus: spec.adus,
            quantum: spec.quantum,
            permanent: spec.permanent,
            after: Vec::new(),
            group: None,
            finished_when: spec.finished,
            cut_through: spec.cut_through && spec.direction == Direction::Transmit,
            ordinal,
            state: State::Inactive,
            end: None,
            end_reported: false,
            lengths: VecDeque::new(),
            started: 0,
            moved: 0,
            done: 0,
            ledger: VecDeque::new(),
            buffers: None,
            fill: 0,
            empty: 0,
            cursor: None,
            quantum_left: 0,
            marked: false,
            peer_adus: None,
            end_lost: false,
            good: true,
            progress_at: now,
            state_at: now,
            times_ns: [0; State::COUNT],
            bytes: 0,
            retransmissions: 0,
            packets: 0,
        }
    }

    /// Returns the resources that the stream needs while it is active: two buffers, and an engine
    /// for each link.
    pub fn need(&self) -> Need {
        Need {
            app: self.app,
            staging_bytes: self.format.tu_bytes.saturating_mul(2),
            engines: self.links.len() as u32,
            permanent: self.permanent,
        }
    }

    /// Returns the number of application data units (ADUs) of this stream that count as finished
    /// for the streams in lock step with it.
    pub fn finished(&self) -> u64 {
        match self.finished_when {
            Finished::Moved => self.moved,
            Finished::Done => self.done,
        }
    }

    /// Returns the size of the next application data unit (ADU) to transmit, if it is known.
    pub fn next_adu_bytes(&self) -> Option<u64> {
        match self.format.adu {
            Adu::Fixed(bytes) => Some(bytes),
            Adu::Variable => self.lengths.front().copied(),
        }
    }

    /// Returns the number of orders under way that use the stream's buffers.
    pub fn under_way(&self) -> u64 {
        let buffers = self.buffers.iter().flatten();
        buffers
            .map(|buffer| buffer.pending_orders + buffer.storing)
            .sum()
    }

    /// Returns whether both buffers of the stream are empty.
    pub fn idle(&self) -> bool {
        let mut buffers = self.buffers.iter().flatten();
        buffers.all(|buffer| buffer.stage == Stage::Empty)
    }

    /// Changes the state of the stream, and adds the time since the last change to the total time
    /// of the previous state.
    pub fn enter(&mut self, state: State, now: Instant) {
        self.times_ns[self.state as usize] += now.since_ns(self.state_at);
        self.state = state;
        self.state_at = now;
        self.progress_at = now;
    }

    /// Receive: returns the number of bytes of the newest application data unit (ADU) that arrived.
    pub fn bytes_of_adu(&self) -> u64 {
        let Some(adu) = self.started.checked_sub(1) else {
            return 0;
        };
        let buffers = self.buffers.iter().flatten();
        let filled = buffers.filter(|buffer| buffer.stage != Stage::Empty && buffer.tu.adu == adu);
        let ends = filled.map(|buffer| buffer.tu.offset + buffer.covered);
        let before = self
            .cursor
            .map_or(0, |cursor| cursor.next_tu * self.format.tu_bytes);
        ends.max().unwrap_or(before)
    }

    /// Receive: returns whether the stream has moved all the application data units (ADUs) that the
    /// application requested.
    pub fn satisfied(&self) -> bool {
        self.adus == Some(self.moved)
    }
}
