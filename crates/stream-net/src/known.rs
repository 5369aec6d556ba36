//! What the driver knows of streams.

use crate::link::{Live, Passed};
use isthmus_stream::checksum::Checksum;
use isthmus_stream::{Adu, ConnectionId, Direction, Format, LinkId, StreamSpec, Tu};

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
    /// ADUs that went to ranks, or to network memory.
    pub moved: u64,
    /// ADUs that are done.
    pub done: u64,
    /// The last ADU of which a TU went over links, and bytes of that TU.
    newest: Option<(u64, u64)>,
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
            done: 0,
            newest: None,
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

    /// A TU begins to go over links.
    pub fn see(&mut self, tu: &Tu) {
        self.newest = self.newest.max(Some((tu.adu, tu.bytes)));
    }

    /// Whether the stream still needs the ranks of this link, over which so much went.
    pub fn needs(&self, link: LinkId, passed: Passed) -> bool {
        if !self.links.contains(&link) {
            return false;
        }
        let Some(adus) = self.adus else {
            return true;
        };
        match self.format.adu {
            Adu::Fixed(bytes) => passed.bytes < self.share(link, bytes).saturating_mul(adus),
            Adu::Variable => {
                let last = self.newest.filter(|(adu, _)| adu.saturating_add(1) == adus);
                last.is_none_or(|(adu, bytes)| passed.of_adu < (adu, self.share(link, bytes)))
            }
        }
    }

    /// Bytes of an ADU of `bytes` that go over a link.
    fn share(&self, link: LinkId, bytes: u64) -> u64 {
        let of = |tu: u64| -> u64 {
            let sus = self.format.sus(tu).filter(|su| su.link == link);
            sus.map(|su| su.bytes).sum()
        };
        let whole = (bytes / self.format.tu_bytes).saturating_mul(of(self.format.tu_bytes));
        whole.saturating_add(of(bytes % self.format.tu_bytes))
    }
}
