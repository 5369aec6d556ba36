//! Messages to viewers: the list of screens as text, and frames as bytes.
//!
//! A frame is a header of [`HEAD_BYTES`], little-endian, and its pixels:
//!
//! | at | bytes | field |
//! |---|---|---|
//! | 0 | 4 | the letters `IFB1` |
//! | 4 | 4 | screen, as the list numbers it |
//! | 8 | 8 | number of the frame, from 1; 0 is a screen that was cleared |
//! | 16 | 8 | nanoseconds from the screens' making to the frame's last byte |
//! | 24 | 4 | pixels in a line |
//! | 28 | 4 | lines |
//! | 32 | 4 | bytes of a pixel: 1 is grey, 4 red, green, blue and nothing |
//! | 36 | 4 | zero |
//!
//! A viewer answers each message with the text `+` when it has processed the message.

use crate::geometry::Geometry;

/// Number of bytes before the pixels of a frame.
pub const HEAD_BYTES: usize = 40;

/// Return the message for a frame of black pixels, into which a frame is drawn.
pub(crate) fn blank(screen: u32, geometry: &Geometry) -> Vec<u8> {
    let mut all = vec![0; HEAD_BYTES + geometry.frame_bytes() as usize];
    all[..4].copy_from_slice(b"IFB1");
    all[4..8].copy_from_slice(&screen.to_le_bytes());
    all[24..28].copy_from_slice(&geometry.width.to_le_bytes());
    all[28..32].copy_from_slice(&geometry.height.to_le_bytes());
    all[32..36].copy_from_slice(&geometry.pixel.bytes().to_le_bytes());
    all
}

/// Write the number and the time of a frame into its message.
pub(crate) fn stamp(message: &mut [u8], number: u64, ns: u64) {
    message[8..16].copy_from_slice(&number.to_le_bytes());
    message[16..24].copy_from_slice(&ns.to_le_bytes());
}

/// Return the list of screens as JSON. The names need no escapes: [`crate::Error::Name`] excludes
/// such characters.
pub(crate) fn list<'s>(screens: impl Iterator<Item = (u32, &'s str, &'s Geometry)>) -> String {
    let one = |(id, name, geometry): (u32, &str, &Geometry)| {
        let Geometry { width, height, .. } = geometry;
        format!(r#"{{"id":{id},"name":"{name}","width":{width},"height":{height}}}"#)
    };
    let all: Vec<String> = screens.map(one).collect();
    format!(r#"{{"screens":[{}]}}"#, all.join(","))
}
