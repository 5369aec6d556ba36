//! Messages: the elements that go from one rank to another, without gaps.

use super::array::{Place, strides};
use super::tiles::{Walks, fill};
use super::walk::Walk;
use super::{Array, ArrayMut, Order, TransferError};
use crate::family::{At, Family};
use crate::layout::Part;
use crate::plan::Section;

/// How elements lie in messages: sender and receiver say the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packing {
    /// Bytes of an element.
    pub element: u64,
    /// Which index counts fastest; best as in the arrays.
    pub order: Order,
}

/// Where what comes from a rank is.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// In a message that [`Packing::pack`] made of the same sections.
    Message(&'a [u8]),
    /// In the rank's own parts.
    Arrays(&'a [Array<'a>]),
}

impl Packing {
    /// Bytes of a message with these sections.
    pub fn size(&self, sections: &[Section]) -> u64 {
        sections
            .iter()
            .map(|section| section.size() * self.element)
            .sum()
    }

    /// Writes what these sections take of a rank's parts into a message, section after section.
    ///
    /// # Errors
    ///
    /// If the message has not [`Self::size`] bytes, or a part is missing or too short.
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
            let place = Place::of("from", section.from_part);
            let array = parts
                .get(section.from_part)
                .ok_or_else(|| place.missing())?;
            place.check_dims(section.dims.len(), &array.strides)?;
            let dims = in_message(section, |at, place| At { to: place, ..at });
            let packed = strides(&section.extents(), self.element, self.order);
            let walk = Walk::new(&dims, self.element, &array.strides, &packed);
            place.check_end(array.bytes.len(), walk.ends().0)?;
            walk.copy(array.bytes, filled);
            message = rest;
        }
        Ok(())
    }

    /// Writes what comes from others, each with its sections, into the parts of the rank that it is for; `held` is
    /// what its layout gives it.
    ///
    /// # Errors
    ///
    /// If a message has not [`Self::size`] bytes, or a part, there or here, is missing or too short or has elements that
    /// share bytes; nothing has been written then.
    pub fn unpack(
        &self,
        held: &[Part],
        sources: &[(&[Section], Source<'_>)],
        parts: &mut [ArrayMut<'_>],
    ) -> Result<(), TransferError> {
        for (number, part) in held.iter().enumerate() {
            let place = Place::of("to", number);
            let array = parts.get_mut(number).ok_or_else(|| place.missing())?;
            place.check(part, (array.bytes.len(), &array.strides), self.element)?;
            place.check_apart(part, &mut array.strides, self.element)?;
        }
        let mut walks: Vec<Walks<'_>> = parts.iter().map(|_| Vec::new()).collect();
        for &(sections, source) in sources {
            if let Source::Message(message) = source {
                self.check(sections, message.len())?;
            }
            let mut before = 0;
            for section in sections {
                let place = Place::of("to", section.to_part);
                let array = parts.get(section.to_part).ok_or_else(|| place.missing())?;
                let walk = match source {
                    Source::Message(message) => {
                        let dims = in_message(section, |at, place| At { from: place, ..at });
                        let packed = strides(&section.extents(), self.element, self.order);
                        let filled = &message[before..];
                        before += (section.size() * self.element) as usize;
                        (
                            Walk::new(&dims, self.element, &packed, &array.strides),
                            filled,
                        )
                    }
                    Source::Arrays(arrays) => {
                        let place = Place::of("from", section.from_part);
                        let source = arrays
                            .get(section.from_part)
                            .ok_or_else(|| place.missing())?;
                        place.check_dims(section.dims.len(), &source.strides)?;
                        let walk =
                            Walk::new(&section.dims, self.element, &source.strides, &array.strides);
                        place.check_end(source.bytes.len(), walk.ends().0)?;
                        (walk, source.bytes)
                    }
                };
                place.check_end(array.bytes.len(), walk.0.ends().1)?;
                walks[section.to_part].push(walk);
            }
        }
        fill(parts.iter_mut().zip(walks).collect(), self.element, 1)
    }

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

/// Where the elements of a section are, or go to.
#[derive(Clone, Copy, Debug)]
pub enum Side<'a> {
    /// An array without gaps, of a part with these extents.
    Array(&'a [u64], Order),
    /// A message.
    Message(Order),
}

/// Bytes of each run of a section that lies in one piece on both sides, and how many such runs there are, of elements
/// of `element` bytes.
pub fn runs(section: &Section, element: u64, from: Side<'_>, to: Side<'_>) -> Vec<(u64, u64)> {
    let lies = |side| match side {
        Side::Array(extents, order) => strides(extents, element, order),
        Side::Message(order) => strides(&section.extents(), element, order),
    };
    let (from_strides, to_strides) = (lies(from), lies(to));
    let dims = match (from, to) {
        (Side::Message(_), _) => in_message(section, |at, place| At { from: place, ..at }),
        (_, Side::Message(_)) => in_message(section, |at, place| At { to: place, ..at }),
        _ => section.dims.clone(),
    };
    Walk::new(&dims, element, &from_strides, &to_strides).runs()
}

/// The families of a section with one of both sides in a message, where runs follow one another without gaps.
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
