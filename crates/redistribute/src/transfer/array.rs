//! Arrays in the memory of a rank, described by bytes and strides, and checks of these descriptions.

use super::TransferError;
use crate::comb::Comb;

/// Order of the elements of an array in memory: row-major or column-major.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// Row-major order, as in C: the last index counts fastest.
    #[default]
    C,
    /// Column-major order, as in Fortran: the first index counts fastest.
    F,
}

/// Return the strides, in bytes, of an array without gaps of this shape with elements of `element` bytes.
pub fn strides(shape: &[u64], element: u64, order: Order) -> Vec<u64> {
    let mut strides = vec![element; shape.len()];
    let mut step = element;
    let mut set = |dim: usize| {
        strides[dim] = step;
        step *= shape[dim].max(1);
    };
    match order {
        Order::C => (0..shape.len()).rev().for_each(&mut set),
        Order::F => (0..shape.len()).for_each(&mut set),
    }
    strides
}

/// A part of an array to read from. It is described by its bytes, from the first element on, and
/// for each dimension the distance in bytes from one index to the next.
#[derive(Clone, Debug)]
pub struct Array<'a> {
    /// The bytes of the part, at least from the first byte of the first element to the last byte of
    /// the last.
    pub bytes: &'a [u8],
    /// Stride of each dimension in bytes.
    pub strides: Vec<u64>,
}

/// A part of an array to write to, described as an [`Array`]. No two elements may share bytes.
#[derive(Debug)]
pub struct ArrayMut<'a> {
    /// The bytes of the part, at least from the first byte of the first element to the last byte of
    /// the last.
    pub bytes: &'a mut [u8],
    /// Stride of each dimension in bytes.
    pub strides: Vec<u64>,
}

/// Name of an array in error messages: its side of the transfer, its rank and its part.
#[derive(Clone, Copy)]
pub(super) struct ArrayName {
    side: &'static str,
    rank: Option<u32>,
    part: usize,
}

impl ArrayName {
    /// Create the name of the array of part `part` in error messages, as long as its rank is unknown.
    pub fn new(side: &'static str, part: usize) -> Self {
        Self {
            side,
            rank: None,
            part,
        }
    }

    /// Return this name of an array with the index of the rank that has the array.
    pub fn with_rank(self, rank: u32) -> Self {
        Self {
            rank: Some(rank),
            ..self
        }
    }

    /// Create an error that names this array.
    fn error(&self, problem: String) -> TransferError {
        TransferError::Array {
            side: self.side,
            rank: self.rank,
            part: self.part,
            problem,
        }
    }

    /// Return the error for an array that is missing.
    pub fn missing(&self) -> TransferError {
        self.error("it is missing".to_owned())
    }

    /// Check that there is one stride for each of the `dims` dimensions.
    pub fn check_dims(&self, dims: usize, strides: &[u64]) -> Result<(), TransferError> {
        if strides.len() == dims {
            return Ok(());
        }
        let given = strides.len();
        Err(self.error(format!("it has {given} dimensions, but the layout {dims}")))
    }

    /// Check that an array of `bytes` bytes is long enough for elements that end at byte `end`.
    pub fn check_end(&self, bytes: usize, end: u64) -> Result<(), TransferError> {
        if end <= bytes as u64 {
            return Ok(());
        }
        Err(self.error(format!(
            "it has {bytes} bytes, but with its strides the part ends behind {end}"
        )))
    }

    /// Check that all elements of a part are within an array of this size and these strides.
    pub fn check(
        &self,
        part: &[Comb],
        (bytes, strides): (usize, &[u64]),
        element: u64,
    ) -> Result<(), TransferError> {
        self.check_dims(part.len(), strides)?;
        if part.iter().any(|comb| comb.size() == 0) {
            return Ok(());
        }
        let mut end = Some(element);
        for (comb, &stride) in part.iter().zip(strides) {
            let span = stride.checked_mul(comb.size() - 1);
            end = end.and_then(|end| end.checked_add(span?));
        }
        self.check_end(bytes, end.unwrap_or(u64::MAX))
    }

    /// Check that no two elements share bytes. For this, each stride must exceed the extent of all dimensions with
    /// smaller strides. The stride of a dimension with a single index has no effect; it is replaced by the size of an
    /// element.
    pub fn check_disjoint(
        &self,
        part: &[Comb],
        strides: &mut [u64],
        element: u64,
    ) -> Result<(), TransferError> {
        let sizes = part.iter().map(Comb::size);
        let single = sizes
            .clone()
            .zip(strides.iter_mut())
            .filter(|&(size, _)| size == 1);
        single.for_each(|(_, stride)| *stride = element);
        let mut dims: Vec<(u64, u64)> = strides.iter().copied().zip(sizes).collect();
        if dims.iter().any(|&(_, size)| size == 0) {
            return Ok(());
        }
        dims.retain(|&(_, size)| size > 1);
        dims.sort_unstable();
        let mut span = element;
        for (stride, size) in dims {
            if stride < span {
                return Err(self.error(format!(
                    "elements share bytes: a stride of {stride} bytes is less than the {span} bytes of what is \
                     below it"
                )));
            }
            span += stride * (size - 1);
        }
        Ok(())
    }
}
