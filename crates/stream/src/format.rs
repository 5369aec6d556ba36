//! The data format of a stream: application data units, transfer units, striping units, packets
//! (paper, 5.2 and Figure 8).
//!
//! An ADU is cut into TUs of `tu_bytes`; where it is no whole number of them, its last TU is
//! shorter. A TU of `t` bytes is cut into as many SUs as `order` has entries, and the `k`-th of
//! them is bytes `k s .. (k + 1) s` of the TU, with `s` = `t` over that number, rounded up to whole
//! granules; what lies beyond `t` is not there, so that the last SUs of a TU may be shorter or
//! missing. The rule is the same for whole and for shorter TUs. Packets are cut from a TU in the
//! same way, by `packet_bytes`; none crosses from one TU to the next.
//!
//! Figure 8 of the paper contradicts itself: a TU of 64 KB, of four SUs of 8 KB, and four packets
//! for an ADU of 128 KB. With a TU of 32 KB all of its other numbers hold.

use crate::error::{Error, Result};
use crate::ids::LinkId;

/// The sizes of ADUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Adu {
    /// All ADUs have this many bytes.
    Fixed(u64),
    /// Each ADU has its own size, told by `announce`, and is one TU (paper, 5.2); `tu_bytes` is
    /// the most that it can have.
    Variable,
}

/// How the data of a stream is cut.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Format {
    /// The size of ADUs.
    pub adu: Adu,
    /// Bytes of a TU.
    pub tu_bytes: u64,
    /// The links that the SUs of a TU go over, in the order in which the SUs lie in the TU. A link
    /// may stand in it several times.
    pub order: Vec<LinkId>,
    /// SUs are cut at multiples of this many bytes of the TU: 1, or the size of an element.
    pub granule_bytes: u64,
    /// Bytes of data in a packet at most: a TU, or less.
    pub packet_bytes: u64,
}

/// One TU of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tu {
    /// The ADU that it is of, counted from 0 in the stream.
    pub adu: u64,
    /// Its number in the ADU, from 0.
    pub index: u64,
    /// Its first byte, counted in the ADU.
    pub offset: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// Whether it is the last of its ADU.
    pub last: bool,
}

/// One SU of a TU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Su {
    /// Its number in the TU, from 0.
    pub index: u32,
    /// The link that it goes over.
    pub link: LinkId,
    /// Its first byte, counted in the TU.
    pub offset: u64,
    /// Its length in bytes, above 0.
    pub bytes: u64,
}

impl Format {
    /// ADUs of `adu_bytes` in TUs of `tu_bytes`, an SU over each of `links`, a packet per TU.
    #[must_use]
    pub fn fixed(adu_bytes: u64, tu_bytes: u64, links: &[LinkId]) -> Self {
        Self {
            adu: Adu::Fixed(adu_bytes),
            tu_bytes,
            order: links.to_vec(),
            granule_bytes: 1,
            packet_bytes: tu_bytes,
        }
    }

    /// ADUs of any size up to `tu_bytes`, an SU over each of `links`, a packet per TU.
    #[must_use]
    pub fn variable(tu_bytes: u64, links: &[LinkId]) -> Self {
        Self {
            adu: Adu::Variable,
            ..Self::fixed(0, tu_bytes, links)
        }
    }

    /// Whether it says something that can be done.
    ///
    /// # Errors
    /// A size of 0, no links, more than 65,536 SUs, or packets larger than a TU or than 4 GiB.
    pub fn check(&self) -> Result<()> {
        let refuse = |what: String| Err(Error::Format(what));
        if self.adu == Adu::Fixed(0) {
            return refuse("an ADU of 0 bytes: it has at least 1".into());
        }
        if self.tu_bytes == 0 || self.granule_bytes == 0 || self.packet_bytes == 0 {
            return refuse("a TU, a granule or a packet of 0 bytes: each has at least 1".into());
        }
        if self.order.is_empty() || self.order.len() > 1 << 16 {
            let found = self.order.len();
            return refuse(format!("{found} SUs in a TU: 1 to 65536 can be"));
        }
        if self.packet_bytes > self.tu_bytes || self.packet_bytes > u64::from(u32::MAX) {
            return refuse(format!(
                "packets of {} bytes with TUs of {}: a packet is a TU or a part of it, below 4 GiB",
                self.packet_bytes, self.tu_bytes
            ));
        }
        Ok(())
    }

    /// The links, each once, ascending.
    #[must_use]
    pub fn links(&self) -> Vec<LinkId> {
        let mut links = self.order.clone();
        links.sort_unstable();
        links.dedup();
        links
    }

    /// TUs of an ADU of `adu_bytes`.
    #[must_use]
    pub fn tus(&self, adu_bytes: u64) -> u64 {
        adu_bytes.div_ceil(self.tu_bytes)
    }

    /// The TU `index` of the ADU number `adu` that has `adu_bytes`; none, if it has fewer.
    #[must_use]
    pub fn tu(&self, adu: u64, adu_bytes: u64, index: u64) -> Option<Tu> {
        let offset = index.checked_mul(self.tu_bytes)?;
        let left = adu_bytes.checked_sub(offset).filter(|left| *left > 0)?;
        let bytes = left.min(self.tu_bytes);
        Some(Tu {
            adu,
            index,
            offset,
            bytes,
            last: bytes == left,
        })
    }

    /// Bytes of an SU of a TU of `tu_bytes`, but for the last ones of the TU.
    #[must_use]
    pub fn su_bytes(&self, tu_bytes: u64) -> u64 {
        let even = tu_bytes.div_ceil(self.order.len() as u64);
        even.div_ceil(self.granule_bytes)
            .saturating_mul(self.granule_bytes)
    }

    /// The SUs of a TU of `tu_bytes`, in order.
    pub fn sus(&self, tu_bytes: u64) -> impl Iterator<Item = Su> + '_ {
        let each = self.su_bytes(tu_bytes);
        let links = self.order.iter().enumerate();
        links.map_while(move |(index, &link)| {
            let offset = each.saturating_mul(index as u64);
            let bytes = tu_bytes.checked_sub(offset)?.min(each);
            (bytes > 0).then_some(Su {
                index: index as u32,
                link,
                offset,
                bytes,
            })
        })
    }

    /// The packets of a TU of `tu_bytes`: first byte in the TU, and length.
    pub fn packets(&self, tu_bytes: u64) -> impl Iterator<Item = (u64, u32)> + '_ {
        let starts = (0..tu_bytes.div_ceil(self.packet_bytes)).map(|k| k * self.packet_bytes);
        starts.map(move |at| (at, (tu_bytes - at).min(self.packet_bytes) as u32))
    }
}
