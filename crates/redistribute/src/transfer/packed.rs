//! Messages with the elements that go from one rank to another, without gaps.

use super::array::{ArrayName, strides};
use super::tiles::{Walks, fill};
use super::walk::Walk;
use super::{Array, ArrayMut, Order, TransferError};
use crate::family::{At, Family};
use crate::layout::Part;
use crate::plan::Section;

/// Format of the messages between ranks. Sender and receiver must use the same format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packing {
    /// Size of an element in bytes.
    pub element: u64,
    /// Order of the elements in the message. Packing is fastest if the arrays have the same order.
    pub order: Order,
}

/// Source of the elements that a rank receives from one rank: a message, or its own arrays.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// A message that [`Packing::pack`] made of the same sections.
    Message(&'a [u8]),
    /// Arrays of the receiving rank itself, from which elements are copied without a message.
    Arrays(&'a [Array<'a>]),
}

impl Packing {
    /// Return the size in bytes of a message with these sections.
    pub fn size(&self, sections: &[Section]) -> u64 {
        sections
            .iter()
            .map(|section| section.size() * self.element)
            .sum()
    }

    /// Write the elements of these sections from the parts of a rank into a message, section after
    /// section.
    ///
    /// # Errors
    /// The size of the message differs from [`Self::size`], or a part is missing or too short.
    pub fn pack(
        &self,
        sections: &[Section],
        parts: &[Array<'_>],
        mut message: &mut [u8],
    ) -> Result<(), TransferError> {
        self.check(sections, message.len())?;
        for section in sections {
            let size = (section.size() * self.element) as usize;
            let (filled, rest) = message.split_at_mut(size);
            let name = ArrayName::new("from", section.from_part);
            let array = parts.get(section.from_part).ok_or_else(|| name.missing())?;
            name.check_dims(section.dims.len(), &array.strides)?;
            let dims = in_message(section, |at, offset| At { to: offset, ..at });
            let packed = strides(&section.extents(), self.element, self.order);
            let walk = Walk::new(&dims, self.element, &array.strides, &packed);
            name.check_end(array.bytes.len(), walk.ends().0)?;
            walk.copy(array.bytes, filled);
            message = rest;
        }
        Ok(())
    }

    /// Write the elements from several sources, each with its sections, into the parts of the
    /// receiving rank. `held` are the parts of this rank in its layout.
    ///
    /// # Errors
    /// The size of a message differs from [`Self::size`], or a part of either side is missing, is
    /// too short, or has elements that share bytes. After an error nothing has been written.
    pub fn unpack(
        &self,
        held: &[Part],
        sources: &[(&[Section], Source<'_>)],
        parts: &mut [ArrayMut<'_>],
    ) -> Result<(), TransferError> {
        for (number, part) in held.iter().enumerate() {
            let name = ArrayName::new("to", number);
            let array = parts.get_mut(number).ok_or_else(|| name.missing())?;
            name.check(part, (array.bytes.len(), &array.strides), self.element)?;
            name.check_disjoint(part, &mut array.strides, self.element)?;
        }
        let mut walks: Vec<Walks<'_>> = parts.iter().map(|_| Vec::new()).collect();
        for &(sections, source) in sources {
            if let Source::Message(message) = source {
                self.check(sections, message.len())?;
            }
            let mut before = 0;
            for section in sections {
                let name = ArrayName::new("to", section.to_part);
                let array = parts.get(section.to_part).ok_or_else(|| name.missing())?;
                let walk = match source {
                    Source::Message(message) => {
                        let dims = in_message(section, |at, offset| At { from: offset, ..at });
                        let packed = strides(&section.extents(), self.element, self.order);
                        let filled = &message[before..];
                        before += (section.size() * self.element) as usize;
                        (
                            Walk::new(&dims, self.element, &packed, &array.strides),
                            filled,
                        )
                    }
                    Source::Arrays(arrays) => {
                        let name = ArrayName::new("from", section.from_part);
                        let source = arrays
                            .get(section.from_part)
                            .ok_or_else(|| name.missing())?;
                        name.check_dims(section.dims.len(), &source.strides)?;
                        let walk =
                            Walk::new(&section.dims, self.element, &source.strides, &array.strides);
                        name.check_end(source.bytes.len(), walk.ends().0)?;
                        (walk, source.bytes)
                    }
                };
                name.check_end(array.bytes.len(), walk.0.ends().1)?;
                walks[section.to_part].push(walk);
            }
        }
        fill(parts.iter_mut().zip(walks).collect(), self.element, 1)
    }

    /// Check that a message of `given` bytes has the size of its sections.
    fn check(&self, sections: &[Section], given: usize) -> Result<(), TransferError> {
        if self.element == 0 {
            return Err(TransferError::NoElement);
        }
        let wanted = self.size(sections);
        if wanted != given as u64 {
            return Err(TransferError::Message { given, wanted });
        }
        Ok(())
    }
}

/// Memory in which the elements of a section are: an array or a message.
#[derive(Clone, Copy, Debug)]
pub enum Side<'a> {
    /// An array without gaps, for a part with these extents.
    Array(&'a [u64], Order),
    /// A message without gaps, with the elements in this order.
    Message(Order),
}

/// Return the runs of a section that are contiguous on both sides, for elements of `element` bytes:
/// pairs of the size of a run in bytes and the number of runs of this size.
pub fn runs(section: &Section, element: u64, from: Side<'_>, to: Side<'_>) -> Vec<(u64, u64)> {
    let lies = |side| match side {
        Side::Array(extents, order) => strides(extents, element, order),
        Side::Message(order) => strides(&section.extents(), element, order),
    };
    let (from_strides, to_strides) = (lies(from), lies(to));
    let dims = match (from, to) {
        (Side::Message(_), _) => in_message(section, |at, offset| At { from: offset, ..at }),
        (_, Side::Message(_)) => in_message(section, |at, offset| At { to: offset, ..at }),
        _ => section.dims.clone(),
    };
    Walk::new(&dims, element, &from_strides, &to_strides).runs()
}

/// Return the runs (families) of a section with new positions on one side: those in a message,
/// where runs follow one another without gaps. `set` replaces the position on this side.
fn in_message(section: &Section, set: impl Fn(At, u64) -> At) -> Vec<Vec<Family>> {
    let dims = section.dims.iter().map(|families| {
        let mut before = 0;
        let families = families.iter().map(|family| {
            let mut packed = *family;
            packed.first = set(packed.first, before);
            packed.inner.by = set(packed.inner.by, family.len);
            packed.outer.by = set(packed.outer.by, family.len * family.inner.count);
            before += family.size();
            packed
        });
        families.collect()
    });
    dims.collect()
}
