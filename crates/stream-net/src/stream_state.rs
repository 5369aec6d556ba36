//! The state that the driver of the stream manager keeps for each running stream.

use crate::link::{LiveStream, Progress};
use isthmus_stream::checksum::Checksum;
use isthmus_stream::{Adu, ConnectionId, Direction, Format, LinkId, StreamSpec, Tu};

/// Size in bytes from which packets are sent straight from the ring (shared memory) of the link: a
/// copy costs more than the additional system call.
const SEND_FROM_RING_MIN: u64 = 32 << 10;

/// State that the driver keeps for a stream that has not ended.
#[derive(Debug)]
pub(crate) struct StreamState {
    pub connection: ConnectionId,
    pub direction: Direction,
    pub checksum: Checksum,
    format: Format,
    pub adus: Option<u64>,
    pub links: Vec<LinkId>,
    /// For each link, the bytes that its ring may have to hold at once. None if data must not stay
    /// in rings.
    in_rings: Option<Vec<u64>>,
    /// Number of application data units of the stream that were moved to ranks or to network
    /// memory.
    pub moved: u64,
    /// Number of application data units of the stream that are completely sent or delivered.
    pub done: u64,
    /// The number of the newest application data unit (ADU) of which a transfer unit (TU) was sent
    /// over links, and the number of bytes of the ADU up to the end of that TU.
    newest: Option<(u64, u64)>,
}

impl StreamState {
    /// Creates the state of a stream. `from_rings` says whether the connection can send data
    /// straight from rings.
    pub fn new(spec: &StreamSpec, checksum: Checksum, from_rings: bool) -> Self {
        let links = spec.format.links();
        let large = spec.format.packet_bytes >= SEND_FROM_RING_MIN;
        let in_rings = (from_rings && large).then(|| ring_needs(spec, &links));
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

/// Returns for each link the number of bytes that its ring must hold before the first of them can
/// be sent: those of a transfer unit, or with cut-through at most those of a packet and of a
/// striping unit that extends beyond the packet.
fn ring_needs(spec: &StreamSpec, links: &[LinkId]) -> Vec<u64> {
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

impl StreamState {
    /// Returns the stream's state for a link. None if the stream does not use the link: ranks there
    /// may neither send nor abandon the stream.
    pub fn live(&self, link: LinkId) -> Option<LiveStream> {
        let place = self.links.binary_search(&link).ok()?;
        let in_rings = self.in_rings.as_ref();
        Some(LiveStream {
            checksum: self.checksum,
            in_ring: in_rings.and_then(|bytes| bytes.get(place).copied()),
        })
    }

    /// Records that a transfer unit starts to move over links.
    pub fn record_tu(&mut self, tu: &Tu) {
        self.newest = self.newest.max(Some((tu.adu, tu.bytes)));
    }

    /// Returns whether the stream still needs the ranks of this link, after this progress on the
    /// link.
    pub fn needs(&self, link: LinkId, progress: Progress) -> bool {
        if !self.links.contains(&link) {
            return false;
        }
        let Some(adus) = self.adus else {
            return true;
        };
        match self.format.adu {
            Adu::Fixed(bytes) => progress.bytes < self.share(link, bytes).saturating_mul(adus),
            Adu::Variable => {
                let last = self.newest.filter(|(adu, _)| adu.saturating_add(1) == adus);
                last.is_none_or(|(adu, bytes)| progress.newest_adu < (adu, self.share(link, bytes)))
            }
        }
    }

    /// Returns how many bytes of an application data unit of `bytes` bytes move over a link.
    fn share(&self, link: LinkId, bytes: u64) -> u64 {
        let of = |tu: u64| -> u64 {
            let sus = self.format.sus(tu).filter(|su| su.link == link);
            sus.map(|su| su.bytes).sum()
        };
        let whole = (bytes / self.format.tu_bytes).saturating_mul(of(self.format.tu_bytes));
        whole.saturating_add(of(bytes % self.format.tu_bytes))
    }
}
