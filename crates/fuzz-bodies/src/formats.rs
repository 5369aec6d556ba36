//! Bodies of fuzz targets that parse headers and destinations of connections, for which the parsers
//! need no state.

use isthmus_stream::checksum::crc32c;
use isthmus_stream::wire::Header;
use isthmus_stream_net::Destination;
use isthmus_stream_net::frame::Frame;

/// Returns a header from the first bytes of `data`, padded with 0. It starts with `begin` and has a
/// valid checksum.
pub(crate) fn repaired<const BYTES: usize>(data: &[u8], begin: [u8; 3]) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    let used = data.len().min(BYTES);
    bytes[..used].copy_from_slice(&data[..used]);
    bytes[..3].copy_from_slice(&begin);
    let sum = crc32c(&bytes[..BYTES - 4]);
    bytes[BYTES - 4..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// Decodes `data` as the header of a frame on a link, unchanged and with a valid start and
/// checksum. Checks that the header encodes to the same bytes, or that the error has a text.
pub fn frames(data: &[u8]) {
    let check = |bytes: &[u8; Frame::BYTES]| match Frame::decode(bytes) {
        Ok(frame) => assert_eq!(frame.encode(), *bytes, "{frame:?}"),
        Err(error) => assert!(!error.to_string().is_empty()),
    };
    if let Some(bytes) = data.first_chunk() {
        check(bytes);
    }
    check(&repaired(data, *b"IL\x01"));
}

/// Decodes `data` as the header of a packet, unchanged and with a valid start and checksum. Checks
/// that the header encodes to the same bytes, or that the error has a text.
pub fn headers(data: &[u8]) {
    let check = |bytes: &[u8]| match Header::decode(bytes) {
        Ok(header) => {
            assert_eq!(header.encode(), bytes[..Header::BYTES], "{header:?}");
            assert!(header.cost() >= u64::from(header.bytes));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    };
    check(data);
    check(&repaired::<{ Header::BYTES }>(data, *b"IS\x01"));
}

/// Parses `data` as the destination of a connection, unchanged and after each known prefix. Checks
/// that an error quotes the destination.
pub fn destination(data: &[u8]) {
    let Ok(words) = std::str::from_utf8(data) else {
        return;
    };
    let kinds = [
        "",
        "raw:tcp:",
        "raw:unix:",
        "raw:given:",
        "tcp:",
        "tcp:given:",
        "file:",
        "udp:",
        "udp:given:",
    ];
    for kind in kinds {
        match Destination::parse(&format!("{kind}{words}")) {
            Ok(Destination::Udp(_, rate)) => assert_ne!(rate, Some(0)),
            Ok(_) => {}
            Err(error) => {
                let text = error.to_string();
                assert!(
                    text.starts_with("destination `") && text.contains(words),
                    "{text}"
                );
            }
        }
    }
}
