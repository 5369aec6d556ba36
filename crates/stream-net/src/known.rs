//! What the driver knows of streams.

use crate::link::Live;
use isthmus_stream::checksum::Checksum;
use isthmus_stream::{Adu, ConnectionId, Direction, Format, LinkId, StreamSpec};

/// Bytes of packets whose copy costs more than a call of the system of their own.
const WORTH_STAYING: u64 = 32 << 10;

/// What the driver knows of a stream that has not ended.
#[derive(Debug)]
pub(crate) struct Known {
    pub connection: ConnectionId,
    pub direction: Direction,
    pub checksum: Checksum,
    format: Format,
    pub adus: Option<u64>,
    pub links: Vec<LinkId>,
    /// If its data may stay in rings: of each link, bytes that may have to be there at once.
    in_rings: Option<Vec<u64>>,
    /// ADUs that went to ranks.
    pub moved: u64,
}

impl Known {
    pub fn new(spec: &StreamSpec, checksum: Checksum, from_rings: bool) -> Self {
        let links = spec.format.links();
        let large = spec.format.packet_bytes >= WORTH_STAYING;
        let in_rings = (from_rings && large).then(|| at_once(spec, &links));
        Self {
            connection: spec.connection,
            direction: spec.direction,
            checksum,
            format: spec.format.clone(),
            adus: spec.adus,
            links,
            in_rings,
            moved: 0,
        }
    }
}

/// Bytes of each link that must be there before the first of them can be sent: those of a TU, or
/// where packets are sent as soon as they are there, of a packet and an SU that reaches beyond it.
fn at_once(spec: &StreamSpec, links: &[LinkId]) -> Vec<u64> {
    let format = &spec.format;
    let su = format.su_bytes(format.tu_bytes);
    let most = match spec.cut_through {
        true => format.packet_bytes.saturating_add(su),
        false => u64::MAX,
    };
    let sus = |link: &LinkId| format.order.iter().filter(|of| *of == link).count() as u64;
    let tu = |link| su.saturating_mul(sus(link)).min(format.tu_bytes);
    links.iter().map(|link| tu(link).min(most)).collect()
}

impl Known {
    /// What a link must know of it; nothing, if ranks have no say in it there: they send it over
    /// others, and may not give it up.
    pub fn live(&self, link: LinkId) -> Option<Live> {
        let place = self.links.binary_search(&link).ok()?;
        let in_rings = self.in_rings.as_ref();
        Some(Live {
            checksum: self.checksum,
            in_ring: in_rings.and_then(|bytes| bytes.get(place).copied()),
        })
    }

    /// Whether the stream still needs the ranks of this link, of which `taken` bytes came.
    pub fn needs(&self, link: LinkId, taken: u64) -> bool {
        if !self.links.contains(&link) {
            return false;
        }
        if self.direction == Direction::Receive {
            return self.adus.is_none_or(|adus| self.moved < adus);
        }
        let (Some(adus), Adu::Fixed(bytes)) = (self.adus, self.format.adu) else {
            return true;
        };
        let of = |tu: u64| -> u64 {
            let sus = self.format.sus(tu).filter(|su| su.link == link);
            sus.map(|su| su.bytes).sum()
        };
        let whole = (bytes / self.format.tu_bytes).saturating_mul(of(self.format.tu_bytes));
        let adu = whole.saturating_add(of(bytes % self.format.tu_bytes));
        taken < adu.saturating_mul(adus)
    }
}
