//! The fields of messages, and their bytes: little-endian numbers, and texts with their length.

use super::Malformed;
use crate::buffer::Buffer;

/// The bytes of a message that have not been read.
#[derive(Debug)]
pub(crate) struct Unread<'a>(pub &'a [u8]);

impl<'a> Unread<'a> {
    /// Take the next bytes.
    fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Malformed::Short)?;
        self.0 = rest;
        Ok(taken)
    }
}

/// A field of a message.
pub(crate) trait Field<'a>: Sized {
    /// Read the field from the next bytes of a message.
    fn read(from: &mut Unread<'a>) -> Result<Self, Malformed>;

    /// Append the bytes of the field.
    fn write(&self, out: &mut Buffer);
}

/// Implements [`Field`] for integers.
macro_rules! integers {
    ($($type:ty),*) => {$(
        impl<'a> Field<'a> for $type {
            fn read(from: &mut Unread<'a>) -> Result<Self, Malformed> {
                let bytes = from.take(size_of::<Self>())?;
                let bytes = bytes.try_into().map_err(|_| Malformed::Short)?;
                Ok(Self::from_le_bytes(bytes))
            }

            fn write(&self, out: &mut Buffer) {
                out.put(&self.to_le_bytes());
            }
        }
    )*};
}

integers!(u8, u16, u32, u64);

impl<'a> Field<'a> for &'a [u8] {
    /// Read a text: its length in 16 bits, and its bytes.
    fn read(from: &mut Unread<'a>) -> Result<Self, Malformed> {
        let count = u16::read(from)?;
        from.take(count.into())
    }

    /// Append a text of at most 65,535 bytes. Longer text is truncated; callers must prevent that.
    fn write(&self, out: &mut Buffer) {
        let count = u16::try_from(self.len()).unwrap_or(u16::MAX);
        count.write(out);
        out.put(&self[..count.into()]);
    }
}

/// The data of a read or write request: up to 4 GiB, with the length in 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data<'a>(pub &'a [u8]);

impl<'a> Field<'a> for Data<'a> {
    fn read(from: &mut Unread<'a>) -> Result<Self, Malformed> {
        let count = u32::read(from)?;
        let count = usize::try_from(count).map_err(|_| Malformed::Short)?;
        from.take(count).map(Self)
    }

    fn write(&self, out: &mut Buffer) {
        let count = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        count.write(out);
        out.put(self.0);
    }
}

/// A number at the end of a message that old clients leave out; then it is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trailing(pub u32);

impl<'a> Field<'a> for Trailing {
    fn read(from: &mut Unread<'a>) -> Result<Self, Malformed> {
        if from.0.is_empty() {
            return Ok(Self(0));
        }
        u32::read(from).map(Self)
    }

    fn write(&self, out: &mut Buffer) {
        self.0.write(out);
    }
}

/// The key of a session, by which its client takes it up again over another connection
/// ([`Request::Resume`](super::Request::Resume)).
///
/// A client generates the key at random, so that no other client ends its session by accident. The key protects
/// against errors, not against attacks: all clients of a daemon act as the same user.
///
/// A connection has one key, until it ends. When a client sends the key of an older connection, the server
/// ends that connection at once: of its requests, those that have not started are left out, and no reply is
/// sent any more. Its locks then belong to the new connection, and no other client gets them in between. Its fids
/// are gone: the client restores those that it needs.
///
/// **The client sends all requests again that were not answered**, after the reply. An older write that is
/// carried out after that would undo a newer one. So the reply comes once no request of the older connection can
/// change anything: its current request and the writes that had started have ended. If that takes too
/// long, the request fails with `EIO`, the new connection has no key, and the client asks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key(pub [u8; 16]);

impl<'a> Field<'a> for Key {
    fn read(from: &mut Unread<'a>) -> Result<Self, Malformed> {
        let bytes = from.take(16)?;
        bytes.try_into().map(Self).map_err(|_| Malformed::Short)
    }

    fn write(&self, out: &mut Buffer) {
        out.put(&self.0);
    }
}

/// The names of a walk from a directory to a file, at most [`Path::LIMIT`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path<'a> {
    count: u16,
    /// The names, each with its length.
    bytes: &'a [u8],
}

impl<'a> Path<'a> {
    /// Maximum number of names in one request.
    pub const LIMIT: usize = 16;

    /// Return the number of names.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count.into()
    }

    /// Return whether there are no names: the walk stays where it is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Return the names in order.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut unread = Unread(self.bytes);
        (0..self.count).map_while(move |_| <&[u8]>::read(&mut unread).ok())
    }

    /// Append names in the form of a path to `bytes`, and return them as a path.
    ///
    /// # Errors
    /// More than [`Path::LIMIT`] names, or a name of more than 65,535 bytes.
    pub fn encode<'b>(
        names: impl Iterator<Item = &'b [u8]>,
        bytes: &'a mut Buffer,
    ) -> Result<Self, Malformed> {
        bytes.clear();
        let mut count = 0;
        for name in names {
            if usize::from(count) == Self::LIMIT || u16::try_from(name.len()).is_err() {
                return Err(Malformed::Path);
            }
            name.write(bytes);
            count += 1;
        }
        let bytes = bytes.bytes();
        Ok(Self { count, bytes })
    }
}

impl<'a> Field<'a> for Path<'a> {
    fn read(from: &mut Unread<'a>) -> Result<Self, Malformed> {
        let count = u16::read(from)?;
        if usize::from(count) > Self::LIMIT {
            return Err(Malformed::Path);
        }
        let whole = from.0;
        for _ in 0..count {
            <&[u8]>::read(from)?;
        }
        let bytes = &whole[..whole.len() - from.0.len()];
        Ok(Self { count, bytes })
    }

    fn write(&self, out: &mut Buffer) {
        self.count.write(out);
        out.put(self.bytes);
    }
}

impl<'a, T: Field<'a>> Field<'a> for Vec<T> {
    /// Read a list: the number of its elements in 16 bits, and the elements.
    fn read(from: &mut Unread<'a>) -> Result<Self, Malformed> {
        let count = u16::read(from)?;
        if usize::from(count) > Path::LIMIT {
            return Err(Malformed::Path);
        }
        (0..count).map(|_| T::read(from)).collect()
    }

    fn write(&self, out: &mut Buffer) {
        let count = u16::try_from(self.len()).unwrap_or(u16::MAX);
        count.write(out);
        self.iter().for_each(|each| each.write(out));
    }
}
