//! The reasons for which streams wait instead of moving data.

use crate::ids::{ConnectionId, LinkId, StreamId};

/// A reason for which a stream waits.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Wait {
    /// The stream's connection is not open yet.
    #[error("connection {0} is not open")]
    NotOpen(ConnectionId),
    /// An earlier stream on the same connection and direction has not moved all its data.
    #[error("stream {0} comes before it on connection {1}")]
    Behind(StreamId, ConnectionId),
    /// Stream sequencing: the stream that must be done first is not done.
    #[error("stream {0}, which it comes after, is not done")]
    After(StreamId),
    /// Lock step: another stream has not finished the previous application data unit (ADU).
    #[error("stream {with}, in step with it, has not finished ADU {adu}")]
    Step {
        /// The stream in lock step that has not finished the application data unit (ADU).
        with: StreamId,
        /// The number of the application data unit (ADU) that it has not finished.
        adu: u64,
    },
    /// No rank has offered the next data on this link.
    #[error("no data on link {0}")]
    NoData(LinkId),
    /// No application data unit (ADU) was announced, or the length of the next one is unknown.
    #[error("no further ADU was announced")]
    NotAnnounced,
    /// All announced application data units (ADUs) are moved, and the final number of ADUs is not
    /// set.
    #[error("nobody has said that it is the end")]
    NotFinished,
    /// Other streams hold the staging memory or the link engines that the stream needs.
    #[error(
        "{} bytes of staging memory with {} free and {} engines with {} free, held by streams {}",
        .staging.0, .staging.1, .engines.0, .engines.1, listed(.held_by)
    )]
    Resources {
        /// Bytes of staging memory that the stream needs, and bytes that are free.
        staging: (u64, u64),
        /// Number of engines that the stream needs, and number that are free.
        engines: (u32, u32),
        /// The streams that hold the staging memory and the engines.
        held_by: Vec<StreamId>,
    },
    /// These pending streams come before this one in the resource scheduler.
    #[error("its turn, after streams {}", listed(.0))]
    Turn(Vec<StreamId>),
    /// Active streams of the same application hold all of the application's staging memory.
    #[error("its application has all staging memory that it may have")]
    ApplicationStaging,
    /// Connections of the same application hold all of the application's network memory.
    #[error("its application has all network memory that it may have")]
    ApplicationNetwork,
    /// This link of the stream is cut.
    #[error("link {0} is cut")]
    LinkCut(LinkId),
    /// A striping unit (SU) is under way from the ranks on this link.
    #[error("data is under way on link {0}")]
    Fetch(LinkId),
    /// A striping unit (SU) is under way to the ranks on this link.
    #[error("ranks on link {0} do not take their data")]
    Deliver(LinkId),
    /// A copy of the stream's data between staging and network memory is under way.
    #[error("data is under way between staging and network memory")]
    Copy,
    /// Network memory is full. The field lists the connections that use it, and the bytes of each.
    #[error("network memory is full of unacknowledged packets:{}", holders(.0))]
    NetworkMemory(Vec<(ConnectionId, u64)>),
    /// The connection of the stream has reached its share of network memory.
    #[error("connection {0} has all network memory that it may have")]
    Share(ConnectionId),
    /// The peer of this connection grants no credit.
    #[error("the peer of connection {0} grants nothing more")]
    NotGranted(ConnectionId),
    /// Packets are being sent. The fields are the connection and the number of these packets.
    #[error("{1} packets are being sent on connection {0}")]
    Sending(ConnectionId, u64),
    /// Sent packets are not acknowledged. The fields are the connection and the number of these
    /// packets.
    #[error("{1} packets of connection {0} are not acknowledged")]
    Unacknowledged(ConnectionId, u64),
    /// Packets are acknowledged, but the peer has not delivered them. The fields are the connection
    /// and the number of these packets.
    #[error("the peer of connection {0} has not delivered {1} packets")]
    Undelivered(ConnectionId, u64),
    /// No packet with the next data of the stream has arrived over this connection.
    #[error("nothing more of it came on connection {0}")]
    NothingCame(ConnectionId),
}

/// Returns the numbers of streams as text for a message, separated by commas.
fn listed(streams: &[StreamId]) -> String {
    let words: Vec<String> = streams.iter().map(StreamId::to_string).collect();
    words.join(", ")
}

/// Returns connections and the bytes that each holds as text for a message, separated by commas.
fn holders(held: &[(ConnectionId, u64)]) -> String {
    let words = held
        .iter()
        .map(|(id, bytes)| format!(" {bytes} bytes of connection {id}"));
    words.collect::<Vec<_>>().join(",")
}
