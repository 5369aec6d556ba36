//! Conversion of a stream's data format from the type of the daemon's protocol to that of the stream manager.

use crate::request::Format;
use isthmus_stream::{Adu, LinkId};

impl Format {
    /// Convert the data format of a stream to the stream manager's type. `links` are the manager's
    /// numbers of the links in `su_order`.
    #[must_use]
    pub fn over(&self, links: Vec<LinkId>) -> isthmus_stream::Format {
        isthmus_stream::Format {
            adu: self.adu_bytes.map_or(Adu::Variable, Adu::Fixed),
            tu_bytes: self.tu_bytes,
            order: links,
            granule_bytes: self.granule_bytes,
            packet_bytes: self.packet_bytes,
        }
    }
}
