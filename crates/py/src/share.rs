//! The messages of one rank in a plan that redistributes an array.

use crate::arrays::{Given, PyPlan, Taken, arrays, arrays_mut, order, wrong};
use isthmus_redistribute::transfer::{Array, Order, Packing, Source};
use isthmus_redistribute::{
    At, Comb, End, Family, Message, Section, Steps, piece, piece_size, spans,
};
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use std::borrow::Cow;

/// A piece of a message: index of the message, first element, and end of its elements.
type PieceOf = (usize, u64, u64);

/// The source from which received elements are copied, as Python passes it.
#[derive(FromPyObject)]
enum Where<'py> {
    /// The bytes of a message from another rank.
    Message(PyReadonlyArray1<'py, u8>),
    /// The rank's own parts of the source array.
    Arrays(Vec<Given<'py>>),
}

/// Positions along one dimension of elements in regular runs: the first index, the length of a run,
/// the number of runs and the distance between them, the number of groups of runs and the distance
/// between them.
type Places = (u64, u64, (u64, u64), (u64, u64));

/// Python class with the messages that one rank sends and receives in a plan to redistribute an
/// array.
#[pyclass(name = "Share", module = "isthmus._core", frozen)]
pub(crate) struct PyShare {
    packing: Packing,
    held: Vec<Vec<Comb>>,
    /// The number of the receiving rank and the sections of the array, for each sent message.
    sends: Vec<(u32, Vec<Section>)>,
    receives: Vec<(u32, Vec<Section>)>,
}

#[pymethods]
impl PyShare {
    /// Compute the messages of a rank, which need not be one of the plan's ranks. `element` is the
    /// size of an element in bytes; `columns` says whether the first index varies fastest in
    /// messages.
    #[new]
    fn new(py: Python<'_>, plan: &PyPlan, rank: u32, element: u64, columns: bool) -> Self {
        let plan = &plan.0;
        let (from, to) = (plan.from().index_of(rank), plan.to().index_of(rank));
        py.detach(|| {
            let sends = from.map(|from| {
                let messages = plan.sends(from).into_iter();
                let each = messages
                    .map(|Message { peer, .. }| (plan.to().rank(peer), plan.sections(from, peer)));
                each.collect()
            });
            let receives = to.map(|to| {
                let messages = plan.receives(to).into_iter();
                let each = messages
                    .map(|Message { peer, .. }| (plan.from().rank(peer), plan.sections(peer, to)));
                each.collect()
            });
            Self {
                packing: packed((element, columns)),
                held: to.map(|to| plan.to().parts(to)).unwrap_or_default(),
                sends: sends.unwrap_or_default(),
                receives: receives.unwrap_or_default(),
            }
        })
    }

    /// Return the elements that one rank of a pair receives from the other as its only message. The
    /// cost depends only on these two ranks, not on the number of ranks. They need not belong to
    /// the plan.
    #[staticmethod]
    fn between(
        py: Python<'_>,
        plan: &PyPlan,
        pair: (u32, u32),
        element: u64,
        columns: bool,
    ) -> Self {
        let plan = &plan.0;
        let (from, to) = (plan.from().index_of(pair.0), plan.to().index_of(pair.1));
        py.detach(|| {
            let sections = from.zip(to).map(|(from, to)| plan.sections(from, to));
            let message = sections.filter(|sections| !sections.is_empty());
            let message = message.map(|sections| (pair.0, sections));
            Self {
                packing: packed((element, columns)),
                held: to.map(|to| plan.to().parts(to)).unwrap_or_default(),
                sends: Vec::new(),
                receives: message.into_iter().collect(),
            }
        })
    }

    /// Return the receiving rank of each message and its number of elements.
    fn sends(&self) -> Vec<(u32, u64)> {
        sizes(&self.sends)
    }

    /// Return the sending rank of each message and its number of elements.
    fn receives(&self) -> Vec<(u32, u64)> {
        sizes(&self.receives)
    }

    /// Return the number of elements, at most `most`, in the next piece of a message that is sent
    /// or received.
    fn piece(&self, sent: bool, message: usize, most: u64) -> PyResult<u64> {
        let (_, sections) = get(self.messages(sent), message)?;
        Ok(piece_size(sections, most, self.packing.order == Order::F))
    }

    /// Return, for each section of a message that is sent or received, the number of this rank's
    /// part and the positions of the section's elements by dimension.
    fn places(&self, sent: bool, message: usize) -> PyResult<Vec<(usize, Vec<Vec<Places>>)>> {
        let (_, sections) = get(self.messages(sent), message)?;
        let side = |at: At| if sent { at.from } else { at.to };
        let strides = |family: &Family| {
            let level = |steps: Steps| (steps.count, side(steps.by));
            let first = side(family.first);
            (first, family.len, level(family.inner), level(family.outer))
        };
        let each = sections.iter().map(|section| {
            let part = if sent {
                section.from_part
            } else {
                section.to_part
            };
            let dims = section.dims.iter();
            (
                part,
                dims.map(|dim| dim.iter().map(strides).collect()).collect(),
            )
        });
        Ok(each.collect())
    }

    /// Return the byte ranges that contain the elements of a received piece, in the source or
    /// destination array with these strides. Ranges are separated by more than `gap` bytes.
    fn spans(
        &self,
        piece: PieceOf,
        comes_from: bool,
        strides: Vec<u64>,
        gap: u64,
    ) -> PyResult<Vec<(u64, u64)>> {
        let end = if comes_from { End::From } else { End::To };
        let found = spans(
            &self.cut(false, piece)?,
            end,
            self.packing.element,
            &strides,
            gap,
        );
        Ok(found
            .into_iter()
            .map(|span| (span.start, span.end))
            .collect())
    }

    /// Pack pieces of messages: copy their elements from the source arrays, each piece into the
    /// byte array beside it in `pieces`.
    fn pack(
        &self,
        py: Python<'_>,
        parts: Vec<Given<'_>>,
        mut pieces: Vec<(PieceOf, PyReadwriteArray1<'_, u8>)>,
    ) -> PyResult<()> {
        let parts = arrays(&parts)?;
        let cut = pieces.iter().map(|(piece, _)| self.cut(true, *piece));
        let cut: Vec<_> = cut.collect::<PyResult<_>>()?;
        let into = pieces.iter_mut();
        let into = into.map(|(_, bytes)| bytes.as_slice_mut().map_err(wrong));
        let into: Vec<&mut [u8]> = into.collect::<PyResult<_>>()?;
        py.detach(|| {
            let mut each = cut.iter().zip(into);
            each.try_for_each(|(sections, into)| self.packing.pack(sections, &parts, into))
        })
        .map_err(wrong)
    }

    /// Copy received pieces of messages into the destination arrays. The source of each piece is a
    /// packed message or the arrays of the sender.
    fn unpack(
        &self,
        py: Python<'_>,
        sources: Vec<(PieceOf, Where<'_>)>,
        mut parts: Vec<Taken<'_>>,
    ) -> PyResult<()> {
        let mut parts = arrays_mut(&mut parts)?;
        let pieces = sources.iter().map(|(piece, _)| self.cut(false, *piece));
        let pieces: Vec<_> = pieces.collect::<PyResult<_>>()?;
        let held = sources.iter().map(|(_, source)| match source {
            Where::Message(_) => Ok(Vec::new()),
            Where::Arrays(given) => arrays(given),
        });
        let held: Vec<Vec<Array<'_>>> = held.collect::<PyResult<_>>()?;
        let pairs = sources.iter().zip(&held).zip(&pieces);
        let pairs = pairs.map(|(((_, source), held), sections)| {
            let source = match source {
                Where::Message(bytes) => Source::Message(bytes.as_slice().map_err(wrong)?),
                Where::Arrays(_) => Source::Arrays(held),
            };
            Ok((&sections[..], source))
        });
        let pairs: Vec<(&[Section], Source<'_>)> = pairs.collect::<PyResult<_>>()?;
        py.detach(|| self.packing.unpack(&self.held, &pairs, &mut parts))
            .map_err(wrong)
    }
}

impl PyShare {
    /// Return the sent or the received messages of the rank.
    fn messages(&self, sent: bool) -> &[(u32, Vec<Section>)] {
        if sent { &self.sends } else { &self.receives }
    }

    /// Return the sections of a piece of a message.
    fn cut(&self, sent: bool, (message, low, high): PieceOf) -> PyResult<Cow<'_, [Section]>> {
        let (_, sections) = get(self.messages(sent), message)?;
        let whole: u64 = sections.iter().map(Section::size).sum();
        if (low, high) == (0, whole) {
            return Ok(Cow::Borrowed(sections));
        }
        Ok(Cow::Owned(piece(
            sections,
            low..high,
            self.packing.order == Order::F,
        )))
    }
}

/// Return the message with the index `number`, or an error if there is none.
fn get(messages: &[(u32, Vec<Section>)], number: usize) -> PyResult<&(u32, Vec<Section>)> {
    let none = || wrong(format!("there is no message {number}"));
    messages.get(number).ok_or_else(none)
}

/// Return the number of elements of each message, with the rank of its other end.
fn sizes(messages: &[(u32, Vec<Section>)]) -> Vec<(u32, u64)> {
    let each = messages.iter();
    each.map(|(rank, sections)| (*rank, sections.iter().map(Section::size).sum()))
        .collect()
}

/// Return the packing of elements into messages, from the size of an element and the order.
fn packed((element, columns): (u64, bool)) -> Packing {
    Packing {
        element,
        order: order(columns),
    }
}
