//! Words in the manager's own terms.

use crate::request::{Checksum, Format};
use isthmus_stream::{Adu, LinkId};

impl From<Checksum> for isthmus_stream::checksum::Checksum {
    fn from(word: Checksum) -> Self {
        match word {
            Checksum::None => Self::None,
            Checksum::Internet => Self::Internet,
            Checksum::Crc32c => Self::Crc32c,
        }
    }
}

impl Format {
    /// The manager's, with its numbers of the links in `su_order`, as many as there.
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
