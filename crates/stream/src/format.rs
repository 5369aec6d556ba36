//! The data format of a stream: application data units, transfer units, striping units, packets
//! (paper, 5.2 and Figure 8).
//!
//! An ADU is divided into TUs of `tu_bytes`; the last one may be shorter. A TU of `t` bytes is
//! divided into as many SUs as `order` has entries. SU `k` is bytes `k s .. (k + 1) s` of the TU.
//! Here `s` is `t` over that number, rounded up to whole granules. Bytes beyond `t` do not exist,
//! so the last SUs of a TU may be shorter or missing. The rule also holds for shorter TUs. A TU is
//! divided into packets of `packet_bytes` in the same way; no packet spans two TUs.
//!
//! Figure 8 of the paper contradicts itself: a TU of 64 KB, of four SUs of 8 KB, and four packets
//! for an ADU of 128 KB. With a TU of 32 KB all of its other numbers hold.

use crate::error::{Error, Result};
use crate::ids::LinkId;

/// The size of the application data units (ADUs) of a stream: fixed or variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Adu {
    /// All application data units (ADUs) of the stream have this number of bytes.
    Fixed(u64),
    /// Each application data unit (ADU) has its own size, set by `announce`, and is one transfer
    /// unit (TU) (paper, 5.2). `tu_bytes` is the maximum.
    Variable,
}

/// The data format of a stream: how its data is divided into units, links and packets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Format {
    /// The size of the application data units (ADUs) of the stream: fixed or variable.
    pub adu: Adu,
    /// Size of a transfer unit (TU) in bytes.
    pub tu_bytes: u64,
    /// The links of the striping units (SUs) of a transfer unit (TU), in the order of the SUs. A
    /// link may appear several times.
    pub order: Vec<LinkId>,
    /// The boundaries between striping units (SUs) are multiples of this many bytes: 1, or the size
    /// of an element.
    pub granule_bytes: u64,
    /// Maximum data bytes of a packet, at most those of a transfer unit (TU).
    pub packet_bytes: u64,
}

/// One transfer unit (TU) of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tu {
    /// Number of the application data unit (ADU) of the transfer unit (TU), counted from 0 in the
    /// stream.
    pub adu: u64,
    /// Number of the transfer unit (TU) in the application data unit (ADU), from 0.
    pub index: u64,
    /// First byte of the transfer unit (TU), counted from the start of the application data unit
    /// (ADU).
    pub offset: u64,
    /// Length of the transfer unit (TU) in bytes.
    pub bytes: u64,
    /// Whether the transfer unit (TU) is the last of its application data unit (ADU).
    pub last: bool,
}

/// One striping unit (SU) of a transfer unit (TU).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Su {
    /// Number of the striping unit (SU) in the transfer unit (TU), from 0.
    pub index: u32,
    /// The link between ranks and interface over which the striping unit (SU) moves.
    pub link: LinkId,
    /// First byte of the striping unit (SU), counted from the start of the transfer unit (TU).
    pub offset: u64,
    /// Number of bytes of the striping unit (SU), at least 1.
    pub bytes: u64,
}

impl Format {
    /// Creates a format with application data units (ADUs) of `adu_bytes` in transfer units (TUs)
    /// of `tu_bytes`, one striping unit (SU) per link and one packet per TU.
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

    /// Creates a format with application data units (ADUs) of any size up to `tu_bytes`, one
    /// striping unit (SU) per link and one packet per transfer unit (TU).
    #[must_use]
    pub fn variable(tu_bytes: u64, links: &[LinkId]) -> Self {
        Self {
            adu: Adu::Variable,
            ..Self::fixed(0, tu_bytes, links)
        }
    }

    /// Checks that the format is valid.
    ///
    /// # Errors
    /// A size is 0, there are no links or more than 65,536 striping units (SUs), or packets are
    /// larger than a transfer unit (TU) or than 4 GiB.
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

    /// Returns the links of the format in ascending order without duplicates.
    #[must_use]
    pub fn links(&self) -> Vec<LinkId> {
        let mut links = self.order.clone();
        links.sort_unstable();
        links.dedup();
        links
    }

    /// Returns the number of transfer units (TUs) of an application data unit (ADU) of `adu_bytes`.
    #[must_use]
    pub fn tus(&self, adu_bytes: u64) -> u64 {
        adu_bytes.div_ceil(self.tu_bytes)
    }

    /// Returns transfer unit (TU) number `index` of application data unit (ADU) number `adu`, which
    /// has `adu_bytes`. None if the ADU has fewer TUs.
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

    /// Returns the size in bytes of each striping unit (SU) of a transfer unit (TU) of `tu_bytes`.
    /// The last SUs may be shorter.
    #[must_use]
    pub fn su_bytes(&self, tu_bytes: u64) -> u64 {
        let even = tu_bytes.div_ceil(self.order.len() as u64);
        even.div_ceil(self.granule_bytes)
            .saturating_mul(self.granule_bytes)
    }

    /// Returns the striping units (SUs) of a transfer unit (TU) of `tu_bytes`, in order.
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

    /// Returns the packets of a transfer unit (TU) of `tu_bytes`, each as its first byte in the TU
    /// and its length.
    pub fn packets(&self, tu_bytes: u64) -> impl Iterator<Item = (u64, u32)> + '_ {
        let starts = (0..tu_bytes.div_ceil(self.packet_bytes)).map(|k| k * self.packet_bytes);
        starts.map(move |at| (at, (tu_bytes - at).min(self.packet_bytes) as u32))
    }
}
