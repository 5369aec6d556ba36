//! What happens, counted and logged.

use crate::hub::{Hub, State};
use isthmus_nic_protocol::Event as Said;
use isthmus_stream::AppId;

/// How streams end, in the order in which that is counted.
pub(crate) const ENDS: [&str; 3] = ["done", "failed", "cancelled"];

/// Counts of the daemon's life that the manager does not keep.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Streams that ended, by [`ENDS`].
    pub ended: [u64; 3],
    /// Connections that were lost.
    pub lost: u64,
    /// Times that a stream was told to be stalled.
    pub stalls: u64,
    /// Links whose other end was gone.
    pub links_gone: u64,
    /// Applications that were let in.
    pub applications: u64,
    /// Requests that were answered, and refused.
    pub answered: u64,
    pub refused: u64,
}

impl Hub {
    /// Counts what happened, and logs what an operator asks for afterwards.
    pub(crate) fn note(&self, state: &mut State, app: AppId, said: &Said) {
        let tally = &mut state.tally;
        let (what, result) = match said {
            Said::Ended { stream } => {
                let ends = &mut tally.ended;
                let place = ENDS.iter().position(|end| *end == stream.state);
                ends[place.unwrap_or(ENDS.len() - 1)] += 1;
                let reason = stream.reason.as_deref().unwrap_or("");
                let (adus, bytes) = (stream.done, stream.bytes);
                let moved = format!("{} {adus} ADUs {bytes} bytes {reason}", stream.state);
                (format!("stream {}", stream.stream), moved)
            }
            Said::Opened { connection } => (format!("connection {connection}"), "open".into()),
            Said::Closed { connection } => (format!("connection {connection}"), "closed".into()),
            Said::Lost { connection, reason } => {
                tally.lost += 1;
                (
                    format!("connection {connection}"),
                    format!("lost: {reason}"),
                )
            }
            Said::LinkGone { link, reason } => {
                tally.links_gone += 1;
                (format!("link {link}"), format!("gone: {reason}"))
            }
            Said::OutOfStep {
                link,
                stream,
                reason,
            } => (
                format!("link {link} stream {stream}"),
                format!("out of step: {reason}"),
            ),
            Said::Kept { path, bytes, .. } => (format!("file {path}"), format!("{bytes} bytes")),
            Said::NotKept { path, reason, .. } => {
                (format!("file {path}"), format!("not kept: {reason}"))
            }
            Said::Stalled {
                stream,
                idle_ns,
                waits,
            } => {
                tally.stalls += 1;
                let waits = waits.join("; ");
                (
                    format!("stream {stream}"),
                    format!("stalled for {} ms: {waits}", idle_ns / 1_000_000),
                )
            }
            Said::Corrupted { text, connection } => (
                format!("connection {connection}"),
                format!("corrupted: {text}"),
            ),
            Said::Missing {
                stream,
                adu,
                from,
                bytes,
            } => (
                format!("stream {stream}"),
                format!("missing: {bytes} bytes from byte {from} of ADU {adu}"),
            ),
            Said::Moved { .. } | Said::Done { .. } => return,
            Said::Ending { .. } | Said::Missed { .. } => return,
        };
        let name = state.name(app);
        self.log.say(&format!("{name} #{app}"), &what, &result);
    }
}
