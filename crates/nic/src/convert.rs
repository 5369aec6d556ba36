//! Conversion of requests of the control protocol to the types of the stream manager.

use crate::refusal::refusal;
use isthmus_framebuffer::{Error as Screen, Geometry, Pixel};
use isthmus_nic_protocol as protocol;
use isthmus_nic_protocol::{Refusal, RefusalKind};
use isthmus_stream::checksum::Checksum;
use isthmus_stream::{
    ConnectionId, Direction, Error as Manager, Finished, LinkId, Other, Protocol, StreamId,
    StreamSpec,
};
use isthmus_stream_net::frame::BLOCK_BYTES;
use isthmus_stream_net::{Destination, Error as Net};

/// Convert an error of the stream manager, or of the driver that moves its data, to a refusal of
/// the request.
pub(crate) fn refused(error: impl Into<Net>) -> Refusal {
    let error = error.into();
    let kind = match &error {
        Net::Stream(error) => match error {
            Manager::NoApplication(_) | Manager::NoConnection(_) | Manager::NoStream(_) => {
                RefusalKind::Unknown
            }
            Manager::Foreign(_) => RefusalKind::Denied,
            Manager::NeverFits(_) | Manager::Limit(_) => RefusalKind::Limit,
            Manager::Config(_) | Manager::Format(_) | Manager::NotOpen(..) => RefusalKind::Conflict,
            Manager::Cycle(_) | Manager::Conflict(_) => RefusalKind::Conflict,
        },
        Net::Destination(..) | Net::Garbled(_) => RefusalKind::Garbled,
        Net::Ended => RefusalKind::Ending,
        Net::Ring(_) | Net::System(..) | Net::Attached(_) | Net::Resumable(..) => {
            RefusalKind::Conflict
        }
    };
    refusal(kind, error.to_string())
}

/// Return whether the destination exchanges packets: a stream manager or a sink, which confirms
/// them.
pub(crate) fn speaks_packets(to: &Destination) -> bool {
    !matches!(
        to,
        Destination::Tcp(_)
            | Destination::TcpProvided(_)
            | Destination::File(_)
            | Destination::Framebuffer(_)
    )
}

/// Return the protocol of a connection to this destination, as requested or by default, and whether
/// the connection can receive data.
///
/// # Errors
/// The protocol waits for confirmations that the destination never sends.
pub(crate) fn protocol(
    to: &Destination,
    asked: Option<Protocol>,
) -> Result<(Protocol, bool), Refusal> {
    let packets = speaks_packets(to);
    let protocol = match (asked, to) {
        (None, _) if !packets => Protocol::Unconfirmed { reorder: 0 },
        (None, Destination::Udp(..) | Destination::UdpProvided(_)) => {
            Protocol::Confirmed { repair: true }
        }
        (None, _) => Protocol::Stream,
        (Some(Protocol::Unconfirmed { reorder }), _) => Protocol::Unconfirmed { reorder },
        (Some(Protocol::Confirmed { repair }), _) if packets => Protocol::Confirmed { repair },
        (Some(Protocol::Stream), Destination::Udp(..) | Destination::UdpProvided(_)) => {
            let text = "protocol `stream` over udp, which loses packets: take `confirmed`";
            return Err(refusal(RefusalKind::Conflict, text));
        }
        (Some(Protocol::Stream), _) if packets => Protocol::Stream,
        _ => {
            let text = "nobody confirms packets at a tcp:, file: or framebuffer: destination: leave \
                        the protocol out, or take `unconfirmed`";
            return Err(refusal(RefusalKind::Conflict, text));
        }
    };
    // Streams whose ADUs (application data units) have a fixed size can also receive plain bytes,
    // so a connection of plain bytes over TCP can receive, too.
    let bytes = matches!(to, Destination::Tcp(_) | Destination::TcpProvided(_));
    Ok((protocol, packets || bytes))
}

/// Convert width, height and type of pixels of a screen, on which applications draw, from the control protocol.
pub(crate) fn geometry(geometry: protocol::Geometry) -> Geometry {
    Geometry {
        width: geometry.width,
        height: geometry.height,
        pixel: match geometry.pixel {
            protocol::Pixel::Grey => Pixel::Grey,
            protocol::Pixel::Color => Pixel::Color,
        },
        interlaced: geometry.interlaced,
    }
}

