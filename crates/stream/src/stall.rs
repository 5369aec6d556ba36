//! The reasons for which streams wait.

use crate::ids::{ConnectionId, LinkId, StreamId};
use std::fmt;

/// A reason for which a stream waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wait {
    /// The connection is not open yet.
    NotOpen(ConnectionId),
    /// An earlier stream on the same connection and direction has not moved all its data.
    Behind(StreamId, ConnectionId),
    /// Stream sequencing: this stream is not done.
    After(StreamId),
    /// Lock step: another stream has not finished this ADU.
    Step {
        /// The stream that is behind.
        with: StreamId,
        /// The ADU that it has not finished.
        adu: u64,
    },
    /// No rank has offered the next data on this link.
    NoData(LinkId),
    /// No ADU was announced, or its length is unknown.
    NotAnnounced,
    /// All announced ADUs are moved, and their number is not final.
    NotFinished,
    /// Other streams hold staging memory or engines.
    Resources {
        /// Bytes of staging memory that it needs, and that are free.
        staging: (u64, u64),
        /// Engines that it needs, and that are free.
        engines: (u32, u32),
        /// The streams that hold them.
        held_by: Vec<StreamId>,
    },
    /// These pending streams come before it.
    Turn(Vec<StreamId>),
    /// Active streams of its application hold all of the application's staging memory.
    ApplicationStaging,
    /// Connections of its application hold all of the application's network memory.
    ApplicationNetwork,
    /// The link is cut.
    LinkCut(LinkId),
    /// An SU is under way on this link.
    Fetch(LinkId),
    /// An SU is under way to the ranks on this link.
    Deliver(LinkId),
    /// A copy between staging and network memory is under way.
    Copy,
    /// Network memory is full: the connections that hold it, and their bytes.
    NetworkMemory(Vec<(ConnectionId, u64)>),
    /// The connection has reached its share of network memory.
    Share(ConnectionId),
    /// The peer grants no credit.
    NotGranted(ConnectionId),
    /// Packets are being sent.
    Sending(ConnectionId, u64),
    /// Packets are not acknowledged.
    Unacknowledged(ConnectionId, u64),
    /// Packets are acknowledged, but the peer has not delivered them.
    Undelivered(ConnectionId, u64),
    /// None of its data has come over the connection.
    NothingCame(ConnectionId),
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOpen(connection) => write!(f, "connection {connection} is not open"),
            Self::Behind(stream, connection) => {
                write!(
                    f,
                    "stream {stream} comes before it on connection {connection}"
                )
            }
            Self::After(stream) => write!(f, "stream {stream}, which it comes after, is not done"),
            Self::Step { with, adu } => {
                write!(
                    f,
                    "stream {with}, in step with it, has not finished ADU {adu}"
                )
            }
            Self::NoData(link) => write!(f, "no data on link {link}"),
            Self::NotAnnounced => f.write_str("no further ADU was announced"),
            Self::NotFinished => f.write_str("nobody has said that it is the end"),
            Self::Resources {
                staging,
                engines,
                held_by,
            } => {
                let (bytes, free) = staging;
                let (wanted, idle) = engines;
                write!(
                    f,
                    "{bytes} bytes of staging memory with {free} free and {wanted} engines "
                )?;
                write!(f, "with {idle} free, held by streams {}", listed(held_by))
            }
            Self::Turn(streams) => write!(f, "its turn, after streams {}", listed(streams)),
            Self::ApplicationStaging => {
                f.write_str("its application has all staging memory that it may have")
            }
            Self::ApplicationNetwork => {
                f.write_str("its application has all network memory that it may have")
            }
            Self::LinkCut(link) => write!(f, "link {link} is cut"),
            Self::Fetch(link) => write!(f, "data is under way on link {link}"),
            Self::Deliver(link) => write!(f, "ranks on link {link} do not take their data"),
            Self::Copy => f.write_str("data is under way between staging and network memory"),
            Self::NetworkMemory(held) => {
                f.write_str("network memory is full of unacknowledged packets:")?;
                let mut first = true;
                for (connection, bytes) in held {
                    let comma = if std::mem::take(&mut first) { "" } else { "," };
                    write!(f, "{comma} {bytes} bytes of connection {connection}")?;
                }
                Ok(())
            }
            Self::Share(connection) => {
                write!(
                    f,
                    "connection {connection} has all network memory that it may have"
                )
            }
            Self::NotGranted(connection) => {
                write!(f, "the peer of connection {connection} grants nothing more")
            }
            Self::Sending(connection, packets) => {
                write!(
                    f,
                    "{packets} packets are being sent on connection {connection}"
                )
            }
            Self::Unacknowledged(connection, packets) => {
                write!(
                    f,
                    "{packets} packets of connection {connection} are not acknowledged"
                )
            }
            Self::Undelivered(connection, packets) => {
                write!(
                    f,
                    "the peer of connection {connection} has not delivered {packets} packets"
                )
            }
            Self::NothingCame(connection) => {
                write!(f, "nothing more of it came on connection {connection}")
            }
        }
    }
}

fn listed(streams: &[StreamId]) -> String {
    let words: Vec<String> = streams.iter().map(StreamId::to_string).collect();
    words.join(", ")
}