/// Convert an error of a screen, on which applications draw, to a refusal of the request.
pub(crate) fn screen(error: &Screen) -> Refusal {
    let kind = match error {
        Screen::NoScreen(..) => RefusalKind::Unknown,
        Screen::Screens(_) => RefusalKind::Limit,
        _ => RefusalKind::Conflict,
    };
    refusal(kind, error.to_string())
}

/// Convert a reference to another stream from the control protocol.
fn other(other: protocol::Other) -> Other {
    match other {
        protocol::Other::Stream(stream) => Other::Stream(StreamId(stream)),
        protocol::Other::Here(place) => Other::Here(place),
    }
}

/// Check that each setting of a stream has an effect in the stream's direction. Refuse the stream
/// otherwise.
fn has_effect(spec: &protocol::Spec, checksum: Option<Checksum>) -> Result<(), Refusal> {
    let format = &spec.format;
    let refuse = |text: String| Err(refusal(RefusalKind::Conflict, text));
    let sends = spec.direction == Direction::Transmit;
    let packets = format.packet_bytes < format.tu_bytes;
    if spec.cut_through && !(sends && packets) {
        let text = "cut_through: it is for streams that are sent, with packets smaller than a TU; \
                    leave it out, or give smaller packets";
        return refuse(text.into());
    }
    let sums = spec.rank_sums;
    if sums == Checksum::None {
        return Ok(());
    }
    if !sends {
        return refuse("rank_sums: it is for streams that are sent; leave it out".into());
    }
    if let Some(checksum) = checksum.filter(|checksum| *checksum != sums) {
        let id = spec.connection;
        let [sums, has] = [sums, checksum].map(|sum| format!("{sum:?}").to_lowercase());
        return refuse(format!(
            "rank_sums: {sums}, which nobody looks at on connection {id}, where the checksum is \
             {has}: take that, or leave them out"
        ));
    }
    if packets && !format.packet_bytes.is_multiple_of(BLOCK_BYTES as u64) {
        let packet = format.packet_bytes;
        return refuse(format!(
            "rank_sums: they are of blocks of {BLOCK_BYTES} bytes, which packets of {packet} cut: \
             take packets of whole blocks, or of a TU"
        ));
    }
    Ok(())
}

/// Convert the specification of a stream. `line` is `None` for an unknown connection; otherwise it
/// holds whether the connection can receive, and the checksum that it verifies. `link` converts an
/// application's number of a link to the driver's number.
///
/// # Errors
/// The errors of `link`; a connection that cannot receive; a setting without effect.
pub(crate) fn spec(
    spec: &protocol::Spec,
    line: Option<(bool, Checksum)>,
    link: &mut dyn FnMut(u16) -> Result<LinkId, Refusal>,
) -> Result<StreamSpec, Refusal> {
    let direction = spec.direction;
    let connection = ConnectionId(spec.connection);
    if direction == Direction::Receive && line.is_some_and(|(receives, _)| !receives) {
        let text = format!(
            "connection {connection} is a file or a screen, of which nothing is received: open a raw:, \
             udp: or tcp: one"
        );
        return Err(refusal(RefusalKind::Conflict, text));
    }
    if spec.format.su_order.len() > 1 << 16 {
        let text = "more than 65536 SUs in a TU: name fewer links in su_order";
        return Err(refusal(RefusalKind::Conflict, text));
    }
    has_effect(spec, line.map(|(_, checksum)| checksum))?;
    let order = spec.format.su_order.iter();
    let order = order.map(|number| link(*number));
    Ok(StreamSpec {
        connection,
        direction,
        format: spec.format.over(order.collect::<Result<_, _>>()?),
        adus: spec.adus,
        quantum: spec.quantum,
        permanent: spec.permanent,
        after: spec.after.iter().copied().map(other).collect(),
        in_step_with: spec.in_step_with.iter().copied().map(other).collect(),
        finished: match spec.moved_is_finished {
            true => Finished::Moved,
            false => Finished::Done,
        },
        cut_through: spec.cut_through,
    })
}
